//! One record of the index: what a version's binary must be. A record is a hint that is verified, never a promise.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use ocsweep_proto::digest::Digest;
use serde::{Deserialize, Serialize};

use super::super::{BinaryError, HostBinary};
use super::disk;

const LARGEST_RECORD_BYTES: u64 = 64 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    pub(super) package: String,
    pub(super) integrity: String,
    pub(super) digest: Digest,
    pub(super) size: u64,
    /// Modification time of the file when its digest was last computed.
    pub(super) mtime: String,
}

impl Record {
    pub(super) fn new(binary: &HostBinary, mtime: String) -> Self {
        let (package, integrity) =
            binary.origin.as_ref().map(|origin| (origin.package.clone(), origin.integrity.clone())).unwrap_or_default();
        Self { package, integrity, digest: binary.digest.clone(), size: binary.bytes, mtime }
    }

    pub(super) fn read(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok().filter(|metadata| metadata.is_file() && metadata.len() <= LARGEST_RECORD_BYTES)?;
        let bytes = fs::read(path).ok().filter(|bytes| bytes.len() as u64 == metadata.len())?;
        serde_json::from_slice(&bytes).ok()
    }

    pub(super) fn write(&self, path: &Path, temp_directory: &Path) -> Result<(), BinaryError> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| disk("cannot write", path)(error.into()))?;
        let mut temp = tempfile::NamedTempFile::new_in(temp_directory).map_err(disk("cannot create a file in", temp_directory))?;
        temp.write_all(&text).map_err(disk("cannot write", path))?;
        temp.persist(path).map_err(|error| disk("cannot create", path)(error.error))?;
        Ok(())
    }
}
