//! Tests of the YAML loader: meaning, places, and an end on hostile input.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn read(text: &str) -> (Result<Option<Node>, Failure>, Vec<String>) {
    let mut issues = Issues::default();
    let node = parse(text, &mut issues);
    (node, issues.into_sorted().into_iter().map(|issue| format!("{}: {}", issue.path, issue.message)).collect())
}

fn value(text: &str) -> Value {
    let (node, issues) = read(text);
    assert_eq!(issues, [""; 0], "{text}");
    node.unwrap_or_else(|failure| panic!("{text}: {}", failure.message)).map_or(Value::Null, |node| node.to_value())
}

fn error(text: &str) -> String {
    read(text).0.expect_err(text).message
}

#[test]
fn documents_and_scalars() {
    assert_eq!(read("").0.unwrap(), None);
    assert_eq!(read("# only a comment\n").0.unwrap(), None);
    assert_eq!(value("--- \na: 1\n...\n"), json!({"a": 1}));
    assert_eq!(
        value("a: yes\nb: 1.18.33\nc: '1'\nd: \"2\"\ne: |\n  x\n  y\nf: >-\n  x\n  y\ng:\n"),
        json!({"a": "yes", "b": "1.18.33", "c": "1", "d": "2", "e": "x\ny\n", "f": "x y", "g": null})
    );
    assert_eq!(value("{a: [1, {b: c}], 1: x, true: y}"), json!({"a": [1, {"b": "c"}], "1": "x", "true": "y"}));
    assert_eq!(value("a: !!str 5\nb: ! 5\nc: !!int 5\nd: !!map {}\ne: !!seq []"), json!({"a": "5", "b": "5", "c": 5, "d": {}, "e": []}));
}

#[test]
fn what_is_refused() {
    let table = [
        ("a: 1\n---\nb: 2\n", "the file holds more than one document"),
        ("---\n---\n", "the file holds more than one document"),
        ("a: !custom x", "the tag !custom is not supported"),
        ("a: !!binary aGk=", "the tag !!binary is not supported"),
        ("a: !!int x", "the tag !!int does not fit the value \"x\""),
        ("a: !!map []", "the tag !!map is not supported"),
        ("a: .inf", "the number .inf has no JSON form"),
        ("? [a]\n: 1", "a key must be text, not a list or an object"),
        ("a: &x [*x]", "the alias stands for a value that contains it"),
    ];
    for (text, message) in table {
        assert_eq!(error(text), message, "{text}");
    }
    for text in ["a: [1", "a: 'x", "a:\n\tb: 1", "a: b: c", "a: *unknown", "- a\nb: c", "a: \"\\q\""] {
        assert!(error(text).starts_with("invalid YAML: "), "{text}: {}", error(text));
    }
}

#[test]
fn a_repeated_key_is_a_problem_with_both_places() {
    let (node, issues) = read("a:\n  - b: 1\n    c: 2\n    b: 3\na: 4\n");
    assert_eq!(
        issues,
        ["a.0: Duplicate key: \"b\", first defined on line 2, column 5", ": Duplicate key: \"a\", first defined on line 1, column 1"]
    );
    assert_eq!(node.unwrap().unwrap().to_value(), json!({"a": [{"b": 1, "c": 2}]}));
    assert_eq!(read("{1: a, '1': b}").1.len(), 1);
}

#[test]
fn merge_keys_are_refused_and_the_quoted_text_is_a_key() {
    let (_, issues) = read("a: &a {x: 1}\nb:\n  <<: *a\n");
    assert_eq!(issues, ["b: merge keys (<<) are not supported"]);
    assert_eq!(value("'<<': 1"), json!({"<<": 1}));
}

