//! The host's standard output: one JSON object a line, with whatever a plugin prints between, before and behind them.

use serde_json::{Map, Value};

use super::json;
use ocsweep_proto::row::Tokens;

/// Events of the host, taken apart.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostEvents {
    /// Step events.
    pub steps: u64,
    /// Finished steps.
    pub finishes: u64,
    /// Why the last finished step ended, for example `stop` or `tool-calls`.
    pub last_finish: String,
    /// Text of the answers, in order.
    pub texts: Vec<String>,
    /// Tool calls that ended.
    pub tool_uses: Vec<ToolUse>,
    /// Errors.
    pub errors: Vec<HostError>,
    /// Sum of the steps' costs, in US dollars.
    pub cost_usd: f64,
    /// Sum of the steps' tokens.
    pub tokens: Tokens,
    /// The message of the step that `last_finish` is about.
    last_message: String,
}

/// A tool call as an event shows it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolUse {
    /// Tool.
    pub tool: String,
    /// Call.
    pub call_id: String,
    /// `completed` or `error`.
    pub status: String,
    /// Arguments that the tool ran with.
    pub input: Option<Value>,
    /// Result.
    pub output: Option<Value>,
    /// Error text.
    pub error: Option<String>,
    /// Start, in milliseconds since the epoch.
    pub started: f64,
    /// Calls that a program made through Code Mode (line v2), in order.
    pub inner: Vec<InnerCall>,
}

/// A call inside of a Code Mode program, as the event of the program shows it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InnerCall {
    /// Dotted path, for example `my_ns.ns-echo`.
    pub tool: String,
    /// `completed` or `error`.
    pub status: String,
    /// Arguments as the program wrote them, before any hook.
    pub input: Option<Value>,
}

/// An error event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostError {
    /// Class, for example `APIError`.
    pub name: String,
    /// Message.
    pub message: String,
    /// HTTP status of the model's answer.
    pub status: Option<u64>,
    /// The reference under which the host logged the details.
    pub reference: Option<String>,
}

/// Standard output that is no event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Noise {
    /// How many lines held some.
    pub lines: u64,
    /// The first of them, trimmed and cut.
    pub first: Vec<String>,
}

/// Lines of noise that are kept.
const KEPT_NOISE: usize = 20;
/// Characters kept of each.
const KEPT_CHARS: usize = 300;
/// Places in one line at which an event is looked for, so that a hostile line costs a bounded number of attempts.
const ATTEMPTS: usize = 8;

/// Parses standard output.
pub(super) fn parse(bytes: &[u8]) -> (HostEvents, Noise) {
    let (mut events, mut noise) = (HostEvents::default(), Noise::default());
    for line in bytes.split(|byte| *byte == b'\n') {
        let line = String::from_utf8_lossy(line);
        let rest = take_events(line.trim(), &mut events);
        if !rest.is_empty() {
            noise.add(&rest);
        }
    }
    (events, noise)
}

impl Noise {
    fn add(&mut self, text: &str) {
        self.lines += 1;
        if self.first.len() < KEPT_NOISE {
            self.first.push(text.chars().take(KEPT_CHARS).collect());
        }
    }
}

/// Takes every event out of a line; what remains is noise.
fn take_events(line: &str, events: &mut HostEvents) -> String {
    let mut rest = String::new();
    let (mut from, mut attempts) = (0, 0);
    let mut search = 0;
    while let Some(at) = line[search..].find('{').map(|at| search + at) {
        if !starts_like_event(&line[at..]) {
            search = at + 1;
            continue;
        }
        attempts += 1;
        if attempts > ATTEMPTS {
            break;
        }
        let mut stream = serde_json::Deserializer::from_str(&line[at..]).into_iter::<Map<String, Value>>();
        match stream.next() {
            Some(Ok(object)) if events.add(&object) => {
                rest.push_str(&line[from..at]);
                from = at + stream.byte_offset();
                search = from;
            }
            _ => search = at + 1,
        }
    }
    rest.push_str(&line[from..]);
    rest.trim().to_owned()
}

/// The host writes `type` first.
fn starts_like_event(text: &str) -> bool {
    text[1..].trim_start().strip_prefix("\"type\"").is_some_and(|rest| rest.trim_start().starts_with(':'))
}

