//! Reads an archive that comes out of a container into a bundle. The archive is a stranger's: nothing of it is unpacked, every name is
//! checked, sizes are counted as bytes arrive and not as headers claim.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::Path;
use std::sync::Arc;

use tar::{Entry, EntryType};

use super::contents::{Contents, FileItem, Item};
use super::{Builder, Bundle, BundleError, BundleOptions, Source, rules, tree};

/// Reads a tar archive whose entries all lie in the directory `prefix` (an empty one: in its root), which becomes the bundle's root. The
/// contents go to an unnamed file in `spool_directory`. Blocks; call it on a thread that may.
///
/// # Errors
/// See [`BundleError`]; also for an archive without an end, which is what is left of a broken stream.
pub fn scan_tar(archive: impl Read, prefix: &str, spool_directory: &Path, options: &BundleOptions) -> Result<Bundle, BundleError> {
    let spool = tempfile::tempfile_in(spool_directory).map_err(|source| BundleError::Write { source })?;
    let mut reader = Ended { inner: archive, zeros: 0 };
    let mut state = Reading { contents: Contents::new(options), options, prefix, spool, offset: 0 };
    let mut archive = tar::Archive::new(&mut reader);
    for entry in archive.entries().map_err(unreadable)? {
        state.entry(entry.map_err(unreadable)?)?;
    }
    if reader.zeros < END_BYTES {
        return Err(unreadable(io::Error::from(io::ErrorKind::UnexpectedEof)));
    }
    state.contents.finish(Source::Spool(Arc::new(state.spool)))
}

/// An archive ends with zeros, at least this many.
const END_BYTES: u64 = 512;

fn unreadable(source: io::Error) -> BundleError {
    BundleError::Archive { source }
}

struct Reading<'a> {
    contents: Contents,
    options: &'a BundleOptions,
    prefix: &'a str,
    spool: File,
    offset: u64,
}

impl Reading<'_> {
    fn entry<R: Read>(&mut self, entry: Entry<'_, R>) -> Result<(), BundleError> {
        let kind = entry.header().entry_type();
        if kind == EntryType::XGlobalHeader {
            return Ok(());
        }
        let Some(path) = self.place(&entry.path_bytes())? else { return Ok(()) };
        if rules::is_excluded(&path, &self.options.exclude) {
            return Ok(());
        }
        let refused = |problem| BundleError::Refused { path: tree::shown(&path), problem };
        match kind {
            EntryType::Directory => self.contents.add(path, Item::Directory),
            EntryType::Symlink => {
                let target = entry.link_name_bytes().ok_or_else(|| refused("a link without a target"))?;
                let target = tree::plain_target(&target);
                self.contents.add(path, Item::Link(target))
            }
            EntryType::Link => {
                let target = entry.link_name_bytes().ok_or_else(|| refused("a link without a target"))?;
                let target = self.place(&target)?.unwrap_or_default();
                let file = self.contents.file(&target).cloned().ok_or_else(|| refused("a hard link to no file of the archive"))?;
                self.contents.count(file.bytes)?;
                self.contents.add(path, Item::File(file))
            }
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => self.file(path, entry),
            _ => Err(refused("it is neither file, directory nor link")),
        }
    }

    /// The path below the prefix. `None` for the root itself.
    fn place(&self, raw: &[u8]) -> Result<Option<Vec<u8>>, BundleError> {
        let refused = |problem| BundleError::Refused { path: tree::shown(raw), problem };
        let path = tree::plain(raw).ok_or_else(|| refused("its path is absolute or climbs"))?;
        let path = match path.strip_prefix(self.prefix.as_bytes()) {
            Some(rest) if self.prefix.is_empty() || rest.is_empty() => rest,
            Some(rest) => rest.strip_prefix(b"/").ok_or_else(|| refused("it is outside of the archive's directory"))?,
            None => return Err(refused("it is outside of the archive's directory")),
        };
        Ok((!path.is_empty()).then(|| path.to_vec()))
    }

    fn file<R: Read>(&mut self, path: Vec<u8>, mut entry: Entry<'_, R>) -> Result<(), BundleError> {
        let executable = entry.header().mode().map_err(unreadable)? & 0o100 != 0;
        let mut text = self.contents.wants_text(&path, entry.size()).then(Vec::new);
        let mut builder = Builder::default();
        let mut buffer = vec![0; 128 * 1024];
        let (offset, mut bytes) = (self.offset, 0_u64);
        loop {
            let count = entry.read(&mut buffer).map_err(unreadable)?;
            if count == 0 {
                break;
            }
            self.contents.count(count as u64)?;
            bytes += count as u64;
            builder.update(&buffer[..count]);
            self.spool.write_all(&buffer[..count]).map_err(|source| BundleError::Write { source })?;
            if let Some(text) = &mut text {
                text.extend_from_slice(&buffer[..count]);
            }
        }
        self.offset += bytes;
        if let Some(text) = text {
            self.contents.note_text(&path, &text);
        }
        self.contents.add(path, Item::File(FileItem { bytes, executable, digest: builder.finish(), offset }))
    }
}

/// Counts the zeros at the end of what was read.
struct Ended<R> {
    inner: R,
    zeros: u64,
}

impl<R: Read> Read for &mut Ended<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        match buffer[..count].iter().rposition(|byte| *byte != 0) {
            Some(last) => self.zeros = (count - last - 1) as u64,
            None => self.zeros += count as u64,
        }
        Ok(count)
    }
}
