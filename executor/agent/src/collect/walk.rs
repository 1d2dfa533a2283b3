//! A bounded walk through a tree that a hostile program has made. Symlinks are entries, never ways.
//!
//! It must end: entries, depth and path length are capped, and what is left out is counted.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags};

/// Entries that are looked at.
const MAX_ENTRIES: u64 = 100_000;
/// Directories below one another.
const MAX_DEPTH: usize = 64;
/// Bytes of a relative path of a directory that is read. The kernel takes 4096 at once, and a hundred thousand long ones would not fit.
const MAX_PATH: usize = 1024;

pub(crate) const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_XDEV);

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Directory,
    Link,
    Other,
}

/// Something in the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Relative to the tree, in bytes: a name may be no text.
    pub(crate) path: Vec<u8>,
    pub(crate) kind: Kind,
    /// A directory without entries.
    pub(crate) empty: bool,
}

impl Entry {
    /// The path for people.
    pub(crate) fn shown(&self) -> String {
        String::from_utf8_lossy(&self.path).into_owned()
    }

    pub(crate) fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.path))
    }
}

/// The walk, each directory before what is in it.
#[derive(Debug)]
pub(crate) struct Walk {
    top: Option<OwnedFd>,
    skip: Option<Vec<u8>>,
    started: bool,
    // Entries that were read and not given out, the next one last.
    ready: Vec<Entry>,
    seen: u64,
    cut: u64,
}

impl Walk {
    /// A walk below `tree`, without the entry `skip` at its top. A tree that cannot be opened is empty.
    pub(crate) fn new(tree: &Path, skip: Option<&str>) -> Self {
        let top = rustix::fs::open(tree, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).ok();
        let skip = skip.map(|name| name.as_bytes().to_vec());
        Self { top, skip, started: false, ready: Vec::new(), seen: 0, cut: 0 }
    }

    /// Directories that were left out, and one when the walk ended early.
    pub(crate) const fn cut(&self) -> u64 {
        self.cut
    }

    /// Opens an entry that is a regular file.
    pub(crate) fn open(&self, entry: &Entry) -> Option<std::fs::File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat2(self.top.as_ref()?, entry.path(), flags, Mode::empty(), BENEATH).ok()?;
        let stat = rustix::fs::fstat(&file).ok()?;
        (FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile).then(|| file.into())
    }

    /// Where an entry that is a symlink leads, as it is written.
    pub(crate) fn target(&self, entry: &Entry) -> Option<Vec<u8>> {
        Some(rustix::fs::readlinkat(self.top.as_ref()?, entry.path(), Vec::new()).ok()?.into_bytes())
    }

    fn read(&mut self, path: &[u8]) -> Option<()> {
        let shown = if path.is_empty() { Path::new(".") } else { Path::new(OsStr::from_bytes(path)) };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = rustix::fs::openat2(self.top.as_ref()?, shown, flags, Mode::empty(), BENEATH).ok()?;
        let mut names = Vec::new();
        for entry in Dir::read_from(&directory).ok()?.flatten() {
            let name = entry.file_name().to_bytes();
            let skipped = path.is_empty() && self.skip.as_deref() == Some(name);
            if matches!(name, b"." | b"..") || skipped {
                continue;
            }
            if self.seen >= MAX_ENTRIES {
                self.cut += 1;
                break;
            }
            self.seen += 1;
            let kind = match entry.file_type() {
                FileType::Unknown => rustix::fs::statat(&directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
                known => known,
            };
            names.push((name.to_vec(), kind));
        }
        // The order of a directory differs between file systems.
        names.sort_unstable_by(|one, other| other.0.cmp(&one.0));
        self.add(path, names);
        Some(())
    }

    fn add(&mut self, parent: &[u8], names: Vec<(Vec<u8>, FileType)>) {
        for (name, kind) in names {
            let path = if parent.is_empty() { name } else { [parent, b"/", &name].concat() };
            let kind = match kind {
                FileType::RegularFile => Kind::File,
                FileType::Directory => Kind::Directory,
                FileType::Symlink => Kind::Link,
                _ => Kind::Other,
            };
            self.ready.push(Entry { path, kind, empty: false });
        }
    }

    fn descend(&mut self, entry: &mut Entry) {
        let depth = entry.path.iter().filter(|byte| **byte == b'/').count();
        if depth >= MAX_DEPTH || entry.path.len() >= MAX_PATH || self.seen >= MAX_ENTRIES {
            self.cut += 1;
            return;
        }
        let before = self.ready.len();
        let path = entry.path.clone();
        let opened = self.read(&path).is_some();
        entry.empty = opened && self.ready.len() == before;
    }
}

impl Iterator for Walk {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        if !std::mem::replace(&mut self.started, true) {
            self.read(b"");
        }
        let mut entry = self.ready.pop()?;
        if entry.kind == Kind::Directory {
            self.descend(&mut entry);
        }
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(tree: &Path, skip: Option<&str>) -> (Vec<String>, u64) {
        let mut walk = Walk::new(tree, skip);
        let names =
            walk.by_ref().map(|entry| format!("{}:{:?}{}", entry.shown(), entry.kind, if entry.empty { ":empty" } else { "" })).collect();
        (names, walk.cut())
    }

    #[test]
    fn a_walk_is_ordered_and_never_follows_links() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("b/c")).unwrap();
        std::fs::create_dir_all(dir.path().join("skip/x")).unwrap();
        std::fs::write(dir.path().join("b/d"), "").unwrap();
        symlink("/", dir.path().join("a")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, dir.path().join("e"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        let expected = ["a:Link", "b:Directory", "b/c:Directory:empty", "b/d:File", "e:Other"];
        assert_eq!(names(dir.path(), Some("skip")), (expected.map(str::to_owned).to_vec(), 0));
        assert_eq!(names(Path::new("/nowhere"), None), (Vec::new(), 0));
    }

    #[test]
    fn deep_nesting_is_cut_and_counted() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join(vec!["d"; MAX_DEPTH + 10].join("/"))).unwrap();
        let (names, cut) = names(dir.path(), None);
        assert_eq!((names.len(), cut), (MAX_DEPTH + 1, 1));
    }

    #[test]
    fn a_fifo_is_never_opened_as_a_file() {
        let dir = tempfile::tempdir().unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, dir.path().join("fifo"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        symlink("/etc/passwd", dir.path().join("link")).unwrap();
        std::fs::write(dir.path().join("plain"), "x").unwrap();
        let mut walk = Walk::new(dir.path(), None);
        let entries: Vec<_> = walk.by_ref().collect();
        let opened: Vec<_> = entries.iter().map(|entry| walk.open(entry).is_some()).collect();
        assert_eq!(opened, [false, false, true]);
        assert_eq!(walk.target(&entries[1]).unwrap(), b"/etc/passwd");
    }
}
