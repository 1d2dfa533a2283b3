//! A run that passes, to be changed by tests.

use ocsweep_proto::agent::{Exit, Export, Preflight, RequestKind, StubRequest};
use ocsweep_proto::axes::{Line, Tier};
use ocsweep_proto::config::{InventoryExpect, LogLevel};
use ocsweep_proto::digest::Digest;
use ocsweep_proto::ids::{ScenarioId, VariantName};
use ocsweep_proto::job::{CaseWork, Entries, Host, ServerEntry, Subject};
use ocsweep_proto::limits::Limits;
use ocsweep_proto::scenario::Scenario;
use serde_json::{Map, Value, json};

use crate::evidence::RawEvidence;
use crate::judge::{Judgement, judge};

pub(in crate::judge) struct Run {
    pub(in crate::judge) work: CaseWork,
    pub(super) raw: RawEvidence,
    pub(super) observer: Vec<Value>,
    pub(super) pre: Vec<Value>,
    pub(super) post: Vec<Value>,
    pub(super) events: Vec<Value>,
}

impl Run {
    pub(in crate::judge) fn load() -> Self {
        let mut raw = RawEvidence { complete: true, ..RawEvidence::default() };
        raw.report.exit = Some(Exit::Code(0));
        raw.report.stub.primary = 1;
        raw.report.preflight = Some(Preflight::Imported(vec![export("Plugin", "function", &[])]));
        raw.stub_requests =
            vec![request(json!({"messages": [{"role": "system", "content": "You are."}], "tools": [function("bash", json!({}))]}))];
        Self {
            work: work(),
            raw,
            observer: vec![
                json!({"kind": "setup"}),
                json!({"kind": "import", "exports": []}),
                start(1, "Plugin"),
                end(1, "object", &["event"]),
            ],
            pre: vec![json!({"kind": "setup"})],
            post: vec![
                json!({"kind": "setup"}),
                json!({"kind": "inventory", "tools": ["bash", "read"], "plugins": ["file:///run/ocsweep/assets/observer.mjs"]}),
            ],
            events: vec![
                json!({"type": "step_start", "sessionID": "s", "part": {}}),
                json!({"type": "text", "sessionID": "s", "part": {"text": "ok"}}),
                json!({"type": "step_finish", "sessionID": "s", "part": {"reason": "stop", "cost": 0.25, "tokens": {"input": 7}}}),
            ],
        }
    }

    /// A scripted run; `expect` is JSON.
    pub(super) fn scripted(expect: &str) -> Self {
        let mut run = Self::load();
        run.work.tier = Tier::Scripted;
        let expect: Value = serde_json::from_str(expect).unwrap();
        let scenario = json!({"id": "turn", "mode": "scripted", "prompt": "Say hi.", "script": [{"text": "ok"}], "expect": expect});
        run.work.scenario = Some(serde_json::from_value(scenario).unwrap());
        run.work.id = ScenarioId::new("turn").unwrap();
        run
    }

    /// A module that is a TUI plugin.
    pub(super) fn tui(tier: Tier) -> Self {
        let mut run = Self::load();
        run.work.tier = tier;
        run.raw.report.preflight = Some(Preflight::Imported(vec![export("default", "object", &[("id", "string"), ("tui", "function")])]));
        run
    }

    pub(super) fn scenario(&mut self) -> &mut Scenario {
        self.work.scenario.as_mut().unwrap()
    }

    /// A host that ended without doing anything.
    pub(super) fn silent(mut self, exit: Exit) -> Self {
        self.events.clear();
        self.raw.report.exit = Some(exit);
        self.raw.report.stub.primary = 0;
        self.raw.stub_requests.clear();
        self
    }

    /// One tool call in all the places in which a real one shows.
    pub(super) fn call(&mut self, tool: &str, input: Value, output: &str) {
        let id = format!("call_{}", self.events.len());
        let before = json!({"kind": "tool.before", "tool": tool, "callID": id, "input": input, "t": 1});
        self.pre.push(before.clone());
        self.post.push(before);
        self.post.push(json!({"kind": "tool.after", "tool": tool, "callID": id, "result": {"output": output}, "t": 2}));
        let state = json!({"status": "completed", "input": input, "output": output});
        self.events.push(json!({"type": "tool_use", "sessionID": "s", "part": {"tool": tool, "callID": id, "state": state}}));
    }

    /// A call that only the event shows.
    pub(super) fn failed_call(&mut self, tool: &str, input: Value, error: &str) {
        let id = format!("call_{}", self.events.len());
        let state = json!({"status": "error", "input": input, "error": error});
        self.events.push(json!({"type": "tool_use", "sessionID": "s", "part": {"tool": tool, "callID": id, "state": state}}));
    }

    pub(super) fn error_event(&mut self, error: Value) {
        self.events.push(json!({"type": "error", "sessionID": "s", "error": error}));
    }

    pub(super) fn log(&mut self, line: &str) {
        self.raw.stderr.extend_from_slice(format!("timestamp=2026 {line}\n").as_bytes());
    }

    pub(super) fn judge(&self) -> Judgement {
        let mut raw = self.raw.clone();
        raw.probe_pre = lines(&self.pre);
        raw.probe_post = lines(&self.post);
        raw.probe_observer = lines(&self.observer);
        raw.stdout = [raw.stdout, lines(&self.events)].concat();
        judge(&self.work, &raw)
    }
}

pub(super) fn export(name: &str, kind: &str, keys: &[(&str, &str)]) -> Export {
    let keys = keys.iter().map(|(key, kind)| ((*key).to_owned(), (*kind).to_owned())).collect();
    Export { name: name.to_owned(), kind: kind.to_owned(), keys, ..Export::default() }
}

pub(super) fn start(id: u64, export: &str) -> Value {
    json!({"kind": "factory.start", "id": id, "export": export})
}

pub(super) fn end(id: u64, returned: &str, hooks: &[&str]) -> Value {
    let types: Map<String, Value> = hooks.iter().map(|hook| ((*hook).to_owned(), json!("function"))).collect();
    json!({"kind": "factory.end", "id": id, "returned": returned, "hooks": hooks, "hookTypes": types})
}

pub(super) fn request(body: Value) -> StubRequest {
    StubRequest { n: 1, t: 0, kind: RequestKind::Primary, headers: Default::default(), body }
}

pub(super) fn function(name: &str, parameters: Value) -> Value {
    json!({"type": "function", "function": {"name": name, "parameters": parameters}})
}

fn lines(records: &[Value]) -> Vec<u8> {
    records.iter().map(|record| format!("{record}\n")).collect::<String>().into_bytes()
}

fn work() -> CaseWork {
    let server = ServerEntry { path: "index.js".to_owned(), rule: "package.json \"main\"".to_owned(), not_resolved: None, engines: None };
    CaseWork {
        subject: Subject {
            name: "example".to_owned(),
            revision: None,
            digest: Digest::of(b"subject"),
            directory: String::new(),
            entries: Entries { server: Some(server), tui: None, tui_only: false },
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
        overlay: ocsweep_proto::job::Overlay::default(),
        jit: ocsweep_proto::axes::Jit::Full,
        bun: None,
        limits: Limits::default(),
    }
}
