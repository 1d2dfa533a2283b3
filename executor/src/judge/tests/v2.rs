//! How far a plugin came on line v2: every row of the load tables, one change at a time of a run that passes.

use ocsweep_proto::agent::{Bound, Exit, ImportError, Position, Preflight, Report, Timeout, TuiReport};
use ocsweep_proto::axes::{Line, Tier};
use ocsweep_proto::verdict::Reason;
use serde_json::{Value, json};

use super::run::{Run, export, function, request};
use crate::judge::{judge_tui, module_is_tui_only};

const ID: &str = "fixture.example";
const SHIM: &str = "/run/ocsweep/assets/plugin-under-test/server.js";

pub(super) fn entry(id: &str, path: &str, status: &str) -> Value {
    json!({"id": id, "source": {"type": "local", "path": path}, "status": status})
}

fn builtin(id: &str) -> Value {
    json!({"id": id, "source": {"type": "builtin"}, "state": {"status": "active"}})
}

fn ours(own: Value) -> Vec<Value> {
    let probe = |phase: &str| entry(&format!("ocsweep.probe.{phase}"), &format!("/run/ocsweep/assets/probe-{phase}/server.js"), "active");
    vec![builtin("opencode.tool.shell"), probe("pre"), own, probe("post")]
}

pub(super) fn inventory(plugins: Vec<Value>) -> Value {
    json!({"kind": "inventory", "tools": ["shell", "read", "execute", "ns_spike_echo"], "agents": ["build"], "providers": ["stub"], "models": ["stub/m1"], "plugins": plugins, "missing": []})
}

/// The run as a v2 host leaves it: no observer, and the plugin is in the host's list.
pub(super) fn v2(mut run: Run) -> Run {
    run.work.host.line = Line::V2;
    run.work.host.resolved = "2.0.26".to_owned();
    let mut default = export("default", "object", &[("id", "string"), ("setup", "function")]);
    default.id = Some(ID.to_owned());
    run.raw.report.preflight = Some(Preflight::Imported(vec![default]));
    run.observer.clear();
    run.post[1] = inventory(ours(entry(ID, SHIM, "active")));
    run
}

fn load() -> Run {
    v2(Run::load())
}

fn listed(own: Value) -> Run {
    let mut run = load();
    run.post[1] = inventory(ours(own));
    run
}

fn absent() -> Run {
    let mut run = load();
    run.post[1] = inventory(vec![builtin("opencode.tool.shell")]);
    run
}

/// The run fails for the reason, and its failures are these.
#[track_caller]
fn fails(run: &Run, reason: Reason, failures: &[&str]) {
    let judgement = run.judge();
    assert_eq!(judgement.failures, failures);
    assert_eq!(judgement.reason, Some(reason));
}

#[track_caller]
fn passes(run: &Run) {
    let judgement = run.judge();
    assert_eq!((judgement.reason, judgement.failures, judgement.warnings), (None, vec![], vec![]));
}

#[test]
fn an_active_entry_in_either_shape_is_the_evidence() {
    passes(&load());
    passes(&v2(Run::scripted("{}")));
    passes(&listed(
        json!({"id": ID, "source": {"type": "local", "path": SHIM}, "state": {"status": "active"}, "features": {"server": true}}),
    ));
    passes(&listed(json!({"id": ID, "source": {"type": "local", "target": "/run/ocsweep/assets/plugin-under-test"}, "status": "active"})));
}

#[test]
fn a_plugin_that_is_not_listed_has_not_passed() {
    fails(&absent(), Reason::NotResolved, &["plugin never registered: the host's list of plugins has no entry for index.js."]);
    // The right id at another place, or without any, is not the plugin.
    for other in [entry(ID, "/evil/server.js", "active"), json!({"id": ID})] {
        let judgement = listed(other).judge();
        assert_eq!(judgement.reason, Some(Reason::NotResolved));
        assert!(judgement.failures.iter().any(|failure| failure.contains("plugin never registered")), "{:#?}", judgement.failures);
    }
    // Nor does a scripted conversation pass without it.
    let mut run = v2(Run::scripted("{}"));
    run.post[1] = inventory(vec![]);
    fails(&run, Reason::NotResolved, &["plugin never registered: the host's list of plugins has no entry for index.js."]);
}

