//! What scenarios expect of a v2 host, in the words of both lines.

use ocsweep_proto::axes::Line;
use ocsweep_proto::verdict::Reason;
use serde_json::{Value, json};

use super::run::{Run, function, request};
use super::v2::v2;

fn expecting(expect: Value) -> Run {
    v2(Run::scripted(&expect.to_string()))
}

#[track_caller]
fn asserts(run: &Run, failures: &[&str]) {
    let judgement = run.judge();
    assert_eq!(judgement.failures, failures);
    assert_eq!(judgement.reason, (!failures.is_empty()).then_some(Reason::Assertion));
}

/// A program that calls `ns.spike_echo` once; the plugin changes its argument.
fn program(run: &mut Run) {
    let code = json!({"code": "return await tools.ns.spike_echo({\"text\":\"hi\"})"});
    let record =
        |kind: &str, tool: &str, input: &Value, t: u64| json!({"kind": kind, "tool": tool, "callID": "c1", "input": input, "t": t});
    let (hi, changed) = (json!({"text": "hi"}), json!({"text": "hi!"}));
    run.pre.extend([record("tool.before", "execute", &code, 1), record("tool.before", "ns_spike_echo", &hi, 2)]);
    let mut after = record("tool.after", "ns_spike_echo", &changed, 3);
    after["result"] = json!({"content": [{"type": "text", "text": "echo:hi!"}]});
    after["status"] = json!("completed");
    run.post.extend([record("tool.before", "execute", &code, 1), record("tool.before", "ns_spike_echo", &changed, 2), after]);
    let state = json!({"status": "completed", "input": code, "output": "echo:hi!", "metadata": {"metadata": {"toolCalls": [{"tool": "ns.spike_echo", "status": "completed", "input": hi}]}}});
    run.events.push(json!({"type": "tool_use", "sessionID": "s", "part": {"partID": "p", "id": "c1", "tool": "execute", "type": "tool", "state": state}}));
}

#[test]
fn calls_of_a_program_are_the_calls() {
    for (expect, failures) in [
        (
            json!({"name": "tools.ns.spike_echo", "status": "completed", "input": {"text": {"equals": "hi!"}}, "output": {"equals": "echo:hi!"}, "count": {"eq": 1}}),
            vec![],
        ),
        (json!({"name": "ns_spike_echo"}), vec![]),
        (
            json!({"name": "spike_echo"}),
            vec![
                "tools[0].spike_echo: expected count >= 1, got 0.",
                "tools[0].spike_echo: namespaced tools are recorded as <namespace>_<name>; did you mean ns_spike_echo?",
            ],
        ),
        (
            json!({"name": "execute"}),
            vec![
                "tools[0].execute: expected count >= 1, got 0.",
                "tools[0].execute: a Code Mode program that calls tools is told by their calls; expect those.",
            ],
        ),
    ] {
        let mut run = expecting(json!({"tools": [expect]}));
        program(&mut run);
        asserts(&run, &failures);
        assert_eq!(run.judge().tools, ["ns_spike_echo"]);
    }
}

#[test]
fn unwanted_calls_are_found_inside_and_outside_of_programs() {
    let mut run = expecting(json!({"noTools": ["ns.spike_echo", "execute", "bash", "nope"]}));
    program(&mut run);
    run.call("shell", json!({"command": "ls"}), "a");
    run.failed_call("nope", json!({}), "Unknown tool: nope");
    let was = |name: &str| format!("noTools: expected tool \"{name}\" not to be called, but it was.");
    assert_eq!(run.judge().failures, [was("ns.spike_echo"), was("execute"), was("bash"), was("nope")]);
}

#[test]
fn a_program_without_calls_and_a_tool_that_is_not_there() {
    let mut run = expecting(json!({"tools": [{"name": "execute", "output": {"equals": "3"}}]}));
    run.call("execute", json!({"code": "return 3"}), "3");
    asserts(&run, &[]);
    let mut run = expecting(json!({"tools": [{"name": "nope"}]}));
    run.failed_call("nope", json!({}), "Unknown tool: nope");
    asserts(
        &run,
        &["tools[0].nope: expected count >= 1, got 0.", "tools[0].nope: the model called it, and the host refused: Unknown tool: nope."],
    );
}

#[test]
fn both_words_for_a_tool_work() {
    for name in ["bash", "shell"] {
        let mut run = expecting(json!({"tools": [{"name": name, "status": "error"}]}));
        run.call("shell", json!({"command": "ls"}), "a");
        let failure = format!("tools[0].{name}.status: expected \"error\", got \"completed\".");
        asserts(&run, &[&failure]);
    }
    let mut run = expecting(json!({"tools": [{"name": "task"}]}));
    run.call("subagent", json!({}), "a");
    asserts(&run, &[]);
}

