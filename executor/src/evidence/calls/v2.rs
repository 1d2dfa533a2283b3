//! Tool calls of line v2. A Code Mode program and every call that it makes share one call id, so records are paired by id and tool, in
//! order; standard output shows the program alone. An event's arguments are the model's own, so what a probe saw behind the plugin counts.

use std::collections::{HashMap, HashSet};

use ocsweep_proto::names::v2::V2_EXECUTE;
use serde_json::{Value, json};

use super::{Call, CallStatus, content_text};
use crate::evidence::json;
use crate::evidence::probe::Record;
use crate::evidence::stdout::{self, InnerCall, ToolUse};

/// Joins records and events into calls, in order of their start.
pub(in crate::evidence) fn join(pre: &[Record], post: &[Record], uses: &[ToolUse]) -> Vec<Call> {
    let mut groups = Groups::default();
    for record in pre.iter().filter(|record| record.kind == "tool.before") {
        groups.of(record).pre.push(record);
    }
    for record in post {
        match record.kind.as_str() {
            "tool.before" => groups.of(record).post.push(record),
            "tool.after" => groups.of(record).after.push(record),
            _ => {}
        }
    }
    for ended in endings(post, uses) {
        groups.end(ended);
    }
    let mut calls: Vec<Call> = groups.list.into_iter().flat_map(Group::calls).collect();
    let mut inner: HashMap<String, usize> = HashMap::new();
    for call in calls.iter().filter(|call| call.name != V2_EXECUTE) {
        *inner.entry(call.call_id.clone()).or_default() += 1;
    }
    for call in calls.iter_mut().filter(|call| call.name == V2_EXECUTE) {
        call.inner = inner.get(&call.call_id).copied().unwrap_or(0);
    }
    calls.sort_by(|left, right| left.started.total_cmp(&right.started));
    calls
}

/// How the calls ended: by standard output, and for sessions of subagents, which it leaves out, by the host's own events.
fn endings(post: &[Record], uses: &[ToolUse]) -> Vec<ToolUse> {
    let mut last: Vec<ToolUse> = Vec::new();
    let mut index: HashMap<(&str, &str), usize> = HashMap::new();
    for ended in uses {
        match index.get(&(ended.call_id.as_str(), ended.tool.as_str())) {
            Some(known) => last[*known] = ended.clone(),
            None => {
                index.insert((&ended.call_id, &ended.tool), last.len());
                last.push(ended.clone());
            }
        }
    }
    let shown: HashSet<&str> = uses.iter().map(|ended| ended.call_id.as_str()).collect();
    let mut names: HashMap<String, String> = HashMap::new();
    for record in post.iter().filter(|record| record.kind == "event") {
        let Some(data) = record.fields.get("data").or_else(|| record.fields.get("properties")) else { continue };
        let id = json::text(data.get("callID").or_else(|| data.get("id")));
        match record.text("type").as_str() {
            "session.tool.input.started" => drop(names.insert(id, json::text(data.get("name").or_else(|| data.get("tool"))))),
            kind @ ("session.tool.success" | "session.tool.failed") if !shown.contains(id.as_str()) => {
                last.extend(names.get(&id).map(|name| told(name, &id, kind.ends_with("success"), data, record.t)));
            }
            _ => {}
        }
    }
    last
}

/// A host's event in the form of standard output.
fn told(name: &str, id: &str, completed: bool, data: &Value, t: f64) -> ToolUse {
    let error = data.get("error");
    let message = error.and_then(|error| error.get("message")).or(error).and_then(Value::as_str).unwrap_or("failed");
    let output = data.get("content").and_then(content_text);
    let metadata = json!({"metadata": data.get("metadata"), "structured": data.get("structured")});
    let state = if completed {
        json!({"status": "completed", "output": output, "metadata": metadata, "time": {"start": t}})
    } else {
        json!({"status": "error", "error": message, "metadata": metadata, "time": {"start": t}})
    };
    let part = json!({"tool": name, "callID": id, "state": state});
    let mut ended = part.as_object().map(stdout::tool_use).unwrap_or_default();
    ended.output = ended.output.filter(|output| !output.is_null());
    ended
}

