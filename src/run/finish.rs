//! The output folder: emptied of what an earlier run said, filled with results, report and JUnit at the end.
//!
//! It must never write outside of the folder, and a run that fails early leaves no older result that could be taken for its own.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ocsweep_collector::{evidence, render, report, results};
use ocsweep_proto::axes::VersionWord;
use ocsweep_proto::ids::SweepId;
use ocsweep_proto::keys;
use ocsweep_proto::row::Results;
use ocsweep_scheduler::plan::Plan;
use ocsweep_transport::Bytes;
use ocsweep_transport::store::{Store, StoreError};
use time::format_description::well_known::Rfc3339;

use super::request::{Refusal, Request};
use crate::output::Printer;
use crate::settings::Settings;

/// The run's id is of no use once it has ended; its records are kept until the next run.
const RECORDS: &str = "sweeps";
const LOCK: &str = ".lock";
const REPORTS: [&str; 3] = [evidence::RESULTS, evidence::REPORT, evidence::JUNIT];

pub(crate) struct Out {
    folder: PathBuf,
    pub(crate) store: Store,
    /// Held as long as the run writes; the system drops it with the process.
    _lock: File,
}

impl Out {
    pub(crate) async fn open(request: &Request) -> anyhow::Result<Self> {
        let folder = request.out.clone();
        if !request.out_chosen {
            // A checkout may bring its own link, and what is emptied here must be ours.
            for part in [request.cwd.join(".opencode-ci"), folder.clone()] {
                if part.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
                    return Err(
                        refuse(&folder, &format!("{} is a symbolic link; choose the folder by hand with --out", part.display())).into()
                    );
                }
            }
        }
        std::fs::create_dir_all(&folder).map_err(|error| refuse(&folder, &error.to_string()))?;
        let real = folder.canonicalize().map_err(|error| refuse(&folder, &error.to_string()))?;
        if real.join(RECORDS).symlink_metadata().is_ok_and(|metadata| !metadata.is_dir()) {
            return Err(refuse(&folder, &format!("{} is no directory", folder.join(RECORDS).display())).into());
        }
        let lock = lock(&real)?;
        let store = Store::local(&real).with_context(|| format!("cannot use the output folder {}", folder.display()))?;
        let out = Self { folder: real, store, _lock: lock };
        for name in REPORTS {
            match std::fs::remove_file(out.folder.join(name)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(refuse(&out.folder.join(name), &error.to_string()).into());
                }
                _ => {}
            }
        }
        Ok(out)
    }

    /// Empties the evidence folder of every planned case.
    pub(crate) async fn reset(&self, plan: &Plan) -> anyhow::Result<()> {
        for old in records_of_runs(&self.folder.join(RECORDS)) {
            self.store.delete_prefix(&format!("{RECORDS}/{old}")).await.context("cannot remove the records of the last run")?;
        }
        for cell in &plan.cells {
            let word: VersionWord = cell.host.requested.parse().map_err(Refusal::configuration)?;
            for case in &cell.cases {
                let dir = self.folder.join(keys::evidence(&word, &cell.variant, &case.id));
                evidence::reset_dir(&self.folder, &dir).map_err(|error| Refusal::configuration(format!("error: {error}")))?;
            }
        }
        Ok(())
    }

    pub(crate) async fn write(&self, results: &Results, request: &Request, settings: &Settings, printer: Printer) -> anyhow::Result<()> {
        let allowed: Vec<String> = request.versions.iter().skip(1).map(ToString::to_string).collect();
        let json = Bytes::from(results::to_json(results)?);
        if printer.json() {
            printer.data(&String::from_utf8_lossy(&json));
        } else {
            printer.data(&render::table(results, &allowed, printer.table_style()));
        }
        let mut written = self.store.put(evidence::RESULTS, json).await;
        let markdown = Bytes::from(render::markdown(results, &allowed));
        if let Some(summary) = &settings.step_summary
            && let Err(error) = report::append_summary(summary, &String::from_utf8_lossy(&markdown))
        {
            printer.warn(&format!("{error}"));
        }
        if written.is_ok() {
            written = write_readable(&self.store, results, &allowed, markdown).await;
        }
        written.with_context(|| format!("cannot write the report into {}", self.folder.display()))?;
        printer.say(&format!("{}\nevidence and report: {}", render::summary(results, &allowed), self.folder.display()));
        Ok(())
    }
}

/// All files of a report; one text at a time is in memory.
pub(crate) async fn write_files(store: &Store, results: &Results, allowed: &[String]) -> anyhow::Result<()> {
    store.put(evidence::RESULTS, Bytes::from(results::to_json(results)?)).await?;
    write_readable(store, results, allowed, Bytes::from(render::markdown(results, allowed))).await?;
    Ok(())
}

async fn write_readable(store: &Store, results: &Results, allowed: &[String], markdown: Bytes) -> Result<(), StoreError> {
    store.put(evidence::REPORT, markdown).await?;
    store.put(evidence::JUNIT, Bytes::from(render::junit(results, allowed))).await
}

/// Two runs that write the same evidence would leave a mixture.
fn lock(folder: &Path) -> Result<File, Refusal> {
    let path = folder.join(LOCK);
    if path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return Err(refuse(folder, &format!("{} is no regular file", path.display())));
    }
    let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(|error| refuse(folder, &error.to_string()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(refuse(folder, "another run is writing there; wait for it, or choose another folder with --out"))
        }
        Err(TryLockError::Error(error)) => Err(refuse(folder, &error.to_string())),
    }
}

/// The names of earlier runs; whatever else lies there is not ours.
fn records_of_runs(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with("run-") && SweepId::new(name.as_str()).is_ok()).collect()
}

fn refuse(path: &Path, problem: &str) -> Refusal {
    Refusal::configuration(format!("error: cannot use the output folder {}: {problem}", path.display()))
}

pub(crate) fn now() -> String {
    time::OffsetDateTime::now_utc().replace_nanosecond(0).ok().and_then(|now| now.format(&Rfc3339).ok()).unwrap_or_default()
}
