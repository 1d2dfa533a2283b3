//! What scenarios expect, with the exact messages.

use ocsweep_proto::agent::{Exit, FileFact, FileState, FileText};
use ocsweep_proto::verdict::Reason;
use serde_json::{Value, json};

use super::run::{Run, function, request};

#[track_caller]
fn asserts(run: &Run, failures: &[&str]) {
    let judgement = run.judge();
    assert_eq!(judgement.failures, failures);
    assert_eq!(judgement.reason, (!failures.is_empty()).then_some(Reason::Assertion));
}

fn expecting(expect: Value) -> Run {
    Run::scripted(&expect.to_string())
}

#[test]
fn the_exit_code_is_exact() {
    let mut run = expecting(json!({"exitCode": 3}));
    asserts(&run, &["exitCode: expected 3, got 0."]);
    run.raw.report.exit = Some(Exit::Code(3));
    asserts(&run, &[]);
    // An exit that the scenario expects is no crash, even without a complete turn.
    run.events.clear();
    asserts(&run, &[]);
}

#[test]
fn text_and_standard_error() {
    let mut run = expecting(json!({"text": {"contains": "nope"}, "stderr": {"notContains": "panic"}}));
    run.raw.stderr = b"panic".to_vec();
    asserts(&run, &[r#"text: expected to contain "nope", got "ok"."#, r#"stderr: expected not to contain "panic", got "panic"."#]);
    let run = expecting(json!({"text": {"equals": "ok"}}));
    asserts(&run, &[]);
}

#[test]
fn a_cut_stream_cannot_prove_an_absence() {
    let mut run = expecting(json!({"stderr": {"notContains": "panic"}}));
    run.raw.report.dropped.insert("stderr".into(), 9);
    asserts(&run, &["stderr: 9 bytes were cut off, so the expectation cannot be checked."]);
    let mut run = expecting(json!({"noTools": ["bash"]}));
    run.raw.report.dropped.insert("probe-post".into(), 9);
    asserts(&run, &["noTools: 9 bytes were cut off, so the expectation cannot be checked."]);
    let mut run = expecting(json!({"text": {"contains": "ok"}}));
    run.raw.report.dropped.insert("stdout".into(), 9);
    asserts(&run, &[]);
}

#[test]
fn a_call_must_have_taken_place() {
    let mut run = expecting(
        json!({"tools": [{"name": "shell", "status": "completed", "input": {"command": {"equals": "ls"}}, "output": {"contains": "a"}}]}),
    );
    asserts(&run, &["tools[0].shell: expected count >= 1, got 0."]);
    run.call("bash", json!({"command": "ls"}), "a b");
    asserts(&run, &[]);
    assert_eq!((run.judge().tools, run.judge().completed), (vec!["bash".to_owned()], vec!["bash".to_owned()]));
}

#[test]
fn one_single_call_must_satisfy_everything() {
    let mut run = expecting(json!({"tools": [{"name": "bash", "input": {"command": {"equals": "ls"}}, "output": {"contains": "a"}}]}));
    run.call("bash", json!({"command": "ls"}), "x");
    run.call("bash", json!({"command": "pwd"}), "a");
    asserts(&run, &[r#"tools[0].bash.output: expected to contain "a", got "x"."#]);
}

#[test]
fn the_best_call_is_reported() {
    let mut run = expecting(json!({"tools": [{"name": "bash", "input": {"command": {"equals": "ls"}}, "output": {"contains": "a"}}]}));
    run.call("bash", json!({"command": "pwd"}), "x");
    run.call("bash", json!({"command": "ls"}), "y");
    asserts(&run, &[r#"tools[0].bash.output: expected to contain "a", got "y"."#]);
}

#[test]
fn the_number_of_calls_is_checked() {
    let mut run = expecting(json!({"tools": [{"name": "bash", "count": {"eq": 2}}]}));
    run.call("bash", json!({}), "x");
    asserts(&run, &["tools[0].bash: expected count == 2, got 1."]);
    run.call("bash", json!({}), "x");
    asserts(&run, &[]);
    asserts(&expecting(json!({"tools": [{"name": "bash", "count": {"eq": 0}}]})), &[]);
}

#[test]
fn a_namespaced_tool_is_suggested() {
    let mut run = expecting(json!({"tools": [{"name": "spike_echo"}]}));
    run.call("ns_spike_echo", json!({}), "x");
    asserts(
        &run,
        &[
            "tools[0].spike_echo: expected count >= 1, got 0.",
            "tools[0].spike_echo: namespaced tools are recorded as <namespace>_<name>; did you mean ns_spike_echo?",
        ],
    );
    asserts(
        &{
            let mut run = expecting(json!({"tools": [{"name": "tools.ns.spike_echo"}]}));
            run.call("ns_spike_echo", json!({}), "x");
            run
        },
        &[],
    );
}

#[test]
fn a_tool_that_the_host_does_not_know_was_not_called() {
    let mut run = expecting(json!({"tools": [{"name": "nosuch"}], "noTools": ["nosuch"]}));
    run.call("invalid", json!({"tool": "nosuch", "error": "Model tried to call unavailable tool 'nosuch'."}), "The arguments are invalid");
    asserts(
        &run,
        &[
            "tools[0].nosuch: expected count >= 1, got 0.",
            "tools[0].nosuch: the model called it, and the host refused: Model tried to call unavailable tool 'nosuch'.",
        ],
    );
    assert_eq!(run.judge().completed, ["invalid"]);
}

#[test]
fn an_error_is_output_only_for_who_expects_one() {
    let mut run = expecting(json!({"tools": [{"name": "boom", "output": {"notContains": "secret"}}]}));
    run.failed_call("boom", json!({}), "BOOM in tool");
    asserts(
        &run,
        &[
            "tools[0].boom.output: no value was recorded (check the field name).",
            r#"the call of boom ended with an error: "BOOM in tool"."#,
        ],
    );
    let mut run = expecting(json!({"tools": [{"name": "boom", "status": "error", "output": {"contains": "BOOM"}}]}));
    run.failed_call("boom", json!({}), "BOOM in tool");
    asserts(&run, &[]);
    let mut run = expecting(json!({"tools": [{"name": "boom", "status": "completed"}]}));
    run.failed_call("boom", json!({}), "BOOM");
    asserts(&run, &[r#"tools[0].boom.status: expected "completed", got "error"."#, r#"the call of boom ended with an error: "BOOM"."#]);
}

#[test]
fn unwanted_calls_are_found_by_any_spelling() {
    let mut run = expecting(json!({"noTools": ["ns.spike_echo", "shell", "read"]}));
    run.call("ns_spike_echo", json!({}), "x");
    run.failed_call("bash", json!({}), "no");
    let was = |name: &str| format!("noTools: expected tool \"{name}\" not to be called, but it was.");
    assert_eq!(run.judge().failures, [was("ns.spike_echo"), was("shell")]);
    // A call that a plugin stopped is seen by the first probe alone.
    let mut run = expecting(json!({"noTools": ["read"]}));
    run.pre.push(json!({"kind": "tool.before", "tool": "read", "callID": "c", "input": {}}));
    asserts(&run, &[was("read").as_str()]);
}

#[test]
fn a_wrong_result_type_is_explained() {
    for (end, text) in [
        (
            json!({"resultType": "object", "hasOutput": false}),
            "tool calc returned an object without \"output\", expected a string or {output}.",
        ),
        (
            json!({"resultType": "object", "hasOutput": true, "outputType": "number"}),
            "tool calc returned an object whose \"output\" is a number, expected a string or {output}.",
        ),
        (json!({"resultType": "number"}), "tool calc returned a number, expected a string or {output}."),
        (json!({"resultType": "undefined"}), "tool calc returned nothing (undefined), expected a string or {output}."),
        (json!({"error": {"name": "Error", "message": "BOOM"}}), "tool calc threw: BOOM."),
    ] {
        let mut run = expecting(json!({"tools": [{"name": "calc", "status": "completed"}]}));
        run.failed_call("calc", json!({}), "undefined is not an object (evaluating 'c.split')");
        let mut record = json!({"kind": "tool.end", "id": 5});
        record.as_object_mut().unwrap().extend(end.as_object().unwrap().clone());
        run.observer.extend([json!({"kind": "tool.start", "id": 5, "tool": "calc", "callID": "c"}), record]);
        let failures = run.judge().failures;
        assert!(failures.contains(&text.to_owned()), "{failures:#?}");
        // Without a failed expectation the type is nobody's business.
        run.scenario().expect.tools.clear();
        assert_eq!(run.judge().failures, Vec::<String>::new());
    }
}

#[test]
fn replaced_arguments_are_explained_and_never_count_as_input() {
    let mut run = expecting(json!({"tools": [{"name": "bash", "input": {"command": {"contains": "changed-by-replacing"}}}]}));
    let before = |command: &str| json!({"kind": "tool.before", "tool": "bash", "callID": "c", "input": {"command": command}});
    run.pre.push(before("echo REPLACE"));
    run.post.push(before("echo changed-by-replacing"));
    run.events.push(json!({"type": "tool_use", "part": {"tool": "bash", "callID": "c", "state": {"status": "completed", "input": {"command": "echo REPLACE"}}}}));
    let failures = run.judge().failures;
    assert_eq!(failures[0], r#"tools[0].bash.input.command: expected to contain "changed-by-replacing", got "echo REPLACE"."#);
    assert!(
        failures[1].starts_with("hook ran but had no effect: args object was replaced instead of changed in place; bash ran with"),
        "{failures:#?}"
    );
}

fn hooks(expect: Value) -> Run {
    let mut run = expecting(json!({"hooks": [expect]}));
    run.pre.push(json!({"kind": "tool.before", "tool": "bash", "callID": "c", "input": {"command": "echo secret"}}));
    run.post.extend([
        json!({"kind": "tool.before", "tool": "bash", "callID": "c", "input": {"command": "echo [x]"}}),
        json!({"kind": "shell.before", "callID": "c", "cwd": "/sandbox/project", "env": {"FIXTURE_ON": "1"}}),
        json!({"kind": "tool.after", "tool": "bash", "callID": "c", "result": {"output": "[x]"}}),
        json!({"kind": "session.context", "system": ["one", "two"]}),
        json!({"kind": "session.prompt", "parts": [{"type": "text", "text": "Say hi."}]}),
        json!({"kind": "event", "type": "session.idle"}),
    ]);
    run
}

#[test]
fn hooks_are_checked_by_phase_tool_and_field() {
    for (expect, failure) in [
        (json!({"hook": "tool.execute.before", "phase": "pre", "input": {"command": {"equals": "echo secret"}}}), None),
        (
            json!({"hook": "tool.execute.before", "tool": "shell", "input": {"command": {"equals": "echo secret"}}}),
            Some(r#"hooks[0].tool.execute.before@post.input.command: expected "echo secret", got "echo [x]"."#),
        ),
        (
            json!({"hook": "tool.execute.before", "tool": "read"}),
            Some("hooks[0].tool.execute.before@post: the hook never ran for tool read."),
        ),
        (
            json!({"hook": "shell.create.before", "env": {"FIXTURE_ON": {"equals": "2"}}}),
            Some(r#"hooks[0].shell.create.before@post.env.FIXTURE_ON: expected "2", got "1"."#),
        ),
        (json!({"hook": "shell.env", "tool": "bash", "command": {"contains": "[x]"}, "cwd": {"equals": "/sandbox/project"}}), None),
        (json!({"hook": "shell.env", "phase": "pre"}), Some("hooks[0].shell.env@pre: the hook never ran.")),
        (
            json!({"hook": "session.context", "system": {"contains": "FIXTURE-ABSENT"}}),
            Some("hooks[0].session.context@post.system: expected to contain \"FIXTURE-ABSENT\", got \"one\\\\ntwo\"."),
        ),
        (json!({"hook": "experimental.chat.system.transform", "system": {"equals": "one\ntwo"}}), None),
        (json!({"hook": "chat.message", "text": {"equals": "Say hi."}}), None),
        (json!({"hook": "tool.execute.after", "output": {"equals": "[x]"}}), None),
        (json!({"hook": "session.idle"}), None),
        (
            json!({"hook": "permission.ask"}),
            Some("hooks[0].permission.ask@post: hook `permission.ask` is never triggered by opencode 1.18.33."),
        ),
        (
            json!({"hook": "chat.mesage"}),
            Some("hooks[0].chat.mesage@post: the hook never ran, and no host has a hook of this name (did you mean `chat.message`?)."),
        ),
        (
            json!({"hook": "session.prompt", "env": {"X": {"exists": true}}}),
            Some("hooks[0].session.prompt@post.env.X: expected value to exist, got undefined."),
        ),
    ] {
        let failures = hooks(expect.clone()).judge().failures;
        let shown: Vec<String> = failure.into_iter().map(|text| text.replace("\\\\n", "\\n")).collect();
        assert_eq!(failures, shown, "{expect}");
    }
}

#[test]
fn requests_are_counted_and_read() {
    let mut run = expecting(json!({"request": {"nth": 2, "system": {"contains": "x"}}}));
    asserts(&run, &["request: expected primary request 2, but the model was asked 1 time(s)."]);
    run.scenario().expect.request =
        serde_json::from_value(json!({"system": {"contains": "FIXTURE-ABSENT"}, "tools": {"includes": ["nope"]}})).unwrap();
    asserts(
        &run,
        &[
            r#"request.system: expected to contain "FIXTURE-ABSENT", got "You are."."#,
            r#"request.tools: expected to include ["nope"], got ["bash"]."#,
        ],
    );
    run.raw.stub_requests[0] = request(json!("garbage"));
    asserts(&run, &["request.system: the body of the request cannot be read.", "request.tools: the body of the request cannot be read."]);
    run.raw.stub_requests[0] = request(
        json!({"messages": [{"role": "system", "content": "FIXTURE-ABSENT\n- tools.ns.nope(a)"}], "tools": [function("bash", json!({}))]}),
    );
    asserts(&run, &[]);
}

#[test]
fn files_are_judged_by_what_the_agent_found() {
    let text = |text: &str, dropped| FileState::File(FileText { text: text.into(), dropped });
    for (state, expect, failure) in [
        (FileState::EscapesLexically, json!({"exists": false}), Some("path escapes the project dir.")),
        (FileState::EscapesBySymlink, json!({"exists": true}), Some("path escapes the project dir (symlink target outside).")),
        (FileState::Unresolvable, json!({"contains": "x"}), Some("path escapes the project dir (could not resolve real path).")),
        (FileState::Missing, json!({"exists": true, "contains": "x"}), Some("expected file to exist, but it does not.")),
        (FileState::Missing, json!({}), Some("expected file to exist, but it does not.")),
        (FileState::Missing, json!({"exists": false, "contains": "x"}), None),
        (FileState::Missing, json!({"notContains": "x"}), Some("no such file.")),
        (text("a", 0), json!({"exists": false}), Some("expected file not to exist, but it does.")),
        (FileState::Other, json!({"exists": true}), None),
        (FileState::Other, json!({"contains": "x"}), Some("it is no regular file.")),
        (text("start\n", 0), json!({"matches": "start\\s+end"}), Some("expected to match /start\\s+end/, got \"start\\n\".")),
        (text("a", 5), json!({"notContains": "x"}), Some("5 bytes were cut off, so the expectation cannot be checked.")),
        (text("a", 5), json!({"contains": "a"}), None),
        (text("a", 0), json!({"equals": "a"}), None),
    ] {
        let mut expect = expect;
        expect.as_object_mut().unwrap().insert("path".into(), json!(".fixture/x"));
        let mut run = expecting(json!({"files": [expect]}));
        asserts(&run, &["files[0]..fixture/x: the file was not collected."]);
        run.raw.report.files = vec![FileFact { path: ".fixture/x".into(), state }];
        let failures: Vec<String> = failure.into_iter().map(|text| format!("files[0]..fixture/x: {text}")).collect();
        assert_eq!(run.judge().failures, failures, "{expect}");
    }
}

#[test]
fn hostile_text_in_a_failure_is_harmless() {
    let mut run = expecting(json!({"tools": [{"name": "boom", "status": "completed"}]}));
    run.failed_call("boom", json!({}), "\u{1b}[31m\u{202e}evil\n::error::");
    let failures = run.judge().failures;
    assert!(failures.iter().all(|failure| !failure.contains(|c: char| c.is_control() || c == '\u{202e}')), "{failures:?}");
}
