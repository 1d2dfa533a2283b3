//! Children and everything below them. The agent is PID 1: it spawns, it reaps whatever dies in the container, and it can kill all of it.
//!
//! Nothing here may use the runtime's own child processes: one loop waits for every process, and two waiters would steal from one another.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ocsweep_proto::agent::{Exit, LeakedProcess, paths};
use rustix::process::{Pid, Signal, WaitOptions};
use tokio::net::unix::pipe;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// How often the process table is looked at while processes end.
const POLL: Duration = Duration::from_millis(5);
/// What the kernel gives to anybody.
const PIPE_SIZE: usize = 1024 * 1024;
/// Characters kept of a command line.
const MAX_COMMAND: usize = 500;

type Waiting = Arc<Mutex<HashMap<i32, oneshot::Sender<Exit>>>>;

/// The children of the agent.
#[derive(Debug, Clone)]
pub(crate) struct Children {
    waiting: Waiting,
}

/// A running child with pipes on all three streams.
#[derive(Debug)]
pub(crate) struct Child {
    /// How it ended.
    pub(crate) exit: oneshot::Receiver<Exit>,
    pub(crate) stdin: pipe::Sender,
    pub(crate) stdout: pipe::Receiver,
    pub(crate) stderr: pipe::Receiver,
}

impl Children {
    /// Starts to reap.
    pub(crate) fn start() -> io::Result<Self> {
        let waiting = Waiting::default();
        let mut signals = signal(SignalKind::child())?;
        let reaped = waiting.clone();
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                reap(&reaped);
            }
        });
        Ok(Self { waiting })
    }

    /// Starts a child as the sandbox's user.
    pub(crate) fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        command.uid(paths::UID).gid(paths::UID);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = with_oom_preference(|| command.spawn())?;
        let (sender, exit) = oneshot::channel();
        let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
        // The reaper runs in this thread, so it cannot have seen the child yet.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(pid, sender);
        let (stdout, stderr) = (child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from));
        [&stdout, &stderr].into_iter().flatten().for_each(widen);
        let missing = || io::Error::other("a pipe of the child is missing");
        Ok(Child {
            exit,
            stdin: pipe::Sender::from_owned_fd(OwnedFd::from(child.stdin.take().ok_or_else(missing)?))?,
            stdout: pipe::Receiver::from_owned_fd(stdout.ok_or_else(missing)?)?,
            stderr: pipe::Receiver::from_owned_fd(stderr.ok_or_else(missing)?)?,
        })
    }
}

/// The host writes to a full pipe later, and never when it exits first: a wide pipe loses no last words of a process that ends at once.
fn widen(pipe: &OwnedFd) {
    // A kernel that allows less leaves it as it was.
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE_SIZE);
}

/// When memory runs out, the kernel must choose the host and not the agent. A child inherits the agent's score, so the agent takes the
/// highest one for the moment of the fork; it may go back to the score that it was started with. Without it a run that exhausts the memory
/// may end without an end frame, which is seen too.
fn with_oom_preference<T>(fork: impl FnOnce() -> T) -> T {
    const SCORE: &str = "/proc/self/oom_score_adj";
    let own = if rustix::process::getpid() == Pid::INIT { std::fs::read_to_string(SCORE).ok() } else { None };
    if own.is_some() {
        let _ = std::fs::write(SCORE, "1000");
    }
    let forked = fork();
    if let Some(own) = own {
        let _ = std::fs::write(SCORE, own.trim());
    }
    forked
}

fn reap(waiting: &Waiting) {
    while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
        let Some(sender) = waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&pid.as_raw_nonzero().get()) else { continue };
        let exit = match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Exit::Code(code),
            (None, signal) => Exit::Signal(signal.unwrap_or_default()),
        };
        // Nobody may wait any more.
        let _ = sender.send(exit);
    }
}

/// Kills every process of the container but the agent, until none is left; `false` when some are left after `patience`.
pub(crate) async fn kill_all(patience: Duration) -> bool {
    let end = Instant::now() + patience;
    loop {
        if !kill_once() {
            return true;
        }
        if table().is_empty() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        tokio::time::sleep(POLL).await;
    }
}

/// One signal to every process that may be signalled, at one moment of the process table: a fork bomb cannot run away from it. Only PID 1
/// may do that: anywhere else it would end the machine.
fn kill_once() -> bool {
    let is_init = rustix::process::getpid() == Pid::INIT;
    if is_init {
        // The group of process 1, negated, is -1: every process. ESRCH says that there is none.
        let _ = rustix::process::kill_process_group(Pid::INIT, Signal::KILL);
    }
    is_init
}

/// The processes that are still there when the host has ended, after those that are just ending have had a moment for it.
pub(crate) async fn left_behind(patience: Duration) -> Vec<LeakedProcess> {
    let end = Instant::now() + patience;
    loop {
        let left: Vec<_> = table().into_iter().filter(Process::is_alive).collect();
        if left.is_empty() || Instant::now() >= end {
            return left.into_iter().map(Process::leaked).collect();
        }
        tokio::time::sleep(POLL).await;
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Process {
    pid: i32,
    parent: i32,
    state: char,
}

impl Process {
    /// A zombie has ended; its parent has not asked yet.
    const fn is_alive(&self) -> bool {
        !matches!(self.state, 'Z' | 'X' | 'x')
    }

    fn leaked(self) -> LeakedProcess {
        let read = |file: &str| std::fs::read(format!("/proc/{}/{file}", self.pid)).unwrap_or_default();
        let mut command = read("cmdline");
        if command.iter().all(|byte| *byte == 0) {
            command = read("comm");
        }
        let command = String::from_utf8_lossy(&command);
        let words: Vec<_> = command.split(['\0', '\n']).filter(|word| !word.is_empty()).collect();
        LeakedProcess { pid: self.pid, parent: self.parent, command: words.join(" ").chars().take(MAX_COMMAND).collect() }
    }
}

/// Every process but the agent.
fn table() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| *pid != 1).filter_map(|pid| parse_stat(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)).collect()
}

/// `pid (name) state parent …`, where the name may hold anything, parentheses and line ends too.
fn parse_stat(stat: &[u8]) -> Option<Process> {
    let stat = String::from_utf8_lossy(stat);
    let (pid, rest) = stat.split_once(" (")?;
    let (_, rest) = rest.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = fields.next()?.chars().next()?;
    Some(Process { pid: pid.parse().ok()?, parent: fields.next()?.parse().ok()?, state })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_forge_the_other_fields() {
        let process = |stat: &str| parse_stat(stat.as_bytes());
        let expected = Some(Process { pid: 12, parent: 7, state: 'S' });
        assert_eq!(process("12 (bash) S 7 12 12 0"), expected);
        assert_eq!(process("12 (a) Z 1 (b) S 7 12"), expected);
        assert_eq!(process("12 (x\n) R 3) S 7 12"), expected);
        assert_eq!(process("12 (bash"), None);
        assert_eq!(process(""), None);
    }

    #[test]
    fn nothing_but_init_may_kill_everything() {
        assert!(!kill_once());
    }

    #[test]
    fn the_table_names_a_running_child() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let process = table().into_iter().find(|process| process.pid == pid).unwrap();
        assert_eq!(process.parent, i32::try_from(std::process::id()).unwrap());
        // Between fork and exec the command line is still the parent's.
        while !std::fs::read(format!("/proc/{pid}/cmdline")).unwrap().starts_with(b"sleep") {}
        assert_eq!(process.leaked().command, "sleep 60");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
