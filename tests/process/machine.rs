//! Questions to this machine: whether it can isolate processes, and what of a run is left on it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::run::OCSWEEP;

/// Whether `doctor` finds process isolation possible. Where it is not, a test is skipped with a note, unless it must be there.
pub(crate) fn can_isolate() -> bool {
    let output = Command::new(OCSWEEP).args(["doctor", "--isolation", "process"]).output().expect("doctor runs");
    let can = output.status.success();
    let required = std::env::var("OCSWEEP_TEST_PROCESS").is_ok_and(|value| value == "1");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(can || !required, "OCSWEEP_TEST_PROCESS=1, and process isolation is not possible:\n{said}");
    if !can {
        println!("skipped: {said}");
    }
    can
}

/// Processes whose command line holds a text.
pub(crate) fn processes_with(text: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    let own = std::process::id().to_string();
    let pids =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    let lines = pids.filter(|pid| *pid != own).filter_map(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        Some(format!("{pid} {}", String::from_utf8_lossy(&line).replace('\0', " ")))
    });
    lines.filter(|line| line.contains(text)).collect()
}

/// The directories of runs below a cache.
pub(crate) fn runs(cache: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(cache.join("ocsweep/process/runs")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// A cache of its own with the machine's host binaries, so that a test sees only its own runs.
pub(crate) fn own_cache() -> tempfile::TempDir {
    let home = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let shared = home.unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").expect("HOME")).join(".cache")).join("ocsweep/binaries");
    let cache = tempfile::tempdir().expect("a temporary directory");
    std::fs::create_dir(cache.path().join("ocsweep")).expect("a directory");
    if shared.is_dir() {
        std::os::unix::fs::symlink(shared, cache.path().join("ocsweep/binaries")).expect("a link");
    }
    cache
}

/// No mount of this machine lies below a path.
#[track_caller]
pub(crate) fn has_no_mounts_below(path: &Path) {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("the mounts");
    let left: Vec<&str> = mounts.lines().filter(|line| line.contains(&path.display().to_string())).collect();
    assert!(left.is_empty(), "mounts are left: {left:?}");
}

/// Control groups whose names hold a text.
pub(crate) fn groups_of(text: &str) -> Vec<PathBuf> {
    fn below(directory: &Path, text: &str, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if entry.file_name().to_string_lossy().contains(text) {
                    found.push(entry.path());
                }
                below(&entry.path(), text, found);
            }
        }
    }
    let mut found = Vec::new();
    below(Path::new("/sys/fs/cgroup"), text, &mut found);
    found
}