#[test]
fn hooks_of_both_lines_are_checked_under_the_scenarios_own_word() {
    for (expect, failure) in [
        (json!({"hook": "tool.execute.before", "tool": "tools.ns.spike_echo", "phase": "pre", "input": {"text": {"equals": "hi"}}}), None),
        (json!({"hook": "tool.execute.before", "tool": "ns.spike_echo", "input": {"text": {"equals": "hi!"}}}), None),
        (json!({"hook": "tool.execute.after", "tool": "ns_spike_echo", "output": {"equals": "echo:hi!"}}), None),
        (json!({"hook": "tool.execute.after", "tool": "execute"}), Some("tool.execute.after@post: the hook never ran for tool execute.")),
        (json!({"hook": "shell.env", "tool": "bash", "command": {"equals": "ls"}, "env": {"FOO": {"equals": "1"}}}), None),
        (
            json!({"hook": "shell.create.before", "env": {"FOO": {"equals": "2"}}}),
            Some("shell.create.before@post.env.FOO: expected \"2\", got \"1\"."),
        ),
        (json!({"hook": "shell.env", "tool": "read"}), Some("shell.env@post: the hook never ran for tool read.")),
        (json!({"hook": "chat.message", "text": {"equals": "Say hi."}}), None),
        (json!({"hook": "session.prompt", "text": {"equals": "no"}}), Some("session.prompt@post.text: expected \"no\", got \"Say hi.\".")),
        (json!({"hook": "experimental.chat.system.transform", "system": {"equals": "one\ntwo"}}), None),
        (json!({"hook": "session.context", "system": {"contains": "two"}}), None),
        (json!({"hook": "chat.headers"}), None),
        (json!({"hook": "session.model.request"}), None),
        (json!({"hook": "permission.ask"}), None),
        (json!({"hook": "permission.evaluate"}), None),
        (json!({"hook": "session.execution.succeeded"}), None),
        (
            json!({"hook": "session.idle"}),
            Some(
                "session.idle@post: only opencode 1.x has `session.idle`, and this is 2.0.26; the nearest that it has is `session.execution.succeeded`.",
            ),
        ),
        (json!({"hook": "tool.definition"}), Some("tool.definition@post: only opencode 1.x has `tool.definition`, and this is 2.0.26.")),
        (
            json!({"hook": "session.compaction"}),
            Some("session.compaction@post: no probe records the hook `session.compaction`, so whether it ran cannot be checked."),
        ),
        (
            json!({"hook": "session.promt"}),
            Some("session.promt@post: the hook never ran, and no host has a hook of this name (did you mean `session.prompt`?)."),
        ),
        (json!({"hook": "session.deleted"}), Some("session.deleted@post: the hook never ran.")),
    ] {
        let mut run = expecting(json!({"hooks": [expect]}));
        program(&mut run);
        run.post.extend([
            json!({"kind": "shell.before", "command": "ls", "cwd": "/sandbox/project", "env": {"FOO": "1"}}),
            json!({"kind": "session.prompt", "sessionID": "s", "text": "Say hi."}),
            json!({"kind": "session.context", "system": [{"type": "text", "text": "one"}, "two"], "tools": []}),
            json!({"kind": "model.request", "headers": {}, "baseURL": "x", "model": "m1"}),
            json!({"kind": "permission.evaluate", "action": "shell", "effect": "allow"}),
            json!({"kind": "event", "type": "session.execution.succeeded", "data": {}}),
        ]);
        let failures: Vec<String> = failure.into_iter().map(|text| format!("hooks[0].{text}")).collect();
        assert_eq!(run.judge().failures, failures, "{expect}");
    }
}

#[test]
fn a_hook_that_this_host_does_not_have_is_told_from_one_that_never_ran() {
    let mut run = expecting(json!({"hooks": [{"hook": "shell.env"}, {"hook": "chat.message"}]}));
    run.post[1]["missing"] = json!(["hook shell.create.before"]);
    asserts(
        &run,
        &[
            "hooks[0].shell.env@post: opencode 2.0.26 has no hook that a probe could record this by.",
            "hooks[1].chat.message@post: the hook never ran.",
        ],
    );
}

#[test]
fn a_hook_of_line_v2_is_named_as_such_on_line_v1() {
    for (hook, failure) in [
        ("permission.evaluate", "only opencode 2.x has `permission.evaluate`, and this is 1.18.33."),
        (
            "session.compaction",
            "only opencode 2.x has `session.compaction`, and this is 1.18.33; the nearest that it has is `experimental.session.compacting`.",
        ),
        (
            "session.execution.succeeded",
            "only opencode 2.x has `session.execution.succeeded`, and this is 1.18.33; the nearest that it has is `session.idle`.",
        ),
    ] {
        let run = Run::scripted(&json!({"hooks": [{"hook": hook}]}).to_string());
        assert_eq!(run.work.host.line, Line::V1);
        asserts(&run, &[&format!("hooks[0].{hook}@post: {failure}")]);
    }
}

#[test]
fn requests_show_direct_tools_and_the_catalog() {
    let mut run = expecting(
        json!({"request": {"system": {"contains": "Available tools"}, "tools": {"includes": ["shell", "ns_spike_echo", "tools.ns.spike_echo", "spike_echo"]}}}),
    );
    asserts(
        &run,
        &[
            r#"request.system: expected to contain "Available tools", got "You are."."#,
            r#"request.tools: expected to include ["shell","ns_spike_echo","tools.ns.spike_echo","spike_echo"], got ["bash"]."#,
        ],
    );
    let system = "## Available tools\n- ns (1 tool)\n  - tools.ns.spike_echo(input: {\n  text: string,\n}): Promise<unknown>";
    run.raw.stub_requests =
        vec![request(json!({"messages": [{"role": "system", "content": system}], "tools": [function("shell", json!({}))]}))];
    asserts(&run, &[]);
}
