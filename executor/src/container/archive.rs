//! Tar streams on their way into a volume. They are read in pieces, so that a binary of 200 MB never lies in memory.
//!
//! It must never decide what is in a bundle; it only carries.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use tokio::sync::mpsc;

const PIECE_BYTES: usize = 256 * 1024;
/// Pieces read ahead of the engine.
const PIECES: usize = 4;
const BLOCK: u64 = 512;

type Body = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

/// An uncompressed tar stream. Its entries should be owned by root, with modes 0755 and 0644.
pub struct Archive {
    body: Body,
    failure: Failure,
}

impl std::fmt::Debug for Archive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Archive").finish_non_exhaustive()
    }
}

/// Where the reason of a broken stream is kept: the client library turns it into a lost connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Failure(Arc<Mutex<Option<io::Error>>>);

impl Failure {
    pub(crate) fn take(&self) -> Option<io::Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Archive {
    /// A tar stream from a blocking reader: a file, a decompressor. Read on a thread for blocking work.
    pub fn read(reader: impl Read + Send + 'static) -> Self {
        let (sender, receiver) = mpsc::channel(PIECES);
        // Ends with the reader, or when the receiver is dropped.
        tokio::task::spawn_blocking(move || pump(reader, &sender));
        let body = stream::unfold(receiver, |mut receiver| async { receiver.recv().await.map(|piece| (piece, receiver)) });
        Self { body: Box::pin(body), failure: Failure::default() }
    }

    /// A tar stream with one file of this machine under another name.
    ///
    /// # Errors
    /// When the file cannot be opened or the name does not fit into a header.
    pub fn file(path: &Path, name: &str, mode: u32) -> io::Result<Self> {
        let file = File::open(path)?;
        let size = file.metadata()?.len();
        let header = header(name, tar::EntryType::Regular, size, mode, 0)?;
        let padding = io::repeat(0).take(size.next_multiple_of(BLOCK) - size + 2 * BLOCK);
        Ok(Self::read(io::Cursor::new(header).chain(Exactly { file, left: size }).chain(padding)))
    }

    /// A tar stream with one directory, which gives an existing one its owner.
    pub(crate) fn directory(name: &str, uid: u32) -> io::Result<Self> {
        let header = header(name, tar::EntryType::Directory, 0, 0o755, uid)?;
        let end = io::repeat(0).take(2 * BLOCK);
        Ok(Self::read(io::Cursor::new(header).chain(end)))
    }

    /// The stream, and where to look when it breaks.
    pub(crate) fn into_parts(self) -> (Body, Failure) {
        let Self { body, failure } = self;
        let seen = failure.clone();
        let body = body.map(move |piece| {
            piece.map_err(|error| {
                let copy = io::Error::new(error.kind(), error.to_string());
                *seen.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                copy
            })
        });
        (Box::pin(body), failure)
    }
}

fn pump(mut reader: impl Read, sender: &mpsc::Sender<io::Result<Bytes>>) {
    loop {
        let mut piece = vec![0; PIECE_BYTES];
        let result = match reader.read(&mut piece) {
            Ok(0) => return,
            Ok(count) => {
                piece.truncate(count);
                Ok(Bytes::from(piece))
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let failed = result.is_err();
        if sender.blocking_send(result).is_err() || failed {
            return;
        }
    }
}

fn header(name: &str, kind: tar::EntryType, size: u64, mode: u32, uid: u32) -> io::Result<[u8; BLOCK as usize]> {
    let mut header = tar::Header::new_ustar();
    header.set_path(name)?;
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(mode);
    header.set_uid(u64::from(uid));
    header.set_gid(u64::from(uid));
    header.set_mtime(0);
    header.set_cksum();
    Ok(*header.as_bytes())
}

/// A file that has changed its size since its header was written is an error, not a shifted archive.
struct Exactly {
    file: File,
    left: u64,
}

impl Read for Exactly {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if wanted == 0 {
            return Ok(0);
        }
        let count = self.file.read(&mut buffer[..wanted])?;
        if count == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter while it was read"));
        }
        self.left -= count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn collect(archive: Archive) -> (io::Result<Vec<u8>>, Failure) {
        let (mut body, failure) = archive.into_parts();
        let mut all = Vec::new();
        while let Some(piece) = body.next().await {
            match piece {
                Ok(bytes) => all.extend_from_slice(&bytes),
                Err(error) => return (Err(error), failure),
            }
        }
        (Ok(all), failure)
    }

    #[tokio::test]
    async fn a_file_becomes_a_readable_archive() {
        let directory = tempfile::tempdir().unwrap();
        for size in [0, 1, 511, 512, 513, PIECE_BYTES * 3 + 7] {
            let path = directory.path().join("f");
            std::fs::write(&path, vec![b'x'; size]).unwrap();
            let bytes = collect(Archive::file(&path, "opencode", 0o755).unwrap()).await.0.unwrap();
            assert_eq!(bytes.len() % 512, 0);
            let mut archive = tar::Archive::new(bytes.as_slice());
            let mut entries = archive.entries().unwrap();
            let mut entry = entries.next().unwrap().unwrap();
            assert_eq!((entry.path().unwrap().to_str(), entry.header().mode().unwrap()), (Some("opencode"), 0o755));
            assert_eq!((entry.header().uid().unwrap(), entry.header().gid().unwrap()), (0, 0));
            let mut contents = Vec::new();
            entry.read_to_end(&mut contents).unwrap();
            assert_eq!(contents.len(), size);
            assert!(entries.next().is_none());
        }
    }

    #[tokio::test]
    async fn a_broken_source_leaves_its_reason() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the disk is gone"))
            }
        }
        let (result, failure) = collect(Archive::read(Broken)).await;
        assert!(result.is_err());
        assert_eq!(failure.take().unwrap().to_string(), "the disk is gone");
    }

    #[test]
    fn a_shrunken_file_is_an_error() {
        let mut source = Exactly { file: tempfile::tempfile().unwrap(), left: 5 };
        assert_eq!(source.read_to_end(&mut Vec::new()).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
