//! `tools` and `noTools`: which calls took place.

use std::collections::BTreeSet;

use ocsweep_proto::axes::Line;
use ocsweep_proto::expect::{Expect, Matcher, ToolExpect, ToolStatus};
use ocsweep_proto::names;
use serde_json::Value;

use super::{Case, assertions, matcher, show};
use crate::evidence::{Call, CallStatus};

/// Checks every expected call.
pub(super) fn check(case: &Case<'_>, expect: &Expect) -> Vec<String> {
    expect.tools.iter().enumerate().flat_map(|(index, wanted)| check_one(case, index, wanted)).collect()
}

/// The calls that an expectation is about.
pub(super) fn calls_of<'a>(case: &Case<'a>, name: &str) -> Vec<&'a Call> {
    let key = names::tool_key(name);
    // A Code Mode program with calls of its own is told by those, and a v2 host records what it does not have under the model's own word.
    let v2 = case.work.host.line == Line::V2;
    let is_call = |call: &&Call| !v2 || (call.inner == 0 && call.wanted.as_ref() != Some(&call.name));
    case.seen.calls.iter().filter(is_call).filter(|call| names::tool_key(&call.name) == key).collect()
}

fn check_one(case: &Case<'_>, index: usize, wanted: &ToolExpect) -> Vec<String> {
    let label = format!("tools[{index}].{}", wanted.name);
    let calls = calls_of(case, &wanted.name);
    let mut failures = matcher::check_number(calls.len(), wanted.count, &label);
    if calls.is_empty() {
        if !failures.is_empty() {
            failures.extend(hint(case, &label, &wanted.name));
        }
        return failures;
    }
    let best = calls.iter().map(|call| check_call(call, wanted, &label)).min_by_key(Vec::len);
    failures.extend(best.unwrap_or_default());
    failures
}

/// What is wrong with one call.
fn check_call(call: &Call, wanted: &ToolExpect, label: &str) -> Vec<String> {
    let mut failures = Vec::new();
    if let Some(status) = wanted.status {
        let matcher = Matcher { equals: Some(status.as_str().into()), ..Matcher::default() };
        let got = call.status.map(|status| Value::from(status.as_str()));
        failures.extend(matcher::check(got.as_ref(), &matcher, &format!("{label}.status")));
    }
    for (field, matcher) in &wanted.input {
        let value = call.input.as_ref().and_then(|input| input.get(field));
        failures.extend(matcher::check(value, matcher, &format!("{label}.input.{field}")));
    }
    if let Some(matcher) = &wanted.output {
        failures.extend(matcher::check(output(call, wanted.status).as_ref(), matcher, &format!("{label}.output")));
    }
    failures
}

/// The result's text. The error of a failed call is its output only where a status is expected too: else `notContains` would pass on it.
fn output(call: &Call, wanted: Option<ToolStatus>) -> Option<Value> {
    match (&call.output, call.status) {
        (Some(output), status) if status != Some(CallStatus::Error) => Some(output.clone()),
        (_, Some(CallStatus::Error)) if wanted.is_some() => call.error.clone().map(Value::String),
        _ => None,
    }
}

/// What may have been meant by a name that nobody called.
fn hint(case: &Case<'_>, label: &str, name: &str) -> Option<String> {
    let suffix = format!("_{}", names::normalise_tool(name));
    let meant: BTreeSet<&str> = case.seen.calls.iter().map(|call| call.name.as_str()).filter(|called| called.ends_with(&suffix)).collect();
    if !meant.is_empty() {
        let meant: Vec<&str> = meant.into_iter().collect();
        return Some(format!("{label}: namespaced tools are recorded as <namespace>_<name>; did you mean {}?", meant.join(" or ")));
    }
    let program = case.seen.calls.iter().any(|call| call.inner > 0 && names::same_tool(&call.name, name));
    if program {
        return Some(format!("{label}: a Code Mode program that calls tools is told by their calls; expect those."));
    }
    let refused = case.seen.calls.iter().find(|call| call.wanted.as_deref().is_some_and(|wanted| names::same_tool(wanted, name)))?;
    let why = refused.input.as_ref().and_then(|input| input.get("error")).and_then(Value::as_str);
    let why = why.or(refused.error.as_deref()).unwrap_or("unknown tool or arguments");
    Some(format!("{label}: the model called it, and the host refused: {}.", show::cut(why.trim_end_matches('.'), 300)))
}

/// Checks the tools that must not be called. Calls are joined from both probes and the events, so one that a plugin stopped counts too.
pub(super) fn check_absent(case: &Case<'_>, unwanted: &[String]) -> Vec<String> {
    let called: BTreeSet<String> = case.seen.calls.iter().map(|call| names::tool_key(&call.name)).collect();
    let mut failures: Vec<String> = unwanted
        .iter()
        .filter(|name| called.contains(&names::tool_key(name)))
        .map(|name| format!("noTools: expected tool {} not to be called, but it was.", show::quoted(name)))
        .collect();
    let lost = assertions::dropped(case, "probe").saturating_add(assertions::dropped(case, "stdout"));
    if failures.is_empty() && !unwanted.is_empty() && lost > 0 {
        failures.push(assertions::cut_text("noTools", lost));
    }
    failures
}
