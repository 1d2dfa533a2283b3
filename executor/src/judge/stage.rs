//! How far the plugin came: resolved, imported, accepted, set up. The host says nothing of the first two, so the preflight and the observer
//! are asked; a plugin that nobody saw at work has not passed.

pub(super) mod definition;
pub(super) mod v2;

use ocsweep_proto::agent::{Bound, EXPORT_LIMIT, Export, ImportError, Preflight};
use ocsweep_proto::axes::Line;
use ocsweep_proto::verdict::Reason;

use super::findings::Findings;
use super::{Case, engines, exports, host, show};
use crate::evidence::{FactoryRun, Thrown};

/// Adds what kept the plugin from coming up.
pub(super) fn check(case: &Case<'_>, findings: &mut Findings) {
    if case.work.host.line == Line::V2 {
        v2::check(case, findings);
        return;
    }
    resolution(case, findings);
    import(case, findings);
    init_hang(case, findings);
    if findings.has(Reason::ImportFailed) || findings.has(Reason::InitHang) {
        return;
    }
    factories(case, findings);
    config_hook(case, findings);
    acceptance(case, findings);
}

/// The entry's name in messages.
pub(super) fn entry(case: &Case<'_>) -> String {
    case.work.subject.entries.server.as_ref().map_or_else(|| "the entry".to_owned(), |server| server.path.clone())
}

fn resolution(case: &Case<'_>, findings: &mut Findings) {
    let Some(server) = &case.work.subject.entries.server else { return };
    if let Some(why) = &server.not_resolved {
        findings.add(Reason::NotResolved, why.clone());
    }
    if let Some(range) = &server.engines
        && engines::admits(range, &case.work.host.resolved) == Some(false)
    {
        findings.add(
            Reason::NotResolved,
            format!(
                "package.json \"engines.opencode\" is {range:?}, which does not admit opencode {}, so the host skips the package.",
                case.work.host.resolved
            ),
        );
    }
}

fn import(case: &Case<'_>, findings: &mut Findings) {
    let text = match &case.report().preflight {
        Some(Preflight::Failed(error)) if error.name == EXPORT_LIMIT => {
            findings.add(Reason::BadExport, format!("{} exports too much: {}.", entry(case), show::cut(&error.message, 1000)));
            return;
        }
        Some(Preflight::Failed(error)) => import_text(case, error),
        Some(Preflight::Died(how)) => {
            format!("import of {} ended the process: {}.", entry(case), show::cut(&show::in_bundle(how.trim()), 1000))
        }
        _ => match &case.seen.plugin.import {
            Some(Err(thrown)) => {
                let Thrown { name, message, stack } = thrown.clone();
                import_text(case, &ImportError { name, message, stack, positions: Vec::new() })
            }
            _ => return,
        },
    };
    findings.add(Reason::ImportFailed, text);
}

fn import_text(case: &Case<'_>, error: &ImportError) -> String {
    let places: Vec<String> = error
        .positions
        .iter()
        .take(3)
        .map(|position| {
            let place = format!("{}:{}:{}", show::in_bundle(&position.file), position.line, position.column);
            if position.message.is_empty() || position.message == error.message {
                place
            } else {
                format!("{place}: {}", show::in_bundle(&position.message))
            }
        })
        .collect();
    let places = if places.is_empty() { show::place_in_bundle(&error.stack).into_iter().collect() } else { places };
    let at = if places.is_empty() { String::new() } else { format!(" ({})", places.join("; ")) };
    format!("import of {} failed: {}{at}.{}", entry(case), show::thrown(&error.name, &error.message), native_hint(case, &error.message))
}

