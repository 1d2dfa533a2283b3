//! Emptying a tree that a hostile program has made: unreadable directories, nesting deeper than any path can name, a million files.
//!
//! It must never follow a symlink, never leave the tree, and end by its deadline. No other process of the user is alive meanwhile.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Instant;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

/// Directories open at once. What lies deeper is moved up to the top of the tree first, so depth costs neither descriptors nor stack.
const MAX_DEPTH: usize = 32;
const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Removes everything below `tree`, but not `tree` itself. A tree that is not there is empty.
pub(super) fn empty(tree: &Path, end: Instant) -> io::Result<()> {
    // The directory itself may belong to root, as shared ones do; then its mode is none of the user's.
    let _ = rustix::fs::chmod(tree, Mode::from_raw_mode(0o755));
    let top = match rustix::fs::open(tree, DIRECTORY, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        opened => opened?,
    };
    let mut emptying = Emptying { top: top.as_fd(), end, moved: 0 };
    loop {
        let before = emptying.moved;
        emptying.directory(top.as_fd(), 0)?;
        if emptying.moved == before {
            return Ok(());
        }
    }
}

struct Emptying<'a> {
    top: BorrowedFd<'a>,
    end: Instant,
    moved: u64,
}

impl Emptying<'_> {
    fn directory(&mut self, directory: BorrowedFd<'_>, depth: usize) -> io::Result<()> {
        for (name, kind) in entries(directory)? {
            if Instant::now() >= self.end {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "too many files to remove"));
            }
            if kind == FileType::Directory || (kind == FileType::Unknown && is_directory(directory, &name)) {
                self.subdirectory(directory, &name, depth)?;
            } else {
                ours(rustix::fs::unlinkat(directory, &name, AtFlags::empty()))?;
            }
        }
        Ok(())
    }

    fn subdirectory(&mut self, parent: BorrowedFd<'_>, name: &CStr, depth: usize) -> io::Result<()> {
        // Moving a directory needs the right to write into it, like emptying.
        ours(rustix::fs::chmodat(parent, name, Mode::RWXU, AtFlags::empty()))?;
        if depth + 1 >= MAX_DEPTH {
            return self.lift(parent, name);
        }
        let child: OwnedFd = rustix::fs::openat(parent, name, DIRECTORY, Mode::empty())?;
        self.directory(child.as_fd(), depth + 1)?;
        match rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR) {
            // Something below was lifted to the top, or belongs to another user.
            Ok(()) | Err(Errno::NOTEMPTY) => Ok(()),
            other => ours(other),
        }
    }

    fn lift(&mut self, parent: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
        loop {
            self.moved += 1;
            let place = format!(".lifted-{}", self.moved);
            match rustix::fs::renameat_with(parent, name, self.top, place, rustix::fs::RenameFlags::NOREPLACE) {
                Err(Errno::EXIST) => {}
                other => return Ok(other?),
            }
        }
    }
}

/// In a shared place some things belong to others and stay.
fn ours(result: rustix::io::Result<()>) -> io::Result<()> {
    match result {
        Err(Errno::PERM | Errno::ACCESS | Errno::NOENT) => Ok(()),
        other => Ok(other?),
    }
}

fn entries(directory: BorrowedFd<'_>) -> io::Result<Vec<(CString, FileType)>> {
    let mut out = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            out.push((entry.file_name().to_owned(), entry.file_type()));
        }
    }
    Ok(out)
}

fn is_directory(directory: BorrowedFd<'_>, name: &CStr) -> bool {
    rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::time::Duration;

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(20)
    }

    fn is_empty(path: &Path) -> bool {
        std::fs::read_dir(path).unwrap().next().is_none()
    }

    #[test]
    fn hostile_modes_names_and_links_are_removed_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let (tree, outside) = (dir.path().join("tree"), dir.path().join("outside"));
        std::fs::create_dir_all(tree.join("a/b\nc")).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("keep"), "x").unwrap();
        std::fs::write(tree.join("a/b\nc/-rf"), "x").unwrap();
        symlink(&outside, tree.join("link")).unwrap();
        symlink("..", tree.join("a/up")).unwrap();
        for path in ["a/b\nc", "a", ""] {
            std::fs::set_permissions(tree.join(path), std::fs::Permissions::from_mode(0o000)).unwrap();
        }
        empty(&tree, soon()).unwrap();
        assert!(is_empty(&tree));
        assert_eq!(std::fs::metadata(&tree).unwrap().permissions().mode() & 0o777, 0o755);
        assert!(outside.join("keep").exists());
    }

    #[test]
    fn nesting_that_no_path_can_name_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let mut directory = rustix::fs::open(dir.path(), DIRECTORY, Mode::empty()).unwrap();
        for _ in 0..1500 {
            rustix::fs::mkdirat(&directory, "deep", Mode::RWXU).unwrap();
            directory = rustix::fs::openat(&directory, "deep", DIRECTORY, Mode::empty()).unwrap();
        }
        drop(directory);
        // A name that the emptying itself uses is no obstacle.
        std::fs::create_dir(dir.path().join(".lifted-1")).unwrap();
        empty(dir.path(), soon()).unwrap();
        assert!(is_empty(dir.path()));
    }

    #[test]
    fn a_tree_too_large_for_the_time_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a"), "x").unwrap();
        assert_eq!(empty(dir.path(), Instant::now()).unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_missing_tree_is_empty() {
        empty(Path::new("/nowhere/at/all"), soon()).unwrap();
    }
}
