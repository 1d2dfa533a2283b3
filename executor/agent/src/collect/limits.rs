//! Peaks and limits that the kernel counted for the container, from control groups of either version, and file systems that are full.

use std::path::Path;

use ocsweep_proto::agent::Root;

use crate::user::place;

/// A file system with less room than this cannot take what a program wants to write.
const FULL_BELOW: u64 = 64 * 1024;

/// What the control group says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Cgroup {
    pub(super) peak_memory_bytes: Option<u64>,
    pub(super) out_of_memory: bool,
    pub(super) out_of_processes: bool,
}

/// Reads the counters below the mount of the control groups. A counter that this kernel does not have is absent.
pub(super) fn read(cgroup: &Path) -> Cgroup {
    let text = |path: &str| std::fs::read_to_string(cgroup.join(path)).ok();
    let number = |path: &str| text(path)?.trim().parse().ok();
    // Version 2 first: on a mixed machine the files of version 1 lie in directories of their own.
    let counter = |paths: [&str; 2], key: &str| paths.iter().filter_map(|path| field(&text(path)?, key)).any(|count| count > 0);
    Cgroup {
        peak_memory_bytes: number("memory.peak").or_else(|| number("memory/memory.max_usage_in_bytes")),
        out_of_memory: counter(["memory.events", "memory/memory.oom_control"], "oom_kill"),
        out_of_processes: counter(["pids.events", "pids/pids.events"], "max"),
    }
}

/// The number behind a word at the beginning of a line.
fn field(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
}

/// The user's file systems without room for bytes or for files.
pub(super) fn full(base: &Path) -> Vec<String> {
    let trees = [("home", Root::Home), ("tmp", Root::Tmp), ("project", Root::Project)];
    let is_full = |root: Root| {
        rustix::fs::statvfs(place(base, root.directory())).is_ok_and(|stat| {
            let no_inodes = stat.f_files > 0 && stat.f_ffree == 0;
            no_inodes || stat.f_bavail.saturating_mul(stat.f_frsize) < FULL_BELOW
        })
    };
    trees.into_iter().filter(|(_, root)| is_full(*root)).map(|(name, _)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cgroup(files: &[(&str, &str)]) -> Cgroup {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        read(dir.path())
    }

    #[test]
    fn both_versions_are_read() {
        let v1 = [
            ("memory/memory.max_usage_in_bytes", "1234\n"),
            ("memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"),
            ("pids/pids.events", "max 3\n"),
        ];
        assert_eq!(cgroup(&v1), Cgroup { peak_memory_bytes: Some(1234), out_of_memory: true, out_of_processes: true });
        let v2 = [("memory.peak", "99\n"), ("memory.events", "low 0\nmax 7\noom 1\noom_kill 0\n"), ("pids.events", "max 0\n")];
        assert_eq!(cgroup(&v2), Cgroup { peak_memory_bytes: Some(99), out_of_memory: false, out_of_processes: false });
        assert_eq!(cgroup(&[]), Cgroup::default());
    }

    #[test]
    fn a_word_that_only_begins_alike_does_not_count() {
        let v1 = [("memory/memory.oom_control", "oom_kill_disable 1\nunder_oom 0\noom_kill 0\n")];
        assert!(!cgroup(&v1).out_of_memory);
    }
}
