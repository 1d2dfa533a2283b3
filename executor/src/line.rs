//! The host lines. An adapter says how a case of its line is set up; reading what came out is `evidence` and `judge`.
//!
//! Here is what both lines share: the places of the container, the conversation, the static check of a TUI plugin. A line's own file holds
//! its command line, its configuration and what else its host must find.

use std::collections::BTreeMap;

use ocsweep_proto::agent::{AgentJob, Deadlines, FORMAT, Preflight, Root, Seed, Task, TuiTask, paths};
use ocsweep_proto::axes::{Jit, Line};
use ocsweep_proto::job::CaseWork;
use ocsweep_proto::scenario::Step;
use serde_json::{Map, Value};

pub mod v1;
pub mod v2;

/// The prompt and the only answer of the load case.
const LOAD_PROMPT: &str = "Reply with ok.";
const LOAD_ANSWER: &str = "ok";

/// Why a case cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// The subject has no server entry to run.
    #[error("the subject has no server entry")]
    NoEntry,
    /// A configuration cannot be written as JSON.
    #[error("cannot write the host's configuration")]
    Config(#[from] serde_json::Error),
}

/// The environment of a tuning of the host's JavaScript engine.
fn jit_env(jit: Jit) -> &'static [(&'static str, &'static str)] {
    match jit {
        // Measured on short runs: a fifth less CPU at the same wall time.
        Jit::Reduced => &[("BUN_JSC_useDFGJIT", "0"), ("BUN_JSC_numberOfGCMarkers", "1"), ("BUN_JSC_useConcurrentGC", "0")],
        Jit::Full => &[],
    }
}

/// What the agent is asked to do for a case.
///
/// # Errors
/// When the subject has no server entry, or a configuration cannot be written.
pub fn agent_job(work: &CaseWork, preflight: Option<Preflight>) -> Result<AgentJob, LineError> {
    let parts = match work.host.line {
        Line::V1 => v1::parts(work, preflight),
        Line::V2 => v2::parts(work, preflight),
    };
    let (task, seeds) = parts?;
    Ok(AgentJob {
        format: FORMAT,
        seeds,
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
    let mut env = base_env(work);
    env.insert("BUN_BE_BUN".to_owned(), "1".to_owned());
    Ok(Task::TuiCheck(TuiTask { entry: in_bundle(entry.ok_or(LineError::NoEntry)?), env }))
}

/// The prompt and the stub's answers.
fn conversation(work: &CaseWork) -> (String, Vec<Step>) {
    match &work.scenario {
        Some(scenario) => (scenario.prompt.clone(), scenario.script.clone().unwrap_or_default()),
        None => (LOAD_PROMPT.to_owned(), vec![Step { text: Some(LOAD_ANSWER.to_owned()), ..Step::default() }]),
    }
}

/// Project files that the agent shall report.
fn read_files(work: &CaseWork) -> Vec<String> {
    work.scenario.iter().flat_map(|scenario| &scenario.expect.files).map(|file| file.path.clone()).collect()
}

/// The variant's variables, and over them those of every host. The XDG directories differ from their defaults below HOME, so that a plugin
/// which ignores them shows.
fn base_env(work: &CaseWork) -> BTreeMap<String, String> {
    let own = [
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
    ];
    let mut env = work.overlay.env.clone();
    env.extend(own.into_iter().map(|(name, value)| (name.to_owned(), value)));
    env
}

fn file(root: Root, path: String, contents: String) -> Seed {
    Seed { root, path, contents: Some(contents) }
}

fn readme() -> Seed {
    file(Root::Project, "README.md".to_owned(), "# Project\n\nA scratch project of ocsweep.\n".to_owned())
}

fn pretty(value: &Value) -> Result<String, LineError> {
    Ok(serde_json::to_string_pretty(value)?)
}

/// `own` over `under`: objects are merged deeply, everything else of `own` wins.
fn merged(under: &Map<String, Value>, own: Value) -> Value {
    let Value::Object(own) = own else { return own };
    let mut all = under.clone();
    for (key, value) in own {
        let value = match all.get(&key) {
            Some(Value::Object(below)) => merged(below, value),
            _ => value,
        };
        all.insert(key, value);
    }
    Value::Object(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_harness_wins_at_any_depth_and_nothing_else_is_lost() {
        let under =
            json!({"model": "x", "provider": {"stub": {"a": 1}, "mine": {"b": 2}}, "agent": {"build": {"mode": "all"}}, "plugin": ["x"]});
        let own = json!({"model": "stub/m1", "provider": {"stub": {"c": 3}}, "plugin": ["own"]});
        let expected = json!({
            "model": "stub/m1",
            "provider": {"stub": {"a": 1, "c": 3}, "mine": {"b": 2}},
            "agent": {"build": {"mode": "all"}},
            "plugin": ["own"],
        });
        assert_eq!(merged(under.as_object().unwrap(), own), expected);
        assert_eq!(merged(json!({"a": {"b": 1}}).as_object().unwrap(), json!({"a": 2})), json!({"a": 2}));
        assert_eq!(merged(json!({"a": 1}).as_object().unwrap(), json!({"a": {"b": 2}})), json!({"a": {"b": 2}}));
    }
}