/// The dependencies of a published package are installed without their scripts, which is how native modules are built.
fn native_hint(case: &Case<'_>, message: &str) -> &'static str {
    let native = [".node", "bindings", "prebuild", "native", "ERR_DLOPEN"].into_iter().any(|word| message.contains(word));
    if native && case.work.subject.npm.is_some() { " Install scripts were not run, so a native module may be missing." } else { "" }
}

fn init_hang(case: &Case<'_>, findings: &mut Findings) {
    if case.report().preflight == Some(Preflight::Hung) {
        let ms = case.report().timeout.as_ref().map_or(case.work.limits.init_ms, |timeout| timeout.limit_ms);
        findings.add(Reason::InitHang, format!("import of {} did not finish within {ms} ms (init bound).", entry(case)));
        return;
    }
    let Some(timeout) = case.report().timeout.as_ref().filter(|timeout| timeout.bound == Bound::Init) else { return };
    let mut waiting: Vec<String> = if timeout.pending.is_empty() { Vec::new() } else { vec![timeout.pending.clone()] };
    waiting.extend(pending(case).into_iter().filter(|_| timeout.pending.is_empty()));
    waiting.extend(
        pending_client(case).into_iter().filter(|call| !timeout.pending.contains(call.as_str())).map(|call| format!("waiting for {call}")),
    );
    let what = if waiting.is_empty() { entry(case) } else { waiting.join(", ") };
    findings.add(
        Reason::InitHang,
        format!(
            "plugin init did not finish within {} ms (init bound): {what}; the host waits for it, so nothing behind it was reached.",
            timeout.limit_ms
        ),
    );
}

/// Imports, factories and config hooks of the plugin that never came back.
pub(super) fn pending(case: &Case<'_>) -> Vec<String> {
    let plugin = &case.seen.plugin;
    let import = (plugin.alive && plugin.import.is_none()).then(|| format!("import of {}", entry(case)));
    let factories = plugin.factories.iter().filter(|run| !run.ended).map(|run| format!("factory {:?}", run.export));
    let mut hooks: Vec<String> = plugin.hooks.iter().filter(|run| !run.ended).map(|run| format!("hook {:?}", run.hook)).collect();
    hooks.dedup();
    hooks.truncate(5);
    import.into_iter().chain(factories).chain(hooks).collect()
}

/// Calls of the host's client that never came back.
fn pending_client(case: &Case<'_>) -> Vec<String> {
    let mut calls: Vec<String> = case.seen.plugin.client.iter().filter(|call| !call.ended).map(|call| call.call.clone()).collect();
    calls.dedup();
    calls
}

fn factories(case: &Case<'_>, findings: &mut Findings) {
    for run in &case.seen.plugin.factories {
        if let Some(error) = &run.error {
            let (reason, text) = failed_factory(case, run, error);
            findings.add(reason, text);
        } else if run.ended && matches!(run.returned.as_str(), "null" | "undefined") {
            let (reason, text) = empty_factory(case, run);
            findings.add(reason, text);
        }
    }
}

fn failed_factory(case: &Case<'_>, run: &FactoryRun, error: &Thrown) -> (Reason, String) {
    if export(case, &run.export).is_some_and(|export| export.class) {
        return (
            Reason::BadExport,
            format!(
                "export `{}` is a class, and the host calls every export as a function: {}.",
                run.export,
                show::thrown(&error.name, &error.message)
            ),
        );
    }
    let place = show::place_in_bundle(&error.stack).map(|place| format!(" ({place})")).unwrap_or_default();
    (Reason::SetupFailed, format!("plugin setup failed: {}{place}", show::thrown(&error.name, &error.message)))
}

/// The only factory of a plugin has failed to set it up; one of several is a helper that should not be exported.
fn empty_factory(case: &Case<'_>, run: &FactoryRun) -> (Reason, String) {
    if case.seen.plugin.factories.len() == 1 {
        return (
            Reason::SetupFailed,
            format!("plugin setup failed: `{}` returned {} and must return an object with hooks", run.export, run.returned),
        );
    }
    let text = format!(
        "export `{}` was called as a plugin and returned {}, which breaks the host: a v1 host calls every exported function, so helpers must not be exported from the entry.",
        run.export, run.returned
    );
    (Reason::BadExport, text)
}

fn config_hook(case: &Case<'_>, findings: &mut Findings) {
    for error in case.seen.plugin.hooks.iter().filter(|run| run.hook == "config").filter_map(|run| run.error.as_ref()) {
        findings
            .add(Reason::SetupFailed, format!("plugin setup failed: the config hook threw {}", show::thrown(&error.name, &error.message)));
    }
}

/// What the host rejects of the exports. The host's own word counts; the rules only say what it meant.
fn acceptance(case: &Case<'_>, findings: &mut Findings) {
    if findings.has_stage() {
        return;
    }
    let loaded = case.seen.plugin.factories.iter().any(|run| run.ended && run.error.is_none());
    let rejection = rejection(case);
    if loaded && rejection.is_none() {
        return;
    }
    let problems = imported(case).map(|exports| exports::problems(exports, case.work.subject.npm.is_some())).unwrap_or_default();
    if problems.is_empty()
        && let Some(text) = rejection
    {
        findings.add(Reason::BadExport, format!("the host rejects the module: {}.", show::in_bundle(text.trim_end_matches('.'))));
    }
    for problem in problems {
        findings.add(Reason::BadExport, problem);
    }
}

/// The host's log line for a plugin that it could not load, when it is this plugin's.
fn rejection<'a>(case: &Case<'a>) -> Option<&'a str> {
    let failed = case.seen.log.iter().filter(|line| line.message().contains("failed to load plugin"));
    failed.filter(|line| super::inventory::names_the_plugin(case, &line.raw)).find_map(|line| line.get("error"))
}

/// Adds that nobody saw the plugin at work, unless something already says why: a stage, or a host that did not come so far.
pub(super) fn registration(case: &Case<'_>, findings: &mut Findings) {
    if case.work.host.line == Line::V2 {
        v2::registration(case, findings);
        return;
    }
    let plugin = &case.seen.plugin;
    let came_so_far = case.ended_by_itself() && !findings.has(Reason::HostCrashed) && host::invalid_config(case).is_none();
    if findings.has_stage() || !came_so_far {
        return;
    }
    if !plugin.alive || plugin.import.is_none() {
        findings.add(Reason::NotResolved, format!("plugin never registered: the host did not import {}.", entry(case)));
    } else if plugin.factories.is_empty() {
        findings
            .add(Reason::BadExport, format!("plugin never registered: the host imported {} and called none of its exports.", entry(case)));
    } else if !plugin.factories.iter().any(|run| run.ended) {
        findings
            .add(Reason::SetupFailed, format!("plugin setup failed: {} did not come back before the host ended", pending(case).join(", ")));
    }
}

fn imported<'a>(case: &Case<'a>) -> Option<&'a [Export]> {
    match &case.report().preflight {
        Some(Preflight::Imported(exports)) => Some(exports),
        _ => None,
    }
}

fn export<'a>(case: &Case<'a>, name: &str) -> Option<&'a Export> {
    imported(case)?.iter().find(|export| export.name == name)
}
