//! Takes one file out of an npm tarball. Nothing else of the archive touches the disk, so that its other names and links cannot matter.

use std::io::{self, Read, Write};
use std::path::{Component, Path};

use flate2::read::MultiGzDecoder;
use ocsweep_proto::digest::{Builder, Digest};
use tar::EntryType;

/// The binary inside a platform package, below the package's own directory.
const WANTED: [&str; 2] = ["bin", "opencode"];

/// How much a tarball may unpack to.
#[derive(Debug, Clone, Copy)]
pub struct Caps {
    /// Bytes of the binary.
    pub file_bytes: u64,
    /// Bytes of the whole archive, unpacked.
    pub total_bytes: u64,
}

impl Default for Caps {
    fn default() -> Self {
        Self { file_bytes: 512 * 1024 * 1024, total_bytes: 1024 * 1024 * 1024 }
    }
}

/// Why a tarball holds no usable binary.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The file is missing.
    #[error("there is no file bin/opencode in it")]
    Missing,
    /// The name is there, but it is a link or a device.
    #[error("bin/opencode is not a regular file")]
    NotAFile,
    /// The file is empty.
    #[error("bin/opencode is empty")]
    Empty,
    /// More bytes than allowed.
    #[error("it unpacks to more than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// The archive cannot be read, or the file cannot be written.
    #[error("it cannot be unpacked")]
    Io(#[from] io::Error),
}

/// Copies `<anything>/bin/opencode` of a gzipped tar archive to `out`.
///
/// # Errors
/// See [`ArchiveError`].
pub fn extract_binary(tarball: impl Read, out: &mut impl Write, caps: Caps) -> Result<(Digest, u64), ArchiveError> {
    let mut unpacked = Capped { inner: MultiGzDecoder::new(tarball), left: caps.total_bytes, exceeded: false };
    let result = find(&mut unpacked, out, caps);
    match result {
        Err(ArchiveError::Io(_)) if unpacked.exceeded => Err(ArchiveError::TooLarge { limit: caps.total_bytes }),
        other => other,
    }
}

fn find(unpacked: impl Read, out: &mut impl Write, caps: Caps) -> Result<(Digest, u64), ArchiveError> {
    let mut archive = tar::Archive::new(unpacked);
    for entry in archive.entries()? {
        let entry = entry?;
        if !is_wanted(&entry.path()?) {
            continue;
        }
        if !matches!(entry.header().entry_type(), EntryType::Regular | EntryType::Continuous) {
            return Err(ArchiveError::NotAFile);
        }
        return copy(entry, out, caps.file_bytes);
    }
    Err(ArchiveError::Missing)
}

fn is_wanted(path: &Path) -> bool {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    names.len() == 1 + WANTED.len() && names[1..] == WANTED
}

fn copy(mut file: impl Read, out: &mut impl Write, limit: u64) -> Result<(Digest, u64), ArchiveError> {
    let mut builder = Builder::default();
    let mut buffer = vec![0; 128 * 1024];
    let mut bytes = 0_u64;
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        bytes += count as u64;
        if bytes > limit {
            return Err(ArchiveError::TooLarge { limit });
        }
        builder.update(&buffer[..count]);
        out.write_all(&buffer[..count])?;
    }
    out.flush()?;
    if bytes == 0 { Err(ArchiveError::Empty) } else { Ok((builder.finish(), bytes)) }
}

/// A reader that fails after a number of bytes, so that skipped entries count too.
struct Capped<R> {
    inner: R,
    left: u64,
    exceeded: bool,
}

impl<R: Read> Read for &mut Capped<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        match self.left.checked_sub(count as u64) {
            Some(left) => self.left = left,
            None => {
                self.exceeded = true;
                return Err(io::Error::other("size limit"));
            }
        }
        Ok(count)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;

    /// A gzipped tar of raw entries: name, type, content, link name. Names are written as they are, tricks included.
    pub(crate) fn tarball(entries: &[(&str, EntryType, &[u8], &str)]) -> Vec<u8> {
        let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (name, kind, content, link) in entries {
            let mut header = tar::Header::new_gnu();
            header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
            header.as_gnu_mut().unwrap().linkname[..link.len()].copy_from_slice(link.as_bytes());
            header.set_entry_type(*kind);
            header.set_size(content.len() as u64);
            header.set_mode(0o755);
            header.set_cksum();
            builder.append(&header, *content).unwrap();
        }
        builder.into_inner().unwrap().finish().unwrap()
    }

    const CAPS: Caps = Caps { file_bytes: 1000, total_bytes: 10_000 };

    fn extract(entries: &[(&str, EntryType, &[u8], &str)]) -> Result<Vec<u8>, ArchiveError> {
        let mut out = Vec::new();
        let (digest, bytes) = extract_binary(tarball(entries).as_slice(), &mut out, CAPS)?;
        assert_eq!((digest, bytes), (Digest::of(&out), out.len() as u64));
        Ok(out)
    }

    #[test]
    fn the_binary_comes_out() {
        for name in ["package/bin/opencode", "./package/bin/opencode", "opencode-linux-x64/bin/opencode"] {
            let entries: &[(&str, EntryType, &[u8], &str)] =
                &[("package/package.json", EntryType::Regular, b"{}", ""), (name, EntryType::Regular, b"ELF", "")];
            assert_eq!(extract(entries).unwrap(), b"ELF", "{name}");
        }
    }

    #[test]
    fn other_paths_are_not_the_binary() {
        let names = [
            "bin/opencode",
            "a/b/bin/opencode",
            "/package/bin/opencode",
            "../package/bin/opencode",
            "package/../x/bin/opencode",
            "package/bin/opencode.exe",
        ];
        for name in names {
            let result = extract(&[(name, EntryType::Regular, b"ELF", "")]);
            assert!(matches!(result, Err(ArchiveError::Missing)), "{name}");
        }
    }

    #[test]
    fn a_link_or_device_is_no_binary() {
        for kind in [EntryType::Symlink, EntryType::Link, EntryType::Char, EntryType::Fifo, EntryType::Directory] {
            let result = extract(&[("package/bin/opencode", kind, b"", "/etc/passwd")]);
            assert!(matches!(result, Err(ArchiveError::NotAFile)), "{kind:?}");
        }
        assert!(matches!(extract(&[("package/bin/opencode", EntryType::Regular, b"", "")]), Err(ArchiveError::Empty)));
    }

    #[test]
    fn bombs_stop_at_the_limit() {
        let result = extract(&[("package/bin/opencode", EntryType::Regular, &[0; 1001], "")]);
        assert!(matches!(result, Err(ArchiveError::TooLarge { limit: 1000 })), "{result:?}");
        let result =
            extract(&[("package/other", EntryType::Regular, &[0; 20_000], ""), ("package/bin/opencode", EntryType::Regular, b"ELF", "")]);
        assert!(matches!(result, Err(ArchiveError::TooLarge { limit: 10_000 })), "{result:?}");
    }

    #[test]
    fn a_cut_archive_is_an_error() {
        let whole = tarball(&[("package/bin/opencode", EntryType::Regular, &[7; 900], "")]);
        let result = extract_binary(&whole[..whole.len() / 2], &mut Vec::new(), CAPS);
        assert!(matches!(result, Err(ArchiveError::Io(_))), "{result:?}");
    }
}
