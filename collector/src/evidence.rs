//! The folder of a case's evidence in a local run: its files' names, and how it is emptied before the case starts.
//!
//! It must never remove anything that is not strictly inside the output folder: a stale log once made a broken plugin pass, and a wrong path
//! would cost somebody their files.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::files::{FileError, failed};

/// Events of the host.
pub const EVENTS: &str = "events.jsonl";
/// Records of the probes.
pub const PROBE: &str = "probe.jsonl";
/// Requests to the stub model.
pub const STUB_REQUESTS: &str = "stub-requests.jsonl";
/// Standard error of the host.
pub const STDERR: &str = "stderr.log";
/// The row of the case.
pub const RESULT: &str = "result.json";
/// The project after a failure.
pub const WORKSPACE: &str = "workspace.tar.zst";
/// The results of a run, beside the folders of its versions.
pub const RESULTS: &str = "results.json";
/// The report of a run.
pub const REPORT: &str = "report.md";
/// The report of a run for CI systems.
pub const JUNIT: &str = "junit.xml";

/// The folder of one attempt of a live case, inside the case's folder.
#[must_use]
pub fn attempt_dir(attempt: u32) -> String {
    format!("attempt-{attempt}")
}

/// Why a folder was not emptied.
#[derive(Debug, thiserror::Error)]
pub enum ResetError {
    /// It is the output folder itself, or outside of it.
    #[error("refusing to reset {}: it is not inside {}", .dir.display(), .root.display())]
    Outside {
        /// The folder.
        dir: PathBuf,
        /// The output folder.
        root: PathBuf,
    },
    /// The operating system refused.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Makes `dir` an empty folder, whatever it was. Missing folders are made, `root` too.
///
/// # Errors
/// When `dir` is not strictly inside `root`, by its text or because a symlink on the way leads elsewhere; nothing is touched then. Also when
/// the operating system refuses.
pub fn reset_dir(root: &Path, dir: &Path) -> Result<(), ResetError> {
    let outside = || ResetError::Outside { dir: dir.to_owned(), root: root.to_owned() };
    let inner = inside(&absolute(root)?, &absolute(dir)?).ok_or_else(outside)?;
    fs::create_dir_all(root).map_err(failed("make", root))?;
    // The output folder itself may be a link that its owner made; nothing below it may be one.
    let root = fs::canonicalize(root).map_err(failed("enter", root))?;
    let target = root.join(&inner);
    let mut at = root;
    for part in &inner {
        at.push(part);
        if fs::symlink_metadata(&at).is_ok_and(|metadata| metadata.file_type().is_symlink()) {
            return Err(outside());
        }
    }
    match fs::remove_dir_all(&target) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed("empty", dir)(error).into()),
        _ => {}
    }
    fs::create_dir_all(&target).map_err(failed("make", dir))?;
    Ok(())
}

fn absolute(path: &Path) -> Result<PathBuf, FileError> {
    std::path::absolute(path).map_err(failed("find", path))
}

/// The path from `root` to `dir` by their text alone; `None` when it is empty or leads out.
fn inside(root: &Path, dir: &Path) -> Option<PathBuf> {
    let inner = lexical(dir).strip_prefix(lexical(root)).ok()?.to_owned();
    (inner.components().next().is_some()).then_some(inner)
}

