//! Findings that are no failure.

use ocsweep_proto::agent::{Exit, LeakedProcess};
use serde_json::{Value, json};

use super::run::{Run, end, function, request, start};

/// The run passes with exactly one warning, which holds every word.
#[track_caller]
fn warns(run: &Run, words: &[&str]) {
    let judgement = run.judge();
    assert_eq!(judgement.reason, None, "{:#?}", judgement.failures);
    assert_eq!(judgement.warnings.len(), 1, "{:#?}", judgement.warnings);
    for word in words {
        assert!(judgement.warnings[0].contains(word), "{word}: {:#?}", judgement.warnings);
    }
}

#[track_caller]
fn is_quiet(run: &Run) {
    let judgement = run.judge();
    assert_eq!((judgement.reason, judgement.warnings), (None, vec![]));
}

fn with_tools(tools: &[&str]) -> Value {
    json!({"kind": "factory.end", "id": 1, "returned": "object", "hooks": ["tool"], "hookTypes": {"tool": "object"}, "tools": tools})
}

#[test]
fn a_tool_that_replaces_a_built_in() {
    let mut run = Run::load();
    run.observer[3] = with_tools(&["read", "mine"]);
    warns(&run, &["built-in", "`read`"]);
    let mut run = Run::scripted("{}");
    run.observer[3] = with_tools(&["read"]);
    is_quiet(&run);
}

#[test]
fn unknown_hook_keys_with_the_nearest_names() {
    let mut run = Run::load();
    run.observer[3] = end(1, "object", &["chat.mesage", "tool.executed.after", "onSessionIdle"]);
    warns(
        &run,
        &[
            "`chat.mesage` (did you mean `chat.message`?)",
            "`tool.executed.after` (did you mean `tool.execute.after`?)",
            "`onSessionIdle` (did you mean `event` with type session.idle?)",
            "no hook of this plugin can run",
        ],
    );
    run.observer[3] = end(1, "object", &["chat.mesage", "event"]);
    warns(&run, &["unknown hook keys: `chat.mesage`"]);
    assert!(!run.judge().warnings[0].contains("no hook"));
    run.observer[3] = json!({"kind": "factory.end", "id": 1, "returned": "object", "hooks": ["event", "version"], "hookTypes": {"event": "function", "version": "string"}});
    is_quiet(&run);
}

#[test]
fn a_dead_hook() {
    let mut run = Run::load();
    run.observer[3] = end(1, "object", &["permission.ask"]);
    warns(&run, &["hook `permission.ask` is never triggered by opencode 1.18.33"]);
}

#[test]
fn a_helper_called_as_a_plugin() {
    let mut run = Run::load();
    run.observer.extend([start(2, "isNode"), end(2, "boolean", &[])]);
    warns(&run, &["`isNode`", "returned a boolean"]);
    let mut run = Run::load();
    run.observer.extend([start(2, "authorize"), end(2, "object", &["url", "verifier"])]);
    warns(&run, &["`authorize`", "an object without hooks"]);
    // An empty object is what a plugin without hooks returns.
    let mut run = Run::load();
    run.observer.extend([start(2, "Second"), end(2, "object", &[])]);
    is_quiet(&run);
}

#[test]
fn a_schema_without_types() {
    let mut run = Run::load();
    run.observer[3] = with_tools(&["note_search"]);
    let tools =
        |schema: Value| request(json!({"messages": [], "tools": [function("note_search", json!({"properties": {"query": schema}}))]}));
    run.raw.stub_requests = vec![tools(json!({"type": "string"}))];
    is_quiet(&run);
    run.raw.stub_requests = vec![tools(json!({"description": "what"}))];
    warns(&run, &["`note_search`", "no type for argument \"query\""]);
}

#[test]
fn a_handler_cut_off_by_the_end() {
    let mut run = Run::load();
    run.observer.push(json!({"kind": "hook.start", "id": 9, "hook": "event", "event": "session.idle"}));
    warns(&run, &["event session.idle handler started, not finished when the host ended"]);
    run.observer.push(json!({"kind": "hook.start", "id": 10, "hook": "event", "event": "message.updated", "late": true}));
    warns(&run, &["event message.updated, session.idle handler started"]);
    run.observer.extend([json!({"kind": "hook.end", "id": 9}), json!({"kind": "hook.end", "id": 10})]);
    is_quiet(&run);
    // A host that was killed cut everything off.
    let mut run = Run::load().silent(Exit::Signal(9));
    run.observer.push(json!({"kind": "hook.start", "id": 9, "hook": "event", "event": "session.idle"}));
    assert_eq!(run.judge().warnings, Vec::<String>::new());
}

