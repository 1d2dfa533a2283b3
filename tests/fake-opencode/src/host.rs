//! One conversation: records of the probes and of the observer, model requests, events.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use crate::model::{self, Answer};
use crate::plan::{Hang, Plan, Plugin, Run, ToolCall};

const OBSERVER: &str = "/run/ocsweep/probe/observer.fifo";
const SESSION: &str = "ses_fake";
/// Tools of a real host that a scenario may rely on.
const OWN_TOOLS: [&str; 3] = ["bash", "read", "write"];

/// A channel of probe records. Metadata comes last in a record.
pub(crate) struct Channel {
    file: File,
    phase: &'static str,
    seq: u64,
}

impl Channel {
    /// Opens a FIFO that exists; a probe never makes one.
    pub(crate) fn open(path: &Path, phase: &'static str) -> Result<Self, String> {
        let file = OpenOptions::new().write(true).open(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self { file, phase, seq: 0 })
    }

    pub(crate) fn record(&mut self, kind: &str, payload: Value) -> Result<(), String> {
        let mut line = match payload {
            Value::Object(fields) => fields,
            other => Map::from_iter([("value".to_owned(), other)]),
        };
        line.insert("phase".to_owned(), self.phase.into());
        line.insert("seq".to_owned(), self.seq.into());
        line.insert("t".to_owned(), now().into());
        line.insert("kind".to_owned(), kind.into());
        self.seq += 1;
        writeln!(self.file, "{}", Value::Object(line)).map_err(|error| error.to_string())
    }
}

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).ok().and_then(|since| u64::try_from(since.as_millis()).ok()).unwrap_or_default()
}

/// What the harness configured, read from where a real host reads it.
struct Setup {
    pre: PathBuf,
    post: PathBuf,
    plugins: Vec<String>,
    version: String,
}

impl Setup {
    fn read(config_home: &str, content: &str) -> Result<Self, String> {
        let read = |name: &str| -> Result<Value, String> {
            let path = format!("{config_home}/opencode/{name}");
            let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
            serde_json::from_str(&text).map_err(|error| format!("{path}: {error}"))
        };
        let global = read("opencode.json")?;
        let last: Value = serde_json::from_str(content).map_err(|error| format!("OPENCODE_CONFIG_CONTENT: {error}"))?;
        let version =
            read("package.json")?.pointer("/dependencies/@opencode-ai~1plugin").and_then(Value::as_str).unwrap_or_default().to_owned();
        let specs = [&global, &last].into_iter().filter_map(|config| config["plugin"].as_array()).flatten();
        let plugins = specs.filter_map(|spec| spec[0].as_str()).map(str::to_owned).collect();
        Ok(Self { pre: out(&global, "probe-pre.mjs")?, post: out(&last, "probe-post.mjs")?, plugins, version })
    }
}

/// The FIFO of the probe whose module has this name.
fn out(config: &Value, module: &str) -> Result<PathBuf, String> {
    let specs = config["plugin"].as_array().into_iter().flatten();
    let spec = specs.filter(|spec| spec[0].as_str().is_some_and(|url| url.ends_with(module))).find_map(|spec| spec[1]["out"].as_str());
    spec.map(PathBuf::from).ok_or_else(|| format!("the configuration names no {module} with `out`"))
}

/// Plays the conversation that fits the prompt. Gives the exit code.
pub(crate) fn run(plan: &Plan, prompt: &str, stdout: &mut impl Write, stderr: &mut impl Write) -> Result<u8, String> {
    let env = |name: &str| std::env::var(name).map_err(|_| format!("{name} is not set"));
    let setup = Setup::read(&env("XDG_CONFIG_HOME")?, &env("OPENCODE_CONFIG_CONTENT")?)?;
    let run = plan.run(prompt, &setup.version);
    let say = |stderr: &mut dyn Write, text: &str| writeln!(stderr, "{text}").map_err(|error| error.to_string());
    say(stderr, &format!("timestamp=2026-01-01T00:00:00.000Z level=INFO message=\"fake host\" version={}", setup.version))?;
    if !run.stderr.is_empty() {
        say(stderr, &run.stderr)?;
    }
    if run.hang == Some(Hang::Start) {
        hang();
    }
    Conversation::begin(&setup, &run)?.play(prompt, stdout)?;
    if run.hang == Some(Hang::End) {
        hang();
    }
    Ok(run.exit_code)
}

/// Stays until the agent ends the tree.
pub(crate) fn hang() -> ! {
    loop {
        std::thread::park();
    }
}

struct Conversation<'a> {
    run: &'a Run,
    pre: Channel,
    post: Channel,
    plugins: &'a [String],
}

impl<'a> Conversation<'a> {
    fn begin(setup: &'a Setup, run: &'a Run) -> Result<Self, String> {
        let mut conversation =
            Self { run, pre: Channel::open(&setup.pre, "pre")?, post: Channel::open(&setup.post, "post")?, plugins: &setup.plugins };
        let place = json!({"directory": "/sandbox/project", "worktree": "/sandbox/project"});
        conversation.pre.record("setup", place.clone())?;
        conversation.load_plugin()?;
        conversation.post.record("setup", place)?;
        Ok(conversation)
    }

