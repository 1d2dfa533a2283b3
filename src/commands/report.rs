//! `report`: the Markdown report of a results file, rendered again. Values were scrubbed when the file was written; no key is read here.

use std::path::PathBuf;

use ocsweep_collector::{report, results};
use ocsweep_proto::exit::ExitCode;

use crate::cli::ReportArgs;
use crate::output::Printer;
use crate::run::Refusal;

const DEFAULT: &str = ".opencode-ci/out/results.json";

pub(super) fn report(args: &ReportArgs, printer: Printer) -> anyhow::Result<ExitCode> {
    let path = args.results.clone().unwrap_or_else(|| PathBuf::from(DEFAULT));
    let refuse = |error: results::ReadError| {
        Refusal::configuration(format!("error: {error}\nhint: name the results.json of a run, or run ocsweep run first"))
    };
    if printer.json() {
        printer.data(&results::to_json(&results::read(&path).map_err(refuse)?)?);
    } else {
        printer.data(&report::render_file(&path).map_err(refuse)?);
    }
    Ok(ExitCode::Ok)
}
