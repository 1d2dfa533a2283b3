//! Tables and properties of the schedule, driven by made-up outcomes.

use ocsweep_proto::axes::Flavour;
use ocsweep_proto::config::{Config, PluginConfig, Variant};
use ocsweep_proto::digest::Digest;
use ocsweep_proto::ids::SweepId;
use ocsweep_proto::job::{Entries, Host, NpmSource, PrepareWork, Source};
use ocsweep_proto::limits::Limits;
use ocsweep_proto::scenario::Scenario;
use proptest::prelude::*;

use super::*;
use crate::plan::{LiveSkip, PlanInput};

fn scenario(id: &str, mode: &str) -> Scenario {
    let script = if mode == "scripted" { serde_json::json!([]) } else { serde_json::Value::Null };
    serde_json::from_value(serde_json::json!({"id": id, "mode": mode, "prompt": "hi", "script": script})).unwrap()
}

fn host(word: &str) -> Host {
    Host { requested: word.to_owned(), resolved: word.to_owned(), line: ocsweep_proto::axes::Line::V1, digest: Digest::of(word.as_bytes()) }
}

fn plan(tiers: &[Tier], scenarios: &[(&str, &str)], hosts: &[&str]) -> Plan {
    Plan::expand(PlanInput {
        sweep: SweepId::new("s").unwrap(),
        prepare: PrepareWork {
            subject: "p".to_owned(),
            source: Source::Npm(NpmSource { name: "p".to_owned(), wanted: None }),
            plugin: PluginConfig::default(),
            limits: Limits::default(),
        },
        hosts: hosts.iter().map(|word| BTreeMap::from([(Flavour::Glibc, host(word))])).collect(),
        variants: vec![Variant::default()],
        tiers: tiers.to_vec(),
        scenarios: scenarios.iter().map(|(id, mode)| scenario(id, mode)).collect(),
        bun: None,
        config: Config::default(),
        live_skip: Some(LiveSkip::NoKey),
    })
}

fn subject(tui_only: bool) -> Subject {
    Subject {
        name: "p".to_owned(),
        revision: None,
        digest: Digest::of(b"p"),
        directory: String::new(),
        entries: Entries { tui_only, ..Entries::default() },
        npm: None,
        warnings: Vec::new(),
    }
}

/// Drives a schedule to its end; `answer` says how each attempt of a case ends.
fn drive(
    plan: Plan,
    mut prepare: impl FnMut(u32) -> WorkResult,
    mut answer: impl FnMut(&str, u32) -> Option<Reason>,
) -> (Vec<String>, Vec<CaseRow>) {
    let mut schedule = Schedule::new(plan);
    let (mut ran, mut rows) = (Vec::new(), Vec::new());
    while let Some(action) = schedule.next_action() {
        match action {
            Action::Record(outcome) => {
                if let WorkResult::Case(row) = outcome.result {
                    rows.push(*row);
                }
            }
            Action::Publish(job) => {
                let result = match &job.work {
                    Work::Prepare(_) => prepare(job.attempt),
                    Work::Case(work) => {
                        ran.push(format!("{}@{}#{}", work.id, work.host.requested, job.attempt));
                        let row = CaseRow::blank(work.id.as_str(), work.tier, &work.host.requested, "default");
                        WorkResult::Case(Box::new(row.ended(answer(work.id.as_str(), job.attempt))))
                    }
                };
                let outcome = Outcome {
                    format: FORMAT,
                    sweep: job.sweep.clone(),
                    case: job.case.clone(),
                    attempt: job.attempt,
                    result,
                    tui_only: false,
                };
                schedule.record(&outcome);
                // The same announcement twice must not count twice.
                schedule.record(&outcome);
            }
        }
    }
    assert!(schedule.is_done(), "{schedule:?}");
    (ran, rows)
}

fn ready(_: u32) -> WorkResult {
    WorkResult::Prepared(Box::new(subject(false)))
}

const BOTH: &[Tier] = &[Tier::Load, Tier::Scripted];

#[test]
fn a_green_load_releases_the_scenarios_of_its_cell_alone() {
    let (ran, rows) = drive(plan(BOTH, &[("a", "scripted"), ("b", "scripted")], &["1.0.0", "1.0.1"]), ready, |_, _| None);
    assert_eq!(ran, ["load@1.0.0#1", "load@1.0.1#1", "a@1.0.0#1", "b@1.0.0#1", "a@1.0.1#1", "b@1.0.1#1"]);
    assert!(rows.is_empty());
}

#[test]
fn a_red_load_skips_the_rest_of_that_cell() {
    let (ran, rows) = drive(plan(BOTH, &[("a", "scripted")], &["1.0.0"]), ready, |_, _| Some(Reason::SetupFailed));
    assert_eq!(ran, ["load@1.0.0#1"]);
    assert_eq!((rows[0].reason, rows[0].skipped.as_deref()), (Some(Reason::Tier1Failed), Some("tier 1 failed")));
}

#[test]
fn an_indeterminate_case_has_three_attempts_and_then_skips_without_blame() {
    let (ran, rows) = drive(plan(BOTH, &[("a", "scripted")], &["1.0.0"]), ready, |_, _| Some(Reason::Docker));
    assert_eq!(ran, ["load@1.0.0#1", "load@1.0.0#2", "load@1.0.0#3"]);
    assert_eq!(rows[0].reason, Some(Reason::Tier1Indeterminate));
}

