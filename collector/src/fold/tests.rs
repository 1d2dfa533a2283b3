//! The fold rule as a table, and that neither order nor repetition matters.

use ocsweep_proto::outcome::{Outcome, Unprepared, WorkResult};
use ocsweep_proto::row::CaseRow;
use ocsweep_proto::verdict::{Reason, Verdict};
use proptest::prelude::*;

use super::{Fold, case, cases};
use crate::testing::{load, outcome};

const ASSERTION: Option<Reason> = Some(Reason::Assertion);
const DOCKER: Option<Reason> = Some(Reason::Docker);
const SKIPPED: Option<Reason> = Some(Reason::NotApplicable);

fn attempt(number: u32, reason: Option<Reason>) -> Outcome {
    let mut row = load("1.18.33", reason);
    row.evidence = Some(format!("evidence-{number}"));
    outcome("load-1", number, row)
}

/// Attempts, and the row's verdict, reason, evidence and flaky mark.
type Line<'a> = (&'a [(u32, Option<Reason>)], Verdict, Option<Reason>, &'a str, bool);

#[test]
fn what_decides_over_what() {
    let table: &[Line<'_>] = &[
        (&[(1, None)], Verdict::Pass, None, "evidence-1", false),
        (&[(1, DOCKER), (2, None)], Verdict::Pass, None, "evidence-2", false),
        (&[(1, DOCKER), (2, ASSERTION), (3, Some(Reason::InitHang))], Verdict::Fail, ASSERTION, "evidence-2", false),
        (&[(1, None), (2, ASSERTION)], Verdict::Fail, ASSERTION, "evidence-2", true),
        (&[(1, ASSERTION), (2, None)], Verdict::Fail, ASSERTION, "evidence-1", true),
        (&[(1, SKIPPED), (2, DOCKER)], Verdict::Skipped, SKIPPED, "evidence-1", false),
        (&[(1, SKIPPED), (2, None)], Verdict::Pass, None, "evidence-2", false),
        (&[(1, DOCKER), (2, Some(Reason::Registry))], Verdict::Indeterminate, DOCKER, "evidence-1", false),
        (&[(3, Some(Reason::InitHang)), (2, ASSERTION)], Verdict::Fail, ASSERTION, "evidence-2", false),
    ];
    for (attempts, verdict, reason, evidence, flaky) in table {
        let outcomes: Vec<Outcome> = attempts.iter().map(|&(number, reason)| attempt(number, reason)).collect();
        let row = case(&outcomes).unwrap();
        let actual = (row.verdict, row.reason, row.evidence.as_deref().unwrap(), row.flaky);
        assert_eq!(actual, (*verdict, *reason, *evidence, *flaky), "{attempts:?}");
    }
}

#[test]
fn a_flaky_row_names_both_pieces_of_evidence() {
    let row = case(&[attempt(2, None), attempt(1, ASSERTION)]).unwrap();
    assert_eq!(row.evidence.as_deref(), Some("evidence-1"));
    assert_eq!(row.warnings, ["flaky: attempt 2 passed (evidence: evidence-2)"]);
}

#[test]
fn a_record_of_the_attempt_outranks_the_word_that_it_was_lost() {
    let row = case(&[attempt(1, Some(Reason::ExecutorLost)), attempt(1, Some(Reason::Registry))]).unwrap();
    assert_eq!(row.reason, Some(Reason::Registry));
    let row = case(&[attempt(1, Some(Reason::ExecutorLost)), attempt(2, DOCKER)]).unwrap();
    assert_eq!(row.reason, Some(Reason::ExecutorLost));
}

#[test]
fn records_of_a_preparation_make_no_row() {
    let mut outcome = attempt(1, None);
    outcome.result =
        WorkResult::Unprepared(Unprepared { reason: Reason::BuildFailed, failures: Vec::new(), log_tail: String::new(), duration_ms: 1 });
    assert_eq!(case([&outcome]), None);
    assert!(cases([&outcome]).is_empty());
    assert_eq!(case([]), None);
}

#[test]
fn each_case_has_its_own_row() {
    let all = [outcome("a", 1, load("1.0.0", None)), outcome("b", 1, load("1.0.0", ASSERTION)), outcome("a", 2, load("1.0.0", DOCKER))];
    let rows: Vec<(String, Verdict)> = cases(&all).into_iter().map(|(case, row)| (case.to_string(), row.verdict)).collect();
    assert_eq!(rows, [("a".to_owned(), Verdict::Pass), ("b".to_owned(), Verdict::Fail)]);
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    let reasons = prop_oneof![
        Just(None),
        Just(ASSERTION),
        Just(DOCKER),
        Just(SKIPPED),
        Just(Some(Reason::ExecutorLost)),
        Just(Some(Reason::InitHang))
    ];
    (1_u32..4, reasons, 0_u64..3).prop_map(|(number, reason, duration)| {
        let mut outcome = attempt(number, reason);
        if let WorkResult::Case(row) = &mut outcome.result {
            row.duration_ms = duration;
        }
        outcome
    })
}

fn verdicts(outcomes: &[Outcome]) -> Vec<Verdict> {
    outcomes.iter().filter_map(|outcome| if let WorkResult::Case(row) = &outcome.result { Some(row.verdict) } else { None }).collect()
}

proptest! {
    #[test]
    fn any_order_and_any_repetition_give_the_same_row(
        (outcomes, shuffled) in proptest::collection::vec(any_outcome(), 1..7).prop_flat_map(|outcomes| {
            let twice = [outcomes.clone(), outcomes.clone()].concat();
            (Just(outcomes), Just(twice).prop_shuffle())
        }),
        keep in 0_usize..7,
    ) {
        let row: CaseRow = case(&outcomes).unwrap();
        prop_assert_eq!(&case(&shuffled).unwrap(), &row);
        // Whole and some repeated.
        let some: Vec<&Outcome> = outcomes.iter().chain(outcomes.iter().take(keep)).collect();
        prop_assert_eq!(&case(some).unwrap(), &row);
        let all = verdicts(&outcomes);
        prop_assert_eq!(row.verdict == Verdict::Fail, all.contains(&Verdict::Fail));
        prop_assert_eq!(row.verdict == Verdict::Pass, all.contains(&Verdict::Pass) && !all.contains(&Verdict::Fail));
        // One at a time, as a run gets them.
        let mut fold = Fold::default();
        for outcome in shuffled {
            if let WorkResult::Case(row) = outcome.result {
                fold.add(outcome.case, outcome.attempt, row);
            }
        }
        prop_assert_eq!(fold.into_rows().into_values().collect::<Vec<_>>(), vec![row.clone()]);
        prop_assert_eq!(row.flaky, all.contains(&Verdict::Fail) && all.contains(&Verdict::Pass));
    }
}