#[test]
fn aliases_repeat_values_and_keys() {
    assert_eq!(value("a: &x {k: [1]}\nb: *x\nc: [*x, *x]"), json!({"a": {"k": [1]}, "b": {"k": [1]}, "c": [{"k": [1]}, {"k": [1]}]}));
    assert_eq!(value("&k a: 1\nb: *k\n"), json!({"a": 1, "b": "a"}));
    assert_eq!(value("- &x 1\n- &x 2\n- *x"), json!([1, 2, 2]));
}

#[test]
fn places_are_bytes_of_the_text() {
    let text = "ä: ö\nexpect:\n  tool: [x, 'yy']\n";
    let node = read(text).0.unwrap().unwrap();
    let slice = |span: Span| &text[span.start..span.end];
    let expect = node.get("expect").unwrap();
    let tool = expect.node.get("tool").unwrap();
    assert_eq!((slice(expect.key_span), slice(tool.key_span), slice(tool.node.span)), ("expect", "tool", "[x, 'yy']"));
    assert_eq!(slice(node.get("ä").unwrap().node.span), "ö");
    assert_eq!(expect.node.span.start, tool.key_span.start);
}

/// Ten names, each ten times the one before.
fn laughs(levels: usize) -> String {
    let mut text = "l0: &l0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for level in 1..levels {
        let refs = vec![format!("*l{}", level - 1); 10].join(", ");
        let _ = writeln!(text, "l{level}: &l{level} [{refs}]");
    }
    text
}

#[test]
fn billion_laughs_end_quickly() {
    let start = Instant::now();
    assert_eq!(error(&laughs(12)), format!("the document expands to more than {MAX_NODES} values"));
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(1_000_000), vec!["*a"; 1000].join(", "));
    assert_eq!(error(&long), format!("aliases expand to more than {MAX_ALIAS_BYTES} bytes"));
    let names: String = (0..60).map(|n| format!("&n{n} [")).collect();
    let nested = names + &"x".repeat(500_000) + &"]".repeat(60);
    assert_eq!(error(&nested), format!("aliases expand to more than {MAX_ALIAS_BYTES} bytes"));
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert!(read(&laughs(3)).0.is_ok());
}

#[test]
fn nesting_is_bounded_however_it_is_written() {
    let deep = format!("values are nested deeper than {MAX_DEPTH} levels");
    for depth in [MAX_DEPTH + 1, 200, 100_000] {
        assert_eq!(error(&("[".repeat(depth) + &"]".repeat(depth))), deep, "{depth} flow");
        assert_eq!(error(&("- ".repeat(depth) + "x")), deep, "{depth} block");
    }
    assert!(read(&("[".repeat(MAX_DEPTH) + &"]".repeat(MAX_DEPTH))).0.is_ok());
    let mut chain = "n0: &n0 [x]\n".to_owned();
    for level in 1..100 {
        let _ = writeln!(chain, "n{level}: &n{level} [*n{}]", level - 1);
    }
    assert_eq!(error(&chain), deep);
}

#[test]
fn a_document_of_very_many_values_is_refused() {
    assert_eq!(error(&format!("[{}]", "a,".repeat(MAX_NODES + 1))), format!("the document expands to more than {MAX_NODES} values"));
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(?s)([\\[\\]{}:,\"'#&*!|>%@`?\\-~ \n\ta-c0-9.]|<<|: |- |\\n  |&a |\\*a|--- |!!str ){0,40}|(?s).{0,60}") {
        let (node, _) = read(&text);
        if let Ok(Some(node)) = node {
            prop_assert!(node.span.end <= text.len());
        }
    }

    #[test]
    fn json_is_yaml(value in values()) {
        let text = serde_json::to_string_pretty(&value).unwrap();
        prop_assert_eq!(super::tests::value(&text), value);
    }
}

/// Any JSON value whose keys stay below the length that YAML allows for a key on one line.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~äöü\\n\\t]{0,20}".prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map("[ -~]{1,12}", inner, 0..6).prop_map(|map| Value::Object(map.into_iter().collect()))
        ]
    })
}
