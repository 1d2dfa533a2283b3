//! What the command line chooses: scenarios by id, host versions.

use std::path::PathBuf;

use ocsweep_proto::axes::VersionWord;
use ocsweep_proto::ids::BUN_TEST;

use super::render::escape;
use super::{Loaded, ScenarioFile};

/// Ids that no scenario has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown --scenario id(s): {} (known: {known}).", escape(.unknown))]
pub struct UnknownScenarios {
    unknown: String,
    known: String,
}

/// A word of the command line that is no version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Invalid --opencode \"{}\": expected x.y.z or \"latest\", \"v1\", \"v2\".", escape(.word))]
pub struct UsageError {
    word: String,
}

/// The elements of values that may be repeated and may be lists with commas.
fn elements(args: &[String]) -> impl Iterator<Item = &str> {
    args.iter().flat_map(|arg| arg.split(',')).map(str::trim)
}

/// The scenarios with the given ids, in the order of their files; all of them when there are no ids.
///
/// # Errors
/// When an id is unknown.
pub fn select<'a>(loaded: &'a Loaded, ids: &[String]) -> Result<Vec<&'a ScenarioFile>, UnknownScenarios> {
    let known: Vec<&str> = loaded.scenarios.iter().map(|file| file.scenario.id.as_str()).collect();
    let mut unknown: Vec<&str> = Vec::new();
    for id in elements(ids) {
        let own_tests = id == BUN_TEST && !loaded.bun_tests.is_empty();
        if !own_tests && !known.contains(&id) && !unknown.contains(&id) {
            unknown.push(id);
        }
    }
    if !unknown.is_empty() {
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return Err(UnknownScenarios { unknown: unknown.join(", "), known });
    }
    let wanted: Vec<&str> = elements(ids).collect();
    let chosen = loaded.scenarios.iter().filter(|file| wanted.is_empty() || wanted.contains(&file.scenario.id.as_str()));
    Ok(chosen.collect())
}

/// The project's own test files, unless other ids are chosen.
#[must_use]
pub fn select_bun_tests<'a>(loaded: &'a Loaded, ids: &[String]) -> &'a [PathBuf] {
    let mut wanted = elements(ids).peekable();
    let chosen = wanted.peek().is_none() || wanted.any(|id| id == BUN_TEST);
    if chosen { &loaded.bun_tests } else { &[] }
}

/// The versions of `--opencode`, each once, in their order; empty when there are no arguments.
///
/// # Errors
/// When a word is no version; it would become a segment of a path.
pub fn parse_versions(args: &[String]) -> Result<Vec<VersionWord>, UsageError> {
    let mut versions = Vec::new();
    for word in elements(args) {
        let version: VersionWord = word.parse().map_err(|_| UsageError { word: word.to_owned() })?;
        if !versions.contains(&version) {
            versions.push(version);
        }
    }
    Ok(versions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ocsweep_proto::config::Config;

    fn loaded(ids: &[&str]) -> Loaded {
        let scenario = |id: &&str| ScenarioFile {
            path: format!(".opencode-ci/scenarios/{id}.yaml").into(),
            scenario: serde_json::from_value(serde_json::json!({"id": id, "mode": "scripted", "prompt": "x", "script": []})).unwrap(),
        };
        Loaded { config: Config::default(), scenarios: ids.iter().map(scenario).collect(), warnings: Vec::new(), bun_tests: Vec::new() }
    }

    fn args(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn unknown_scenarios_are_named_with_the_known_ones() {
        let text = |known: &[&str], ids: &[&str]| select(&loaded(known), &args(ids)).unwrap_err().to_string();
        assert_eq!(text(&["smoke"], &["smok"]), "unknown --scenario id(s): smok (known: smoke).");
        assert_eq!(text(&["a", "b"], &["x,a", "y", "x"]), "unknown --scenario id(s): x, y (known: a, b).");
        assert_eq!(text(&[], &["x"]), "unknown --scenario id(s): x (known: none).");
        assert_eq!(text(&[], &["\u{1b}[2J"]), "unknown --scenario id(s): \\u{1b}[2J (known: none).");
    }

    #[test]
    fn chosen_scenarios_keep_the_order_of_their_files() {
        let loaded = loaded(&["a", "b", "c"]);
        let ids =
            |chosen: &[&str]| select(&loaded, &args(chosen)).unwrap().iter().map(|file| file.scenario.id.to_string()).collect::<Vec<_>>();
        assert_eq!(ids(&["c,a"]), ["a", "c"]);
        assert_eq!(ids(&["b", "b"]), ["b"]);
        assert_eq!(ids(&[]), ["a", "b", "c"]);
    }

    #[test]
    fn versions_are_checked_because_they_become_path_segments() {
        let versions = parse_versions(&args(&["1.18.33,latest", "v2", "latest"])).unwrap();
        assert_eq!(versions.iter().map(ToString::to_string).collect::<Vec<_>>(), ["1.18.33", "latest", "v2"]);
        for (words, word) in [(&["../.."][..], "../.."), (&["1.18.33,"], ""), (&["latest", "1.18"], "1.18")] {
            let error = parse_versions(&args(words)).unwrap_err().to_string();
            assert_eq!(error, format!("Invalid --opencode \"{word}\": expected x.y.z or \"latest\", \"v1\", \"v2\"."));
        }
    }
}
