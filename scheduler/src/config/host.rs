//! A look at the host's own configuration files, in the checkout and in workspaces, for mistakes about which the host says nothing: of a
//! repeated key it keeps the last one, and the plugin list of the other line it does not read.

use std::path::Path;

use ocsweep_proto::axes::Line;

use super::issue::Issues;
use super::node::Node;
use super::source::{Failure, Source};
use super::{ConfigError, ScenarioFile, json, render, workspace};

/// Where the host looks for its configuration, relative to a project.
const NAMES: [&str; 4] = ["opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"];

/// What was found in the host's configuration files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostConfigReport {
    /// Repeated keys anywhere, and syntax errors in workspaces: nothing may run.
    pub errors: Option<ConfigError>,
    /// What a person should know although nothing is wrong.
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Checkout,
    Workspace,
}

/// Checks `opencode.json` and `opencode.jsonc` of `cwd`, of the plugin's directory and of every scenario's workspace, also below `.opencode`.
///
/// `plugin_path` is relative to `cwd`; `line` decides which plugin key is the other line's.
#[must_use]
pub fn check_host_configs(cwd: &Path, plugin_path: &str, scenarios: &[ScenarioFile], line: Line) -> HostConfigReport {
    let mut check = Check { line, blocks: Vec::new(), warnings: Vec::new() };
    let plugin = workspace::normal(plugin_path);
    let outside = Path::new(plugin_path).is_absolute();
    let folders = if plugin.is_empty() || outside { vec![String::new()] } else { vec![String::new(), format!("{plugin}/")] };
    for folder in folders {
        for name in NAMES {
            let label = format!("{folder}{name}");
            let path = cwd.join(&label);
            // A file that is not there, or that only the container will have, is nobody's mistake.
            if path.symlink_metadata().is_ok() {
                check.source(Source::read(cwd, &path, &label).map_err(|failure| (label, failure)), Place::Checkout);
            }
        }
    }
    for file in scenarios {
        for (name, text) in &file.scenario.workspace {
            if NAMES.contains(&workspace::normal(name).as_str()) {
                let label = format!("scenario \"{}\" workspace \"{name}\"", file.scenario.id);
                check.source(Ok(Source { label, text: text.clone() }), Place::Workspace);
            }
        }
    }
    HostConfigReport { errors: ConfigError::of(&check.blocks), warnings: check.warnings }
}

struct Check {
    line: Line,
    blocks: Vec<String>,
    warnings: Vec<String>,
}

impl Check {
    fn source(&mut self, source: Result<Source, (String, Failure)>, place: Place) {
        let source = match source {
            Ok(source) => source,
            Err((label, failure)) => {
                return self.warnings.push(format!("{}: {}.", render::escape(&label), render::escape(&failure.message)));
            }
        };
        let mut issues = Issues::default();
        match json::parse(&source.text, json::Dialect::Jsonc, &mut issues) {
            Ok(Some(node)) if issues.is_empty() => self.plugin_key(&source.label, &node),
            Ok(_) if issues.is_empty() => {}
            Ok(_) => self.blocks.push(render::issues(&source.label, &source.text, &issues.into_sorted())),
            Err(failure) if place == Place::Workspace => {
                self.blocks.push(render::failure(&source.label, &Failure { text: source.text, ..failure }));
            }
            Err(failure) => self.broken(&source, &failure),
        }
    }

    /// The checkout's own file is not the one that the case will see, so a syntax error there only deserves a remark.
    fn broken(&mut self, source: &Source, failure: &Failure) {
        let at = super::source::position(&source.text, failure.span.unwrap_or_default().start);
        let label = render::escape(&source.label);
        self.warnings.push(format!("{label}:{}:{}: {}.", at.line, at.column, render::escape(&failure.message)));
    }

