//! Order, text, schema, and files of other writers.

use std::path::Path;

use ocsweep_proto::axes::Tier;
use ocsweep_proto::row::{CaseRow, Completeness};
use ocsweep_proto::verdict::{Reason, Verdict};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Order, ReadError, parse, read, schema, sort, to_json, write};
use crate::testing::{load, matches_file, results, row, scripted};

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

#[test]
fn rows_have_one_order() {
    let mut musl = load("1.18.33", None);
    "musl".clone_into(&mut musl.variant);
    let expected = [
        load("1.18.33", None),
        scripted("zeta", "1.18.33", None),
        scripted("alpha", "1.18.33", None),
        scripted("unknown", "1.18.33", None),
        row("live-smoke", Tier::Live, "1.18.33", None),
        musl,
        load("latest", None),
        scripted("alpha", "latest", None),
        load("0.0.1", None),
        scripted("bun-test", "1.18.33", None),
    ];
    let order = Order {
        versions: &words(&["1.18.33", "latest", "1.18.33"]),
        variants: &words(&["musl", "default"]),
        scenarios: &words(&["zeta", "live-smoke", "alpha"]),
    };
    for turn in 0..expected.len() {
        let mut rows = expected.to_vec();
        rows.rotate_left(turn);
        rows.reverse();
        sort(&mut rows, order);
        let name = |rows: &[CaseRow]| rows.iter().map(|row| format!("{} {} {}", row.opencode, row.variant, row.id)).collect::<Vec<_>>();
        assert_eq!(name(&rows), name(&expected));
    }
}

#[test]
fn what_is_written_can_be_read() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("out/results.json");
    let mut written =
        results(vec![load("1.18.33", None), scripted("a", "1.18.33", Some(Reason::Assertion)), load("latest", Some(Reason::Docker))]);
    written.completeness = Some(Completeness { planned: 3, done: 2, indeterminate: 1, ..Completeness::default() });
    written.budget_usd = Some(1.0);
    written.results[0].exit_code = Some(0);
    written.results[0].flaky = true;
    write(&path, &written).unwrap();
    assert_eq!(read(&path).unwrap(), written);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("{\n  \"version\": 1,\n  \"at\"") && text.ends_with("]\n}\n"), "{text}");
    assert_eq!(text, to_json(&written).unwrap());
}

#[test]
fn files_of_the_reference_tool() {
    let row = |more: Value| {
        let mut row = json!({"id": "a", "tier": "scripted", "opencode": "2.0.26", "pass": true, "durationMs": 12});
        row.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        row
    };
    let table = [
        (row(json!({})), Verdict::Pass, None),
        (row(json!({"exitCode": null, "judge": null, "failures": null, "steps": null})), Verdict::Pass, None),
        (row(json!({"pass": false, "failures": ["x"], "maxSteps": 9, "agent": "build"})), Verdict::Fail, None),
        (row(json!({"skipped": "tier 1 failed"})), Verdict::Skipped, Some(Reason::Tier1Failed)),
        (row(json!({"skipped": "no API key (set one of: A, B)"})), Verdict::Skipped, Some(Reason::NoKey)),
        (row(json!({"skipped": "budget exhausted ($1.00 of $1.00)"})), Verdict::Skipped, Some(Reason::BudgetExhausted)),
        (row(json!({"skipped": "the plugin is TUI-only"})), Verdict::Skipped, Some(Reason::NotApplicable)),
        (row(json!({"pass": false, "infra": true})), Verdict::Indeterminate, None),
        (row(json!({"pass": false, "reason": "docker"})), Verdict::Indeterminate, Some(Reason::Docker)),
        (row(json!({"pass": false, "reason": "word-of-tomorrow", "verdict": "fail"})), Verdict::Fail, None),
        (row(json!({"pass": false, "verdict": "word-of-tomorrow"})), Verdict::Fail, None),
    ];
    for (row, verdict, reason) in table {
        let file = json!({"version": 1, "at": "t", "tool": "1.1.0", "plugin": "p", "model": null, "stepCeiling": 5, "results": [row]});
        let results = parse(file.to_string().as_bytes()).unwrap();
        let read = &results.results[0];
        assert_eq!((read.verdict, read.reason, read.infra), (verdict, reason, verdict == Verdict::Indeterminate), "{row}");
        assert_eq!(read.variant, "default");
    }
}