/// Calls of one tool under one id among which records are searched by their arguments.
const SEARCHED: usize = 1000;

/// The name by which hooks know the tool behind a dotted path.
fn effective(path: &str) -> String {
    path.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect()
}

/// Everything that is known of the calls of one tool under one id.
#[derive(Default)]
struct Group<'a> {
    id: String,
    tool: String,
    pre: Vec<&'a Record>,
    post: Vec<&'a Record>,
    after: Vec<&'a Record>,
    inner: Vec<(InnerCall, f64)>,
    ended: Option<ToolUse>,
}

#[derive(Default)]
struct Groups<'a> {
    list: Vec<Group<'a>>,
    index: HashMap<(String, String), usize>,
}

impl<'a> Groups<'a> {
    fn of(&mut self, record: &Record) -> &mut Group<'a> {
        self.at(record.text("callID"), record.text("tool"))
    }

    fn at(&mut self, id: String, tool: String) -> &mut Group<'a> {
        let position = *self.index.entry((id.clone(), tool.clone())).or_insert_with(|| {
            self.list.push(Group { id, tool, ..Group::default() });
            self.list.len() - 1
        });
        &mut self.list[position]
    }

    fn end(&mut self, ended: ToolUse) {
        let (id, tool) = (ended.call_id.clone(), ended.tool.clone());
        // A program comes before its calls.
        self.at(id.clone(), tool.clone());
        if ended.tool == V2_EXECUTE {
            for call in &ended.inner {
                self.at(ended.call_id.clone(), effective(&call.tool)).inner.push((call.clone(), ended.started));
            }
        }
        self.at(id, tool).ended = Some(ended);
    }
}

/// The records of one call.
#[derive(Default)]
struct Slot<'a> {
    pre: Option<&'a Record>,
    post: Option<&'a Record>,
    after: Option<&'a Record>,
    inner: Option<(InnerCall, f64)>,
    ended: Option<ToolUse>,
}

impl<'a> Group<'a> {
    fn calls(mut self) -> Vec<Call> {
        let mut slots = self.slots();
        let in_order = self.inner.len() == slots.len() || self.is_large();
        for (n, call) in std::mem::take(&mut self.inner).into_iter().enumerate() {
            let free = |slot: &Slot<'_>| slot.inner.is_none();
            let same = |slot: &Slot<'_>| free(slot) && input_of(slot.pre) == call.0.input.as_ref();
            let searched = || slots.iter().position(same).or_else(|| slots.iter().position(free));
            let at = if in_order { (n < slots.len()).then_some(n) } else { searched() };
            at_or_new(&mut slots, at).inner = Some(call);
        }
        if let Some(ended) = self.ended.take() {
            let at = (!slots.is_empty()).then_some(0);
            at_or_new(&mut slots, at).ended = Some(ended);
        }
        slots.into_iter().map(|slot| slot.call(&self.id, &self.tool)).collect()
    }

    /// Pairs what went in with what came out. A call that the plugin stopped has no record behind it.
    fn slots(&self) -> Vec<Slot<'a>> {
        let mut slots: Vec<Slot<'a>> = self.pre.iter().map(|record| Slot { pre: Some(*record), ..Slot::default() }).collect();
        let in_order = self.pre.len() == self.post.len() || self.is_large();
        for (n, record) in self.post.iter().enumerate() {
            let free = |slot: &Slot<'_>| slot.post.is_none();
            let same = |slot: &Slot<'_>| free(slot) && input_of(slot.pre) == input_of(Some(record));
            let earlier = |slot: &Slot<'_>| free(slot) && slot.pre.is_some_and(|pre| pre.t <= record.t);
            let searched = || slots.iter().position(same).or_else(|| slots.iter().rposition(earlier));
            let at = if in_order { (n < slots.len()).then_some(n) } else { searched() };
            at_or_new(&mut slots, at).post = Some(record);
        }
        for (n, record) in self.after.iter().enumerate() {
            let free = |slot: &Slot<'_>| slot.after.is_none() && slot.post.is_some();
            let same = |slot: &Slot<'_>| free(slot) && input_of(slot.post) == input_of(Some(record));
            let searched = || slots.iter().position(same).or_else(|| slots.iter().position(free));
            let at = if self.is_large() { (n < slots.len()).then_some(n) } else { searched() };
            let at = at.or_else(|| slots.iter().position(|slot| slot.after.is_none()).filter(|_| !self.is_large()));
            at_or_new(&mut slots, at).after = Some(record);
        }
        slots
    }

    /// More than any honest program makes; a search through it would cost its square.
    fn is_large(&self) -> bool {
        [self.pre.len(), self.post.len(), self.after.len(), self.inner.len()].into_iter().max().unwrap_or(0) > SEARCHED
    }
}

