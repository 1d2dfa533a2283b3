//! A conversation of opencode 2.x: reads the configuration that the harness wrote, checks what stands in for the plugin, writes the records of
//! both probes, lets the stub say what happens, and prints what the recorded hosts printed.
//!
//! It runs no JavaScript and no program: what the plugin's `setup` would have done is in the plan.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::host::{Channel, hang, now};

mod plan;
mod tools;
mod turn;

pub(crate) use plan::Plan;
use plan::{Loaded, Shape};

pub(crate) const SESSION: &str = "ses_fake";
const RUN: &str = "0badcafe";
const PROJECT: &str = "/sandbox/project";

/// Where the configuration of line v2 is, if this is a case of that line.
pub(crate) fn config() -> Option<PathBuf> {
    let home = std::env::var_os("XDG_CONFIG_HOME")?;
    Some(Path::new(&home).join("opencode/opencode.jsonc")).filter(|path| path.exists())
}

/// Whether the subject has a plan for this line.
pub(crate) fn has_plan() -> bool {
    Path::new(plan::PLAN).exists()
}

/// What the harness configured.
struct Setup {
    pre: PathBuf,
    post: PathBuf,
    shim: PathBuf,
    model: String,
}

impl Setup {
    /// The plugins must be exactly a probe, the plugin under test and a probe, each a directory with an entry.
    fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let config: Value = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        let Some([pre, shim, post]) = config["plugins"].as_array().map(Vec::as_slice) else {
            return Err("the configuration does not have three plugins".to_owned());
        };
        let out = |plugin: &Value, phase: &str| {
            let fits = plugin["options"]["phase"] == phase && entry(plugin, "server.mjs")?.exists();
            let out = plugin["options"]["out"].as_str().filter(|_| fits).map(PathBuf::from);
            out.ok_or_else(|| format!("no probe {phase} where it belongs: {plugin}"))
        };
        let model = config["model"].as_str().and_then(|model| model.split_once('/')).ok_or("no model")?;
        let known = &config["providers"][model.0]["models"][model.1];
        if known.is_null() {
            return Err(format!("the model {model:?} has no provider in the configuration"));
        }
        Ok(Self { pre: out(pre, "pre")?, post: out(post, "post")?, shim: shim_of(shim)?, model: model.1.to_owned() })
    }
}

fn entry(plugin: &Value, name: &str) -> Result<PathBuf, String> {
    let package = plugin["package"].as_str().ok_or_else(|| format!("a plugin without package: {plugin}"))?;
    Ok(Path::new(package).join(name))
}

/// The stand-in must be one re-export of an entry that exists.
fn shim_of(plugin: &Value) -> Result<PathBuf, String> {
    let shim = entry(plugin, "server.js")?;
    if !shim.parent().is_some_and(|directory| directory.ends_with("plugin-under-test")) {
        return Err(format!("the second plugin is not the one under test: {plugin}"));
    }
    let text = std::fs::read_to_string(&shim).map_err(|error| format!("{}: {error}", shim.display()))?;
    let url = text.strip_prefix("export { default } from \"file://").and_then(|rest| rest.strip_suffix("\";\n"));
    match url.filter(|url| url.starts_with('/') && !url.contains(['\n', '"'])) {
        Some(_) => Ok(shim),
        None => Err(format!("{} is not one re-export: {text:?}", shim.display())),
    }
}

/// The two ways out of the host.
pub(crate) struct Streams<'a> {
    pub(crate) stdout: &'a mut dyn Write,
    pub(crate) stderr: &'a mut dyn Write,
}

impl Streams<'_> {
    /// One line of standard output; the host writes `type` first.
    pub(crate) fn event(&mut self, kind: &str, fields: &Value) -> Result<(), String> {
        let mut line = serde_json::Map::from_iter([
            ("type".to_owned(), json!(kind)),
            ("timestamp".to_owned(), now().into()),
            ("sessionID".to_owned(), json!(SESSION)),
        ]);
        line.extend(fields.as_object().cloned().unwrap_or_default());
        writeln!(self.stdout, "{}", Value::Object(line)).and_then(|()| self.stdout.flush()).map_err(|error| error.to_string())
    }

    /// One line of the log: fields behind time, level and run.
    fn log(&mut self, level: &str, fields: &str) -> Result<(), String> {
        let line = format!("timestamp=2026-01-01T00:00:00.000Z level={level} run={RUN} {fields} role=server");
        writeln!(self.stderr, "{line}").map_err(|error| error.to_string())
    }
}

/// Both probes; the plugin stands between them.
pub(crate) struct Probes {
    pub(crate) pre: Channel,
    pub(crate) post: Channel,
}

impl Probes {
    /// What both see alike.
    pub(crate) fn both(&mut self, kind: &str, payload: &Value) -> Result<(), String> {
        self.pre.record(kind, payload.clone())?;
        self.post.record(kind, payload.clone())
    }
}

