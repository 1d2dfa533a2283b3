//! One requested project file: where its path leads, and what is there. Symlinks inside the project are allowed, so they are resolved here,
//! step by step; the kernel then opens the real path and refuses any symlink and any way out.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use ocsweep_proto::agent::{FileState, FileText};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::walk::BENEATH;

/// Bytes of a file that are reported.
const MAX_TEXT: u64 = 1024 * 1024;
/// Symlinks on one path; the kernel's own number.
const MAX_LINKS: usize = 40;

/// What is at `path`. `project` is the directory, `name` its path inside the container, which an absolute symlink may use.
pub(super) fn state(project: &Path, name: &str, path: &str) -> FileState {
    let Some(segments) = lexical(path) else { return FileState::EscapesLexically };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(top) = rustix::fs::open(project, flags, Mode::empty()) else { return FileState::Unresolvable };
    match resolve(&top, Path::new(name), segments) {
        Ok(real) => read(&top, &real),
        Err(state) => state,
    }
}

/// The segments of a relative path that stays inside by its text alone.
fn lexical(path: &str) -> Option<VecDeque<PathBuf>> {
    let mut segments = VecDeque::new();
    for component in Path::new(path).components() {
        match component {
            Component::Normal(segment) => segments.push_back(PathBuf::from(segment)),
            Component::CurDir => {}
            Component::ParentDir => drop(segments.pop_back()?),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(segments)
}

/// The real path below the project, without symlinks.
fn resolve(top: &OwnedFd, name: &Path, mut rest: VecDeque<PathBuf>) -> Result<PathBuf, FileState> {
    let mut real = PathBuf::new();
    let mut links = 0;
    while let Some(segment) = rest.pop_front() {
        if segment == Path::new("..") {
            if !real.pop() {
                return Err(FileState::EscapesBySymlink);
            }
            continue;
        }
        let next = real.join(&segment);
        match kind(top, &next) {
            Ok(FileType::Symlink) => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(FileState::Unresolvable);
                }
                let target = rustix::fs::readlinkat(top, &next, Vec::new()).map_err(|_| FileState::Unresolvable)?;
                follow(&PathBuf::from(std::ffi::OsString::from_vec(target.into_bytes())), name, &mut real, &mut rest)?;
            }
            Ok(_) => real = next,
            Err(Errno::NOENT | Errno::NOTDIR) => return Err(FileState::Missing),
            Err(_) => return Err(FileState::Unresolvable),
        }
    }
    Ok(real)
}

