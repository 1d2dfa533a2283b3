//! Recorded output of v2 hosts in both shapes, and calls whose records share an id.

use ocsweep_proto::axes::Line;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn read(case: &str, file: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/samples/v2/{case}/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn sample(case: &str) -> RawEvidence {
    RawEvidence { stdout: read(case, "events.jsonl"), stderr: read(case, "stderr.log"), complete: true, ..RawEvidence::default() }
}

fn on(raw: &RawEvidence) -> Observation {
    Observation::on(Line::V2, raw)
}

fn lines(records: &[Value]) -> Vec<u8> {
    records.iter().map(|record| format!("{record}\n")).collect::<String>().into_bytes()
}

#[test]
fn recorded_runs_are_understood() {
    // case, steps, texts, tool uses, errors, finished
    for (case, steps, texts, tools, errors, finished) in [
        ("jul-text", 1, 1, 0, 0, true),
        ("bridge-text", 1, 1, 0, 0, true),
        ("jul-shell", 2, 1, 1, 0, true),
        ("jul-plugin-tool", 5, 1, 4, 0, true),
        ("bridge-plugin-tool", 5, 1, 4, 0, true),
        ("jul-throws", 1, 1, 0, 0, true),
        ("bridge-throws", 1, 1, 0, 0, true),
        ("jul-perm-noauto", 1, 0, 1, 1, true),
        ("jul-err500", 1, 0, 0, 1, true),
        ("jul-badmodel", 0, 0, 0, 1, true),
        ("jul-nomsg", 0, 0, 0, 1, true),
    ] {
        let seen = on(&sample(case));
        let events = &seen.events;
        let found = (events.steps, events.texts.len(), events.tool_uses.len(), events.errors.len());
        assert_eq!(found, (steps, texts, tools, errors), "{case}");
        assert_eq!((seen.finished(), &seen.noise), (finished, &Noise::default()), "{case}");
    }
}

#[test]
fn usage_is_summed_over_the_steps() {
    let events = on(&sample("bridge-plugin-tool")).events;
    assert_eq!((events.tokens.input, events.tokens.output, events.last_finish.as_str()), (55, 35, "stop"));
}

#[test]
fn both_shapes_of_a_tool_event_have_the_calls_id() {
    for case in ["jul-plugin-tool", "bridge-plugin-tool"] {
        let uses = on(&sample(case)).events.tool_uses;
        let ids: Vec<&str> = uses.iter().map(|one| one.call_id.as_str()).collect();
        assert_eq!(ids, ["call_1_0", "call_3_0", "call_4_0", "call_5_0"], "{case}");
        assert_eq!(
            uses[1].inner.iter().map(|call| (call.tool.as_str(), call.status.as_str())).collect::<Vec<_>>(),
            [("my_ns.ns-echo", "completed")]
        );
    }
}

#[test]
fn error_events_have_a_type_a_message_and_the_models_status() {
    for (case, name, message, status) in [
        ("jul-err500", "provider.invalid-request", "Provider request failed with HTTP 400: ", Some(400)),
        ("jul-badmodel", "unknown", "Model unavailable: stub/none", None),
        ("jul-nomsg", "unknown", "You must provide a message", None),
        ("jul-perm-noauto", "aborted", "Session interrupted: shutdown", None),
    ] {
        let error = on(&sample(case)).events.errors.remove(0);
        assert_eq!((error.name.as_str(), error.status), (name, status), "{case}");
        assert!(error.message.starts_with(message), "{case}: {}", error.message);
    }
}

#[test]
fn a_refused_permission_is_read_from_standard_error() {
    let seen = on(&sample("jul-perm-noauto"));
    assert_eq!(seen.rejections, [Rejection { action: "shell".into(), resources: "echo x".into() }]);
    assert_eq!(seen.log.len(), 1);
    let call = &seen.calls[0];
    assert_eq!(
        (call.name.as_str(), call.status, call.error.as_deref()),
        ("shell", Some(CallStatus::Error), Some("Tool execution interrupted"))
    );
}

#[test]
fn a_failed_setup_is_a_warning_in_the_log() {
    let mut july = sample("jul-throws");
    july.stderr = read("jul-throws", "server.log");
    for raw in [july, sample("bridge-throws")] {
        let seen = on(&raw);
        let line = seen.log.iter().find(|line| line.message() == "failed to load plugin").unwrap();
        assert_eq!((line.level(), line.get("plugin.id")), ("WARN", Some("fixture.throws")));
        assert_eq!(line.get("cause"), Some("Cause([Die(Error: fixture boom)])"));
        assert!(seen.log.iter().any(|line| line.message() == "loading plugin" && line.get("role") == Some("server")));
    }
}

fn names(calls: &[Call]) -> Vec<(&str, &str, usize)> {
    calls.iter().map(|call| (call.name.as_str(), call.status.map_or("", CallStatus::as_str), call.inner)).collect()
}

#[test]
fn a_program_and_its_calls_are_calls_of_their_own() {
    for (case, last) in [("jul-plugin-tool", ("nope_tool", "error", 0)), ("bridge-plugin-tool", ("shell", "completed", 0))] {
        let calls = on(&sample(case)).calls;
        let expected = [
            ("execute", "completed", 1),
            ("spike_echo", "completed", 0),
            ("execute", "completed", 1),
            ("my_ns_ns-echo", "completed", 0),
            ("direct_echo", "completed", 0),
            last,
        ];
        assert_eq!(names(&calls), expected, "{case}");
        assert_eq!(calls[1].input, Some(json!({"text": "hi"})));
    }
    let unknown = on(&sample("jul-plugin-tool")).calls.remove(5);
    assert_eq!((unknown.wanted.as_deref(), unknown.error.as_deref()), (Some("nope_tool"), Some("Unknown tool: nope_tool")));
}

/// The recorder's hooks in the form of our own probes.
fn recorded_hooks() -> (Vec<u8>, Vec<u8>) {
    let (mut pre, mut post) = (Vec::new(), Vec::new());
    for line in read("bridge-plugin-tool", "hooks.jsonl").split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let found: Value = serde_json::from_slice(line).unwrap();
        let kind = found["kind"].as_str().unwrap().replace("tool.execute.", "tool.");
        let mut record = found["event"].as_object().unwrap().clone();
        record.insert("callID".into(), record["id"].clone());
        record.insert("t".into(), found["t"].clone());
        record.insert("kind".into(), json!(kind));
        let list = if found["phase"] == "pre" { &mut pre } else { &mut post };
        list.push(Value::Object(record));
    }
    (lines(&pre), lines(&post))
}