    fn load_plugin(&self) -> Result<(), String> {
        if self.run.plugin == Plugin::Missing {
            return Ok(());
        }
        let mut observer = Channel::open(Path::new(OBSERVER), "observer")?;
        observer.record("setup", json!({"entry": "fake"}))?;
        observer.record("import", json!({"exports": [{"name": "default", "type": "function"}]}))?;
        observer.record("factory.start", json!({"id": 1, "export": "default"}))?;
        let end = match self.run.plugin {
            Plugin::Failed => {
                json!({"id": 1, "export": "default", "durationMs": 1, "error": {"name": "Error", "message": "fake boom", "stack": ""}})
            }
            _ => json!({"id": 1, "export": "default", "durationMs": 1, "returned": "object", "hooks": [], "hookTypes": {}}),
        };
        observer.record("factory.end", end)
    }

    fn play(mut self, prompt: &str, stdout: &mut impl Write) -> Result<(), String> {
        let run = self.run;
        let message = json!({"sessionID": SESSION, "parts": [{"type": "text", "text": prompt}], "message": {}});
        for channel in [&mut self.pre, &mut self.post] {
            channel.record("session.prompt", message.clone())?;
        }
        self.inventory()?;
        for (path, text) in &run.writes {
            write(path, text)?;
        }
        let tools: Vec<&str> = OWN_TOOLS.into_iter().chain(run.inventory_tools.iter().map(String::as_str)).collect();
        for (index, call) in run.tool_calls.iter().enumerate() {
            model::ask(prompt, &tools)?;
            event(stdout, "step_start", json!({"part": {"type": "step-start"}}))?;
            self.call(stdout, index, call)?;
            event(stdout, "step_finish", json!({"part": finish("tool-calls", 0.0)}))?;
        }
        let answer = model::ask(prompt, &tools)?;
        if !run.noise.is_empty() {
            writeln!(stdout, "{}", run.noise).map_err(|error| error.to_string())?;
        }
        self.end(stdout, answer)
    }

    fn end(&self, stdout: &mut impl Write, answer: Answer) -> Result<(), String> {
        let failed = self.run.error.clone().map(|message| json!({"name": "UnknownError", "data": {"message": message}}));
        let failed =
            failed.or(answer.error.map(|status| json!({"name": "APIError", "data": {"message": "model error", "statusCode": status}})));
        event(stdout, "step_start", json!({"part": {"type": "step-start"}}))?;
        if let Some(error) = failed {
            return event(stdout, "error", json!({"error": error}));
        }
        let text = self.run.text.clone().unwrap_or(answer.text);
        event(stdout, "text", json!({"part": {"type": "text", "text": text}}))?;
        event(stdout, "step_finish", json!({"part": finish("stop", self.run.cost)}))
    }

    fn inventory(&mut self) -> Result<(), String> {
        let tools: Vec<&str> = OWN_TOOLS.into_iter().chain(self.run.inventory_tools.iter().map(String::as_str)).collect();
        let lists = json!({
            "tools": tools, "agents": ["build"], "commands": [], "skills": [], "mcp": [], "providers": ["stub"], "models": ["stub/m1"],
            "plugins": self.plugins, "missing": [],
        });
        self.post.record("inventory", lists)
    }

    fn call(&mut self, stdout: &mut impl Write, index: usize, call: &ToolCall) -> Result<(), String> {
        let id = format!("call_{index}");
        let after = call.input_after.as_ref().unwrap_or(&call.input);
        for (channel, input) in [(&mut self.pre, &call.input), (&mut self.post, after)] {
            channel.record("tool.before", json!({"tool": call.tool, "callID": id, "input": input}))?;
        }
        let result = json!({"title": "", "output": call.output, "metadata": {}});
        for channel in [&mut self.pre, &mut self.post] {
            let payload = json!({"tool": call.tool, "callID": id, "status": "completed", "input": after, "result": result});
            channel.record("tool.after", payload)?;
        }
        let state = json!({"status": "completed", "input": after, "output": call.output, "metadata": {}, "title": "", "time": {"start": now(), "end": now()}});
        event(stdout, "tool_use", json!({"part": {"type": "tool", "tool": call.tool, "callID": id, "state": state}}))
    }
}

/// A file of the plan; a relative path is the project's.
fn write(path: &str, text: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{path}: {error}");
    if let Some(parent) = Path::new(path).parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    std::fs::write(path, text).map_err(failed)
}

fn finish(reason: &str, cost: f64) -> Value {
    let tokens = json!({"total": 15, "input": 10, "output": 5, "reasoning": 0, "cache": {"read": 0, "write": 0}});
    json!({"type": "step-finish", "reason": reason, "tokens": tokens, "cost": cost})
}

/// One line of standard output; the host writes `type` first.
fn event(stdout: &mut impl Write, kind: &str, fields: Value) -> Result<(), String> {
    let mut line = Map::from_iter([
        ("type".to_owned(), json!(kind)),
        ("timestamp".to_owned(), now().into()),
        ("sessionID".to_owned(), json!(SESSION)),
    ]);
    if let Value::Object(fields) = fields {
        line.extend(fields);
    }
    writeln!(stdout, "{}", Value::Object(line)).and_then(|()| stdout.flush()).map_err(|error| error.to_string())
}
