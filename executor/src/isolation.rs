//! The two ways to run a case cut off from the machine: a container of the Docker engine, or processes behind the kernel's namespaces. One
//! set of operations, so that nothing else needs to know which it is.
//!
//! It must never choose by itself: whoever starts a run names the isolation, and a run never falls back from one to the other.

use std::io;
use std::path::Path;
use std::time::Duration;

use ocsweep_proto::agent::After;
use ocsweep_proto::axes;
use ocsweep_proto::frame::Frame;
use tokio::io::AsyncWrite;
use tokio_util::sync::CancellationToken;

use crate::container::{
    Archive, CaseEnd, CaseSpec, Claim, ContainerError, Contents, Engine, Kind, Operation, PlainEnd, PlainSpec, Running as InContainer,
    ScratchVolume, VolumeName, Waiting as ContainerWaiting,
};
use crate::process::{Cells, Running as InCell, ScratchDirectory, Waiting as CellWaiting};

/// Where cases and preparations run. Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub enum Isolation {
    /// In containers.
    Docker(Engine),
    /// In processes of this machine. Images mean nothing there, and a volume is a path.
    Process(Cells),
}

/// A case's place that is up and waits for its job.
#[derive(Debug)]
pub enum Waiting {
    /// A container.
    Docker(Box<ContainerWaiting>),
    /// Processes.
    Process(Box<CellWaiting>),
}

impl Waiting {
    /// Hands over the job.
    ///
    /// # Errors
    /// When nobody takes it, or the run is cancelled.
    pub async fn give(self, job: &[u8]) -> Result<Running, ContainerError> {
        Ok(match self {
            Self::Docker(waiting) => Running::Docker(Box::new(Box::pin(waiting.give(job)).await?)),
            Self::Process(waiting) => Running::Process(Box::new(waiting.give(job).await?)),
        })
    }
}

/// A running case.
#[derive(Debug)]
pub enum Running {
    /// In a container.
    Docker(Box<InContainer>),
    /// In a process.
    Process(Box<InCell>),
}

/// A place for one preparation.
#[derive(Debug)]
pub enum Scratch {
    /// A volume.
    Docker(ScratchVolume),
    /// A directory.
    Process(ScratchDirectory),
}

impl Isolation {
    /// The word for rows.
    #[must_use]
    pub const fn word(&self) -> axes::Isolation {
        match self {
            Self::Docker(_) => axes::Isolation::Docker,
            Self::Process(_) => axes::Isolation::Process,
        }
    }