#[test]
fn what_the_probes_saw_behind_the_plugin_counts() {
    let (probe_pre, probe_post) = recorded_hooks();
    let calls = on(&RawEvidence { probe_pre, probe_post, ..sample("bridge-plugin-tool") }).calls;
    assert_eq!(names(&calls)[..2], [("execute", "completed", 1), ("spike_echo", "completed", 0)]);
    assert_eq!((calls[1].input.clone(), calls[1].output.clone()), (Some(json!({"text": "hi+mutated"})), Some(json!("echo:hi+mutated"))));
    // Without records the event's arguments are all there is; what it shows as output is not.
    let direct = calls.iter().find(|call| call.name == "direct_echo").unwrap();
    assert_eq!((direct.output.clone(), direct.replaced.clone()), (Some(json!("REPLACED")), None));
}

fn before(tool: &str, text: &str, t: u64) -> Value {
    json!({"tool": tool, "callID": "c", "input": {"text": text}, "t": t, "kind": "tool.before"})
}

fn after(tool: &str, text: &str, output: &str, t: u64) -> Value {
    json!({"tool": tool, "callID": "c", "status": "completed", "input": {"text": text}, "result": {"content": [{"type": "text", "text": output}]}, "t": t, "kind": "tool.after"})
}

fn pairs(pre: &[Value], post: &[Value], inner: Value) -> Vec<(String, String, String)> {
    let state = json!({"status": "completed", "metadata": {"metadata": {"toolCalls": inner}}, "time": {"start": 1}});
    let event = json!({"type": "tool_use", "sessionID": "s", "part": {"partID": "p", "id": "c", "tool": "execute", "state": state}});
    let raw = RawEvidence { probe_pre: lines(pre), probe_post: lines(post), stdout: lines(&[event]), ..RawEvidence::default() };
    let calls = on(&raw).calls.into_iter().filter(|call| call.name == "a");
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    calls
        .map(|call| {
            let input = text(call.input.as_ref().and_then(|input| input.get("text")));
            (input, text(call.output.as_ref()), call.status.map_or("", CallStatus::as_str).to_owned())
        })
        .collect()
}

