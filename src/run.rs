//! `ocsweep run`: one process, a queue in memory, a local folder. The run flows plan -> job -> attempt -> container -> evidence ->
//! outcome -> report through the same crates that a fleet would use.
//!
//! It must never decide a verdict, and whatever stops it early leaves no stale result behind.

use anyhow::Context as _;
use ocsweep_collector::{completeness, exit, results};
use ocsweep_proto::exit::ExitCode;
use ocsweep_proto::outcome::Unprepared;
use ocsweep_proto::row::{RESULTS_VERSION, Results};
use ocsweep_proto::verdict::Reason;
use ocsweep_scheduler::plan::Plan;

use crate::cli::RunArgs;
use crate::output::Printer;
use crate::settings::Settings;
use crate::signals::Shutdown;

mod embedded;
mod finish;
mod hosts;
mod machine;
pub mod measure;
mod progress;
mod request;

pub(crate) use machine::agent_path;
pub use request::Refusal;
pub(crate) use request::read_package;

/// Runs everything that the arguments select.
///
/// # Errors
/// A [`Refusal`] when nothing may run; anything else is a fault of this program or its machine.
pub async fn run(args: &RunArgs, printer: Printer, settings: &Settings, shutdown: &Shutdown) -> anyhow::Result<ExitCode> {
    let request = request::Request::read(args, printer, settings)?;
    let out = finish::Out::open(&request).await?;
    let hosts = match shutdown.ask.run_until_cancelled(hosts::resolve(&request, settings, printer)).await {
        Some(hosts) => hosts?,
        None => return Ok(ExitCode::Interrupted),
    };
    let plan = Plan::expand(request.plan_input(hosts::by_version(&hosts)));
    if plan.is_empty() {
        printer.error(
            "error: the selection contains no case\nhint: leave out --tier or --scenario, or add scenarios below .opencode-ci/scenarios",
        );
        return Ok(ExitCode::NothingRan);
    }
    out.reset(&plan).await?;
    let machine = machine::Machine::connect(&request, settings, &hosts, &out.store, printer).await?;
    let ended = embedded::drive(plan, &machine.slots(), &out.store, printer, shutdown).await;
    machine.shutdown(printer).await;
    let ended = ended.context("the run could not be driven to its end")?;
    if let Some(text) = ended.unprepared.as_ref().and_then(misconfigured) {
        return Err(Refusal::configuration(text).into());
    }
    let results = fold_results(&request, &machine, ended);
    out.write(&results, &request, settings, printer).await?;
    if shutdown.ask.is_cancelled() {
        return Ok(ExitCode::Interrupted);
    }
    let lost = results.completeness.as_ref().is_some_and(|proof| !completeness::is_complete(proof));
    Ok(match exit::exit_code(&results.results, &request.required()) {
        // A planned case of which nothing is known is no success.
        ExitCode::Ok if lost => ExitCode::Indeterminate,
        code => code,
    })
}

/// A directory without an entry, or with files that cannot be packed, is a mistake of whoever started the run; in a sweep it would be a row.
fn misconfigured(unprepared: &Unprepared) -> Option<String> {
    matches!(unprepared.reason, Reason::NotAPlugin | Reason::ScenarioConfig).then(|| unprepared.failures.join("\n"))
}

fn fold_results(request: &request::Request, machine: &machine::Machine, ended: embedded::Ended) -> Results {
    let proof = completeness::prove(&ended.planned, &ended.rows);
    let mut rows: Vec<_> = ended.rows.into_values().collect();
    let versions: Vec<String> = request.versions.iter().map(ToString::to_string).collect();
    let variants: Vec<String> = request.variants.iter().map(|variant| variant.name.to_string()).collect();
    let scenarios: Vec<String> = request.scenarios.iter().map(|file| file.scenario.id.to_string()).collect();
    results::sort(&mut rows, results::Order { versions: &versions, variants: &variants, scenarios: &scenarios });
    Results {
        version: RESULTS_VERSION,
        at: finish::now(),
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        plugin: request.subject.clone(),
        image: machine.image(),
        budget_usd: None,
        completeness: Some(proof),
        results: rows,
    }
}
