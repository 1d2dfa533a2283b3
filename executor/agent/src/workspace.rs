//! The project as a compressed archive, for a person who wants to look at a failed case. Directories, regular files and symlinks as they
//! are; nothing else. It must never hold back the end of a case: what does not fit is left out and said.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use ocsweep_proto::frame::Kind as FrameKind;

use crate::collect::{Entry, Kind, Walk};
use crate::output::Output;

/// Bytes of the whole archive.
const MAX_ARCHIVE: u64 = 64 * 1024 * 1024;
/// Bytes of all files before compression: a thousand files of holes take no room and would still take hours to read.
const MAX_CONTENTS: u64 = 512 * 1024 * 1024;
const PIECE: usize = 256 * 1024;
const LEVEL: i32 = 3;

/// Sends the archive; gives a remark when something was left out. Blocks.
pub(crate) fn send(project: &Path, output: &Output) -> io::Result<Option<String>> {
    archive(project, MAX_ARCHIVE, |piece| output.send_blocking(FrameKind::Workspace, piece).map_err(io::Error::other))
}

/// Collects bytes into pieces and counts them.
struct Pieces<F> {
    buffer: Vec<u8>,
    written: u64,
    send: F,
}

impl<F: FnMut(Vec<u8>) -> io::Result<()>> Write for Pieces<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        self.written += bytes.len() as u64;
        if self.buffer.len() >= PIECE {
            (self.send)(std::mem::take(&mut self.buffer))?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() { Ok(()) } else { (self.send)(std::mem::take(&mut self.buffer)) }
    }
}

fn archive<F: FnMut(Vec<u8>) -> io::Result<()>>(project: &Path, cap: u64, send: F) -> io::Result<Option<String>> {
    let pieces = Pieces { buffer: Vec::new(), written: 0, send };
    let mut archive = tar::Builder::new(zstd::Encoder::new(pieces, LEVEL)?);
    let mut walk = Walk::new(project, None);
    let (mut files, mut bytes, mut contents) = (0_u64, 0_u64, 0_u64);
    while let Some(entry) = walk.next() {
        // Compression may gain nothing, and what was written before may still be in the compressor.
        let room = cap.saturating_sub(archive.get_ref().get_ref().written).min(MAX_CONTENTS - contents);
        match append(&mut archive, &walk, &entry, room)? {
            Appended::Contents(size) => contents += size,
            Appended::LeftOut(size) => {
                files += 1;
                bytes += size;
            }
        }
    }
    let mut pieces = archive.into_inner()?.finish()?;
    pieces.flush()?;
    let cut = walk.cut();
    let complete = files == 0 && cut == 0;
    Ok((!complete).then(|| format!("the workspace archive leaves out {files} files ({bytes} bytes) and {cut} directories")))
}

enum Appended {
    /// With so many bytes of contents.
    Contents(u64),
    /// With so many bytes.
    LeftOut(u64),
}

fn append<W: Write>(archive: &mut tar::Builder<W>, walk: &Walk, entry: &Entry, room: u64) -> io::Result<Appended> {
    let mut header = tar::Header::new_gnu();
    header.set_mode(if entry.kind == Kind::Directory { 0o755 } else { 0o644 });
    header.set_size(0);
    match entry.kind {
        Kind::Directory => {
            header.set_entry_type(tar::EntryType::Directory);
            archive.append_data(&mut header, entry.path(), io::empty())?;
        }
        Kind::Link => {
            let Some(target) = walk.target(entry) else { return Ok(Appended::LeftOut(0)) };
            header.set_entry_type(tar::EntryType::Symlink);
            archive.append_link(&mut header, entry.path(), OsStr::from_bytes(&target))?;
        }
        Kind::File => {
            let Some(file) = walk.open(entry) else { return Ok(Appended::LeftOut(0)) };
            let metadata = file.metadata()?;
            let size = metadata.len();
            if size > room {
                return Ok(Appended::LeftOut(size));
            }
            header.set_mode(metadata.permissions().mode() & 0o777);
            header.set_size(size);
            archive.append_data(&mut header, entry.path(), io::Read::take(file, size))?;
            return Ok(Appended::Contents(size));
        }
        Kind::Other => return Ok(Appended::LeftOut(0)),
    }
    Ok(Appended::Contents(0))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    /// The archive's entries: contents of files, targets of links, `None` for directories.
    fn unpacked(project: &Path, cap: u64) -> (BTreeMap<String, Option<String>>, Option<String>) {
        let mut bytes = Vec::new();
        let remark = archive(project, cap, |piece| {
            bytes.extend(piece);
            Ok(())
        });
        let mut archive = tar::Archive::new(zstd::Decoder::new(&bytes[..]).unwrap());
        let entries = archive.entries().unwrap().map(|entry| {
            let mut entry = entry.unwrap();
            let path = entry.path().unwrap().display().to_string();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            let link = entry.link_name().unwrap().map(|link| format!("-> {}", link.display()));
            let contents = if entry.header().entry_type().is_file() { Some(text) } else { link };
            (path.trim_end_matches('/').to_owned(), contents)
        });
        (entries.collect(), remark.unwrap())
    }

    #[test]
    fn files_directories_and_links_are_archived_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let long = format!("d/{}", "n".repeat(200));
        std::fs::create_dir(dir.path().join("d")).unwrap();
        std::fs::write(dir.path().join(&long), "long").unwrap();
        std::fs::write(dir.path().join("a\nb"), "").unwrap();
        symlink("../../etc/passwd", dir.path().join("link")).unwrap();
        mknodat(CWD, dir.path().join("fifo"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        let (entries, remark) = unpacked(dir.path(), MAX_ARCHIVE);
        let text = |text: &str| Some(text.to_owned());
        let expected =
            [("d".to_owned(), None), (long, text("long")), ("a\nb".to_owned(), text("")), ("link".to_owned(), text("-> ../../etc/passwd"))];
        assert_eq!(entries, BTreeMap::from(expected));
        assert_eq!(remark.unwrap(), "the workspace archive leaves out 1 files (0 bytes) and 0 directories");
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_said() {
        let dir = tempfile::tempdir().unwrap();
        // A file of holes is as long as it says and takes no room.
        std::fs::File::create(dir.path().join("a-huge")).unwrap().set_len(1 << 40).unwrap();
        std::fs::write(dir.path().join("small"), "small").unwrap();
        let (entries, remark) = unpacked(dir.path(), 100_000);
        assert_eq!(entries, BTreeMap::from([("small".to_owned(), Some("small".to_owned()))]));
        assert!(remark.unwrap().contains("1 files (1099511627776 bytes)"));
        std::fs::remove_file(dir.path().join("a-huge")).unwrap();
        assert_eq!(unpacked(dir.path(), 100_000).1, None);
    }
}
