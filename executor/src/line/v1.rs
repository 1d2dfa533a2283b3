//! Line v1 (`opencode-ai` 1.x): command line, environment, configuration files and seeds of a case.
//!
//! Every setting here answers something that the real binary was seen to do; it must never guess at a result, and it never names a model
//! outside the global configuration, because a scenario's own project configuration may choose another.

use std::collections::BTreeMap;

use ocsweep_proto::agent::{HostTask, ObservedPlugin, Preflight, Root, Seed, StandIn, Task, paths};
use ocsweep_proto::config::LogLevel;
use ocsweep_proto::job::CaseWork;
use serde_json::{Value, json};

use super::{LineError, base_env, conversation, file, in_bundle, pretty, read_files, readme, tui_task};

/// The provider and the models that the stub answers for. Two models, so that a title request can be told by its model.
const PROVIDER: &str = "stub";
const MODEL: &str = "stub/m1";
const SMALL_MODEL: &str = "stub/m1-small";

/// Below HOME: the directory of the global configuration.
const GLOBAL_CONFIG: &str = "xdg/config/opencode";

pub(super) fn parts(work: &CaseWork, preflight: Option<Preflight>) -> Result<(Task, Vec<Seed>), LineError> {
    let task = if work.subject.entries.tui_only { tui_task(work)? } else { host_task(work, preflight)? };
    Ok((task, seeds(work)?))
}

fn host_task(work: &CaseWork, preflight: Option<Preflight>) -> Result<Task, LineError> {
    let server = work.subject.entries.server.as_ref().ok_or(LineError::NoEntry)?;
    let (stdin, script) = conversation(work);
    Ok(Task::Host(Box::new(HostTask {
        argv: argv(work.log_level),
        env: host_env(work)?,
        stdin,
        script,
        plugin: ObservedPlugin { entry: in_bundle(&server.path), npm: work.subject.npm.clone(), preflight, stand_in: StandIn::Observer },
        read_files: read_files(work),
    })))
}

/// `--title` saves the title request, which would race with the first primary one. The prompt goes to standard input, because a prompt
/// with blanks on the command line reaches the model in quotes.
fn argv(log_level: LogLevel) -> Vec<String> {
    let level = match log_level {
        LogLevel::Info => "INFO",
        LogLevel::All => "DEBUG",
    };
    [paths::HOST, "run", "--auto", "--format", "json", "--print-logs", "--log-level", level, "--title", "ocsweep"]
        .map(str::to_owned)
        .to_vec()
}

fn host_env(work: &CaseWork) -> Result<BTreeMap<String, String>, LineError> {
    let mut env = base_env(work);
    let post = json!({"plugin": [[asset_url("probe-post.mjs"), {"out": format!("{}/post.fifo", paths::PROBE)}]]});
    let own = [
        // An empty catalogue saves about a third of the CPU and 130 MB; the stub's models come from the configuration.
        ("OPENCODE_MODELS_PATH", format!("{}/models.json", paths::ASSETS)),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
        ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1".to_owned()),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1".to_owned()),
        ("OPENCODE_DISABLE_SHARE", "1".to_owned()),
        // Read last of all sources, so that the post probe's hooks run after every plugin's. It must not carry a model.
        ("OPENCODE_CONFIG_CONTENT", serde_json::to_string(&post)?),
    ];
    env.extend(own.into_iter().map(|(name, value)| (name.to_owned(), value)));
    env.extend(super::jit_env(work.jit).iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    Ok(env)
}

fn asset_url(name: &str) -> String {
    format!("file://{}/{name}", paths::ASSETS)
}

fn seeds(work: &CaseWork) -> Result<Vec<Seed>, LineError> {
    let mut seeds = vec![
        file(Root::Assets, "models.json".to_owned(), "{}".to_owned()),
        file(Root::Home, format!("{GLOBAL_CONFIG}/opencode.json"), pretty(&global_config(work))?),
        readme(),
    ];
    seeds.extend(install_seeds(Root::Home, GLOBAL_CONFIG, &work.host.resolved)?);
    let workspace = work.scenario.iter().flat_map(|scenario| &scenario.workspace);
    let mut own_config_dir = false;
    for (path, contents) in workspace {
        own_config_dir |= path.starts_with(".opencode/");
        seeds.retain(|seed| seed.root != Root::Project || seed.path != *path);
        seeds.push(file(Root::Project, path.clone(), contents.clone()));
    }
    if own_config_dir {
        let present: Vec<String> = seeds.iter().filter(|seed| seed.root == Root::Project).map(|seed| seed.path.clone()).collect();
        let wanted = install_seeds(Root::Project, ".opencode", &work.host.resolved)?;
        seeds.extend(wanted.into_iter().filter(|seed| !present.contains(&seed.path)));
    }
    Ok(seeds)
}

/// Without these the host tries to install its plugin package into every configuration directory before it loads plugins, and offline
/// that takes 70 seconds each.
fn install_seeds(root: Root, directory: &str, version: &str) -> Result<Vec<Seed>, LineError> {
    let dependencies = json!({"@opencode-ai/plugin": version});
    let lock = json!({"name": "opencode", "lockfileVersion": 3, "requires": true, "packages": {"": {"dependencies": dependencies}}});
    let seed = |name: &str, contents: Option<String>| Seed { root, path: format!("{directory}/{name}"), contents };
    Ok(vec![
        seed("package.json", Some(pretty(&json!({"dependencies": dependencies}))?)),
        seed("package-lock.json", Some(pretty(&lock)?)),
        seed("node_modules", None),
    ])
}

fn global_config(work: &CaseWork) -> Value {
    let limit = json!({"context": 128_000, "output": 4096});
    let own = json!({
        "$schema": "https://opencode.ai/config.json",
        "model": MODEL,
        "small_model": SMALL_MODEL,
        "autoupdate": false,
        "share": "disabled",
        "provider": {PROVIDER: {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Stub",
            "options": {"baseURL": format!("http://{}/v1", paths::STUB), "apiKey": "stub"},
            "models": {
                "m1": {"name": "M1", "limit": limit, "cost": {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75}},
                "m1-small": {"name": "M1 small", "limit": limit},
            },
        }},
        "plugin": [
            [asset_url("probe-pre.mjs"), {"out": format!("{}/pre.fifo", paths::PROBE)}],
            [asset_url("observer.mjs"), work.options],
        ],
    });
    super::merged(&work.overlay.config, own)
}

#[cfg(test)]
#[path = "v1/tests.rs"]
mod tests;
