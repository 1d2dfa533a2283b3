//! The bytes of the stub's answers, as an OpenAI-compatible server sends them: server-sent events, one JSON body, or an HTTP error.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::{Response, StatusCode};
use ocsweep_proto::scenario::{StepError, StepUsage};
use serde_json::{Value, json};

/// Tokens of an answer whose step names none.
const USAGE: StepUsage = StepUsage { input: 10, output: 5 };
const JSON: &str = "application/json";

/// A body that leaves piece by piece, as a model's answer does.
#[derive(Debug, Default)]
pub(super) struct Chunks(VecDeque<Bytes>);

impl Body for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|chunk| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        // One piece has a known length; several are a stream.
        match self.0.len() {
            0 | 1 => SizeHint::with_exact(self.0.front().map_or(0, |chunk| chunk.len() as u64)),
            _ => SizeHint::default(),
        }
    }
}

/// An answer to be sent after a delay.
#[derive(Debug)]
pub(super) struct Reply {
    status: StatusCode,
    content_type: &'static str,
    retry_after: Option<u64>,
    chunks: VecDeque<Bytes>,
    /// How long to wait before it is sent.
    pub(super) delay: Duration,
}

impl Reply {
    fn new(status: StatusCode, content_type: &'static str, chunks: VecDeque<Bytes>) -> Self {
        Self { status, content_type, retry_after: None, chunks, delay: Duration::ZERO }
    }

    fn json(status: StatusCode, body: &Value) -> Self {
        Self::new(status, JSON, VecDeque::from([Bytes::from(body.to_string())]))
    }

    /// An error of the stub itself.
    pub(super) fn error(status: StatusCode, message: &str) -> Self {
        Self::json(status, &json!({"error": {"message": message, "type": "stub_error"}}))
    }

    /// The error that a step asks for.
    pub(super) fn scripted_error(error: StepError) -> Self {
        // The scenario's validation admits 400 to 599 alone.
        let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut reply = match error.body {
            None => Self::error(status, "scripted error"),
            Some(Value::String(text)) => {
                let content_type = if serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok() { JSON } else { "text/plain" };
                Self::new(status, content_type, VecDeque::from([Bytes::from(text)]))
            }
            Some(body) => Self::json(status, &body),
        };
        reply.retry_after = error.retry_after_seconds;
        reply
    }

    /// The list of models.
    pub(super) fn models() -> Self {
        let model = |id: &str| json!({"id": id, "object": "model", "created": 0, "owned_by": "stub"});
        Self::json(StatusCode::OK, &json!({"object": "list", "data": [model("m1"), model("m1-small")]}))
    }

    /// The same after some milliseconds.
    pub(super) fn after(mut self, delay_ms: u64) -> Self {
        self.delay = Duration::from_millis(delay_ms);
        self
    }

    pub(super) fn into_response(self) -> Response<Chunks> {
        let mut response = Response::new(Chunks(self.chunks));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(hyper::header::CONTENT_TYPE, hyper::header::HeaderValue::from_static(self.content_type));
        if let Some(seconds) = self.retry_after {
            headers.insert(hyper::header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

/// A call of a tool, fitted to the request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    /// JSON text.
    pub(super) arguments: String,
}

impl Call {
    fn json(&self, index: usize) -> Value {
        json!({"index": index, "id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.arguments}})
    }
}

/// What the model says.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) n: u64,
    pub(super) model: String,
    pub(super) text: String,
    pub(super) calls: Vec<Call>,
    pub(super) usage: Option<StepUsage>,
}

impl Answer {
    fn finish_reason(&self) -> &'static str {
        if self.calls.is_empty() { "stop" } else { "tool_calls" }
    }

    fn usage(&self) -> Value {
        let StepUsage { input, output } = self.usage.unwrap_or(USAGE);
        json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": input.saturating_add(output)})
    }

    fn envelope(&self, object: &str, choices: Value) -> Value {
        json!({"id": format!("chatcmpl-{}", self.n), "object": object, "created": 0, "model": self.model, "choices": choices})
    }

    /// One JSON body.
    pub(super) fn whole(self) -> Reply {
        let mut message = json!({"role": "assistant", "content": self.text});
        if !self.calls.is_empty() {
            message["tool_calls"] = self.calls.iter().enumerate().map(|(index, call)| call.json(index)).collect();
        }
        let choices = json!([{"index": 0, "message": message, "finish_reason": self.finish_reason()}]);
        let mut body = self.envelope("chat.completion", choices);
        body["usage"] = self.usage();
        Reply::json(StatusCode::OK, &body)
    }

    /// Server-sent events. Token counts come exactly once: behind everything in a chunk without choices when the request wants them so,
    /// else in the chunk with the finish reason.
    pub(super) fn stream(self, usage_apart: bool) -> Reply {
        let chunk = |delta: Value, finish: Option<&str>| {
            self.envelope("chat.completion.chunk", json!([{"index": 0, "delta": delta, "finish_reason": finish}]))
        };
        let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), None)];
        if !self.text.is_empty() {
            events.push(chunk(json!({"content": self.text}), None));
        }
        events.extend(self.calls.iter().enumerate().map(|(index, call)| chunk(json!({"tool_calls": [call.json(index)]}), None)));
        events.push(chunk(json!({}), Some(self.finish_reason())));
        if usage_apart {
            events.push(self.envelope("chat.completion.chunk", json!([])));
        }
        if let Some(last) = events.last_mut() {
            last["usage"] = self.usage();
        }
        let events = events.iter().map(Value::to_string).chain(["[DONE]".to_owned()]);
        Reply::new(StatusCode::OK, "text/event-stream", events.map(|event| Bytes::from(format!("data: {event}\n\n"))).collect())
    }
}
