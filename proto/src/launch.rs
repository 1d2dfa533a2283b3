//! What the launcher of process isolation is told: one private root, what is in it, and the program that becomes PID 1 there.
//!
//! The launcher is the agent's own binary; it gets a [`Launch`] as JSON on its command line, so nothing in it may be a secret.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The argument by which the agent's binary becomes the launcher.
pub const ARGUMENT: &str = "launch";
/// The launcher's exit code when it could not start the program; its standard error says why.
pub const FAILED: u8 = 125;
/// What every line of the launcher's own errors begins with.
pub const PREFIX: &str = "cannot isolate: ";

/// One program in a root of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Launch {
    /// Process that must be alive; the launcher ends when its parent does.
    pub parent: u32,
    /// An empty directory of this machine. The root is mounted on it, in a mount namespace that nobody else sees.
    pub root: String,
    /// Program, which is a path in the new root, and arguments.
    pub argv: Vec<String>,
    /// The whole environment.
    pub env: BTreeMap<String, String>,
    /// Working directory in the new root.
    pub workdir: String,
    /// Start the program as the sandbox's user without any capability; else as the agent.
    pub as_user: bool,
    /// Keep the machine's network.
    pub network: bool,
    /// Files and directories of this machine.
    pub binds: Vec<Bind>,
    /// Memory file systems.
    pub tmpfs: Vec<Tmpfs>,
    /// Control groups to enter, and where the program sees them.
    pub cgroups: Vec<Cgroup>,
    /// The machine's user id behind the sandbox's user, when the launcher runs as root.
    pub host_uid: u32,
    /// Open files of one process.
    pub nofile: u64,
    /// Processes of the user; `None` when a control group counts them.
    pub nproc: Option<u64>,
    /// The largest file.
    pub fsize: Option<u64>,
}

/// A file or directory of this machine in the new root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Bind {
    /// Absolute path on this machine.
    pub source: String,
    /// Absolute path in the new root.
    pub target: String,
    /// No writing.
    pub read_only: bool,
}

/// A memory file system in the new root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tmpfs {
    /// Absolute path in the new root.
    pub target: String,
    /// Size.
    pub bytes: u64,
    /// Mode of its top directory, as `mount` takes it.
    pub mode: String,
    /// It belongs to the sandbox's user; else to the agent.
    pub of_user: bool,
    /// Programs in it may be run.
    pub exec: bool,
}

/// A control group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cgroup {
    /// Its directory on this machine.
    pub directory: String,
    /// Where it is in the new root.
    pub target: String,
}
