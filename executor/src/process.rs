//! Process isolation: cases and commands of the user's own checkout behind the kernel's namespaces, without an engine. The agent's binary is
//! its own launcher, builds the same paths as a container has, and becomes the same PID 1.
//!
//! It must never run anything with a weaker sandbox than it said: what cannot be had is an error, or a note on the row.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ocsweep_proto::agent::paths;
use ocsweep_proto::launch::{Bind, Launch, Tmpfs};
use tokio_util::task::TaskTracker;

use crate::container::{CaseSpec, ContainerError, Kind, Operation, PlainSpec};

mod cell;
mod cgroup;
mod check;
mod directory;
mod tree;

pub use cell::{Running, Waiting};
pub use check::Missing;
pub use directory::ScratchDirectory;

const MIB: u64 = 1024 * 1024;
/// The agent's own files, as in a container.
const RUN_BYTES: u64 = 16 * MIB;
/// The largest file of a command, as in a container.
const LARGEST_FILE_BYTES: u64 = 2048 * MIB;
/// An id that no system gives to a person, a service or a container: what the sandbox's user is to the machine when root runs this.
const UNUSED_UID: u32 = 1_879_100_711;

/// What isolates processes on this machine. Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Cells {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    agent: PathBuf,
    run: directory::RunDirectory,
    cgroups: Option<cgroup::Parent>,
    /// The machine's id of the sandbox's user.
    owner: u32,
    notes: Vec<String>,
    number: AtomicU64,
    removals: TaskTracker,
}

impl Cells {
    /// Makes sure that this machine can isolate processes, by isolating one. `state` is a directory of this user's for all runs.
    ///
    /// # Errors
    /// What is missing, and how to get it.
    pub async fn connect(agent: &Path, state: &Path) -> Result<Self, Missing> {
        let run = directory::RunDirectory::make(state).map_err(|error| Missing::state(state, &error))?;
        let removals = TaskTracker::new();
        let cgroups = cgroup::Parent::find(run.dead(), &removals);
        let mut shared = Shared {
            agent: agent.to_owned(),
            run,
            cgroups,
            owner: rustix::process::geteuid().as_raw(),
            notes: Vec::new(),
            number: AtomicU64::new(0),
            removals,
        };
        let seen = check::check(&shared).await?;
        if rustix::process::geteuid().is_root() {
            shared.owner = if seen.has_user { UNUSED_UID } else { paths::UID };
        }
        shared.notes = check::notes(&seen, shared.cgroups.is_some());
        Ok(Self { shared: Arc::new(shared) })
    }

    /// What is not enforced on this machine, one sentence each.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.shared.notes
    }

    pub(crate) async fn shutdown(&self, bound: Duration) -> Vec<String> {
        self.shared.removals.close();
        let ended = tokio::time::timeout(bound, self.shared.removals.wait()).await;
        self.shared.removals.reopen();
        if ended.is_err() { vec![self.shared.run.path().display().to_string()] } else { Vec::new() }
    }
}

impl Shared {
    /// A fresh mount point for one root.
    fn launch(&self) -> std::io::Result<Launch> {
        let root = self.run.path().join(format!("root-{}", self.number.fetch_add(1, Ordering::Relaxed)));
        std::fs::create_dir(&root)?;
        Ok(Launch {
            parent: std::process::id(),
            root: root.display().to_string(),
            workdir: "/".to_owned(),
            host_uid: UNUSED_UID,
            binds: vec![read_only(&self.agent, paths::AGENT)],
            ..Launch::default()
        })
    }

    fn case(&self, spec: &CaseSpec) -> std::io::Result<Launch> {
        let limits = &spec.limits;
        let user = |target: &str, bytes| Tmpfs { target: target.to_owned(), bytes, mode: "0755".to_owned(), of_user: true, exec: true };
        let run = Tmpfs { target: paths::RUN.to_owned(), bytes: RUN_BYTES, mode: "0711".to_owned(), of_user: false, exec: false };
        let mut launch = self.launch()?;
        launch.argv = vec![paths::AGENT.to_owned()];
        launch.binds.push(read_only(spec.host.as_path(), paths::HOST));
        launch.binds.push(read_only(spec.bundle.as_path(), paths::BUNDLE));
        launch.tmpfs =
            vec![run, user(paths::HOME, limits.home_bytes), user(paths::TMP, limits.tmp_bytes), user(paths::PROJECT, limits.project_bytes)];
        launch.nofile = limits.nofile;
        launch.nproc = Some(limits.pids);
        Ok(launch)
    }

    fn plain(&self, spec: &PlainSpec) -> std::io::Result<Launch> {
        let mut launch = self.launch()?;
        launch.argv = spec.argv.clone();
        launch.env = spec.env.clone();
        // In a container it comes from the image.
        launch.env.entry("PATH".to_owned()).or_insert_with(|| "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned());
        launch.workdir = spec.workdir.clone();
        launch.as_user = true;
        launch.network = spec.network;
        for mount in &spec.volumes {
            let source = mount.volume.as_path();
            // A single file stands for a volume that holds it.
            let target = if source.is_file() { format!("{}/opencode", mount.target) } else { mount.target.clone() };
            launch.binds.push(Bind { source: source.display().to_string(), target, read_only: mount.read_only });
        }
        launch.binds.extend(spec.files.iter().map(|file| read_only(&file.source, &file.target)));
        launch.tmpfs.extend(spec.tmpfs.iter().map(|mount| Tmpfs {
            target: mount.target.clone(),
            bytes: mount.bytes,
            mode: "0755".to_owned(),
            of_user: true,
            exec: true,
        }));
        launch.nofile = spec.nofile;
        launch.nproc = Some(spec.pids);
        launch.fsize = Some(LARGEST_FILE_BYTES);
        Ok(launch)
    }
}

fn read_only(source: &Path, target: &str) -> Bind {
    Bind { source: source.display().to_string(), target: target.to_owned(), read_only: true }
}

/// The machine did not do what an isolated process needs.
fn failed(operation: Operation, subject: &str, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> ContainerError {
    ContainerError::new(Kind::NotIsolated, operation, subject).caused_by(error)
}