#[test]
fn what_is_no_results_file_is_named() {
    let row = r#"{"id": "a", "tier": "load", "opencode": "v1", "pass": true, "durationMs": 1}"#;
    let file = |rows: &str| format!(r#"{{"version": 1, "at": "t", "tool": "1", "plugin": "p", "results": {rows}}}"#);
    let table = [
        (String::new(), "EOF while parsing"),
        ("[]".to_owned(), "invalid type: sequence"),
        ("{}".to_owned(), "\"results\" is missing"),
        (file("{}"), "\"results\" is not a list"),
        (file("[]").replace("\"tool\": \"1\", ", ""), "missing field `tool`"),
        (file("[]").replace("\"version\": 1", "\"version\": 2"), "it has version 2, and this program reads up to 1"),
        (file("[3]"), "row 1: not an object"),
        (file(&format!("[{row}, {}]", row.replace(", \"durationMs\": 1", ""))), "row 2: missing field `durationMs`"),
        (file(&format!("[{}]", row.replace("load", "lod"))), "row 1: unknown variant `lod`"),
        (file(&format!("[{}]", row.replace("true", "false, \"verdict\": \"pass\""))), "row 1: the verdict is pass and \"pass\" is false"),
        (file(&format!("[{}]", row.replace("true", "true, \"verdict\": \"fail\""))), "row 1: the verdict is fail and \"pass\" is true"),
        (
            file(&format!("[{}]", row.replace("true", "true, \"verdict\": \"pass\", \"reason\": \"docker\""))),
            "row 1: the verdict is pass and the reason is docker",
        ),
    ];
    for (text, expected) in table {
        let problem = parse(text.as_bytes()).unwrap_err();
        assert!(problem.starts_with(expected), "{problem}");
    }
    let root = tempfile::tempdir().unwrap();
    let missing = root.path().join("results.json");
    let error = read(&missing).unwrap_err();
    assert!(matches!(error, ReadError::File { .. }));
    assert!(error.to_string().starts_with(&format!("cannot read the results file {}: No such file", missing.display())), "{error}");
    std::fs::write(&missing, "{").unwrap();
    let error = read(&missing).unwrap_err();
    assert!(error.to_string().starts_with(&format!("{} is not a valid results file: EOF", missing.display())), "{error}");
}

#[test]
fn the_published_schema_is_current_and_tolerant() {
    let text = schema();
    matches_file(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../schema/results.json"), &text);
    let schema: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(schema["$defs"]["CaseRow"]["required"], json!(["id", "tier", "opencode", "pass", "verdict", "durationMs"]));
}

proptest! {
    #[test]
    fn no_file_makes_the_reader_fail_badly(text in "[\\[\\]{}\":,a-z0-9 ]{0,60}") {
        let _ = parse(text.as_bytes());
    }

    #[test]
    fn every_row_comes_back_as_it_was(id in "[a-z0-9-]{1,8}", text in "\\PC{0,20}", at in 0_usize..=Reason::ALL.len(), cost in proptest::option::of(0_u32..100_000)) {
        let mut row = scripted(&id, "1.18.33", Reason::ALL.get(at).copied());
        row.failures = vec![text.clone()];
        row.text_excerpt = Some(text);
        row.cost_usd = cost.map(|cost| f64::from(cost) / 10_000.0);
        let written = results(vec![row]);
        prop_assert_eq!(parse(to_json(&written).unwrap().as_bytes()).unwrap(), written);
    }
}
