//! Which cases run, in which order they are reported, and what a red one keeps from running.

use serde_json::json;

use crate::support::engine;
use crate::support::project::{OTHER, Project, VERSION, files, on, version};

#[test]
fn rows_come_by_version_then_tier_then_scenario_file() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new().config(&[OTHER, VERSION], "");
    project.file(".opencode-ci/scenarios/1.yaml", "id: zulu\nmode: scripted\nprompt: x\nscript: [{text: a}]\n");
    project.file(".opencode-ci/scenarios/2.yaml", "id: alpha\nmode: scripted\nprompt: x\nscript: [{text: a, delayMs: 300}]\n");
    project.file(".opencode-ci/scenarios/3.yaml", "id: mike\nmode: scripted\nprompt: x\nscript: [{text: a}]\n");
    project.run(&[]).expect(0);
    let expected = [OTHER, VERSION].map(|version| ["load", "zulu", "alpha", "mike"].map(|id| [version, id, "pass", ""].map(str::to_owned)));
    assert_eq!(project.table(), expected.concat());
    let results = project.results();
    assert_eq!(results["completeness"], json!({"planned": 8, "done": 8, "skipped": 0, "indeterminate": 0}));
    assert!(project.rows().iter().all(|row| row["resolved"] == row["opencode"]), "{results:#}");
}

#[test]
fn a_red_load_case_skips_the_scenarios_of_its_version_and_no_others() {
    if !engine::is_there() {
        return;
    }
    let plan = json!([{"when": version(VERSION), "plugin": "failed"}]);
    let project = Project::new().config(&[VERSION, OTHER], "").scenario("a", "").scenario("b", "").plan(&plan);
    project.run(&[]).expect(1);
    let expected = [
        [VERSION, "load", "fail", "setup-failed"],
        [VERSION, "a", "skipped", "tier-1-failed"],
        [VERSION, "b", "skipped", "tier-1-failed"],
        [OTHER, "load", "pass", ""],
        [OTHER, "a", "pass", ""],
        [OTHER, "b", "pass", ""],
    ];
    assert_eq!(project.table(), expected.map(|row| row.map(str::to_owned)));
    let skipped = project.row("a");
    assert_eq!(skipped["skipped"], "tier 1 failed");
    assert_eq!(skipped["pass"], true, "readers of the reference tool look at `skipped` first");
    assert!(project.row("load")["failures"][0].as_str().unwrap().starts_with("plugin setup failed: "), "{:#}", project.row("load"));
    let ran = files(&project.out().join(VERSION)).into_iter().filter(|path| path.ends_with("events.jsonl")).count();
    assert_eq!(ran, 1, "a skipped case starts no host");
}

#[test]
fn an_allowed_version_may_fail_and_the_report_says_so() {
    if !engine::is_there() {
        return;
    }
    let plan = json!([{"when": version(OTHER), "plugin": "missing"}]);
    let project = Project::new().config(&[VERSION, OTHER], "").plan(&plan);
    project.run(&[]).expect(0);
    assert_eq!(project.table()[1], [OTHER, "load", "fail", "not-resolved"].map(str::to_owned));
    let report = project.output("report.md");
    assert!(report.contains("⚠️ allowed failure"), "{report}");
    assert!(report.contains("plugin never registered"), "{report}");
}

#[test]
fn versions_of_the_command_line_replace_those_of_the_configuration() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new().plan(&json!([{"when": version(VERSION), "exitCode": 3}]));
    project.run(&["--opencode", &format!("{OTHER},{VERSION}")]).expect(0);
    let verdicts: Vec<_> = project.table().into_iter().map(|[version, _, verdict, _]| [version, verdict]).collect();
    assert_eq!(verdicts, [[OTHER, "pass"], [VERSION, "fail"]].map(|row| row.map(str::to_owned)), "the first is required");
}

#[test]
fn a_failing_scenario_fails_the_run_and_the_others_are_still_judged() {
    if !engine::is_there() {
        return;
    }
    let plan = json!([
        {"when": on("b"), "exitCode": 7},
        {"when": on("c"), "error": "fake trouble"},
        {"when": on("d"), "toolCalls": [{"tool": "echo", "input": {"x": 1}, "inputAfter": {"x": 2}, "output": "out"}]},
    ]);
    let tools = "script: [{toolCalls: [{name: echo}]}, {text: done}]\nexpect: {tools: [{name: echo, input: {x: {equals: 2}}, output: {equals: out}}]}";
    let project = Project::new().scenario("a", "").scenario("b", "").scenario("c", "").scenario("d", tools).plan(&plan);
    project.run(&[]).expect(1);
    let verdicts: Vec<_> = project.table().into_iter().map(|[_, id, verdict, _]| [id, verdict]).collect();
    let expected = [["load", "pass"], ["a", "pass"], ["b", "fail"], ["c", "fail"], ["d", "pass"]];
    assert_eq!(verdicts, expected.map(|row| row.map(str::to_owned)));
    assert_eq!(project.row("b")["exitCode"], 7);
    assert_eq!(project.row("c")["errors"], json!(["fake trouble"]));
    assert_eq!(project.row("d")["completed"], json!(["echo"]));
}

#[test]
fn zero_model_calls_or_no_sign_of_the_plugin_is_never_a_pass() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new().plan(&json!([{"plugin": "missing"}]));
    project.run(&["--tier", "load"]).expect(1);
    assert_eq!(project.row("load")["reason"], "not-resolved");
}
