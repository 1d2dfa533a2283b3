//! An engine for one test with a state directory of its own, small archives, and an independent look at the engine by its command line.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::process::Command;
use std::time::Duration;

use ocsweep_executor::container::{Archive, CacheKind, CaseSpec, Claim, ConnectOptions, Contents, Engine, PlainSpec, VolumeName, image};
use ocsweep_proto::digest::Digest;
use ocsweep_proto::ids::{CaseId, SweepId};
use ocsweep_proto::limits::Limits;
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Everything that a test needs.
pub(crate) struct Bench {
    pub(crate) engine: Engine,
    pub(crate) state: TempDir,
    pub(crate) shutdown: CancellationToken,
}

#[expect(clippy::print_stdout, reason = "a skipped test must say so where its output is read")]
pub(crate) fn is_asked_for() -> bool {
    let asked = std::env::var("OCSWEEP_TEST_DOCKER").is_ok_and(|value| value == "1");
    if !asked {
        println!("skipped: needs a Docker engine; set OCSWEEP_TEST_DOCKER=1 to run it");
    }
    asked
}

pub(crate) fn options(state: &TempDir) -> ConnectOptions {
    ConnectOptions { executor: None, state: state.path().to_owned(), deadline: Duration::from_secs(30) }
}

impl Bench {
    /// `None` when tests with an engine are not asked for.
    pub(crate) async fn new() -> Option<Self> {
        if !is_asked_for() {
            return None;
        }
        let state = tempfile::tempdir().unwrap();
        let engine = Engine::connect(&options(&state)).await.expect("OCSWEEP_TEST_DOCKER=1 and no engine answers");
        Some(Self { engine, state, shutdown: CancellationToken::new() })
    }

    /// Removes the cached volumes of the test and proves that nothing is left.
    pub(crate) async fn end(self) {
        let left = self.engine.shutdown(Duration::from_secs(30)).await;
        assert!(left.is_empty(), "left: {left:?}");
        for cached in self.engine.cache_volumes().await.unwrap() {
            if filler_of(&cached.digest) == self.engine.executor() {
                assert!(self.engine.remove_cached(&cached).await.unwrap(), "still in use: {cached:?}");
            }
        }
        let executor = self.engine.executor();
        assert_eq!(docker(&["ps", "-aq", "--filter", &format!("label=ocsweep.executor={executor}")]), "");
        assert_eq!(docker(&["volume", "ls", "-q", "--filter", &format!("label=ocsweep.executor={executor}")]), "");
        assert_eq!(docker(&["volume", "ls", "-q", "--filter", &format!("label=ocsweep.filler={executor}")]), "");
    }

    /// The names of this test's containers.
    pub(crate) fn containers(&self) -> Vec<String> {
        let filter = format!("label=ocsweep.executor={}", self.engine.executor());
        docker(&["ps", "-a", "--format", "{{.Names}}", "--filter", &filter]).lines().map(str::to_owned).collect()
    }

    pub(crate) async fn cached(&self, kind: CacheKind, files: &[(&str, &[u8])]) -> VolumeName {
        let (contents, bytes) = contents(kind, files);
        self.engine.ensure_volume(&contents, || Ok(Archive::read(Cursor::new(bytes.clone())))).await.unwrap()
    }

    /// A case whose agent is a shell script, with some frames beside it.
    pub(crate) async fn case(&self, script: &str, files: &[(&str, &[u8])]) -> CaseSpec {
        // No two tests share a volume.
        let script = format!("#!/bin/bash\n# {}\n{script}\n", self.engine.executor());
        let files: Vec<(&str, &[u8])> = [("ocsweep-agent", script.as_bytes())].into_iter().chain(files.iter().copied()).collect();
        CaseSpec {
            image: image::run(),
            claim: claim(),
            agent: self.cached(CacheKind::Agent, &files).await,
            host: self.cached(CacheKind::Host, &[("opencode", self.engine.executor().as_bytes())]).await,
            bundle: self.cached(CacheKind::Bundle, &[("index.js", self.engine.executor().as_bytes())]).await,
            limits: Limits { memory_bytes: 64 << 20, ..Limits::default() },
            deadline: Duration::from_secs(60),
        }
    }
}

/// A failed test cleans up too: what it leaves would be in the way of a person, not of a test.
impl Drop for Bench {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let executor = self.engine.executor();
            let sweep = |list: &[&str], remove: &[&str]| {
                let Ok(names) = Command::new("docker").args(list).output() else { return };
                for name in String::from_utf8_lossy(&names.stdout).lines() {
                    let _ = Command::new("docker").args(remove).arg(name).output();
                }
            };
            for label in [format!("label=ocsweep.executor={executor}"), format!("label=ocsweep.filler={executor}")] {
                sweep(&["ps", "-aq", "--filter", &label], &["rm", "-f", "-v"]);
                sweep(&["volume", "ls", "-q", "--filter", &label], &["volume", "rm", "-f"]);
            }
        }
    }
}

pub(crate) fn claim() -> Claim {
    Claim { sweep: SweepId::new("test").unwrap(), case: CaseId::new("load-0123").unwrap(), attempt: 3 }
}

pub(crate) fn plain(script: &str) -> PlainSpec {
    PlainSpec {
        image: image::run(),
        claim: claim(),
        argv: ["bash", "-c", script].map(str::to_owned).to_vec(),
        env: BTreeMap::new(),
        volumes: Vec::new(),
        files: Vec::new(),
        tmpfs: Vec::new(),
        network: false,
        uid: 1000,
        workdir: "/".to_owned(),
        memory_bytes: 64 << 20,
        pids: 64,
        nofile: 256,
        output_bytes: 1 << 20,
        deadline: Duration::from_secs(60),
    }
}

/// Contents that no other test has: the name of the first file's contents counts.
pub(crate) fn contents(kind: CacheKind, files: &[(&str, &[u8])]) -> (Contents, Vec<u8>) {
    let bytes = tar(files);
    (Contents { kind, digest: Digest::of(&[kind.as_str().as_bytes(), &bytes].concat()), bytes: bytes.len() as u64 }, bytes)
}

pub(crate) fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o755);
        builder.append_data(&mut header, name, *bytes).unwrap();
    }
    builder.into_inner().unwrap()
}

/// The command line's answer, without its last line end.
pub(crate) fn docker(arguments: &[&str]) -> String {
    let output = Command::new("docker").args(arguments).output().expect("the docker command line is part of the set-up");
    assert!(output.status.success(), "docker {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

pub(crate) fn inspect(container: &str) -> Value {
    let all: Value = serde_json::from_str(&docker(&["inspect", container])).unwrap();
    all[0].clone()
}

fn filler_of(digest: &Digest) -> String {
    let filter = format!("label=ocsweep.digest={digest}");
    docker(&["volume", "ls", "--format", "{{.Label \"ocsweep.filler\"}}", "--filter", &filter])
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}
