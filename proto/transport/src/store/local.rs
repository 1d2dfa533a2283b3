//! What a store in a folder needs beyond its backend: a folder can hold symlinks, half-written files and empty folders.
//!
//! The backend follows symlinks. The output folder lies in a checkout that a stranger may have written, so nothing here does: a link named
//! like a prefix must never make this program list, write or remove files elsewhere.

use std::fs;
use std::io;
use std::path::Path;

/// Whether a symlink stands in the way from the folder to the key, or in its place.
pub(super) fn is_linked(folder: &Path, key: &str) -> bool {
    let mut at = folder.to_owned();
    key.split('/').any(|segment| {
        at.push(segment);
        fs::symlink_metadata(&at).is_ok_and(|metadata| metadata.file_type().is_symlink())
    })
}

/// Every regular file below a prefix, as a key. Links are not followed and not listed.
pub(super) fn list(folder: &Path, prefix: &str) -> io::Result<Vec<String>> {
    let mut keys = Vec::new();
    let mut open = vec![prefix.to_owned()];
    while let Some(at) = open.pop() {
        let entries = match fs::read_dir(folder.join(&at)) {
            Ok(entries) => entries,
            // Nothing there, removed in the meantime, or a file: a prefix names folders only.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            // A name that is no text is no key.
            let Ok(name) = entry.file_name().into_string() else { continue };
            let key = if at.is_empty() { name } else { format!("{at}/{name}") };
            let kind = entry.file_type()?;
            if kind.is_dir() {
                open.push(key);
            } else if kind.is_file() {
                keys.push(key);
            }
        }
    }
    Ok(keys)
}

/// Removes everything below a prefix, with what the backend leaves: the half-written file of a process that was killed, and folders that
/// became empty. Links are removed, not followed.
pub(super) fn remove(folder: &Path, prefix: &str) -> io::Result<()> {
    let target = folder.join(prefix);
    match fs::remove_dir_all(&target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(()),
        removed => removed?,
    }
    let mut parent = target.parent();
    while let Some(at) = parent.filter(|at| *at != folder && at.starts_with(folder)) {
        if fs::remove_dir(at).is_err() {
            // Not empty, which is the usual case.
            break;
        }
        parent = at.parent();
    }
    Ok(())
}
