//! Writing one seed below a root. Containment is checked here once more, where the file is made: by the path's segments and by the kernel,
//! which refuses to leave the root or to follow a symlink.

use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use ocsweep_proto::agent::Seed;
use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// A seed could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path} below {root}")]
pub(crate) struct WriteError {
    root: String,
    path: String,
    source: io::Error,
}

impl WriteError {
    /// The whole story in one line.
    pub(crate) fn text(&self) -> String {
        format!("{self}: {}", self.source)
    }
}

const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

/// Writes a seed, with the directories above it.
pub(crate) fn write_seed(root: &Path, seed: &Seed) -> Result<(), WriteError> {
    write(root, seed).map_err(|source| WriteError { root: root.display().to_string(), path: seed.path.clone(), source })
}

fn write(root: &Path, seed: &Seed) -> io::Result<()> {
    let segments: Vec<&str> = seed.path.split('/').collect();
    if segments.iter().any(|segment| matches!(*segment, "" | "." | "..") || segment.contains('\0')) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path must be relative and stay inside"));
    }
    let top = rustix::fs::open(root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let directories = if seed.contents.is_some() { segments.len() - 1 } else { segments.len() };
    for end in 1..=directories {
        match rustix::fs::mkdirat(&open(&top, &segments[..end - 1])?, segments[end - 1], Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // Opening it says whether what was there before is a directory.
    open(&top, &segments[..directories])?;
    let Some(contents) = &seed.contents else { return Ok(()) };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = rustix::fs::openat2(&top, &seed.path, flags, Mode::from_raw_mode(0o644), BENEATH)?;
    std::fs::File::from(file).write_all(contents.as_bytes())
}

fn open(top: &OwnedFd, segments: &[&str]) -> io::Result<OwnedFd> {
    let path = if segments.is_empty() { ".".to_owned() } else { segments.join("/") };
    Ok(rustix::fs::openat2(top, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty(), BENEATH)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use ocsweep_proto::agent::Root;

    use super::*;

    fn seed(path: &str, contents: Option<&str>) -> Seed {
        Seed { root: Root::Project, path: path.to_owned(), contents: contents.map(str::to_owned) }
    }

    #[test]
    fn files_and_directories_are_made_and_replaced() {
        let dir = tempfile::tempdir().unwrap();
        for (path, contents) in
            [("a/b.txt", Some("1")), ("a/b.txt", Some("two")), ("a/empty/dir", None), ("a/empty/dir", None), ("%20 ä#", Some(""))]
        {
            write_seed(dir.path(), &seed(path, contents)).unwrap();
        }
        assert_eq!(std::fs::read_to_string(dir.path().join("a/b.txt")).unwrap(), "two");
        assert!(dir.path().join("a/empty/dir").is_dir() && dir.path().join("%20 ä#").is_file());
    }

    #[test]
    fn no_path_leaves_the_root() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        std::fs::create_dir(&root).unwrap();
        symlink(dir.path(), root.join("out")).unwrap();
        symlink("/etc", root.join("etc")).unwrap();
        symlink("../victim", root.join("file")).unwrap();
        for path in ["../victim", "a/../../victim", "/victim", "", "a//b", "./a", "a/.", "a\0b", "out/victim", "etc/x", "file", "file/x"] {
            for contents in [Some("x"), None] {
                assert!(write_seed(&root, &seed(path, contents)).is_err(), "{path:?}");
            }
        }
        assert!(!dir.path().join("victim").exists());
        assert_eq!(std::fs::read_dir(&root).unwrap().count(), 3);
    }
}
