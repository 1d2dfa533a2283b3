//! The few writes of the collector. A file appears whole or not at all.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use ocsweep_proto::verdict::Reason;

/// A file or directory that could not be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation} {}", .path.display())]
pub struct FileError {
    operation: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl FileError {
    /// The reason of a run that ends because of this.
    #[must_use]
    pub fn reason(&self) -> Reason {
        match self.source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Reason::DiskFullHost,
            _ => Reason::Store,
        }
    }
}

/// Wraps an error of the operating system.
pub(crate) fn failed(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FileError {
    let path = path.to_owned();
    move |source| FileError { operation, path, source }
}

/// Writes a file through a temporary one beside it, so that a reader, or the next run after a full disk, never sees half of it.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failed("make the directory of", path))?;
    }
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".tmp-{}", std::process::id()));
    let temporary = PathBuf::from(temporary);
    let written = fs::write(&temporary, bytes).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first error is the one that counts.
        let _ = fs::remove_file(&temporary);
    }
    written.map_err(failed("write", path))
}

/// Appends to a file that belongs to somebody else.
pub(crate) fn append(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path).map_err(failed("open", path))?;
    file.write_all(bytes).map_err(failed("append to", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a/b/results.json");
        write_whole(&path, b"a longer first text").unwrap();
        write_whole(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(names(path.parent().unwrap()), ["results.json"]);
    }

    #[test]
    fn a_failed_write_leaves_no_temporary_file() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("results.json");
        fs::create_dir(&path).unwrap();
        let error = write_whole(&path, b"text").unwrap_err();
        assert!(error.to_string().starts_with("cannot write ") && error.to_string().ends_with("results.json"), "{error}");
        assert_eq!(names(root.path()), ["results.json"]);
    }

    #[test]
    fn a_full_disk_is_named() {
        let error = failed("write", Path::new("x"))(io::Error::from(io::ErrorKind::StorageFull));
        assert_eq!(error.reason(), Reason::DiskFullHost);
        assert_eq!(failed("write", Path::new("x"))(io::Error::from(io::ErrorKind::NotFound)).reason(), Reason::Store);
        // The device that is always full.
        assert_eq!(append(Path::new("/dev/full"), b"x").unwrap_err().reason(), Reason::DiskFullHost);
    }
}
