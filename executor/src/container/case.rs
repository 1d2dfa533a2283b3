//! One case container from its creation to its removal: the job goes in, frames come out, the answer to the report goes in.
//!
//! It must never look into a frame beyond its kind, and never ask the container whether a case passed.

use std::time::{Duration, Instant, SystemTime};

use bollard::container::{AttachContainerResults, LogOutput};
use bollard::query_parameters::AttachContainerOptionsBuilder;
use futures_util::{StreamExt, TryStreamExt};
use ocsweep_proto::agent::After;
use ocsweep_proto::frame::{Decoder, Frame, Kind as FrameKind};
use tokio::io::AsyncWriteExt;
use tokio_util::sync::CancellationToken;

use super::capture::{Capture, Captured};
use super::engine::{CALL, Engine, START, within};
use super::error::{ContainerError, Kind, Operation};
use super::guard::Guard;
use super::labels;
use super::spec::{self, CaseSpec};

/// The reaper leaves a container alone this long after its deadline: its owner is removing it.
pub(super) const GRACE: Duration = Duration::from_secs(120);
/// Kept of the agent's own words.
const AGENT_LOG_BYTES: u64 = 64 * 1024;
/// Between the end of the output and the exit.
const EXIT: Duration = Duration::from_secs(10);
/// The exit code of a killed program.
const KILLED: i64 = 137;
/// From an exit to the news of its cause.
const OOM_PAUSE: Duration = Duration::from_millis(200);

/// What each step took, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Phases {
    /// Creating the container.
    pub create_ms: u64,
    /// Attaching to it, and making sure of its volumes.
    pub attach_ms: u64,
    /// Waiting for a free start, when others are starting.
    pub queue_ms: u64,
    /// Starting it.
    pub start_ms: u64,
    /// Handing the job over.
    pub give_ms: u64,
    /// From there to the end of its output.
    pub run_ms: u64,
    /// Learning how it ended. Removing it is not part of a case.
    pub end_ms: u64,
}

/// How a container ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseEnd {
    /// Exit code of the agent; `None` when the stream ended properly and nobody asked.
    pub exit_code: Option<i64>,
    /// The engine saw the kernel kill a process of the container for memory.
    pub oom_killed: bool,
    /// The end frame came.
    pub complete: bool,
    /// What the agent wrote to its standard error.
    pub agent_log: Captured,
    /// Where the time went.
    pub phases: Phases,
}

/// A running case. Dropping it kills and removes the container in the background.
pub struct Running {
    engine: Engine,
    guard: Guard,
    streams: AttachContainerResults,
    decoder: Decoder,
    agent_log: Capture,
    complete: bool,
    phases: Phases,
    started: Instant,
    deadline: Duration,
    shutdown: CancellationToken,
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").field("container", &self.guard.name()).field("phases", &self.phases).finish_non_exhaustive()
    }
}

/// A container that is up and waits for its job. Dropping it kills and removes the container in the background.
#[derive(Debug)]
pub struct Waiting(Running);

impl Waiting {
    /// Hands over the job, one JSON text without line ends. The input stays open for the answer to the report. The container's deadline
    /// counts from here.
    ///
    /// # Errors
    /// When the container does not take it, or the run is cancelled.
    pub async fn give(self, job: &[u8]) -> Result<Running, ContainerError> {
        let Self(mut running) = self;
        let mut watch = Watch::start();
        running.started = Instant::now();
        let line = [job, b"\n"].concat();
        let shutdown = running.shutdown.clone();
        match shutdown.run_until_cancelled(write(&mut running.streams, &line, running.guard.name())).await {
            Some(written) => written?,
            None => return Err(running.fail(Kind::Cancelled)),
        }
        running.phases.give_ms = watch.lap();
        Ok(running)
    }
}

