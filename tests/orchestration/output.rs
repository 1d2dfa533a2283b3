//! What a run says and writes: streams, report, step summary, redaction.

use serde_json::{Value, json};

use crate::support::engine;
use crate::support::project::{Project, files, on};
use crate::support::run::ocsweep;

#[test]
fn json_is_the_results_file_and_alone_on_standard_output() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new().scenario("a", "");
    let ended = project.run(&["--json"]).expect(0);
    let printed: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.describe()));
    assert_eq!(printed, project.results());
}

#[test]
fn quiet_leaves_standard_error_empty() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new();
    let ended = project.run(&["--quiet"]).expect(0);
    assert_eq!(ended.stderr, "");
}

#[test]
fn progress_in_a_pipe_is_plain_lines() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new().scenario("first", "");
    let ended = project.run(&[]).expect(0).says(&["first"]);
    for stream in [&ended.stdout, &ended.stderr] {
        assert!(!stream.contains(['\u{1b}', '\r']), "{}", ended.describe());
    }
}

#[test]
fn the_report_can_be_rendered_again_byte_for_byte() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new().config(&["1.18.33", "1.18.34"], "").scenario("a", "").plan(&json!([{"when": on("a"), "exitCode": 1}]));
    project.run(&[]).expect(1);
    let ended = ocsweep(project.path(), &["report"]).run().expect(0);
    assert_eq!(ended.stdout, project.output("report.md"));
    let results = project.out().join("results.json");
    let named = ocsweep(std::path::Path::new("/"), &["report", results.to_str().unwrap()]).run().expect(0);
    assert_eq!(named.stdout, ended.stdout);
}

#[test]
fn the_report_is_appended_to_the_step_summary() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new();
    project.file("summary.md", "before\n");
    let summary = project.path().join("summary.md");
    project.call(&[]).env("GITHUB_STEP_SUMMARY", &summary).run().expect(0);
    let text = std::fs::read_to_string(summary).unwrap();
    let report = project.output("report.md");
    assert!(text.starts_with("before\n") && text.trim_end().ends_with(report.trim_end()), "{text}");
}

#[test]
fn a_step_summary_that_cannot_be_written_is_only_a_warning() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new();
    project.call(&[]).env("GITHUB_STEP_SUMMARY", "/nonexistent/summary.md").run().expect(0).says(&["warning", "summary"]);
}

/// The host never sees the key, but a plugin may know it from elsewhere: then it is in everything that the case says.
#[test]
fn the_value_of_a_key_is_in_no_file_and_on_no_stream() {
    if !engine::is_there() {
        return;
    }
    let canary = "canary-\"5f3a9\\c1e7";
    let plan = json!([{
        "when": on("leaks"), "text": format!("the key is {canary}"), "stderr": format!("level=INFO message=key {canary}"),
        "noise": format!("printed {canary}"), "exitCode": 1,
    }, {"when": on("fails"), "error": format!("bad key {canary}")}]);
    let expect = "expect: {text: {contains: something else}, stderr: {contains: something else}}";
    let project = Project::new().scenario("leaks", expect).scenario("fails", "").plan(&plan);
    let ended = project.call(&["--verbose"]).env("OPENCODE_API_KEY", canary).run().expect(1);
    assert_eq!(project.row("leaks")["verdict"], "fail");
    let escaped = json!(canary).to_string();
    let forms = [canary, escaped.trim_matches('"')];
    let holds = |text: &str| forms.iter().any(|form| text.contains(form));
    assert!(!holds(&ended.stdout) && !holds(&ended.stderr), "{}", ended.describe());
    for path in files(&project.out()) {
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        assert!(!holds(&text), "{} holds the key", path.display());
    }
    let row = project.row("leaks").to_string();
    assert!(row.contains("[redacted]"), "the test must reach the row: {row}");
    assert!(project.output("1.18.33/leaks/events.jsonl").contains("[redacted]"));
    assert!(project.output("1.18.33/leaks/stderr.log").contains("[redacted]"));
}
