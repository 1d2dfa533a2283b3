//! What a chat completion request asks: its class, the tools that it offers, and the step's calls fitted to them.
//!
//! It must read any body without failing on shapes that it does not need, and never build a value of the whole body.

use ocsweep_proto::agent::RequestKind;
use ocsweep_proto::code_mode;
use ocsweep_proto::scenario::{Step, ToolCall};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::reply::{Answer, Call, Reply};

/// The first line of a prompt for the judge.
const SENTINEL: &str = "OPENCODE_PLUGIN_CI_JUDGE";
/// The tool that runs Code Mode.
const EXECUTE: &str = "execute";
/// How a message begins that brings a new catalog in the middle of a conversation.
const CATALOG_CHANGED: &str = "The Code Mode tool catalog has changed.";
const EXHAUSTED: &str = "STUB_SCRIPT_EXHAUSTED";
const NO_JUDGE_REPLY: &str = r#"{"pass":false,"reason":"no stubReply given"}"#;
const TITLE: &str = "Stub title";

#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    model: Option<&'a RawValue>,
    #[serde(borrow)]
    stream: Option<&'a RawValue>,
    #[serde(borrow)]
    stream_options: Option<&'a RawValue>,
    #[serde(borrow)]
    messages: Option<&'a RawValue>,
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Message<'a> {
    role: String,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Part {
    text: Option<String>,
}

#[derive(Deserialize)]
struct Tool {
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    description: Option<String>,
}

#[derive(Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

/// A chat completion request.
pub(super) struct ChatRequest<'a> {
    fields: Fields<'a>,
    judge: bool,
    tools: Vec<&'a RawValue>,
}

fn read<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}

impl<'a> ChatRequest<'a> {
    /// `None` when the body is no JSON object.
    pub(super) fn parse(body: &'a [u8]) -> Option<Self> {
        let text = std::str::from_utf8(body).ok()?;
        let fields: Fields<'a> = serde_json::from_str(text).ok()?;
        let tools = read(fields.tools).unwrap_or_default();
        Some(Self { fields, judge: text.contains(SENTINEL), tools })
    }

    /// The class: the judge's sentinel first, then the offer of tools.
    pub(super) fn kind(&self) -> RequestKind {
        if self.judge {
            RequestKind::Judge
        } else if self.tools.is_empty() {
            RequestKind::Auxiliary
        } else {
            RequestKind::Primary
        }
    }

    /// The reply to the `n`th request, by a step if the script had one left.
    pub(super) fn reply(&self, n: u64, step: Option<Step>) -> Reply {
        let text = |text: &str| Step { text: Some(text.to_owned()), ..Step::default() };
        let step = match self.kind() {
            RequestKind::Judge => text(NO_JUDGE_REPLY),
            RequestKind::Primary => step.unwrap_or_else(|| text(EXHAUSTED)),
            RequestKind::Auxiliary | RequestKind::Other => text(TITLE),
        };
        let delay_ms = step.delay_ms.unwrap_or_default();
        let reply = match step.error {
            Some(error) => Reply::scripted_error(error),
            None => {
                let calls = self.calls(n, &step.tool_calls, step.raw);
                let answer = Answer { n, model: self.model(), text: step.text.unwrap_or_default(), calls, usage: step.usage };
                if self.streams() { answer.stream(self.includes_usage()) } else { answer.whole() }
            }
        };
        reply.after(delay_ms)
    }

    fn model(&self) -> String {
        read(self.fields.model).unwrap_or_else(|| "stub".to_owned())
    }

    fn streams(&self) -> bool {
        read(self.fields.stream).unwrap_or(false)
    }

    fn includes_usage(&self) -> bool {
        read::<StreamOptions>(self.fields.stream_options).is_some_and(|options| options.include_usage)
    }

    fn tool_names(&self) -> Vec<String> {
        self.tools.iter().filter_map(|tool| read::<Tool>(Some(tool))).map(|tool| tool.function.name).collect()
    }

    /// The calls as the host must see them: under the line's own name for a built-in tool, and one that is not offered directly through Code
    /// Mode when the catalog has it.
    fn calls(&self, n: u64, calls: &[ToolCall], raw: bool) -> Vec<Call> {
        let offered = self.tool_names();
        let may_wrap = !raw && offered.iter().any(|name| name == EXECUTE);
        let text = if may_wrap { self.catalog_text() } else { String::new() };
        let catalog = code_mode::catalog(&text);
        let fit = |(index, call): (usize, &ToolCall)| {
            let direct = offered.iter().find(|name| **name == call.name || (!raw && same_builtin(name, &call.name)));
            let wrap = || {
                let shown = code_mode::wrap(&call.name, &call.arguments, &catalog);
                shown.or_else(|| code_mode::wrap_hidden(&call.name, &call.arguments, &text))
            };
            let (name, arguments) = match (direct, may_wrap) {
                (Some(name), _) => (name.clone(), call.arguments.clone()),
                (None, true) if let Some(code) = wrap() => (EXECUTE.to_owned(), Map::from_iter([("code".to_owned(), json!(code))])),
                (None, _) => (call.name.clone(), call.arguments.clone()),
            };
            Call { id: format!("call_{n}_{index}"), name, arguments: Value::Object(arguments).to_string() }
        };
        calls.iter().enumerate().map(fit).collect()
    }

    /// Where a catalog may be: in the description of the tool, in the system text, or in a later message that says that it has changed. The
    /// latest comes first, because among equals the first line counts.
    fn catalog_text(&self) -> String {
        let described = self.tools.iter().filter_map(|tool| read::<Tool>(Some(tool))).find(|tool| tool.function.name == EXECUTE);
        let described = described.and_then(|tool| tool.function.description);
        let messages = self.messages().into_iter();
        let said = messages.filter_map(|(role, text)| (is_system(&role) || text.contains(CATALOG_CHANGED)).then_some(text));
        let texts: Vec<String> = described.into_iter().chain(said).collect();
        texts.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    /// Role and text of all messages, whose content is a string or a list of parts.
    fn messages(&self) -> Vec<(String, String)> {
        let messages: Vec<&RawValue> = read(self.fields.messages).unwrap_or_default();
        let messages = messages.iter().filter_map(|message| read::<Message<'_>>(Some(message)));
        let text = |message: Message<'_>| {
            let text = read::<String>(message.content).or_else(|| {
                let parts: Vec<Part> = read(message.content)?;
                Some(parts.into_iter().filter_map(|part| part.text).collect::<Vec<_>>().join("\n"))
            });
            Some((message.role, text?))
        };
        messages.filter_map(text).collect()
    }
}

fn is_system(role: &str) -> bool {
    matches!(role, "system" | "developer")
}

/// The lines name their built-in tools differently; a scenario may use either name.
fn same_builtin(one: &str, other: &str) -> bool {
    matches!((one, other), ("shell", "bash") | ("bash", "shell") | ("subagent", "task") | ("task", "subagent"))
}
