//! What is left when everything has ended: requested files, traces outside the project, peaks and limits. Runs only after the last process
//! of the user is dead, so nothing changes under it.
//!
//! Every list is bounded. It must never follow a symlink that the plugin made without looking where it leads, and never write.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ocsweep_proto::agent::{FileFact, Report, Root, Seed, paths};

use crate::user::place;

mod files;
mod limits;
mod walk;

pub(crate) use walk::{Entry, Kind, Walk};

/// Paths kept of a list.
const MAX_LISTED: usize = 1000;
/// Directories in which the host looks for plugins by itself.
const DISCOVERED: [&str; 2] = [".opencode/plugin/", ".opencode/plugins/"];

/// Fills the report's facts about the file systems and limits. `base` is `/` but in tests.
pub(crate) fn collect(base: &Path, read_files: &[String], seeds: &[Seed], report: &mut Report) {
    report.files = files(base, read_files);
    outside(base, seeds, report);
    project(base, report);
    report.full = limits::full(base);
    report.ancestor_config = ancestor_config(base);
    resources(base, report);
}

/// Peaks and limits of the container.
pub(crate) fn resources(base: &Path, report: &mut Report) {
    let cgroup = limits::read(&place(base, "/sys/fs/cgroup"));
    report.peak_memory_bytes = cgroup.peak_memory_bytes;
    report.out_of_memory = cgroup.out_of_memory;
    report.out_of_processes = cgroup.out_of_processes;
}

/// A host configuration above the project, which a host of line v2 would have read. The nearest counts, and `.json` before `.jsonc`.
fn ancestor_config(base: &Path) -> Option<String> {
    let above = Path::new(paths::PROJECT).ancestors().skip(1);
    let names = above.flat_map(|directory| ["opencode.json", "opencode.jsonc"].map(|name| directory.join(name).display().to_string()));
    names.into_iter().find(|path| place(base, path).symlink_metadata().is_ok())
}

fn files(base: &Path, wanted: &[String]) -> Vec<FileFact> {
    let project = place(base, paths::PROJECT);
    wanted.iter().map(|path| FileFact { path: path.clone(), state: files::state(&project, paths::PROJECT, path) }).collect()
}

/// Files in HOME outside the XDG directories, and in TMPDIR, that neither a seed nor the host itself put there.
fn outside(base: &Path, seeds: &[Seed], report: &mut Report) {
    let mut list = List::new("writes-outside");
    for (root, shown, skip) in [(Root::Home, "$HOME", Some("xdg")), (Root::Tmp, "$TMPDIR", None)] {
        let seeded: BTreeSet<&str> = seeds.iter().filter(|seed| seed.root == root).map(|seed| seed.path.as_str()).collect();
        let mut walk = Walk::new(&place(base, root.directory()), skip);
        for entry in walk.by_ref() {
            let leaf = match entry.kind {
                Kind::Directory => entry.empty,
                Kind::File | Kind::Link | Kind::Other => true,
            };
            let path = entry.shown();
            if leaf && !seeded.contains(path.as_str()) && !is_of_the_host(root, &entry, &path) {
                list.add(format!("{shown}/{path}{}", if entry.kind == Kind::Directory { "/" } else { "" }));
            }
        }
        list.left_out += walk.cut();
    }
    report.writes_outside = list.finish(&mut report.dropped);
}