/// Plays the conversation. Gives the exit code.
pub(crate) fn run(config: &Path, plan: &Plan, prompt: &str, streams: &mut Streams<'_>) -> Result<u8, String> {
    let setup = Setup::read(config)?;
    if prompt.is_empty() {
        streams.event("error", &json!({"error": {"type": "unknown", "message": "You must provide a message"}}))?;
        return Ok(1);
    }
    streams.log("INFO", "message=\"cli starting\" version=2.0.26 channel=fake local=false")?;
    let mut probes = Probes { pre: Channel::open(&setup.pre, "pre")?, post: Channel::open(&setup.post, "post")? };
    load(&setup, plan, &mut probes, streams)?;
    for line in &plan.log {
        writeln!(streams.stderr, "{line}").map_err(|error| error.to_string())?;
    }
    let prompted = json!({"sessionID": SESSION, "messageID": "msg_fake", "text": prompt, "prompt": {"text": prompt, "files": []}, "delivery": "steer"});
    probes.both("session.prompt", &prompted)?;
    probes.post.record("inventory", inventory(&setup, plan))?;
    let code = turn::play(plan, &setup.model, prompt, &mut probes, streams)?;
    let end = if code == 0 { "session.execution.succeeded" } else { "session.execution.failed" };
    probes.post.record("event", json!({"type": end, "properties": {"sessionID": SESSION}}))?;
    Ok(plan.exit_code.unwrap_or(code))
}

/// Plugins are set up one after the other, whatever becomes of one of them.
fn load(setup: &Setup, plan: &Plan, probes: &mut Probes, streams: &mut Streams<'_>) -> Result<(), String> {
    let place = json!({"directory": PROJECT, "worktree": PROJECT});
    let shim = setup.shim.display().to_string();
    let target = setup.shim.parent().map(|directory| directory.display().to_string()).unwrap_or_default();
    streams.log("INFO", &format!("msg=\"loading plugin\" id={target} entrypoint=\"{shim}?mtime=1\""))?;
    if plan.plugin == Loaded::ImportFails {
        let cause = json!(format!("Error: {}", plan.error));
        streams.log("WARN", &format!("message=\"failed to load plugin\" target={target} ref=err_0badcafe cause={cause}"))?;
    }
    if plan.plugin == Loaded::ImportHangs {
        hang();
    }
    probes.pre.record("setup", place.clone())?;
    match plan.plugin {
        Loaded::Failed => {
            let cause = json!(format!("Cause([Die(Error: {})])", plan.error));
            streams.log("WARN", &format!("message=\"failed to load plugin\" plugin.id={} cause={cause}", plan.id))?;
        }
        Loaded::Hangs => hang(),
        _ => {}
    }
    if plan.not_a_directory {
        streams.log("WARN", &format!("message=\"configured plugin path must be a directory\" path={target}"))?;
    }
    probes.post.record("setup", place)
}

fn inventory(setup: &Setup, plan: &Plan) -> Value {
    let tools = tools::BUILT_IN.iter().map(|name| (*name).to_owned());
    let tools: Vec<String> = tools.chain(plan.tools.iter().filter(|_| plan.works()).map(plan::Tool::effective_name)).collect();
    let directory = |path: &Path| path.parent().map(|directory| directory.display().to_string()).unwrap_or_default();
    let entry = |id: Option<&str>, source: Value, status: &str, error: Option<&str>| {
        let mut entry = json!({"source": source, "features": {"server": true}});
        let state = match error {
            Some(error) => json!({"status": status, "error": error, "ref": "err_0badcafe"}),
            None => json!({"status": status}),
        };
        match plan.shape {
            Shape::Nested => entry["state"] = state,
            Shape::Flat => entry.as_object_mut().into_iter().for_each(|entry| entry.extend(state.as_object().cloned().unwrap_or_default())),
        }
        if let Some(id) = id {
            entry["id"] = json!(id);
        }
        entry
    };
    let local = |path: &Path| json!({"type": "local", "path": path.display().to_string(), "target": directory(path)});
    let builtin = |id: &str| entry(Some(id), json!({"type": "builtin"}), "active", None);
    let probe = |phase: &str| {
        let path = format!("/run/ocsweep/assets/probe-{phase}/server.mjs");
        entry(Some(&format!("ocsweep.probe.{phase}")), local(Path::new(&path)), "active", None)
    };
    let mut plugins = vec![builtin("opencode.agent"), builtin("opencode.tool.shell"), probe("pre")];
    plugins.extend(match plan.plugin {
        Loaded::Active => Some(entry(Some(&plan.id), local(&setup.shim), "active", None)),
        Loaded::Failed => Some(entry(Some(&plan.id), local(&setup.shim), "failed", Some(&plan.error))),
        // Its id was never read.
        Loaded::ImportFails => Some(entry(None, local(&setup.shim), "failed", Some(&plan.error))),
        _ => None,
    });
    plugins.extend([probe("post"), builtin("opencode.config.agent")]);
    json!({
        "tools": tools, "agents": ["build", "plan"], "commands": ["init"], "skills": [], "mcp": [], "providers": ["stub"],
        "models": ["stub/m1"], "plugins": plugins, "missing": [],
    })
}