fn row(input: &str, output: &str, status: &str) -> (String, String, String) {
    (input.to_owned(), output.to_owned(), status.to_owned())
}

#[test]
fn calls_that_share_an_id_are_paired_in_order() {
    let ok = |text: &str| json!({"tool": "a", "status": "completed", "input": {"text": text}});
    // One behind the other, each changed by the plugin.
    let found = pairs(
        &[before("a", "1", 2), before("a", "2", 4)],
        &[before("a", "1!", 2), after("a", "1!", "one", 3), before("a", "2!", 4), after("a", "2!", "two", 5)],
        json!([ok("1"), ok("2")]),
    );
    assert_eq!(found, [row("1!", "one", "completed"), row("2!", "two", "completed")]);
    // Side by side, and the second ends first.
    let found = pairs(
        &[before("a", "1", 2), before("a", "2", 2)],
        &[before("a", "1", 2), before("a", "2", 2), after("a", "2", "two", 3), after("a", "1", "one", 4)],
        json!([ok("1"), ok("2")]),
    );
    assert_eq!(found, [row("1", "one", "completed"), row("2", "two", "completed")]);
    // The plugin stops the first of them.
    let found = pairs(
        &[before("a", "1", 2), before("a", "2", 4)],
        &[before("a", "2!", 4), after("a", "2!", "two", 5)],
        json!([{"tool": "a", "status": "error", "error": true, "input": {"text": "1"}}, ok("2")]),
    );
    assert_eq!(found, [row("1", "", "error"), row("2!", "two", "completed")]);
    // The plugin stops the second of two that ran side by side.
    let found = pairs(
        &[before("a", "1", 2), before("a", "2", 3)],
        &[before("a", "1", 4), after("a", "1", "one", 5)],
        json!([ok("1"), {"tool": "a", "status": "error", "input": {"text": "2"}}]),
    );
    assert_eq!(found, [row("1", "one", "completed"), row("2", "", "error")]);
    // A host that runs no hooks for inner calls.
    assert_eq!(pairs(&[], &[], json!([ok("1"), ok("1")])), [row("1", "", "completed"), row("1", "", "completed")]);
}

