//! Foreign plugins and log problems of line v2, where the host lists every plugin with its source and logs what it could not load.

use ocsweep_proto::agent::paths;
use ocsweep_proto::verdict::Reason;

use super::{COMMON_WORDS, SHOWN_NAMES, has_word};
use crate::evidence::{LogLine, PluginEntry};
use crate::judge::findings::Findings;
use crate::judge::stage::{definition, v2};
use crate::judge::{Case, host, show};

/// The probes: how an id ends, and the directory below the assets.
const PROBES: [(&str, &str); 2] = [(".probe.pre", "probe-pre"), (".probe.post", "probe-post")];

/// Adds plugins that neither the harness nor the scenario's own project config put there, each once, in the order of the list.
pub(super) fn foreign(case: &Case<'_>, findings: &mut Findings) {
    let Some(inventory) = &case.seen.inventory else { return };
    let mut foreign: Vec<String> = Vec::new();
    for entry in inventory.entries.iter().filter(|entry| !is_allowed(entry) && !is_the_scenarios(case, entry)) {
        let name = entry.id.clone().or_else(|| entry.path.clone()).unwrap_or_else(|| "(unknown plugin)".to_owned());
        if !foreign.contains(&name) {
            foreign.push(name);
        }
    }
    if !foreign.is_empty() {
        findings.add(
            Reason::ForeignPlugin,
            format!("unexpected plugins in inventory from ancestor config: [{}].", show::list(&foreign, SHOWN_NAMES)),
        );
    }
}

/// What the host brings itself, the stand-in, or an id of a probe at the probe's own place. A failed entry at the stand-in may have no id.
fn is_allowed(entry: &PluginEntry) -> bool {
    if entry.source == "builtin" || v2::is_own(entry) {
        return true;
    }
    let (Some(id), Some(path)) = (&entry.id, &entry.path) else { return false };
    PROBES.into_iter().any(|(suffix, directory)| id.ends_with(suffix) && v2::is_in(path, directory))
}

/// The plugin's id, by the host's list or by its own export.
fn plugin_id<'a>(case: &Case<'a>) -> Option<&'a str> {
    v2::own(case).and_then(|own| own.id.as_deref()).or_else(|| definition::id(case))
}

/// A file that the workspace puts into the project, or a package that its config names.
fn is_the_scenarios(case: &Case<'_>, entry: &PluginEntry) -> bool {
    let Some(scenario) = &case.work.scenario else { return false };
    let is_own_file = |path: &str| {
        let path = path.strip_prefix("file://").unwrap_or(path);
        let relative = path.strip_prefix(paths::PROJECT).and_then(|rest| rest.strip_prefix('/'));
        relative.is_some_and(|relative| scenario.workspace.keys().any(|key| key.trim_start_matches("./") == relative))
    };
    let is_named = |target: &str| {
        let quoted = serde_json::Value::from(target).to_string();
        scenario.workspace.iter().any(|(path, text)| host::is_project_config(path) && text.contains(&quoted))
    };
    match &entry.path {
        Some(path) => is_own_file(path),
        None => entry.target.as_deref().is_some_and(is_named),
    }
}

/// Whether a line of the log is a problem of the plugin's.
pub(super) fn is_problem(case: &Case<'_>, line: &LogLine) -> bool {
    let id = plugin_id(case);
    (line.is_error() && names_the_plugin(case, &line.raw)) || v2::is_load_failure(line, id) || refuses_a_file(line) == Some(true)
}

/// Whether a line names the plugin: its stand-in, its paths, or an id of its own as a whole word.
fn names_the_plugin(case: &Case<'_>, line: &str) -> bool {
    let shim = format!("{}/{}", paths::ASSETS, v2::SHIM);
    let telling = |id: &&str| id.len() >= 4 && !COMMON_WORDS.contains(id);
    let ids = plugin_id(case).into_iter().chain(case.work.subject.npm.as_deref());
    line.contains(&shim) || line.contains(paths::BUNDLE) || ids.filter(telling).any(|id| has_word(line, id))
}

/// The host drops a configured path that is no directory; `true` when it is ours.
fn refuses_a_file(line: &LogLine) -> Option<bool> {
    let says = line.message().contains("configured plugin path must be a directory");
    says.then(|| line.fields.iter().any(|(_, value)| v2::is_of_the_plugin(value)))
}

/// What the log says of other plugins, of tools and of the scenario's own configuration: worth knowing, and nothing that can be laid at the
/// plugin's door.
pub(in crate::judge) fn warnings(case: &Case<'_>) -> Vec<String> {
    let told = case.seen.log.iter().filter(|line| !(case.is_load() && is_problem(case, line)));
    let text = |line: &LogLine| Some(format!("the host {}: {}", what_was_left_out(line)?, show::cut(&show::in_bundle(&line.raw), 500)));
    told.filter_map(text).collect()
}

fn what_was_left_out(line: &LogLine) -> Option<&'static str> {
    let says = |words: &str| line.message().contains(words);
    if says("Skipping invalid tool registration") {
        Some("skipped a tool")
    } else if refuses_a_file(line).is_some() {
        Some("dropped a configured plugin")
    } else if says("configuration normalization diagnostic") && line.raw.contains(paths::PROJECT) {
        Some("dropped a part of the project's configuration")
    } else {
        None
    }
}
