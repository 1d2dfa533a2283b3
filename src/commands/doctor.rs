//! `doctor`: what is missing on this machine for `ocsweep run`, and how to get it. Changes nothing.

use std::time::Duration;

use ocsweep_executor::binary::BinaryCache;
use ocsweep_executor::container::{ConnectOptions, ContainerError, Engine, image};
use ocsweep_executor::local_file;
use ocsweep_executor::process::Cells;
use ocsweep_executor::registry::{Environment, Registry};
use ocsweep_proto::axes::{Isolation, Line};
use ocsweep_proto::exit::ExitCode;
use serde::Serialize;

use crate::output::Printer;
use crate::run::agent_path;
use crate::settings::Settings;

const CONNECT: Duration = Duration::from_secs(10);

/// One thing that a run needs.
#[derive(Debug, Serialize)]
struct Finding {
    what: &'static str,
    ok: bool,
    /// A run cannot do without it.
    required: bool,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl Finding {
    fn ok(what: &'static str, found: impl Into<String>) -> Self {
        Self { what, ok: true, required: true, found: found.into(), hint: None }
    }

    fn missing(what: &'static str, found: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what, ok: false, required: true, found: found.into(), hint: Some(hint.into()) }
    }
}

pub(super) async fn doctor(isolation: Isolation, printer: Printer, settings: &Settings) -> anyhow::Result<ExitCode> {
    let mut findings = vec![agent(settings)];
    findings.extend(match isolation {
        Isolation::Docker => engine(settings).await,
        Isolation::Process => processes(settings).await,
    });
    findings.push(registry().await);
    findings.push(cache(settings));
    let healthy = findings.iter().all(|finding| finding.ok || !finding.required);
    if printer.json() {
        printer.data(&serde_json::to_string_pretty(&findings)?);
    } else {
        for finding in &findings {
            let mark = if finding.ok { "ok     " } else { "missing" };
            printer.data(&format!("{mark} {}: {}", finding.what, finding.found));
            if let Some(hint) = &finding.hint {
                printer.data(&format!("        hint: {hint}"));
            }
        }
    }
    Ok(if healthy { ExitCode::Ok } else { ExitCode::Failure })
}

fn agent(settings: &Settings) -> Finding {
    let path = agent_path(settings);
    match local_file::read(&path) {
        Ok(file) => Finding::ok("agent", format!("{} ({})", path.display(), file.digest.short())),
        Err(error) => Finding::missing("agent", error.to_string(), "run \"make build\", or set OCSWEEP_AGENT"),
    }
}

/// What a run with `--isolation process` needs in place of an engine: isolates one process, and says what could not be had.
async fn processes(settings: &Settings) -> Vec<Finding> {
    let what = "process isolation";
    match Cells::connect(&agent_path(settings), &settings.cache.join("process")).await {
        Ok(cells) => {
            let mut findings = vec![Finding::ok(what, "namespaces for mounts, processes, network, ipc and host name")];
            findings.extend(cells.notes().iter().map(|note| Finding {
                required: false,
                ..Finding::missing("full process isolation", note, "see docs/process-isolation.md")
            }));
            findings
        }
        Err(missing) => vec![Finding::missing(what, missing.text, missing.hint)],
    }
}

async fn engine(settings: &Settings) -> Vec<Finding> {
    let options = ConnectOptions { executor: None, state: settings.cache.join("state"), deadline: CONNECT };
    let engine = match Engine::connect(&options).await {
        Ok(engine) => engine,
        Err(error) => return vec![missing("Docker engine", &error)],
    };
    let mut findings = vec![match engine.info().await {
        Ok(info) => Finding::ok("Docker engine", format!("version {}, API {}", info.version, info.api)),
        Err(error) => missing("Docker engine", &error),
    }];
    let prepare = "image for preparations";
    for (what, name) in [("image for cases", image::run()), (prepare, image::prepare())] {
        findings.push(match engine.image(&name).await {
            Ok(id) => Finding::ok(what, format!("{name} ({})", id.0)),
            Err(error) => Finding { required: what != prepare, ..missing(what, &error) },
        });
    }
    let _ = engine.shutdown(CONNECT).await;
    findings
}

fn missing(what: &'static str, error: &ContainerError) -> Finding {
    Finding::missing(what, error.to_string(), error.hint().unwrap_or("run \"make setup\""))
}

/// The registry is needed only for what the cache does not have.
async fn registry() -> Finding {
    let what = "npm registry";
    let cwd = std::env::current_dir().unwrap_or_default();
    let asked = async {
        let registry = Registry::discover(&Environment::of_process(), &cwd).await?;
        registry.lookup(Line::V1.package(), None).await
    };
    match asked.await {
        Ok(release) => Finding { required: false, ..Finding::ok(what, format!("answers; newest opencode 1.x is {}", release.version)) },
        Err(error) => {
            let hint = error.hint().unwrap_or_else(|| "check the network and npm's configuration".to_owned());
            Finding { required: false, ..Finding::missing(what, error.to_string(), hint) }
        }
    }
}

fn cache(settings: &Settings) -> Finding {
    let cache = BinaryCache::at(settings.cache.join("binaries"));
    Finding { required: false, ..Finding::ok("cache", cache.root().display().to_string()) }
}