#[test]
fn a_handler_cut_off_explains_a_failed_expectation() {
    let mut run = Run::scripted(r#"{"text": {"contains": "nope"}}"#);
    run.observer.push(json!({"kind": "hook.start", "id": 9, "hook": "event", "event": "session.idle"}));
    assert!(run.judge().failures.iter().any(|failure| failure.contains("session.idle handler started")));
}

#[test]
fn a_plugin_loaded_from_two_places() {
    let mut run = Run::scripted("{}");
    run.observer[3] = with_tools(&["dup_tool"]);
    let path = ".opencode/plugins/dup.js";
    run.raw.report.discovered_plugins = vec![path.into()];
    run.scenario().workspace.insert(path.into(), "export const Other = async () => ({ tool: { my_dup_tool: {} } })".into());
    is_quiet(&run);
    run.scenario().workspace.insert(path.into(), "export const Other = async () => ({ tool: { dup_tool: {} } })".into());
    warns(&run, &["loaded twice", "config entry (index.js)", path, "tool `dup_tool`"]);
    run.scenario().workspace.insert(path.into(), "export const Plugin = async () => ({})".into());
    warns(&run, &["export `Plugin`"]);
    run.scenario().workspace.clear();
    warns(&run, &[path, "appeared in the project during the run"]);
}

#[test]
fn a_factory_called_twice() {
    let mut run = Run::load();
    run.observer.extend([start(2, "Plugin"), end(2, "object", &["event"])]);
    warns(&run, &["factory `Plugin` was called 2 times"]);
}

#[test]
fn hooks_that_throw_are_counted_unless_they_refuse_a_tool() {
    let mut run = Run::load();
    let threw = |id: u64, hook: &str| {
        [json!({"kind": "hook.start", "id": id, "hook": hook}), json!({"kind": "hook.end", "id": id, "error": {"message": "BOOM"}})]
    };
    run.observer.extend(threw(1, "tool.execute.before"));
    is_quiet(&run);
    run.observer.extend(threw(2, "event"));
    run.observer.extend(threw(3, "event"));
    warns(&run, &["hook `event` threw 2 time(s), first: BOOM"]);
}

#[test]
fn what_is_done_to_the_machine() {
    let mut run = Run::load();
    run.raw.report.writes_outside = vec!["$TMPDIR/.5fe3f7b9-00000000.so".into(), "$TMPDIR/opencode/".into(), "$TMPDIR/cache".into()];
    is_quiet(&run);
    run.raw.report.writes_outside.push("$HOME/.config/opencode/b39/state.json".into());
    warns(&run, &["outside the XDG directories", ".config/opencode/b39/state.json"]);
    assert_eq!(run.judge().observed.writes_outside, ["$TMPDIR/cache", "$HOME/.config/opencode/b39/state.json"]);

    let mut run = Run::load();
    run.raw.stdout = b"[noisy] loaded\n[noisy] init\n[noisy] no newline ".to_vec();
    warns(&run, &["writes to stdout: 3 lines, first: \"[noisy] loaded\"."]);

    let mut run = Run::load();
    run.raw.report.leaked = vec![LeakedProcess { pid: 7, parent: 1, command: "sleep 600".into() }];
    warns(&run, &["`sleep 600` outlived the host and was ended by ocsweep"]);
    assert_eq!(run.judge().observed.leaked_processes, ["sleep 600"]);

    let mut run = Run::load();
    run.observer.push(json!({"kind": "listen", "api": "net.Server.listen", "host": "127.0.0.1", "port": 8123}));
    warns(&run, &["fixed port 127.0.0.1:8123"]);
    run.observer.pop();
    run.observer.push(json!({"kind": "listen", "api": "Bun.serve", "host": "", "port": 4096, "origin": "host"}));
    is_quiet(&run);
}

#[test]
fn connections_are_listed_once_and_the_hosts_own_are_no_warning() {
    let mut run = Run::load();
    let net = |host: &str, loopback: bool| json!({"kind": "net", "api": "fetch", "host": host, "port": 443, "loopback": loopback});
    run.observer.extend([net("127.0.0.1", true), net("models.dev", false)]);
    run.raw.report.lookups = vec!["models.dev".into(), "api.opencode.ai.".into()];
    is_quiet(&run);
    assert_eq!(run.judge().observed.connections, ["models.dev:443", "api.opencode.ai"]);
    run.observer.push(json!({"kind": "net", "host": "updates.example.com", "port": 443, "loopback": false, "origin": "host"}));
    run.raw.report.lookups.push("updates.example.com".into());
    is_quiet(&run);
    run.observer.extend([net("telemetry.example.com", false), net("telemetry.example.com", false)]);
    run.raw.report.lookups.push("telemetry.example.com".into());
    warns(&run, &["tried to connect to telemetry.example.com:443; a case has no network"]);
    assert_eq!(run.judge().observed.connections.len(), 4);
}

#[test]
fn web_tools_are_flagged() {
    let mut run = Run::scripted("{}");
    run.call("webfetch", json!({"url": "https://example.com"}), "x");
    warns(&run, &["webfetch"]);
    assert_eq!(run.judge().observed.web_tools, ["webfetch"]);
}

#[test]
fn nothing_is_cut_in_silence() {
    let mut run = Run::load();
    run.raw.report.dropped.insert("stderr".into(), 12);
    warns(&run, &["stderr was cut: 12 bytes"]);
    let mut run = Run::load();
    run.raw.report.dropped.insert("writes-outside".into(), 12);
    warns(&run, &["the list of writes-outside was cut: 12 more paths"]);
    let mut run = Run::load();
    run.raw.report.unparsed_probe_lines = 3;
    warns(&run, &["3 probe line(s) cannot be read"]);
}

#[test]
fn every_list_on_a_row_is_capped() {
    let mut run = Run::load();
    run.raw.report.writes_outside = (0..300).map(|n| format!("$HOME/f{n}")).collect();
    run.raw.report.leaked = (0..300).map(|pid| LeakedProcess { pid, parent: 1, command: format!("sleep {pid}") }).collect();
    for n in 0..300 {
        run.call(&format!("tool{n}"), json!({}), "x");
        run.error_event(json!({"message": format!("e{n}")}));
    }
    let judgement = run.judge();
    assert_eq!((judgement.observed.writes_outside.len(), judgement.observed.leaked_processes.len()), (50, 50));
    assert_eq!((judgement.errors.len(), judgement.completed.len(), judgement.tools.len()), (50, 50, 200));
    assert!(judgement.warnings.len() <= 51 && judgement.failures.len() <= 51);
    assert!(judgement.failures.last().unwrap().starts_with("… and "));
}
