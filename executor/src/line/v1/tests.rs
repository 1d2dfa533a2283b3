//! What a v1 case is set up with, where a slip would be silent: the host accepts unknown or misplaced settings without a word.

use std::collections::BTreeSet;

use ocsweep_proto::agent::AgentJob;
use ocsweep_proto::axes::{Line, Tier};
use ocsweep_proto::config::InventoryExpect;
use ocsweep_proto::digest::Digest;
use ocsweep_proto::ids::{ScenarioId, VariantName};
use ocsweep_proto::job::{Entries, Host, ServerEntry, Subject};
use ocsweep_proto::limits::Limits;

use super::super::agent_job;
use super::*;

fn work(scenario: Option<Value>) -> CaseWork {
    CaseWork {
        subject: Subject {
            name: "p".to_owned(),
            revision: None,
            digest: Digest::of(b"p"),
            directory: String::new(),
            entries: Entries {
                server: Some(ServerEntry { path: "a b/index.js".to_owned(), rule: String::new(), not_resolved: None, engines: None }),
                tui: None,
                tui_only: false,
            },
            npm: None,
            warnings: Vec::new(),
        },
        host: Host { requested: "latest".to_owned(), resolved: "1.18.33".to_owned(), line: Line::V1, digest: Digest::of(b"h") },
        variant: VariantName::default_variant(),
        tier: Tier::Scripted,
        id: ScenarioId::new("s").unwrap(),
        scenario: scenario.map(|value| serde_json::from_value(value).unwrap()),
        expect: InventoryExpect::default(),
        options: json!({"x": 1}).as_object().unwrap().clone(),
        log_level: LogLevel::Info,
        overlay: ocsweep_proto::job::Overlay::default(),
        jit: ocsweep_proto::axes::Jit::Full,
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

fn seed<'a>(job: &'a AgentJob, path: &str) -> Option<&'a Seed> {
    job.seeds.iter().find(|seed| seed.path == path)
}

#[test]
fn probes_stand_around_the_plugin_and_only_the_global_config_names_a_model() {
    let job = agent_job(&work(None), None).unwrap();
    let global: Value =
        serde_json::from_str(seed(&job, "xdg/config/opencode/opencode.json").unwrap().contents.as_deref().unwrap()).unwrap();
    assert_eq!(global["plugin"][0][0], "file:///run/ocsweep/assets/probe-pre.mjs");
    assert_eq!(global["plugin"][1], json!(["file:///run/ocsweep/assets/observer.mjs", {"x": 1}]));
    assert_eq!(global["plugin"].as_array().unwrap().len(), 2);
    let last: Value = serde_json::from_str(&host(&job).env["OPENCODE_CONFIG_CONTENT"]).unwrap();
    assert_eq!(last["plugin"][0][0], "file:///run/ocsweep/assets/probe-post.mjs");
    assert_eq!(last.as_object().unwrap().keys().collect::<Vec<_>>(), ["plugin"], "a model here would override the project's own");
    assert!(!host(&job).argv.iter().any(|arg| arg == "--model"));
}

#[test]
fn the_prompt_is_exact_and_not_on_the_command_line() {
    let job = agent_job(&work(Some(json!({"id": "s", "mode": "scripted", "prompt": "do it now\n", "script": []}))), None).unwrap();
    assert_eq!(host(&job).stdin, "do it now\n");
    assert!(!host(&job).argv.iter().any(|arg| arg.contains("do it")));
}

#[test]
fn every_config_directory_is_seeded_and_what_the_workspace_brings_wins() {
    let names = |job: &AgentJob| job.seeds.iter().map(|seed| (seed.root, seed.path.clone())).collect::<BTreeSet<_>>();
    let plain = agent_job(&work(None), None).unwrap();
    for name in ["package.json", "package-lock.json", "node_modules"] {
        assert!(seed(&plain, &format!("xdg/config/opencode/{name}")).is_some(), "{name}");
        assert!(!names(&plain).contains(&(Root::Project, format!(".opencode/{name}"))));
    }
    let workspace = json!({".opencode/plugins/dup.js": "", ".opencode/package.json": "{\"mine\":1}", "README.md": "own"});
    let scenario = json!({"id": "s", "mode": "scripted", "prompt": "x", "script": [], "workspace": workspace});
    let job = agent_job(&work(Some(scenario)), None).unwrap();
    assert_eq!(seed(&job, ".opencode/package.json").unwrap().contents.as_deref(), Some("{\"mine\":1}"));
    assert!(seed(&job, ".opencode/package-lock.json").is_some() && seed(&job, ".opencode/node_modules").is_some());
    assert_eq!(seed(&job, "README.md").unwrap().contents.as_deref(), Some("own"));
    assert_eq!(names(&job).len(), job.seeds.len(), "no file twice");
}

#[test]
fn the_environment_is_an_allow_list_with_xdg_away_from_its_defaults() {
    let job = agent_job(&work(None), None).unwrap();
    let env = &host(&job).env;
    for (name, value) in env {
        assert!(!value.contains("/.config"), "{name}");
    }
    assert!(env["XDG_CONFIG_HOME"].starts_with(&format!("{}/", env["HOME"])));
    assert!(
        env.keys().all(|name| name.starts_with("OPENCODE_")
            || name.starts_with("XDG_")
            || name.starts_with("GIT_CONFIG")
            || ["PATH", "HOME", "TMPDIR", "PWD", "TERM", "LANG", "TZ"].contains(&name.as_str())),
        "{env:?}"
    );
}

#[test]
fn a_tui_only_subject_gets_the_static_check() {
    let mut work = work(None);
    work.subject.entries = Entries { server: None, tui: Some("tui.ts".to_owned()), tui_only: true };
    let job = agent_job(&work, None).unwrap();
    assert!(matches!(&job.task, Task::TuiCheck(task) if task.entry == "/opt/ocsweep/bundle/tui.ts" && task.env["BUN_BE_BUN"] == "1"));
}

#[test]
fn files_that_the_scenario_asks_for_are_read_back() {
    let scenario =
        json!({"id": "s", "mode": "scripted", "prompt": "x", "script": [], "expect": {"files": [{"path": "../x"}, {"path": "a"}]}});
    let job = agent_job(&work(Some(scenario)), None).unwrap();
    assert_eq!(host(&job).read_files, ["../x", "a"]);
}