impl Engine {
    /// Makes a container for a case and starts it; its agent waits for the job. It is for this case alone.
    ///
    /// # Errors
    /// When the engine fails, a cached volume is gone, or `shutdown` is cancelled. Nothing is left behind.
    pub async fn warm(&self, spec: &CaseSpec, shutdown: &CancellationToken) -> Result<Waiting, ContainerError> {
        match shutdown.run_until_cancelled(Box::pin(self.warm_uncancelled(spec, shutdown))).await {
            Some(result) => result,
            None => Err(ContainerError::new(Kind::Cancelled, Operation::Start, spec.claim.case.as_str())),
        }
    }

    /// [`Engine::warm`] and [`Waiting::give`] at once.
    ///
    /// # Errors
    /// As both.
    pub async fn start_case(&self, spec: &CaseSpec, job: &[u8], shutdown: &CancellationToken) -> Result<Running, ContainerError> {
        self.warm(spec, shutdown).await?.give(job).await
    }

    async fn warm_uncancelled(&self, spec: &CaseSpec, shutdown: &CancellationToken) -> Result<Waiting, ContainerError> {
        let mut phases = Phases::default();
        let mut watch = Watch::start();
        // It may wait as long as another case of its kind runs.
        let expires = SystemTime::now() + spec.deadline * 2 + GRACE;
        let labels = labels::claimed(&spec.claim, self.executor(), expires);
        let guard = self.create_container(spec::case_container(spec, labels)).await?;
        phases.create_ms = watch.lap();
        let volumes = [&spec.agent, &spec.host, &spec.bundle];
        let (streams, ()) = tokio::try_join!(self.attach(guard.name(), true), self.check_cached(&volumes))?;
        phases.attach_ms = watch.lap();
        // The permit is never refused: nobody closes the semaphore.
        let permit = self.shared.starts.acquire().await.ok();
        phases.queue_ms = watch.lap();
        self.start(guard.name()).await?;
        drop(permit);
        phases.start_ms = watch.lap();
        Ok(Waiting(Running {
            engine: self.clone(),
            guard,
            streams,
            decoder: Decoder::default(),
            agent_log: Capture::new(AGENT_LOG_BYTES),
            complete: false,
            phases,
            started: Instant::now(),
            deadline: spec.deadline,
            shutdown: shutdown.clone(),
        }))
    }

    pub(super) async fn attach(&self, container: &str, stdin: bool) -> Result<AttachContainerResults, ContainerError> {
        let options = AttachContainerOptionsBuilder::default().stream(true).stdin(stdin).stdout(true).stderr(true).build();
        within(CALL, Operation::Attach, container, self.shared.docker.attach_container(container, Some(options))).await
    }

    pub(super) async fn start(&self, container: &str) -> Result<(), ContainerError> {
        within(START, Operation::Start, container, self.shared.docker.start_container(container, None)).await
    }

    /// The exit code of a container that has ended or is about to. Asked after the start, so that the answer cannot be about the time
    /// before it.
    pub(super) async fn exit_code(&self, container: &str, limit: Duration) -> Result<i64, ContainerError> {
        let mut answers = self.shared.docker.wait_container(container, None);
        match within(limit, Operation::Wait, container, answers.try_next()).await {
            Ok(Some(answer)) => Ok(answer.status_code),
            Ok(None) => Err(ContainerError::new(Kind::Protocol, Operation::Wait, container)),
            Err(error) => error.exit_code().ok_or(error),
        }
    }

    /// Whether the kernel killed a process of a container for memory. The engine learns of that and of the exit by two ways, so a killed
    /// container is asked twice.
    pub(super) async fn oom_killed(&self, container: &str, exit_code: i64) -> Result<bool, ContainerError> {
        for pause in [Duration::ZERO, OOM_PAUSE] {
            tokio::time::sleep(pause).await;
            let inspection = self.shared.docker.inspect_container(container, None);
            let answer = within(CALL, Operation::InspectContainer, container, inspection).await?;
            if answer.state.and_then(|state| state.oom_killed).unwrap_or(false) {
                return Ok(true);
            }
            if exit_code != KILLED {
                break;
            }
        }
        Ok(false)
    }
}

