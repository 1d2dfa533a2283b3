//! How the host ended: by the plugin's hand, by a signal, with an error event, without a model call, or as it should.

use ocsweep_proto::agent::{Exit, paths};
use ocsweep_proto::axes::{Line, Tier};
use ocsweep_proto::verdict::Reason;

use super::findings::Findings;
use super::{Case, show};
use crate::evidence::{ExitCall, HostError};

/// Adds what was wrong with the end of the host.
pub(super) fn check(case: &Case<'_>, findings: &mut Findings) {
    crash(case, findings);
    if case.expect().is_none_or(|expect| expect.no_errors) {
        for error in &case.seen.events.errors {
            let (reason, text) = error_event(case, error);
            findings.add(reason, text);
        }
    }
    model_calls(case, findings);
}

fn crash(case: &Case<'_>, findings: &mut Findings) {
    let seen = case.seen;
    if let Some(exit) = plugin_exit(case)
        && (case.report().exit != Some(Exit::Code(0)) || !seen.finished())
    {
        findings.add(Reason::HostCrashed, exit_text(exit, seen.finished()));
        return;
    }
    match case.report().exit {
        _ if case.report().timeout.is_some() => {}
        Some(Exit::Signal(signal)) if !case.report().out_of_memory => {
            findings.add(Reason::HostCrashed, format!("the host process was ended by {}{}.", signal_name(signal), last_words(case)));
        }
        Some(Exit::Code(0)) if !seen.finished() && !went_idle(case) && case.report().stub.primary > 0 => {
            findings.add(Reason::HostCrashed, "opencode exited with code 0 before its turn was complete.");
        }
        Some(Exit::Code(code)) if code != 0 => exit_code(case, code, findings),
        _ => {}
    }
}

/// A turn can end behind a tool call, for example one that was refused, and a cut stream hides how it ended. Then the session's own last
/// event, which both probes see, tells an end from a death; without it a process that was ended in the middle would pass.
fn went_idle(case: &Case<'_>) -> bool {
    let last = match case.work.host.line {
        Line::V1 => "session.idle",
        Line::V2 => "session.execution.succeeded",
    };
    let is_idle = |record: &&crate::evidence::Record| record.kind == "event" && record.text("type") == last;
    let was_cut = case.report().dropped.get("stdout").is_some_and(|lost| *lost > 0);
    (case.seen.events.finishes > 0 || was_cut) && case.seen.post.iter().chain(&case.seen.pre).any(|record| is_idle(&record))
}

/// The plugin's own call that ended the process. The host ends itself by the same function, so the stack decides; where the stack says
/// nothing, for example behind a bound function, a last-resort handler of the plugin does.
pub(super) fn plugin_exit<'a>(case: &Case<'a>) -> Option<&'a ExitCall> {
    let own = |exit: &&ExitCall| match exit.origin.as_str() {
        "plugin" => true,
        // The host's own exit carries its frames, and it does not report success in the middle of a turn.
        "unknown" => {
            !exit.listeners.is_empty() || !exit.during.is_empty() || (case.report().exit == Some(Exit::Code(0)) && !case.seen.finished())
        }
        "host" => false,
        _ => exit.stack.contains(paths::BUNDLE),
    };
    case.seen.plugin.exits.iter().find(own)
}

/// What a plugin's exit is called in messages.
pub(super) fn exit_text(exit: &ExitCall, finished: bool) -> String {
    let during = if exit.during.is_empty() { "outside of any hook".to_owned() } else { format!("during {}", exit.during.join(", ")) };
    let place = show::place_in_bundle(&exit.stack).map(|place| format!(" ({place})")).unwrap_or_default();
    let handles =
        if exit.listeners.is_empty() { String::new() } else { format!("; the plugin handles {} itself", exit.listeners.join(" and ")) };
    let end = if finished { "" } else { "; the host sent no final event" };
    format!("host process ended by plugin code: {}({}) was called {during}{place}{handles}{end}.", exit.api, exit.code)
}

fn exit_code(case: &Case<'_>, code: i32, findings: &mut Findings) {
    if let Some((path, why)) = invalid_config(case) {
        let own = path.starts_with(paths::PROJECT) && case.work.scenario.as_ref().is_some_and(|scenario| !scenario.workspace.is_empty());
        let (reason, whose) =
            if own { (Reason::ScenarioConfig, "; it is the scenario's own configuration") } else { (Reason::HostError, "") };
        findings.add(reason, format!("opencode exited with code {code}: its configuration {path} is invalid: {why}{whose}."));
    } else if !case.seen.finished() && case.expect().is_none_or(|expect| expect.exit_code != code) {
        findings.add(Reason::HostCrashed, format!("opencode exited with code {code} before its turn was complete{}.", last_words(case)));
    } else if case.is_load() {
        findings.add(Reason::HostError, format!("opencode exited with code {code}."));
    }
}

/// What the host says of a configuration that it cannot use: path and reason.
pub(super) fn invalid_config(case: &Case<'_>) -> Option<(String, String)> {
    let mut lines = case.seen.stderr.lines();
    let path = lines.find_map(|line| line.split_once("Configuration is invalid at ")).map(|(_, path)| path.trim().to_owned())?;
    let why = lines.next().unwrap_or_default().trim_start_matches(['↳', ' ']).trim();
    Some((path, show::cut(why, 300)))
}

/// The last line on standard error that is no log line.
fn last_words(case: &Case<'_>) -> String {
    let plain = |line: &&str| !line.trim().is_empty() && !line.starts_with("timestamp=");
    let last = case.seen.stderr.lines().rfind(plain);
    last.map(|line| format!("; its last line on standard error: {}", show::quoted(line.trim()))).unwrap_or_default()
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        _ => return format!("signal {signal}"),
    };
    format!("signal {signal} ({name})")
}

