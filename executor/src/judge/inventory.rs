//! What must be there beside the plugin: both probes, the inventory with the expected names, no foreign plugin, no problem in the log.

pub(super) mod v2;

use ocsweep_proto::agent::{Preflight, paths};
use ocsweep_proto::axes::Line;
use ocsweep_proto::names;
use ocsweep_proto::verdict::Reason;

use super::findings::Findings;
use super::{Case, host, show};

/// Names of the inventory that a message lists.
const SHOWN_NAMES: usize = 40;
/// Ids that are words of the host or of the harness say nothing in a log line.
const COMMON_WORDS: [&str; 7] = ["stub", "build", "opencode", "plugin", "primary", "process", "server"];

/// Adds what is missing and what is too much.
pub(super) fn check(case: &Case<'_>, findings: &mut Findings) {
    let explained = findings.has_stage() || findings.has(Reason::HostCrashed) || case.report().timeout.is_some();
    if !explained {
        liveness(case, findings);
    }
    if case.is_load() {
        log_problems(case, findings);
        expected_names(case, findings);
    }
    if let Some(path) = &case.report().ancestor_config {
        findings.add(Reason::Docker, format!("ancestor opencode config detected at {path}: sandbox isolation compromised."));
    }
    match case.work.host.line {
        Line::V1 => foreign(case, findings),
        Line::V2 => v2::foreign(case, findings),
    }
}

/// A probe that nobody heard of makes everything unproven that depends on it.
fn liveness(case: &Case<'_>, findings: &mut Findings) {
    for (name, records) in [("before", &case.seen.pre), ("after", &case.seen.post)] {
        if records.is_empty() {
            findings
                .add(Reason::HostError, format!("the probe {name} the plugin never spoke, so nothing that it should have seen is proven."));
        }
    }
}

/// Whether a line of the log is about the plugin: its observer, its paths, or its id as a whole word.
pub(super) fn names_the_plugin(case: &Case<'_>, line: &str) -> bool {
    let observer = format!("{}/observer.mjs", paths::ASSETS);
    line.contains(&observer) || line.contains(paths::BUNDLE) || ids(case).iter().any(|id| has_word(line, id))
}

fn ids(case: &Case<'_>) -> Vec<String> {
    let own = match &case.report().preflight {
        Some(Preflight::Imported(exports)) => exports.iter().find(|export| export.name == "default").and_then(|export| export.id.clone()),
        _ => None,
    };
    let ids = case.work.subject.npm.iter().cloned().chain(own);
    ids.filter(|id| id.len() >= 4 && !COMMON_WORDS.contains(&id.as_str())).collect()
}

fn has_word(line: &str, word: &str) -> bool {
    let part_of_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
    line.match_indices(word)
        .any(|(at, _)| !part_of_word(line[..at].chars().next_back()) && !part_of_word(line[at + word.len()..].chars().next()))
}

/// Lines that a failed stage has already told are left out.
fn log_problems(case: &Case<'_>, findings: &mut Findings) {
    if findings.has_stage() {
        return;
    }
    let mut lines: Vec<&str> = Vec::new();
    let is_problem = |line: &&crate::evidence::LogLine| match case.work.host.line {
        Line::V1 => line.is_error() && names_the_plugin(case, &line.raw),
        Line::V2 => v2::is_problem(case, line),
    };
    for line in case.seen.log.iter().filter(is_problem) {
        if !lines.contains(&line.raw.as_str()) {
            lines.push(&line.raw);
        }
    }
    for line in lines {
        findings.add(Reason::LogProblem, format!("plugin log problem: {}", show::cut(line, 1000)));
    }
}

fn expected_names(case: &Case<'_>, findings: &mut Findings) {
    let Some(inventory) = &case.seen.inventory else {
        findings.add(Reason::ExpectationMissing, "no inventory was recorded.");
        return;
    };
    for (singular, plural, expected) in case.work.expect.lists() {
        let found = inventory.names.get(plural).map(Vec::as_slice).unwrap_or_default();
        let is_there = |name: &String| found.iter().any(|found| found == name || (plural == "tools" && names::same_tool(found, name)));
        let unanswered = if inventory.missing.iter().any(|list| list == plural) { " (the host did not answer for this list)" } else { "" };
        for name in expected.iter().filter(|name| !is_there(name)) {
            let list = show::list(found, SHOWN_NAMES);
            findings.add(
                Reason::ExpectationMissing,
                format!("expected {singular} {} not in inventory {plural} [{list}]{unanswered}.", show::quoted(name)),
            );
        }
    }
}

/// Plugins that neither the harness nor the scenario's own project config put there.
fn foreign(case: &Case<'_>, findings: &mut Findings) {
    let Some(inventory) = &case.seen.inventory else { return };
    let mut foreign: Vec<String> = Vec::new();
    for spec in &inventory.plugins {
        if !is_ours(spec) && !is_the_scenarios(case, spec) && !foreign.contains(spec) {
            foreign.push(spec.clone());
        }
    }
    if !foreign.is_empty() {
        findings.add(
            Reason::ForeignPlugin,
            format!("unexpected plugins in inventory from ancestor config: [{}].", show::list(&foreign, SHOWN_NAMES)),
        );
    }
}

fn is_ours(spec: &str) -> bool {
    let path = spec.strip_prefix("file://").unwrap_or(spec);
    let ours = ["probe-pre.mjs", "observer.mjs", "probe-post.mjs"];
    path.strip_prefix(paths::ASSETS).and_then(|rest| rest.strip_prefix('/')).is_some_and(|file| ours.contains(&file))
}

/// A file that the workspace puts into the project, or a spec that its config names.
fn is_the_scenarios(case: &Case<'_>, spec: &str) -> bool {
    let Some(scenario) = &case.work.scenario else { return false };
    let path = spec.strip_prefix("file://").unwrap_or(spec);
    let in_project = path.strip_prefix(paths::PROJECT).and_then(|rest| rest.strip_prefix('/'));
    let own_file = in_project.is_some_and(|relative| scenario.workspace.keys().any(|key| key.trim_start_matches("./") == relative));
    let quoted = serde_json::Value::from(spec).to_string();
    own_file || scenario.workspace.iter().any(|(path, text)| host::is_project_config(path) && text.contains(&quoted))
}
