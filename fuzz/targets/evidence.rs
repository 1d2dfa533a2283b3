//! Evidence of a case, from bytes to a verdict: standard output, standard error and the three probe channels, parted by a line `---`.
//! Counts never exceed the input, and a load case never passes unless the input holds the evidence for it, looked for here by other means
//! than the judge's. It must never take the judge's own parser for the oracle.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use ocsweep_executor::evidence::{Observation, RawEvidence};
use ocsweep_executor::judge::judge;
use ocsweep_proto::agent::{Exit, Export, Preflight, RequestKind, StubRequest};
use ocsweep_proto::axes::{Jit, Line, Tier};
use ocsweep_proto::config::{InventoryExpect, LogLevel};
use ocsweep_proto::digest::Digest;
use ocsweep_proto::ids::{ScenarioId, VariantName};
use ocsweep_proto::job::{CaseWork, Entries, Host, Overlay, ServerEntry, Subject};
use ocsweep_proto::limits::Limits;
use serde_json::{Map, Value, json};

fuzz_target!(|input: &[u8]| {
    let raw = raw(input);
    let seen = Observation::of(&raw);
    let lines = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').count();
    // A line may hold several events, each at least as long as `{"type":""}`.
    let events = raw.stdout.len() / 2 + 1;
    assert!(seen.events.texts.len() + seen.events.tool_uses.len() + seen.events.errors.len() <= events);
    assert!(seen.events.steps + seen.events.finishes <= events as u64);
    assert!(seen.noise.lines <= lines(&raw.stdout) as u64 && seen.noise.first.len() <= 20);
    assert!(seen.log.len() <= lines(&raw.stderr));
    assert!(seen.pre.len() <= lines(&raw.probe_pre) && seen.post.len() <= lines(&raw.probe_post));
    let observer = lines(&raw.probe_observer);
    assert!(seen.plugin.factories.len() <= observer && seen.plugin.hooks.len() <= observer && seen.plugin.tools.len() <= observer);
    assert!(seen.calls.len() <= lines(&raw.probe_pre) + lines(&raw.probe_post) + events);
    let judgement = judge(work(), &raw);
    if judgement.reason.is_none() && judgement.skipped.is_none() {
        assert!(judgement.failures.is_empty(), "a pass with failures");
        assert!(holds(&raw.probe_observer, "factory.end"), "a pass although no factory has ended");
        assert!(holds(&raw.probe_pre, "setup") && holds(&raw.probe_post, "setup"), "a pass although a probe was not alive");
        assert!(holds(&raw.probe_post, "inventory"), "a pass without an inventory");
    }
});

/// Whether a line is a JSON object of this kind.
fn holds(bytes: &[u8], kind: &str) -> bool {
    bytes.split(|byte| *byte == b'\n').any(|line| {
        let text = String::from_utf8_lossy(line);
        serde_json::from_str::<Value>(&text).is_ok_and(|value| value.get("kind").and_then(Value::as_str) == Some(kind))
    })
}

fn raw(input: &[u8]) -> RawEvidence {
    let mut parts = Vec::new();
    let mut rest = input;
    while let Some(at) = rest.windows(5).position(|window| window == b"\n---\n").filter(|_| parts.len() < 4) {
        parts.push(rest[..at].to_vec());
        rest = &rest[at + 5..];
    }
    parts.push(rest.to_vec());
    parts.resize(5, Vec::new());
    let mut parts = parts.into_iter();
    let mut next = || parts.next().unwrap_or_default();
    let mut raw = RawEvidence {
        stdout: next(),
        stderr: next(),
        probe_pre: next(),
        probe_observer: next(),
        probe_post: next(),
        complete: true,
        ..RawEvidence::default()
    };
    raw.report.exit = Some(Exit::Code(0));
    raw.report.stub.primary = 1;
    raw.report.preflight =
        Some(Preflight::Imported(vec![Export { name: "Plugin".to_owned(), kind: "function".to_owned(), ..Export::default() }]));
    let body = json!({"messages": [{"role": "system", "content": "You are."}], "tools": []});
    raw.stub_requests = vec![StubRequest { n: 1, t: 0, kind: RequestKind::Primary, headers: Default::default(), body }];
    raw
}

fn work() -> &'static CaseWork {
    static WORK: OnceLock<CaseWork> = OnceLock::new();
    WORK.get_or_init(|| CaseWork {
        subject: Subject {
            name: "example".to_owned(),
            revision: None,
            digest: Digest::of(b"subject"),
            directory: String::new(),
            entries: Entries {
                server: Some(ServerEntry { path: "index.js".to_owned(), rule: "main".to_owned(), not_resolved: None, engines: None }),
                tui: None,
                tui_only: false,
            },
            npm: None,
            warnings: Vec::new(),
        },
        host: Host { requested: "latest".to_owned(), resolved: "1.18.33".to_owned(), line: Line::V1, digest: Digest::of(b"host") },
        variant: VariantName::default_variant(),
        tier: Tier::Load,
        id: ScenarioId::load(),
        scenario: None,
        expect: InventoryExpect::default(),
        options: Map::new(),
        log_level: LogLevel::Info,
        overlay: Overlay::default(),
        jit: Jit::Full,
        bun: None,
        limits: Limits::default(),
    })
}
