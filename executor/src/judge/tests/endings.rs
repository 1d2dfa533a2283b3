//! How a run ended: infrastructure, limits, bounds, crashes, errors.

use ocsweep_proto::agent::{Bound, Exit, Preflight, Timeout, TuiReport};
use ocsweep_proto::axes::Tier;
use ocsweep_proto::verdict::{Reason, Verdict};
use serde_json::json;

use super::run::{Run, export};
use crate::judge::judge_tui;

#[track_caller]
fn fails(run: &Run, reason: Reason, words: &[&str]) {
    let judgement = run.judge();
    assert_eq!(judgement.reason, Some(reason), "{:#?}", judgement.failures);
    for word in words {
        assert!(judgement.failures[0].contains(word), "{word}: {:#?}", judgement.failures);
    }
}

#[test]
fn infrastructure_outranks_the_plugin() {
    for broken in [false, true] {
        let mut run = Run::load();
        run.raw.report.preflight = broken.then_some(Preflight::Hung);
        run.raw.complete = false;
        fails(&run, Reason::StreamIncomplete, &["no end frame"]);
        let mut run = Run::load();
        run.raw.report.fault = Some("cannot write the seeds".into());
        fails(&run, Reason::Docker, &["cannot write the seeds"]);
        assert_eq!(run.judge().failures.len(), 1);
    }
    let mut run = Run::load();
    run.raw.report.exit = None;
    fails(&run, Reason::StreamIncomplete, &["says nothing of the host process"]);
}

#[test]
fn an_agent_that_found_everything_used_up_is_the_cases_doing() {
    let mut run = Run::load();
    run.raw.report.fault = Some("the child that writes the sandbox ended with Some(Signal(9))".into());
    run.raw.report.exit = None;
    run.raw.report.out_of_processes = true;
    fails(&run, Reason::ProcessLimit, &["512"]);
    run.raw.report.out_of_memory = true;
    fails(&run, Reason::MemoryLimit, &["memory limit"]);
    run.raw.report.peak_memory_bytes = Some(300_000_000);
    fails(&run, Reason::OomHost, &[]);
}

#[test]
fn memory_is_the_cases_or_the_machines() {
    let mut run = Run::load();
    run.raw.report.out_of_memory = true;
    fails(&run, Reason::MemoryLimit, &["memory limit of 1610612736 bytes"]);
    run.raw.report.peak_memory_bytes = Some(1_600_000_000);
    fails(&run, Reason::MemoryLimit, &["its peak was 1600000000 bytes"]);
    run.raw.complete = false;
    fails(&run, Reason::MemoryLimit, &[]);
    run.raw.report.peak_memory_bytes = Some(300_000_000);
    fails(&run, Reason::OomHost, &[]);
}

#[test]
fn limits_are_reasons_of_their_own() {
    let mut run = Run::load();
    run.raw.report.out_of_processes = true;
    fails(&run, Reason::ProcessLimit, &["512"]);
    let mut run = Run::load();
    run.raw.report.full = vec!["home".into(), "project".into()];
    fails(&run, Reason::DiskLimit, &["HOME", "134217728"]);
    assert!(run.judge().failures[1].contains("the project directory, which holds 268435456 bytes"));
}

#[test]
fn bounds_are_named_with_their_value() {
    for (bound, reason, text) in [
        (Bound::Start, Reason::TimeoutStart, "opencode gave no sign of life within 1000 ms (start bound)."),
        (Bound::NoOutput, Reason::TimeoutNoOutput, "opencode said nothing within 1000 ms (no-output bound)."),
        (Bound::Total, Reason::TimeoutTotal, "opencode run timed out after 1000ms. It did not end within 1000 ms (total bound)."),
    ] {
        let mut run = Run::load().silent(Exit::Signal(9));
        run.raw.report.timeout = Some(Timeout { bound, limit_ms: 1000, pending: String::new() });
        fails(&run, reason, &[text]);
        assert!(run.judge().timed_out);
    }
}

