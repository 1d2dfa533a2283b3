//! A container that runs one command to its end: a version check, an installation, a build. Its output is kept at both ends.

use std::time::{Duration, Instant, SystemTime};

use bollard::container::AttachContainerResults;
use futures_util::TryStreamExt;
use tokio_util::sync::CancellationToken;

use super::capture::{Capture, Captured};
use super::case::{GRACE, millis};
use super::engine::{CALL, Engine};
use super::error::{ContainerError, Kind, Operation};
use super::labels;
use super::spec::{self, PlainSpec};

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlainExit {
    /// With a code.
    Code(i64),
    /// At its deadline.
    Timeout,
    /// The kernel killed it, or a process of it, for memory.
    OutOfMemory,
}

/// What a command did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainEnd {
    /// Its end.
    pub exit: PlainExit,
    /// Standard output and standard error as they came.
    pub output: Captured,
    /// Wall time of the container, in milliseconds.
    pub ms: u64,
}

impl Engine {
    /// Runs a command and removes its container, also on errors, at the deadline and when `shutdown` is cancelled.
    ///
    /// # Errors
    /// When the engine fails or `shutdown` is cancelled. A command that fails is no error.
    pub async fn run_plain(&self, spec: &PlainSpec, shutdown: &CancellationToken) -> Result<PlainEnd, ContainerError> {
        match shutdown.run_until_cancelled(Box::pin(self.run_uncancelled(spec))).await {
            Some(result) => result,
            None => Err(ContainerError::new(Kind::Cancelled, Operation::Start, spec.claim.case.as_str())),
        }
    }

    async fn run_uncancelled(&self, spec: &PlainSpec) -> Result<PlainEnd, ContainerError> {
        let began = Instant::now();
        let labels = labels::claimed(&spec.claim, self.executor(), SystemTime::now() + spec.deadline + GRACE);
        let guard = self.create_container(spec::plain_container(spec, labels)).await?;
        let mut streams = self.attach(guard.name(), false).await?;
        self.start(guard.name()).await?;
        let mut output = Capture::new(spec.output_bytes);
        let left = spec.deadline.saturating_sub(began.elapsed());
        let exit = match tokio::time::timeout(left, self.watch(&mut streams, &mut output, guard.name(), left)).await {
            Ok(exit) => exit?,
            Err(_) => PlainExit::Timeout,
        };
        // The next step may need the volumes of this one.
        guard.remove().await?;
        Ok(PlainEnd { exit, output: output.finish(), ms: millis(began.elapsed()) })
    }

    async fn watch(
        &self,
        streams: &mut AttachContainerResults,
        output: &mut Capture,
        container: &str,
        limit: Duration,
    ) -> Result<PlainExit, ContainerError> {
        let fail = |error| ContainerError::from_engine(Operation::ReadOutput, container, error);
        while let Some(piece) = streams.output.try_next().await.map_err(fail)? {
            output.push(piece.as_ref());
        }
        // The output can end before the command does: then the command's own deadline still holds.
        let code = self.exit_code(container, limit + CALL).await?;
        // A shell or npm reports a killed child with a code of its own.
        if code != 0 && self.oom_killed(container, code).await? {
            return Ok(PlainExit::OutOfMemory);
        }
        Ok(PlainExit::Code(code))
    }
}
