//! Tool calls, put together from probe records and events by their call id.

pub(super) mod v2;

use std::collections::HashMap;

use serde_json::Value;

use super::json;
use super::probe::Record;
use super::stdout::{self, ToolUse};

/// One tool call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Call {
    /// The tool as the host recorded it; `invalid` when the host ran nothing of the name that the model asked for.
    pub name: String,
    /// Call id.
    pub call_id: String,
    /// Arguments that the tool ran with.
    pub input: Option<Value>,
    /// Text of the result.
    pub output: Option<Value>,
    /// How it ended, as far as anybody saw.
    pub status: Option<CallStatus>,
    /// Error text.
    pub error: Option<String>,
    /// The tool that the model asked for and that the host does not have; v1 runs `invalid` in its place.
    pub wanted: Option<String>,
    /// Arguments that a hook put into its output and that the host ignored, because the object was replaced instead of changed in place.
    pub replaced: Option<Value>,
    /// How many calls it made itself, for a Code Mode program (line v2).
    pub inner: usize,
    started: f64,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallStatus {
    /// With a result.
    Completed,
    /// With an error.
    Error,
}

impl CallStatus {
    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Error => "error",
        }
    }
}

/// What is known of one call.
#[derive(Default)]
struct Sources<'a> {
    pre: Option<&'a Record>,
    post: Option<&'a Record>,
    after: Option<&'a Record>,
    event: Option<ToolUse>,
}

/// Joins records and events into calls, in order of their start.
pub(super) fn join(pre: &[Record], post: &[Record], uses: &[ToolUse]) -> Vec<Call> {
    let mut found = Found::default();
    for record in pre.iter().filter(|record| record.kind == "tool.before") {
        found.at(&record.text("callID")).pre.get_or_insert(record);
    }
    for record in post {
        match record.kind.as_str() {
            "tool.before" => drop(found.at(&record.text("callID")).post.get_or_insert(record)),
            "tool.after" => drop(found.at(&record.text("callID")).after.get_or_insert(record)),
            // Sessions of subagents have no events on standard output; the probe sees their parts.
            "event" if record.text("type") == "message.part.updated" => {
                if let Some(ended) = ended_part(record) {
                    found.at(&ended.call_id.clone()).event.get_or_insert(ended);
                }
            }
            _ => {}
        }
    }
    for tool_use in uses {
        found.at(&tool_use.call_id).event = Some(tool_use.clone());
    }
    let mut calls: Vec<Call> = found.sources.into_iter().map(|(id, sources)| call(id, sources)).collect();
    calls.sort_by(|left, right| left.started.total_cmp(&right.started));
    calls
}

#[derive(Default)]
struct Found<'a> {
    sources: Vec<(String, Sources<'a>)>,
    index: HashMap<String, usize>,
}

impl<'a> Found<'a> {
    fn at(&mut self, call_id: &str) -> &mut Sources<'a> {
        let position = *self.index.entry(call_id.to_owned()).or_insert_with(|| {
            self.sources.push((call_id.to_owned(), Sources::default()));
            self.sources.len() - 1
        });
        &mut self.sources[position].1
    }
}

fn ended_part(record: &Record) -> Option<ToolUse> {
    let part = record.fields.get("properties")?.get("part")?.as_object()?;
    if part.get("type")?.as_str()? != "tool" {
        return None;
    }
    Some(stdout::tool_use(part)).filter(|ended| matches!(ended.status.as_str(), "completed" | "error"))
}

fn call(call_id: String, sources: Sources<'_>) -> Call {
    let (input, replaced) = input(&sources);
    let event = sources.event.as_ref();
    let records = [sources.post, sources.pre, sources.after];
    let name = records.into_iter().flatten().map(|record| record.text("tool")).next().or_else(|| event.map(|event| event.tool.clone()));
    let name = name.unwrap_or_default();
    let wanted = (name == ocsweep_proto::names::V1_INVALID_TOOL)
        .then(|| input.as_ref().and_then(|input| input.get("tool")).and_then(Value::as_str).map(str::to_owned))
        .flatten();
    Call {
        status: status(&sources),
        error: event.and_then(|event| event.error.clone()),
        output: output(&sources),
        started: records.into_iter().flatten().map(|record| record.t).chain(event.map(|event| event.started)).fold(f64::MAX, f64::min),
        name,
        call_id,
        input,
        wanted,
        replaced,
        inner: 0,
    }
}

/// The event knows how the call ended; without one, a result was recorded or not.
fn status(sources: &Sources<'_>) -> Option<CallStatus> {
    match sources.event.as_ref().map(|event| event.status.as_str()) {
        Some("completed") => Some(CallStatus::Completed),
        Some("error") => Some(CallStatus::Error),
        _ => sources.after.map(|_| CallStatus::Completed),
    }
}

/// The arguments of the post probe, unless it is proven that the host ran others: a hook that puts a new object into its output
/// changes what later hooks see and nothing else.
fn input(sources: &Sources<'_>) -> (Option<Value>, Option<Value>) {
    let seen = sources.post.and_then(|record| record.fields.get("input"));
    let ran = sources.event.as_ref().and_then(|event| event.input.as_ref());
    let (Some(seen), Some(ran)) = (seen, ran) else {
        return (seen.or(ran).or_else(|| sources.pre.and_then(|record| record.fields.get("input"))).cloned(), None);
    };
    if json::is_same_but_clipped(seen, ran) {
        return (Some(if json::is_clipped(seen) { ran } else { seen }.clone()), None);
    }
    let before = sources.pre.and_then(|record| record.fields.get("input"));
    if before.is_some_and(|before| json::is_same_but_clipped(before, ran)) {
        return (Some(ran.clone()), Some(seen.clone()));
    }
    (Some(seen.clone()), None)
}

/// `result.content` (a string, or parts of text), else `result.output`, else the event's output.
fn output(sources: &Sources<'_>) -> Option<Value> {
    let result = sources.after.and_then(|record| record.fields.get("result"));
    let content = result.and_then(|result| result.get("content")).and_then(content_text);
    let recorded = content.map(Value::String).or_else(|| result.and_then(|result| result.get("output")).cloned());
    let shown = sources.event.as_ref().and_then(|event| event.output.clone());
    match (recorded, shown) {
        (Some(recorded), Some(shown)) if json::is_clipped(&recorded) && json::is_same_but_clipped(&recorded, &shown) => Some(shown),
        (recorded, shown) => recorded.or(shown),
    }
}

fn content_text(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => Some(parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect()),
        _ => None,
    }
}
