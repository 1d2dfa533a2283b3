//! What must never come through, and what must come through unchanged.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{MIN_CHARS, REDACTED, Secrets, json_escaped};
use crate::axes::Tier;
use crate::row::{AttemptRow, CaseRow, JudgeRow};

const AWKWARD: &str = "sec\"ret\\key-123";

#[test]
fn literal_values() {
    let table: &[(&str, &[&str], &str)] = &[
        ("a S3cretKey b S3cretKey", &["S3cretKey"], "a [redacted] b [redacted]"),
        ("xxsecret12xx", &["secret12", "xxsecret12xx"], "[redacted]"),
        ("xxsecret12xx", &["xxsecret12xx", "secret12"], "[redacted]"),
        ("secret12345.", &["secret12", "secret12345"], "[redacted]."),
        ("Defaults to false; code 1234567", &["false", "1234567"], "Defaults to false; code 1234567"),
        ("key=abcdefgh.", &["  abcdefgh\n"], "key=[redacted]."),
        ("abcdefg ", &["abcdefg "], "abcdefg "),
        ("schlüssel", &["schlüssel"], "[redacted]"),
        // Overlapping occurrences leave no rest.
        ("secret12cret12345", &["secret12", "cret12345", "12cret12"], "[redacted]"),
        // Neighbours stay two.
        ("abcdefghabcdefgh", &["abcdefgh"], "[redacted][redacted]"),
        // A value that the replacement would make appear.
        ("secret12suffix99", &["secret12", "]suffix99"], "[redacted]"),
        ("", &["abcdefgh"], ""),
        ("text", &[], "text"),
    ];
    for (text, values, expected) in table {
        assert_eq!(Secrets::new(*values).scrub(text), *expected, "{text:?} {values:?}");
    }
}

