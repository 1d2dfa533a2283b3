//! Judgements of hand-made evidence. Every test changes one thing of a run that passes.

mod assertions;
mod endings;
mod load;
pub(super) mod run;
mod v2;
mod v2_assertions;
mod warnings;

use ocsweep_proto::axes::Tier;
use ocsweep_proto::row::CaseRow;
use ocsweep_proto::verdict::{Reason, Verdict};

use run::Run;

#[test]
fn a_healthy_run_passes_without_a_word() {
    for run in [Run::load(), Run::scripted("{}")] {
        let judgement = run.judge();
        assert_eq!((judgement.reason, judgement.failures, judgement.warnings), (None, vec![], vec![]));
        assert_eq!((judgement.steps, judgement.exit_code, judgement.timed_out), (Some(1), Some(0), false));
        assert_eq!(judgement.text_excerpt.as_deref(), Some("ok"));
        assert_eq!((judgement.cost_usd, judgement.tokens.map(|tokens| tokens.input)), (Some(0.25), Some(7)));
    }
}

#[test]
fn a_judgement_becomes_a_row() {
    let blank = || CaseRow::blank("load", Tier::Load, "1.18.33", "default");
    let row = Run::load().judge().apply(blank());
    assert_eq!((row.verdict, row.pass, row.steps), (Verdict::Pass, true, Some(1)));
    let mut run = Run::load();
    run.raw.report.stub.primary = 0;
    let row = run.judge().apply(blank());
    assert_eq!((row.verdict, row.reason, row.failures.len()), (Verdict::Fail, Some(Reason::NoModelCall), 1));
    let row = Run::tui(Tier::Scripted).judge().apply(blank());
    assert_eq!((row.verdict, row.reason, row.pass), (Verdict::Skipped, Some(Reason::NotApplicable), true));
    assert!(row.skipped.unwrap().contains("TUI-only"));
}
