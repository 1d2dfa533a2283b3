//! Small readers of loosely shaped JSON, and the comparison of a value with its clipped copy.

use serde_json::Value;

/// The strings of an array; anything else in it is left out.
pub(super) fn strings(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The text of a field; empty when it is absent or no string.
pub(super) fn text(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// A field as a key: strings as they are, other values as JSON.
pub(super) fn key(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// Marks that a probe leaves where it cut a value.
const CUT: &str = "…[+";
const DEEP: &str = "[depth]";
const LARGE: &str = "[too-large]";

/// Whether a probe's copy of a value can be a copy of this value, given that probes clip long strings, deep objects and long arrays.
#[must_use]
pub fn is_same_but_clipped(copy: &Value, full: &Value) -> bool {
    match (copy, full) {
        (Value::String(mark), _) if mark == DEEP || mark == LARGE => true,
        (Value::String(copy), Value::String(full)) => copy == full || is_cut_of(copy, full),
        (Value::Array(copy), Value::Array(full)) => is_array_cut_of(copy, full),
        (Value::Object(copy), Value::Object(full)) => {
            copy.len() == full.len() && copy.iter().all(|(key, value)| full.get(key).is_some_and(|full| is_same_but_clipped(value, full)))
        }
        (Value::Number(copy), Value::Number(full)) => copy.as_f64() == full.as_f64(),
        _ => copy == full,
    }
}

/// Whether anything in a probe's copy is cut.
pub(super) fn is_clipped(copy: &Value) -> bool {
    match copy {
        Value::String(text) => text == DEEP || text == LARGE || is_cut(text),
        Value::Array(items) => items.iter().any(is_clipped),
        Value::Object(fields) => fields.values().any(is_clipped),
        _ => false,
    }
}

fn is_cut(text: &str) -> bool {
    text.ends_with(']') && text.rfind(CUT).is_some_and(|at| text[at + CUT.len()..text.len() - 1].bytes().all(|b| b.is_ascii_digit()))
}

fn is_cut_of(copy: &str, full: &str) -> bool {
    is_cut(copy) && copy.rfind(CUT).is_some_and(|at| full.starts_with(&copy[..at]))
}

fn is_array_cut_of(copy: &[Value], full: &[Value]) -> bool {
    let (kept, cut) = match copy.split_last() {
        Some((Value::String(mark), kept)) if mark.starts_with(CUT) && is_cut(mark) => (kept, true),
        _ => (copy, false),
    };
    let lengths = if cut { kept.len() <= full.len() } else { kept.len() == full.len() };
    lengths && kept.iter().zip(full).all(|(copy, full)| is_same_but_clipped(copy, full))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn a_clipped_copy_is_recognised_and_a_changed_one_is_not() {
        for (copy, full, same) in [
            (json!({"a": "xy…[+3]"}), json!({"a": "xyzab"}), true),
            (json!({"a": "xy…[+3]"}), json!({"a": "abcde"}), false),
            (json!({"a": "[depth]"}), json!({"a": {"b": 1}}), true),
            (json!([1, "…[+2]"]), json!([1, 2, 3]), true),
            (json!([1, "…[+2]"]), json!([2, 2, 3]), false),
            (json!([1, 2]), json!([1, 2, 3]), false),
            (json!({"a": 1.0}), json!({"a": 1}), true),
            (json!({"a": 1}), json!({"a": 1, "b": 2}), false),
            (json!("a"), json!("b"), false),
        ] {
            assert_eq!(is_same_but_clipped(&copy, &full), same, "{copy} of {full}");
        }
    }

    #[test]
    fn cuts_are_seen_at_any_depth() {
        assert!(is_clipped(&json!({"a": [{"b": "xy…[+3]"}]})));
        assert!(!is_clipped(&json!({"a": [{"b": "xy…[+x]"}], "c": "…"})));
    }

    proptest! {
        #[test]
        fn a_text_and_its_cut_are_the_same(text in "\\PC{1,30}", at in 0usize..30) {
            let kept: String = text.chars().take(at).collect();
            let rest = text.chars().count().saturating_sub(at);
            let copy = format!("{kept}…[+{rest}]");
            prop_assert!(is_same_but_clipped(&json!(copy), &json!(text)));
        }
    }
}
