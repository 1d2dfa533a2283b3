//! How far a plugin came.

use ocsweep_proto::agent::{Bound, EXPORT_LIMIT, Exit, ImportError, Position, Preflight, Timeout};
use ocsweep_proto::verdict::Reason;
use serde_json::{Value, json};

use super::run::{Run, end, export, start};

/// The run fails for the reason, and its first failure holds every word.
#[track_caller]
fn fails(run: &Run, reason: Reason, words: &[&str]) {
    let judgement = run.judge();
    assert_eq!(judgement.reason, Some(reason), "{:#?}", judgement.failures);
    for word in words {
        assert!(judgement.failures[0].contains(word), "{word}: {:#?}", judgement.failures);
    }
}

fn never_started(preflight: Preflight) -> Run {
    let mut run = Run::load();
    run.raw.report.preflight = Some(preflight);
    run.raw.report.exit = None;
    run.raw.report.stub.primary = 0;
    (run.observer, run.pre, run.post, run.events) = (vec![], vec![], vec![], vec![]);
    run
}

#[test]
fn an_import_that_throws_is_told_in_its_own_words() {
    let error = ImportError {
        name: "Error".into(),
        message: "ENOENT: no such file or directory, open '/opt/ocsweep/bundle/prompt-template.txt'".into(),
        stack: "Error: ENOENT\n    at <anonymous> (/opt/ocsweep/bundle/index.js:3:18)".into(),
        positions: vec![],
    };
    let run = never_started(Preflight::Failed(error.clone()));
    let text = "import of index.js failed: ENOENT: no such file or directory, open 'prompt-template.txt' (index.js:3:18).";
    assert_eq!(run.judge().failures, [text]);
    fails(&run, Reason::ImportFailed, &[]);
    // The host runs on without the plugin, and nothing else is wrong.
    let mut run = Run::load();
    run.raw.report.preflight = Some(Preflight::Failed(error));
    run.observer.truncate(1);
    fails(&run, Reason::ImportFailed, &[text]);
}

#[test]
fn a_syntax_error_has_line_and_column() {
    let position = Position { file: "/opt/ocsweep/bundle/index.js".into(), line: 3, column: 3, message: "Expected \"}\"".into() };
    let error = ImportError {
        name: "AggregateError".into(),
        message: "2 errors".into(),
        positions: vec![position.clone(), position],
        ..ImportError::default()
    };
    fails(&never_started(Preflight::Failed(error)), Reason::ImportFailed, &["AggregateError: 2 errors", "index.js:3:3: Expected"]);
}

#[test]
fn more_names_than_can_be_exposed_are_a_bad_export() {
    let error = ImportError { name: EXPORT_LIMIT.into(), message: "40000 export names are too many".into(), ..ImportError::default() };
    fails(&never_started(Preflight::Failed(error)), Reason::BadExport, &["index.js exports too much: 40000 export names are too many."]);
}

#[test]
fn an_import_that_ends_the_process_or_never_ends() {
    fails(
        &never_started(Preflight::Died("exit code 3".into())),
        Reason::ImportFailed,
        &["import of index.js ended the process: exit code 3"],
    );
    fails(&never_started(Preflight::Hung), Reason::InitHang, &["import of index.js did not finish within 30000 ms (init bound)"]);
}

#[test]
fn an_import_that_fails_only_in_the_host_is_seen_by_the_observer() {
    let mut run = Run::load();
    run.observer =
        vec![json!({"kind": "setup"}), json!({"kind": "import", "error": {"name": "TypeError", "message": "boom", "stack": ""}})];
    fails(&run, Reason::ImportFailed, &["TypeError: boom"]);
}

#[test]
fn a_native_module_of_a_package_gets_a_hint() {
    let error = ImportError { message: "Cannot find module './build/better.node'".into(), ..ImportError::default() };
    let mut run = never_started(Preflight::Failed(error));
    assert!(!run.judge().failures[0].contains("scripts"));
    run.work.subject.npm = Some("pkg".into());
    fails(&run, Reason::ImportFailed, &["Install scripts were not run"]);
}

