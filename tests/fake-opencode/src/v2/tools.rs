//! Calls of tools: the plugin's by the plan, the host's own as far as scenarios need them, and programs of Code Mode that call one tool.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::plan::{Catalog, Plan, Tool};
use super::{PROJECT, Probes, SESSION};

/// Tools of the host itself that are offered directly.
pub(super) const BUILT_IN: [&str; 6] = ["edit", "glob", "grep", "read", "shell", "subagent"];
const EXECUTE: &str = "execute";

/// One call that the model asks for.
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) input: Map<String, Value>,
}

/// The text that a tool gave, or its error.
pub(super) type Outcome = Result<String, String>;

/// How it ended: what the event says.
pub(super) struct Settled {
    pub(super) input: Map<String, Value>,
    pub(super) output: Outcome,
    pub(super) inner: Value,
}

/// The tools that a request offers directly.
pub(super) fn offered(plan: &Plan) -> Vec<Value> {
    let define = |name: &str, description: &str| json!({"type": "function", "function": {"name": name, "description": description, "parameters": {"type": "object", "properties": {}}}});
    let mut tools: Vec<Value> = BUILT_IN.iter().map(|name| define(name, "")).collect();
    let own = || plan.tools.iter().filter(|_| plan.works());
    tools.extend(own().filter(|tool| tool.direct).map(|tool| define(&tool.effective_name(), "")));
    if own().any(|tool| !tool.direct) {
        let described = if plan.catalog == Catalog::Described { catalog(plan) } else { "Runs a program.".to_owned() };
        tools.push(define(EXECUTE, &described));
    }
    tools
}

/// The catalog as it was recorded: signatures over several lines, and prose that mentions `tools.`.
pub(super) fn catalog(plan: &Plan) -> String {
    let mut text = "Call tools as `tools.<namespace>.<tool>(input)`.\n\n## Available tools\n".to_owned();
    for tool in plan.tools.iter().filter(|tool| plan.works() && !tool.direct) {
        let path: String = tool.path().into_iter().map(segment).collect();
        let heading = tool.namespace.as_ref().unwrap_or(&tool.name);
        text.push_str(&format!(
            "- {heading} (1 tool)\n  - tools{path}(input: {{\n  /** An argument */\n  value?: string,\n}}): Promise<unknown> // A tool\n"
        ));
    }
    text
}

fn segment(name: &str) -> String {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.starts_with(|c: char| c.is_ascii_digit());
    if plain { format!(".{name}") } else { format!("[{}]", json!(name)) }
}

/// Plays a call as it comes from the model.
pub(super) fn call(plan: &Plan, call: &Call, probes: &mut Probes) -> Result<Settled, String> {
    if call.name != EXECUTE {
        let (input, output) = one(plan, &call.id, &call.name, &call.input, probes)?;
        return Ok(Settled { input, output, inner: Value::Null });
    }
    before(&call.id, EXECUTE, [&call.input, &call.input], probes)?;
    let program = call.input.get("code").and_then(Value::as_str).unwrap_or_default();
    let (inner, output) = match target(plan, program) {
        Some((tool, input)) => {
            // The id of the outer call is that of the inner one too.
            let (input, output) = one(plan, &call.id, &tool.effective_name(), &input, probes)?;
            let status = if output.is_ok() { "completed" } else { "error" };
            (json!([{"tool": tool.path().join("."), "status": status, "input": input}]), output)
        }
        None => (json!([]), Err(format!("cannot run {program}"))),
    };
    after(&call.id, EXECUTE, &call.input, &output, probes)?;
    Ok(Settled { input: call.input.clone(), output, inner })
}

/// `return await tools.a["b"]({…})`: the tool and its input.
fn target<'a>(plan: &'a Plan, program: &str) -> Option<(&'a Tool, Map<String, Value>)> {
    let call = program.strip_prefix("return await tools")?.strip_suffix(')')?;
    let fits = |tool: &&Tool| {
        let path: String = tool.path().into_iter().map(segment).collect();
        call.strip_prefix(&path).is_some_and(|rest| rest.starts_with('('))
    };
    let tool = plan.tools.iter().filter(|tool| plan.works() && !tool.direct).find(fits)?;
    let (_, input) = call.split_once('(')?;
    Some((tool, serde_json::from_str(input).ok()?))
}

