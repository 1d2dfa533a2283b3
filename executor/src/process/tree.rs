//! Trees on this machine's disk that stand for volumes: unpacked, packed and removed. What a build left in one is read without following
//! any link.

use std::fs::{self, File};
use std::io::{self, Seek as _, SeekFrom};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use futures_util::StreamExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::{Cells, ScratchDirectory, failed};
use crate::container::{Archive, ContainerError, Contents, Kind, Operation, VolumeName};

const PIECE: usize = 256 * 1024;

impl Cells {
    /// The directory that holds these contents.
    pub(crate) async fn ensure(
        &self,
        contents: &Contents,
        fill: impl Fn() -> io::Result<Archive> + Send + Sync,
    ) -> Result<VolumeName, ContainerError> {
        let place = self.shared.run.bundle(contents.digest.hex());
        let name = place.display().to_string();
        let fail = |error: io::Error| failed(Operation::Upload, &name, error);
        if !place.is_dir() {
            let archive = fill().map_err(fail)?;
            let fresh = self.fresh("bundle").map_err(fail)?;
            let unpacked = self.unpack(archive, fresh.clone(), None).await;
            // Whoever renames first wins; the other's is the same.
            let moved =
                unpacked.and_then(|()| fs::rename(&fresh, &place).or_else(|error| if place.is_dir() { Ok(()) } else { Err(error) }));
            remove(&fresh);
            moved.map_err(fail)?;
        }
        // Its age is that of its last use.
        let _ = File::open(&place).and_then(|directory| directory.set_modified(std::time::SystemTime::now()));
        Ok(VolumeName::of_path(&place))
    }

    pub(crate) fn scratch(&self) -> Result<ScratchDirectory, ContainerError> {
        let made = self.fresh("scratch").and_then(|path| give(&path, self.shared.owner).map(|()| path));
        Ok(ScratchDirectory::new(&made.map_err(|error| failed(Operation::CreateVolume, "", error))?))
    }

    pub(crate) async fn upload(&self, volume: &VolumeName, archive: Archive) -> Result<(), ContainerError> {
        let unpacked = self.unpack(archive, volume.as_path().to_owned(), Some(self.shared.owner)).await;
        unpacked.map_err(|error| failed(Operation::Upload, volume.as_str(), error))
    }

    pub(crate) async fn download(
        &self,
        volume: &VolumeName,
        path: &str,
        cap: u64,
        into: &mut (dyn AsyncWrite + Unpin + Send),
    ) -> Result<u64, ContainerError> {
        let fail = |kind| ContainerError::new(kind, Operation::Download, volume.as_str());
        let (source, name) = (volume.as_path().join(path), path.to_owned());
        if !fs::symlink_metadata(&source).is_ok_and(|metadata| metadata.is_dir()) {
            return Err(fail(Kind::NotFound));
        }
        let spool = self.shared.run.path().to_owned();
        let packed = tokio::task::spawn_blocking(move || pack(&source, &name, &spool)).await.map_err(io::Error::other);
        let file = packed.and_then(|packed| packed).map_err(|error| fail(Kind::LocalIo).caused_by(error))?;
        let mut file = tokio::fs::File::from_std(file);
        let (mut bytes, mut buffer) = (0, vec![0; PIECE]);
        loop {
            let size = file.read(&mut buffer).await.map_err(|error| fail(Kind::LocalIo).caused_by(error))?;
            if size == 0 {
                break;
            }
            bytes += size as u64;
            if bytes > cap {
                return Err(fail(Kind::TooLarge(cap)));
            }
            into.write_all(&buffer[..size]).await.map_err(|error| fail(Kind::LocalIo).caused_by(error))?;
        }
        into.flush().await.map_err(|error| fail(Kind::LocalIo).caused_by(error))?;
        Ok(bytes)
    }

    fn fresh(&self, word: &str) -> io::Result<PathBuf> {
        let number = self.shared.number.fetch_add(1, Ordering::Relaxed);
        let path = self.shared.run.path().join(format!("{word}-{number}"));
        fs::create_dir(&path)?;
        Ok(path)
    }

    /// Unpacks a stream, through a file: the tar reader is a blocking one.
    async fn unpack(&self, archive: Archive, into: PathBuf, owner: Option<u32>) -> io::Result<()> {
        let (mut body, _) = archive.into_parts();
        let mut spool = tokio::fs::File::from_std(tempfile::tempfile_in(self.shared.run.path())?);
        while let Some(piece) = body.next().await {
            spool.write_all(&piece?).await?;
        }
        spool.flush().await?;
        let mut file = spool.into_std().await;
        let unpack = move || -> io::Result<()> {
            file.seek(SeekFrom::Start(0))?;
            let mut archive = tar::Archive::new(io::BufReader::new(file));
            archive.set_preserve_permissions(true);
            archive.set_preserve_mtime(false);
            archive.unpack(&into)?;
            owner.map_or(Ok(()), |owner| give(&into, owner))
        };
        tokio::task::spawn_blocking(unpack).await.map_err(io::Error::other)?
    }
}

/// Gives a tree to the sandbox's user, where that is another one.
fn give(path: &Path, owner: u32) -> io::Result<()> {
    if rustix::process::geteuid().as_raw() == owner {
        return Ok(());
    }
    std::os::unix::fs::lchown(path, Some(owner), Some(owner))?;
    if fs::symlink_metadata(path)?.is_dir() {
        for entry in fs::read_dir(path)? {
            give(&entry?.path(), owner)?;
        }
    }
    Ok(())
}

fn pack(source: &Path, name: &str, spool: &Path) -> io::Result<File> {
    let mut builder = tar::Builder::new(io::BufWriter::new(tempfile::tempfile_in(spool)?));
    builder.follow_symlinks(false);
    builder.append_dir_all(name, source)?;
    let mut file = builder.into_inner()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

/// Removes a tree, also one whose directories forbid it. What stays is for the next run.
pub(super) fn remove(path: &Path) {
    if fs::remove_dir_all(path).is_ok() || !path.exists() {
        return;
    }
    open_up(path);
    if let Err(error) = fs::remove_dir_all(path) {
        tracing::warn!(path = %path.display(), %error, "cannot remove a directory");
    }
}

fn open_up(path: &Path) {
    if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o700));
        fs::read_dir(path).into_iter().flatten().flatten().for_each(|entry| open_up(&entry.path()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_that_forbids_it_is_removed_and_nothing_behind_its_links() {
        let base = tempfile::tempdir().unwrap();
        fs::write(base.path().join("canary"), "x").unwrap();
        let tree = base.path().join("tree");
        fs::create_dir_all(tree.join("closed/below")).unwrap();
        std::os::unix::fs::symlink(base.path(), tree.join("closed/out")).unwrap();
        fs::set_permissions(tree.join("closed"), fs::Permissions::from_mode(0o0)).unwrap();
        remove(&tree);
        assert!(!tree.exists() && base.path().join("canary").exists());
    }
}
