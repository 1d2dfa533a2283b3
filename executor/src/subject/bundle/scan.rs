//! Reads a directory of this machine into a bundle. It opens files only as what they were listed as: a path that has become a link or a
//! pipe in the meantime is an error, not a way out.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, FileType};
use std::io::{self, Read as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::contents::{Contents, FileItem, Item};
use super::{Builder, Bundle, BundleError, BundleOptions, Source, rules, tree};

/// Packs a directory, on a thread that may block. See [`scan_blocking`].
///
/// # Errors
/// See [`BundleError`].
pub async fn scan(root: PathBuf, options: BundleOptions) -> Result<Bundle, BundleError> {
    match tokio::task::spawn_blocking(move || scan_blocking(&root, &options)).await {
        Ok(result) => result,
        Err(error) => Err(BundleError::Unreadable { path: ".".to_owned(), source: io::Error::other(error) }),
    }
}

/// Packs a directory: walks it, checks every link, and computes the digests of all files. The contents stay where they are until they are
/// written.
///
/// # Errors
/// See [`BundleError`].
pub fn scan_blocking(root: &Path, options: &BundleOptions) -> Result<Bundle, BundleError> {
    let root = root.canonicalize().map_err(unreadable(b"."))?;
    let mut contents = Contents::new(options);
    let files = walk(&root, options, &mut contents)?;
    for listed in files {
        add_file(&root, listed, &mut contents)?;
    }
    contents.finish(Source::Disk(root))
}

/// A regular file as it was listed.
pub(super) struct Listed {
    pub(super) path: Vec<u8>,
    bytes: u64,
    executable: bool,
}

/// Adds directories and links, and returns the files. The sizes are added up before anything is read.
pub(super) fn walk(root: &Path, options: &BundleOptions, contents: &mut Contents) -> Result<Vec<Listed>, BundleError> {
    let mut files = Vec::new();
    let mut pending = vec![Vec::new()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(on_disk(root, &directory)).map_err(unreadable(&directory))? {
            let name = entry.map_err(unreadable(&directory))?.file_name().into_vec();
            let path = if directory.is_empty() { name } else { [directory.as_slice(), b"/", &name].concat() };
            if rules::is_excluded(&path, &options.exclude) {
                continue;
            }
            let metadata = fs::symlink_metadata(on_disk(root, &path)).map_err(unreadable(&path))?;
            let kind = metadata.file_type();
            if kind.is_dir() {
                contents.add(path.clone(), Item::Directory)?;
                pending.push(path);
            } else if kind.is_symlink() {
                let target = fs::read_link(on_disk(root, &path)).map_err(unreadable(&path))?;
                contents.add(path.clone(), Item::Link(relative_target(root, &path, target.as_os_str().as_bytes())))?;
            } else if kind.is_file() {
                let executable = metadata.mode() & 0o100 != 0;
                files.push(Listed { path, bytes: metadata.len(), executable });
                if files.len() > options.caps.entries {
                    return Err(BundleError::TooMany { limit: options.caps.entries });
                }
            } else {
                contents.warnings.push(format!("not packed: {} is a {}", tree::shown(&path), special(kind)));
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    check_size(&files, options.caps.bytes)?;
    Ok(files)
}

fn check_size(files: &[Listed], limit: u64) -> Result<(), BundleError> {
    let total = files.iter().map(|file| file.bytes).fold(0, u64::saturating_add);
    if total <= limit {
        return Ok(());
    }
    let mut parts: BTreeMap<&[u8], u64> = BTreeMap::new();
    for file in files {
        let first = file.path.split(|byte| *byte == b'/').next().unwrap_or_default();
        *parts.entry(first).or_default() += file.bytes;
    }
    let largest = parts.into_iter().max_by_key(|(_, bytes)| *bytes).map(|(path, bytes)| (tree::shown(path), bytes));
    Err(BundleError::TooLarge { limit, largest })
}

/// The target of a link as it holds inside the bundle: an absolute one into the root becomes relative.
fn relative_target(root: &Path, path: &[u8], target: &[u8]) -> Vec<u8> {
    let inside = Path::new(OsStr::from_bytes(target)).strip_prefix(root).ok();
    match inside {
        None => tree::plain_target(target),
        Some(inside) => {
            let up = b"../".repeat(path.iter().filter(|byte| **byte == b'/').count());
            tree::plain_target(&[up.as_slice(), inside.as_os_str().as_bytes()].concat())
        }
    }
}

pub(super) fn add_file(root: &Path, listed: Listed, contents: &mut Contents) -> Result<(), BundleError> {
    let Listed { path, bytes, executable } = listed;
    contents.count(bytes)?;
    let mut file = open(root, &path)?;
    let mut text = contents.wants_text(&path, bytes).then(Vec::new);
    let mut builder = Builder::default();
    let mut buffer = vec![0; 128 * 1024];
    let mut read = 0_u64;
    loop {
        let count = file.read(&mut buffer).map_err(unreadable(&path))?;
        read += count as u64;
        if count == 0 || read > bytes {
            break;
        }
        builder.update(&buffer[..count]);
        if let Some(text) = &mut text {
            text.extend_from_slice(&buffer[..count]);
        }
    }
    if read != bytes {
        return Err(BundleError::Changed { path: tree::shown(&path) });
    }
    if let Some(text) = text {
        contents.note_text(&path, &text);
    }
    contents.add(path, Item::File(FileItem { bytes, executable, digest: builder.finish(), offset: 0 }))
}

/// Opens a regular file without following a link and without waiting for the other end of a pipe.
pub(super) fn open(root: &Path, path: &[u8]) -> Result<File, BundleError> {
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(on_disk(root, path)).map_err(unreadable(path))?;
    let is_file = file.metadata().map_err(unreadable(path))?.is_file();
    if is_file { Ok(file) } else { Err(BundleError::Changed { path: tree::shown(path) }) }
}

fn on_disk(root: &Path, path: &[u8]) -> PathBuf {
    root.join(OsStr::from_bytes(path))
}

pub(super) fn unreadable(path: &[u8]) -> impl Fn(io::Error) -> BundleError + '_ {
    move |source| BundleError::Unreadable { path: if path.is_empty() { ".".to_owned() } else { tree::shown(path) }, source }
}

fn special(kind: FileType) -> &'static str {
    if kind.is_fifo() {
        "pipe"
    } else if kind.is_socket() {
        "socket"
    } else {
        "device"
    }
}
