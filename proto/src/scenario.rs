//! The meaning of a scenario file, after validation. Reading the file, with positions and hints, is the scheduler's work.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::expect::Expect;
use crate::ids::ScenarioId;

/// A conversation with the host and what must be true after it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scenario {
    /// Unique among the scenarios of a plugin.
    pub id: ScenarioId,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Who answers for the model.
    pub mode: Mode,
    /// What the scenario changes of the plugin's configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<ScenarioPlugin>,
    /// Files of the project, by relative path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub workspace: BTreeMap<String, String>,
    /// What the user says.
    #[schemars(length(min = 1))]
    pub prompt: String,
    /// What the model answers; required when scripted, forbidden when live; may be empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<Vec<Step>>,
    /// Time of the whole case in milliseconds; scripted cases fall back to 120000, live ones to `live.timeoutMs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub timeout_ms: Option<u64>,
    /// What must be true afterwards.
    #[serde(default)]
    pub expect: Expect,
    /// A model's opinion; live only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<Judge>,
}

/// The time of a scripted case that sets none, in milliseconds.
pub const SCRIPTED_TIMEOUT_MS: u64 = 120_000;

/// Who answers for the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The stub, by the script.
    Scripted,
    /// A real provider.
    Live,
}

/// What a scenario changes of the plugin's configuration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ScenarioPlugin {
    /// Merged over the configuration's options, key by key, not deeper.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<Map<String, Value>>,
}

/// A rubric for the judge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Judge {
    /// What a good answer is.
    #[schemars(length(min = 1))]
    pub rubric: String,
}

/// One answer of the stub model. At least one of `text`, `toolCalls` and `error` is there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Step {
    /// Text of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Tools that the model calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// Send calls as they are written, never wrapped into Code Mode.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub raw: bool,
    /// Answer with an HTTP error; excludes `text` and `toolCalls`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<StepError>,
    /// Wait before the answer, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// Token counts that the answer reports, so that a scenario can cost something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<StepUsage>,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// The tool.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Map<String, Value>,
}

/// An HTTP error of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StepError {
    /// HTTP status, 400 to 599.
    #[schemars(range(min = 400, max = 599))]
    pub status: u16,
    /// Body; a string is sent as it is, anything else as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// The `retry-after` header, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u64>,
}

/// Token counts of one answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct StepUsage {
    /// Tokens of the prompt.
    pub input: u64,
    /// Tokens of the answer.
    pub output: u64,
}
