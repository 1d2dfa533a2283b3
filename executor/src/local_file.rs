//! Files of this machine that go into containers, with their digests. Read once, at the start of a run.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use ocsweep_proto::digest::Builder;

use crate::case::LocalFile;

const PIECE_BYTES: usize = 256 * 1024;

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {source}", path.display())]
pub struct LocalFileError {
    path: PathBuf,
    source: std::io::Error,
}

/// Measures a file.
///
/// # Errors
/// When it cannot be read.
pub fn read(path: &Path) -> Result<LocalFile, LocalFileError> {
    let fail = |source| LocalFileError { path: path.to_owned(), source };
    let mut file = File::open(path).map_err(fail)?;
    let mut digest = Builder::default();
    let mut bytes = 0;
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let read = file.read(&mut piece).map_err(fail)?;
        if read == 0 {
            return Ok(LocalFile { path: path.to_owned(), digest: digest.finish(), bytes });
        }
        digest.update(&piece[..read]);
        bytes += read as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ocsweep_proto::digest::Digest;

    #[test]
    fn digest_and_size_are_the_files() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        std::fs::write(&path, b"abc").unwrap();
        let file = read(&path).unwrap();
        assert_eq!((file.digest, file.bytes), (Digest::of(b"abc"), 3));
        assert!(read(&directory.path().join("absent")).unwrap_err().to_string().contains("absent"));
    }
}