impl Running {
    /// The next frame; `None` after the end frame or at the end of the output. After a [`FrameKind::Report`] frame the agent waits for [`Running::send`].
    ///
    /// # Errors
    /// When the stream is damaged, the outer deadline passes, or the run is cancelled.
    pub async fn next_frame(&mut self) -> Result<Option<Frame>, ContainerError> {
        // Nothing follows an end frame, and the agent's exit is not worth the wait.
        while !self.complete {
            match self.decoder.next() {
                Ok(Some(frame)) => {
                    self.complete |= frame.kind == FrameKind::End;
                    return Ok(Some(frame));
                }
                Ok(None) => {}
                Err(error) => return Err(self.fail(Kind::CorruptStream).caused_by(error)),
            }
            match self.read().await? {
                Some(LogOutput::StdOut { message }) => self.decoder.push(&message),
                Some(other) => self.agent_log.push(other.as_ref()),
                None => break,
            }
        }
        Ok(None)
    }

    async fn read(&mut self) -> Result<Option<LogOutput>, ContainerError> {
        let end = tokio::time::Instant::from_std(self.started + self.deadline);
        let output = tokio::select! {
            biased;
            () = self.shutdown.cancelled() => return Err(self.fail(Kind::Cancelled)),
            () = tokio::time::sleep_until(end) => return Err(self.fail(Kind::Deadline(self.deadline))),
            output = self.streams.output.next() => output,
        };
        output.transpose().map_err(|error| ContainerError::from_engine(Operation::ReadOutput, self.guard.name(), error))
    }

    /// Answers the report.
    ///
    /// # Errors
    /// When the container does not take it.
    pub async fn send(&mut self, after: After) -> Result<(), ContainerError> {
        let mut line = serde_json::to_vec(&after).map_err(|error| self.fail(Kind::Protocol).caused_by(error))?;
        line.push(b'\n');
        write(&mut self.streams, &line, self.guard.name()).await
    }

    /// Learns how the container ended and lets it go; it is removed in the background. After the end frame nothing is left to learn, so
    /// the engine is not asked.
    ///
    /// # Errors
    /// When the container does not end within seconds of its output's end, or the engine fails.
    pub async fn finish(mut self) -> Result<CaseEnd, ContainerError> {
        self.phases.run_ms = millis(self.started.elapsed());
        let mut watch = Watch::start();
        let (mut exit_code, mut oom_killed) = (None, false);
        if !self.complete {
            let code = self.engine.exit_code(self.guard.name(), EXIT).await?;
            exit_code = Some(code);
            oom_killed = code != 0 && self.engine.oom_killed(self.guard.name(), code).await?;
        }
        self.phases.end_ms = watch.lap();
        Ok(CaseEnd { exit_code, oom_killed, complete: self.complete, agent_log: self.agent_log.finish(), phases: self.phases })
    }

    /// Kills and removes the container and waits for that.
    ///
    /// # Errors
    /// When it cannot be removed; the reaper will try again.
    pub async fn abort(self) -> Result<(), ContainerError> {
        self.guard.remove().await
    }

    fn fail(&self, kind: Kind) -> ContainerError {
        ContainerError::new(kind, Operation::ReadOutput, self.guard.name())
    }
}

async fn write(streams: &mut AttachContainerResults, bytes: &[u8], container: &str) -> Result<(), ContainerError> {
    let writing = async {
        streams.input.write_all(bytes).await?;
        streams.input.flush().await
    };
    within(START, Operation::WriteInput, container, async { writing.await.map_err(Into::into) }).await
}

/// Measures one step after the other.
pub(super) struct Watch(Instant);

impl Watch {
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }

    /// Milliseconds since the start or the last call.
    pub(super) fn lap(&mut self) -> u64 {
        let elapsed = self.0.elapsed();
        self.0 = Instant::now();
        millis(elapsed)
    }
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
