//! `init`: a first configuration and an example scenario, for the line that the plugin depends on. Never overwrites without `--force`.

use std::path::Path;

use anyhow::Context as _;
use ocsweep_proto::axes::Line;
use ocsweep_proto::exit::ExitCode;
use ocsweep_scheduler::init;

use crate::cli::InitArgs;
use crate::output::Printer;
use crate::run::{Refusal, read_package};

pub(super) fn init(args: &InitArgs, printer: Printer) -> anyhow::Result<ExitCode> {
    let cwd = std::env::current_dir().context("cannot tell the working directory")?;
    let line = init::detect_line(read_package(&cwd).as_ref());
    let version = match line {
        Line::V1 => "v1",
        Line::V2 => "v2",
    };
    let files = init::files(line, version);
    let existing: Vec<&str> =
        files.iter().map(|(path, _)| path.as_str()).filter(|path| cwd.join(path).symlink_metadata().is_ok()).collect();
    if !args.force && !existing.is_empty() {
        return Err(Refusal::configuration(format!(
            "error: {} already exists\nhint: overwrite with ocsweep init --force",
            existing.join(", ")
        ))
        .into());
    }
    for (path, contents) in &files {
        write(&cwd.join(path), contents)?;
    }
    let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
    if printer.json() {
        printer.data(&serde_json::json!({"line": line.as_str(), "written": paths}).to_string());
    } else {
        paths.iter().for_each(|path| printer.data(path));
        printer.say(&format!("line {}; next: ocsweep validate, then ocsweep run", line.as_str()));
    }
    Ok(ExitCode::Ok)
}

fn write(path: &Path, contents: &str) -> anyhow::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
    }
    std::fs::write(path, contents).with_context(|| format!("cannot write {}", path.display()))
}
