//! Warnings about the plugin's surface, which a load shows once: its hooks, its tools, its exports.

mod v2;

use ocsweep_proto::agent::RequestKind;
use ocsweep_proto::axes::Line;
use ocsweep_proto::names;
use serde_json::Value;

use super::{Case, show, suggest};
use crate::evidence::{FactoryRun, tool_parameters};

/// Unknown keys that a warning names.
const SHOWN_KEYS: usize = 12;

/// The warnings of a load row; a scripted row repeats none of them.
pub(super) fn warnings(case: &Case<'_>) -> Vec<String> {
    if !case.is_load() {
        return Vec::new();
    }
    if case.work.host.line == Line::V2 {
        let request = case.raw.stub_requests.iter().find(|request| request.kind == RequestKind::Primary);
        return request.map(v2::warnings).unwrap_or_default();
    }
    let mut warnings = shadowed_tools(case);
    warnings.extend(unknown_hooks(case));
    warnings.extend(dead_hooks(case));
    warnings.extend(helpers(case));
    warnings.extend(untyped_arguments(case));
    warnings
}

/// Names of the plugin's own tools.
pub(super) fn own_tools<'a>(case: &Case<'a>) -> Vec<&'a str> {
    case.seen.plugin.factories.iter().flat_map(|run| &run.tools).map(String::as_str).collect()
}

fn shadowed_tools(case: &Case<'_>) -> Vec<String> {
    let own = own_tools(case).into_iter().filter(|tool| names::V1_BUILTIN_TOOLS.contains(tool));
    own.map(|tool| format!("plugin tool `{tool}` replaces the built-in tool `{tool}`: every call of it is answered by the plugin."))
        .collect()
}

/// Factories that look like plugins. A helper that the host calls as one returns something else.
fn plugins<'a>(case: &Case<'a>) -> impl Iterator<Item = &'a FactoryRun> {
    let runs = &case.seen.plugin.factories;
    let real = |run: &FactoryRun| run.hooks.iter().any(|key| names::is_v1_hook(key));
    let any_real = runs.iter().any(real);
    runs.iter().filter(move |run| run.ended && run.error.is_none() && (!any_real || real(run)))
}

/// Keys that could only have been meant as hooks.
fn unknown_keys(run: &FactoryRun) -> impl Iterator<Item = &String> {
    let meant = |key: &&String| run.hook_types.get(*key).is_none_or(|kind| matches!(kind.as_str(), "function" | "object"));
    run.hooks.iter().filter(|key| !names::is_v1_hook(key)).filter(meant)
}

/// The warning about keys that no host reads.
pub(super) fn unknown_hooks(case: &Case<'_>) -> Option<String> {
    let keys: Vec<String> = plugins(case)
        .flat_map(unknown_keys)
        .map(|key| {
            let meant = suggest::hook(key).map(|hook| format!(" (did you mean {hook}?)")).unwrap_or_default();
            format!("`{key}`{meant}")
        })
        .collect();
    if keys.is_empty() {
        return None;
    }
    let dead = !plugins(case).any(|run| run.hooks.iter().any(|key| names::is_v1_hook(key) && key != names::V1_DISPOSE));
    let dead = if dead { " No known key is left: no hook of this plugin can run." } else { "" };
    Some(format!("unknown hook keys: {}; opencode {} never calls them.{dead}", show::list(&keys, SHOWN_KEYS), case.work.host.resolved))
}

/// Hooks that are declared and never triggered.
pub(super) fn dead_hooks(case: &Case<'_>) -> Vec<String> {
    let keys: Vec<&String> = case.seen.plugin.factories.iter().flat_map(|run| &run.hooks).collect();
    let dead = names::V1_DEAD_HOOKS.into_iter().filter(|dead| keys.iter().any(|key| key == dead));
    dead.map(|hook| format!("hook `{hook}` is never triggered by opencode {}.", case.work.host.resolved)).collect()
}

/// Exports that the host called as plugins and that returned no hooks. The host does not mind.
fn helpers(case: &Case<'_>) -> Vec<String> {
    let runs = &case.seen.plugin.factories;
    let ended = runs.iter().filter(|run| run.ended && run.error.is_none());
    ended
        .filter_map(|run| match run.returned.as_str() {
            "null" | "undefined" | "thenable" | "" => None,
            "object" => {
                let strange = !run.hooks.is_empty() && !run.hooks.iter().any(|key| names::is_v1_hook(key));
                let others = runs.iter().any(|other| other.hooks.iter().any(|key| names::is_v1_hook(key)));
                (strange && others).then(|| helper_text(run, "an object without hooks"))
            }
            other => Some(helper_text(run, &show::article(other))),
        })
        .collect()
}

fn helper_text(run: &FactoryRun, returned: &str) -> String {
    format!("helper export `{}` was called as a plugin factory; returned {returned}. A v1 host calls every exported function.", run.export)
}

/// Arguments of the plugin's tools whose type the model does not learn.
fn untyped_arguments(case: &Case<'_>) -> Vec<String> {
    let Some(request) = case.raw.stub_requests.iter().find(|request| request.kind == RequestKind::Primary) else { return Vec::new() };
    let mut warnings = Vec::new();
    for tool in own_tools(case) {
        let properties = tool_parameters(request, tool).and_then(|schema| schema.get("properties")).and_then(Value::as_object);
        let untyped: Vec<String> =
            properties.into_iter().flatten().filter(|(_, schema)| !has_type(schema)).map(|(name, _)| format!("\"{name}\"")).collect();
        if !untyped.is_empty() {
            warnings.push(format!(
                "tool `{tool}`: the schema that the model receives has no type for argument {}.",
                show::list(&untyped, SHOWN_KEYS)
            ));
        }
    }
    warnings
}

fn has_type(schema: &Value) -> bool {
    ["type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const", "not"].into_iter().any(|key| schema.get(key).is_some())
}
