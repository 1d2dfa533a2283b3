//! The meaning of `.opencode-ci/config.yaml`, after validation. Reading the file, with positions and hints, is the scheduler's work.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::axes::{Flavour, Jit, VersionWord};
use crate::ids::VariantName;
use crate::limits::LimitOverrides;

/// A plugin author's configuration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// The plugin under test.
    pub plugin: PluginConfig,
    /// The host versions.
    pub opencode: OpencodeConfig,
    /// Names that must be in the inventory after loading.
    pub expect: InventoryExpect,
    /// The live tier.
    pub live: LiveConfig,
    /// The historical flake gate.
    pub gate: GateConfig,
    /// How much the host logs.
    pub log_level: LogLevel,
    /// How the host's JavaScript engine is tuned; reduced for load and scripted cases, full for live ones, unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jit: Option<Jit>,
    /// Named overlays on every cell; one that is called `default` and overlays nothing when the list is empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<Variant>,
    /// Limits of a case container; what is absent keeps its default.
    pub limits: LimitOverrides,
}

/// `plugin`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PluginConfig {
    /// Directory of the plugin, relative to the working directory.
    pub path: String,
    /// Entry file, relative to `path` or absolute; must exist after the build.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// Shell command that installs dependencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install: Option<String>,
    /// Shell command that builds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// Default plugin options.
    pub options: Map<String, Value>,
    /// Treat the plugin as TUI-only.
    pub ui: bool,
}

impl Default for PluginConfig {
    fn default() -> Self {
        Self { path: ".".to_owned(), entry: None, install: None, build: None, options: Map::new(), ui: false }
    }
}

/// A named overlay on a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Unique among the variants.
    pub name: VariantName,
    /// Which build of the host binary runs.
    #[serde(default)]
    pub flavour: Flavour,
    /// Container image that cases run in; required for musl.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub image: Option<String>,
    /// Plugin options, merged over the configuration's and under the scenario's, key by key, not deeper.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub options: Map<String, Value>,
    /// Environment variables of the host, as literal strings; none of the harness's own names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Merged deeply under the harness's own keys of the host's global configuration.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub config: Map<String, Value>,
}

impl Default for Variant {
    fn default() -> Self {
        Self {
            name: VariantName::default_variant(),
            flavour: Flavour::default(),
            image: None,
            options: Map::new(),
            env: BTreeMap::new(),
            config: Map::new(),
        }
    }
}

/// `opencode`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OpencodeConfig {
    /// Host versions; the first is required, the others are allowed to fail.
    #[schemars(length(min = 1))]
    pub versions: Vec<VersionWord>,
}

impl Default for OpencodeConfig {
    fn default() -> Self {
        Self { versions: vec![VersionWord::Latest] }
    }
}

/// `expect`: the inventory of the load tier.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InventoryExpect {
    /// Tool names.
    pub tools: Vec<String>,
    /// Command names.
    pub commands: Vec<String>,
    /// Agent names.
    pub agents: Vec<String>,
    /// Skill names.
    pub skills: Vec<String>,
    /// MCP server names.
    pub mcp: Vec<String>,
    /// Provider ids.
    pub providers: Vec<String>,
    /// Model ids, `provider/model`.
    pub models: Vec<String>,
}

impl InventoryExpect {
    /// Each list with the singular and the plural of what it names, in the order of the report.
    #[must_use]
    pub fn lists(&self) -> [(&'static str, &'static str, &[String]); 7] {
        [
            ("tool", "tools", &self.tools),
            ("command", "commands", &self.commands),
            ("agent", "agents", &self.agents),
            ("skill", "skills", &self.skills),
            ("mcp", "mcp", &self.mcp),
            ("provider", "providers", &self.providers),
            ("model", "models", &self.models),
        ]
    }
}

/// `live`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LiveConfig {
    /// `provider/model`, or a bare id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Names of environment variables that hold API keys.
    pub keys: Vec<String>,
    /// Attempts of each scenario.
    #[schemars(range(min = 1))]
    pub repeat: u32,
    /// Attempts that must pass; at most `repeat`.
    #[schemars(range(min = 1))]
    pub pass: u32,
    /// Budget of the run, in US dollars.
    #[serde(rename = "budgetUSD")]
    #[schemars(range(min = 0))]
    pub budget_usd: f64,
    /// Time of one attempt, in milliseconds.
    #[schemars(range(min = 1))]
    pub timeout_ms: u64,
}

impl Default for LiveConfig {
    fn default() -> Self {
        Self { model: None, keys: vec!["OPENCODE_API_KEY".to_owned()], repeat: 3, pass: 2, budget_usd: 1.0, timeout_ms: 240_000 }
    }
}

/// `gate`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GateConfig {
    /// Whether the gate takes part.
    pub enabled: bool,
    /// What a run without history is.
    pub bootstrap: Bootstrap,
    /// The workflow whose artifacts are the history.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub workflow: Option<String>,
    /// The artifact's name.
    #[schemars(length(min = 1))]
    pub artifact: String,
}

impl Default for GateConfig {
    fn default() -> Self {
        Self { enabled: true, bootstrap: Bootstrap::Fail, workflow: None, artifact: "opencode-plugin-ci-results".to_owned() }
    }
}

/// What the gate says without history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Bootstrap {
    /// Fail.
    #[default]
    Fail,
    /// Pass.
    Allow,
}

/// How much the host logs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// The host's INFO.
    #[default]
    Info,
    /// Everything the host can log.
    All,
}

/// Plain string lists by name, as the inventory of a run records them.
pub type NameLists = BTreeMap<String, Vec<String>>;
