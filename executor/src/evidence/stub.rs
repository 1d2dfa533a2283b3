//! What the model was sent: the system prompt and the tools of a chat completion request.

use ocsweep_proto::agent::StubRequest;
use ocsweep_proto::code_mode;
use ocsweep_proto::names::v2::V2_EXECUTE;
use serde_json::Value;

/// The text of all system messages, joined by line feeds; `None` when the body holds no messages.
#[must_use]
pub fn system_text(request: &StubRequest) -> Option<String> {
    let messages = request.body.get("messages")?.as_array()?;
    let system = messages.iter().filter(|message| message.get("role").and_then(Value::as_str) == Some("system"));
    Some(system.filter_map(|message| content_text(message.get("content")?)).collect::<Vec<_>>().join("\n"))
}

/// A string, or the text of parts.
fn content_text(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str));
            Some(texts.collect::<Vec<_>>().join("\n"))
        }
        _ => None,
    }
}

/// Where a Code Mode catalog stands: the system messages, a later message that replaces it, and, in early hosts, the description of the
/// tool that runs programs.
#[must_use]
pub fn catalog_text(request: &StubRequest) -> String {
    let messages = request.body.get("messages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let later =
        messages.iter().filter_map(|message| content_text(message.get("content")?)).filter(|text| text.starts_with(CATALOG_CHANGED));
    let functions = request.body.get("tools").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let execute = functions.iter().filter(|tool| tool.pointer("/function/name").and_then(Value::as_str) == Some(V2_EXECUTE));
    let described = execute.filter_map(|tool| tool.pointer("/function/description")?.as_str().map(str::to_owned));
    system_text(request).into_iter().chain(later).chain(described).collect::<Vec<_>>().join("\n")
}

/// How a message begins that brings a new catalog into a running conversation.
const CATALOG_CHANGED: &str = "The Code Mode tool catalog has changed.";

/// The names under which the model can call tools: offered directly, and in the Code Mode catalog by path, last segment and joined form.
#[must_use]
pub fn offered_tools(request: &StubRequest) -> Option<Vec<String>> {
    let direct = request.body.get("messages").and(request.body.get("tools").or(Some(&Value::Null)))?;
    let functions = direct.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut names: Vec<String> =
        functions.iter().filter_map(|tool| tool.pointer("/function/name")).filter_map(Value::as_str).map(str::to_owned).collect();
    for name in code_mode::catalog_names(&catalog_text(request)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Some(names)
}

/// The JSON Schema of a tool's arguments as the model received it.
#[must_use]
pub fn tool_parameters<'a>(request: &'a StubRequest, tool: &str) -> Option<&'a Value> {
    let tools = request.body.get("tools")?.as_array()?;
    let found = tools.iter().find(|offered| offered.pointer("/function/name").and_then(Value::as_str) == Some(tool))?;
    found.pointer("/function/parameters")
}
