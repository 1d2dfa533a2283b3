//! What the plugin's `setup` would have done in a 2.x host: a file that the subject's directory brings into the container.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

/// Where a subject's plan for this line is, in the container.
pub(crate) const PLAN: &str = "/opt/ocsweep/bundle/fake-plan.v2.json";

/// The plan; without one the plugin is healthy and does nothing.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Plan {
    /// For people.
    #[serde(rename = "//")]
    _note: String,
    /// The plugin's id.
    pub(crate) id: String,
    /// What became of the plugin.
    pub(crate) plugin: Loaded,
    /// Why it failed.
    pub(crate) error: String,
    /// How the runtime answers who imports the entry before the run.
    preflight: Answer,
    /// How the runtime answers who looks at a TUI entry.
    tui: Tui,
    /// Where the host puts the state of a plugin.
    pub(crate) shape: Shape,
    /// How it names the ids of a call in its events.
    pub(crate) ids: Ids,
    /// Where it puts the Code Mode catalog.
    pub(crate) catalog: Catalog,
    /// The host says that the path of the plugin is no directory.
    pub(crate) not_a_directory: bool,
    /// Lines on standard error, as they are.
    pub(crate) log: Vec<String>,
    /// Tools of the plugin.
    pub(crate) tools: Vec<Tool>,
    /// Replaced in the strings of a tool's input by the plugin's hook: tool, what, by what.
    pub(crate) replace: Option<[String; 3]>,
    /// Variables that its shell hook sets.
    pub(crate) env: BTreeMap<String, String>,
    /// Lines that its context hook adds.
    pub(crate) system: Vec<String>,
    /// Appended to files of the project when a call has ended.
    pub(crate) appends: BTreeMap<String, String>,
    /// The exit code, when it is another than the conversation's.
    pub(crate) exit_code: Option<u8>,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            _note: String::new(),
            id: "fixture".to_owned(),
            plugin: Loaded::default(),
            error: String::new(),
            preflight: Answer::default(),
            tui: Tui::default(),
            shape: Shape::default(),
            ids: Ids::default(),
            catalog: Catalog::default(),
            not_a_directory: false,
            log: Vec::new(),
            tools: Vec::new(),
            replace: None,
            env: BTreeMap::new(),
            system: Vec::new(),
            appends: BTreeMap::new(),
            exit_code: None,
        }
    }
}

/// What became of the plugin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Loaded {
    /// Its setup ended well.
    #[default]
    Active,
    /// Its setup threw.
    Failed,
    /// Its module could not be imported, or its export is no definition.
    ImportFails,
    /// The host does not list it.
    Missing,
    /// Its setup never ends.
    Hangs,
    /// Its import never ends.
    ImportHangs,
}

/// How an import before the run ends.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Answer {
    /// A definition.
    #[default]
    Ok,
    /// With these exports.
    Exports(Value),
    /// It fails like this.
    Fails(Value),
    /// It never ends.
    Hangs,
    /// This host is no runtime for scripts.
    Silent,
}

/// The types of a TUI entry's definition.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Tui {
    id: Option<String>,
    setup: String,
    tui: String,
}

impl Default for Tui {
    fn default() -> Self {
        Self { id: Some("fixture.tui".to_owned()), setup: "function".to_owned(), tui: "undefined".to_owned() }
    }
}

/// Where the state of a plugin is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Shape {
    /// Beside its id, as a probe of ours records it.
    #[default]
    Flat,
    /// In an object of its own.
    Nested,
}

/// The ids of a call in an event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(crate) enum Ids {
    /// `partID` and `id`.
    #[default]
    #[serde(rename = "partID")]
    Part,
    /// `id` and `callID`, as an earlier host had it.
    #[serde(rename = "callID")]
    Call,
}

/// Where the catalog is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Catalog {
    /// In the system text.
    #[default]
    System,
    /// In the description of `execute`, as an earlier host had it.
    Described,
}

/// A tool of the plugin.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    /// Offered by itself instead of through Code Mode.
    #[serde(default)]
    pub(crate) direct: bool,
    /// Text of the result; `{field}` is the input's.
    pub(crate) output: String,
}

impl Tool {
    /// The host's own rule.
    pub(crate) fn effective_name(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
        let name: String = self.name.chars().map(plain).collect();
        self.namespace.as_ref().map_or_else(|| name.clone(), |namespace| format!("{}_{name}", namespace.replace('.', "_")))
    }

    /// The segments by which a program calls it.
    pub(crate) fn path(&self) -> Vec<&str> {
        self.namespace.iter().flat_map(|namespace| namespace.split('.')).chain([self.name.as_str()]).collect()
    }
}

impl Plan {
    /// The subject's plan.
    pub(crate) fn read() -> Result<Self, String> {
        if !Path::new(PLAN).exists() {
            return Ok(Self::default());
        }
        let text = std::fs::read_to_string(PLAN).map_err(|error| format!("{PLAN}: {error}"))?;
        serde_json::from_str(&text).map_err(|error| format!("{PLAN}: {error}"))
    }

    /// The plugin does what the plan says.
    pub(crate) fn works(&self) -> bool {
        self.plugin == Loaded::Active
    }

    /// The line that answers a script of the agent; `None` when none ever comes.
    pub(crate) fn answer(&self, script: &str) -> Option<Value> {
        if script.ends_with("tui-check.mjs") {
            let Tui { id, setup, tui } = &self.tui;
            return Some(json!({"ocsweepTui": 1, "ok": true, "id": id, "tui": tui, "setup": setup, "server": "undefined"}));
        }
        let export = json!({"name": "default", "type": "object", "keys": ["id", "setup"], "keyTypes": {"id": "string", "setup": "function"}, "id": self.id});
        match &self.preflight {
            Answer::Ok => Some(json!({"ocsweepPreflight": 1, "ok": true, "exports": [export]})),
            Answer::Exports(exports) => Some(json!({"ocsweepPreflight": 1, "ok": true, "exports": exports})),
            Answer::Fails(error) => Some(json!({"ocsweepPreflight": 1, "ok": false, "error": error})),
            Answer::Silent => Some(Value::Null),
            Answer::Hangs => None,
        }
    }
}
