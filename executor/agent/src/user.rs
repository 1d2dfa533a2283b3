//! What must happen as the sandbox's user: emptying its trees, writing seeds, making the git project. The agent re-executes itself for it
//! with the user's ids, because it has no right to write there itself, on purpose.
//!
//! One order on standard input, an error on standard error, done. It must never run while a process of the plugin is alive, and never
//! write outside the four trees.

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use ocsweep_proto::agent::{Root, Seed, paths};
use serde::{Deserialize, Serialize};

mod empty;
mod write;

pub(crate) use write::write_seed;

/// The argument by which the agent's binary becomes the user's child.
pub(crate) const ARGUMENT: &str = "as-user";

/// Places outside the three trees where a user can leave something for later.
const SHARED: [&str; 2] = ["/dev/shm", "/dev/mqueue"];
/// The user's trees. Their own modes are set again after they have been emptied.
const TREES: [Root; 3] = [Root::Home, Root::Tmp, Root::Project];
/// Emptying a full tree of small files takes a second or two.
const EMPTY_PATIENCE: Duration = Duration::from_secs(20);

/// What the child shall do, in this order.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Order {
    /// Empty HOME, TMPDIR, the project and the shared places.
    pub(crate) empty: bool,
    /// Make these directories, absolute.
    pub(crate) directories: Vec<String>,
    /// Make the project a git repository.
    pub(crate) git: bool,
    /// Write these files; none of them below [`Root::Assets`].
    pub(crate) seeds: Vec<Seed>,
}

impl Order {
    /// The XDG directories and TMPDIR exist before anything runs.
    pub(crate) fn xdg() -> Vec<String> {
        ["config", "data", "cache", "state"].map(|name| format!("{}/{name}", paths::XDG)).to_vec()
    }
}

/// The child's `main`.
pub(crate) fn main() -> ExitCode {
    let mut text = String::new();
    let done = io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| format!("cannot read the order: {error}"))
        .and_then(|_| serde_json::from_str::<Order>(&text).map_err(|error| format!("cannot read the order: {error}")))
        .and_then(|order| obey(&order, Path::new("/")));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            // The parent reads it; when it is gone, nobody can be told.
            let _ = io::stderr().write_all(text.as_bytes());
            ExitCode::FAILURE
        }
    }
}

/// `base` is `/` but in tests.
fn obey(order: &Order, base: &Path) -> Result<(), String> {
    if order.empty {
        let end = Instant::now() + EMPTY_PATIENCE;
        for tree in TREES.iter().map(|root| root.directory()).chain(SHARED) {
            let tree = place(base, tree);
            empty::empty(&tree, end).map_err(|error| format!("cannot empty {}: {error}", tree.display()))?;
        }
    }
    for directory in &order.directories {
        std::fs::create_dir_all(place(base, directory)).map_err(|error| format!("cannot make {directory}: {error}"))?;
    }
    if order.git {
        git_init(&place(base, paths::PROJECT))?;
    }
    for seed in &order.seeds {
        write_seed(&place(base, seed.root.directory()), seed).map_err(|error| error.text())?;
    }
    Ok(())
}

pub(crate) fn place(base: &Path, path: &str) -> PathBuf {
    base.join(path.trim_start_matches('/'))
}

fn git_init(project: &Path) -> Result<(), String> {
    let output = Command::new("git")
        .args(["init", "-q"])
        .current_dir(project)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", paths::HOME)
        .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run git: {error}"))?;
    if output.status.success() { Ok(()) } else { Err(format!("git init: {}", String::from_utf8_lossy(&output.stderr).trim())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base() -> tempfile::TempDir {
        let base = tempfile::tempdir().unwrap();
        for tree in TREES.iter().map(|root| root.directory()).chain(SHARED) {
            std::fs::create_dir_all(place(base.path(), tree)).unwrap();
        }
        base
    }

    fn seed(root: Root, path: &str, contents: &str) -> Seed {
        Seed { root, path: path.to_owned(), contents: Some(contents.to_owned()) }
    }

    #[test]
    fn an_order_empties_then_writes() {
        let base = base();
        let at = |path: &str| place(base.path(), path);
        std::fs::write(at("/sandbox/home/old"), "x").unwrap();
        std::fs::write(at("/dev/shm/old"), "x").unwrap();
        let seeds = vec![seed(Root::Project, "README.md", "hello"), seed(Root::Home, "xdg/config/a/b.json", "{}")];
        obey(&Order { empty: true, directories: Order::xdg(), git: true, seeds }, base.path()).unwrap();
        assert!(!at("/sandbox/home/old").exists() && !at("/dev/shm/old").exists());
        assert!(at("/sandbox/home/xdg/state").is_dir());
        assert!(at("/sandbox/project/.git/HEAD").is_file());
        assert_eq!(std::fs::read_to_string(at("/sandbox/project/README.md")).unwrap(), "hello");
        assert_eq!(std::fs::read_to_string(at("/sandbox/home/xdg/config/a/b.json")).unwrap(), "{}");
    }

    #[test]
    fn without_the_word_nothing_is_emptied() {
        let base = base();
        let file = place(base.path(), "/sandbox/home/old");
        std::fs::write(&file, "x").unwrap();
        obey(&Order::default(), base.path()).unwrap();
        assert!(file.exists());
    }
}
