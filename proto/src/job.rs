//! Jobs: what travels from the scheduler to an executor. Versioned and small; blobs travel by digest.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use std::collections::BTreeMap;

use crate::axes::{Flavour, Jit, Line, Tier};
use crate::config::{InventoryExpect, LogLevel, PluginConfig};
use crate::digest::Digest;
use crate::ids::{CaseId, ScenarioId, SweepId, VariantName};
use crate::limits::Limits;
use crate::scenario::Scenario;

/// The format of jobs and outcomes. A reader refuses a higher one.
pub const FORMAT: u32 = 1;

/// One unit of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    /// [`FORMAT`].
    pub format: u32,
    /// The run that the job belongs to.
    pub sweep: SweepId,
    /// Its case.
    pub case: CaseId,
    /// From 1; only the scheduler raises it.
    pub attempt: u32,
    /// What to do.
    pub work: Work,
}

/// What a job asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Work {
    /// Fetch, install, build and pack a subject.
    Prepare(Box<PrepareWork>),
    /// Run a case.
    Case(Box<CaseWork>),
}

/// Where a subject comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// A checkout on the executor's machine.
    Path(PathSource),
    /// A package of the npm registry.
    Npm(NpmSource),
}

/// A checkout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PathSource {
    /// Absolute path of the working directory, in which `.opencode-ci` lies.
    pub directory: String,
}

/// A published package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NpmSource {
    /// Package name, with scope.
    pub name: String,
    /// Version, range or dist-tag as asked for; `latest` when absent.
    pub wanted: Option<String>,
}

/// A subject to prepare.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PrepareWork {
    /// Name in reports.
    pub subject: String,
    /// Where it comes from.
    pub source: Source,
    /// The plugin's configuration: path, entry, install, build, ui.
    pub plugin: PluginConfig,
    /// Limits of the prepare container.
    pub limits: Limits,
}

/// A subject at an exact revision, ready to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    /// Name in reports: the package's name, else the directory's.
    pub name: String,
    /// The exact version when it is a published package, for people.
    pub revision: Option<String>,
    /// Digest of the bundle.
    pub digest: Digest,
    /// The plugin's directory, relative to the bundle's root; empty for the root itself. Forward slashes.
    pub directory: String,
    /// How the host would find the entry.
    pub entries: Entries,
    /// The npm package name when the npm rules apply, which also is the default plugin id.
    pub npm: Option<String>,
    /// Findings of the preparation that belong onto the load row.
    pub warnings: Vec<String>,
}

/// The entries of a subject. Paths are relative to the bundle's root.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entries {
    /// The server entry, and what the host itself would say of it.
    pub server: Option<ServerEntry>,
    /// The TUI entry.
    pub tui: Option<String>,
    /// The subject is TUI-only by its paths or by configuration.
    pub tui_only: bool,
}

/// A server entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerEntry {
    /// Path of the file.
    pub path: String,
    /// Which rule found it, for example `package.json "main"`.
    pub rule: String,
    /// Why the host would not resolve the plugin although a file is there, with the field that would fix it. `None`: the host resolves it.
    pub not_resolved: Option<String>,
    /// `engines.opencode` of the package, when the host checks it.
    pub engines: Option<String>,
}

/// A host binary at an exact version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Host {
    /// The word that was asked for; results key on it.
    pub requested: String,
    /// The exact version.
    pub resolved: String,
    /// Its line.
    pub line: Line,
    /// Digest of the binary.
    pub digest: Digest,
}

/// What a variant changes of how a case is run; its options are merged into the case's already.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Overlay {
    /// Which build of the host binary runs.
    pub flavour: Flavour,
    /// Container image instead of the executor's own.
    pub image: Option<String>,
    /// Environment variables of the host.
    pub env: BTreeMap<String, String>,
    /// Merged deeply under the harness's own keys of the host's global configuration.
    pub config: Map<String, Value>,
}

/// The author's own tests, run by bun in a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BunTests {
    /// The working directory, relative to the bundle's root; empty for the root itself. Forward slashes.
    pub directory: String,
    /// Test files below the working directory, relative to it, with forward slashes, in order.
    pub files: Vec<String>,
}

/// A case to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CaseWork {
    /// The subject.
    pub subject: Subject,
    /// The host.
    pub host: Host,
    /// The variant.
    pub variant: VariantName,
    /// The tier.
    pub tier: Tier,
    /// The scenario's id, or `load`.
    pub id: ScenarioId,
    /// The scenario; `None` for the load case.
    pub scenario: Option<Scenario>,
    /// The inventory that the load case must show.
    pub expect: InventoryExpect,
    /// Plugin options, merged.
    pub options: Map<String, Value>,
    /// The host's log level.
    pub log_level: LogLevel,
    /// What the variant changes of how the case is run.
    #[serde(default)]
    pub overlay: Overlay,
    /// How the host's JavaScript engine is tuned.
    #[serde(default)]
    pub jit: Jit,
    /// The author's own test files, for the case `bun-test`; such a case has no scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bun: Option<BunTests>,
    /// Limits.
    pub limits: Limits,
}

impl CaseWork {
    /// The digest of everything that the scenario adds to a case.
    ///
    /// # Errors
    /// When a part cannot be written as JSON.
    pub fn scenario_digest(&self) -> Result<Digest, serde_json::Error> {
        let run = (&self.overlay, &self.jit, &self.bun);
        Digest::of_json(&(&self.id, &self.scenario, &self.expect, &self.options, &self.log_level, run))
    }

    /// The bound of the whole case in milliseconds.
    #[must_use]
    pub fn total_ms(&self) -> u64 {
        match &self.scenario {
            Some(scenario) => scenario.timeout_ms.unwrap_or(crate::scenario::SCRIPTED_TIMEOUT_MS),
            None => self.limits.load_ms,
        }
    }
}
