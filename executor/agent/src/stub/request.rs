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

    /// The calls as the host must see them: one that is not offered directly goes through Code Mode when the catalog has it.
    fn calls(&self, n: u64, calls: &[ToolCall], raw: bool) -> Vec<Call> {
        let offered = self.tool_names();
        let may_wrap = !raw && offered.iter().any(|name| name == EXECUTE);
        let catalog = if may_wrap { code_mode::catalog(&self.system_text()) } else { Vec::new() };
        let fit = |(index, call): (usize, &ToolCall)| {
            let direct = offered.contains(&call.name);
            let code = if direct { None } else { code_mode::wrap(&call.name, &call.arguments, &catalog) };
            let (name, arguments) = match code {
                Some(code) => (EXECUTE.to_owned(), Map::from_iter([("code".to_owned(), json!(code))])),
                None => (call.name.clone(), call.arguments.clone()),
            };
            Call { id: format!("call_{n}_{index}"), name, arguments: Value::Object(arguments).to_string() }
        };
        calls.iter().enumerate().map(fit).collect()
    }

    /// The text of all system messages, whose content is a string or a list of parts.
    fn system_text(&self) -> String {
        let messages: Vec<&RawValue> = read(self.fields.messages).unwrap_or_default();
        let messages = messages.iter().filter_map(|message| read::<Message<'_>>(Some(message)));
        let system = messages.filter(|message| matches!(message.role.as_str(), "system" | "developer"));
        let text = |message: Message<'_>| {
            read::<String>(message.content).or_else(|| {
                let parts: Vec<Part> = read(message.content)?;
                Some(parts.into_iter().filter_map(|part| part.text).collect::<Vec<_>>().join("\n"))
            })
        };
        system.filter_map(text).collect::<Vec<_>>().join("\n")
    }
}
