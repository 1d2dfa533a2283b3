//! Directories with a configuration and the exact text that the loader says about them. A case is a folder of `tests/config/` with
//! `.opencode-ci/` and `expected.txt`; after a wanted change, `OCSWEEP_BLESS=1 cargo test -p ocsweep-scheduler --test config` rewrites the texts.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use ocsweep_scheduler::config::{self, schema};
use serde_json::Value;

fn folders(dir: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn bless() -> bool {
    std::env::var_os("OCSWEEP_BLESS").is_some_and(|value| value == "1")
}

/// What a run would say: the error, or what was read.
fn describe(case: &Path) -> String {
    let mut text = match config::load(case) {
        Err(error) => format!("{error}\n"),
        Ok(loaded) => {
            let mut text = "ok\n".to_owned();
            for warning in &loaded.warnings {
                let _ = writeln!(text, "warning: {warning}");
            }
            for test in &loaded.bun_tests {
                let _ = writeln!(text, "test: {}", test.display());
            }
            let _ = writeln!(text, "{}", serde_json::to_string_pretty(&loaded.config).unwrap());
            for file in &loaded.scenarios {
                let _ = writeln!(text, "{}: {}", file.path.display(), serde_json::to_string_pretty(&file.scenario).unwrap());
            }
            text
        }
    };
    text = text.replace(&case.display().to_string(), "<cwd>");
    text
}

/// The first lines that differ, with their numbers.
fn difference(expected: &str, got: &str) -> String {
    let (mut expected_lines, mut got_lines) = (expected.lines(), got.lines());
    let mut text = String::new();
    for number in 1.. {
        match (expected_lines.next(), got_lines.next()) {
            (None, None) => break,
            (a, b) if a == b => {}
            (a, b) => {
                let _ = writeln!(text, "line {number}:\n  expected {a:?}\n  got      {b:?}");
            }
        }
    }
    text
}

fn compare(path: &Path, got: &str) -> Option<String> {
    if bless() {
        fs::write(path, got).unwrap();
        return None;
    }
    let expected = fs::read_to_string(path).unwrap_or_default();
    (expected != got).then(|| format!("{}:\n{}", path.display(), difference(&expected, got)))
}

#[track_caller]
fn none(failures: &[String]) {
    assert!(failures.is_empty(), "{}\nto accept: OCSWEEP_BLESS=1 cargo test -p ocsweep-scheduler --test config", failures.join("\n"));
}

#[test]
fn every_case_says_exactly_what_is_expected() {
    let cases = folders(&root().join("tests/config"));
    assert!(cases.len() >= 15, "{}", cases.len());
    let failures: Vec<String> = cases.iter().filter_map(|case| compare(&case.join("expected.txt"), &describe(case))).collect();
    none(&failures);
}

#[test]
fn message_lines_stand_alone_and_places_below_them() {
    for case in folders(&root().join("tests/config")) {
        let Err(error) = config::load(&case) else { continue };
        for line in error.to_string().lines() {
            let known = ["Configuration error: ", "  - at \"", "    --> ", "     |", "     = help: "];
            let source_line = line.trim_start().split_once(" |").is_some_and(|(number, _)| number.parse::<usize>().is_ok());
            assert!(known.iter().any(|prefix| line.starts_with(prefix)) || source_line, "{}: {line:?}", case.display());
        }
    }
}

#[test]
fn the_schemas_are_those_of_the_types() {
    let dir = root().join("../schema");
    let failures: Vec<String> = [("config.json", schema::config_schema()), ("scenario.json", schema::scenario_schema())]
        .into_iter()
        .filter_map(|(name, text)| compare(&dir.join(name), &text))
        .collect();
    none(&failures);
}

fn validator(text: &str) -> jsonschema::Validator {
    jsonschema::validator_for(&serde_json::from_str(text).unwrap()).unwrap()
}

fn objects_without_a_stop(schema: &Value, path: &str, found: &mut Vec<String>) {
    match schema {
        Value::Object(object) => {
            let own = object.contains_key("properties") && object.get("type").is_some();
            if own && object.get("additionalProperties") != Some(&Value::Bool(false)) {
                found.push(path.to_owned());
            }
            for (key, child) in object {
                objects_without_a_stop(child, &format!("{path}/{key}"), found);
            }
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| objects_without_a_stop(item, &format!("{path}/{index}"), found))
        }
        _ => {}
    }
}

