//! Control groups for isolated processes: memory and processes of one case, in version 2 or 1, where this process may make any.
//!
//! A group belongs below or beside this process's own, so that no limit that holds for it is left.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ocsweep_proto::launch::Cgroup;
use tokio_util::task::TaskTracker;

const MOUNT: &str = "/sys/fs/cgroup";
/// What every name begins with, so that what a killed run left can be found.
const PREFIX: &str = "ocsweep-";
/// From the kill of the last process to an empty group.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(20);

/// Where groups can be made.
#[derive(Debug)]
pub(super) enum Parent {
    /// One tree for everything.
    V2(PathBuf),
    /// A tree for memory and one for processes.
    V1 { memory: PathBuf, pids: PathBuf },
}

/// The groups of one cell. Dropping it removes them when they are empty.
#[derive(Debug)]
pub(super) struct Group {
    seen: Vec<Cgroup>,
    memory_events: PathBuf,
    removals: TaskTracker,
}

impl Parent {
    /// A place in which a group with both limits can be made; tried out. The groups of `dead` runs go.
    pub(super) fn find(dead: &[String], removals: &TaskTracker) -> Option<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let unified = own.lines().find_map(|line| line.strip_prefix("0::"));
        let v2 = unified.into_iter().flat_map(|path| {
            let own = below(Path::new(MOUNT), path);
            let beside = own.parent().filter(|parent| parent.starts_with(MOUNT)).map(Path::to_owned);
            [Some(own), beside].into_iter().flatten().map(Self::V2)
        });
        let controller = |name: &str| {
            let path = own.lines().find_map(|line| {
                let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
                controllers.split(',').any(|word| word == name).then_some(path)
            })?;
            Some(below(&Path::new(MOUNT).join(name), path))
        };
        let v1 = controller("memory").zip(controller("pids")).map(|(memory, pids)| Self::V1 { memory, pids });
        v2.chain(v1).find(|parent| parent.works(dead, removals))
    }

    fn works(&self, dead: &[String], removals: &TaskTracker) -> bool {
        self.reap(dead, removals);
        if let Self::V2(path) = self
            && path == Path::new(MOUNT)
        {
            // Only the top may have processes and children at once.
            let _ = set(&path.join("cgroup.subtree_control"), "+memory +pids");
        }
        self.group(&format!("check-{}", std::process::id()), 64 << 20, 64, &TaskTracker::new()).is_ok()
    }

    /// Removes the groups that killed runs left; one with processes stays.
    fn reap(&self, dead: &[String], removals: &TaskTracker) {
        for directory in self.directories() {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let of_dead = || dead.iter().any(|run| name.ends_with(run.as_str()));
                if name.starts_with(PREFIX) && (of_dead() || is_old(&entry.path())) {
                    // What was killed may still be ending; removing it is tried until then.
                    let seen = vec![Cgroup { directory: entry.path().display().to_string(), target: String::new() }];
                    drop(Group { seen, memory_events: PathBuf::new(), removals: removals.clone() });
                }
            }
        }
    }

    fn directories(&self) -> Vec<&Path> {
        match self {
            Self::V2(path) => vec![path],
            Self::V1 { memory, pids } => vec![memory, pids],
        }
    }

    pub(super) fn group(&self, id: &str, memory_bytes: u64, pids: u64, removals: &TaskTracker) -> io::Result<Group> {
        let name = format!("{PREFIX}{id}");
        let one =
            |directory: &Path, target: &str| Cgroup { directory: directory.join(&name).display().to_string(), target: target.to_owned() };
        let (seen, events) = match self {
            Self::V2(path) => (vec![one(path, MOUNT)], path.join(&name).join("memory.events")),
            Self::V1 { memory, pids } => (
                vec![one(memory, "/sys/fs/cgroup/memory"), one(pids, "/sys/fs/cgroup/pids")],
                memory.join(&name).join("memory.oom_control"),
            ),
        };
        let group = Group { seen, memory_events: events, removals: removals.clone() };
        for cgroup in &group.seen {
            fs::create_dir(&cgroup.directory)?;
        }
        let limit = |at: usize, file: &str, value: u64| {
            let directory = group.seen.get(at).map(|cgroup| Path::new(&cgroup.directory)).unwrap_or(Path::new(""));
            set(&directory.join(file), &value.to_string())
        };
        match self {
            Self::V2(_) => {
                limit(0, "memory.max", memory_bytes)?;
                // A kernel without swap has no such file.
                let _ = limit(0, "memory.swap.max", 0);
                let _ = limit(0, "memory.oom.group", 0);
                limit(0, "pids.max", pids)?;
            }
            Self::V1 { .. } => {
                limit(0, "memory.limit_in_bytes", memory_bytes)?;
                let _ = limit(0, "memory.memsw.limit_in_bytes", memory_bytes);
                limit(1, "pids.max", pids)?;
            }
        }
        Ok(group)
    }
}

/// Writes to a file that the kernel made: in a directory that is no control group nothing may appear.
fn set(file: &Path, text: &str) -> io::Result<()> {
    fs::OpenOptions::new().write(true).open(file)?.write_all(text.as_bytes())
}

/// A group younger than this may be one that its run is just entering.
fn is_old(path: &Path) -> bool {
    let made = fs::metadata(path).and_then(|metadata| metadata.modified());
    made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age > Duration::from_secs(60)))
}

fn below(mount: &Path, path: &str) -> PathBuf {
    mount.join(path.trim().trim_start_matches('/'))
}

impl Group {
    pub(super) fn seen(&self) -> Vec<Cgroup> {
        self.seen.clone()
    }

    /// The kernel killed a process of the group for memory.
    pub(super) fn out_of_memory(&self) -> bool {
        let text = fs::read_to_string(&self.memory_events).unwrap_or_default();
        text.lines().filter_map(|line| line.strip_prefix("oom_kill ")).any(|count| count.trim() != "0")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let left: Vec<PathBuf> = self.seen.iter().map(|cgroup| PathBuf::from(&cgroup.directory)).filter(|path| !removed(path)).collect();
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if left.is_empty() {
            return;
        }
        self.removals.spawn_on(
            async move {
                for path in left {
                    for _ in 0..TRIES {
                        if removed(&path) {
                            break;
                        }
                        tokio::time::sleep(PAUSE).await;
                    }
                }
            },
            &runtime,
        );
    }
}

fn removed(path: &Path) -> bool {
    fs::remove_dir(path).map_or_else(|error| error.kind() == io::ErrorKind::NotFound, |()| true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_directory_that_is_no_control_group_gives_none_and_stays_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let removals = TaskTracker::new();
        let v2 = Parent::V2(directory.path().to_owned());
        let v1 = Parent::V1 { memory: directory.path().join("a"), pids: directory.path().join("b") };
        for parent in [v2, v1] {
            assert!(parent.group("x", 1 << 20, 4, &removals).is_err());
        }
        removals.close();
        removals.wait().await;
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
