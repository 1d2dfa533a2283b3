//! The cache as a set of entries that can be listed and removed: last use, clean-up, left-overs.

use std::fs::{self, File};
use std::path::Path;
use std::time::SystemTime;

use ocsweep_proto::digest::Digest;

use super::super::BinaryError;
use super::super::gc::{CacheEntry, CacheKind};
use super::index::Record;
use super::{BinaryCache, STALE, disk};

/// Name of the binary in its directory.
pub(super) const FILE: &str = "opencode";
/// Its modification time says when the binary was last used.
const MARKER: &str = "last-used";

impl BinaryCache {
    /// What is in the cache.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn entries(&self) -> Result<Vec<CacheEntry>, BinaryError> {
        let listing = match fs::read_dir(&self.root) {
            Ok(listing) => listing,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(disk("cannot read", &self.root)(error)),
        };
        let names = listing.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        Ok(names.filter_map(|name| self.entry(&name)).collect())
    }

    fn entry(&self, name: &str) -> Option<CacheEntry> {
        let digest = Digest::try_from(format!("sha256:{name}")).ok()?;
        let directory = self.root.join(name);
        let file = fs::symlink_metadata(directory.join(FILE)).ok();
        let bytes = file.as_ref().map_or(0, fs::Metadata::len);
        let used = fs::metadata(directory.join(MARKER)).ok().or(file).or_else(|| fs::metadata(&directory).ok())?;
        Some(CacheEntry { kind: CacheKind::Binary, digest, bytes, last_used: used.modified().ok()? })
    }

    /// Removes one binary and the records that name it.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(&self, digest: &Digest) -> Result<(), BinaryError> {
        for record in self.records() {
            if Record::read(&record).is_some_and(|found| found.digest == *digest) {
                remove_if_there(fs::remove_file(&record)).map_err(disk("cannot remove", &record))?;
            }
        }
        let directory = self.root.join(digest.hex());
        remove_if_there(fs::remove_dir_all(&directory)).map_err(disk("cannot remove", &directory))
    }

    pub(super) fn records(&self) -> Vec<std::path::PathBuf> {
        let listing = fs::read_dir(self.index_directory()).into_iter().flatten();
        listing.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.extension().is_some_and(|e| e == "json")).collect()
    }

    /// Notes that a binary is in use. A failure only makes the clean-up less exact.
    pub(super) fn touch(&self, digest: &Digest) {
        let marker = self.root.join(digest.hex()).join(MARKER);
        let touched = File::create(&marker).and_then(|file| file.set_modified(SystemTime::now()));
        if let Err(error) = touched {
            tracing::debug!(path = %marker.display(), error = %error, "cannot note the use of a binary");
        }
    }

    /// Removes unfinished files that nobody can still be writing.
    pub(super) fn remove_stale(&self, now: SystemTime) {
        for entry in fs::read_dir(self.temp_directory()).into_iter().flatten().flatten() {
            let age = entry.metadata().and_then(|metadata| metadata.modified()).ok().and_then(|at| now.duration_since(at).ok());
            if age.is_some_and(|age| age > STALE) {
                remove_file_quietly(&entry.path());
            }
        }
    }
}

fn remove_file_quietly(path: &Path) {
    if let Err(error) = fs::remove_file(path) {
        tracing::debug!(path = %path.display(), error = %error, "cannot remove a left-over");
    }
}

fn remove_if_there(result: std::io::Result<()>) -> std::io::Result<()> {
    match result {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
