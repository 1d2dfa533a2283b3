//! A plugin author's configuration: `.opencode-ci/config.yaml` or `config.json` and the scenarios beside it, read from a directory that
//! nobody has to trust. All problems of all files are reported at once, each with its place.
//!
//! It must never run anything, reach the network or follow what a file says beyond the directory.

use std::fmt;
use std::path::{Path, PathBuf};

use ocsweep_proto::config::Config;
use ocsweep_proto::scenario::Scenario;

mod decode;
mod expect;
mod files;
mod hints;
mod host;
mod issue;
mod json;
mod node;
mod render;
mod scalar;
mod scenario;
pub mod schema;
mod select;
mod settings;
mod source;
mod variant;
mod workspace;
mod yaml;

pub use host::{HostConfigReport, check_host_configs};
pub use select::{UnknownScenarios, UsageError, parse_versions, select, select_bun_tests};

use files::{CONFIG_JSON, CONFIG_YAML};
use issue::{Issue, Issues};
use node::{Data, Node, Span};
use source::{Failure, Source};

/// Everything that `.opencode-ci/` says.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The configuration; defaults when there is no file.
    pub config: Config,
    /// The scenarios, in the order of their file names.
    pub scenarios: Vec<ScenarioFile>,
    /// What a person should know although nothing is wrong.
    pub warnings: Vec<String>,
    /// The project's own tests, `.opencode-ci/**/*.test.ts`, relative to the working directory, sorted.
    pub bun_tests: Vec<PathBuf>,
}

/// A scenario and where it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct ScenarioFile {
    /// Relative to the working directory.
    pub path: PathBuf,
    /// The scenario.
    pub scenario: Scenario,
}

/// Everything that is wrong with a configuration. Its text is complete, several lines long, and ends without a line feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    text: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for ConfigError {}

impl ConfigError {
    /// One error for the texts of several documents; `None` when there is none.
    fn of(blocks: &[String]) -> Option<Self> {
        (!blocks.is_empty()).then(|| Self { text: blocks.concat().trim_end().to_owned() })
    }
}

/// Reads the configuration and every scenario below `cwd`.
///
/// # Errors
/// When a file cannot be read or parsed, or says something that it may not; the error holds all problems of all files.
pub fn load(cwd: &Path) -> Result<Loaded, ConfigError> {
    let found = files::discover(cwd);
    let mut warnings = found.warnings;
    let mut blocks = found.errors;
    let mut config = read_config(cwd, found.config.as_deref(), &mut blocks);
    if found.config.is_none() && blocks.is_empty() {
        warnings.insert(
            0,
            format!("No {CONFIG_YAML} or {CONFIG_JSON} found under {}: using defaults.", render::escape(&cwd.to_string_lossy())),
        );
    }
    let drafts: Vec<Draft> = found.scenarios.iter().map(|path| Draft::read(cwd, path)).collect();
    let drafts = report_shared_ids(drafts);
    let mut scenarios = Vec::new();
    for draft in drafts {
        match draft.finish() {
            Ok(scenario) => scenarios.push(scenario),
            Err(block) => blocks.push(block),
        }
    }
    warnings.extend(drop_repeated_versions(&mut config));
    warnings.extend(scenarios.iter().flat_map(unknown_hooks));
    match ConfigError::of(&blocks) {
        Some(error) => Err(error),
        None => Ok(Loaded { config, scenarios, warnings, bun_tests: found.bun_tests }),
    }
}

fn read_config(cwd: &Path, path: Option<&str>, blocks: &mut Vec<String>) -> Config {
    let Some(path) = path else {
        return Config::default();
    };
    let mut issues = Issues::default();
    match parse(cwd, path, &mut issues) {
        Ok((source, node)) => {
            let config = settings::config(&node, &mut issues);
            if !issues.is_empty() {
                blocks.push(render::issues(path, &source.text, &issues.into_sorted()));
            }
            config
        }
        Err(failure) => {
            blocks.push(render::failure(path, &failure));
            Config::default()
        }
    }
}

