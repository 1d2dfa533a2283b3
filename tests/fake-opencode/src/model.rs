//! One chat completion over plain HTTP/1.1, as small as a stub on loopback needs it.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

const STUB: &str = "127.0.0.1:41789";

/// What the model said.
pub(crate) struct Answer {
    /// Text.
    pub(crate) text: String,
    /// Status of an answer that is an error.
    pub(crate) error: Option<u16>,
}

/// Asks once; a request that offers tools is a primary one and consumes a step of the script.
pub(crate) fn ask(prompt: &str, tools: &[&str]) -> Result<Answer, String> {
    let offered: Vec<Value> =
        tools.iter().map(|name| json!({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}})).collect();
    let messages = json!([{"role": "system", "content": "You are a fake."}, {"role": "user", "content": prompt}]);
    let body = json!({"model": "m1", "stream": false, "messages": messages, "tools": offered}).to_string();
    let (status, text) = post("/v1/chat/completions", &body).map_err(|error| format!("the model at {STUB}: {error}"))?;
    if status != 200 {
        return Ok(Answer { text: String::new(), error: Some(status) });
    }
    let reply: Value = serde_json::from_str(&text).map_err(|error| format!("the model's answer {text:?}: {error}"))?;
    let text = reply.pointer("/choices/0/message/content").and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(Answer { text, error: None })
}

/// One request; the status and the body of its answer.
pub(crate) fn post(path: &str, body: &str) -> std::io::Result<(u16, String)> {
    let mut stream = TcpStream::connect(STUB)?;
    // HTTP/1.0 without keep-alive: the answer ends with the connection and comes in no chunks.
    write!(
        stream,
        "POST {path} HTTP/1.0\r\nhost: {STUB}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let invalid = || std::io::Error::new(std::io::ErrorKind::InvalidData, "no HTTP answer");
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(invalid)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(invalid)?;
    Ok((status, body.to_owned()))
}
