//! The protocol between an executor and the agent, which is PID 1 of a case container: one [`AgentJob`] on standard input, frames on
//! standard output (`frame`), one [`After`] on standard input once the report has been judged.
//!
//! The agent is never asked whether a case passed; it only observes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::scenario::Step;

/// The format of the protocol; agent and executor of one build always agree.
pub const FORMAT: u32 = 1;

/// Fixed places inside a case container.
pub mod paths {
    /// Read-only volume with the agent.
    pub const AGENT_DIR: &str = "/opt/ocsweep/agent";
    /// The agent.
    pub const AGENT: &str = "/opt/ocsweep/agent/ocsweep-agent";
    /// Read-only volume with the host binary.
    pub const HOST_DIR: &str = "/opt/ocsweep/host";
    /// The host binary.
    pub const HOST: &str = "/opt/ocsweep/host/opencode";
    /// Read-only volume with the subject.
    pub const BUNDLE: &str = "/opt/ocsweep/bundle";
    /// The agent's own tmpfs, root-owned, 0711.
    pub const RUN: &str = "/run/ocsweep";
    /// Probe modules, the generated observer, seeds.
    pub const ASSETS: &str = "/run/ocsweep/assets";
    /// The directory that stands in for the plugin's entry on line v2: its `server.js` re-exports the default export.
    pub const SHIM: &str = "/run/ocsweep/assets/plugin-under-test";
    /// FIFOs of the probes.
    pub const PROBE: &str = "/run/ocsweep/probe";
    /// HOME.
    pub const HOME: &str = "/sandbox/home";
    /// XDG directories, which differ from their defaults below HOME.
    pub const XDG: &str = "/sandbox/home/xdg";
    /// TMPDIR.
    pub const TMP: &str = "/sandbox/tmp";
    /// The project, in which the host runs.
    pub const PROJECT: &str = "/sandbox/project";
    /// The stub model's address.
    pub const STUB: &str = "127.0.0.1:41789";
    /// User and group of the host process.
    pub const UID: u32 = 1000;
}

/// Everything that one case needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentJob {
    /// [`FORMAT`].
    pub format: u32,
    /// What to run.
    pub task: Task,
    /// Files to write before the task, in order.
    pub seeds: Vec<Seed>,
    /// Deadlines in milliseconds.
    pub deadlines: Deadlines,
    /// Bytes kept of each stream.
    pub stream_bytes: u64,
}

/// What the agent runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// A conversation with the host.
    Host(Box<HostTask>),
    /// The static check of a TUI plugin.
    TuiCheck(TuiTask),
}

/// A conversation with the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostTask {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// The whole environment.
    pub env: BTreeMap<String, String>,
    /// Standard input, as it is.
    pub stdin: String,
    /// The stub's answers.
    pub script: Vec<Step>,
    /// The plugin to observe.
    pub plugin: ObservedPlugin,
    /// Project files to report after the run, as written in the scenario.
    pub read_files: Vec<String>,
}

/// The plugin that the observer module stands in for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObservedPlugin {
    /// Absolute path of the entry in the container.
    pub entry: String,
    /// The package's name for an npm subject: the host's default id.
    pub npm: Option<String>,
    /// The result of an earlier preflight of the same bundle and binary.
    pub preflight: Option<Preflight>,
    /// What the host is given in place of the entry.
    pub stand_in: StandIn,
}

/// What stands in for a plugin's entry in the host's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StandIn {
    /// A module that re-exports every name, each function wrapped once (line v1). Without an imported preflight there is nothing to run.
    Observer,
    /// A directory whose `server.js` re-exports the default export as it is (line v2). The host's own word decides; a preflight only
    /// explains.
    Shim,
}

/// The static check of a TUI plugin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TuiTask {
    /// Absolute path of the entry in the container.
    pub entry: String,
    /// Environment.
    pub env: BTreeMap<String, String>,
}

/// A file to write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Seed {
    /// Below which directory.
    pub root: Root,
    /// Relative path with forward slashes; no empty, `.` or `..` segment.
    pub path: String,
    /// Contents; `None` makes a directory.
    pub contents: Option<String>,
}

/// A writable tree of the container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Root {
    /// [`paths::HOME`], the user's.
    Home,
    /// [`paths::TMP`], the user's.
    Tmp,
    /// [`paths::PROJECT`], the user's.
    Project,
    /// [`paths::ASSETS`], the agent's.
    Assets,
}

impl Root {
    /// The directory.
    #[must_use]
    pub const fn directory(self) -> &'static str {
        match self {
            Self::Home => paths::HOME,
            Self::Tmp => paths::TMP,
            Self::Project => paths::PROJECT,
            Self::Assets => paths::ASSETS,
        }
    }
}

/// Deadlines, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deadlines {
    /// Start to the first sign of life: an event on standard output or a probe record.
    pub start: u64,
    /// One import, factory or config hook of the plugin.
    pub init: u64,
    /// Silence of standard output, standard error, probes and model requests.
    pub no_output: u64,
    /// The whole run of the host.
    pub total: u64,
}

/// What the preflight learned by importing the entry in the host's own runtime.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Preflight {
    /// The module was imported.
    Imported(Vec<Export>),
    /// The module cannot be imported.
    Failed(ImportError),
    /// The import did not end within the init deadline.
    Hung,
    /// The process ended without a word; its exit and the tail of its output.
    Died(String),
}

/// One export of the entry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Export {
    /// Name.
    pub name: String,
    /// JavaScript `typeof`, or `null` for null.
    #[serde(rename = "type")]
    pub kind: String,
    /// Functions with the same number are the same function.
    pub same: Option<u32>,
    /// The function is a class.
    pub class: bool,
    /// Keys of an object and their types.
    pub keys: BTreeMap<String, String>,
    /// A string `id` of an object.
    pub id: Option<String>,
}