/// Reads a file by the syntax that its name says. An empty YAML document is the empty object.
fn parse(cwd: &Path, label: &str, issues: &mut Issues) -> Result<(Source, Node), Failure> {
    let source = Source::read(cwd, &cwd.join(label), label)?;
    let parsed =
        if label.ends_with(".json") { json::parse(&source.text, json::Dialect::Json, issues) } else { yaml::parse(&source.text, issues) };
    match parsed {
        Ok(node) => {
            let node = node.unwrap_or(Node { data: Data::Object(Vec::new()), span: Span::at(0) });
            Ok((source, node))
        }
        Err(failure) => Err(Failure { text: source.text, ..failure }),
    }
}

/// The case of a repeated version would be the same case twice.
fn drop_repeated_versions(config: &mut Config) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut seen = Vec::new();
    for version in std::mem::take(&mut config.opencode.versions) {
        if seen.contains(&version) {
            warnings.push(format!("opencode.versions names \"{version}\" more than once: it is used once."));
        } else {
            seen.push(version);
        }
    }
    config.opencode.versions = seen;
    warnings
}

/// An expectation of a hook that no probe records can only fail, and that would be blamed on the plugin.
fn unknown_hooks(file: &ScenarioFile) -> Vec<String> {
    let id = &file.scenario.id;
    let hooks = file.scenario.expect.hooks.iter().enumerate();
    let unknown = hooks.filter(|(_, hook)| !ocsweep_proto::names::v2::can_be_seen(&hook.hook));
    unknown
        .map(|(index, hook)| {
            format!(
                "scenario \"{id}\": expect.hooks.{index} names \"{}\", which is no hook that is recorded: it can only fail.",
                render::escape(&hook.hook)
            )
        })
        .collect()
}

/// A scenario file on its way to a scenario or to the text of its problems.
struct Draft {
    label: String,
    text: String,
    failure: Option<Failure>,
    issues: Issues,
    /// The id as written, with its place.
    id: Option<(String, Span)>,
    scenario: Option<Scenario>,
}

impl Draft {
    fn read(cwd: &Path, label: &str) -> Self {
        let mut draft =
            Self { label: label.to_owned(), text: String::new(), failure: None, issues: Issues::default(), id: None, scenario: None };
        match parse(cwd, label, &mut draft.issues) {
            Ok((source, node)) => {
                draft.text = source.text;
                draft.id = node.get("id").and_then(|member| member.node.as_str().map(|id| (id.to_owned(), member.node.span)));
                draft.scenario = scenario::scenario(&node, files::stem(label), &mut draft.issues);
            }
            Err(failure) => draft.failure = Some(failure),
        }
        draft
    }

    fn finish(self) -> Result<ScenarioFile, String> {
        if let Some(failure) = self.failure {
            return Err(render::failure(&self.label, &failure));
        }
        match self.scenario {
            Some(scenario) if self.issues.is_empty() => Ok(ScenarioFile { path: PathBuf::from(self.label), scenario }),
            _ => Err(render::issues(&self.label, &self.text, &self.issues.into_sorted())),
        }
    }
}

/// An id that two files use is a problem of the later one, which names the earlier.
fn report_shared_ids(mut drafts: Vec<Draft>) -> Vec<Draft> {
    let mut owners: std::collections::HashMap<String, String> = std::collections::HashMap::new();
    for draft in &mut drafts {
        let Some((id, span)) = draft.id.clone() else {
            continue;
        };
        let Some(owner) = owners.get(&id) else {
            owners.insert(id, draft.label.clone());
            continue;
        };
        let message = format!("duplicate scenario id \"{id}\" in {owner} and {}", draft.label);
        draft.issues.add(Issue { path: "id".to_owned(), message, span: Some(span), hint: None });
    }
    drafts
}

#[cfg(test)]
mod tests;
