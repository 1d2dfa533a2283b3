//! The embedded run with a worker that runs nothing: plan, queue, settlement, store, fold and report as they are. For `make bench`.
//!
//! It must never be reachable from the command line: its rows say nothing about a plugin.

use std::collections::BTreeMap;
use std::path::Path;

use ocsweep_collector::{completeness, fold, render, results};
use ocsweep_executor::worker::NoOp;
use ocsweep_proto::axes::{Flavour, Line, Tier};
use ocsweep_proto::config::{Config, PluginConfig, Variant};
use ocsweep_proto::digest::Digest;
use ocsweep_proto::ids::SweepId;
use ocsweep_proto::job::{Entries, Host, NpmSource, PrepareWork, ServerEntry, Source, Subject};
use ocsweep_proto::limits::Limits;
use ocsweep_proto::row::{RESULTS_VERSION, Results};
use ocsweep_proto::scenario::Scenario;
use ocsweep_scheduler::plan::{Plan, PlanInput};
use ocsweep_transport::store::Store;

use super::embedded;
use super::machine::Machine;
use crate::output::Printer;
use crate::signals::Shutdown;

/// Runs that many cases through everything but containers, in a folder; gives the size of the report in bytes.
///
/// # Errors
/// When the folder cannot be used, or a case is not accounted for.
pub async fn no_op(cases: usize, folder: &Path) -> anyhow::Result<usize> {
    let store = Store::local(folder)?;
    let plan = plan(cases.saturating_sub(1))?;
    let machine = Machine::no_op(NoOp { store: store.clone(), subject: subject() });
    let shutdown = Shutdown::default();
    let ended = embedded::drive(
        plan,
        &machine,
        &store,
        Printer::new(crate::cli::OutputArgs { json: false, quiet: true, verbose: false }),
        &shutdown,
    )
    .await?;
    let folded = fold::cases(&ended.outcomes);
    let proof = completeness::prove(&ended.planned, &folded);
    anyhow::ensure!(completeness::is_complete(&proof) && proof.planned == cases as u64, "not every case is accounted for: {proof:?}");
    let mut rows: Vec<_> = folded.into_values().collect();
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
    Ok(results::to_json(&results)?.len() + render::markdown(&results, &[]).len() + render::junit(&results, &[]).len())
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