#[test]
fn an_export_that_is_no_function_is_named() {
    let mut run = Run::load();
    run.raw.report.preflight = Some(Preflight::Imported(vec![export("Auditor", "function", &[]), export("RELEASE", "string", &[])]));
    run.observer.truncate(2);
    run.log(r#"level=ERROR message="failed to load plugin" path=file:///run/ocsweep/assets/observer.mjs error="Plugin export is not a function""#);
    fails(&run, Reason::BadExport, &["`RELEASE`", "a string", "rejects the whole module"]);
    assert_eq!(run.judge().failures.len(), 1);
}

#[test]
fn an_export_that_is_no_function_is_named_even_if_the_host_says_nothing() {
    let mut run = Run::load();
    run.raw.report.preflight = Some(Preflight::Imported(vec![export("RELEASE", "string", &[])]));
    run.observer.truncate(2);
    fails(&run, Reason::BadExport, &["`RELEASE`", "a string"]);
}

#[test]
fn what_the_host_accepts_is_not_argued_with() {
    let mut run = Run::load();
    run.raw.report.preflight = Some(Preflight::Imported(vec![export("Plugin", "function", &[]), export("RELEASE", "string", &[])]));
    assert_eq!(run.judge().reason, None);
}

#[test]
fn a_rejection_without_a_known_rule_keeps_the_hosts_words() {
    let mut run = Run::load();
    run.observer.truncate(2);
    run.log(r#"level=ERROR message="failed to load plugin" path=file:///run/ocsweep/assets/observer.mjs error="some new rule""#);
    fails(&run, Reason::BadExport, &["the host rejects the module: some new rule."]);
    // The same line about another plugin is none of ours.
    let mut run = Run::load();
    run.log(r#"level=ERROR message="failed to load plugin" path=file:///sandbox/project/x.js error="some new rule""#);
    assert_eq!(run.judge().reason, None);
}

#[test]
fn a_class_is_no_factory() {
    let mut run = Run::load();
    let class = ocsweep_proto::agent::Export { class: true, ..export("Plugin", "function", &[]) };
    run.raw.report.preflight = Some(Preflight::Imported(vec![class]));
    run.observer[3] = json!({"kind": "factory.end", "id": 1, "error": {"name": "TypeError", "message": "Class constructor Plugin cannot be invoked without 'new'"}});
    fails(&run, Reason::BadExport, &["`Plugin` is a class"]);
}

#[test]
fn a_helper_that_returns_null_is_named() {
    let mut run = Run::load().silent(Exit::Code(1));
    run.observer.extend([start(2, "pickRuntime"), end(2, "null", &[])]);
    run.error_event(json!({"name": "UnknownError", "data": {"message": "Unexpected server error."}}));
    fails(&run, Reason::BadExport, &["export `pickRuntime` was called as a plugin and returned null"]);
    assert!(run.judge().failures.iter().any(|failure| failure.starts_with("error event: UnknownError")));
}

#[test]
fn the_only_factory_returns_nothing() {
    let mut run = Run::load();
    run.observer[3] = end(1, "undefined", &[]);
    fails(&run, Reason::SetupFailed, &["plugin setup failed: `Plugin` returned undefined"]);
}

#[test]
fn a_factory_that_throws_shows_three_lines_and_the_place() {
    let mut run = Run::load();
    let stack = "Error\n    at Plugin (/opt/ocsweep/bundle/index.js:2:9)";
    run.observer[3] =
        json!({"kind": "factory.end", "id": 1, "error": {"name": "Error", "message": "fixture boom\n2\n3\n4", "stack": stack}});
    run.log(r#"level=ERROR message="failed to load plugin" path=file:///run/ocsweep/assets/observer.mjs error="fixture boom""#);
    fails(&run, Reason::SetupFailed, &["plugin setup failed: fixture boom / 2 / 3 (index.js:2:9)"]);
    assert_eq!(run.judge().failures.len(), 1);
    run.observer[3] = json!({"kind": "factory.end", "id": 1, "error": {"name": "Error", "message": ""}});
    fails(&run, Reason::SetupFailed, &["plugin setup failed: unknown error"]);
}

#[test]
fn a_config_hook_that_throws_is_a_failed_setup() {
    let mut run = Run::load();
    run.observer.extend([
        json!({"kind": "hook.start", "id": 1, "hook": "config"}),
        json!({"kind": "hook.end", "id": 1, "error": {"name": "Error", "message": "BOOM"}}),
    ]);
    fails(&run, Reason::SetupFailed, &["plugin setup failed: the config hook threw BOOM"]);
}

fn hanging(pending: &str, records: Vec<Value>) -> Run {
    let mut run = Run::load().silent(Exit::Signal(9));
    run.raw.report.timeout = Some(Timeout { bound: Bound::Init, limit_ms: 30_000, pending: pending.into() });
    run.observer.truncate(3);
    run.observer.extend(records);
    run.post.clear();
    run
}

#[test]
fn an_init_that_hangs_names_the_factory_and_the_pending_call() {
    let run = hanging("", vec![json!({"kind": "client.start", "id": 1, "call": "session.list"})]);
    fails(&run, Reason::InitHang, &["within 30000 ms (init bound)", "factory \"Plugin\"", "session.list", "nothing behind it was reached"]);
    let run =
        hanging("factory \"Plugin\", waiting for session.list", vec![json!({"kind": "client.start", "id": 1, "call": "session.list"})]);
    fails(&run, Reason::InitHang, &["factory \"Plugin\", waiting for session.list"]);
    assert_eq!(run.judge().failures[0].matches("session.list").count(), 1);
    let judgement = run.judge();
    assert!(
        judgement.timed_out && !judgement.failures.iter().any(|failure| failure.contains("signal") || failure.contains("probe")),
        "{judgement:#?}"
    );
}

#[test]
fn a_plugin_that_nobody_saw_has_not_passed() {
    let mut run = Run::load();
    run.observer.clear();
    fails(&run, Reason::NotResolved, &["plugin never registered"]);
    let mut run = Run::load();
    run.observer.truncate(2);
    fails(&run, Reason::BadExport, &["plugin never registered", "none of its exports"]);
    let mut run = Run::load();
    run.observer.truncate(3);
    run.observer.push(json!({"kind": "exit", "code": 0, "api": "process.exit", "origin": "host", "stack": ""}));
    fails(&run, Reason::SetupFailed, &["did not come back"]);
}

#[test]
fn a_probe_that_nobody_heard_of_proves_nothing() {
    let mut run = Run::load();
    run.pre.clear();
    fails(&run, Reason::HostError, &["the probe before the plugin never spoke"]);
    let mut run = Run::load();
    run.post.retain(|record| record["kind"] == "inventory");
    assert_eq!(run.judge().reason, None);
    run.post.clear();
    fails(&run, Reason::HostError, &["the probe after the plugin never spoke"]);
}

#[test]
fn resolution_and_engines_are_checked_without_the_host() {
    let mut run = Run::load();
    run.work.subject.entries.server.as_mut().unwrap().not_resolved = Some("the host reads \"main\" only.".into());
    fails(&run, Reason::NotResolved, &["the host reads \"main\" only."]);
    let mut run = Run::load();
    run.work.subject.entries.server.as_mut().unwrap().engines = Some(">=2".into());
    fails(&run, Reason::NotResolved, &["engines.opencode", "1.18.33"]);
    run.work.subject.entries.server.as_mut().unwrap().engines = Some("^1.2".into());
    assert_eq!(run.judge().reason, None);
}

#[test]
fn expected_names_must_be_in_the_inventory() {
    let mut run = Run::load();
    run.work.expect.tools = vec!["shell".into(), "echo_tool".into()];
    run.work.expect.agents = vec!["build".into()];
    fails(&run, Reason::ExpectationMissing, &[]);
    assert_eq!(
        run.judge().failures,
        ["expected tool \"echo_tool\" not in inventory tools [bash, read].", "expected agent \"build\" not in inventory agents []."]
    );
    run.post.truncate(1);
    fails(&run, Reason::ExpectationMissing, &["no inventory was recorded"]);
}

#[test]
fn a_foreign_plugin_is_named() {
    let mut run = Run::load();
    let ours = ["probe-pre.mjs", "observer.mjs", "probe-post.mjs"].map(|file| format!("file:///run/ocsweep/assets/{file}"));
    let inventory = |specs: &[String]| json!({"kind": "inventory", "tools": [], "plugins": specs});
    run.post[1] = inventory(&ours);
    assert_eq!(run.judge().reason, None);
    for foreign in
        ["mystery", "file:///evil/server.js", "file:///run/ocsweep/assets/x.mjs", "file:///sandbox/project/.opencode/plugins/a.js"]
    {
        run.post[1] = inventory(&[ours.as_slice(), &[foreign.to_owned()]].concat());
        fails(&run, Reason::ForeignPlugin, &[foreign]);
    }
}

#[test]
fn a_scenarios_own_plugins_are_not_foreign() {
    let mut run = Run::scripted("{}");
    run.post[1] = json!({"kind": "inventory", "plugins": ["extra-plugin", "file:///sandbox/project/.opencode/plugins/a.js"]});
    fails(&run, Reason::ForeignPlugin, &["extra-plugin", "a.js"]);
    run.scenario().workspace.insert("opencode.json".into(), r#"{"plugin": ["extra-plugin"]}"#.into());
    run.scenario().workspace.insert(".opencode/plugins/a.js".into(), String::new());
    assert_eq!(run.judge().reason, None);
}

#[test]
fn the_log_may_not_complain_about_the_plugin() {
    for (line, ours) in [
        ("level=ERROR message=x error=\"at /opt/ocsweep/bundle/index.js\"", true),
        ("level=ERROR message=x path=file:///run/ocsweep/assets/observer.mjs", true),
        ("level=ERROR message=\"my-plugin broke\"", true),
        ("level=ERROR message=\"not-my-plugin broke\"", false),
        ("level=ERROR message=\"background dependency install failed\"", false),
        ("level=WARN message=\"my-plugin broke\"", false),
    ] {
        let mut run = Run::load();
        run.work.subject.npm = Some("my-plugin".into());
        run.log(line);
        let judgement = run.judge();
        assert_eq!(judgement.reason, ours.then_some(Reason::LogProblem), "{line}");
        assert!(!ours || judgement.failures[0].starts_with("plugin log problem: timestamp=2026 level=ERROR"));
    }
}
