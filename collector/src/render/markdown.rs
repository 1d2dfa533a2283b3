//! `report.md`: a table for each host version, and each row that did not pass with what is wrong and where the evidence is.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use ocsweep_proto::axes::{Isolation, Jit, Tier};
use ocsweep_proto::ids::DEFAULT_VARIANT;
use ocsweep_proto::row::{CaseRow, Completeness, Results};
use ocsweep_proto::verdict::Verdict;

use crate::completeness::is_complete;

use super::matrix::matrix;
use super::text::{NONE, code, code_cell, fenced, plain};
use super::{Tally, by_version, seconds};

/// Characters of a table's cell.
const CELL: usize = 160;
/// Characters of a line below a table.
const LINE: usize = 300;
/// Characters of a name: plugin, version, case, tool.
const NAME: usize = 200;
/// Lines of a list that are shown; how many more there are is said.
const LIST: usize = 50;

/// The report. `allowed` are the versions that may fail.
#[must_use]
pub fn markdown(results: &Results, allowed: &[String]) -> String {
    let mut page = Page { out: String::new() };
    page.head(results, &Tally::of(&results.results, allowed));
    page.comparison(results, allowed);
    for (version, rows) in by_version(results) {
        page.version(version, &rows, allowed.iter().any(|word| word == version));
    }
    page.live_totals(results);
    page.out
}

struct Page {
    out: String,
}

impl Page {
    fn line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    fn head(&mut self, results: &Results, tally: &Tally) {
        let incomplete = results.completeness.as_ref().is_some_and(|proof| !is_complete(proof));
        let mark = match tally {
            tally if tally.required_failed() => "❌",
            tally if tally.required_unknown > 0 || incomplete => "❔",
            _ => "✅",
        };
        self.line(&format!("# opencode-plugin-ci: {}\n", plain(&results.plugin, NAME)));
        self.line(&format!("- At: {} · tool {}", plain(&results.at, NAME), plain(&results.tool, NAME)));
        self.line(&format!("- Result: **{}** {mark}", tally.headline()));
        if tally.flaky > 0 {
            self.line(&format!("- Flaky: {}", tally.flaky));
        }
        if let Some(image) = &results.image {
            self.line(&format!("- Image: {}", code(&short(image), NAME)));
        }
        for line in conditions(&results.results) {
            self.line(&line);
        }
        if let Some(proof) = &results.completeness {
            let missing = if proof.missing.is_empty() { String::new() } else { format!(" + {} missing", proof.missing.len()) };
            let Completeness { planned, done, skipped, indeterminate, .. } = proof;
            self.line(&format!("- Planned: {planned} = {done} done + {skipped} skipped + {indeterminate} indeterminate{missing}"));
            for (what, ids) in [("Missing", &proof.missing), ("Unplanned", &proof.unplanned)] {
                if !ids.is_empty() {
                    self.line(&format!("- {what}: {}", names(ids)));
                }
            }
        }
    }

    fn comparison(&mut self, results: &Results, allowed: &[String]) {
        let table = matrix(results, allowed);
        if !table.is_empty() {
            self.line("\n## Across versions\n");
            self.out.push_str(&table);
        }
    }

    fn version(&mut self, version: &str, rows: &[&CaseRow], may_fail: bool) {
        let role = if may_fail { "allowed to fail" } else { "required" };
        self.line(&format!("\n## opencode {} ({role})\n", plain(version, NAME)));
        let details = details(rows);
        if !details.is_empty() {
            self.line(&format!("{details}\n"));
        }
        self.line("| case | tier | verdict | attempts | steps | cost | time | first failure |");
        self.line("| ---- | ---- | ------- | -------- | ----- | ---- | ---- | ------------- |");
        for row in rows {
            self.table_row(row, may_fail);
        }
        for row in rows {
            self.problem(row, may_fail);
        }
        self.warnings(rows);
    }