/// The name of the [`ImportError`] of a module whose export names are too many or too long to be exposed one by one.
pub const EXPORT_LIMIT: &str = "ExportLimit";

/// Why an import failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ImportError {
    /// Class of the error.
    pub name: String,
    /// Message.
    pub message: String,
    /// Stack.
    pub stack: String,
    /// Where, as far as the runtime says.
    pub positions: Vec<Position>,
}

/// A place in a source file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Position {
    /// Absolute path in the container.
    pub file: String,
    /// Line, from 1.
    pub line: u64,
    /// Column, from 1.
    pub column: u64,
    /// Message of this place.
    pub message: String,
}

/// The agent's report: everything that is no stream.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Report {
    /// How the host process ended; `None` when it was never started.
    pub exit: Option<Exit>,
    /// The bound that ended it, if one did.
    pub timeout: Option<Timeout>,
    /// Wall time of the agent's phases in milliseconds: `preflight`, `write`, `host`, `collect`.
    pub phases: BTreeMap<String, u64>,
    /// What the preflight learned, also when it was handed in.
    pub preflight: Option<Preflight>,
    /// The TUI check's answer.
    pub tui: Option<TuiReport>,
    /// Processes that outlived the host.
    pub leaked: Vec<LeakedProcess>,
    /// Names that were looked up.
    pub lookups: Vec<String>,
    /// The requested project files.
    pub files: Vec<FileFact>,
    /// Files in HOME outside the XDG directories (`$HOME/…`) and in TMPDIR (`$TMPDIR/…`) after the run, without the seeds; at most 1000.
    pub writes_outside: Vec<String>,
    /// Files of the project after the run, at most 1000.
    pub project_files: Vec<String>,
    /// Auto-discovered plugin files in the project: paths below `.opencode/plugin` and `.opencode/plugins`.
    pub discovered_plugins: Vec<String>,
    /// A configuration of the host in a directory above the sandbox, when one was looked for and found.
    pub ancestor_config: Option<String>,
    /// Peak memory of the container, in bytes.
    pub peak_memory_bytes: Option<u64>,
    /// The kernel killed a process of the container for memory.
    pub out_of_memory: bool,
    /// The process limit was reached.
    pub out_of_processes: bool,
    /// File systems that were full at the end: `home`, `tmp`, `project`.
    pub full: Vec<String>,
    /// Model requests and how they were answered.
    pub stub: StubReport,
    /// Bytes dropped by a cap, by stream.
    pub dropped: BTreeMap<String, u64>,
    /// Probe lines that did not parse.
    pub unparsed_probe_lines: u64,
    /// The agent itself could not do something; the case is indeterminate.
    pub fault: Option<String>,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Exit {
    /// With a code.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

/// A bound that was reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Timeout {
    /// Which.
    pub bound: Bound,
    /// Its value in milliseconds.
    pub limit_ms: u64,
    /// What was pending, for [`Bound::Init`]: for example `factory "Indexer", waiting for session.list`.
    pub pending: String,
}

/// The bounds of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// No sign of life.
    Start,
    /// An import, factory or config hook did not end.
    Init,
    /// Silence.
    NoOutput,
    /// Too long in all.
    Total,
}

/// The TUI check's answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TuiReport {
    /// The module could be imported.
    pub imported: bool,
    /// Why not.
    pub error: String,
    /// `typeof` of the default export's `tui`.
    pub tui: String,
    /// `typeof` of the default export's `id`.
    pub id: String,
    /// `typeof` of the default export's `setup`.
    pub setup: String,
}

/// A process that outlived the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeakedProcess {
    /// Process id in the container.
    pub pid: i32,
    /// Its parent's.
    pub parent: i32,
    /// Command line, joined by blanks, at most 500 characters.
    pub command: String,
}

/// One requested file after the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileFact {
    /// The path as requested.
    pub path: String,
    /// What is there.
    pub state: FileState,
}

/// What a requested path is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileState {
    /// Nothing.
    Missing,
    /// Absolute, or resolving lexically outside the project.
    EscapesLexically,
    /// Behind a symlink that leaves the project.
    EscapesBySymlink,
    /// The real path cannot be found, for example in a loop of links.
    Unresolvable,
    /// A regular file. Bytes that are no UTF-8 are replaced; at most 1 MiB.
    File(FileText),
    /// Something else that exists.
    Other,
}

/// A file's text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileText {
    /// Contents.
    pub text: String,
    /// Bytes that were cut off.
    pub dropped: u64,
}

/// What the stub saw.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StubReport {
    /// Primary requests.
    pub primary: u64,
    /// Requests for titles and the like.
    pub auxiliary: u64,
    /// Primary requests after the last step.
    pub exhausted: u64,
}

/// A recorded model request: one line of `stub-requests.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StubRequest {
    /// From 1.
    pub n: u64,
    /// Milliseconds since the epoch.
    pub t: u64,
    /// Class of the request.
    pub kind: RequestKind,
    /// Headers, by lowercase name.
    pub headers: BTreeMap<String, String>,
    /// Body; a string when it is no JSON.
    pub body: Value,
}

/// Class of a model request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestKind {
    /// Carries the judge's sentinel.
    Judge,
    /// Offers tools; consumes a step.
    Primary,
    /// Anything else, for example a title.
    Auxiliary,
    /// Not a chat completion.
    Other,
}

/// What the executor wants after it has judged the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum After {
    /// Send the project as a compressed archive, then end.
    Workspace,
    /// End.
    Done,
}
