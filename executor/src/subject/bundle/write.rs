//! Writes a bundle as a tar archive: sorted, without times and owners, so that equal bundles give equal bytes.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use tar::{EntryType, Header};

use super::contents::{FileItem, Item};
use super::{Builder, Bundle, BundleError, Source, scan, tree};

const ROOT: u32 = 0;

/// Writes the archive and returns the writer. Blocks; call it on a thread that may. Every content is checked against the digest on the way.
///
/// # Errors
/// [`BundleError::Changed`] when a file is another one than when it was read; what was written by then is no bundle.
pub fn write_tar<W: Write>(bundle: &Bundle, out: W) -> Result<W, BundleError> {
    let failed = |source| BundleError::Write { source };
    let mut builder = tar::Builder::new(out);
    for (path, item) in &bundle.items {
        let name = Path::new(std::ffi::OsStr::from_bytes(path));
        match item {
            Item::Directory => builder.append_data(&mut header(EntryType::Directory, 0o755, 0, ROOT), name, io::empty()).map_err(failed)?,
            Item::Link(target) => {
                let target = Path::new(std::ffi::OsStr::from_bytes(target));
                builder.append_link(&mut header(EntryType::Symlink, 0o777, 0, ROOT), name, target).map_err(failed)?;
            }
            Item::File(file) => append_file(&mut builder, &bundle.source, path, file)?,
        }
    }
    builder.into_inner().map_err(failed)
}

fn append_file<W: Write>(builder: &mut tar::Builder<W>, source: &Source, path: &[u8], file: &FileItem) -> Result<(), BundleError> {
    let changed = || BundleError::Changed { path: tree::shown(path) };
    let content: Box<dyn Read> = match source {
        Source::Disk(root) => Box::new(scan::open(root, path)?),
        Source::Spool(spool) => Box::new(Slice { spool: spool.clone(), offset: file.offset, left: file.bytes }),
    };
    let mut hashed = Hashed { inner: content, builder: Builder::default(), bytes: 0 };
    let mode = if file.executable { 0o755 } else { 0o644 };
    let name = Path::new(std::ffi::OsStr::from_bytes(path));
    // One byte more than announced is enough to see that a file has grown.
    let limited = hashed.by_ref().take(file.bytes);
    builder
        .append_data(&mut header(EntryType::Regular, mode, file.bytes, ROOT), name, limited)
        .map_err(|source| BundleError::Write { source })?;
    let grown = hashed.inner.read(&mut [0]).map_err(scan::unreadable(path))? > 0;
    if grown || hashed.bytes != file.bytes || hashed.builder.finish() != file.digest { Err(changed()) } else { Ok(()) }
}

/// The header of an entry without a time, so that equal contents give equal bytes.
pub(crate) fn header(kind: EntryType, mode: u32, bytes: u64, owner: u32) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(bytes);
    header.set_mtime(0);
    header.set_uid(owner.into());
    header.set_gid(owner.into());
    header
}

/// One file's part of a spool.
struct Slice {
    spool: Arc<File>,
    offset: u64,
    left: u64,
}

impl Read for Slice {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let count = self.spool.read_at(&mut buffer[..most], self.offset)?;
        self.offset += count as u64;
        self.left -= count as u64;
        Ok(count)
    }
}

struct Hashed<R> {
    inner: R,
    builder: Builder,
    bytes: u64,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.builder.update(&buffer[..count]);
        self.bytes += count as u64;
        Ok(count)
    }
}