impl HostEvents {
    /// Adds an event; `false` when the object is none.
    fn add(&mut self, object: &Map<String, Value>) -> bool {
        let part = object.get("part").and_then(Value::as_object);
        match (object.get("type").and_then(Value::as_str), part) {
            (Some("step_start"), Some(_)) => self.steps += 1,
            (Some("step_finish"), Some(part)) => self.finish(part),
            (Some("text"), Some(part)) => self.texts.push(json::text(part.get("text"))),
            (Some("tool_use"), Some(part)) => self.tool_uses.push(tool_use(part)),
            (Some("error"), _) if object.contains_key("error") => self.errors.push(host_error(object.get("error"))),
            (Some(_), _) => return object.contains_key("sessionID"),
            (None, _) => return false,
        }
        true
    }

    fn finish(&mut self, part: &Map<String, Value>) {
        self.finishes += 1;
        self.steps = self.steps.max(self.finishes);
        self.ended_by(part);
        self.cost_usd += part.get("cost").and_then(Value::as_f64).filter(|cost| cost.is_finite()).unwrap_or(0.0);
        let count = |path: &str| part.get("tokens").and_then(|tokens| tokens.pointer(path)).and_then(Value::as_f64).map_or(0, saturating);
        let sum = &mut self.tokens;
        sum.input = sum.input.saturating_add(count("/input"));
        sum.output = sum.output.saturating_add(count("/output"));
        sum.reasoning = sum.reasoning.saturating_add(count("/reasoning"));
        sum.cache_read = sum.cache_read.saturating_add(count("/cache/read"));
        sum.cache_write = sum.cache_write.saturating_add(count("/cache/write"));
    }
}

impl HostEvents {
    /// A v2 host sends what it missed at the very end, with ids that are made of the message's: such a step is not the last one.
    fn ended_by(&mut self, part: &Map<String, Value>) {
        let message = json::text(part.get("messageID"));
        let late = !message.is_empty() && json::text(part.get("id")).contains(&message);
        if !late || message >= self.last_message {
            self.last_finish = json::text(part.get("reason"));
            self.last_message = message;
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate, and a token count has no fraction")]
fn saturating(number: f64) -> u64 {
    number as u64
}

pub(super) fn tool_use(part: &Map<String, Value>) -> ToolUse {
    let state = part.get("state");
    let field = |name: &str| state.and_then(|state| state.get(name));
    ToolUse {
        tool: json::text(part.get("tool")),
        call_id: call_id(part),
        status: json::text(field("status")),
        input: field("input").cloned(),
        output: field("output").cloned(),
        error: field("error").and_then(Value::as_str).map(str::to_owned),
        started: field("time").and_then(|time| time.get("start")).and_then(Value::as_f64).unwrap_or(f64::MAX),
        inner: inner(field("metadata")),
    }
}

/// `callID`; where the part's own id has a field of its own (`partID`), `id` is the call's.
fn call_id(part: &Map<String, Value>) -> String {
    let call = part.get("callID").or_else(|| part.get("partID").and(part.get("id")));
    json::text(call)
}

/// `structured` or `metadata` of a state's metadata holds the calls of a program.
fn inner(metadata: Option<&Value>) -> Vec<InnerCall> {
    let calls = |key: &str| metadata?.get(key)?.get("toolCalls")?.as_array();
    let listed = calls("metadata").or_else(|| calls("structured")).map(Vec::as_slice).unwrap_or_default();
    listed
        .iter()
        .map(|call| InnerCall { tool: json::text(call.get("tool")), status: inner_status(call), input: call.get("input").cloned() })
        .collect()
}

fn inner_status(call: &Value) -> String {
    let failed = call.get("error").is_some_and(|error| !matches!(error, Value::Null | Value::Bool(false)));
    if failed { "error".to_owned() } else { json::text(call.get("status")) }
}

fn host_error(error: Option<&Value>) -> HostError {
    let text = |path: &str| error.and_then(|error| error.pointer(path)).and_then(Value::as_str);
    let name = text("/name").or_else(|| text("/type")).unwrap_or("Error").to_owned();
    let message = text("/data/message").or_else(|| text("/message")).or_else(|| error.and_then(Value::as_str)).unwrap_or("(no message)");
    let status = error.and_then(|error| error.pointer("/data/statusCode")).and_then(Value::as_u64);
    HostError {
        message: message.to_owned(),
        status: status.or_else(|| provider_status(&name, message)),
        name,
        reference: text("/data/ref").map(str::to_owned),
    }
}

/// A v2 host tells the status of a model's answer in words: `Provider request failed with HTTP 400: …`.
fn provider_status(name: &str, message: &str) -> Option<u64> {
    let rest = message.split_once("HTTP ").filter(|_| name.starts_with("provider."))?.1;
    rest.get(..3)?.parse().ok()
}