fn lexical(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;

    use super::*;

    /// `out` with evidence in it, and files beside it that must survive.
    fn tree() -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        for dir in ["out/1.0.0/load/deep", "outside", "out-other"] {
            fs::create_dir_all(tree.path().join(dir)).unwrap();
        }
        for file in ["out/1.0.0/load/events.jsonl", "out/1.0.0/load/deep/x", "out/results.json", "outside/keep", "out-other/keep"] {
            fs::write(tree.path().join(file), "text").unwrap();
        }
        tree
    }

    fn survivors(tree: &Path) -> bool {
        ["out/results.json", "outside/keep", "out-other/keep"].iter().all(|file| tree.join(file).is_file())
    }

    #[test]
    fn a_folder_inside_becomes_empty() {
        let tree = tree();
        let root = tree.path().join("out");
        for dir in ["1.0.0/load", "1.0.0/load", "2.0.0/@musl/new", "1.0.0/../1.0.0/load"] {
            reset_dir(&root, &root.join(dir)).unwrap();
            assert_eq!(fs::read_dir(root.join(dir)).unwrap().count(), 0, "{dir}");
        }
        assert!(survivors(tree.path()));
        reset_dir(&tree.path().join("fresh"), &tree.path().join("fresh/1.0.0/load")).unwrap();
    }

    #[test]
    fn the_root_and_everything_outside_is_refused() {
        let tree = tree();
        let root = tree.path().join("out");
        for dir in ["", ".", "1.0.0/..", "..", "../outside", "1.0.0/../../outside", "../out-other", "/", "../out"] {
            let dir = root.join(dir);
            let error = reset_dir(&root, &dir).unwrap_err();
            assert_eq!(error.to_string(), format!("refusing to reset {}: it is not inside {}", dir.display(), root.display()));
            assert!(survivors(tree.path()) && root.join("1.0.0/load/events.jsonl").is_file(), "{}", dir.display());
        }
    }

    #[test]
    fn a_symlink_on_the_way_is_refused() {
        let tree = tree();
        let root = tree.path().join("out");
        symlink(tree.path().join("outside"), root.join("link")).unwrap();
        symlink(root.join("1.0.0"), root.join("inner")).unwrap();
        symlink(tree.path().join("nowhere"), root.join("dangling")).unwrap();
        fs::create_dir(tree.path().join("outside/sub")).unwrap();
        for dir in ["link", "link/sub", "link/new", "inner", "inner/load", "dangling", "dangling/x"] {
            let error = reset_dir(&root, &root.join(dir)).unwrap_err();
            assert!(matches!(error, ResetError::Outside { .. }), "{dir}: {error}");
        }
        assert!(survivors(tree.path()) && root.join("1.0.0/load/events.jsonl").is_file() && tree.path().join("outside/sub").is_dir());
        assert!(!tree.path().join("nowhere").exists());
    }

    #[test]
    fn a_link_inside_an_emptied_folder_is_not_followed() {
        let tree = tree();
        let root = tree.path().join("out");
        symlink(tree.path().join("outside"), root.join("1.0.0/load/link")).unwrap();
        reset_dir(&root, &root.join("1.0.0/load")).unwrap();
        assert!(survivors(tree.path()));
    }

    #[test]
    fn the_root_itself_may_be_a_link() {
        let tree = tree();
        symlink(tree.path().join("out"), tree.path().join("alias")).unwrap();
        reset_dir(&tree.path().join("alias"), &tree.path().join("alias/1.0.0/load")).unwrap();
        assert_eq!(fs::read_dir(tree.path().join("out/1.0.0/load")).unwrap().count(), 0);
    }

    #[test]
    fn something_else_in_the_place_is_an_error_and_stays() {
        let tree = tree();
        let root = tree.path().join("out");
        let error = reset_dir(&root, &root.join("results.json")).unwrap_err();
        assert!(matches!(error, ResetError::File(_)));
        assert!(survivors(tree.path()));
    }

    proptest! {
        #[test]
        fn only_what_is_strictly_inside_is_accepted(path in "([a-b]|\\.|\\.\\.|/){0,10}") {
            let root = Path::new("/r/a");
            if let Some(inner) = inside(root, &root.join(&path)) {
                prop_assert!(inner.components().all(|part| matches!(part, Component::Normal(_))));
                prop_assert!(lexical(&root.join(&path)).starts_with(root));
                prop_assert!(lexical(&root.join(&path)) != root);
            }
        }
    }
}