    fn table_row(&mut self, row: &CaseRow, may_fail: bool) {
        let failure = match row.verdict {
            Verdict::Fail | Verdict::Indeterminate => row.failures.first().map(|failure| code_cell(failure, CELL)),
            Verdict::Pass | Verdict::Skipped => None,
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            self.out,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            case_name(row),
            row.tier,
            verdict_cell(row, may_fail),
            attempts_cell(row),
            row.steps.map_or(NONE.to_owned(), |steps| steps.to_string()),
            cost_cell(row),
            seconds(row.duration_ms),
            failure.as_deref().unwrap_or(NONE),
        );
    }

    /// The details of a row that did not pass.
    fn problem(&mut self, row: &CaseRow, may_fail: bool) {
        let mark = match row.verdict {
            Verdict::Pass | Verdict::Skipped => return,
            Verdict::Fail if may_fail => "⚠️",
            Verdict::Fail => "❌",
            Verdict::Indeterminate => "❔",
        };
        self.line(&format!("\n### {mark} {} ({})\n", case_name(row), row.tier));
        let failures: Vec<String> = row.failures.iter().map(|failure| code(failure, LINE)).collect();
        self.list(&failures);
        if let Some(reason) = row.reason {
            self.line(&format!("- Reason: {}", reason.as_str()));
        }
        let unfinished = unfinished(row);
        if !unfinished.is_empty() {
            self.line(&format!("- Called but never completed: {}", names(&unfinished)));
        }
        if let Some(judge) = &row.judge {
            let opinion = if judge.pass { "pass" } else { "fail" };
            self.line(&format!("- Judge: {opinion} — {}", code(&judge.reason, LINE)));
        }
        if let Some(text) = row.text_excerpt.as_deref().filter(|text| !text.trim().is_empty()) {
            self.line("- Text:\n");
            self.out.push_str(&fenced(text, 30, 2000));
            self.line("");
        }
        if let Some(evidence) = &row.evidence {
            self.line(&format!("- Evidence: {}", code(&format!("{}/", evidence.trim_end_matches('/')), LINE)));
        }
    }

    fn list(&mut self, lines: &[String]) {
        for line in lines.iter().take(LIST) {
            self.line(&format!("- {line}"));
        }
        if lines.len() > LIST {
            self.line(&format!("- … and {} more", lines.len() - LIST));
        }
    }

    fn warnings(&mut self, rows: &[&CaseRow]) {
        let warned: Vec<&&CaseRow> = rows.iter().filter(|row| !row.warnings.is_empty()).collect();
        if warned.is_empty() {
            return;
        }
        self.line("\n### Warnings\n");
        for row in warned {
            let lines: Vec<String> =
                row.warnings.iter().map(|warning| format!("{} ({}): {}", case_name(row), row.tier, code(warning, LINE))).collect();
            self.list(&lines);
        }
    }

    fn live_totals(&mut self, results: &Results) {
        let live: Vec<&CaseRow> = results.results.iter().filter(|row| row.tier == Tier::Live).collect();
        if live.is_empty() {
            return;
        }
        let attempts: usize = live.iter().map(|row| row.attempts.len()).sum();
        let tokens = |of: fn(&ocsweep_proto::row::Tokens) -> u64| live.iter().filter_map(|row| row.tokens.as_ref()).map(of).sum::<u64>();
        let cost: f64 = live.iter().filter_map(|row| row.cost_usd).fold(0.0, |sum, cost| sum + cost);
        let budget = results.budget_usd.map(|budget| format!(" of ${budget:.2}")).unwrap_or_default();
        let (input, output) = (tokens(|tokens| tokens.input), tokens(|tokens| tokens.output));
        self.line(&format!("\nLive totals: {attempts} attempts, in {input} / out {output} tokens, ${cost:.4}{budget}"));
    }
}

