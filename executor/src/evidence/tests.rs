//! Recorded output of the real host, and bytes that no host would write.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn sample(case: &str) -> RawEvidence {
    let read = |file: &str| std::fs::read(format!("{}/tests/samples/v1/{case}/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    RawEvidence { stdout: read("events.jsonl"), stderr: read("stderr.log"), complete: true, ..RawEvidence::default() }
}

fn stdout_of(text: &str) -> Observation {
    Observation::of(&RawEvidence { stdout: text.into(), ..RawEvidence::default() })
}

fn lines(records: &[Value]) -> Vec<u8> {
    records.iter().map(|record| format!("{record}\n")).collect::<String>().into_bytes()
}

#[test]
fn recorded_runs_are_understood() {
    // case, steps, texts, tool uses, errors, finished
    for (case, steps, texts, tools, errors, finished) in [
        ("text-only", 1, 1, 0, 0, true),
        ("bash-and-plugin-tool", 3, 2, 2, 0, true),
        ("multi-tools-sdk-tool", 7, 1, 7, 0, true),
        ("permission-rejected", 1, 0, 1, 0, false),
        ("model-400", 0, 0, 0, 1, true),
        ("returns-undefined", 0, 0, 0, 1, true),
        ("bad-config", 0, 0, 0, 0, false),
        ("model-500-retry", 0, 0, 0, 0, false),
    ] {
        let seen = Observation::of(&sample(case));
        let events = &seen.events;
        assert_eq!(
            (events.steps, events.texts.len(), events.tool_uses.len(), events.errors.len()),
            (steps, texts, tools, errors),
            "{case}"
        );
        assert_eq!(seen.finished(), finished, "{case}");
        assert_eq!(seen.noise, Noise::default(), "{case}");
    }
}

#[test]
fn usage_is_summed_over_the_steps() {
    let events = Observation::of(&sample("bash-and-plugin-tool")).events;
    assert!((events.cost_usd - 3.0 * 0.000573).abs() < 1e-9);
    assert_eq!((events.tokens.input, events.tokens.output, events.tokens.reasoning, events.tokens.cache_read), (270, 45, 15, 30));
}

#[test]
fn an_error_event_carries_status_or_reference() {
    let error = |case: &str| Observation::of(&sample(case)).events.errors.remove(0);
    let api = error("model-400");
    assert_eq!((api.name.as_str(), api.message.as_str(), api.status, api.reference), ("APIError", "bad thing", Some(400), None));
    let unknown = error("unknown-model");
    assert_eq!((unknown.status, unknown.reference.as_deref()), (None, Some("err_ee448bf5")));
}

#[test]
fn the_log_is_read_between_other_lines() {
    let seen = Observation::of(&sample("throwing-init"));
    let line = seen.log.iter().find(|line| line.is_error()).unwrap();
    assert_eq!((line.message(), line.get("error")), ("failed to load plugin", Some("BOOM at init")));
    let seen = Observation::of(&sample("event-throws"));
    assert!(seen.log.len() > 10 && seen.stderr.lines().count() > seen.log.len());
}

#[test]
fn an_unknown_tool_is_no_call_of_that_name() {
    let calls = Observation::of(&sample("multi-tools-sdk-tool")).calls;
    let invalid: Vec<_> = calls.iter().filter(|call| call.name == "invalid").map(|call| call.wanted.as_deref()).collect();
    assert_eq!(invalid, [Some("nosuch"), Some("bash")]);
    assert!(calls.iter().all(|call| call.name != "nosuch"));
}

#[test]
fn noise_does_not_cost_an_event() {
    let event = r#"{"type":"text","sessionID":"s","part":{"type":"text","text":"hi {\"type\":\"text\"}"}}"#;
    let finish = r#"{"type": "step_finish", "sessionID":"s","part":{"reason":"stop","cost":0.5,"tokens":{"input":2}}}"#;
    let seen = stdout_of(&format!(
        "[noisy] loaded\n[noisy] no newline {event}\n{finish}tail\n{event}{finish}\n{{\"type\":\"mine\"}}\n\n{{\"type\":1\n"
    ));
    assert_eq!((seen.events.texts.len(), seen.events.finishes, seen.events.tokens.input), (2, 2, 4));
    assert_eq!(seen.noise.first, ["[noisy] loaded", "[noisy] no newline", "tail", "{\"type\":\"mine\"}", "{\"type\":1"]);
    assert_eq!(seen.noise.lines, 5);
}

#[test]
fn a_hostile_line_costs_little() {
    let mut line = "{\"type\":".repeat(2_000_000);
    line.push_str("\n{\"type\":\"text\",\"part\":{\"text\":\"after\"}}\n");
    let seen = stdout_of(&line);
    assert_eq!(seen.events.texts, ["after"]);
    assert_eq!(seen.noise.lines, 1);
    assert!(seen.noise.first[0].chars().count() <= 300);
}

#[test]
fn invalid_utf8_is_replaced() {
    let mut bytes = b"\xff\xfe\n".to_vec();
    bytes.extend_from_slice(b"{\"type\":\"text\",\"part\":{\"text\":\"a\xffb\"}}\n");
    let seen = Observation::of(&RawEvidence { stdout: bytes, ..RawEvidence::default() });
    assert_eq!(seen.events.texts, ["a\u{fffd}b"]);
}

/// Input, result and ending of one call in the three places in which it shows.
fn one_call(pre: Option<Value>, post: Option<Value>, after: Option<Value>, event: Option<Value>) -> Call {
    let before = |input: Value| json!({"tool": "bash", "callID": "c", "input": input, "t": 1, "kind": "tool.before"});
    let mut records: Vec<Value> = post.map(before).into_iter().collect();
    records.extend(after.map(|output| json!({"tool": "bash", "callID": "c", "result": {"output": output}, "t": 2, "kind": "tool.after"})));
    let event = event.map(|state| json!({"type": "tool_use", "part": {"tool": "bash", "callID": "c", "state": state}}));
    let raw = RawEvidence {
        stdout: lines(&event.into_iter().collect::<Vec<_>>()),
        probe_pre: lines(&pre.map(before).into_iter().collect::<Vec<_>>()),
        probe_post: lines(&records),
        ..RawEvidence::default()
    };
    let mut calls = Observation::of(&raw).calls;
    assert_eq!(calls.len(), 1);
    calls.remove(0)
}

#[test]
fn a_call_takes_each_part_from_its_own_source() {
    let call = one_call(
        Some(json!({"command": "raw"})),
        Some(json!({"command": "changed"})),
        Some(json!("out")),
        Some(json!({"status": "completed", "input": {"command": "changed"}, "output": "event"})),
    );
    assert_eq!(call.input, Some(json!({"command": "changed"})));
    assert_eq!((call.output, call.status, call.replaced), (Some(json!("out")), Some(CallStatus::Completed), None));
}

#[test]
fn replaced_arguments_are_not_what_ran() {
    let call = one_call(
        Some(json!({"command": "echo REPLACE"})),
        Some(json!({"command": "echo new"})),
        Some(json!("REPLACE")),
        Some(json!({"status": "completed", "input": {"command": "echo REPLACE"}})),
    );
    assert_eq!(call.input, Some(json!({"command": "echo REPLACE"})));
    assert_eq!(call.replaced, Some(json!({"command": "echo new"})));
}

#[test]
fn a_clipped_record_is_completed_from_the_event() {
    let long = "x".repeat(5000);
    let cut = format!("{}…[+1000]", "x".repeat(4000));
    let call = one_call(
        None,
        Some(json!({"command": cut})),
        Some(json!(cut)),
        Some(json!({"status": "completed", "input": {"command": long}, "output": long})),
    );
    assert_eq!((call.input, call.output, call.replaced), (Some(json!({"command": long})), Some(json!(long)), None));
}

#[test]
fn a_call_that_only_one_source_knows_is_still_a_call() {
    let failed = one_call(None, None, None, Some(json!({"status": "error", "input": {"a": 1}, "error": "BOOM"})));
    assert_eq!(
        (failed.name.as_str(), failed.status, failed.error.as_deref(), failed.output),
        ("bash", Some(CallStatus::Error), Some("BOOM"), None)
    );
    let silent = one_call(None, Some(json!({})), None, None);
    assert_eq!((silent.status, silent.output), (None, None));
    let child = one_call(None, Some(json!({})), Some(json!("out")), None);
    assert_eq!(child.status, Some(CallStatus::Completed));
}

#[test]
fn a_subagents_failed_call_is_seen_through_its_part() {
    let part = json!({"type": "tool", "tool": "bash", "callID": "c", "state": {"status": "error", "error": "no"}});
    let record = json!({"type": "message.part.updated", "properties": {"part": part}, "t": 5, "kind": "event"});
    let raw = RawEvidence { probe_post: lines(&[record]), ..RawEvidence::default() };
    assert_eq!(Observation::of(&raw).calls[0].status, Some(CallStatus::Error));
}

#[test]
fn calls_are_in_order_of_their_start() {
    let before = |id: &str, t: u64| json!({"tool": id, "callID": id, "input": {}, "t": t, "kind": "tool.before"});
    let event = json!({"type": "tool_use", "part": {"tool": "mid", "callID": "m", "state": {"status": "error", "time": {"start": 15}}}});
    let raw = RawEvidence { probe_post: lines(&[before("b", 20), before("a", 10)]), stdout: lines(&[event]), ..RawEvidence::default() };
    let names: Vec<_> = Observation::of(&raw).calls.into_iter().map(|call| call.name).collect();
    assert_eq!(names, ["a", "mid", "b"]);
}

#[test]
fn the_observers_records_are_put_together() {
    let raw = RawEvidence {
        probe_observer: lines(&[
            json!({"kind": "setup"}),
            json!({"kind": "import", "exports": []}),
            json!({"kind": "factory.start", "id": 1, "export": "A"}),
            json!({"kind": "client.start", "id": 1, "call": "session.list"}),
            json!({"kind": "factory.end", "id": 1, "export": "A", "returned": "object", "hooks": ["event"], "hookTypes": {"event": "function"}, "tools": ["t"]}),
            json!({"kind": "factory.start", "id": 2, "export": "B"}),
            json!({"kind": "hook.start", "id": 7, "hook": "event", "event": "session.idle"}),
            json!({"kind": "hook.end", "id": 99}),
            json!({"kind": "tool.start", "id": 1, "tool": "t", "callID": "c"}),
            json!({"kind": "tool.end", "id": 1, "resultType": "object", "hasOutput": false}),
            json!({"kind": "exit", "code": 1, "api": "process.exit", "during": ["chat.message"], "stack": "s"}),
        ]),
        ..RawEvidence::default()
    };
    let plugin = Observation::of(&raw).plugin;
    assert!(plugin.alive);
    assert_eq!(plugin.import, Some(Ok(())));
    assert_eq!(plugin.factories.iter().map(|run| (run.export.as_str(), run.ended)).collect::<Vec<_>>(), [("A", true), ("B", false)]);
    assert_eq!(plugin.factories[0].tools, ["t"]);
    assert_eq!((plugin.client[0].ended, plugin.hooks[0].ended, plugin.hooks[0].event.as_deref()), (false, false, Some("session.idle")));
    assert_eq!((plugin.tools[0].ended, plugin.tools[0].result_type.as_str()), (true, "object"));
    assert_eq!((plugin.exits[0].code.as_str(), plugin.exits[0].during.len()), ("1", 1));
}

#[test]
fn the_last_inventory_counts() {
    let inventory = |tool: &str| json!({"kind": "inventory", "tools": [tool, 1], "plugins": ["p"], "missing": ["agents"]});
    let raw = RawEvidence { probe_post: lines(&[inventory("a"), inventory("b")]), ..RawEvidence::default() };
    let found = Observation::of(&raw).inventory.unwrap();
    assert_eq!((found.names["tools"].as_slice(), found.plugins.len(), found.missing.len()), (["b".to_owned()].as_slice(), 1, 1));
}

#[test]
fn what_the_model_was_sent_is_read() {
    let body = json!({
        "messages": [{"role": "system", "content": "one"}, {"role": "system", "content": [{"type": "text", "text": "two"}]}, {"role": "user", "content": "x"}],
        "tools": [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}],
    });
    let mut request = StubRequest { n: 1, t: 0, kind: ocsweep_proto::agent::RequestKind::Primary, headers: Default::default(), body };
    assert_eq!(system_text(&request).as_deref(), Some("one\ntwo"));
    assert_eq!(offered_tools(&request).unwrap(), ["bash"]);
    assert!(tool_parameters(&request, "bash").is_some() && tool_parameters(&request, "x").is_none());
    request.body = json!("not json");
    assert_eq!((system_text(&request), offered_tools(&request)), (None, None));
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), seed in "[{}\\[\\]\":,a-z\\\\\n =]{0,80}") {
        let mixed = [bytes.as_slice(), seed.as_bytes(), b"{\"type\":\"text\",\"part\":", bytes.as_slice()].concat();
        let raw = RawEvidence { stdout: mixed.clone(), stderr: mixed.clone(), probe_pre: mixed.clone(), probe_post: mixed.clone(), probe_observer: mixed, ..RawEvidence::default() };
        let _ = Observation::of(&raw);
    }

    #[test]
    fn an_event_survives_any_text_before_it(noise in "[^{\n\r]{0,40}") {
        let seen = stdout_of(&format!("{noise}{{\"type\":\"text\",\"part\":{{\"text\":\"kept\"}}}}\n"));
        prop_assert_eq!(seen.events.texts, ["kept"]);
    }
}