fn at_or_new<'s, 'a>(slots: &'s mut Vec<Slot<'a>>, at: Option<usize>) -> &'s mut Slot<'a> {
    let at = at.unwrap_or_else(|| {
        slots.push(Slot::default());
        slots.len() - 1
    });
    &mut slots[at]
}

fn input_of(record: Option<&Record>) -> Option<&Value> {
    record?.fields.get("input")
}

impl Slot<'_> {
    fn call(self, id: &str, tool: &str) -> Call {
        let status = self.status();
        let error = self.error();
        let unknown = status == Some(CallStatus::Error)
            && self.after.is_none()
            && error.as_deref().is_some_and(|error| error.starts_with("Unknown tool"));
        let records = [self.pre, self.post, self.after];
        let started = records.into_iter().flatten().map(|record| record.t);
        let started = started.chain(self.ended.as_ref().map(|ended| ended.started)).chain(self.inner.as_ref().map(|(_, started)| *started));
        Call {
            name: tool.to_owned(),
            call_id: id.to_owned(),
            input: self.input(),
            output: self.output(),
            status,
            error,
            wanted: unknown.then(|| tool.to_owned()),
            replaced: None,
            inner: 0,
            started: started.fold(f64::MAX, f64::min),
        }
    }

    fn status(&self) -> Option<CallStatus> {
        let word = |word: &str| match word {
            "completed" => Some(CallStatus::Completed),
            "error" => Some(CallStatus::Error),
            _ => None,
        };
        let told = self.ended.as_ref().map(|ended| &ended.status).or(self.inner.as_ref().map(|(inner, _)| &inner.status));
        let seen = || self.after.map(|after| word(&after.text("status")).unwrap_or(CallStatus::Completed));
        told.and_then(|status| word(status)).or_else(seen)
    }

    fn error(&self) -> Option<String> {
        let seen = self.after.and_then(|after| after.fields.get("error"));
        let seen = seen.and_then(|error| error.get("message").or(Some(error))).and_then(Value::as_str).map(str::to_owned);
        self.ended.as_ref().and_then(|ended| ended.error.clone()).or(seen)
    }

    fn input(&self) -> Option<Value> {
        let told =
            self.ended.as_ref().and_then(|ended| ended.input.as_ref()).or(self.inner.as_ref().and_then(|(inner, _)| inner.input.as_ref()));
        let seen = input_of(self.post).or_else(|| input_of(self.after)).or_else(|| input_of(self.pre));
        match (seen, told) {
            (Some(seen), Some(told)) if json::is_clipped(seen) && json::is_same_but_clipped(seen, told) => Some(told.clone()),
            (seen, told) => seen.or(told).cloned(),
        }
    }

    /// `result.content` as text, else `result.output`, else what the event shows.
    fn output(&self) -> Option<Value> {
        let result = self.after.and_then(|after| after.fields.get("result"));
        let content = result.and_then(|result| result.get("content")).and_then(content_text).map(Value::String);
        let seen = content.or_else(|| result.and_then(|result| result.get("output")).cloned());
        let shown = self.ended.as_ref().and_then(|ended| ended.output.clone());
        match (seen, shown) {
            (Some(seen), Some(shown)) if json::is_clipped(&seen) && json::is_same_but_clipped(&seen, &shown) => Some(shown),
            (seen, shown) => seen.or(shown),
        }
    }
}