    fn plugin_key(&mut self, label: &str, node: &Node) {
        let (own, other, other_line) = match self.line {
            Line::V1 => ("plugin", "plugins", Line::V2),
            Line::V2 => ("plugins", "plugin", Line::V1),
        };
        if node.get(other).is_some() && node.get(own).is_none() {
            let label = render::escape(label);
            let line = self.line.as_str();
            self.warnings.push(format!(
                "{label} has only the key \"{other}\", which is for opencode {}: opencode {line} reads \"{own}\" and ignores it.",
                other_line.as_str()
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(files: &[(&str, &str)]) -> Vec<ScenarioFile> {
        let workspace: serde_json::Map<String, serde_json::Value> =
            files.iter().map(|(name, text)| ((*name).to_owned(), (*text).into())).collect();
        let scenario = serde_json::json!({"id": "s", "mode": "scripted", "prompt": "x", "script": [], "workspace": workspace});
        vec![ScenarioFile { path: "s.yaml".into(), scenario: serde_json::from_value(scenario).unwrap() }]
    }

    fn texts(report: &HostConfigReport) -> (String, &[String]) {
        (report.errors.as_ref().map(ToString::to_string).unwrap_or_default(), &report.warnings)
    }

    #[test]
    fn a_repeated_key_is_an_error_with_its_place() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("opencode.json"), "{\n  \"plugin\": [\"a\"],\n  // twice\n  \"plugin\": [\"b\"],\n}\n").unwrap();
        let report = check_host_configs(dir.path(), ".", &[], Line::V1);
        let expected = "Configuration error: opencode.json: validation failed:\n  - at \"\": Duplicate key: \"plugin\", first defined on line 2, column 3\n    --> opencode.json:4:3\n     |\n   4 |   \"plugin\": [\"b\"],\n     |   ^^^^^^^^\n     = help: keep one of the two";
        assert_eq!(texts(&report), (expected.to_owned(), &[][..]));
    }

    #[test]
    fn every_folder_and_name_is_looked_at() {
        for name in ["opencode.json", "opencode.jsonc", ".opencode/opencode.json", "sub/opencode.json", "sub/.opencode/opencode.jsonc"] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "{\"a\": {\"b\": 1, \"b\": 2}}").unwrap();
            let report = check_host_configs(dir.path(), "./sub", &[], Line::V1);
            assert!(
                texts(&report)
                    .0
                    .starts_with(&format!("Configuration error: {name}: validation failed:\n  - at \"a\": Duplicate key: \"b\"")),
                "{name}"
            );
        }
    }

    #[test]
    fn a_workspace_is_named_by_its_scenario() {
        for name in ["opencode.json", "./.opencode//opencode.jsonc"] {
            let report = check_host_configs(
                Path::new("/nowhere"),
                ".",
                &scenario(&[(name, "{\"a\": 1,\n\"a\": 2}"), ("other.json", "{\"a\": 1, \"a\": 2}")]),
                Line::V1,
            );
            let (text, warnings) = texts(&report);
            let label = format!("scenario \"s\" workspace \"{name}\"");
            assert!(text.starts_with(&format!("Configuration error: {label}: validation failed:\n  - at \"\": Duplicate key: \"a\", first defined on line 1, column 2\n    --> {label}:2:1\n")), "{text}");
            assert!(!text.contains("other.json") && warnings.is_empty());
        }
    }

    #[test]
    fn broken_syntax_stops_a_workspace_and_is_a_remark_in_the_checkout() {
        let report = check_host_configs(Path::new("/nowhere"), ".", &scenario(&[("opencode.json", "{\n  \"a\": }")]), Line::V1);
        assert!(texts(&report).0.contains("workspace \"opencode.json\": invalid JSON: "), "{report:?}");
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("opencode.json"), "{\n  \"a\": }").unwrap();
        let report = check_host_configs(dir.path(), ".", &[], Line::V1);
        assert_eq!(report.errors, None);
        assert!(report.warnings[0].starts_with("opencode.json:2:8: invalid JSON: "), "{report:?}");
    }

    #[test]
    fn the_other_lines_plugin_key_alone_is_a_warning() {
        let warnings =
            |text: &str, line| check_host_configs(Path::new("/nowhere"), ".", &scenario(&[("opencode.json", text)]), line).warnings;
        let expected = "scenario \"s\" workspace \"opencode.json\" has only the key \"plugins\", which is for opencode v2: opencode v1 reads \"plugin\" and ignores it.";
        assert_eq!(warnings("{\"plugins\": []}", Line::V1), [expected]);
        assert!(warnings("{\"plugin\": []}", Line::V2)[0].contains("\"plugin\", which is for opencode v1"));
        for (text, line) in [
            ("{\"plugins\": [], \"plugin\": []}", Line::V1),
            ("{\"plugins\": []}", Line::V2),
            ("{}", Line::V1),
            ("", Line::V1),
            ("[]", Line::V2),
        ] {
            assert_eq!(warnings(text, line), [""; 0], "{text}");
        }
    }
}
