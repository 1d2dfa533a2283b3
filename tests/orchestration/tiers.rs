//! Selection by tier and scenario, and the bounds of time.

use serde_json::json;

use crate::support::engine;
use crate::support::project::{Project, on};

fn ids(project: &Project) -> Vec<String> {
    project.table().into_iter().map(|[_, id, _, _]| id).collect()
}

#[test]
fn only_selected_tiers_run() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new().scenario("a", "").scenario("b", "");
    project.run(&["--tier", "load"]).expect(0);
    assert_eq!(ids(&project), ["load"]);
    project.run(&["--tier=scripted", "--scenario=b"]).expect(0);
    assert_eq!(ids(&project), ["b"]);
    project.run(&["--tier", "load,scripted", "--scenario", "b", "--scenario", "a"]).expect(0);
    assert_eq!(ids(&project), ["load", "a", "b"]);
}

#[test]
fn a_tier_that_is_not_selected_blocks_nothing() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new().scenario("a", "").plan(&json!([{"when": on("Reply with ok."), "exitCode": 1}]));
    project.run(&["--tier", "scripted"]).expect(0);
    assert_eq!(ids(&project), ["a"]);
    project.run(&[]).expect(1);
    assert_eq!(project.row("a")["reason"], "tier-1-failed");
}

#[test]
fn a_selection_without_any_case_exits_4() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new();
    let ended = project.run(&["--tier", "scripted"]).expect(4).says(&["no case"]);
    assert_eq!(ended.stdout, "");
}

#[test]
fn a_live_scenario_without_a_key_is_skipped_with_the_names_of_the_keys() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new().config(&["1.18.33"], "live:\n  keys: [FIRST_KEY, SECOND_KEY]\n  model: a/b\n");
    project.file(".opencode-ci/scenarios/l.yaml", "id: live-one\nmode: live\nprompt: x\n");
    project.run(&["--tier", "live"]).expect(0);
    let row = project.row("live-one");
    assert_eq!((&row["verdict"], &row["reason"]), (&json!("skipped"), &json!("no-key")));
    assert_eq!(row["skipped"], "no API key (set one of: FIRST_KEY, SECOND_KEY)");
}

#[test]
fn a_scenario_ends_at_its_own_bound_wherever_the_host_stays() {
    if !engine::is_there() {
        return;
    }
    let plan = json!([{"when": on("silent"), "hang": "start"}, {"when": on("alive"), "hang": "end"}]);
    let project = Project::new().scenario("silent", "timeoutMs: 1200").scenario("alive", "timeoutMs: 1200").plan(&plan);
    let ended = project.run(&[]).expect(1);
    for id in ["silent", "alive"] {
        let row = project.row(id);
        assert_eq!((&row["reason"], &row["timedOut"]), (&json!("timeout-total"), &json!(true)), "{row:#}");
        assert!(row["failures"][0].as_str().unwrap().starts_with("opencode run timed out after 1200ms."), "{row:#}");
    }
    assert!(project.row("alive")["failures"][0].as_str().unwrap().contains("turn was complete"));
    assert!(ended.took.as_secs() < 30, "{:?}", ended.took);
}

#[test]
fn the_bound_that_was_reached_is_named() {
    if !engine::is_there() {
        return;
    }
    let limits = "limits:\n  startMs: 700\n  noOutputMs: 900\n  initMs: 800\n";
    let project = Project::new().config(&["1.18.33"], limits).scenario("late", "script: [{text: x, delayMs: 20000}]\n");
    project.file("fake-plan.json", json!({"runs": [{"when": on("Reply with ok."), "hang": "start"}]}).to_string());
    project.run(&["--tier", "load"]).expect(1);
    let row = project.row("load");
    assert_eq!(row["reason"], "timeout-start", "{row:#}");
    assert!(row["failures"][0].as_str().unwrap().contains("700 ms"), "{row:#}");
    project.run(&["--tier", "scripted"]).expect(1);
    let row = project.row("late");
    assert_eq!(row["reason"], "timeout-no-output", "{row:#}");
    assert!(row["failures"][0].as_str().unwrap().contains("900 ms"), "{row:#}");
    project.file("fake-plan.json", json!({"preflight": "hangs"}).to_string());
    project.run(&["--tier", "load"]).expect(1);
    let row = project.row("load");
    assert_eq!(row["reason"], "init-hang", "{row:#}");
    assert!(row["failures"][0].as_str().unwrap().contains("800 ms"), "{row:#}");
}
