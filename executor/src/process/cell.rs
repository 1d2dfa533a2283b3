//! One isolated process tree from its start to its end, with the same conversation as a case container.
//!
//! It must never outlive its value: a dropped cell is killed with everything in it.

use std::process::Stdio;
use std::time::{Duration, Instant};

use ocsweep_proto::agent::After;
use ocsweep_proto::frame::{Decoder, Frame, Kind as FrameKind};
use ocsweep_proto::launch::{ARGUMENT, FAILED, Launch, PREFIX};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::cgroup::Group;
use super::{Cells, Shared, failed};
use crate::case::millis;
use crate::container::{Capture, Captured, CaseEnd, CaseSpec, ContainerError, Kind, Operation, Phases, PlainEnd, PlainExit, PlainSpec};

/// Kept of the agent's own words.
const AGENT_LOG_BYTES: u64 = 64 * 1024;
/// From the end of the output to the end of the process.
const EXIT: Duration = Duration::from_secs(10);
const WRITE: Duration = Duration::from_secs(60);
const PIECE: usize = 64 * 1024;

/// A process tree and its control group.
#[derive(Debug)]
pub(super) struct Cell {
    child: Child,
    group: Option<Group>,
    name: String,
}

/// A running case. Dropping it kills everything in it.
#[derive(Debug)]
pub struct Running {
    cell: Cell,
    stdin: ChildStdin,
    stdout: ChildStdout,
    agent_log: JoinHandle<Captured>,
    decoder: Decoder,
    complete: bool,
    phases: Phases,
    started: Instant,
    deadline: Duration,
    shutdown: CancellationToken,
}

impl Shared {
    /// Starts the launcher. `memory_bytes` and `pids` hold where a control group can be had.
    pub(super) fn start(&self, mut launch: Launch, memory_bytes: u64, pids: u64, input: Stdio) -> Result<Cell, ContainerError> {
        let name = launch.root.clone();
        let group = match &self.cgroups {
            Some(parent) => {
                let id = launch.root.rsplit('/').take(2).collect::<Vec<_>>().join("-");
                let group = parent
                    .group(&id, memory_bytes, pids, &self.removals)
                    .map_err(|error| failed(Operation::CreateContainer, &name, error))?;
                launch.cgroups = group.seen();
                launch.nproc = None;
                Some(group)
            }
            None => None,
        };
        let order = serde_json::to_string(&launch).map_err(|error| failed(Operation::Start, &name, error))?;
        let mut command = Command::new(&self.agent);
        command.args([ARGUMENT, &order]).env_clear().current_dir("/").process_group(0).kill_on_drop(true);
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|error| failed(Operation::Start, &name, error))?;
        Ok(Cell { child, group, name })
    }
}

impl Cell {
    fn broken(&self, operation: Operation) -> ContainerError {
        failed(operation, &self.name, "a pipe of the launcher is missing")
    }

    fn outputs(&mut self) -> Result<(ChildStdout, ChildStderr), ContainerError> {
        let (stdout, stderr) = (self.child.stdout.take(), self.child.stderr.take());
        stdout.zip(stderr).ok_or_else(|| self.broken(Operation::Attach))
    }

    /// The exit code, 128 and the signal for a killed launcher.
    async fn wait(&mut self, limit: Duration) -> Result<i64, ContainerError> {
        use std::os::unix::process::ExitStatusExt as _;
        let timeout = |_| ContainerError::new(Kind::Timeout(limit), Operation::Wait, self.name.clone());
        let status = tokio::time::timeout(limit, self.child.wait()).await.map_err(timeout)?;
        let status = status.map_err(|error| failed(Operation::Wait, &self.name, error))?;
        Ok(i64::from(status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(-1)))
    }

    fn out_of_memory(&self) -> bool {
        self.group.as_ref().is_some_and(Group::out_of_memory)
    }

    /// Runs to the end and keeps the output.
    pub(super) async fn capture(mut self, bytes: u64, deadline: Duration) -> Result<PlainEnd, ContainerError> {
        let began = Instant::now();
        let (mut stdout, mut stderr) = self.outputs()?;
        let mut output = Capture::new(bytes);
        let reading = async {
            let (mut a, mut b) = (vec![0; PIECE], vec![0; PIECE]);
            let (mut more_out, mut more_err) = (true, true);
            while more_out || more_err {
                tokio::select! {
                    read = stdout.read(&mut a), if more_out => take(read, &a, &mut more_out, &mut output),
                    read = stderr.read(&mut b), if more_err => take(read, &b, &mut more_err, &mut output),
                }
            }
        };
        let in_time = tokio::time::timeout(deadline, reading).await.is_ok();
        let code = if in_time { self.wait(deadline.saturating_sub(began.elapsed()) + EXIT).await? } else { 0 };
        let oom = self.out_of_memory();
        if !in_time {
            let _ = tokio::time::timeout(EXIT, self.child.kill()).await;
        }
        let output = output.finish();
        if in_time && code == i64::from(FAILED) && output.text.contains(PREFIX) {
            return Err(failed(Operation::Start, &self.name, output.text.trim().to_owned()));
        }
        let exit = match (in_time, code) {
            (false, _) => PlainExit::Timeout,
            (true, code) if code != 0 && oom => PlainExit::OutOfMemory,
            (true, code) => PlainExit::Code(code),
        };
        Ok(PlainEnd { exit, output, ms: millis(began.elapsed()) })
    }
}

fn take(read: std::io::Result<usize>, buffer: &[u8], more: &mut bool, output: &mut Capture) {
    match read {
        Ok(size @ 1..) => output.push(&buffer[..size]),
        _ => *more = false,
    }
}