#[test]
fn forged_records_cost_little() {
    let many: Vec<Value> = (0..30_000).map(|n| before("a", &n.to_string(), n)).collect();
    let ends: Vec<Value> = (0..20_000).map(|n| after("a", &n.to_string(), "x", n)).collect();
    let raw = RawEvidence { probe_pre: lines(&many), probe_post: lines(&[&many[..29_000], &ends].concat()), ..RawEvidence::default() };
    let started = std::time::Instant::now();
    assert_eq!(on(&raw).calls.len(), 30_000);
    assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn a_direct_tool_behaves_as_on_the_other_line() {
    let event = json!({"type": "tool_use", "sessionID": "s", "part": {"partID": "p", "id": "c", "tool": "a", "state": {"status": "completed", "input": {"text": "1"}, "output": "shown", "time": {"start": 1}}}});
    let raw = RawEvidence {
        probe_pre: lines(&[before("a", "1", 2)]),
        probe_post: lines(&[before("a", "1!", 2), after("a", "1!", "seen", 3)]),
        stdout: lines(&[event.clone(), event]),
        ..RawEvidence::default()
    };
    let calls = on(&raw).calls;
    assert_eq!(calls.len(), 1);
    assert_eq!((calls[0].input.clone(), calls[0].output.clone(), calls[0].inner), (Some(json!({"text": "1!"})), Some(json!("seen")), 0));
}

#[test]
fn a_failed_call_keeps_the_hooks_own_error() {
    let failed =
        json!({"tool": "a", "callID": "c", "status": "error", "input": {}, "error": {"message": "BOOM"}, "t": 3, "kind": "tool.after"});
    let raw = RawEvidence { probe_post: lines(&[before("a", "1", 2), failed]), ..RawEvidence::default() };
    let call = on(&raw).calls.remove(0);
    assert_eq!((call.status, call.error.as_deref(), call.output), (Some(CallStatus::Error), Some("BOOM"), None));
}

#[test]
fn a_subagents_call_is_seen_through_the_hosts_events() {
    let event = |kind: &str, data: Value, t: u64| json!({"type": kind, "data": data, "t": t, "kind": "event"});
    let raw = RawEvidence {
        probe_post: lines(&[
            event("session.tool.input.started", json!({"callID": "c", "name": "shell"}), 1),
            event("session.tool.failed", json!({"callID": "c", "error": {"type": "x", "message": "refused"}}), 2),
            event("session.tool.input.started", json!({"callID": "d", "name": "execute"}), 3),
            event(
                "session.tool.success",
                json!({"callID": "d", "structured": {"toolCalls": [{"tool": "ns.a", "status": "completed"}]}, "content": [{"type": "text", "text": "x"}]}),
                4,
            ),
        ]),
        ..RawEvidence::default()
    };
    let calls = on(&raw).calls;
    assert_eq!(names(&calls), [("shell", "error", 0), ("execute", "completed", 1), ("ns_a", "completed", 0)]);
    assert_eq!((calls[0].error.as_deref(), calls[1].output.clone()), (Some("refused"), Some(json!("x"))));
}

#[test]
fn a_step_that_arrives_late_is_not_the_last() {
    let finish = |id: &str, message: &str, reason: &str| json!({"type": "step_finish", "sessionID": "s", "part": {"id": id, "messageID": message, "reason": reason}});
    let raw = RawEvidence {
        stdout: lines(&[finish("prt_9", "msg_2", "stop"), finish("prt_msg_1_finish-0", "msg_1", "tool-calls")]),
        ..RawEvidence::default()
    };
    let seen = on(&raw);
    assert_eq!((seen.finished(), seen.events.finishes, seen.events.last_finish.as_str()), (true, 2, "stop"));
}

#[test]
fn a_catalog_is_found_wherever_a_host_puts_it() {
    let line = |name: &str| {
        format!("## Available tools\n  - tools.{name}(input: {{\n  text: string,\n}}): Promise<unknown>\nUse `tools.<namespace>(x)`.")
    };
    let body = json!({
        "messages": [
            {"role": "system", "content": line("ns.system")},
            {"role": "user", "content": format!("The Code Mode tool catalog has changed.\n{}", line("later"))},
            {"role": "user", "content": line("said")},
        ],
        "tools": [{"type": "function", "function": {"name": "execute", "description": line("described")}}],
    });
    let request = StubRequest { n: 1, t: 0, kind: ocsweep_proto::agent::RequestKind::Primary, headers: Default::default(), body };
    let expected = ["execute", "tools.ns.system", "system", "ns_system", "tools.later", "later", "tools.described", "described"];
    assert_eq!(offered_tools(&request).unwrap(), expected);
}

proptest! {
    #[test]
    fn no_call_is_lost_or_made_up(kinds in proptest::collection::vec((0..3_u8, 0..3_u8, 0..3_u8, 0..4_u64), 0..12)) {
        let (mut pre, mut post) = (Vec::new(), Vec::new());
        for (kind, tool, text, t) in kinds {
            let (tool, text) = (format!("t{tool}"), text.to_string());
            match kind {
                0 => pre.push(before(&tool, &text, t)),
                1 => post.push(before(&tool, &text, t)),
                _ => post.push(after(&tool, &text, "x", t)),
            }
        }
        let count = |records: &[Value], kind: &str, tool: &str| records.iter().filter(|one| one["kind"] == kind && one["tool"] == tool).count();
        let raw = RawEvidence { probe_pre: lines(&pre), probe_post: lines(&post), ..RawEvidence::default() };
        let calls = on(&raw).calls;
        for tool in ["t0", "t1", "t2"] {
            let parts = [count(&pre, "tool.before", tool), count(&post, "tool.before", tool), count(&post, "tool.after", tool)];
            let found = calls.iter().filter(|call| call.name == tool).count();
            prop_assert!(found >= parts.into_iter().max().unwrap_or(0) && found <= parts.into_iter().sum());
            let completed = calls.iter().filter(|call| call.name == tool && call.output.is_some()).count();
            prop_assert_eq!(completed, parts[2]);
        }
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mixed = [b"{\"kind\":\"event\",\"type\":\"session.tool.failed\",\"data\":", bytes.as_slice()].concat();
        let raw = RawEvidence { stdout: mixed.clone(), stderr: mixed.clone(), probe_pre: mixed.clone(), probe_post: mixed, ..RawEvidence::default() };
        let _ = on(&raw);
    }
}
