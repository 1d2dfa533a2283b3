//! The table across host versions, lines and variants: a line for each case, a column for each cell. Shown only where there is something to
//! compare.
//!
//! It must never show more than the rows say: a case that a cell does not have is an empty place, not a pass.

use std::collections::{HashMap, HashSet};

use ocsweep_proto::axes::{Line, Tier};
use ocsweep_proto::ids::DEFAULT_VARIANT;
use ocsweep_proto::row::{CaseRow, Results};
use ocsweep_proto::verdict::Verdict;

use super::text::{NONE, code_cell, plain};

/// Characters of a name.
const NAME: usize = 200;
/// Columns; a wider table cannot be read.
const COLUMNS: usize = 24;

/// A column: version as asked for, and variant.
type Cell<'a> = (&'a str, &'a str);
/// A line: tier and case.
type Case<'a> = (Tier, &'a str);

/// The table in Markdown, with a line feed after each line; empty when there are fewer than two cells.
pub(super) fn matrix(results: &Results, allowed: &[String]) -> String {
    let (mut cells, mut cases): (Vec<Cell<'_>>, Vec<Case<'_>>) = (Vec::new(), Vec::new());
    let mut rows: HashMap<(Case<'_>, Cell<'_>), &CaseRow> = HashMap::new();
    let (mut known_cells, mut known_cases) = (HashSet::new(), HashSet::new());
    for row in &results.results {
        let (cell, case) = ((row.opencode.as_str(), row.variant.as_str()), (row.tier, row.id.as_str()));
        if known_cells.insert(cell) {
            cells.push(cell);
        }
        if known_cases.insert(case) {
            cases.push(case);
        }
        rows.insert((case, cell), row);
    }
    if cells.len() < 2 {
        return String::new();
    }
    let shown = &cells[..cells.len().min(COLUMNS)];
    let heads: Vec<String> = shown.iter().map(|cell| head(*cell, &results.results)).collect();
    let mut out = format!("| case | {} |\n| ---- |{}\n", heads.join(" | "), " ---- |".repeat(shown.len()));
    for case in cases {
        let marks: Vec<&str> = shown.iter().map(|cell| rows.get(&(case, *cell)).map_or(NONE, |row| mark(row, allowed))).collect();
        out.push_str(&format!("| {} ({}) | {} |\n", code_cell(case.1, NAME), case.0, marks.join(" | ")));
    }
    if cells.len() > shown.len() {
        out.push_str(&format!("\n… and {} more columns; all rows are below.\n", cells.len() - shown.len()));
    }
    out
}

/// The version, what it was resolved to, its line and the variant.
fn head((version, variant): Cell<'_>, rows: &[CaseRow]) -> String {
    let mut of_cell = rows.iter().filter(|row| row.opencode == version && row.variant == variant);
    let resolved = of_cell.clone().find_map(|row| row.resolved.as_deref()).filter(|resolved| *resolved != version);
    let line = of_cell.find_map(|row| row.line).map(Line::as_str).filter(|line| *line != version);
    let extras: Vec<&str> = resolved.into_iter().chain(line).collect();
    let mut head = plain(version, NAME);
    if !extras.is_empty() {
        head.push_str(&format!(" ({})", extras.iter().map(|extra| plain(extra, NAME)).collect::<Vec<_>>().join(", ")));
    }
    if variant != DEFAULT_VARIANT {
        head.push_str(&format!(" {}", code_cell(&format!("@{variant}"), NAME)));
    }
    head
}

fn mark(row: &CaseRow, allowed: &[String]) -> &'static str {
    match row.verdict {
        Verdict::Pass => "✅",
        Verdict::Fail if allowed.contains(&row.opencode) => "⚠️",
        Verdict::Fail => "❌",
        Verdict::Skipped => "⏭",
        Verdict::Indeterminate => "❔",
    }
}

#[cfg(test)]
mod tests {
    use ocsweep_proto::verdict::Reason;

    use super::*;
    use crate::testing::{load, results, scripted};

    fn of(mut row: CaseRow, resolved: &str, line: Line, variant: &str) -> CaseRow {
        row.resolved = Some(resolved.to_owned());
        row.line = Some(line);
        variant.clone_into(&mut row.variant);
        row
    }

    #[test]
    fn one_cell_needs_no_table() {
        assert_eq!(matrix(&results(vec![load("1.18.33", None), scripted("a", "1.18.33", None)]), &[]), "");
    }

    #[test]
    fn versions_of_both_lines_and_variants_are_columns() {
        let rows = vec![
            of(load("1.18.33", None), "1.18.33", Line::V1, "default"),
            of(scripted("a", "1.18.33", Some(Reason::Assertion)), "1.18.33", Line::V1, "default"),
            of(load("1.18.33", None), "1.18.33", Line::V1, "musl"),
            of(load("v2", Some(Reason::Docker)), "2.0.26", Line::V2, "default"),
            of(scripted("a", "v2", Some(Reason::Assertion)), "2.0.26", Line::V2, "default"),
        ];
        let table = matrix(&results(rows), &["v2".to_owned()]);
        let expected = "| case | 1.18.33 (v1) | 1.18.33 (v1) `@musl` | v2 (2.0.26) |\n\
                        | ---- | ---- | ---- | ---- |\n\
                        | `load` (load) | ✅ | ✅ | ❔ |\n\
                        | `a` (scripted) | ❌ | – | ⚠️ |\n";
        assert_eq!(table, expected.replace('–', NONE));
    }

    #[test]
    fn a_very_wide_table_is_cut_and_says_so() {
        let rows = (0..30).map(|n| load(&format!("1.18.{n}"), None)).collect();
        let table = matrix(&results(rows), &[]);
        assert!(table.ends_with("… and 6 more columns; all rows are below.\n"), "{table}");
        assert_eq!(table.lines().next().unwrap().matches(" | ").count(), COLUMNS);
    }
}
