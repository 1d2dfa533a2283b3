//! Line v1 (`opencode-ai` 1.x): command line, environment, configuration files and seeds of a case.
//!
//! Every setting here answers something that the real binary was seen to do; it must never guess at a result, and it never names a model
//! outside the global configuration, because a scenario's own project configuration may choose another.

use std::collections::BTreeMap;

use ocsweep_proto::agent::{AgentJob, Deadlines, FORMAT, HostTask, ObservedPlugin, Preflight, Root, Seed, StandIn, Task, TuiTask, paths};
use ocsweep_proto::config::LogLevel;
use ocsweep_proto::job::CaseWork;
use ocsweep_proto::scenario::Step;
use serde_json::{Value, json};

use super::LineError;

/// The prompt and the only answer of the load case.
const LOAD_PROMPT: &str = "Reply with ok.";
const LOAD_ANSWER: &str = "ok";

/// The provider and the models that the stub answers for. Two models, so that a title request can be told by its model.
const PROVIDER: &str = "stub";
const MODEL: &str = "stub/m1";
const SMALL_MODEL: &str = "stub/m1-small";

/// Below HOME: the directory of the global configuration.
const GLOBAL_CONFIG: &str = "xdg/config/opencode";

pub(super) fn agent_job(work: &CaseWork, preflight: Option<Preflight>) -> Result<AgentJob, LineError> {
    let task = if work.subject.entries.tui_only { tui_task(work)? } else { host_task(work, preflight)? };
    Ok(AgentJob {
        format: FORMAT,
        seeds: seeds(work)?,
        task,
        deadlines: Deadlines {
            start: work.limits.start_ms,
            init: work.limits.init_ms,
            no_output: work.limits.no_output_ms,
            total: work.total_ms(),
        },
        stream_bytes: work.limits.stream_bytes,
    })
}

fn in_bundle(relative: &str) -> String {
    format!("{}/{relative}", paths::BUNDLE)
}

fn tui_task(work: &CaseWork) -> Result<Task, LineError> {
    let entry = work.subject.entries.tui.as_deref().or_else(|| Some(work.subject.entries.server.as_ref()?.path.as_str()));
    let mut env = base_env();
    env.insert("BUN_BE_BUN".to_owned(), "1".to_owned());
    Ok(Task::TuiCheck(TuiTask { entry: in_bundle(entry.ok_or(LineError::NoEntry)?), env }))
}

fn host_task(work: &CaseWork, preflight: Option<Preflight>) -> Result<Task, LineError> {
    let server = work.subject.entries.server.as_ref().ok_or(LineError::NoEntry)?;
    let (stdin, script) = match &work.scenario {
        Some(scenario) => (scenario.prompt.clone(), scenario.script.clone().unwrap_or_default()),
        None => (LOAD_PROMPT.to_owned(), vec![Step { text: Some(LOAD_ANSWER.to_owned()), ..Step::default() }]),
    };
    let files = work.scenario.iter().flat_map(|scenario| &scenario.expect.files);
    Ok(Task::Host(Box::new(HostTask {
        argv: argv(work.log_level),
        env: host_env(work)?,
        stdin,
        script,
        plugin: ObservedPlugin { entry: in_bundle(&server.path), npm: work.subject.npm.clone(), preflight, stand_in: StandIn::Observer },
        read_files: files.map(|file| file.path.clone()).collect(),
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

/// The XDG directories differ from their defaults below HOME, so that a plugin which ignores them shows.
fn base_env() -> BTreeMap<String, String> {
    [
        ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned()),
        ("HOME", paths::HOME.to_owned()),
        ("TMPDIR", paths::TMP.to_owned()),
        ("PWD", paths::PROJECT.to_owned()),
        ("XDG_CONFIG_HOME", format!("{}/config", paths::XDG)),
        ("XDG_DATA_HOME", format!("{}/data", paths::XDG)),
        ("XDG_CACHE_HOME", format!("{}/cache", paths::XDG)),
        ("XDG_STATE_HOME", format!("{}/state", paths::XDG)),
        ("TERM", "dumb".to_owned()),
        ("LANG", "C.UTF-8".to_owned()),
        ("TZ", "UTC".to_owned()),
        ("GIT_CONFIG_GLOBAL", "/dev/null".to_owned()),
        ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}

fn host_env(work: &CaseWork) -> Result<BTreeMap<String, String>, LineError> {
    let mut env = base_env();
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
    let file = |root: Root, path: String, contents: String| Seed { root, path, contents: Some(contents) };
    let mut seeds = vec![
        file(Root::Assets, "models.json".to_owned(), "{}".to_owned()),
        file(Root::Home, format!("{GLOBAL_CONFIG}/opencode.json"), pretty(&global_config(work))?),
        file(Root::Project, "README.md".to_owned(), "# Project\n\nA scratch project of ocsweep.\n".to_owned()),
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
    json!({
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
    })
}

fn pretty(value: &Value) -> Result<String, LineError> {
    Ok(serde_json::to_string_pretty(value)?)
}

#[cfg(test)]
#[path = "v1/tests.rs"]
mod tests;
