//! One run of the host: start it, read everything that it says, hold it to its bounds, and leave nothing of it alive.

use std::process::Command;
use std::time::Duration;

use ocsweep_proto::agent::{Deadlines, Exit, HostTask, LeakedProcess, Timeout, paths};
use ocsweep_proto::frame::Kind;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::capture::{KILL_PATIENCE, Unkillable, feed};
use crate::processes::{Child, Children, kill_all, left_behind};
use crate::sources::{Sink, Tally, probe, stream};
use crate::watch::{Event, Watch};

/// A process that is just ending is no leak.
const LEAK_PATIENCE: Duration = Duration::from_millis(300);
/// For the sources to read what is still in their pipes when every writer is dead.
const DRAIN_PATIENCE: Duration = Duration::from_secs(10);
/// Leaked processes that are named.
const MAX_LEAKED: usize = 100;
/// Events taken at once before the bounds are looked at again.
const EVENTS_AT_ONCE: usize = 4096;

/// How the run ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) exit: Option<Exit>,
    pub(crate) timeout: Option<Timeout>,
    pub(crate) leaked: Vec<LeakedProcess>,
    /// Further ones that are not named.
    pub(crate) more_leaked: u64,
    /// What each source left out.
    pub(crate) tallies: Vec<(Kind, Tally)>,
}

/// The run cannot be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HostError {
    #[error("cannot start {program}: {source}")]
    Start { program: String, source: std::io::Error },
    #[error("the host has no program")]
    NoProgram,
    #[error(transparent)]
    Unkillable(#[from] Unkillable),
}

/// Runs the host to its end. `channels` are those of the probes: pre, observer, post.
pub(crate) async fn run(
    task: &HostTask,
    watch: Watch,
    bounds: Deadlines,
    children: &Children,
    channels: [pipe::Receiver; 3],
    sink: Sink,
    events: &mut mpsc::Receiver<Event>,
) -> Result<Ended, HostError> {
    let child = spawn(task, children)?;
    let Child { mut exit, stdin, stdout, stderr, .. } = child;
    tokio::spawn(feed(stdin, task.stdin.clone().into_bytes()));
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let mut sources: Vec<(Kind, JoinHandle<Tally>)> = vec![
        (Kind::Stdout, tokio::spawn(stream(stdout, Kind::Stdout, sink.clone()))),
        (Kind::Stderr, tokio::spawn(stream(stderr, Kind::Stderr, sink.clone()))),
    ];
    for (channel, kind) in channels.into_iter().zip([Kind::ProbePre, Kind::ProbeObserver, Kind::ProbePost]) {
        sources.push((kind, tokio::spawn(probe(channel, kind, sink.clone(), stopped.clone()))));
    }
    let (mut ended, timeout) = hold(watch, bounds, &mut exit, events).await;
    let mut leaked = if timeout.is_none() { left_behind(LEAK_PATIENCE).await } else { Vec::new() };
    let more_leaked = leaked.len().saturating_sub(MAX_LEAKED) as u64;
    leaked.truncate(MAX_LEAKED);
    if !kill_all(KILL_PATIENCE).await {
        return Err(Unkillable.into());
    }
    if ended.is_none() {
        ended = tokio::time::timeout(KILL_PATIENCE, exit).await.ok().and_then(Result::ok);
    }
    let _ = stop.send(true);
    Ok(Ended { exit: ended, timeout, leaked, more_leaked, tallies: drain(sources, events).await })
}

fn spawn(task: &HostTask, children: &Children) -> Result<Child, HostError> {
    let (program, arguments) = task.argv.split_first().ok_or(HostError::NoProgram)?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(&task.env).current_dir(paths::PROJECT);
    children.spawn(&mut command).map_err(|source| HostError::Start { program: program.clone(), source })
}

/// Waits for the end of the host or for a bound.
async fn hold(
    mut watch: Watch,
    bounds: Deadlines,
    exit: &mut oneshot::Receiver<Exit>,
    events: &mut mpsc::Receiver<Event>,
) -> (Option<Exit>, Option<Timeout>) {
    let started = Instant::now();
    let now = || u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    // What came before the start says nothing about this run.
    while events.try_recv().is_ok() {}
    loop {
        // A bound must not be found exceeded while the event that meets it is waiting.
        for event in std::iter::from_fn(|| events.try_recv().ok()).take(EVENTS_AT_ONCE) {
            watch.apply(&event, now());
        }
        if let Some(timeout) = watch.expired(now()) {
            return (None, Some(timeout));
        }
        let due = started.checked_add(Duration::from_millis(watch.due())).unwrap_or_else(|| started + bounds_total(bounds));
        tokio::select! {
            biased;
            ended = &mut *exit => return (ended.ok(), None),
            Some(event) = events.recv() => watch.apply(&event, now()),
            () = tokio::time::sleep_until(due) => {}
        }
    }
}

/// A bound that no clock can hold falls due with the day.
fn bounds_total(bounds: Deadlines) -> Duration {
    Duration::from_millis(bounds.total.min(24 * 60 * 60 * 1000))
}

/// Lets the sources finish. Their events are taken away meanwhile, because they wait when nobody takes them.
async fn drain(sources: Vec<(Kind, JoinHandle<Tally>)>, events: &mut mpsc::Receiver<Event>) -> Vec<(Kind, Tally)> {
    let finish = async {
        let mut tallies = Vec::new();
        for (kind, source) in sources {
            tallies.push((kind, source.await.unwrap_or_default()));
        }
        tallies
    };
    let finish = tokio::time::timeout(DRAIN_PATIENCE, finish);
    tokio::pin!(finish);
    loop {
        tokio::select! {
            tallies = &mut finish => return tallies.unwrap_or_default(),
            Some(_) = events.recv() => {}
        }
    }
}
