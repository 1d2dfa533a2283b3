//! Line v2 (`@opencode/cli` 2.x): command line, environment and configuration of a case.
//!
//! The host's package cannot be installed where this is built, so every setting rests on the recorded facts; `docs/v2-unverified.md` lists
//! what only a real binary can show. It must never guess at a result, and never switch the project's own configuration off: a container has
//! no ancestor, and a scenario's configuration is part of the test.

use std::collections::BTreeMap;

use ocsweep_proto::agent::{HostTask, ObservedPlugin, Preflight, Root, Seed, StandIn, Task, paths};
use ocsweep_proto::config::LogLevel;
use ocsweep_proto::job::CaseWork;
use serde_json::{Value, json};

use super::{LineError, base_env, conversation, file, in_bundle, pretty, read_files, readme, tui_task};

/// The provider and the model that the stub answers for.
const PROVIDER: &str = "stub";
const MODEL: &str = "stub/m1";

/// Below HOME: the global configuration.
const GLOBAL_CONFIG: &str = "xdg/config/opencode/opencode.jsonc";

pub(super) fn parts(work: &CaseWork, preflight: Option<Preflight>) -> Result<(Task, Vec<Seed>), LineError> {
    let task = if work.subject.entries.tui_only { tui_task(work)? } else { host_task(work, preflight)? };
    Ok((task, seeds(work)?))
}

fn host_task(work: &CaseWork, preflight: Option<Preflight>) -> Result<Task, LineError> {
    let server = work.subject.entries.server.as_ref().ok_or(LineError::NoEntry)?;
    let (prompt, script) = conversation(work);
    Ok(Task::Host(Box::new(HostTask {
        argv: argv(work.log_level),
        env: host_env(work),
        stdin: prompt,
        script,
        plugin: ObservedPlugin { entry: in_bundle(&server.path), npm: work.subject.npm.clone(), preflight, stand_in: StandIn::Shim },
        read_files: read_files(work),
    })))
}

/// Without `--standalone` the host leaves a service behind that outlives the run. The prompt goes to standard input, because every argument
/// with a blank reaches the model in quotes.
fn argv(log_level: LogLevel) -> Vec<String> {
    let level = match log_level {
        LogLevel::Info => "info",
        LogLevel::All => "all",
    };
    let run = ["run", "--standalone", "--auto", "--format", "json", "--print-logs", "--log-level", level, "--title", "ocsweep"];
    std::iter::once(paths::HOST).chain(run).map(str::to_owned).collect()
}

fn host_env(work: &CaseWork) -> BTreeMap<String, String> {
    // The server is a process of its own: what the flag may not carry over to it, its environment does.
    let log_level = match work.log_level {
        LogLevel::Info => "INFO",
        LogLevel::All => "DEBUG",
    };
    let own = [("OPENCODE_DISABLE_AUTOUPDATE", "1"), ("OPENCODE_DISABLE_MODELS_FETCH", "1"), ("OPENCODE_LOG_LEVEL", log_level)];
    let mut env = base_env(work);
    env.extend(own.iter().chain(super::jit_env(work.jit)).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    env
}

fn seeds(work: &CaseWork) -> Result<Vec<Seed>, LineError> {
    let mut seeds = vec![file(Root::Home, GLOBAL_CONFIG.to_owned(), pretty(&global_config(work))?), readme()];
    for (path, contents) in work.scenario.iter().flat_map(|scenario| &scenario.workspace) {
        seeds.retain(|seed| seed.root != Root::Project || seed.path != *path);
        seeds.push(file(Root::Project, path.clone(), contents.clone()));
    }
    Ok(seeds)
}

/// Hooks run in the order of this list, so the probes stand in front of the plugin and behind it.
fn global_config(work: &CaseWork) -> Value {
    let probe = |phase: &str| {
        let package = format!("{}/probe-{phase}", paths::ASSETS);
        json!({"package": package, "options": {"out": format!("{}/{phase}.fifo", paths::PROBE), "phase": phase}})
    };
    let own = json!({
        "model": MODEL,
        "update": "disable",
        "share": "disabled",
        "snapshots": false,
        "providers": {PROVIDER: {
            "name": "Stub",
            // The host has its own implementation of this one; nothing is installed.
            "package": "aisdk:@ai-sdk/openai-compatible",
            "settings": {"baseURL": format!("http://{}/v1", paths::STUB), "apiKey": "stub"},
            "models": {"m1": {
                "name": "M1",
                "capabilities": {"tools": true, "input": ["text"], "output": ["text"]},
                "limit": {"context": 128_000, "output": 4096},
            }},
        }},
        "plugins": [probe("pre"), {"package": paths::SHIM, "options": work.options}, probe("post")],
    });
    super::merged(&work.overlay.config, own)
}

#[cfg(test)]
#[path = "v2/tests.rs"]
mod tests;
