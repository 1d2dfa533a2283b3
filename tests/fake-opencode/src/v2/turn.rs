//! The conversation with the stub: requests as a 2.x host makes them, and the events that it prints of the answers.

use serde_json::{Map, Value, json};

use super::plan::{Catalog, Ids, Plan};
use super::tools::{self, Call};
use super::{Probes, SESSION, Streams};
use crate::host::now;
use crate::model::post;

/// Attempts at a request that the provider fails to answer.
const ATTEMPTS: usize = 3;
const TITLE: &str = "You are a title generator. You output ONLY a thread title. Nothing else.";

/// Plays until the model has no further call. Gives the exit code.
pub(super) fn play(plan: &Plan, model: &str, prompt: &str, probes: &mut Probes, streams: &mut Streams<'_>) -> Result<u8, String> {
    let user = json!({"role": "user", "content": prompt});
    // A host without a title goes on.
    let title = json!({"model": model, "stream": false, "messages": [{"role": "system", "content": TITLE}, &user]});
    let _title = ask(&title)?;
    let mut messages = vec![json!({"role": "system", "content": ""}), user];
    loop {
        messages[0]["content"] = json!(context(plan, model, probes)?);
        let request = json!({"model": model, "stream": false, "messages": messages, "tools": tools::offered(plan)});
        let message = match ask(&request)? {
            Ok(message) => message,
            Err(message) => {
                streams.event("error", &json!({"error": {"type": "provider.invalid-request", "message": message}}))?;
                return Ok(1);
            }
        };
        streams.event("step_start", &part(&json!({"id": "prt_start", "type": "step-start"})))?;
        let calls = calls(&message)?;
        let text = message["content"].as_str().unwrap_or_default();
        if !text.is_empty() {
            let time = json!({"start": now(), "end": now()});
            streams.event("text", &part(&json!({"id": "prt_text", "type": "text", "text": text, "time": time})))?;
        }
        messages.push(message);
        for call in &calls {
            messages.push(settle(plan, call, probes, streams)?);
        }
        streams.event("step_finish", &part(&finish(if calls.is_empty() { "stop" } else { "tool-calls" })))?;
        if calls.is_empty() {
            return Ok(0);
        }
    }
}

/// The system text as it is sent; each probe sees its side of the plugin.
fn context(plan: &Plan, model: &str, probes: &mut Probes) -> Result<String, String> {
    let offered = tools::offered(plan);
    let names: Vec<&Value> = offered.iter().map(|tool| &tool["function"]["name"]).collect();
    let mut system = vec!["You are a fake.".to_owned()];
    if plan.catalog == Catalog::System {
        system.push(tools::catalog(plan));
    }
    let record = |system: &[String]| json!({"sessionID": SESSION, "agent": "build", "model": model, "requestKind": "primary", "system": system, "tools": names});
    probes.pre.record("session.context", record(&system))?;
    system.extend(plan.system.iter().filter(|_| plan.works()).cloned());
    probes.post.record("session.context", record(&system))?;
    probes
        .both("model.request", &json!({"sessionID": SESSION, "agent": "build", "model": model, "requestKind": "primary", "headers": {}}))?;
    Ok(system.join("\n\n"))
}

/// Asks the stub; a failing provider is asked again, a refusing one is not.
fn ask(request: &Value) -> Result<Result<Value, String>, String> {
    let mut last = String::new();
    for _ in 0..ATTEMPTS {
        let (status, text) = post("/v1/chat/completions", &request.to_string()).map_err(|error| format!("the model: {error}"))?;
        if status == 200 {
            let reply: Value = serde_json::from_str(&text).map_err(|error| format!("the model's answer {text:?}: {error}"))?;
            return Ok(Ok(reply["choices"][0]["message"].clone()));
        }
        last = format!("Provider request failed with HTTP {status}: {text}");
        if status < 500 {
            break;
        }
    }
    Ok(Err(last))
}

fn calls(message: &Value) -> Result<Vec<Call>, String> {
    let read = |call: &Value| {
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
        let input: Map<String, Value> = serde_json::from_str(arguments).map_err(|error| format!("arguments {arguments:?}: {error}"))?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Ok(Call { id: text(&call["id"]), name: text(&call["function"]["name"]), input })
    };
    message["tool_calls"].as_array().into_iter().flatten().map(read).collect()
}

/// Plays a call and prints its event, which comes when it is settled. Gives the message for the model.
fn settle(plan: &Plan, call: &Call, probes: &mut Probes, streams: &mut Streams<'_>) -> Result<Value, String> {
    let settled = tools::call(plan, call, probes)?;
    let raw = Value::Object(call.input.clone()).to_string();
    let details = if settled.inner.is_null() { json!({}) } else { json!({"toolCalls": settled.inner}) };
    let own = if plan.ids == Ids::Part { "metadata" } else { "structured" };
    let mut metadata = json!({"providerCall": {"executed": false}, "providerResult": {"executed": false}, "rawInput": raw});
    metadata[own] = details;
    let mut state = json!({"input": settled.input, "time": {"start": now(), "end": now()}});
    let text = match settled.output {
        Ok(output) => {
            metadata["content"] = json!([{"type": "text", "text": output}]);
            state["status"] = json!("completed");
            state["output"] = json!(output);
            state["title"] = json!(call.name);
            output
        }
        Err(error) => {
            state["status"] = json!("error");
            state["error"] = json!(error);
            error
        }
    };
    state["metadata"] = metadata;
    let mut event = json!({"type": "tool", "tool": call.name, "state": state});
    let (part_id, call_id) = if plan.ids == Ids::Part { ("partID", "id") } else { ("id", "callID") };
    event[part_id] = json!(format!("prt_{}", call.id));
    event[call_id] = json!(call.id);
    streams.event("tool_use", &part(&event))?;
    Ok(json!({"role": "tool", "tool_call_id": call.id, "content": text}))
}

fn part(fields: &Value) -> Value {
    let mut part = fields.clone();
    part["sessionID"] = json!(SESSION);
    part["messageID"] = json!("msg_fake");
    json!({"part": part})
}

fn finish(reason: &str) -> Value {
    let tokens = json!({"input": 11, "output": 7, "reasoning": 0, "cache": {"read": 0, "write": 0}});
    json!({"id": "prt_finish", "type": "step-finish", "reason": reason, "cost": 0, "tokens": tokens})
}
