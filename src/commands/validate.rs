//! `validate`: everything that can be said without running or building anything.

use anyhow::Context as _;
use ocsweep_executor::subject::{self, LocalError};
use ocsweep_proto::exit::ExitCode;
use ocsweep_proto::job::Entries;
use ocsweep_proto::scenario::Mode;
use ocsweep_scheduler::{config, init};

use crate::output::Printer;
use crate::run::{Refusal, read_package};

pub(super) fn validate(printer: Printer) -> anyhow::Result<ExitCode> {
    let cwd = std::env::current_dir().context("cannot tell the working directory")?;
    let loaded = config::load(&cwd).map_err(|error| Refusal::configuration(error.to_string()))?;
    let plugin = &loaded.config.plugin;
    let line = init::detect_line(read_package(&cwd.join(&plugin.path)).as_ref());
    let report = config::check_host_configs(&cwd, &plugin.path, &loaded.scenarios, line);
    if let Some(error) = report.errors {
        return Err(Refusal::configuration(error.to_string()).into());
    }
    loaded.warnings.iter().chain(&report.warnings).for_each(|warning| printer.warn(warning));
    let entries = match subject::local_entries(&cwd, plugin) {
        Ok(resolved) => {
            resolved.warnings.iter().for_each(|warning| printer.warn(warning));
            Some(resolved.entries)
        }
        Err(LocalError::Entry(error)) if plugin.build.is_some() => {
            printer.warn(&format!("{error} (plugin.build is set, so run checks again after building)."));
            None
        }
        Err(error) => return Err(Refusal::configuration(error.to_string()).into()),
    };
    show(&loaded, entries.as_ref(), printer);
    Ok(ExitCode::Ok)
}

fn show(loaded: &config::Loaded, entries: Option<&Entries>, printer: Printer) {
    let versions: Vec<String> = loaded.config.opencode.versions.iter().map(ToString::to_string).collect();
    let count = |mode: Mode| loaded.scenarios.iter().filter(|file| file.scenario.mode == mode).count();
    let (scripted, live) = (count(Mode::Scripted), count(Mode::Live));
    let variants: Vec<&str> = loaded.config.variants.iter().map(|variant| variant.name.as_str()).collect();
    if printer.json() {
        let entries = entries.map(|entries| serde_json::json!({"server": entries.server.as_ref().map(|server| &server.path), "tui": entries.tui, "tuiOnly": entries.tui_only}));
        let data = serde_json::json!({"plugin": loaded.config.plugin.path, "entries": entries, "versions": versions, "variants": variants, "scenarios": {"scripted": scripted, "live": live}});
        return printer.data(&data.to_string());
    }
    let tui_only = entries.is_some_and(|entries| entries.tui_only);
    printer.data(&format!("plugin: {}{}", loaded.config.plugin.path, if tui_only { " (TUI-only)" } else { "" }));
    printer.data(&match entries {
        Some(entries) => {
            let server = entries.server.as_ref().map_or("-", |server| server.path.as_str());
            format!("entries: server={server} tui={}", entries.tui.as_deref().unwrap_or("-"))
        }
        None => "entries: not found yet (created by plugin.build?)".to_owned(),
    });
    printer.data(&format!("opencode versions: {}", versions.join(", ")));
    if !variants.is_empty() {
        printer.data(&format!("variants: {}", variants.join(", ")));
    }
    printer.data(&format!("scenarios: {scripted} scripted, {live} live"));
}
