//! What a person sees while cases run: a moving line on a terminal, a plain line for each ended case elsewhere.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ocsweep_proto::ids::DEFAULT_VARIANT;
use ocsweep_proto::row::CaseRow;
use ocsweep_proto::verdict::Verdict;

use crate::output::Printer;

#[derive(Debug)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    printer: Printer,
    done: u64,
    total: u64,
}

impl Progress {
    pub(crate) fn new(printer: Printer, total: u64) -> Self {
        let bar = printer.interactive().then(|| {
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {pos}/{len} cases [{wide_bar}] {elapsed}, about {eta} left  {msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        Self { bar, printer, done: 0, total }
    }

    pub(crate) fn note(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(text.to_owned()),
            None => self.printer.detail(text),
        }
    }

    pub(crate) fn ended(&mut self, row: &CaseRow) {
        self.done += 1;
        let seconds = Duration::from_millis(row.duration_ms).as_secs_f64();
        let reason = row.reason.map(|reason| format!(" ({})", reason.as_str())).unwrap_or_default();
        let line = format!("[{}/{}] {}: {}{reason} in {seconds:.1} s", self.done, self.total, name(row), row.verdict.as_str());
        match &self.bar {
            Some(bar) => {
                bar.set_position(self.done);
                if row.verdict != Verdict::Pass {
                    bar.println(line);
                }
            }
            None => self.printer.say(&line),
        }
    }

    /// An attempt that the schedule repeats.
    pub(crate) fn retried(&self, row: &CaseRow, attempt: u32) {
        let reason = row.reason.map_or("unknown", |reason| reason.as_str());
        self.note(&format!("{}: {reason} at attempt {attempt}, trying again", name(row)));
    }

    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The case as a person would call it; the variant only where it has a name of its own.
fn name(row: &CaseRow) -> String {
    let variant = if row.variant == DEFAULT_VARIANT { String::new() } else { format!(" @{}", row.variant) };
    format!("{} {} {}{variant}", row.opencode, row.tier, row.id)
}
