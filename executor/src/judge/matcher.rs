//! Matchers: conditions on one recorded value, with messages that people and tests read.

use ocsweep_proto::expect::{Count, Matcher};
use ocsweep_proto::pattern;
use serde_json::Value;

use super::show;

/// Checks a value; the messages of every condition that does not hold. `None` is a value that was never recorded; JSON null is a value.
pub(super) fn check(value: Option<&Value>, matcher: &Matcher, label: &str) -> Vec<String> {
    let Some(value) = value else { return missing(matcher, label) };
    let mut failed = Vec::new();
    let got = show::value(value);
    if let Some(expected) = &matcher.equals
        && !deep_equal(expected, value)
    {
        failed.push(format!("expected {}, got {got}.", show::value(expected)));
    }
    let text = text_of(value);
    if let Some(part) = matcher.contains.as_ref().filter(|part| !text.contains(part.as_str())) {
        failed.push(format!("expected to contain {}, got {got}.", show::quoted(part)));
    }
    if let Some(part) = matcher.not_contains.as_ref().filter(|part| text.contains(part.as_str())) {
        failed.push(format!("expected not to contain {}, got {got}.", show::quoted(part)));
    }
    failed.extend(matcher.matches.as_ref().and_then(|source| matches(source, &text, true, &got)));
    failed.extend(matcher.not_matches.as_ref().and_then(|source| matches(source, &text, false, &got)));
    if let Some(expected) = matcher.includes.as_ref().filter(|expected| !includes(value, expected)) {
        failed.push(format!("expected to include {}, got {got}.", show::value(&Value::Array(expected.clone()))));
    }
    if matcher.exists == Some(false) {
        failed.push(format!("expected value not to exist, got {got}."));
    }
    failed.extend(matcher.count.iter().flat_map(|count| check_count(number_of(value), count, &got)));
    failed.into_iter().map(|text| format!("{label}: {text}")).collect()
}

fn missing(matcher: &Matcher, label: &str) -> Vec<String> {
    match matcher.exists {
        Some(false) => Vec::new(),
        Some(true) => vec![format!("{label}: expected value to exist, got undefined.")],
        None => vec![format!("{label}: no value was recorded (check the field name).")],
    }
}

/// Checks a number of things, for example of calls; at least one when nothing is asked.
pub(super) fn check_number(number: usize, count: Option<Count>, label: &str) -> Vec<String> {
    let count = count.unwrap_or(Count { gte: Some(1), ..Count::default() });
    let number = number as f64;
    check_count(Some(number), &count, &number.to_string()).into_iter().map(|text| format!("{label}: {text}")).collect()
}

fn check_count(number: Option<f64>, count: &Count, got: &str) -> Vec<String> {
    use std::cmp::Ordering;
    let bounds = [("==", count.eq, Ordering::Equal), (">=", count.gte, Ordering::Greater), ("<=", count.lte, Ordering::Less)];
    let got = number.map_or_else(|| got.to_owned(), |number| number.to_string());
    let broken = bounds.into_iter().filter_map(|(sign, bound, side)| {
        let bound = bound?;
        let order = number.and_then(|number| number.partial_cmp(&(bound as f64)));
        let holds = order.is_some_and(|order| order == Ordering::Equal || order == side);
        (!holds).then(|| format!("expected count {sign} {bound}, got {got}."))
    });
    broken.collect()
}

/// A number as it is, an array by its length.
fn number_of(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_array().map(|items| items.len() as f64))
}

fn matches(source: &str, text: &str, wanted: bool, got: &str) -> Option<String> {
    match pattern::compile(source) {
        Ok(pattern) if pattern.is_match(text) == wanted => None,
        Ok(_) if wanted => Some(format!("expected to match /{source}/, got {got}.")),
        Ok(_) => Some(format!("expected not to match /{source}/, got {got}.")),
        Err(error) => Some(format!("{error}.")),
    }
}

fn includes(value: &Value, expected: &[Value]) -> bool {
    value.as_array().is_some_and(|items| expected.iter().all(|wanted| items.iter().any(|item| deep_equal(wanted, item))))
}

/// Strings as they are, everything else as JSON.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Equality of JSON values: the order of keys is nothing, and `1` is `1.0`.
pub(super) fn deep_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| deep_equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len() && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| deep_equal(value, other)))
        }
        _ => left == right,
    }
}

#[cfg(test)]
#[path = "matcher_tests.rs"]
mod tests;