#[test]
fn a_later_attempt_can_still_pass_and_a_lost_executor_gets_none() {
    let (ran, _) = drive(plan(&[Tier::Load], &[], &["1.0.0"]), ready, |_, attempt| (attempt < 2).then_some(Reason::StreamIncomplete));
    assert_eq!(ran, ["load@1.0.0#1", "load@1.0.0#2"]);
    let (ran, _) = drive(plan(&[Tier::Load], &[], &["1.0.0"]), ready, |_, _| Some(Reason::ExecutorLost));
    assert_eq!(ran, ["load@1.0.0#1"]);
}

#[test]
fn a_failing_preparation_gives_a_load_row_for_each_version_even_when_the_tier_is_not_selected() {
    for tiers in [BOTH, &[Tier::Scripted]] {
        let unprepared = Unprepared {
            reason: Reason::BuildFailed,
            failures: vec!["build step failed (exit 3): exit code 3.".to_owned()],
            log_tail: String::new(),
            duration_ms: 5,
        };
        let (ran, rows) =
            drive(plan(tiers, &[("a", "scripted")], &["1.0.0", "1.0.1"]), |_| WorkResult::Unprepared(unprepared.clone()), |_, _| None);
        assert!(ran.is_empty());
        let got: Vec<_> = rows.iter().map(|row| (row.id.as_str(), row.reason)).collect();
        let cell = [("load", Some(Reason::BuildFailed)), ("a", Some(Reason::Tier1Failed))];
        assert_eq!(got, [cell, cell].concat());
        assert_eq!(rows[0].failures, ["build step failed (exit 3): exit code 3."]);
    }
}

#[test]
fn a_registry_that_is_down_is_tried_again_and_blames_nobody() {
    let mut attempts = 0;
    let unprepared = Unprepared { reason: Reason::Registry, failures: Vec::new(), log_tail: String::new(), duration_ms: 0 };
    let (_, rows) = drive(
        plan(BOTH, &[("a", "scripted")], &["1.0.0"]),
        |attempt| {
            attempts = attempt;
            WorkResult::Unprepared(unprepared.clone())
        },
        |_, _| None,
    );
    assert_eq!(attempts, 3);
    assert_eq!(rows.iter().map(|row| row.verdict).collect::<Vec<_>>(), [Verdict::Indeterminate, Verdict::Skipped]);
}

#[test]
fn a_tier_that_is_not_selected_does_not_block_later_ones() {
    let (ran, _) = drive(plan(&[Tier::Scripted], &[("a", "scripted")], &["1.0.0"]), ready, |_, _| None);
    assert_eq!(ran, ["a@1.0.0#1"]);
}

#[test]
fn live_scenarios_without_a_key_and_tui_plugins_are_skipped_with_words() {
    let (ran, rows) = drive(plan(&Tier::ALL, &[("a", "live")], &["1.0.0"]), ready, |_, _| None);
    assert_eq!((ran.len(), rows[0].skipped.as_deref()), (1, Some("no API key (set one of: OPENCODE_API_KEY)")));
    let (ran, rows) = drive(plan(BOTH, &[("a", "scripted")], &["1.0.0"]), |_| WorkResult::Prepared(Box::new(subject(true))), |_, _| None);
    assert_eq!((ran.as_slice(), rows[0].reason), (["load@1.0.0#1".to_owned()].as_slice(), Some(Reason::NotApplicable)));
}

#[test]
fn scenario_options_replace_config_options_key_by_key() {
    let mut plan = plan(BOTH, &[("a", "scripted")], &["1.0.0"]);
    plan.settings_for_test().extend(serde_json::json!({"x": {"deep": 1}, "y": 2}).as_object().unwrap().clone());
    let cell = plan.cells[0].clone();
    let mut case = cell.cases[1].clone();
    let options = serde_json::json!({"options": {"x": {"other": 3}}});
    case.scenario.as_mut().unwrap().plugin = Some(serde_json::from_value(options).unwrap());
    let work = plan.work(&cell, &case, &subject(false));
    assert_eq!(serde_json::Value::Object(work.options), serde_json::json!({"x": {"other": 3}, "y": 2}));
}

#[test]
fn cancelling_accounts_for_every_case() {
    let mut schedule = Schedule::new(plan(BOTH, &[("a", "scripted")], &["1.0.0"]));
    schedule.cancel();
    let mut reasons = Vec::new();
    while let Some(action) = schedule.next_action() {
        if let Action::Record(outcome) = action {
            reasons.push(outcome.reason());
        }
    }
    assert_eq!(reasons, [Some(Reason::Cancelled); 2]);
    assert!(schedule.is_done());
}

proptest! {
    #[test]
    fn every_planned_case_ends_exactly_once(seed in proptest::collection::vec(0usize..Reason::ALL.len() + 4, 1..60)) {
        let mut index = 0;
        let mut ends = std::collections::BTreeMap::new();
        let (ran, rows) = drive(plan(BOTH, &[("a", "scripted"), ("b", "scripted")], &["1.0.0", "1.0.1"]), ready, |_, _| {
            index += 1;
            Reason::ALL.get(seed[index % seed.len()]).copied().filter(|reason| reason.verdict() != Verdict::Skipped)
        });
        for name in ran.iter().map(|ran| ran.split('#').next().unwrap().to_owned()).collect::<std::collections::BTreeSet<_>>() {
            *ends.entry(name).or_insert(0) += 1;
        }
        for row in rows {
            *ends.entry(format!("{}@{}", row.id, row.opencode)).or_insert(0) += 1;
        }
        prop_assert_eq!(ends.len(), 6);
        prop_assert!(ends.values().all(|count| *count == 1), "{:?}", ends);
    }
}
