//! The course of a case: prepare, preflight, write, run, collect. It fills the report; what it cannot do becomes the report's fault, because
//! a case whose agent failed is undecided and never a failure of the plugin.

use std::path::Path;
use std::time::Duration;

use ocsweep_proto::agent::{AgentJob, Bound, FORMAT, HostTask, Preflight, Report, StandIn, Task, Timeout, TuiTask, paths};
use ocsweep_proto::frame::Kind;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::assets::{OBSERVER, PREFLIGHT, SHIM, TUI_CHECK};
use crate::collect;
use crate::dns::{self, Lookups};
use crate::host;
use crate::observer::{file_url, observer_module, shim_module};
use crate::output::{Closed, Output};
use crate::preflight;
use crate::processes::Children;
use crate::sandbox;
use crate::sources::Sink;
use crate::stub::{self, Stub};
use crate::user::Order;
use crate::watch::{Event, Watch};

/// Events that may wait for the watch.
const EVENTS: usize = 1024;
/// How much more of the model's requests is kept than of a stream: each repeats the conversation so far.
const RECORD_FACTOR: u64 = 2;

/// Why a case ends early.
#[derive(Debug)]
enum Stop {
    Closed(Closed),
    Fault(String),
}

impl From<Closed> for Stop {
    fn from(closed: Closed) -> Self {
        Self::Closed(closed)
    }
}

fn fault(error: impl std::fmt::Display) -> Stop {
    Stop::Fault(error.to_string())
}

/// Does what the job asks and sends the report.
pub(crate) async fn run(job: &AgentJob, output: &Output, children: &Children) -> Result<(), Closed> {
    let mut run = Run { job, output, children, report: Report::default(), phase: None };
    match run.task().await {
        Err(Stop::Closed(closed)) => return Err(closed),
        Err(Stop::Fault(text)) => {
            run.report.fault = Some(text);
            // A limit that the case reached may be why.
            collect::resources(Path::new("/"), &mut run.report);
        }
        Ok(()) => {}
    }
    run.end_phase();
    output.phase("done").await?;
    send(&run.report, output).await
}

/// Sends a report.
pub(crate) async fn send(report: &Report, output: &Output) -> Result<(), Closed> {
    // A report consists of texts and numbers alone, which always have a JSON form.
    output.send(Kind::Report, serde_json::to_vec(report).unwrap_or_default()).await
}

struct Run<'a> {
    job: &'a AgentJob,
    output: &'a Output,
    children: &'a Children,
    report: Report,
    phase: Option<(&'static str, Instant)>,
}

