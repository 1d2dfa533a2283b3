//! The table on a terminal or in a log: one line for each row, and no control character that is not its own.

use ocsweep_proto::ids::DEFAULT_VARIANT;
use ocsweep_proto::row::{CaseRow, Results};
use ocsweep_proto::verdict::Verdict;
use unicode_width::UnicodeWidthStr;

use super::seconds;
use super::text::{NONE, fit, one_line, padded};

/// Characters of a note where the width is not known.
const NOTE: usize = 200;
/// Columns of any other cell at most.
const CELL: usize = 60;
/// Columns of a note at least, however narrow the terminal is.
const MIN_NOTE: usize = 20;
const COLUMNS: usize = 5;
const HEADER: [&str; COLUMNS] = ["OPENCODE", "CASE", "TIER", "VERDICT", "TIME"];

/// How a table looks.
#[derive(Debug, Clone, Copy, Default)]
pub struct TableStyle {
    /// Columns of the terminal; `None` where there is none.
    pub width: Option<usize>,
    /// Verdicts in colour. Colour never carries a meaning of its own.
    pub color: bool,
}

/// The table, each line with a line feed. `allowed` are the versions that may fail.
#[must_use]
pub fn table(results: &Results, allowed: &[String], style: TableStyle) -> String {
    let rows: Vec<([String; COLUMNS], &CaseRow)> = results.results.iter().map(|row| (cells(row, allowed), row)).collect();
    let mut widths = HEADER.map(UnicodeWidthStr::width);
    for (cells, _) in &rows {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = (*width).max(cell.width());
        }
    }
    let used: usize = widths.iter().map(|width| width + 2).sum();
    let note_width = style.width.map_or(NOTE, |width| width.saturating_sub(used).max(MIN_NOTE));
    let mut out = String::new();
    push_line(&mut out, &HEADER.map(str::to_owned), &widths, "NOTE", None);
    for (cells, row) in &rows {
        let color = style.color.then(|| color_of(row.verdict));
        push_line(&mut out, cells, &widths, &fit(&note(row), note_width), color);
    }
    out
}

fn push_line(out: &mut String, cells: &[String; COLUMNS], widths: &[usize; COLUMNS], note: &str, color: Option<&str>) {
    let mut line = String::new();
    for (index, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let cell = padded(cell, *width);
        match color {
            Some(color) if index == 3 => line.push_str(&format!("\u{1b}[{color}m{cell}\u{1b}[0m")),
            _ => line.push_str(&cell),
        }
        line.push_str("  ");
    }
    line.push_str(note);
    out.push_str(line.trim_end());
    out.push('\n');
}

fn cells(row: &CaseRow, allowed: &[String]) -> [String; COLUMNS] {
    let verdict = match row.verdict {
        Verdict::Fail if allowed.contains(&row.opencode) => "allowed failure",
        verdict => verdict.as_str(),
    };
    let name = if row.variant == DEFAULT_VARIANT { row.id.clone() } else { format!("{} @{}", row.id, row.variant) };
    let cell = |text: &str| fit(&one_line(text, CELL), CELL);
    [cell(&row.opencode), cell(&name), row.tier.to_string(), verdict.to_owned(), seconds(row.duration_ms)]
}

/// What a person wants to know next.
fn note(row: &CaseRow) -> String {
    let reason = row.reason.map(|reason| reason.as_str());
    let mut parts: Vec<String> = Vec::new();
    match row.verdict {
        Verdict::Pass => {}
        Verdict::Skipped => parts.push(row.skipped.clone().or(reason.map(str::to_owned)).unwrap_or_default()),
        Verdict::Fail | Verdict::Indeterminate => {
            let text = row.failures.first().map(String::as_str);
            parts.push([reason, text].into_iter().flatten().collect::<Vec<_>>().join(": "));
        }
    }
    if row.flaky {
        parts.push("flaky".to_owned());
    }
    match row.warnings.len() {
        0 => {}
        1 => parts.push("1 warning".to_owned()),
        count => parts.push(format!("{count} warnings")),
    }
    let line = one_line(&parts.join("; "), NOTE);
    if line.is_empty() { NONE.to_owned() } else { line }
}

const fn color_of(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "32",
        Verdict::Fail => "31",
        Verdict::Skipped => "2",
        Verdict::Indeterminate => "33",
    }
}
