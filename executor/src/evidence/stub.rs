//! What the model was sent: the system prompt and the tools of a chat completion request.

use ocsweep_proto::agent::StubRequest;
use ocsweep_proto::code_mode;
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

/// The names under which the model can call tools: offered directly, and in the Code Mode catalog by path, last segment and joined form.
#[must_use]
pub fn offered_tools(request: &StubRequest) -> Option<Vec<String>> {
    let direct = request.body.get("messages").and(request.body.get("tools").or(Some(&Value::Null)))?;
    let functions = direct.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut names: Vec<String> =
        functions.iter().filter_map(|tool| tool.pointer("/function/name")).filter_map(Value::as_str).map(str::to_owned).collect();
    for name in code_mode::catalog_names(&system_text(request).unwrap_or_default()) {
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