#[test]
fn escaped_values_in_a_json_line() {
    let secrets = Secrets::new([AWKWARD, "pässword-ß"]);
    let inner = json!({ "key": AWKWARD }).to_string();
    for line in [json!({ "a": AWKWARD }), json!({ "a": inner }), json!({ "a": json!({ "b": inner }).to_string() })] {
        let scrubbed = secrets.scrub(&line.to_string());
        assert!(!scrubbed.contains("ret") && scrubbed.contains(REDACTED), "{scrubbed}");
        serde_json::from_str::<Value>(&scrubbed).unwrap();
    }
    assert_eq!(secrets.scrub(r#"{"a":"p\u00e4ssword-\u00df"}"#), r#"{"a":"[redacted]"}"#);
}

#[test]
fn a_json_line_stays_json() {
    // Replaced as text, each of these would no longer parse.
    for (line, value) in
        [(r#"{"a":"x\nabcdefg"}"#, "nabcdefg"), (r#"{"n":123456789}"#, "12345678"), (r#"{"a":"abcdefgh\"x"}"#, "abcdefgh\\")]
    {
        let secrets = Secrets::new([value]);
        assert!(serde_json::from_str::<Value>(&secrets.scrub(line)).is_err(), "{line} does not need the guard");
        let scrubbed = secrets.scrub_json_line(line);
        serde_json::from_str::<Value>(&scrubbed).unwrap();
        assert!(!scrubbed.contains(value), "{scrubbed}");
    }
}

#[test]
fn lines_and_invalid_utf8() {
    let secrets = Secrets::new(["S3cretKey"]);
    let lines = b"{\"a\":\"S3cretKey\"}\nnot json S3cretKey\n\xff S3cretKey \xfe\n\n{}";
    assert_eq!(secrets.scrub_json_lines(lines), b"{\"a\":\"[redacted]\"}\nnot json [redacted]\n\xff [redacted] \xfe\n\n{}");
    assert_eq!(secrets.scrub_bytes(b"\xc3S3cretKey\xc3"), b"\xc3[redacted]\xc3");
}

#[test]
fn keys_and_numbers_of_a_value() {
    let secrets = Secrets::new(["S3cretKey", "1234567890"]);
    let mut value = json!({"S3cretKey": [1_234_567_890_u64, 12, null, true, {"x": "see S3cretKey"}]});
    secrets.scrub_value(&mut value);
    assert_eq!(value, json!({"[redacted]": ["[redacted]", 12, null, true, {"x": "see [redacted]"}]}));
}

fn row_with(text: &str) -> CaseRow {
    let mut row = CaseRow::blank("load", Tier::Live, "latest", "default");
    let list = || vec![text.to_owned()];
    (row.failures, row.warnings, row.errors, row.tools, row.completed) = (list(), list(), list(), list(), list());
    row.attempts = vec![AttemptRow { pass: false, failures: list() }];
    row.judge = Some(JudgeRow { pass: false, reason: text.to_owned() });
    (row.text_excerpt, row.skipped) = (Some(text.to_owned()), Some(text.to_owned()));
    (row.observed.web_tools, row.observed.connections) = (list(), list());
    (row.observed.writes_outside, row.observed.leaked_processes) = (list(), list());
    row
}

#[test]
fn every_text_of_a_row_and_nothing_else() {
    // Words of the format are values here, and must not tear up the row.
    let secrets = Secrets::new([AWKWARD, "indeterminate", "durationMs", "failures"]);
    let mut row = row_with(AWKWARD);
    secrets.scrub_row(&mut row);
    assert_eq!(row, row_with(REDACTED));
    let read: CaseRow = serde_json::from_value(serde_json::to_value(&row).unwrap()).unwrap();
    assert_eq!(read, row);
}

#[test]
fn parts_of_the_replacement_are_no_secrets() {
    for value in ["redacted", "[redacted]", "[redacted", "edacted]"] {
        let secrets = Secrets::new([value]);
        assert!(secrets.is_empty());
        assert_eq!(secrets.scrub("a [redacted] b"), "a [redacted] b");
    }
}

#[test]
fn debug_output_shows_no_value() {
    assert!(!format!("{:?}", Secrets::new(["S3cretKey"])).contains("S3cretKey"));
}

/// Few different characters, so that values overlap, nest and touch the replacement.
fn texts(length: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    proptest::collection::vec(
        prop_oneof![
            Just("a"),
            Just("b"),
            Just("\\"),
            Just("\""),
            Just("n"),
            Just("\n"),
            Just("["),
            Just("]red"),
            Just("acted]"),
            Just("ü"),
            Just(" ")
        ],
        length,
    )
    .prop_map(|parts| parts.concat())
}

fn counted(values: &[String]) -> impl Iterator<Item = &str> {
    values.iter().map(|value| value.trim()).filter(|value| value.chars().count() >= MIN_CHARS && !REDACTED.contains(value))
}

proptest! {
    #[test]
    fn no_value_survives(values in proptest::collection::vec(texts(1..14), 0..4), around in proptest::collection::vec(texts(0..10), 5)) {
        let secrets = Secrets::new(&values);
        let text = around.iter().zip(values.iter().cycle().map(String::as_str).chain(std::iter::repeat(""))).fold(String::new(), |text, (a, value)| text + a + value);
        let scrubbed = secrets.scrub(&text);
        for value in counted(&values) {
            prop_assert!(!scrubbed.contains(value), "{value:?} in {scrubbed:?}");
            prop_assert!(!scrubbed.contains(&json_escaped(value)), "escaped {value:?} in {scrubbed:?}");
        }
        prop_assert_eq!(secrets.scrub(&scrubbed), scrubbed.clone(), "not idempotent");
        prop_assert_eq!(secrets.scrub_bytes(text.as_bytes()), scrubbed.into_bytes());
    }

    #[test]
    fn a_text_without_values_is_unchanged(values in proptest::collection::vec("[A-Z]{1,12}", 0..4), text in "[^A-Z]{0,60}") {
        prop_assert_eq!(Secrets::new(&values).scrub(&text), text);
    }

    #[test]
    fn json_lines_stay_json_and_hold_no_value(values in proptest::collection::vec(texts(8..14), 1..3), around in texts(0..10)) {
        let secrets = Secrets::new(&values);
        let line = json!({ around.clone(): [format!("{around}{}{around}", values[0])], "b": values.join("") }).to_string();
        let scrubbed = secrets.scrub_json_line(&line);
        let parsed: Value = serde_json::from_str(&scrubbed).unwrap();
        let mut strings = Vec::new();
        collect(&parsed, &mut strings);
        for value in counted(&values) {
            prop_assert!(strings.iter().all(|text| !text.contains(value)), "{value:?} in {scrubbed}");
        }
    }

    #[test]
    fn arbitrary_bytes_never_fail(bytes in proptest::collection::vec(any::<u8>(), 0..200), value in "\\PC{0,20}") {
        let secrets = Secrets::new([value]);
        prop_assert!(bytes.is_empty() || !secrets.scrub_bytes(&bytes).is_empty());
        prop_assert!(bytes.is_empty() || !secrets.scrub_json_lines(&bytes).is_empty());
    }
}

fn collect(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) => into.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, into)),
        Value::Object(map) => map.iter().for_each(|(key, item)| {
            into.push(key.clone());
            collect(item, into);
        }),
        _ => {}
    }
}