/// What the host leaves behind in TMPDIR in a run without any plugin: its native library, unpacked once for each process, and an empty
/// directory of its name.
fn is_of_the_host(root: Root, entry: &Entry, path: &str) -> bool {
    let library = || {
        let digits = path.strip_prefix('.')?.strip_suffix("-00000000.so")?;
        (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(())
    };
    root == Root::Tmp && if entry.kind == Kind::Directory { path == "opencode" } else { library().is_some() }
}

fn project(base: &Path, report: &mut Report) {
    let mut list = List::new("project-files");
    // Git's own files are no news.
    let mut walk = Walk::new(&place(base, paths::PROJECT), Some(".git"));
    for entry in walk.by_ref().filter(|entry| entry.kind != Kind::Directory) {
        let path = entry.shown();
        if DISCOVERED.iter().any(|directory| path.starts_with(directory)) && report.discovered_plugins.len() < MAX_LISTED {
            report.discovered_plugins.push(path.clone());
        }
        list.add(path);
    }
    list.left_out += walk.cut();
    report.project_files = list.finish(&mut report.dropped);
    report.discovered_plugins.sort_unstable();
}

/// A list of paths that stays small; what it leaves out is counted.
struct List {
    name: &'static str,
    paths: BTreeSet<String>,
    left_out: u64,
}

impl List {
    const fn new(name: &'static str) -> Self {
        Self { name, paths: BTreeSet::new(), left_out: 0 }
    }

    fn add(&mut self, path: String) {
        self.paths.insert(path);
        // The first ones in the order of their names stay, so that two runs list the same.
        if self.paths.len() > MAX_LISTED {
            self.paths.pop_last();
            self.left_out += 1;
        }
    }

    fn finish(self, dropped: &mut BTreeMap<String, u64>) -> Vec<String> {
        if self.left_out > 0 {
            dropped.insert(self.name.to_owned(), self.left_out);
        }
        self.paths.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn base() -> tempfile::TempDir {
        let base = tempfile::tempdir().unwrap();
        for path in ["home/xdg/config", "tmp", "project/.git"] {
            std::fs::create_dir_all(base.path().join("sandbox").join(path)).unwrap();
        }
        base
    }

    fn write(base: &Path, path: &str) {
        let path = base.join("sandbox").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "x").unwrap();
    }

    fn collected(base: &Path, seeds: &[Seed]) -> Report {
        let mut report = Report::default();
        collect(base, &[], seeds, &mut report);
        report
    }

    #[test]
    fn traces_outside_the_project_are_listed_without_seeds_and_the_hosts_own() {
        let base = base();
        for path in [
            "home/xdg/config/opencode/x",
            "home/.cache/p/1",
            "home/seeded",
            "tmp/.9fe4ab-00000000.so",
            "tmp/.zz-00000000.so",
            "tmp/log\nfile",
        ] {
            write(base.path(), path);
        }
        for directory in ["home/.plugin/empty", "tmp/opencode", "home/opencode"] {
            std::fs::create_dir_all(base.path().join("sandbox").join(directory)).unwrap();
        }
        symlink("/etc", base.path().join("sandbox/home/link")).unwrap();
        let seed = Seed { root: Root::Home, path: "seeded".to_owned(), contents: Some("x".to_owned()) };
        let report = collected(base.path(), &[seed]);
        let expected =
            ["$HOME/.cache/p/1", "$HOME/.plugin/empty/", "$HOME/link", "$HOME/opencode/", "$TMPDIR/.zz-00000000.so", "$TMPDIR/log\nfile"];
        assert_eq!(report.writes_outside, expected);
        assert!(report.dropped.is_empty());
    }

    #[test]
    fn project_files_and_discovered_plugins_are_listed_without_git() {
        let base = base();
        for path in ["README.md", ".git/HEAD", ".opencode/plugin/a.js", ".opencode/plugins/d/b.ts", ".opencode/plugin.md", "src/.git/x"] {
            write(base.path(), &format!("project/{path}"));
        }
        let report = collected(base.path(), &[]);
        assert_eq!(
            report.project_files,
            [".opencode/plugin.md", ".opencode/plugin/a.js", ".opencode/plugins/d/b.ts", "README.md", "src/.git/x"]
        );
        assert_eq!(report.discovered_plugins, [".opencode/plugin/a.js", ".opencode/plugins/d/b.ts"]);
    }

    #[test]
    fn a_long_list_is_cut_and_counted() {
        let base = base();
        for n in 0..MAX_LISTED + 5 {
            write(base.path(), &format!("tmp/{n:05}"));
        }
        let report = collected(base.path(), &[]);
        assert_eq!(report.writes_outside.len(), MAX_LISTED);
        assert_eq!(report.writes_outside[0], "$TMPDIR/00000");
        assert_eq!(report.dropped["writes-outside"], 5);
    }
}