#[test]
fn a_bound_says_what_was_going_on() {
    let timeout = |run: &mut Run| run.raw.report.timeout = Some(Timeout { bound: Bound::Total, limit_ms: 5, pending: String::new() });
    let mut run = Run::load();
    timeout(&mut run);
    fails(&run, Reason::TimeoutTotal, &["its turn was complete and the process stayed alive"]);
    let mut run = Run::load().silent(Exit::Signal(9));
    run.observer.truncate(3);
    timeout(&mut run);
    fails(&run, Reason::TimeoutTotal, &["still pending: factory \"Plugin\""]);
    let mut run = Run::load().silent(Exit::Signal(9));
    run.log(r#"level=ERROR message="stream error" error.error="AI_APICallError: server oops""#);
    timeout(&mut run);
    fails(&run, Reason::TimeoutTotal, &["retrying a model call", "server oops"]);
}

fn exit_record(stack: &str, code: i64) -> serde_json::Value {
    json!({"kind": "exit", "code": code, "api": "process.exit", "during": ["chat.message"], "stack": stack})
}

const PLUGIN_STACK: &str =
    "Error\n    at exit (/run/ocsweep/assets/observer-runtime.mjs:1:1)\n    at <anonymous> (/opt/ocsweep/bundle/index.js:3:50)";
const HOST_STACK: &str = "Error\n    at exit (/run/ocsweep/assets/observer-runtime.mjs:1:1)\n    at main (/$bunfs/root/src/index.js:9:9)";

#[test]
fn a_plugin_that_ends_the_host_is_blamed() {
    let mut run = Run::load().silent(Exit::Code(1));
    run.observer.push(exit_record(PLUGIN_STACK, 1));
    fails(
        &run,
        Reason::HostCrashed,
        &["host process ended by plugin code: process.exit(1)", "during chat.message", "(index.js:3:50)", "no final event"],
    );
    // Code that has left the stack is known by the handlers that it left behind.
    let unknown = |listeners: serde_json::Value| json!({"kind": "exit", "code": 1, "api": "process.exit", "during": [], "stack": "", "origin": "unknown", "listeners": listeners});
    let mut run = Run::load().silent(Exit::Code(1));
    run.observer.push(unknown(json!(["unhandledRejection"])));
    fails(&run, Reason::HostCrashed, &["process.exit(1)", "the plugin handles unhandledRejection itself"]);
    run.observer.pop();
    run.observer.push(unknown(json!([])));
    fails(&run, Reason::HostCrashed, &["opencode exited with code 1"]);
    let mut run = Run::load().silent(Exit::Code(0));
    let mut quiet = unknown(json!([]));
    quiet["code"] = json!(0);
    run.observer.push(quiet);
    fails(&run, Reason::HostCrashed, &["process.exit(0)"]);
    // The host ends itself by the same call.
    let mut run = Run::load();
    run.observer.push(exit_record(HOST_STACK, 0));
    run.observer.push(json!({"kind": "exit", "code": 0, "api": "process.exit", "origin": "host", "during": ["event session.idle"]}));
    let judgement = run.judge();
    assert_eq!((judgement.reason, judgement.warnings.len()), (None, 0));
    // After a complete turn an exit with code 0 hides nothing but what follows.
    let mut run = Run::load();
    run.observer.push(exit_record(PLUGIN_STACK, 0));
    let judgement = run.judge();
    assert_eq!((judgement.reason, judgement.warnings.len()), (None, 1));
    let mut run = Run::load();
    run.observer.push(exit_record(PLUGIN_STACK, 3));
    run.raw.report.exit = Some(Exit::Code(3));
    fails(&run, Reason::HostCrashed, &["process.exit(3)"]);
}

#[test]
fn a_host_that_dies_is_a_crash() {
    let mut run = Run::load().silent(Exit::Signal(11));
    run.raw.stderr = b"timestamp=1 level=INFO message=x\npanic: boom\n".to_vec();
    fails(&run, Reason::HostCrashed, &["signal 11 (SIGSEGV)", "panic: boom"]);
    let mut run = Run::load().silent(Exit::Code(7));
    (run.observer, run.pre, run.post) = (vec![], vec![], vec![]);
    fails(&run, Reason::HostCrashed, &["code 7 before its turn was complete"]);
    let mut run = Run::load();
    run.events.truncate(2);
    fails(&run, Reason::HostCrashed, &["code 0 before its turn was complete"]);
    let mut run = Run::load();
    run.raw.report.exit = Some(Exit::Code(2));
    fails(&run, Reason::HostError, &["opencode exited with code 2."]);
}

#[test]
fn a_host_that_dies_behind_a_tool_call_is_a_crash_unless_its_session_went_idle() {
    let ended_by_tool = |idle: bool| {
        let mut run = Run::load();
        run.events.retain(|event| event["type"] != "text");
        for event in &mut run.events {
            if event["type"] == "step_finish" {
                event["part"]["reason"] = json!("tool-calls");
            }
        }
        if idle {
            run.post.push(json!({"kind": "event", "type": "session.idle"}));
        }
        run
    };
    fails(&ended_by_tool(false), Reason::HostCrashed, &["code 0 before its turn was complete"]);
    assert_eq!(ended_by_tool(true).judge().reason, None);
}

#[test]
fn a_cut_stream_is_no_crash_when_the_session_went_idle() {
    let mut run = Run::load();
    run.events.clear();
    run.raw.report.dropped.insert("stdout".to_owned(), 10);
    fails(&run, Reason::HostCrashed, &["code 0 before its turn was complete"]);
    run.post.push(json!({"kind": "event", "type": "session.idle"}));
    assert_eq!(run.judge().reason, None);
}

#[test]
fn no_model_call_is_never_a_pass() {
    for mut run in [Run::load(), Run::scripted("{}")] {
        run.raw.report.stub.primary = 0;
        fails(&run, Reason::NoModelCall, &["no model call was made."]);
    }
}

#[test]
fn an_exhausted_script_fails_a_scenario_and_not_a_load() {
    let mut run = Run::scripted("{}");
    run.raw.report.stub.exhausted = 2;
    fails(&run, Reason::ScriptExhausted, &["1 step(s)", "2 time(s) more"]);
    let mut run = Run::load();
    run.raw.report.stub.exhausted = 2;
    let judgement = run.judge();
    assert_eq!((judgement.reason, judgement.warnings.len()), (None, 1));
}

fn unknown_model(mut run: Run) -> Run {
    run.error_event(
        json!({"name": "UnknownError", "data": {"message": "Unexpected server error. Check server logs for details.", "ref": "err_1"}}),
    );
    run.log(r#"level=ERROR message=failed ref=err_1 error="ProviderModelNotFoundError: Model not found: no-such/gpt-4.1.""#);
    run.silent_model()
}

impl Run {
    fn silent_model(mut self) -> Self {
        self.events.retain(|event| event["type"] == "error");
        self.raw.report.stub.primary = 0;
        self.raw.report.exit = Some(Exit::Code(1));
        self
    }
}

#[test]
fn an_unknown_model_is_the_fault_of_who_chose_it() {
    let mut run = unknown_model(Run::scripted("{}"));
    fails(&run, Reason::HostError, &["error event: UnknownError", "does not know model \"no-such/gpt-4.1\"", "exit code 1"]);
    run.scenario().workspace.insert("opencode.json".into(), r#"{"model": "no-such/gpt-4.1"}"#.into());
    fails(&run, Reason::ScenarioConfig, &["the scenario's own project config", "no model call was made"]);
    assert_eq!(run.judge().reason.map(Reason::verdict), Some(Verdict::Fail));
}

#[test]
fn an_http_error_of_the_script_is_not_the_plugins() {
    let mut run = Run::scripted("{}");
    run.error_event(json!({"name": "APIError", "data": {"message": "no", "statusCode": 401}}));
    fails(&run, Reason::HostError, &["error event: APIError: no (HTTP 401 from the model)."]);
    run.scenario().script = Some(serde_json::from_value(json!([{"error": {"status": 401}}])).unwrap());
    fails(&run, Reason::ScenarioConfig, &["HTTP 401", "not the plugin's fault"]);
    run.scenario().expect.no_errors = false;
    assert_eq!(run.judge().reason, None);
}

#[test]
fn an_error_event_names_the_hook_that_threw() {
    let mut run = Run::load();
    run.error_event(json!({"name": "UnknownError", "data": {"message": "BOOM in chat.params"}}));
    fails(&run, Reason::HostError, &["error event: UnknownError: BOOM in chat.params."]);
    run.observer.extend([
        json!({"kind": "hook.start", "id": 1, "hook": "chat.params"}),
        json!({"kind": "hook.end", "id": 1, "error": {"message": "BOOM in chat.params"}}),
    ]);
    fails(&run, Reason::HostError, &["the plugin's hook `chat.params` threw it"]);
    assert_eq!(run.judge().errors, ["BOOM in chat.params"]);
}

#[test]
fn an_invalid_project_config_is_the_scenarios() {
    let mut run = Run::scripted("{}").silent(Exit::Code(1));
    run.raw.stderr = "Error: Configuration is invalid at /sandbox/project/opencode.json\n↳ Expected string, got 5 model\n".into();
    run.scenario().workspace.insert("opencode.json".into(), "{}".into());
    // The host did not come so far as to load anything.
    (run.observer, run.pre, run.post) = (vec![], vec![], vec![]);
    fails(&run, Reason::ScenarioConfig, &["/sandbox/project/opencode.json is invalid: Expected string, got 5 model", "the scenario's own"]);
    run.raw.stderr = "Error: Configuration is invalid at /sandbox/home/xdg/config/opencode/opencode.json\n↳ x\n".into();
    fails(&run, Reason::HostError, &["opencode.json is invalid: x."]);
}

#[test]
fn a_tui_module_is_checked_and_never_run() {
    let judgement = Run::tui(Tier::Load).judge();
    assert_eq!(judgement.reason, None);
    assert!(judgement.warnings[0].contains("tui.json"));
    let mut run = Run::tui(Tier::Load);
    run.raw.report.preflight = Some(Preflight::Imported(vec![export("default", "object", &[("tui", "string")])]));
    fails(&run, Reason::BadExport, &["`tui` of the default export is a string, expected a function"]);
    run.raw.complete = false;
    fails(&run, Reason::StreamIncomplete, &[]);
    run.raw.complete = true;
    run.raw.report.preflight =
        Some(Preflight::Imported(vec![export("default", "object", &[("id", "string"), ("tui", "function"), ("server", "function")])]));
    assert!(!run.judge().warnings.iter().any(|warning| warning.contains("tui.json")));
}

#[test]
fn the_static_check_decides_for_a_tui_plugin() {
    let mut run = Run::load();
    let check = |imported, tui: &str| TuiReport { imported, error: "boom".into(), tui: tui.into(), ..TuiReport::default() };
    for (report, reason) in [
        (Some(check(true, "function")), None),
        (Some(check(true, "undefined")), Some(Reason::BadExport)),
        (Some(check(false, "")), Some(Reason::ImportFailed)),
        (None, Some(Reason::StreamIncomplete)),
    ] {
        run.raw.report.tui = report;
        assert_eq!(judge_tui(&run.work, &run.raw).reason, reason);
    }
    run.raw.report.timeout = Some(Timeout { bound: Bound::Init, limit_ms: 4000, pending: String::new() });
    assert_eq!(judge_tui(&run.work, &run.raw).reason, Some(Reason::InitHang));
    run.raw.report.timeout = None;
    run.raw.report.tui = Some(check(true, "function"));
    run.raw.complete = false;
    assert_eq!(judge_tui(&run.work, &run.raw).reason, Some(Reason::StreamIncomplete));
    run.work.tier = Tier::Scripted;
    assert_eq!(judge_tui(&run.work, &run.raw).reason, Some(Reason::NotApplicable));
}
