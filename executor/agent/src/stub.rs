//! The stub model: an OpenAI-compatible server on loopback that answers by a script and records every request.
//!
//! It must answer nothing before the host starts, because what a plugin asks while it is being inspected must not consume a step, and a
//! failing record must never change an answer. Anybody in the container may talk to it; that can only spoil that one case.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use ocsweep_proto::agent::{RequestKind, StubReport};
use ocsweep_proto::frame::Kind;
use ocsweep_proto::scenario::Step;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, Semaphore, mpsc};

use crate::output::Output;
use crate::watch::Event;

mod record;
mod reply;
mod request;

use reply::{Chunks, Reply};
use request::ChatRequest;

/// The largest request body.
const MAX_BODY: usize = 32 * 1024 * 1024;
/// Bodies that are read and parsed at once; each may take several times its size.
const BODIES_AT_ONCE: usize = 2;
/// Connections at once.
const MAX_CONNECTIONS: usize = 256;
/// A body that has not come by then belongs to nobody.
const BODY_PATIENCE: Duration = Duration::from_secs(30);

/// What the stub still has to say, and what it has seen.
#[derive(Debug, Default)]
struct Script {
    /// `None` before the host starts.
    steps: Option<VecDeque<Step>>,
    requests: u64,
    report: StubReport,
    recorded: u64,
    dropped: u64,
}

/// The stub model.
#[derive(Debug)]
pub(crate) struct Stub {
    script: Mutex<Script>,
    output: Output,
    bodies: Semaphore,
    events: mpsc::Sender<Event>,
    record_bytes: u64,
}

impl Stub {
    /// A stub that records at most `record_bytes` and says to `events` that something happens.
    pub(crate) fn new(output: Output, events: mpsc::Sender<Event>, record_bytes: u64) -> Arc<Self> {
        let bodies = Semaphore::new(BODIES_AT_ONCE);
        Arc::new(Self { script: Mutex::default(), output, bodies, events, record_bytes })
    }

    /// Serves connections for ever.
    pub(crate) async fn serve(self: Arc<Self>, listener: TcpListener) {
        let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        loop {
            // The semaphore is never closed, and a peer that is gone is no matter.
            let Ok(permit) = connections.clone().acquire_owned().await else { return };
            let Ok((stream, _)) = listener.accept().await else { continue };
            let _ = stream.set_nodelay(true);
            let stub = self.clone();
            tokio::spawn(async move {
                let service = service_fn(|request| stub.clone().answer(request));
                let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
                drop(permit);
            });
        }
    }

    /// The script is in force from now on.
    pub(crate) async fn begin(&self, steps: Vec<Step>) {
        self.script.lock().await.steps = Some(steps.into());
    }

    /// What the stub saw, and how many bytes of its records were dropped.
    pub(crate) async fn report(&self) -> (StubReport, u64) {
        let script = self.script.lock().await;
        (script.report.clone(), script.dropped)
    }

    async fn answer<B>(self: Arc<Self>, request: Request<B>) -> Result<hyper::Response<Chunks>, Infallible>
    where
        B: Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let reply = self.clone().reply(request).await;
        let _ = self.events.try_send(Event::Other);
        Ok(reply.into_response())
    }

    async fn reply<B>(self: Arc<Self>, request: Request<B>) -> Reply
    where
        B: Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (head, body) = request.into_parts();
        let Ok(permit) = self.bodies.acquire().await else { return Reply::error(StatusCode::SERVICE_UNAVAILABLE, "closed") };
        let body = match tokio::time::timeout(BODY_PATIENCE, Limited::new(body, MAX_BODY).collect()).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(_)) => return Reply::error(StatusCode::PAYLOAD_TOO_LARGE, "the request body is too large or broken"),
            Err(_) => return Reply::error(StatusCode::REQUEST_TIMEOUT, "the request body did not come"),
        };
        let chat =
            (head.method == Method::POST && head.uri.path().ends_with("/chat/completions")).then(|| ChatRequest::parse(&body)).flatten();
        let Some((n, step)) = self.take(&head, chat.as_ref(), &body).await else {
            return Reply::error(StatusCode::SERVICE_UNAVAILABLE, "the run has not begun");
        };
        let reply = match chat {
            Some(chat) => chat.reply(n, step),
            None if head.method == Method::GET && head.uri.path().ends_with("/models") => Reply::models(),
            None => Reply::error(StatusCode::NOT_FOUND, "the stub knows chat completions and models alone"),
        };
        drop(body);
        drop(permit);
        tokio::time::sleep(reply.delay).await;
        reply
    }

    /// Numbers and records a request, and takes its step. Under one lock, so that the record has the order of the numbers.
    async fn take(&self, head: &hyper::http::request::Parts, chat: Option<&ChatRequest<'_>>, body: &Bytes) -> Option<(u64, Option<Step>)> {
        let mut script = self.script.lock().await;
        script.steps.as_ref()?;
        let _ = self.events.try_send(Event::Other);
        script.requests += 1;
        let n = script.requests;
        let kind = chat.map_or(RequestKind::Other, ChatRequest::kind);
        let mut step = None;
        match kind {
            RequestKind::Primary => {
                script.report.primary += 1;
                step = script.steps.as_mut().and_then(VecDeque::pop_front);
                script.report.exhausted += u64::from(step.is_none());
            }
            RequestKind::Auxiliary => script.report.auxiliary += 1,
            RequestKind::Judge | RequestKind::Other => {}
        }
        let (line, cut) = record::line(n, kind, &head.headers, body);
        script.dropped += cut;
        let size = line.len() as u64;
        if script.recorded + size <= self.record_bytes {
            script.recorded += size;
            // When nobody reads any more the run is about to be ended; the answer is the same until then.
            let _ = self.output.send(Kind::StubRequest, line).await;
        } else {
            script.dropped += size;
        }
        Some((n, step))
    }
}

/// Listens at an address of loopback.
pub(crate) async fn listen(address: &str) -> io::Result<TcpListener> {
    TcpListener::bind(address).await
}

// The service is instantiated for the server's own body type only; tests use another one.
const _: fn(Arc<Stub>, Request<Incoming>) = |stub, request| drop(stub.answer(request));

#[cfg(test)]
mod tests;
