//! What a v2 case is set up with, where a slip would be silent: unknown settings are ignored without a word.

use ocsweep_proto::agent::AgentJob;
use ocsweep_proto::axes::{Jit, Line, Tier};
use ocsweep_proto::config::InventoryExpect;
use ocsweep_proto::digest::Digest;
use ocsweep_proto::ids::{ScenarioId, VariantName};
use ocsweep_proto::job::{Entries, Host, Overlay, ServerEntry, Subject};
use ocsweep_proto::limits::Limits;

use super::super::agent_job;
use super::*;

fn work(scenario: Option<Value>) -> CaseWork {
    let server = ServerEntry { path: "a b/index.js".to_owned(), rule: String::new(), not_resolved: None, engines: None };
    CaseWork {
        subject: Subject {
            name: "p".to_owned(),
            revision: None,
            digest: Digest::of(b"p"),
            directory: String::new(),
            entries: Entries { server: Some(server), tui: None, tui_only: false },
            npm: None,
            warnings: Vec::new(),
        },
        host: Host { requested: "v2".to_owned(), resolved: "2.0.26".to_owned(), line: Line::V2, digest: Digest::of(b"h") },
        variant: VariantName::default_variant(),
        tier: Tier::Scripted,
        id: ScenarioId::new("s").unwrap(),
        scenario: scenario.map(|value| serde_json::from_value(value).unwrap()),
        expect: InventoryExpect::default(),
        options: json!({"x": 1}).as_object().unwrap().clone(),
        log_level: LogLevel::Info,
        overlay: Overlay::default(),
        jit: Jit::Full,
        bun: None,
        limits: Limits::default(),
    }
}

fn host(job: &AgentJob) -> &HostTask {
    match &job.task {
        Task::Host(task) => task,
        Task::TuiCheck(_) => panic!("not a host task"),
    }
}

fn config(job: &AgentJob) -> Value {
    let seed = job.seeds.iter().find(|seed| seed.root == Root::Home && seed.path == "xdg/config/opencode/opencode.jsonc").unwrap();
    serde_json::from_str(seed.contents.as_deref().unwrap()).unwrap()
}

#[test]
fn probes_stand_around_the_shim_and_each_has_its_channel() {
    let plugins = config(&agent_job(&work(None), None).unwrap())["plugins"].clone();
    let expected = json!([
        {"package": "/run/ocsweep/assets/probe-pre", "options": {"out": "/run/ocsweep/probe/pre.fifo", "phase": "pre"}},
        {"package": "/run/ocsweep/assets/plugin-under-test", "options": {"x": 1}},
        {"package": "/run/ocsweep/assets/probe-post", "options": {"out": "/run/ocsweep/probe/post.fifo", "phase": "post"}},
    ]);
    assert_eq!(plugins, expected, "swapping the probes would turn every attribution round");
}

#[test]
fn the_host_is_private_and_asks_for_nothing() {
    let job = agent_job(&work(None), None).unwrap();
    let task = host(&job);
    assert_eq!(task.argv[1..3], ["run", "--standalone"]);
    assert!(task.argv.iter().any(|arg| arg == "--auto"));
    assert_eq!(task.env["PWD"], paths::PROJECT);
    assert_eq!(config(&job)["update"], "disable");
    let switches = ["OPENCODE_CONFIG_PROJECT_DISABLE", "OPENCODE_DISABLE_PROJECT_CONFIG"];
    assert!(switches.iter().all(|name| !task.env.contains_key(*name)), "a scenario's own configuration counts");
    assert_eq!(task.plugin.stand_in, StandIn::Shim);
    assert_eq!(task.plugin.entry, "/opt/ocsweep/bundle/a b/index.js");
}

#[test]
fn the_log_level_reaches_client_and_server() {
    for (level, flag, variable) in [(LogLevel::Info, "info", "INFO"), (LogLevel::All, "all", "DEBUG")] {
        let job = agent_job(&CaseWork { log_level: level, ..work(None) }, None).unwrap();
        let at = host(&job).argv.iter().position(|arg| arg == "--log-level").unwrap();
        assert_eq!((host(&job).argv[at + 1].as_str(), host(&job).env["OPENCODE_LOG_LEVEL"].as_str()), (flag, variable));
    }
}

#[test]
fn the_prompt_is_exact_and_the_workspace_wins() {
    let scenario = json!({"id": "s", "mode": "scripted", "prompt": "do it \"now\"", "script": [], "workspace": {"README.md": "own", ".opencode/opencode.json": "{}"}});
    let job = agent_job(&work(Some(scenario)), None).unwrap();
    assert_eq!(host(&job).stdin, "do it \"now\"");
    assert!(!host(&job).argv.iter().any(|arg| arg.contains(' ')));
    let project: Vec<_> =
        job.seeds.iter().filter(|seed| seed.root == Root::Project).map(|seed| (seed.path.as_str(), seed.contents.as_deref())).collect();
    assert_eq!(project, [(".opencode/opencode.json", Some("{}")), ("README.md", Some("own"))]);
}

#[test]
fn the_engine_is_tuned_only_when_asked() {
    let names = |jit| {
        host(&agent_job(&CaseWork { jit, ..work(None) }, None).unwrap()).env.keys().filter(|name| name.starts_with("BUN_JSC_")).count()
    };
    assert_eq!((names(Jit::Full), names(Jit::Reduced)), (0, super::super::jit_env(Jit::Reduced).len()));
}

#[test]
fn a_tui_plugin_is_only_looked_at() {
    let mut tui = work(None);
    tui.subject.entries = Entries { server: None, tui: Some("tui.js".to_owned()), tui_only: true };
    assert!(matches!(agent_job(&tui, None).unwrap().task, Task::TuiCheck(task) if task.entry == "/opt/ocsweep/bundle/tui.js"));
}
