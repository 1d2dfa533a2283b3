//! Who lives: each process of this user holds a lock on a small file named after its executor id. The kernel lets go of the lock however
//! the process ends, so another process can tell the containers of the dead from those of the living.
//!
//! It knows nothing of containers.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ocsweep_proto::ids::SweepId;

use super::error::{ContainerError, Kind, Operation};
use super::labels;

/// Another process can look at a lock, or take away a fresh file before it is locked; twice in a row is already unlikely.
const TRIES: usize = 10;

/// This process's own sign of life and the view of the others'.
#[derive(Debug)]
pub(crate) struct Presence {
    executor: String,
    executors: PathBuf,
    volumes: PathBuf,
    /// Held, never read.
    _lock: File,
}

/// What is known of an executor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    /// This process.
    Own,
    /// Its lock is held.
    Alive,
    /// Its lock can be had.
    Dead,
    /// It never was on this machine, or not with this state directory.
    Unknown,
}

impl Presence {
    /// Takes the lock of an executor id, of a new one when none is given.
    pub(crate) fn announce(state: &Path, executor: Option<&str>) -> Result<Self, ContainerError> {
        let executor = executor.map_or_else(labels::nonce, str::to_owned);
        let fail =
            |error: io::Error| ContainerError::new(Kind::LocalIo, Operation::KeepState, state.display().to_string()).caused_by(error);
        // The id becomes a file name and a label: the rule for ids makes it safe for both.
        SweepId::new(executor.clone()).map_err(|error| fail(io::Error::new(io::ErrorKind::InvalidInput, error.to_string())))?;
        let (executors, volumes) = (state.join("executors"), state.join("volumes"));
        for directory in [&executors, &volumes] {
            std::fs::create_dir_all(directory).map_err(fail)?;
        }
        let lock = take(&lock_path(&executors, &executor)).map_err(fail)?;
        Ok(Self { executor, executors, volumes, _lock: lock })
    }

    pub(crate) fn executor(&self) -> &str {
        &self.executor
    }

    /// Whether an executor still lives. Whatever cannot be told counts as unknown.
    pub(crate) fn life(&self, executor: &str) -> Life {
        if executor == self.executor {
            return Life::Own;
        }
        if SweepId::new(executor).is_err() {
            return Life::Unknown;
        }
        let Ok(file) = File::open(lock_path(&self.executors, executor)) else { return Life::Unknown };
        match file.try_lock() {
            Ok(()) => Life::Dead,
            Err(TryLockError::WouldBlock) => Life::Alive,
            Err(TryLockError::Error(_)) => Life::Unknown,
        }
    }

    /// Forgets the dead executors that `still_needed` does not name. Returns how many.
    pub(crate) fn bury(&self, still_needed: impl Fn(&str) -> bool) -> usize {
        let Ok(entries) = std::fs::read_dir(&self.executors) else { return 0 };
        let mut buried = 0;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(executor) = name.to_str().and_then(|name| name.strip_suffix(".lock")) else { continue };
            if !still_needed(executor) && self.life(executor) == Life::Dead && std::fs::remove_file(entry.path()).is_ok() {
                buried += 1;
            }
        }
        buried
    }

    /// Takes back the sign of life of a process that leaves nothing behind.
    pub(crate) fn retire(&self) {
        // A file that stays is buried by the next reaper.
        let _ = std::fs::remove_file(lock_path(&self.executors, &self.executor));
    }

    /// Notes that a cached volume was used. Losing the note only makes the volume look older.
    pub(crate) fn touch(&self, volume: &str) {
        let path = self.volumes.join(volume);
        let touched = OpenOptions::new().create(true).append(true).open(path).and_then(|file| file.set_modified(SystemTime::now()));
        if let Err(error) = touched {
            tracing::debug!(volume, %error, "cannot note the use of a volume");
        }
    }

    /// When a cached volume was last used from this state directory.
    pub(crate) fn last_used(&self, volume: &str) -> Option<SystemTime> {
        std::fs::metadata(self.volumes.join(volume)).and_then(|metadata| metadata.modified()).ok()
    }

    /// Forgets a cached volume.
    pub(crate) fn forget(&self, volume: &str) {
        // An orphaned note does no harm.
        let _ = std::fs::remove_file(self.volumes.join(volume));
    }
}

fn lock_path(executors: &Path, executor: &str) -> PathBuf {
    executors.join(format!("{executor}.lock"))
}

fn take(path: &Path) -> io::Result<File> {
    let mut held = false;
    for _ in 0..TRIES {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        match file.try_lock() {
            Ok(()) => held = false,
            // Somebody may only be looking, which takes microseconds.
            Err(TryLockError::WouldBlock) => {
                held = true;
                std::thread::yield_now();
                continue;
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let same = std::fs::metadata(path).is_ok_and(|there| file.metadata().is_ok_and(|here| here.ino() == there.ino()));
        if same {
            return Ok(file);
        }
    }
    let why = if held { "another process has the same executor id" } else { "the lock file vanishes again and again" };
    Err(io::Error::new(io::ErrorKind::AddrInUse, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_living_are_told_from_the_dead() {
        let state = tempfile::tempdir().unwrap();
        let me = Presence::announce(state.path(), None).unwrap();
        let other = Presence::announce(state.path(), Some("other")).unwrap();
        assert_eq!(me.life(me.executor()), Life::Own);
        assert_eq!(me.life("other"), Life::Alive);
        assert_eq!(me.life("stranger"), Life::Unknown);
        assert_eq!(me.life("../executors/other"), Life::Unknown);
        assert_eq!(me.bury(|_| false), 0);
        drop(other);
        assert_eq!(me.life("other"), Life::Dead);
        assert_eq!(me.bury(|executor| executor == "other"), 0);
        assert_eq!(me.bury(|_| false), 1);
        assert_eq!(me.life("other"), Life::Unknown);
    }

    #[test]
    fn an_id_is_had_once_and_again_after_its_end() {
        let state = tempfile::tempdir().unwrap();
        let first = Presence::announce(state.path(), Some("a")).unwrap();
        assert_eq!(Presence::announce(state.path(), Some("a")).unwrap_err().kind(), Kind::LocalIo);
        drop(first);
        assert!(Presence::announce(state.path(), Some("a")).is_ok());
        assert!(Presence::announce(state.path(), Some("../a")).is_err());
    }

    #[test]
    fn uses_are_noted_and_forgotten() {
        let state = tempfile::tempdir().unwrap();
        let me = Presence::announce(state.path(), None).unwrap();
        assert_eq!(me.last_used("v"), None);
        let before = SystemTime::now() - std::time::Duration::from_secs(1);
        me.touch("v");
        assert!(me.last_used("v").unwrap() > before);
        me.forget("v");
        assert_eq!(me.last_used("v"), None);
    }
}