#[test]
fn without_an_inventory_nothing_is_shown() {
    for mut run in [load(), v2(Run::scripted("{}"))] {
        run.post.remove(1);
        fails(&run, Reason::ExpectationMissing, &["no inventory was recorded."]);
    }
    let mut run = absent();
    run.post[1]["missing"] = json!(["plugins"]);
    fails(&run, Reason::HostError, &["the host did not answer for its list of plugins, so nothing shows that the plugin is active."]);
}

#[test]
fn a_failed_setup_shows_three_lines() {
    let failed = |error: Value| listed(json!({"id": ID, "source": {"type": "local", "path": SHIM}, "status": "failed", "error": error}));
    fails(&failed(json!("fixture boom")), Reason::SetupFailed, &["plugin setup failed: fixture boom"]);
    fails(&failed(json!({"message": "fixture boom\n2\n3\n4"})), Reason::SetupFailed, &["plugin setup failed: fixture boom / 2 / 3"]);
    fails(&failed(json!("")), Reason::SetupFailed, &["plugin setup failed: unknown error"]);
    let placed = json!("Error: boom\n    at setup (/opt/ocsweep/bundle/index.js:3:9)");
    assert!(failed(placed).judge().failures[0].ends_with("(index.js:3:9)"));
    let nested = json!({"id": ID, "source": {"type": "local", "path": SHIM}, "state": {"status": "failed", "error": "fixture boom", "ref": "err_1"}});
    fails(&listed(nested), Reason::SetupFailed, &["plugin setup failed: fixture boom"]);
    // A host that gives no error may have logged one.
    let mut run = failed(Value::Null);
    run.log(&format!(r#"level=WARN message="failed to load plugin" plugin.id={ID} cause="Cause([Die(Error: fixture boom)])""#));
    fails(&run, Reason::SetupFailed, &["plugin setup failed: unknown error; the log says: Cause([Die(Error: fixture boom)])"]);
}

#[test]
fn another_status_is_named() {
    fails(
        &listed(entry(ID, SHIM, "disabled")),
        Reason::SetupFailed,
        &["index.js has the status \"disabled\" in the host's list of plugins, expected \"active\"."],
    );
    fails(
        &listed(json!({"id": ID, "source": {"type": "local", "path": SHIM}})),
        Reason::SetupFailed,
        &["index.js has no status in the host's list of plugins, expected \"active\"."],
    );
    // Listed twice, the worse counts.
    let mut run = load();
    run.post[1] = inventory(vec![entry(ID, SHIM, "active"), entry(ID, SHIM, "failed")]);
    assert_eq!(run.judge().reason, Some(Reason::SetupFailed));
}

fn broken() -> Preflight {
    let position = Position { file: "/opt/ocsweep/bundle/index.js".into(), line: 3, column: 9, message: String::new() };
    Preflight::Failed(ImportError {
        name: "SyntaxError".into(),
        message: "Unexpected }".into(),
        stack: String::new(),
        positions: vec![position],
    })
}

#[test]
fn the_preflight_explains_what_the_host_says_and_nothing_more() {
    let import = "import of index.js failed: SyntaxError: Unexpected } (index.js:3:9).";
    let mut run = listed(json!({"source": {"type": "local", "path": SHIM}, "status": "failed", "error": "Cannot load"}));
    run.raw.report.preflight = Some(broken());
    fails(&run, Reason::ImportFailed, &[import, "plugin setup failed: Cannot load"]);
    let mut run = absent();
    run.raw.report.preflight = Some(broken());
    fails(&run, Reason::ImportFailed, &[import, "plugin never registered: the host's list of plugins has no entry for index.js."]);
    // The host's own word decides: what it runs is not argued with.
    for preflight in [Some(broken()), Some(Preflight::Died("exit code 1".into())), Some(Preflight::Hung), None] {
        let mut run = load();
        run.raw.report.preflight = preflight;
        passes(&run);
    }
}

#[test]
fn a_default_export_of_the_wrong_shape_keeps_the_hosts_words() {
    let refusal = "Plugin must export a default definition with an id and an effect or setup function.";
    let mut run = listed(json!({"source": {"type": "local", "path": SHIM}, "status": "failed", "error": refusal}));
    run.raw.report.preflight = Some(Preflight::Imported(vec![export("default", "function", &[])]));
    fails(
        &run,
        Reason::BadExport,
        &[
            &format!("the host rejects the module: {refusal}"),
            "the default export is a function: it is a plugin for opencode 1.x, and a v2 host wants an object {id, setup}.",
            &format!("plugin setup failed: {refusal}"),
        ],
    );
    // A host that says nothing of it.
    let mut run = absent();
    run.raw.report.preflight = Some(Preflight::Imported(vec![export("Plugin", "function", &[])]));
    fails(
        &run,
        Reason::BadExport,
        &[
            "plugin never registered: the host's list of plugins has no entry for index.js.",
            "the module has no default export, and a v2 host looks at nothing else; its named functions are what a v1 host calls.",
        ],
    );
}

#[test]
fn a_plugin_that_early_hosts_drop_from_the_list_is_found_in_the_log() {
    let mut run = absent();
    run.log(&format!(r#"level=WARN message="failed to load plugin" plugin.id={ID} cause="Cause([Die(Error: fixture boom)])""#));
    let never = "plugin never registered: the host's list of plugins has no entry for index.js.";
    fails(&run, Reason::SetupFailed, &["plugin setup failed: the log says: Cause([Die(Error: fixture boom)])", never]);
    let mut run = absent();
    run.log(r#"level=WARN message="failed to load plugin" target=/run/ocsweep/assets/plugin-under-test ref=err_1 cause="no such export""#);
    fails(&run, Reason::SetupFailed, &["plugin setup failed: the log says: no such export", never]);
    let mut run = absent();
    run.log(r#"level=WARN message="failed to load plugin" plugin.id=someone.else cause="not ours""#);
    fails(&run, Reason::NotResolved, &[never]);
}

#[test]
fn a_setup_that_never_ends_is_named_by_its_bound() {
    let mut run = load().silent(Exit::Signal(9));
    run.raw.report.timeout = Some(Timeout { bound: Bound::Init, limit_ms: 30_000, pending: "plugin setup".into() });
    run.post.clear();
    let text = "plugin init did not finish within 30000 ms (init bound): plugin setup of index.js; the host waits for it, so nothing behind it was reached.";
    let judgement = run.judge();
    assert_eq!((judgement.reason, judgement.failures[0].as_str(), judgement.timed_out), (Some(Reason::InitHang), text, true));
    assert!(!judgement.failures.iter().any(|failure| failure.contains("probe") || failure.contains("signal")), "{:#?}", judgement.failures);
    run.raw.report.preflight = Some(Preflight::Hung);
    assert!(run.judge().failures[0].contains("import of index.js alone did not end either"));
}

#[test]
fn the_other_rows_of_the_load_table_hold() {
    let mut run = load();
    run.raw.report.exit = Some(Exit::Code(1));
    fails(&run, Reason::HostError, &["opencode exited with code 1."]);
    let mut run = load();
    run.error_event(json!({"type": "unknown", "message": "boom"}));
    fails(&run, Reason::HostError, &["error event: unknown: boom."]);
    let mut run = load();
    run.raw.report.stub.primary = 0;
    fails(&run, Reason::NoModelCall, &["no model call was made."]);
    let mut run = load();
    run.raw.report.timeout = Some(Timeout { bound: Bound::Total, limit_ms: 9, pending: String::new() });
    assert_eq!(run.judge().reason, Some(Reason::TimeoutTotal));
    for (name, cut) in [("before", true), ("after", false)] {
        let mut run = load();
        if cut {
            run.pre.clear()
        } else {
            run.post.clear()
        }
        let judgement = run.judge();
        assert!(
            judgement.failures.iter().any(|failure| failure.starts_with(&format!("the probe {name} the plugin never spoke"))),
            "{name}"
        );
    }
    let mut run = load();
    run.work.expect.tools = vec!["bash".into(), "ns.spike_echo".into(), "echo_tool".into()];
    run.work.expect.models = vec!["stub/m1".into(), "stub/m2".into()];
    fails(
        &run,
        Reason::ExpectationMissing,
        &[
            "expected tool \"echo_tool\" not in inventory tools [shell, read, execute, ns_spike_echo].",
            "expected model \"stub/m2\" not in inventory models [stub/m1].",
        ],
    );
}

#[test]
fn the_hosts_rules_of_the_other_line_do_not_count() {
    let mut run = load();
    let server = run.work.subject.entries.server.as_mut().unwrap();
    server.not_resolved = Some("the host reads \"main\" only.".into());
    server.engines = Some(">=9".into());
    passes(&run);
}

#[test]
fn the_guard_against_foreign_plugins() {
    for (plugin, reported) in [
        (builtin("opencode.tool.shell"), None),
        (json!({"source": {"type": "builtin"}}), None),
        (entry("ocsweep.probe.pre", "/run/ocsweep/assets/probe-pre/server.js", "active"), None),
        (entry("ocsweep.probe.pre", "/evil/server.js", "active"), Some("ocsweep.probe.pre")),
        (entry("ocsweep.probe.pre", "/run/ocsweep/assets/probe-pre/deep/server.js", "active"), Some("ocsweep.probe.pre")),
        (entry("mystery", "/run/ocsweep/assets/probe-pre/server.js", "active"), Some("mystery")),
        (entry(ID, "/evil/server.js", "active"), Some(ID)),
        (json!({"id": "mystery"}), Some("mystery")),
        (json!({"source": {"type": "local", "path": "/evil/server.js"}}), Some("/evil/server.js")),
        (json!({}), Some("(unknown plugin)")),
        (json!({"id": ID, "source": {"type": "package", "target": "some-package"}}), Some(ID)),
    ] {
        let mut run = load();
        run.post[1] = inventory([ours(entry(ID, SHIM, "active")), vec![plugin.clone(), plugin.clone()]].concat());
        match reported {
            None => passes(&run),
            Some(name) => {
                fails(&run, Reason::ForeignPlugin, &[&format!("unexpected plugins in inventory from ancestor config: [{name}].")])
            }
        }
    }
}

#[test]
fn a_configuration_above_the_sandbox_is_no_fault_of_the_plugin() {
    let mut run = load();
    run.raw.report.ancestor_config = Some("/opencode.json".into());
    fails(&run, Reason::Docker, &["ancestor opencode config detected at /opencode.json: sandbox isolation compromised."]);
}

#[test]
fn a_scenarios_own_plugins_are_not_foreign() {
    let mut run = v2(Run::scripted("{}"));
    let own = vec![
        entry("extra", "/sandbox/project/.opencode/plugins/a.js", "active"),
        entry("dir", "/sandbox/project/mine/server.js", "active"),
        json!({"id": "pkg", "source": {"type": "package", "target": "extra-plugin"}, "status": "active"}),
    ];
    run.post[1] = inventory([ours(entry(ID, SHIM, "active")), own].concat());
    fails(&run, Reason::ForeignPlugin, &["unexpected plugins in inventory from ancestor config: [extra, dir, pkg]."]);
    run.scenario().workspace.insert(".opencode/plugins/a.js".into(), String::new());
    run.scenario().workspace.insert("./mine/server.js".into(), String::new());
    run.scenario().workspace.insert("opencode.json".into(), r#"{"plugins": ["extra-plugin", "./mine"]}"#.into());
    passes(&run);
}

#[test]
fn problems_in_the_log() {
    let must = "configured plugin path must be a directory";
    for (line, ours) in [
        ("level=ERROR message=x error=\"at /opt/ocsweep/bundle/index.js:1:2\"".to_owned(), true),
        ("level=FATAL message=x path=/run/ocsweep/assets/plugin-under-test/server.js".to_owned(), true),
        (format!("level=ERROR message=\"{ID} broke\""), true),
        (format!("level=ERROR message=\"not-{ID} broke\""), false),
        (format!("level=WARN message=\"{ID} broke\""), false),
        ("level=ERROR message=\"something else\"".to_owned(), false),
        (format!("level=WARN message=\"failed to load plugin\" plugin.id={ID} cause=x"), true),
        (format!("level=WARN msg=\"failed to load plugin\" plugin.id={ID} cause=x"), true),
        ("level=WARN message=\"failed to load plugin\" plugin.id=other cause=x".to_owned(), false),
        ("level=WARN message=\"failed to load plugin\" target=/opt/ocsweep/bundle cause=x".to_owned(), true),
        (format!("level=WARN message=\"{must}\" path=/run/ocsweep/assets/plugin-under-test/server.js"), true),
    ] {
        let mut run = load();
        run.log(&line);
        run.log(&line);
        if ours {
            fails(&run, Reason::LogProblem, &[&format!("plugin log problem: timestamp=2026 {line}")]);
        } else {
            passes(&run);
        }
    }
}

#[test]
fn what_the_log_says_of_others_is_a_warning() {
    for (line, word) in [
        ("level=WARN message=\"configured plugin path must be a directory\" path=/sandbox/project/x.js", "dropped a configured plugin"),
        ("level=ERROR message=\"Skipping invalid tool registration\" name=\"bad name\" error=x", "skipped a tool"),
        (
            "level=WARN message=\"configuration normalization diagnostic\" path=/sandbox/project/opencode.json",
            "dropped a part of the project's configuration",
        ),
    ] {
        let mut run = load();
        run.log(line);
        let judgement = run.judge();
        assert_eq!((judgement.reason, judgement.warnings.len()), (None, 1), "{:#?}", judgement.failures);
        assert!(judgement.warnings[0].contains(word) && judgement.warnings[0].contains(line), "{:#?}", judgement.warnings);
    }
}

#[test]
fn a_turn_that_ended_in_silence_is_told_from_a_death() {
    let mut run = load();
    run.events = vec![json!({"type": "step_finish", "sessionID": "s", "part": {"reason": "tool-calls"}})];
    fails(&run, Reason::HostCrashed, &["opencode exited with code 0 before its turn was complete."]);
    run.post.push(json!({"kind": "event", "type": "session.execution.succeeded", "data": {}}));
    passes(&run);
}

#[test]
fn the_servers_end_by_the_plugins_hand_is_a_crash() {
    let mut run = load();
    run.raw.report.exit = Some(Exit::Code(1));
    run.observer = vec![
        json!({"kind": "exit", "api": "process.exit", "code": 0, "origin": "plugin", "during": [], "listeners": [], "stack": "at x (/opt/ocsweep/bundle/index.js:2:3)"}),
    ];
    let judgement = run.judge();
    assert_eq!(judgement.reason, Some(Reason::HostCrashed));
    assert!(
        judgement.failures[0].contains("process.exit(0)") && judgement.failures[0].contains("index.js:2:3"),
        "{:#?}",
        judgement.failures
    );
}

#[test]
fn errors_are_blamed_on_whom_they_belong_to() {
    let mut run = v2(Run::scripted("{}"));
    let provider = json!({"type": "provider.invalid-request", "message": "Provider request failed with HTTP 400: {}"});
    run.error_event(provider.clone());
    assert_eq!(run.judge().reason, Some(Reason::HostError));
    run.scenario().script = serde_json::from_value(json!([{"error": {"status": 400}}])).unwrap();
    assert_eq!(run.judge().reason, Some(Reason::ScenarioConfig));
    let mut run = v2(Run::scripted("{}"));
    run.error_event(json!({"type": "unknown", "message": "Model unavailable: stub/none"}));
    run.scenario().workspace.insert("opencode.json".into(), r#"{"model": "stub/none"}"#.into());
    let judgement = run.judge();
    assert_eq!(judgement.reason, Some(Reason::ScenarioConfig));
    assert!(judgement.failures[0].contains("does not know model \"stub/none\""), "{:#?}", judgement.failures);
    let mut run = v2(Run::scripted("{}"));
    run.error_event(json!({"type": "aborted", "message": "Session interrupted: shutdown"}));
    run.raw.stderr = b"\x1b[93m! \x1b[0mpermission requested: shell (echo x); auto-rejecting\n".to_vec();
    fails(
        &run,
        Reason::HostError,
        &["error event: aborted: Session interrupted: shutdown; the host refused permission for shell (echo x)."],
    );
}

#[test]
fn surface_of_a_plugin_as_the_model_is_offered_it() {
    let mut run = load();
    let system = "## Available tools\n- tools.read(input: { path: string }): Promise<string>\n- ns (1 tool)\n  - tools.ns.find(input: {\n  /** What */\n  query: unknown,\n  limit?: number,\n}): Promise<unknown> // Find\n";
    let tools = [("shell", json!({"command": {}})), ("mine", json!({"a": {"type": "string"}, "b": {"description": "x"}}))];
    let tools: Vec<Value> = tools.into_iter().map(|(name, properties)| function(name, json!({"properties": properties}))).collect();
    run.raw.stub_requests = vec![request(json!({"messages": [{"role": "system", "content": system}], "tools": tools}))];
    let judgement = run.judge();
    assert_eq!(judgement.reason, None);
    assert_eq!(
        judgement.warnings,
        [
            "plugin tool `read` has the name of the built-in tool `read`.",
            "tool `mine`: the schema that the model receives has no type for argument \"b\".",
            "tool `ns_find`: the schema that the model receives has no type for argument \"query\".",
        ]
    );
    run.work.tier = Tier::Scripted;
    assert_eq!(run.judge().warnings, Vec::<String>::new());
}

#[test]
fn a_module_with_nothing_for_a_server_is_a_tui_plugin() {
    let module = |keys: &[(&str, &str)]| Some(Preflight::Imported(vec![export("default", "object", keys)]));
    let mut run = load();
    run.work.subject.entries.tui = Some("tui.js".into());
    run.raw.report.preflight = module(&[("id", "string")]);
    assert!(module_is_tui_only(&run.work, run.raw.report.preflight.as_ref().unwrap()));
    // Nobody looked at the TUI entry.
    let judgement = run.judge();
    assert_eq!(judgement.reason, Some(Reason::BadExport));
    assert!(judgement.failures[0].contains("no `setup` and no `effect`") && judgement.warnings[0].contains("plugin.ui"), "{judgement:#?}");
    run.raw.report.tui = Some(TuiReport { imported: true, id: "string".into(), setup: "function".into(), ..TuiReport::default() });
    assert_eq!(run.judge().reason, None);
    run.work.tier = Tier::Scripted;
    assert_eq!(run.judge().reason, Some(Reason::NotApplicable));
    // A v1 TUI module is none for a v2 host.
    let mut run = load();
    run.raw.report.preflight = module(&[("id", "string"), ("tui", "function")]);
    assert_eq!(run.judge().reason, Some(Reason::BadExport));
    // With a setup, the host decides.
    let mut run = load();
    run.work.subject.entries.tui = Some("tui.js".into());
    passes(&run);
}

#[test]
fn the_static_check_of_a_tui_plugin() {
    for (id, setup, failures) in [
        ("string", "function", vec![]),
        ("", "function", vec!["`id` of the default export is undefined, expected a string."]),
        ("string", "object", vec!["`setup` of the default export is an object, expected a function."]),
    ] {
        let mut run = load();
        run.work.subject.entries.tui_only = true;
        run.raw.report = Report {
            tui: Some(TuiReport { imported: true, id: id.into(), setup: setup.into(), ..TuiReport::default() }),
            ..Report::default()
        };
        let judgement = judge_tui(&run.work, &run.raw);
        assert_eq!(judgement.reason, (!failures.is_empty()).then_some(Reason::BadExport));
        assert_eq!(judgement.failures, failures);
    }
}