    /// What this isolation does not enforce here, one sentence each.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        match self {
            Self::Docker(_) => &[],
            Self::Process(cells) => cells.notes(),
        }
    }

    /// As [`Engine::warm`].
    ///
    /// # Errors
    /// When the case's place cannot be made, or `shutdown` is cancelled.
    pub async fn warm(&self, spec: &CaseSpec, shutdown: &CancellationToken) -> Result<Waiting, ContainerError> {
        Ok(match self {
            Self::Docker(engine) => Waiting::Docker(Box::new(Box::pin(engine.warm(spec, shutdown)).await?)),
            Self::Process(cells) => Waiting::Process(Box::new(cells.warm(spec, shutdown)?)),
        })
    }

    /// The content id of an image. Nothing is pulled.
    ///
    /// # Errors
    /// When the engine does not have it, or there are no images.
    pub async fn image(&self, name: &str) -> Result<String, ContainerError> {
        match self {
            Self::Docker(engine) => Ok(engine.image(name).await?.0),
            Self::Process(_) => Err(ContainerError::new(Kind::ImageMissing, Operation::InspectImage, name)),
        }
    }

    /// As [`Engine::run_plain`].
    ///
    /// # Errors
    /// When the command cannot be started, or `shutdown` is cancelled.
    pub async fn run_plain(&self, spec: &PlainSpec, shutdown: &CancellationToken) -> Result<PlainEnd, ContainerError> {
        match self {
            Self::Docker(engine) => Box::pin(engine.run_plain(spec, shutdown)).await,
            Self::Process(cells) => cells.run_plain(spec, shutdown).await,
        }
    }

    /// The place of these contents, as [`Engine::ensure_volume`].
    ///
    /// # Errors
    /// When the contents cannot be read or stored.
    pub async fn ensure_volume(
        &self,
        contents: &Contents,
        fill: impl Fn() -> io::Result<Archive> + Send + Sync,
    ) -> Result<VolumeName, ContainerError> {
        match self {
            Self::Docker(engine) => engine.ensure_volume(contents, fill).await,
            Self::Process(cells) => cells.ensure(contents, fill).await,
        }
    }

    /// The place of a file of this machine: a volume that holds it under `name`, or the file itself.
    ///
    /// # Errors
    /// When it cannot be read or stored.
    pub async fn ensure_file(&self, contents: &Contents, path: &Path, name: &str) -> Result<VolumeName, ContainerError> {
        match self {
            Self::Docker(engine) => engine.ensure_volume(contents, || Archive::file(path, name, 0o755)).await,
            Self::Process(_) => Ok(VolumeName::of_path(path)),
        }
    }

    /// As [`Engine::scratch_volume`].
    ///
    /// # Errors
    /// When there is no room for it.
    pub async fn scratch(&self, claim: &Claim, lifetime: Duration, uid: u32) -> Result<Scratch, ContainerError> {
        Ok(match self {
            Self::Docker(engine) => Scratch::Docker(engine.scratch_volume(claim, lifetime, uid).await?),
            Self::Process(cells) => Scratch::Process(cells.scratch()?),
        })
    }

    /// As [`Engine::upload`].
    ///
    /// # Errors
    /// When the stream cannot be read or stored.
    pub async fn upload(&self, volume: &VolumeName, archive: Archive) -> Result<(), ContainerError> {
        match self {
            Self::Docker(engine) => engine.upload(volume, archive).await,
            Self::Process(cells) => cells.upload(volume, archive).await,
        }
    }

    /// As [`Engine::download`].
    ///
    /// # Errors
    /// When the path does not exist, there are more than `cap` bytes, or `into` cannot be written.
    pub async fn download(
        &self,
        volume: &VolumeName,
        path: &str,
        cap: u64,
        into: &mut (dyn AsyncWrite + Unpin + Send),
    ) -> Result<u64, ContainerError> {
        match self {
            Self::Docker(engine) => engine.download(volume, path, cap, into).await,
            Self::Process(cells) => cells.download(volume, path, cap, into).await,
        }
    }

    /// Waits until everything that this process has let go of is removed; gives the names of what is still there.
    pub async fn shutdown(&self, bound: Duration) -> Vec<String> {
        match self {
            Self::Docker(engine) => engine.shutdown(bound).await,
            Self::Process(cells) => cells.shutdown(bound).await,
        }
    }
}

impl Running {
    /// As in a container: the next frame, `None` after the end.
    ///
    /// # Errors
    /// When the stream is damaged, the outer deadline passes, or the run is cancelled.
    pub async fn next_frame(&mut self) -> Result<Option<Frame>, ContainerError> {
        match self {
            Self::Docker(running) => running.next_frame().await,
            Self::Process(running) => running.next_frame().await,
        }
    }

    /// Answers the report.
    ///
    /// # Errors
    /// When nobody takes it.
    pub async fn send(&mut self, after: After) -> Result<(), ContainerError> {
        match self {
            Self::Docker(running) => running.send(after).await,
            Self::Process(running) => running.send(after).await,
        }
    }

    /// Learns how it ended and lets it go.
    ///
    /// # Errors
    /// When it does not end.
    pub async fn finish(self) -> Result<CaseEnd, ContainerError> {
        match self {
            Self::Docker(running) => running.finish().await,
            Self::Process(running) => running.finish().await,
        }
    }
}

impl Scratch {
    /// Its name, for the other operations.
    #[must_use]
    pub fn name(&self) -> &VolumeName {
        match self {
            Self::Docker(volume) => volume.name(),
            Self::Process(directory) => directory.name(),
        }
    }
}
