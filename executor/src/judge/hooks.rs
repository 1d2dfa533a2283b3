//! `hooks`: what the host handed to plugins, and what came out behind them.

use std::collections::BTreeMap;

use ocsweep_proto::axes::Line;
use ocsweep_proto::expect::{HookExpect, Matcher, Phase};
use ocsweep_proto::names::{
    self,
    v2::{HookOn, hook_on},
};
use serde_json::Value;

use super::{Case, matcher, suggest};
use crate::evidence::Record;

/// Checks every expected hook.
pub(super) fn check(case: &Case<'_>, expected: &[HookExpect]) -> Vec<String> {
    expected.iter().enumerate().flat_map(|(index, wanted)| check_one(case, index, wanted)).collect()
}

fn check_one(case: &Case<'_>, index: usize, wanted: &HookExpect) -> Vec<String> {
    let label = format!("hooks[{index}].{}@{}", wanted.hook, wanted.phase.as_str());
    let records = match wanted.phase {
        Phase::Pre => &case.seen.pre,
        Phase::Post => &case.seen.post,
    };
    let kind = match (case.work.host.line, hook_on(case.work.host.line, &wanted.hook)) {
        (Line::V2, HookOn::Recorded(kind)) => Some(kind),
        (Line::V2, _) => None,
        (Line::V1, _) => names::probe_kind(&wanted.hook),
    };
    // The name of an event is accepted too.
    let of_kind =
        |record: &&Record| kind.map_or_else(|| record.kind == "event" && record.text("type") == wanted.hook, |kind| record.kind == kind);
    let candidates: Vec<&Record> = records.iter().filter(of_kind).filter(|record| of_tool(case, record, wanted.tool.as_deref())).collect();
    let best = candidates.iter().map(|record| check_record(case, record, wanted, &label)).min_by_key(Vec::len);
    best.unwrap_or_else(|| vec![never(case, wanted, &label)])
}

fn never(case: &Case<'_>, wanted: &HookExpect, label: &str) -> String {
    let hook = wanted.hook.as_str();
    let (line, host) = (case.work.host.line, &case.work.host.resolved);
    match hook_on(line, hook) {
        HookOn::OtherLine(relative) => {
            let other = if line == Line::V1 { "2.x" } else { "1.x" };
            let relative = relative.map(|name| format!("; the nearest that it has is `{name}`")).unwrap_or_default();
            return format!("{label}: only opencode {other} has `{hook}`, and this is {host}{relative}.");
        }
        HookOn::NotRecorded if line == Line::V2 => {
            return format!("{label}: no probe records the hook `{hook}`, so whether it ran cannot be checked.");
        }
        HookOn::Recorded(kind) if is_missing(case, kind) => {
            return format!("{label}: opencode {host} has no hook that a probe could record this by.");
        }
        HookOn::Unknown if line == Line::V2 => {
            let meant = suggest::on_v2(hook).map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default();
            return format!("{label}: the hook never ran, and no host has a hook of this name{meant}.");
        }
        _ => {}
    }
    if line == Line::V1 && names::V1_DEAD_HOOKS.contains(&hook) {
        return format!("{label}: hook `{hook}` is never triggered by opencode {}.", case.work.host.resolved);
    }
    if line == Line::V1 && names::probe_kind(hook).is_none() && !names::is_v1_hook(hook) && !names::V1_EVENTS.contains(&hook) {
        let meant = suggest::hook(hook).map(|name| format!(" (did you mean {name}?)")).unwrap_or_default();
        return format!("{label}: the hook never ran, and no host has a hook of this name{meant}.");
    }
    let of = wanted.tool.as_ref().map(|tool| format!(" for tool {tool}")).unwrap_or_default();
    format!("{label}: the hook never ran{of}.")
}

/// Whether the probe behind the plugin could not register the v2 hook that leaves records of the kind.
fn is_missing(case: &Case<'_>, kind: &str) -> bool {
    let missing = case.seen.inventory.iter().flat_map(|inventory| &inventory.missing);
    let mut hooks = missing.filter_map(|name| name.strip_prefix("hook "));
    case.work.host.line == Line::V2 && hooks.any(|hook| names::probe_kind(hook) == Some(kind))
}

fn of_tool(case: &Case<'_>, record: &Record, wanted: Option<&str>) -> bool {
    let Some(wanted) = wanted else { return true };
    let own = record.text("tool");
    if !own.is_empty() {
        return names::same_tool(&own, wanted);
    }
    // A v2 host tells a shell hook no call.
    if case.work.host.line == Line::V2 && record.kind == "shell.before" {
        return names::same_tool("shell", wanted);
    }
    call_of(case, record).is_some_and(|call| names::same_tool(&call.name, wanted))
}

fn call_of<'a>(case: &Case<'a>, record: &Record) -> Option<&'a crate::evidence::Call> {
    let id = record.text("callID");
    let tool = record.text("tool");
    let same = |call: &&crate::evidence::Call| !id.is_empty() && call.call_id == id;
    // Calls of one Code Mode program share its id.
    case.seen.calls.iter().filter(same).find(|call| call.name == tool).or_else(|| case.seen.calls.iter().find(same))
}

fn check_record(case: &Case<'_>, record: &Record, wanted: &HookExpect, label: &str) -> Vec<String> {
    let mut failures = by_field(&wanted.input, record.fields.get("input"), &format!("{label}.input"));
    failures.extend(by_field(&wanted.env, record.fields.get("env"), &format!("{label}.env")));
    let single: [(&str, &Option<Matcher>, Option<Value>); 5] = [
        ("output", &wanted.output, output(record)),
        ("system", &wanted.system, joined(record.fields.get("system"))),
        ("text", &wanted.text, prompt_text(record)),
        ("command", &wanted.command, command(case, record)),
        ("cwd", &wanted.cwd, record.fields.get("cwd").cloned()),
    ];
    for (field, matcher, value) in single {
        if let Some(matcher) = matcher {
            failures.extend(matcher::check(value.as_ref(), matcher, &format!("{label}.{field}")));
        }
    }
    failures
}

fn by_field(matchers: &BTreeMap<String, Matcher>, object: Option<&Value>, label: &str) -> Vec<String> {
    let check = |(field, matcher): (&String, &Matcher)| {
        matcher::check(object.and_then(|object| object.get(field)), matcher, &format!("{label}.{field}"))
    };
    matchers.iter().flat_map(check).collect()
}

/// A tool's result: `content` as text, else `output`.
fn output(record: &Record) -> Option<Value> {
    let result = record.fields.get("result")?;
    match result.get("content") {
        Some(Value::Array(parts)) => Some(Value::String(parts.iter().filter_map(|part| part.get("text")?.as_str()).collect())),
        Some(content) => Some(content.clone()),
        None => result.get("output").cloned(),
    }
}

fn joined(parts: Option<&Value>) -> Option<Value> {
    let texts = parts?.as_array()?.iter().filter_map(|part| part.as_str().or_else(|| part.get("text")?.as_str()));
    Some(Value::String(texts.collect::<Vec<_>>().join("\n")))
}

fn prompt_text(record: &Record) -> Option<Value> {
    joined(record.fields.get("parts")).or_else(|| record.fields.get("text").cloned())
}

/// The host tells a shell hook no command; the call of the same id has it.
fn command(case: &Case<'_>, record: &Record) -> Option<Value> {
    let own = record.fields.get("command").filter(|command| !command.is_null());
    own.or_else(|| call_of(case, record)?.input.as_ref()?.get("command")).cloned()
}
