//! What the stand-in shall do: a file that the subject's directory brings into the container.
//!
//! A plan that cannot be read is an error, never a default: a slip in a test must not look like a healthy host.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Where a subject's plan is, in the container.
const PLAN: &str = "/opt/ocsweep/bundle/fake-plan.json";

/// The whole plan.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Plan {
    /// How the import of the entry ends.
    pub(crate) preflight: Preflight,
    /// Conversations; the first whose conditions hold is played, else a healthy one.
    pub(crate) runs: Vec<Run>,
}

/// How the import of the entry ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Preflight {
    /// One function, the default export.
    #[default]
    Ok,
    /// It throws.
    Throws,
    /// It never ends.
    Hangs,
}

/// One conversation.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Run {
    /// Conditions, all of which must hold.
    pub(crate) when: When,
    /// Text of the answer; by default what the model said.
    pub(crate) text: Option<String>,
    /// Cost of the step, in US dollars.
    pub(crate) cost: f64,
    /// Message of an error event.
    pub(crate) error: Option<String>,
    /// Printed to standard error as it is.
    pub(crate) stderr: String,
    /// Printed to standard output between the events.
    pub(crate) noise: String,
    /// Exit code.
    pub(crate) exit_code: u8,
    /// What became of the plugin.
    pub(crate) plugin: Plugin,
    /// Tools of the inventory.
    pub(crate) inventory_tools: Vec<String>,
    /// Calls of tools before the last answer; each is one step.
    pub(crate) tool_calls: Vec<ToolCall>,
    /// Files to write: an absolute path, or a path in the project.
    pub(crate) writes: BTreeMap<String, String>,
    /// Stay forever at this point.
    pub(crate) hang: Option<Hang>,
}

/// When a conversation is the one to play.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct When {
    /// The whole prompt.
    pub(crate) prompt: Option<String>,
    /// The version that the host is taken for.
    pub(crate) version: Option<String>,
    /// Variables of the host's environment, with their values.
    pub(crate) env: BTreeMap<String, String>,
}

/// What became of the plugin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Plugin {
    /// Its factory returned hooks.
    #[default]
    Active,
    /// Its factory threw.
    Failed,
    /// The host never imported it.
    Missing,
}

/// One call of a tool.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ToolCall {
    /// The tool.
    pub(crate) tool: String,
    /// Arguments before the plugin's hooks.
    #[serde(default)]
    pub(crate) input: Map<String, Value>,
    /// Arguments after them; by default the same.
    pub(crate) input_after: Option<Map<String, Value>>,
    /// Text of the result.
    #[serde(default)]
    pub(crate) output: String,
}

/// Where a conversation stays forever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Hang {
    /// Before anything is said.
    Start,
    /// After the last event, as a host does whose plugin keeps it alive.
    End,
}

impl Plan {
    /// The subject's plan; a healthy one when it has none.
    pub(crate) fn read() -> Result<Self, String> {
        if !Path::new(PLAN).exists() {
            return Ok(Self::default());
        }
        let text = std::fs::read_to_string(PLAN).map_err(|error| format!("{PLAN}: {error}"))?;
        serde_json::from_str(&text).map_err(|error| format!("{PLAN}: {error}"))
    }

    /// The conversation for a prompt, a version and the environment.
    pub(crate) fn run(&self, prompt: &str, version: &str) -> Run {
        let fits = |wanted: &Option<String>, got: &str| wanted.as_deref().is_none_or(|wanted| wanted == got);
        let has = |(name, value): (&String, &String)| std::env::var(name).is_ok_and(|got| got == *value);
        let plays = |when: &When| fits(&when.prompt, prompt) && fits(&when.version, version) && when.env.iter().all(has);
        self.runs.iter().find(|run| plays(&run.when)).cloned().unwrap_or_default()
    }
}

impl Preflight {
    /// The line that answers the agent; `None` when none ever comes.
    pub(crate) fn line(self) -> Option<Value> {
        let error = json!({"name": "Error", "message": "fake import boom", "stack": "", "positions": []});
        match self {
            Self::Ok => Some(json!({"ocsweepPreflight": 1, "ok": true, "exports": [{"name": "default", "type": "function", "same": 0}]})),
            Self::Throws => Some(json!({"ocsweepPreflight": 1, "ok": false, "error": error})),
            Self::Hangs => None,
        }
    }
}
