//! Files for a plugin that has no `.opencode-ci/` yet. Text alone: writing it, or refusing to overwrite, is the caller's.

use ocsweep_proto::axes::Line;
use serde_json::Value;

/// The package whose presence makes a plugin one of line v2.
const V2_PACKAGE: &str = "@opencode/plugin";

/// The line that a plugin's `package.json` speaks for: v2 when it depends on the plugin package of that line, else v1.
#[must_use]
pub fn detect_line(package_json: Option<&Value>) -> Line {
    let depends = |kind: &str| package_json.and_then(|package| package.get(kind)).and_then(|list| list.get(V2_PACKAGE)).is_some();
    if ["dependencies", "devDependencies", "peerDependencies"].into_iter().any(depends) { Line::V2 } else { Line::V1 }
}

/// The files of a new project: path relative to the working directory, and content.
///
/// `version` is a version word; it is written in quotes.
#[must_use]
pub fn files(line: Line, version: &str) -> Vec<(String, String)> {
    vec![
        (".opencode-ci/config.yaml".to_owned(), config(line, version)),
        (".opencode-ci/scenarios/example.yaml".to_owned(), EXAMPLE.to_owned()),
    ]
}

fn config(line: Line, version: &str) -> String {
    let package = line.package();
    format!(
        r#"# What ocsweep checks of this plugin. `ocsweep validate` checks this file, `ocsweep run` the plugin.
plugin:
  path: .
  # install: npm ci
  # build: npm run build
  # options: {{}}

opencode:
  # Versions of {package}. The first is required, others are allowed to fail.
  versions:
    - "{version}"

# Names that must be there once the plugin is loaded.
expect:
  tools: []
"#
    )
}

const EXAMPLE: &str = r#"# A conversation in which the model's answers are written down, so that it needs no key and no network.
id: example
description: The host answers with the plugin loaded.
mode: scripted
prompt: Say hello.
script:
  # To call a tool of the plugin, add a step before the text:
  # - toolCalls:
  #     - name: my_tool
  #       arguments: {}
  - text: hello from the example
expect:
  # To check the call, add:
  # tools:
  #   - name: my_tool
  #     output:
  #       contains: the result
  text:
    contains: hello from the example
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_line_is_what_the_package_depends_on() {
        let table = [
            (None, Line::V1),
            (Some(json!({})), Line::V1),
            (Some(json!({"dependencies": {"@opencode-ai/plugin": "1"}})), Line::V1),
            (Some(json!({"dependencies": {"@opencode/plugin": "2"}})), Line::V2),
            (Some(json!({"devDependencies": {"@opencode/plugin": "2"}})), Line::V2),
            (Some(json!({"peerDependencies": {"@opencode/plugin": "2"}})), Line::V2),
            (Some(json!({"optionalDependencies": {"@opencode/plugin": "2"}})), Line::V1),
            (Some(json!({"dependencies": ["@opencode/plugin"]})), Line::V1),
            (Some(json!([1])), Line::V1),
        ];
        for (package, line) in table {
            assert_eq!(detect_line(package.as_ref()), line, "{package:?}");
        }
    }

    #[test]
    fn a_new_project_is_valid_and_names_one_version() {
        for (line, version) in [(Line::V1, "1.18.33"), (Line::V2, "latest")] {
            let dir = tempfile::tempdir().unwrap();
            for (path, content) in files(line, version) {
                let path = dir.path().join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, content).unwrap();
            }
            let loaded = crate::config::load(dir.path()).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(loaded.warnings, [""; 0]);
            assert_eq!(loaded.config.opencode.versions, [version.parse().unwrap()]);
            assert_eq!(loaded.scenarios.len(), 1);
        }
    }
}