impl Run<'_> {
    async fn task(&mut self) -> Result<(), Stop> {
        if self.job.format != FORMAT {
            return Err(fault(format!("the job has format {}, this agent reads {FORMAT}", self.job.format)));
        }
        match &self.job.task {
            Task::Host(task) => self.host(task).await,
            Task::TuiCheck(task) => self.tui(task).await,
        }
    }

    async fn host(&mut self, task: &HostTask) -> Result<(), Stop> {
        let (sender, mut events) = mpsc::channel::<Event>(EVENTS);
        let stub = Stub::new(self.output.clone(), sender.clone(), self.job.stream_bytes.saturating_mul(RECORD_FACTOR));
        let listener = stub::listen(paths::STUB).await.map_err(|error| fault(format!("cannot serve the stub model: {error}")))?;
        tokio::spawn(stub.clone().serve(listener));
        let lookups = Lookups::default();
        if let Err(error) = dns::start(lookups.clone()).await {
            self.output.send(Kind::Note, self.output.note(None, &format!("names that are looked up are not recorded: {error}"))).await?;
        }
        sandbox::prepare().map_err(fault)?;
        let (exports, ran) = self.preflight(task).await?;
        // Without export names there is no observer; a shim needs none, and its host says itself what became of the module.
        let runs = task.plugin.stand_in == StandIn::Shim || matches!(exports, Preflight::Imported(_));
        self.report.preflight = Some(exports);
        if !runs {
            self.begin_phase("collect").await?;
            collect::resources(Path::new("/"), &mut self.report);
            return Ok(());
        }
        self.write(task, ran).await?;
        lookups.take();
        self.begin_phase("host").await?;
        let channels = sandbox::channels().map_err(fault)?;
        stub.begin(task.script.clone()).await;
        let sink = Sink { output: self.output.clone(), events: sender, cap: self.job.stream_bytes };
        let mut watch = Watch::new(self.job.deadlines, task.plugin.stand_in, 0);
        if self.report.preflight == Some(Preflight::Hung) {
            watch.expect_hang(0);
        }
        let ended = host::run(task, watch, self.job.deadlines, self.children, channels, sink, &mut events).await.map_err(fault)?;
        self.begin_phase("collect").await?;
        self.report.lookups = lookups.take();
        let (seen, dropped) = stub.report().await;
        self.report.stub = seen;
        self.note_ended(ended, dropped);
        collect::collect(Path::new("/"), &task.read_files, &self.job.seeds, &mut self.report);
        Ok(())
    }

    /// What the module exports, and whether its code ran for that.
    async fn preflight(&mut self, task: &HostTask) -> Result<(Preflight, bool), Stop> {
        if let Some(known) = &task.plugin.preflight {
            return Ok((known.clone(), false));
        }
        self.begin_phase("preflight").await?;
        // A plugin may expect them while it is imported, as it will find them in the run.
        sandbox::as_user(self.children, &Order { directories: Order::xdg(), ..Order::default() }).await.map_err(fault)?;
        let captured =
            preflight::script(self.children, PREFLIGHT, &task.plugin.entry, &task.env, self.init_bound()).await.map_err(fault)?;
        Ok((preflight::preflight(&captured), true))
    }

    async fn write(&mut self, task: &HostTask, empty: bool) -> Result<(), Stop> {
        self.begin_phase("write").await?;
        let entry = file_url(&task.plugin.entry);
        match (task.plugin.stand_in, &self.report.preflight) {
            (StandIn::Shim, _) => sandbox::asset(SHIM, &shim_module(&entry)).map_err(fault)?,
            (StandIn::Observer, Some(preflight)) => {
                sandbox::asset(OBSERVER, &observer_module(&entry, preflight, task.plugin.npm.as_deref())).map_err(fault)?;
            }
            (StandIn::Observer, None) => {}
        }
        sandbox::write(self.children, &self.job.seeds, empty).await.map_err(fault)
    }

    async fn tui(&mut self, task: &TuiTask) -> Result<(), Stop> {
        sandbox::prepare().map_err(fault)?;
        self.begin_phase("write").await?;
        sandbox::write(self.children, &self.job.seeds, false).await.map_err(fault)?;
        self.begin_phase("host").await?;
        let captured = preflight::script(self.children, TUI_CHECK, &task.entry, &task.env, self.init_bound()).await.map_err(fault)?;
        self.report.exit = captured.exit;
        self.report.tui = preflight::tui(&captured);
        if self.report.tui.is_none() {
            self.report.timeout = Some(Timeout { bound: Bound::Init, limit_ms: self.job.deadlines.init, pending: String::new() });
        }
        self.begin_phase("collect").await?;
        collect::resources(Path::new("/"), &mut self.report);
        Ok(())
    }

    fn note_ended(&mut self, ended: host::Ended, stub_dropped: u64) {
        self.report.exit = ended.exit;
        self.report.timeout = ended.timeout;
        self.report.leaked = ended.leaked;
        let tallies = ended.tallies.into_iter().map(|(kind, tally)| {
            self.report.unparsed_probe_lines += tally.unparsed;
            (kind, tally.dropped)
        });
        let streams = tallies.chain([(Kind::StubRequest, stub_dropped)]).map(|(kind, bytes)| (kind.as_str(), bytes));
        let dropped: Vec<_> = streams.chain([("leaked-processes", ended.more_leaked)]).filter(|(_, size)| *size > 0).collect();
        self.report.dropped.extend(dropped.into_iter().map(|(name, size)| (name.to_owned(), size)));
    }

    fn init_bound(&self) -> Duration {
        Duration::from_millis(self.job.deadlines.init)
    }

    async fn begin_phase(&mut self, name: &'static str) -> Result<(), Closed> {
        self.end_phase();
        self.phase = Some((name, Instant::now()));
        self.output.phase(name).await
    }

    fn end_phase(&mut self) {
        if let Some((name, since)) = self.phase.take() {
            self.report.phases.insert(name.to_owned(), u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX));
        }
    }
}