/// One tool with its hooks: the input as it was run, and the text or the error.
fn one(
    plan: &Plan,
    id: &str,
    name: &str,
    input: &Map<String, Value>,
    probes: &mut Probes,
) -> Result<(Map<String, Value>, Outcome), String> {
    let own = plan.tools.iter().find(|tool| plan.works() && tool.effective_name() == name);
    if own.is_none() && !BUILT_IN.contains(&name) {
        return Ok((input.clone(), Err(format!("Unknown tool: {name}"))));
    }
    let run = hooked(plan, name, input);
    before(id, name, [input, &run], probes)?;
    let output = match own {
        Some(tool) => Ok(run
            .iter()
            .fold(tool.output.clone(), |text, (field, value)| text.replace(&format!("{{{field}}}"), value.as_str().unwrap_or("?")))),
        None if name == "shell" => shell(plan, &run, probes)?,
        None => Ok(String::new()),
    };
    after(id, name, &run, &output, probes)?;
    for (path, text) in plan.appends.iter().filter(|_| plan.works() && output.is_ok()) {
        append(path, text)?;
    }
    Ok((run, output))
}

/// The input behind the plugin's own hook.
fn hooked(plan: &Plan, name: &str, input: &Map<String, Value>) -> Map<String, Value> {
    let replace = plan.replace.as_ref().filter(|[tool, ..]| plan.works() && tool == name);
    let change = |value: &Value| match (replace, value.as_str()) {
        (Some([_, from, to]), Some(text)) => json!(text.replace(from, to)),
        _ => value.clone(),
    };
    input.iter().map(|(field, value)| (field.clone(), change(value))).collect()
}

fn before(id: &str, name: &str, inputs: [&Map<String, Value>; 2], probes: &mut Probes) -> Result<(), String> {
    let record = |input: &Map<String, Value>| json!({"tool": name, "callID": id, "sessionID": SESSION, "input": input});
    probes.pre.record("tool.before", record(inputs[0]))?;
    probes.post.record("tool.before", record(inputs[1]))
}

fn after(id: &str, name: &str, input: &Map<String, Value>, output: &Outcome, probes: &mut Probes) -> Result<(), String> {
    let mut record = json!({"tool": name, "callID": id, "sessionID": SESSION, "input": input});
    match output {
        Ok(text) => {
            record["status"] = json!("completed");
            record["result"] = json!({"content": [{"type": "text", "text": text}]});
        }
        Err(message) => {
            record["status"] = json!("error");
            record["error"] = json!({"message": message});
        }
    }
    probes.both("tool.after", &record)
}

/// `echo` and `ln -s` alone, played and not run.
fn shell(plan: &Plan, input: &Map<String, Value>, probes: &mut Probes) -> Result<Outcome, String> {
    let command = input.get("command").and_then(Value::as_str).unwrap_or_default();
    let base = BTreeMap::from([("HOME".to_owned(), "/sandbox/home".to_owned())]);
    let mut env = base.clone();
    env.extend(plan.env.iter().filter(|_| plan.works()).map(|(name, value)| (name.clone(), value.clone())));
    let record =
        |env: &BTreeMap<String, String>| json!({"command": command, "cwd": PROJECT, "timeout": 120_000, "shell": "/bin/bash", "env": env});
    probes.pre.record("shell.before", record(&base))?;
    probes.post.record("shell.before", record(&env))?;
    let text = match command.split_once(' ') {
        Some(("echo", text)) => {
            format!("{}\n", env.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("${name}"), value)))
        }
        Some(("ln", rest)) => match rest.strip_prefix("-s ").and_then(|rest| rest.split_once(' ')) {
            Some((target, link)) => {
                std::os::unix::fs::symlink(target, Path::new(PROJECT).join(link)).map_err(|error| format!("{link}: {error}"))?;
                String::new()
            }
            None => return Err(format!("the stand-in cannot play {command:?}")),
        },
        _ => return Err(format!("the stand-in cannot play {command:?}")),
    };
    Ok(Ok(text))
}

fn append(path: &str, text: &str) -> Result<(), String> {
    let path = Path::new(PROJECT).join(path);
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).map_err(failed)?;
    let mut file = OpenOptions::new().create(true).append(true).open(&path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)
}
