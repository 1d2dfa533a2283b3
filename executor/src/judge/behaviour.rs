//! Warnings about what the plugin's code did while it ran: handlers cut off, arguments replaced in vain, loaded twice, thrown errors.

use std::collections::BTreeMap;

use ocsweep_proto::agent::Exit;

use super::{Case, host, show, surface};

/// Names that one warning lists.
const SHOWN_NAMES: usize = 6;

/// The warnings of any row on which the behaviour shows.
pub(super) fn warnings(case: &Case<'_>) -> Vec<String> {
    let mut warnings = cut_handlers(case);
    warnings.extend(replaced_arguments(case));
    warnings.extend(loaded_twice(case));
    warnings.extend(called_twice(case));
    warnings.extend(thrown_hooks(case));
    warnings.extend(late_exit(case));
    warnings
}

/// Handlers that were still running when the host ended by itself. One run of many is enough: each would have done something.
pub(super) fn cut_handlers(case: &Case<'_>) -> Vec<String> {
    if !case.ended_by_itself() || host::plugin_exit(case).is_some() {
        return Vec::new();
    }
    let running = || case.seen.plugin.hooks.iter().filter(|run| !run.ended);
    let mut events: Vec<String> = running().filter_map(|run| run.event.clone()).collect();
    events.sort_unstable();
    events.dedup();
    let mut hooks: Vec<String> = running().filter(|run| run.event.is_none()).map(|run| format!("`{}`", run.hook)).collect();
    hooks.sort_unstable();
    hooks.dedup();
    let cut = [("event", events), ("hook", hooks)].into_iter().filter(|(_, names)| !names.is_empty());
    cut.map(|(kind, names)| {
        let names = show::list(&names, SHOWN_NAMES);
        format!("{kind} {names} handler started, not finished when the host ended; what it still had to do is lost.")
    })
    .collect()
}

/// Hooks that put a new arguments object into their output, which the host never looks at.
pub(super) fn replaced_arguments(case: &Case<'_>) -> Vec<String> {
    let replaced = case.seen.calls.iter().filter_map(|call| Some((call, call.replaced.as_ref()?)));
    replaced
        .map(|(call, wanted)| {
            let ran = call.input.as_ref().map(show::value).unwrap_or_default();
            format!(
                "hook ran but had no effect: args object was replaced instead of changed in place; {} ran with {ran}, and the hook `tool.execute.before` wanted {}.",
                call.name,
                show::value(wanted)
            )
        })
        .collect()
}

/// A file that the host finds in the project by itself and that holds the plugin's own tools or exports is a second copy of it.
fn loaded_twice(case: &Case<'_>) -> Vec<String> {
    let entry = super::stage::entry(case);
    let mut warnings = Vec::new();
    for path in &case.report().discovered_plugins {
        let relative = path.trim_start_matches("./");
        let text = case
            .work
            .scenario
            .iter()
            .flat_map(|scenario| &scenario.workspace)
            .find(|(key, _)| key.trim_start_matches("./") == relative)
            .map(|(_, text)| text);
        match text {
            None => warnings.push(format!(
                "the plugin file {path} appeared in the project during the run; the host loads it from there at the next start."
            )),
            Some(text) => warnings.extend(shared_name(case, text).map(|name| {
                format!("loaded twice: from the config entry ({entry}) and from {path}, which has {name} too; its hooks run twice.")
            })),
        }
    }
    warnings
}

/// A tool or a named export that a text has in common with the plugin.
fn shared_name(case: &Case<'_>, text: &str) -> Option<String> {
    let tools = surface::own_tools(case).into_iter().map(|tool| ("tool", tool));
    let exports = case.seen.plugin.factories.iter().map(|run| ("export", run.export.as_str())).filter(|(_, export)| *export != "default");
    let mut shared = tools.chain(exports).filter(|(_, name)| !name.is_empty() && has_identifier(text, name));
    shared.next().map(|(kind, name)| format!("{kind} `{name}`"))
}

fn has_identifier(text: &str, name: &str) -> bool {
    let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '$'));
    text.match_indices(name).any(|(at, _)| !part(text[..at].chars().next_back()) && !part(text[at + name.len()..].chars().next()))
}

/// The same export called more than once subscribes everything more than once.
fn called_twice(case: &Case<'_>) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for run in &case.seen.plugin.factories {
        *counts.entry(run.export.as_str()).or_default() += 1;
    }
    counts
        .into_iter()
        .filter(|(_, count)| *count > 1)
        .map(|(export, count)| format!("factory `{export}` was called {count} times in one run."))
        .collect()
}

/// Throwing before or after a tool is how a plugin refuses a call; anywhere else it is an accident.
fn thrown_hooks(case: &Case<'_>) -> Vec<String> {
    let mut first: BTreeMap<&str, (usize, String)> = BTreeMap::new();
    for run in &case.seen.plugin.hooks {
        let refusal = matches!(run.hook.as_str(), "tool.execute.before" | "tool.execute.after" | "config");
        if let Some(error) = run.error.as_ref().filter(|_| !refusal) {
            let entry = first.entry(run.hook.as_str()).or_insert_with(|| (0, show::thrown(&error.name, &error.message)));
            entry.0 += 1;
        }
    }
    first.into_iter().map(|(hook, (count, error))| format!("hook `{hook}` threw {count} time(s), first: {error}.")).collect()
}

/// The turn was complete, but nothing after it had a chance.
fn late_exit(case: &Case<'_>) -> Option<String> {
    let exit = host::plugin_exit(case).filter(|_| case.report().exit == Some(Exit::Code(0)) && case.seen.finished())?;
    Some(host::exit_text(exit, true))
}