/// An error event with what the log knows of it, and whose it is.
fn error_event(case: &Case<'_>, error: &HostError) -> (Reason, String) {
    let head = format!("error event: {}: {}", error.name, error.message.trim_end_matches('.'));
    let detail = detail(case, error);
    let unknown = match case.work.host.line {
        Line::V1 => unknown_model(error, detail),
        Line::V2 => error.message.split_once("Model unavailable: ").map(|(_, model)| model.trim_end_matches('.').to_owned()),
    };
    if let Some(model) = unknown {
        return unknown_model_text(case, &head, &model);
    }
    if let Some(status) = error.status {
        let scripted = case
            .work
            .scenario
            .iter()
            .flat_map(|scenario| scenario.script.iter().flatten())
            .any(|step| step.error.as_ref().is_some_and(|error| u64::from(error.status) == status));
        if scripted {
            return (
                Reason::ScenarioConfig,
                format!("{head} (HTTP {status} from the model, as a step of the script says; not the plugin's fault)."),
            );
        }
        return (Reason::HostError, format!("{head} (HTTP {status} from the model)."));
    }
    let logged = detail.map(|detail| format!("; the log says: {}", show::cut(&show::in_bundle(detail), 500))).unwrap_or_default();
    let thrower = thrower(case, &error.message, detail).map(|hook| format!("; the plugin's hook `{hook}` threw it")).unwrap_or_default();
    (Reason::HostError, format!("{head}{logged}{thrower}{}.", refused(case)))
}

/// Permissions that nobody could be asked for; a host may end its turn over one.
fn refused(case: &Case<'_>) -> String {
    let texts: Vec<String> =
        case.seen.rejections.iter().take(3).map(|one| format!("{} ({})", one.action, show::cut(&one.resources, 200))).collect();
    if texts.is_empty() || case.work.host.line == Line::V1 {
        String::new()
    } else {
        format!("; the host refused permission for {}", texts.join(", "))
    }
}

/// The log line that an event refers to.
fn detail<'a>(case: &Case<'a>, error: &HostError) -> Option<&'a str> {
    let reference = error.reference.as_deref()?;
    case.seen
        .log
        .iter()
        .find(|line| line.get("ref") == Some(reference))
        .and_then(|line| line.get("error").or_else(|| line.get("cause").filter(|_| case.work.host.line == Line::V2)))
}

/// The model that the host does not know, when that is the error.
fn unknown_model(error: &HostError, detail: Option<&str>) -> Option<String> {
    let text = [detail.unwrap_or_default(), &error.message, &error.name]
        .into_iter()
        .find(|text| text.contains("ModelNotFound") || text.contains("Model not found"))?;
    let rest = text.split_once("Model not found: ").map_or("", |(_, rest)| rest);
    let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ')')).unwrap_or(rest.len());
    Some(rest[..end].trim_end_matches(['.', ',']).to_owned())
}

fn unknown_model_text(case: &Case<'_>, head: &str, model: &str) -> (Reason, String) {
    let model = if model.is_empty() { "the configured model".to_owned() } else { format!("model {}", show::quoted(model)) };
    let code = match case.report().exit {
        Some(Exit::Code(code)) => format!(", exit code {code}"),
        _ => String::new(),
    };
    let what = format!("{head}; the host does not know {model}, so no model call was made{code}");
    if sets_model(case) {
        (Reason::ScenarioConfig, format!("{what}: the scenario's own project config selects it, not the plugin."))
    } else {
        (Reason::HostError, format!("{what}."))
    }
}

/// A project config in the scenario's workspace names a model.
fn sets_model(case: &Case<'_>) -> bool {
    let workspace = case.work.scenario.iter().flat_map(|scenario| &scenario.workspace);
    workspace.filter(|(path, _)| is_project_config(path)).any(|(_, text)| text.contains("model"))
}

/// Whether a path of the workspace is a configuration that the host reads.
pub(super) fn is_project_config(path: &str) -> bool {
    let path = path.strip_prefix("./").unwrap_or(path);
    matches!(path, "opencode.json" | "opencode.jsonc") || path.starts_with(".opencode/")
}

/// The hook of the plugin that threw what the host reports.
fn thrower<'a>(case: &Case<'a>, message: &str, detail: Option<&str>) -> Option<&'a str> {
    let threw = case.seen.plugin.hooks.iter().filter_map(|run| Some((run, run.error.as_ref()?)));
    let named = |text: &str| !text.is_empty() && (message.contains(text) || detail.is_some_and(|detail| detail.contains(text)));
    threw.filter(|(_, error)| named(error.message.trim())).map(|(run, _)| run.hook.as_str()).next()
}

/// No model call is never a pass; more than the script has steps for is a failure of the script or of the plugin.
fn model_calls(case: &Case<'_>, findings: &mut Findings) {
    if case.work.tier == Tier::Live {
        if case.seen.events.steps == 0 {
            findings.add(Reason::NoModelCall, "no model call was made.");
        }
        return;
    }
    let stub = &case.report().stub;
    if stub.primary == 0 {
        findings.add(Reason::NoModelCall, "no model call was made.");
    }
    if stub.exhausted > 0 && !case.is_load() {
        let steps = case.work.scenario.as_ref().and_then(|scenario| scenario.script.as_ref()).map_or(0, Vec::len);
        findings.add(
            Reason::ScriptExhausted,
            format!(
                "the script has {steps} step(s), and the host asked the model {} time(s) more (STUB_SCRIPT_EXHAUSTED).",
                stub.exhausted
            ),
        );
    }
}