/// Puts a symlink's target in front of what is left of the path.
fn follow(target: &Path, name: &Path, real: &mut PathBuf, rest: &mut VecDeque<PathBuf>) -> Result<(), FileState> {
    let target = if target.is_absolute() {
        real.clear();
        target.strip_prefix(name).map_err(|_| FileState::EscapesBySymlink)?
    } else {
        target
    };
    for component in target.components().rev() {
        match component {
            Component::Normal(segment) => rest.push_front(PathBuf::from(segment)),
            Component::ParentDir => rest.push_front(PathBuf::from("..")),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    Ok(())
}

fn kind(top: &OwnedFd, path: &Path) -> Result<FileType, Errno> {
    let entry = rustix::fs::openat2(top, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty(), BENEATH)?;
    Ok(FileType::from_raw_mode(rustix::fs::fstat(&entry)?.st_mode))
}

fn read(top: &OwnedFd, real: &Path) -> FileState {
    let path = if real.as_os_str().is_empty() { Path::new(OsStr::from_bytes(b".")) } else { real };
    match kind(top, path) {
        Ok(FileType::RegularFile) => {}
        Ok(_) => return FileState::Other,
        Err(Errno::NOENT) => return FileState::Missing,
        Err(_) => return FileState::Unresolvable,
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::openat2(top, path, flags, Mode::empty(), BENEATH) else { return FileState::Unresolvable };
    let file = std::fs::File::from(file);
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    let mut bytes = Vec::new();
    match file.take(MAX_TEXT).read_to_end(&mut bytes) {
        Ok(kept) => {
            let dropped = size.saturating_sub(kept as u64);
            FileState::File(FileText { text: String::from_utf8_lossy(&bytes).into_owned(), dropped })
        }
        Err(_) => FileState::Unresolvable,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const NAME: &str = "/sandbox/project";

    fn text(text: &str) -> FileState {
        FileState::File(FileText { text: text.to_owned(), dropped: 0 })
    }

    #[test]
    fn paths_lead_where_they_lead() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().join("project");
        std::fs::create_dir_all(project.join("sub/deep")).unwrap();
        std::fs::write(dir.path().join("secret"), "secret").unwrap();
        std::fs::write(project.join("ok.txt"), "ok").unwrap();
        std::fs::write(project.join("sub/in.txt"), "in").unwrap();
        for (target, link) in [
            ("ok.txt", "alias"),
            ("../ok.txt", "sub/up"),
            ("sub", "dir"),
            ("/sandbox/project/ok.txt", "absolute"),
            ("/sandbox/project-else/ok.txt", "neighbour"),
            ("/sandbox/project/../../etc/passwd", "absolute-out"),
            ("/etc/passwd", "out"),
            ("/etc/nothing", "dangling-out"),
            ("..", "above"),
            ("../secret", "secret"),
            ("sub/../../project/ok.txt", "out-and-in"),
            ("loop", "loop"),
            ("nothing", "dangling"),
            ("/proc/self/root", "magic"),
        ] {
            symlink(target, project.join(link)).unwrap();
        }
        use FileState::{EscapesBySymlink, EscapesLexically, Missing, Other, Unresolvable};
        for (path, expected) in [
            ("ok.txt", text("ok")),
            ("./sub/../ok.txt", text("ok")),
            ("sub/in.txt", text("in")),
            ("alias", text("ok")),
            ("sub/up", text("ok")),
            ("dir/in.txt", text("in")),
            // A path is taken by its text first, as the host's own library does.
            ("dir/../ok.txt", text("ok")),
            ("absolute", text("ok")),
            ("sub", Other),
            (".", Other),
            ("dir", Other),
            ("nothing", Missing),
            ("sub/no/such/file", Missing),
            ("ok.txt/below", Missing),
            ("dangling", Missing),
            ("../secret", EscapesLexically),
            ("sub/../../secret", EscapesLexically),
            ("/sandbox/project/ok.txt", EscapesLexically),
            ("out", EscapesBySymlink),
            ("dangling-out", EscapesBySymlink),
            ("secret", EscapesBySymlink),
            ("above/secret", EscapesBySymlink),
            ("above/nothing", EscapesBySymlink),
            ("out-and-in", EscapesBySymlink),
            ("neighbour", EscapesBySymlink),
            ("absolute-out", EscapesBySymlink),
            ("magic/etc/passwd", EscapesBySymlink),
            ("loop", Unresolvable),
            ("loop/x", Unresolvable),
            (&"x".repeat(300), Unresolvable),
        ] {
            assert_eq!(state(&project, NAME, path), expected, "{path}");
        }
    }

    #[test]
    fn a_large_file_is_cut_and_counted_and_a_fifo_does_not_block() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("large"), vec![b'a'; usize::try_from(MAX_TEXT).unwrap() + 7]).unwrap();
        std::fs::write(dir.path().join("binary"), b"a\xffb").unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, dir.path().join("fifo"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        let FileState::File(large) = state(dir.path(), NAME, "large") else { panic!("no file") };
        assert_eq!((large.text.len() as u64, large.dropped), (MAX_TEXT, 7));
        assert_eq!(state(dir.path(), NAME, "binary"), text("a\u{fffd}b"));
        assert_eq!(state(dir.path(), NAME, "fifo"), FileState::Other);
    }

    #[test]
    fn a_project_that_is_gone_is_unresolvable() {
        assert_eq!(state(Path::new("/nowhere"), NAME, "x"), FileState::Unresolvable);
    }
}
