//! A small HTTP server for tests that stands for a registry, with the ways in which one misbehaves.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha512};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::{Deadlines, Environment, Registry, Settings};

/// One answer of the server.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    Body(Vec<u8>),
    Gzip(Vec<u8>),
    Status(u16),
    Redirect(String),
    /// A body that ends before its declared length.
    Truncated(Vec<u8>),
    /// Headers, then silence.
    Stalled,
    /// The connection is closed without an answer.
    Closed,
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) authorization: Option<String>,
}

#[derive(Debug, Default)]
struct State {
    routes: HashMap<String, Vec<Reply>>,
    seen: Vec<Seen>,
}

/// The server. It stops when it is dropped.
#[derive(Debug)]
pub(crate) struct TestServer {
    pub(crate) url: String,
    state: Arc<Mutex<State>>,
    _task: JoinSet<()>,
}

impl TestServer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State::default()));
        let mut task = JoinSet::new();
        let shared = state.clone();
        task.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, shared.clone()));
            }
        });
        Self { url, state, _task: task }
    }

    /// Answers to a path, one for each request; the last one repeats.
    pub(crate) fn route(&self, path: &str, replies: &[Reply]) -> &Self {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).routes.insert(path.to_owned(), replies.to_vec());
        self
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).seen.clone()
    }

    pub(crate) fn count(&self, path: &str) -> usize {
        self.seen().iter().filter(|seen| seen.path == path).count()
    }

    /// A client for this server, with short times.
    pub(crate) fn client(&self) -> Registry {
        self.client_with(&[])
    }

    pub(crate) fn client_with(&self, pairs: &[(&str, &str)]) -> Registry {
        let mut layer: Vec<(String, String)> = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        layer.push(("registry".to_owned(), self.url.clone()));
        let settings = Settings::from_layers(&[layer]).unwrap();
        let deadlines = Deadlines {
            idle: Duration::from_millis(300),
            backoff: Duration::ZERO,
            document_bytes: 100_000,
            tarball_bytes: 3_000_000,
            ..Deadlines::default()
        };
        Registry::new(settings, &Environment::default(), deadlines).unwrap()
    }

    /// Publishes a package: its document and one tarball for all given versions.
    pub(crate) fn publish(&self, name: &str, versions: &[&str], extra: &Value, tarball: &[u8]) {
        let file = format!("{}.tgz", name.replace('/', "-"));
        let mut manifests = serde_json::Map::new();
        for version in versions {
            let dist = json!({"tarball": format!("{}files/{file}", self.url), "integrity": sri(tarball)});
            let mut manifest = json!({"name": name, "version": version, "dist": dist});
            for (key, value) in extra.as_object().into_iter().flatten() {
                manifest[key] = value.clone();
            }
            manifests.insert((*version).to_owned(), manifest);
        }
        let latest = versions.last().copied().unwrap_or_default();
        let document = json!({"name": name, "dist-tags": {"latest": latest}, "versions": manifests});
        self.route(&format!("/{}", name.replace('/', "%2f")), &[Reply::Body(document.to_string().into_bytes())]);
        self.route(&format!("/files/{file}"), &[Reply::Body(tarball.to_vec())]);
    }
}

/// The `integrity` field of some bytes.
pub(crate) fn sri(bytes: &[u8]) -> String {
    format!("sha512-{}", STANDARD.encode(Sha512::digest(bytes)))
}

async fn serve(mut stream: TcpStream, state: Arc<Mutex<State>>) {
    let mut request = Vec::new();
    while !request.windows(4).any(|window| window == b"\r\n\r\n") {
        match stream.read_buf(&mut request).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    }
    let text = String::from_utf8_lossy(&request);
    let path = text.split(' ').nth(1).unwrap_or_default().to_owned();
    let authorization =
        text.lines().find_map(|line| line.to_ascii_lowercase().starts_with("authorization:").then(|| line[14..].trim().to_owned()));
    let reply = {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.seen.push(Seen { path: path.clone(), authorization });
        match state.routes.get_mut(&path) {
            None => Reply::Status(404),
            Some(replies) if replies.len() > 1 => replies.remove(0),
            Some(replies) => replies.first().cloned().unwrap_or(Reply::Closed),
        }
    };
    // A client that gives up is part of many tests.
    let _ = answer(&mut stream, reply).await;
}

async fn answer(stream: &mut TcpStream, reply: Reply) -> std::io::Result<()> {
    let (status, headers, body, length) = match reply {
        Reply::Closed => return Ok(()),
        Reply::Stalled => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc").await?;
            return std::future::pending().await;
        }
        Reply::Body(body) => (200, String::new(), body.clone(), body.len()),
        Reply::Gzip(body) => (200, "Content-Encoding: gzip\r\n".to_owned(), body.clone(), body.len()),
        Reply::Truncated(body) => (200, String::new(), body.clone(), body.len() + 100),
        Reply::Status(status) => (status, String::new(), Vec::new(), 0),
        Reply::Redirect(to) => (302, format!("Location: {to}\r\n"), Vec::new(), 0),
    };
    let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n");
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(&body).await?;
    stream.shutdown().await
}