/// Processes that are up and wait for their job.
#[derive(Debug)]
pub struct Waiting(Running);

impl Waiting {
    pub(crate) async fn give(self, job: &[u8]) -> Result<Running, ContainerError> {
        let Self(mut running) = self;
        let began = Instant::now();
        running.started = began;
        let shutdown = running.shutdown.clone();
        // A launcher that failed has closed its input; its own words come with the end of the output.
        let written = shutdown.run_until_cancelled(running.write(&[job, b"\n"].concat())).await;
        match written {
            None => return Err(running.fail(Kind::Cancelled)),
            Some(Err(error)) if error.kind() != Kind::ConnectionLost => return Err(error),
            Some(_) => {}
        }
        running.phases.give_ms = millis(began.elapsed());
        Ok(running)
    }
}

impl Cells {
    pub(crate) fn warm(&self, spec: &CaseSpec, shutdown: &CancellationToken) -> Result<Waiting, ContainerError> {
        let began = Instant::now();
        let launch = self.shared.case(spec).map_err(|error| failed(Operation::CreateContainer, "", error))?;
        let mut cell = self.shared.start(launch, spec.limits.memory_bytes, spec.limits.pids, Stdio::piped())?;
        let (stdout, stderr) = cell.outputs()?;
        let stdin = cell.child.stdin.take().ok_or_else(|| cell.broken(Operation::Attach))?;
        Ok(Waiting(Running {
            cell,
            stdin,
            stdout,
            agent_log: tokio::spawn(keep(stderr)),
            decoder: Decoder::default(),
            complete: false,
            phases: Phases { create_ms: millis(began.elapsed()), ..Phases::default() },
            started: Instant::now(),
            deadline: spec.deadline,
            shutdown: shutdown.clone(),
        }))
    }

    pub(crate) async fn run_plain(&self, spec: &PlainSpec, shutdown: &CancellationToken) -> Result<PlainEnd, ContainerError> {
        let launch = self.shared.plain(spec).map_err(|error| failed(Operation::CreateContainer, "", error))?;
        let cell = self.shared.start(launch, spec.memory_bytes, spec.pids, Stdio::null())?;
        match shutdown.run_until_cancelled(cell.capture(spec.output_bytes, spec.deadline)).await {
            Some(end) => end,
            None => Err(ContainerError::new(Kind::Cancelled, Operation::Start, spec.claim.case.as_str())),
        }
    }
}

async fn keep(mut stderr: ChildStderr) -> Captured {
    let mut log = Capture::new(AGENT_LOG_BYTES);
    let mut buffer = vec![0; PIECE];
    while let Ok(size @ 1..) = stderr.read(&mut buffer).await {
        log.push(&buffer[..size]);
    }
    log.finish()
}

impl Running {
    pub(crate) async fn next_frame(&mut self) -> Result<Option<Frame>, ContainerError> {
        let mut buffer = vec![0; PIECE];
        while !self.complete {
            match self.decoder.next() {
                Ok(Some(frame)) => {
                    self.complete |= frame.kind == FrameKind::End;
                    return Ok(Some(frame));
                }
                Ok(None) => {}
                Err(error) => return Err(self.fail(Kind::CorruptStream).caused_by(error)),
            }
            let end = tokio::time::Instant::from_std(self.started + self.deadline);
            let read = tokio::select! {
                biased;
                () = self.shutdown.cancelled() => return Err(self.fail(Kind::Cancelled)),
                () = tokio::time::sleep_until(end) => return Err(self.fail(Kind::Deadline(self.deadline))),
                read = self.stdout.read(&mut buffer) => read,
            };
            match read.map_err(|error| failed(Operation::ReadOutput, &self.cell.name, error))? {
                0 => break,
                size => self.decoder.push(&buffer[..size]),
            }
        }
        Ok(None)
    }

    pub(crate) async fn send(&mut self, after: After) -> Result<(), ContainerError> {
        let mut line = serde_json::to_vec(&after).map_err(|error| self.fail(Kind::Protocol).caused_by(error))?;
        line.push(b'\n');
        self.write(&line).await
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), ContainerError> {
        let fail = |kind| ContainerError::new(kind, Operation::WriteInput, self.cell.name.clone());
        match tokio::time::timeout(WRITE, self.stdin.write_all(bytes)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Err(fail(Kind::ConnectionLost)),
            Ok(Err(error)) => Err(fail(Kind::LocalIo).caused_by(error)),
            Err(_) => Err(fail(Kind::Timeout(WRITE))),
        }
    }

    pub(crate) async fn finish(mut self) -> Result<CaseEnd, ContainerError> {
        self.phases.run_ms = millis(self.started.elapsed());
        let began = Instant::now();
        // Unlike a container it is waited for: a next case must not share the machine with the rest of this one.
        let code = self.cell.wait(EXIT).await?;
        let oom_killed = !self.complete && self.cell.out_of_memory();
        let agent_log = tokio::time::timeout(EXIT, self.agent_log).await.ok().and_then(Result::ok);
        let agent_log = agent_log.unwrap_or(Captured { text: String::new(), dropped: 0 });
        if code == i64::from(FAILED) && agent_log.text.contains(PREFIX) {
            return Err(failed(Operation::Start, &self.cell.name, agent_log.text.trim().to_owned()));
        }
        self.phases.end_ms = millis(began.elapsed());
        Ok(CaseEnd { exit_code: Some(code), oom_killed, complete: self.complete, agent_log, phases: self.phases })
    }

    fn fail(&self, kind: Kind) -> ContainerError {
        ContainerError::new(kind, Operation::ReadOutput, self.cell.name.clone())
    }
}
