//! The machine of an embedded run: container engine, images, agent, binaries, bound together into the workers' backend.
//!
//! When the machine cannot run anything, the backend says so for every job: the rows are indeterminate, and nobody's plugin is blamed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ocsweep_executor::case::{CaseRunner, LocalFile};
use ocsweep_executor::container::{ConnectOptions, ContainerError, Engine, image};
use ocsweep_executor::host_check::{self, Unfit};
use ocsweep_executor::images::Images;
use ocsweep_executor::isolation::Isolation;
use ocsweep_executor::local_file;
use ocsweep_executor::preflight::PreflightCache;
use ocsweep_executor::prepare::Preparer;
use ocsweep_executor::process::Cells;
use ocsweep_executor::worker::{Unable, Worker, WorkerError};
use ocsweep_proto::axes;
use ocsweep_proto::job::Overlay;
use ocsweep_proto::verdict::Reason;
use ocsweep_transport::queue::{MemoryQueue, QueueName};
use ocsweep_transport::store::Store;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::embedded::{Serve, Slots};
use super::hosts::ReadyHost;
use super::request::{Refusal, Request};
use crate::output::Printer;
use crate::settings::Settings;

/// The first answer of the engine.
const CONNECT: Duration = Duration::from_secs(10);
/// Removing containers at the end; Ctrl-C must be done within five seconds.
const REMOVE: Duration = Duration::from_secs(4);
/// More than four real hosts at once need more than a laptop has.
const MAX_SLOTS: usize = 4;
pub(crate) const QUEUES: [QueueName; 2] = [QueueName::Prepare, QueueName::Offline];

/// What the slots of the run share.
#[derive(Debug)]
pub(crate) enum Backend {
    Ready(Box<Worker>),
    Unable(Unable),
}

impl Serve for Backend {
    async fn serve(&self, queue: &MemoryQueue, stop: &CancellationToken) -> Result<(), WorkerError> {
        match self {
            Self::Ready(worker) => worker.serve(queue, &QUEUES, stop).await,
            Self::Unable(unable) => unable.serve(queue, &QUEUES, stop).await,
        }
    }
}

/// Why the machine is not ready.
enum Stop {
    /// Somebody's mistake: nothing runs.
    Refuse(Refusal),
    /// The machine's trouble: every case says so.
    Unable(Unable),
}

impl From<Unable> for Stop {
    fn from(unable: Unable) -> Self {
        Self::Unable(unable)
    }
}

#[derive(Debug)]
pub(crate) struct Machine {
    backend: Arc<Backend>,
    engine: Option<Isolation>,
    image: Option<String>,
    warm: usize,
}

impl Machine {
    pub(crate) async fn connect(
        request: &Request,
        settings: &Settings,
        hosts: &[ReadyHost],
        store: &Store,
        printer: Printer,
    ) -> Result<Self, Refusal> {
        match Self::ready(request, settings, hosts, store).await {
            Ok(machine) => Ok(machine),
            Err(Stop::Refuse(refusal)) => Err(refusal),
            Err(Stop::Unable(unable)) => {
                printer.error(&format!("error: {}", unable.text));
                Ok(Self { backend: Arc::new(Backend::Unable(unable)), engine: None, image: None, warm: 0 })
            }
        }
    }

