//! Directories of process isolation: one of each run, locked while it lives, and the cache of bundles.
//!
//! `<state>/runs/<run>/` holds the empty mount points of roots and the scratch directories; a later run removes it when its lock is free.
//! `<state>/bundles/<digest>/` is renamed into place when it is whole, so a directory of that name is always complete.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::container::VolumeName;

use super::tree;

const LOCK: &str = "lock";
/// A directory without a lock file is one that is just being made.
const YOUNG: Duration = Duration::from_secs(3600);
/// A bundle that nobody used for so long.
const OLD: Duration = Duration::from_secs(30 * 24 * 3600);

#[derive(Debug)]
pub(super) struct RunDirectory {
    path: PathBuf,
    bundles: PathBuf,
    /// Names of the killed runs that were removed.
    dead: Vec<String>,
    _lock: File,
}

/// A directory of one preparation; it goes with the value.
#[derive(Debug)]
pub struct ScratchDirectory {
    name: VolumeName,
}

impl RunDirectory {
    /// Makes this run's directory and removes what killed runs left.
    pub(super) fn make(state: &Path) -> io::Result<Self> {
        let (runs, bundles) = (state.join("runs"), state.join("bundles"));
        fs::create_dir_all(&runs)?;
        fs::create_dir_all(&bundles)?;
        let dead = reap(&runs);
        expire(&bundles);
        let path = tempfile::Builder::new().prefix("run-").tempdir_in(&runs)?.keep();
        // The launcher goes through it inside a user namespace, where root is nobody special.
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        let lock = File::create(path.join(LOCK))?;
        lock.try_lock().map_err(io::Error::other)?;
        Ok(Self { path, bundles, dead, _lock: lock })
    }

    pub(super) fn dead(&self) -> &[String] {
        &self.dead
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn bundle(&self, digest: &str) -> PathBuf {
        self.bundles.join(digest)
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        tree::remove(&self.path);
    }
}

fn reap(runs: &Path) -> Vec<String> {
    let mut dead = Vec::new();
    for entry in fs::read_dir(runs).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_dead = match File::open(path.join(LOCK)) {
            Ok(lock) => lock.try_lock().is_ok(),
            Err(_) => older(&path, YOUNG),
        };
        if is_dead {
            tree::remove(&path);
            dead.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    dead
}

fn expire(bundles: &Path) {
    for entry in fs::read_dir(bundles).into_iter().flatten().flatten() {
        if older(&entry.path(), OLD) {
            tree::remove(&entry.path());
        }
    }
}

fn older(path: &Path, age: Duration) -> bool {
    let modified = fs::metadata(path).and_then(|metadata| metadata.modified());
    modified.is_ok_and(|modified| SystemTime::now().duration_since(modified).is_ok_and(|elapsed| elapsed > age))
}

impl ScratchDirectory {
    pub(super) fn new(path: &Path) -> Self {
        Self { name: VolumeName::of_path(path) }
    }

    /// Its path.
    #[must_use]
    pub fn name(&self) -> &VolumeName {
        &self.name
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        tree::remove(self.name.as_path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_living_run_keeps_its_directory_and_a_dead_one_does_not() {
        let state = tempfile::tempdir().unwrap();
        let living = RunDirectory::make(state.path()).unwrap();
        let dead = state.path().join("runs/run-dead");
        fs::create_dir_all(dead.join("root-0")).unwrap();
        File::create(dead.join(LOCK)).unwrap();
        let other = RunDirectory::make(state.path()).unwrap();
        assert_eq!(other.dead(), ["run-dead"]);
        assert!(living.path().is_dir() && other.path().is_dir() && !dead.exists());
        let path = living.path().to_owned();
        drop(living);
        assert!(!path.exists());
    }
}
