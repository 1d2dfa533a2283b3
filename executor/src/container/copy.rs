//! Copying into and out of volumes, through helper containers that are created, never started, and removed.
//!
//! It must never unpack anything on this machine: what comes out of a volume was written by a plugin.

use std::time::{Duration, SystemTime};

use bollard::query_parameters::{DownloadFromContainerOptionsBuilder, UploadToContainerOptionsBuilder};
use futures_util::StreamExt;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, timeout_at};

use super::archive::Archive;
use super::engine::{COPY, Engine, within};
use super::error::{ContainerError, Kind, Operation};
use super::guard::Guard;
use super::volume::VolumeName;
use super::{image, labels, spec};

/// Where a helper has the volume. The image does not have this path.
const DATA: &str = "/ocsweep-data";
/// Longer than any copy.
const HELPER_LIFETIME: Duration = Duration::from_secs(COPY.as_secs() * 2);

impl Engine {
    /// Unpacks a tar stream into the root of a volume.
    ///
    /// # Errors
    /// When the stream cannot be read or the engine cannot take it; the volume then holds a part of it.
    pub async fn upload(&self, volume: &VolumeName, archive: Archive) -> Result<(), ContainerError> {
        self.put(volume, DATA, archive).await
    }

    /// Gives the root of a volume to a user.
    pub(super) async fn own_volume(&self, volume: &VolumeName, uid: u32) -> Result<(), ContainerError> {
        let archive = Archive::directory(DATA.trim_start_matches('/'), uid)
            .map_err(|error| ContainerError::new(Kind::LocalIo, Operation::Upload, volume.as_str()).caused_by(error))?;
        // The engine applies owner and mode to a directory that exists, but never to the root of an archive.
        self.put(volume, "/", archive).await
    }

    async fn put(&self, volume: &VolumeName, path: &str, archive: Archive) -> Result<(), ContainerError> {
        let helper = self.helper(volume, false).await?;
        let (body, failure) = archive.into_parts();
        let options = UploadToContainerOptionsBuilder::default().path(path).build();
        let upload = self.shared.docker.upload_to_container(helper.name(), Some(options), bollard::body_try_stream(body));
        within(COPY, Operation::Upload, volume.as_str(), upload).await.map_err(|error| match failure.take() {
            Some(source) => ContainerError::new(Kind::LocalIo, Operation::Upload, volume.as_str()).caused_by(source),
            None => error,
        })
    }

    /// Writes a directory or file of a volume as a tar stream. `path` is relative to the volume; empty for all of it, whose entries then
    /// begin with `./`. Entries and links are as a hostile program left them. Returns the bytes written.
    ///
    /// # Errors
    /// When the path does not exist, there are more than `cap` bytes, `into` cannot be written, or the engine fails.
    pub async fn download(
        &self,
        volume: &VolumeName,
        path: &str,
        cap: u64,
        into: &mut (dyn AsyncWrite + Unpin + Send),
    ) -> Result<u64, ContainerError> {
        let fail = |kind| ContainerError::new(kind, Operation::Download, volume.as_str());
        let helper = self.helper(volume, true).await?;
        let whole = if path.is_empty() { format!("{DATA}/.") } else { format!("{DATA}/{path}") };
        let options = DownloadFromContainerOptionsBuilder::default().path(&whole).build();
        let mut stream = self.shared.docker.download_from_container(helper.name(), Some(options));
        let end = Instant::now() + COPY;
        let mut bytes = 0;
        while let Some(piece) = timeout_at(end, stream.next()).await.map_err(|_| fail(Kind::Timeout(COPY)))? {
            let piece = piece.map_err(|error| ContainerError::from_engine(Operation::Download, volume.as_str(), error))?;
            bytes += piece.len() as u64;
            if bytes > cap {
                return Err(fail(Kind::TooLarge(cap)));
            }
            into.write_all(&piece).await.map_err(|error| fail(Kind::LocalIo).caused_by(error))?;
        }
        into.flush().await.map_err(|error| fail(Kind::LocalIo).caused_by(error))?;
        Ok(bytes)
    }

    async fn helper(&self, volume: &VolumeName, read_only: bool) -> Result<Guard, ContainerError> {
        let labels = labels::owned(self.executor(), SystemTime::now() + HELPER_LIFETIME);
        self.create_container(spec::helper_container(&image::run(), volume, DATA, read_only, labels)).await
    }
}
