//! Shows results to people and to CI systems. Pure: no clock, no network, no environment; the same results give the same bytes.
//!
//! Everything that a plugin, a model or a host wrote is hostile: it goes through `text`, and it must never reach a page, a terminal or an XML
//! file in another way.

mod junit;
mod markdown;
mod matrix;
mod table;
#[cfg(test)]
mod tests;
mod text;

use std::collections::HashMap;

use ocsweep_proto::row::{CaseRow, Results};
use ocsweep_proto::verdict::Verdict;

pub use junit::junit;
pub use markdown::markdown;
pub use table::{TableStyle, table};

/// How many rows ended how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    passed: u64,
    failed: u64,
    skipped: u64,
    indeterminate: u64,
    /// Failures of versions that may fail; counted in `failed` too.
    allowed: u64,
    flaky: u64,
    warnings: u64,
    /// Rows of required versions that stayed indeterminate.
    required_unknown: u64,
}

impl Tally {
    fn of<'a>(rows: impl IntoIterator<Item = &'a CaseRow>, allowed: &[String]) -> Self {
        let mut tally = Self::default();
        for row in rows {
            let may_fail = allowed.contains(&row.opencode);
            match row.verdict {
                Verdict::Pass => tally.passed += 1,
                Verdict::Fail => {
                    tally.failed += 1;
                    tally.allowed += u64::from(may_fail);
                }
                Verdict::Skipped => tally.skipped += 1,
                Verdict::Indeterminate => {
                    tally.indeterminate += 1;
                    tally.required_unknown += u64::from(!may_fail);
                }
            }
            tally.flaky += u64::from(row.flaky);
            tally.warnings += row.warnings.len() as u64;
        }
        tally
    }

    fn required_failed(&self) -> bool {
        self.failed > self.allowed
    }

    /// The numbers that stand over every report. What is not known is one of them, never part of another.
    fn headline(&self) -> String {
        let Self { passed, failed, skipped, indeterminate, .. } = self;
        format!("{passed} passed, {failed} failed, {skipped} skipped, {indeterminate} indeterminate")
    }
}

/// The result of a run in one line, without a line feed.
#[must_use]
pub fn summary(results: &Results, allowed: &[String]) -> String {
    let tally = Tally::of(&results.results, allowed);
    let extras = [(tally.allowed, "allowed failure"), (tally.flaky, "flaky case"), (tally.warnings, "warning")];
    let mut line = tally.headline();
    for (count, what) in extras {
        match count {
            0 => {}
            1 => line.push_str(&format!("; 1 {what}")),
            _ => line.push_str(&format!("; {count} {what}s")),
        }
    }
    line
}

/// Rows by host version, in order of first appearance.
fn by_version(results: &Results) -> Vec<(&str, Vec<&CaseRow>)> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut groups: Vec<(&str, Vec<&CaseRow>)> = Vec::new();
    for row in &results.results {
        let place = *places.entry(&row.opencode).or_insert_with(|| {
            groups.push((&row.opencode, Vec::new()));
            groups.len() - 1
        });
        groups[place].1.push(row);
    }
    groups
}

/// `1.2s`.
fn seconds(milliseconds: u64) -> String {
    let tenths = milliseconds.saturating_add(50) / 100;
    format!("{}.{}s", tenths / 10, tenths % 10)
}