/// What differs from how cases run by default: it changes what a reader may conclude.
fn conditions(rows: &[CaseRow]) -> Vec<String> {
    let mut lines = Vec::new();
    if rows.iter().any(|row| row.isolation == Some(Isolation::Process)) {
        lines.push("- Isolation: **process**, not containers: see the warnings for what was not enforced".to_owned());
    }
    let full = rows.iter().filter(|row| row.jit == Some(Jit::Full) && row.tier != Tier::Live).count();
    if full > 0 {
        lines.push("- JIT: full, as the host is shipped".to_owned());
    }
    lines
}

fn case_name(row: &CaseRow) -> String {
    let id = code_cell(&row.id, NAME);
    if row.variant == DEFAULT_VARIANT {
        id
    } else {
        // In code too: a bare `@` before a name would call a person.
        format!("{id} {}", code_cell(&format!("@{}", row.variant), NAME))
    }
}

fn verdict_cell(row: &CaseRow, may_fail: bool) -> String {
    let reason = || row.reason.map_or("unknown", |reason| reason.as_str());
    let verdict = match row.verdict {
        Verdict::Pass => "✅ pass".to_owned(),
        Verdict::Fail if may_fail => "⚠️ allowed failure".to_owned(),
        Verdict::Fail => "❌ fail".to_owned(),
        Verdict::Skipped => format!("⏭ skipped: {}", plain(row.skipped.as_deref().unwrap_or_else(reason), CELL)),
        Verdict::Indeterminate => format!("❔ indeterminate: {}", reason()),
    };
    if row.flaky { format!("{verdict} (flaky)") } else { verdict }
}

fn attempts_cell(row: &CaseRow) -> String {
    if row.attempts.is_empty() {
        return NONE.to_owned();
    }
    let passed = row.attempts.iter().filter(|attempt| attempt.pass).count();
    format!("{passed}/{}", row.attempts.len())
}

/// The stub costs nothing, so only a scripted price is worth a cell there.
fn cost_cell(row: &CaseRow) -> String {
    match row.cost_usd {
        Some(cost) if row.tier == Tier::Live || cost > 0.0 => format!("${cost:.4}"),
        _ => NONE.to_owned(),
    }
}

/// Tools that were called, and of which no call completed; each once, in order.
fn unfinished(row: &CaseRow) -> Vec<String> {
    let mut seen: BTreeSet<&str> = row.completed.iter().map(String::as_str).collect();
    row.tools.iter().filter(|tool| seen.insert(tool)).cloned().collect()
}

fn names(names: &[String]) -> String {
    let mut line = names.iter().take(LIST).map(|name| code(name, NAME)).collect::<Vec<_>>().join(", ");
    if names.len() > LIST {
        let _ = write!(line, ", … and {} more", names.len() - LIST);
    }
    line
}

type Field = fn(&CaseRow) -> Option<&String>;

/// What exactly was run.
fn details(rows: &[&CaseRow]) -> String {
    let distinct = |of: Field| rows.iter().filter_map(|row| of(row)).collect::<BTreeSet<_>>();
    let mut parts = Vec::new();
    let resolved = distinct(|row| row.resolved.as_ref());
    if !resolved.is_empty() {
        parts.push(format!("Resolved {}", resolved.iter().take(3).map(|version| plain(version, NAME)).collect::<Vec<_>>().join(", ")));
    }
    let digests: [(&str, Field); 4] = [
        ("binary", |row| row.digests.binary.as_ref()),
        ("subject", |row| row.digests.subject.as_ref()),
        ("image", |row| row.digests.image.as_ref()),
        ("agent", |row| row.digests.agent.as_ref()),
    ];
    for (what, of) in digests {
        let values = distinct(of);
        if !values.is_empty() {
            parts.push(format!("{what} {}", values.iter().take(3).map(|digest| code(&short(digest), NAME)).collect::<Vec<_>>().join(", ")));
        }
    }
    parts.join(" · ")
}

/// The algorithm and twelve digits; the whole digest is in the results.
fn short(digest: &str) -> String {
    let digits = digest.find(':').map_or(0, |colon| colon + 1) + 12;
    digest.get(..digits).unwrap_or(digest).to_owned()
}
