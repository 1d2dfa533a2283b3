//! The embedded run with a worker that runs nothing: plan, queue, settlement, store, fold and report as they are. For `make bench`.
//!
//! It must never be reachable from the command line: its rows say nothing about a plugin.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ocsweep_collector::{completeness, evidence, results};
use ocsweep_executor::case::CaseRun;
use ocsweep_executor::container::Claim;
use ocsweep_executor::worker::{Prepare, RunCase, Worker, WorkerError};
use ocsweep_proto::axes::{Flavour, Line, Tier};
use ocsweep_proto::config::{Config, PluginConfig, Variant};
use ocsweep_proto::digest::Digest;
use ocsweep_proto::ids::SweepId;
use ocsweep_proto::job::{CaseWork, Entries, Host, NpmSource, PrepareWork, ServerEntry, Source, Subject};
use ocsweep_proto::limits::Limits;
use ocsweep_proto::outcome::Unprepared;
use ocsweep_proto::row::{CaseRow, Digests, RESULTS_VERSION, Results, Tokens};
use ocsweep_proto::scenario::Scenario;
use ocsweep_scheduler::plan::{Plan, PlanInput};
use ocsweep_transport::queue::MemoryQueue;
use ocsweep_transport::store::Store;
use tokio_util::sync::CancellationToken;

use super::embedded::{self, Serve, Slots};
use super::machine::QUEUES;
use crate::cli::OutputArgs;
use crate::output::Printer;
use crate::signals::Shutdown;

const WORKERS: usize = 3;
/// The phases of a real row.
const PHASES: [&str; 14] = [
    "agent-collect",
    "agent-host",
    "agent-preflight",
    "agent-write",
    "attach",
    "create",
    "end",
    "give",
    "judge",
    "queue",
    "run",
    "start",
    "volumes",
    "warm",
];

/// Ends every case at once with a pass that nobody ran.
#[derive(Debug)]
struct NoOp;

impl RunCase for NoOp {
    async fn run(&self, _: Claim, work: &CaseWork, _: &CancellationToken) -> CaseRun {
        CaseRun { row: row(work), files: Vec::new(), tui_only: false }
    }
}

impl Prepare for NoOp {
    async fn prepare(&self, _: Claim, _: &PrepareWork, _: &CancellationToken) -> Result<Subject, Unprepared> {
        Ok(subject())
    }
}

impl Serve for Worker<NoOp, NoOp> {
    async fn serve(&self, queue: &MemoryQueue, stop: &CancellationToken) -> Result<(), WorkerError> {
        Self::serve(self, queue, &QUEUES, stop).await
    }
}

/// Runs that many cases through everything but containers, in a folder; gives the size of the results in bytes.
///
/// # Errors
/// When the folder cannot be used, or a case is not accounted for.
pub async fn no_op(cases: usize, folder: &Path) -> anyhow::Result<u64> {
    let store = Store::local(folder)?;
    let plan = plan(cases.saturating_sub(1))?;
    let worker = Worker { cases: NoOp, preparer: NoOp, store: store.clone() };
    let slots = Slots { backend: Arc::new(worker), workers: WORKERS };
    let printer = Printer::new(OutputArgs { json: false, quiet: true, verbose: false });
    let ended = embedded::drive(plan, &slots, &store, printer, &Shutdown::default()).await?;
    let proof = completeness::prove(&ended.planned, &ended.rows);
    anyhow::ensure!(completeness::is_complete(&proof) && proof.planned == cases as u64, "not every case is accounted for: {proof:?}");
    let mut rows: Vec<_> = ended.rows.into_values().collect();
    results::sort(&mut rows, results::Order::default());
    let results = Results {
        version: RESULTS_VERSION,
        at: super::finish::now(),
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        plugin: "no-op".to_owned(),
        image: None,
        budget_usd: None,
        completeness: Some(proof),
        results: rows,
    };
    super::finish::write_files(&store, &results, &[]).await?;
    Ok(std::fs::metadata(folder.join(evidence::RESULTS))?.len())
}

/// A row that weighs as much as one of a real case.
fn row(work: &CaseWork) -> CaseRow {
    let mut row = CaseRow::blank(work.id.as_str(), work.tier, &work.host.requested, work.variant.as_str()).ended(None);
    row.resolved = Some(work.host.resolved.clone());
    row.line = Some(work.host.line);
    row.jit = Some(work.jit);
    row.steps = Some(1);
    row.cost_usd = Some(0.0);
    row.tokens = Some(Tokens { input: 10, output: 5, ..Tokens::default() });
    row.text_excerpt = Some("done".to_owned());
    row.exit_code = Some(0);
    row.phases.extend(PHASES.map(|name| (name.to_owned(), 0)));
    row.digests = Digests {
        subject: Some(work.subject.digest.to_string()),
        binary: Some(work.host.digest.to_string()),
        scenario: work.scenario_digest().ok().map(|digest| digest.to_string()),
        image: Some(work.host.digest.to_string()),
        agent: Some(work.host.digest.to_string()),
    };
    row
}

/// A load case and that many scenarios.
fn plan(scenarios: usize) -> anyhow::Result<Plan> {
    let host = Host { requested: "1.18.33".to_owned(), resolved: "1.18.33".to_owned(), line: Line::V1, digest: Digest::of(b"no host") };
    let scenario = |n: usize| {
        let text = format!(r#"{{"id": "s{n}", "mode": "scripted", "prompt": "say {n}", "script": [{{"text": "done"}}]}}"#);
        serde_json::from_str::<Scenario>(&text)
    };
    Ok(Plan::expand(PlanInput {
        sweep: SweepId::new("no-op")?,
        prepare: PrepareWork {
            subject: "no-op".to_owned(),
            source: Source::Npm(NpmSource { name: "no-op".to_owned(), wanted: None }),
            plugin: PluginConfig::default(),
            limits: Limits::default(),
        },
        hosts: vec![BTreeMap::from([(Flavour::Glibc, host)])],
        variants: vec![Variant::default()],
        tiers: vec![Tier::Load, Tier::Scripted],
        scenarios: (0..scenarios).map(scenario).collect::<Result<_, _>>()?,
        bun: None,
        config: Config::default(),
        live_skip: None,
    }))
}

fn subject() -> Subject {
    let server = ServerEntry { path: "index.js".to_owned(), rule: String::new(), not_resolved: None, engines: None };
    Subject {
        name: "no-op".to_owned(),
        revision: None,
        digest: Digest::of(b"no subject"),
        directory: String::new(),
        entries: Entries { server: Some(server), tui: None, tui_only: false },
        npm: None,
        warnings: Vec::new(),
    }
}
