//! Rows and records for the tests of this crate.

use ocsweep_proto::axes::Tier;
use ocsweep_proto::ids::{CaseId, SweepId};
use ocsweep_proto::outcome::{Outcome, WorkResult};
use ocsweep_proto::row::{CaseRow, RESULTS_VERSION, Results};
use ocsweep_proto::verdict::Reason;

pub(crate) fn row(id: &str, tier: Tier, opencode: &str, reason: Option<Reason>) -> CaseRow {
    let mut row = CaseRow::blank(id, tier, opencode, "default").ended(reason);
    row.evidence = Some(format!("{opencode}/{id}"));
    row.duration_ms = 1_234;
    row
}

pub(crate) fn load(opencode: &str, reason: Option<Reason>) -> CaseRow {
    row("load", Tier::Load, opencode, reason)
}

pub(crate) fn scripted(id: &str, opencode: &str, reason: Option<Reason>) -> CaseRow {
    row(id, Tier::Scripted, opencode, reason)
}

pub(crate) fn outcome(case: &str, attempt: u32, row: CaseRow) -> Outcome {
    Outcome {
        format: 1,
        sweep: SweepId::new("s").unwrap(),
        case: CaseId::new(case).unwrap(),
        attempt,
        result: WorkResult::Case(Box::new(row)),
        tui_only: false,
    }
}

pub(crate) fn results(rows: Vec<CaseRow>) -> Results {
    Results {
        version: RESULTS_VERSION,
        at: "2026-11-30T22:00:00Z".to_owned(),
        tool: "0.1.0".to_owned(),
        plugin: "example".to_owned(),
        image: None,
        budget_usd: None,
        completeness: None,
        results: rows,
    }
}

/// Compares with a file of `tests/golden`, or writes it when `OCSWEEP_BLESS=1` is set.
pub(crate) fn golden(name: &str, actual: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    matches_file(&path, actual);
}

pub(crate) fn matches_file(path: &std::path::Path, actual: &str) {
    if std::env::var_os("OCSWEEP_BLESS").is_some_and(|value| value == "1") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, actual).unwrap();
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        expected == actual,
        "{} differs; accept it with `OCSWEEP_BLESS=1 cargo nextest run -p ocsweep-collector`.\n--- is\n{actual}\n--- should be\n{expected}",
        path.display()
    );
}