#[test]
fn no_object_of_a_schema_takes_unknown_keys() {
    for text in [schema::config_schema(), schema::scenario_schema()] {
        let mut found = Vec::new();
        objects_without_a_stop(&serde_json::from_str(&text).unwrap(), "", &mut found);
        assert_eq!(found, [""; 0]);
    }
}

/// What the loader accepts, as JSON, is valid; and a schema refuses what a schema can refuse.
#[test]
fn schemas_and_loader_agree() {
    let (config, scenario) = (validator(&schema::config_schema()), validator(&schema::scenario_schema()));
    let loaded = config::load(&root().join("tests/config/valid")).unwrap();
    assert!(config.is_valid(&serde_json::to_value(&loaded.config).unwrap()));
    assert_eq!(loaded.scenarios.len(), 2);
    for file in &loaded.scenarios {
        let value = serde_json::to_value(&file.scenario).unwrap();
        let errors: Vec<String> = scenario.iter_errors(&value).map(|error| error.to_string()).collect();
        assert_eq!(errors, [""; 0], "{}", file.path.display());
    }
    let refused = [
        r#"{"mode": "scripted", "prompt": "x", "script": []}"#,
        r#"{"id": "load", "mode": "scripted", "prompt": "x", "script": []}"#,
        r#"{"id": "a", "mode": "scripted", "prompt": "x"}"#,
        r#"{"id": "a", "mode": "scripted", "prompt": "", "script": []}"#,
        r#"{"id": "a", "mode": "scripted", "prompt": "x", "script": [], "description": null}"#,
        r#"{"id": "a", "mode": "scripted", "prompt": "x", "script": [], "judge": {"rubric": "r"}}"#,
        r#"{"id": "a", "mode": "scripted", "prompt": "x", "script": [{}]}"#,
        r#"{"id": "a", "mode": "scripted", "prompt": "x", "script": [{"text": "x", "error": {"status": 500}}]}"#,
        r#"{"id": "a", "mode": "scripted", "prompt": "x", "script": [{"error": {"status": 200}}]}"#,
        r#"{"id": "a", "mode": "scripted", "prompt": "x", "script": [], "workspace": {"../a": "x"}}"#,
        r#"{"id": "a", "mode": "scripted", "prompt": "x", "script": [], "workspace": {"a\\..\\b": "x"}}"#,
        r#"{"id": "a", "mode": "scripted", "prompt": "x", "script": [], "workspace": {"c:/a": "x"}}"#,
        r#"{"id": "a", "mode": "scripted", "prompt": "x", "script": [], "expect": {"tool": []}}"#,
        r#"{"id": "a", "mode": "live", "prompt": "x", "script": []}"#,
        r#"{"id": "a", "mode": "live", "prompt": "x", "expect": {"request": {}}}"#,
    ];
    for text in refused {
        assert!(!scenario.is_valid(&serde_json::from_str(text).unwrap()), "{text}");
    }
    for text in [
        r#"{"opencode": {"versions": []}}"#,
        r#"{"opencode": {"versions": ["1.2"]}}"#,
        r#"{"gate": {"window": 1}}"#,
        r#"{"live": {"repeat": 0}}"#,
        r#"{"plugin": {"entry": null}}"#,
    ] {
        assert!(!config.is_valid(&serde_json::from_str(text).unwrap()), "{text}");
    }
}

/// The plugins of real failures that the project's other tests run.
#[test]
fn every_handed_case_loads() {
    let cases = root().join("../tests/cases");
    if !cases.is_dir() {
        return;
    }
    let cases: Vec<PathBuf> = folders(&cases).into_iter().filter(|case| case.join(".opencode-ci").is_dir()).collect();
    assert!(!cases.is_empty());
    for case in cases {
        config::load(&case).unwrap_or_else(|error| panic!("{}: {error}", case.display()));
    }
}