    async fn ready(request: &Request, settings: &Settings, hosts: &[ReadyHost], store: &Store) -> Result<Self, Stop> {
        let agent = local_file::read(&agent_path(settings))
            .map_err(|error| Unable::new(Reason::Docker, format!("{error}\nhint: run \"make build\", or set OCSWEEP_AGENT")))?;
        let (engine, image) = match request.isolation {
            axes::Isolation::Docker => containers(settings).await?,
            axes::Isolation::Process => (processes(settings, &agent).await?, None),
        };
        let files: BTreeMap<_, _> = hosts.iter().map(|ready| (ready.host.digest.clone(), host_file(ready))).collect();
        let cases = CaseRunner {
            preflights: PreflightCache::new(Some(settings.cache.join("preflight")), agent.digest.clone()),
            engine: engine.clone(),
            images: Images::new(image.clone()),
            slots: Arc::new(Semaphore::new(slots())),
            agent,
            hosts: files,
            secrets: request.secrets.clone(),
            keep: request.keep,
        };
        let overrides = hosts.iter().filter(|ready| ready.binary.origin.is_none());
        for ready in overrides {
            // In a system that the binary is for: that of a variant of its flavour.
            let image = request.variants.iter().find(|variant| variant.flavour == ready.flavour).and_then(|variant| variant.image.clone());
            let overlay = Overlay { flavour: ready.flavour, image, ..Overlay::default() };
            host_check::check_version(&cases, &ready.host, &ready.word, &overlay).await.map_err(|unfit| match unfit {
                Unfit::Other(text) => Stop::Refuse(Refusal::configuration(text)),
                Unfit::Unasked(reason, text) => Stop::Unable(Unable::new(reason, text)),
            })?;
        }
        let preparer = Preparer::new(engine.clone(), &settings.cache, request.out.clone());
        let worker = Worker { cases, preparer, store: store.clone() };
        Ok(Self { backend: Arc::new(Backend::Ready(Box::new(worker))), engine: Some(engine), image, warm: settings.warm })
    }

    pub(crate) fn image(&self) -> Option<String> {
        self.image.clone()
    }

    /// More workers than cases may run at once: the next case's container is made meanwhile.
    pub(crate) fn slots(&self) -> Slots<Backend> {
        Slots { backend: Arc::clone(&self.backend), workers: slots() + self.warm }
    }

    /// Waits until everything that the run made is removed.
    pub(crate) async fn shutdown(&self, printer: Printer) {
        let Some(engine) = &self.engine else { return };
        let left = engine.shutdown(REMOVE).await;
        if !left.is_empty() {
            printer.warn(&format!("{} container(s) or volume(s) are still being removed; the next run takes care of them", left.len()));
        }
    }
}

/// Cases that run at once.
fn slots() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(MAX_SLOTS)
}

async fn containers(settings: &Settings) -> Result<(Isolation, Option<String>), Unable> {
    let options = ConnectOptions { executor: None, state: settings.cache.join("state"), deadline: CONNECT };
    let engine = Engine::connect(&options).await.map_err(|error| unable(&error))?;
    let image = engine.image(&image::run()).await.map_err(|error| unable(&error))?;
    // What a killed run left behind; a failure here is no reason not to run.
    match engine.reap().await {
        Ok(reaped) => tracing::debug!(?reaped, "reaped"),
        Err(error) => tracing::warn!(%error, "could not look for what a killed run may have left"),
    }
    Ok((Isolation::Docker(engine), Some(image.0)))
}

/// Somebody who asks for processes on a machine that cannot isolate them has made a mistake; nothing weaker is run.
async fn processes(settings: &Settings, agent: &LocalFile) -> Result<Isolation, Stop> {
    let cells = Cells::connect(&agent.path, &settings.cache.join("process")).await;
    let cells = cells.map_err(|missing| Stop::Refuse(Refusal::configuration(format!("error: {missing}\nhint: {}", missing.hint))))?;
    Ok(Isolation::Process(cells))
}

fn host_file(ready: &ReadyHost) -> LocalFile {
    LocalFile { path: ready.binary.path.clone(), digest: ready.binary.digest.clone(), bytes: ready.binary.bytes }
}

/// Beside the executable, unless the environment names another.
pub(crate) fn agent_path(settings: &Settings) -> PathBuf {
    let beside = || std::env::current_exe().ok()?.parent().map(|directory| directory.join("ocsweep-agent"));
    settings.agent.clone().or_else(beside).unwrap_or_else(|| PathBuf::from("ocsweep-agent"))
}

fn unable(error: &ContainerError) -> Unable {
    let mut text = error.to_string();
    if let Some(hint) = error.hint() {
        text.push_str(&format!("\nhint: {hint}"));
    }
    Unable::new(error.reason(), text)
}
