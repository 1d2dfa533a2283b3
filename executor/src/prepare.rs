//! Prepares a subject: a checkout or a published package becomes a content-addressed bundle in a volume, with the entry that the host
//! would load.
//!
//! The plugin's code never runs on the machine itself: install and build commands run in a container that has a network but no secret.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Instant;

use ocsweep_proto::job::{PathSource, PrepareWork, Source, Subject};
use ocsweep_proto::outcome::Unprepared;
use ocsweep_proto::verdict::{Fault, Reason};
use tokio_util::sync::CancellationToken;

use crate::case::{describe, millis};
use crate::container::{Archive, CacheKind, Claim, ContainerError, Contents};
use crate::isolation::Isolation;
use crate::registry::Environment;
use crate::subject::bundle::{self, BundleOptions};
use crate::subject::entry::{self, Resolved};
use crate::subject::steps::{self as subject_steps, PrepareSteps};
use crate::subject::{Bundle, BundleError, EntryError, EntryInput, Place, Rules, place};

mod npm;
mod steps;

/// Prepares subjects on one engine.
#[derive(Debug)]
pub struct Preparer {
    pub(crate) engine: Isolation,
    /// For spooled archives; on the disk of the caches.
    pub(crate) spool: PathBuf,
    /// The run's own output folder, which is never part of a bundle.
    output: PathBuf,
    pub(crate) env: Environment,
}

/// Why a subject cannot be had, before it is a record.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) reason: Reason,
    pub(crate) text: String,
    pub(crate) log: String,
}

impl Failed {
    pub(crate) fn new(reason: Reason, text: impl Into<String>) -> Self {
        Self { reason, text: text.into(), log: String::new() }
    }

    /// The machine's disk did not take or give something.
    pub(crate) fn of_disk(what: &str, error: &std::io::Error) -> Self {
        let reason = if error.kind() == std::io::ErrorKind::StorageFull { Reason::DiskFullHost } else { Reason::Store };
        Self::new(reason, format!("cannot {what}: {error}."))
    }

    /// A mistake of whoever asked; a run ends with it before any case, a sweep makes it a row.
    fn configuration(text: impl Into<String>) -> Self {
        Self::new(Reason::ScenarioConfig, text)
    }
}

impl From<ContainerError> for Failed {
    fn from(error: ContainerError) -> Self {
        Self::new(error.reason(), describe(&error))
    }
}

impl Preparer {
    /// A preparer that spools below `cache` and leaves `output` out of every bundle.
    #[must_use]
    pub fn new(engine: Isolation, cache: &Path, output: PathBuf) -> Self {
        Self { engine, spool: cache.join("spool"), output, env: Environment::of_process() }
    }

    /// Prepares a subject.
    ///
    /// # Errors
    /// Why it cannot be had.
    pub async fn prepare(&self, claim: Claim, work: &PrepareWork, shutdown: &CancellationToken) -> Result<Subject, Unprepared> {
        let began = Instant::now();
        let result = match &work.source {
            Source::Path(source) => self.checkout(claim, work, source, shutdown).await,
            Source::Npm(source) => self.package(claim, work, source, shutdown).await,
        };
        result.map_err(|failed| {
            let mut failures = vec![failed.text];
            if !failed.log.trim().is_empty() && failed.reason.fault() != Fault::Infrastructure {
                failures.push(format!("end of the output:\n{}", failed.log.trim_end()));
            }
            Unprepared { reason: failed.reason, failures, log_tail: failed.log, duration_ms: millis(began.elapsed()) }
        })
    }

    async fn checkout(
        &self,
        claim: Claim,
        work: &PrepareWork,
        source: &PathSource,
        shutdown: &CancellationToken,
    ) -> Result<Subject, Failed> {
        let place =
            place::locate(Path::new(&source.directory), &work.plugin.path).map_err(|error| Failed::configuration(describe(&error)))?;
        let options = BundleOptions { directory: place.directory.clone(), exclude: self.excluded(&place), ..BundleOptions::default() };
        let mut bundle = bundle::scan(place.root.clone(), options.clone()).await.map_err(|error| checkout_error(&error))?;
        if work.plugin.install.is_some() || work.plugin.build.is_some() {
            let cwd = Path::new(&source.directory);
            let settings = crate::registry::discover::discover(&self.env, cwd).await.ok();
            let preparation = steps::Preparation { claim, limits: &work.limits, settings: settings.as_ref(), shutdown };
            let steps = PrepareSteps { exclude: options.exclude.clone(), ..subject_steps::of_checkout(&work.plugin, &place.directory) };
            bundle = self.run_steps(&preparation, Some(&bundle), &steps).await?;
        }
        let root = place.root.display().to_string();
        let input = EntryInput { shown_root: &root, ..entry_input(&bundle, &place.directory, work, Rules::Path) };
        let mut resolved = entry::resolve(input).map_err(|error| entry_error(&error))?;
        resolved.warnings.extend(place.warning.clone());
        self.store(&bundle).await?;
        Ok(subject(work, &bundle, place.directory, resolved, None, None))
    }

    fn excluded(&self, place: &Place) -> Vec<String> {
        let inside = self.output.strip_prefix(&place.root).ok().and_then(Path::to_str);
        inside.filter(|path| !path.is_empty()).map(str::to_owned).into_iter().collect()
    }

    /// Makes sure that a volume holds the bundle.
    pub(crate) async fn store(&self, bundle: &Bundle) -> Result<(), Failed> {
        let contents = Contents { kind: CacheKind::Bundle, digest: bundle.digest.clone(), bytes: bundle.bytes };
        let spool = self.spool_directory()?;
        let fill = || write_spooled(bundle, &spool).map(Archive::read);
        self.engine.ensure_volume(&contents, fill).await?;
        Ok(())
    }

    pub(crate) fn spool_directory(&self) -> Result<PathBuf, Failed> {
        std::fs::create_dir_all(&self.spool).map_err(|error| Failed::of_disk(&format!("make {}", self.spool.display()), &error))?;
        Ok(self.spool.clone())
    }
}

/// A bundle as an unnamed file: the engine wants a reader, the bundle has a writer.
pub(crate) fn write_spooled(bundle: &Bundle, spool: &Path) -> std::io::Result<File> {
    let file = tempfile::tempfile_in(spool)?;
    let buffered = bundle::write_tar(bundle, std::io::BufWriter::new(file)).map_err(std::io::Error::other)?;
    let mut file = buffered.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

pub(crate) fn entry_input<'a>(bundle: &'a Bundle, directory: &'a str, work: &'a PrepareWork, rules: Rules) -> EntryInput<'a> {
    EntryInput {
        tree: &bundle.tree,
        directory,
        package: &bundle.package,
        entry: work.plugin.entry.as_deref(),
        ui: work.plugin.ui,
        rules,
        shown_root: "",
    }
}

pub(crate) fn subject(
    work: &PrepareWork,
    bundle: &Bundle,
    directory: String,
    resolved: Resolved,
    npm: Option<String>,
    revision: Option<String>,
) -> Subject {
    let mut warnings = bundle.warnings.clone();
    warnings.extend(resolved.warnings);
    Subject { name: work.subject.clone(), revision, digest: bundle.digest.clone(), directory, entries: resolved.entries, npm, warnings }
}

/// What is wrong with a checkout as its owner has it is the owner's to mend; only the machine's own trouble is the machine's.
fn checkout_error(error: &BundleError) -> Failed {
    let mut text = describe(error);
    if let Some(hint) = error.hint() {
        text.push_str(&format!("\nhint: {hint}"));
    }
    if error.reason().fault() == Fault::Infrastructure { Failed::new(error.reason(), text) } else { Failed::configuration(text) }
}

pub(crate) fn entry_error(error: &EntryError) -> Failed {
    match error {
        EntryError::NoEntry { .. } => Failed::new(Reason::NotAPlugin, error.to_string()),
        other => other.reason().map_or_else(|| Failed::configuration(other.to_string()), |reason| Failed::new(reason, other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_entry_is_a_configuration_error_only_when_nobody_published_it() {
        let reason = |error: EntryError| entry_error(&error).reason;
        assert_eq!(reason(EntryError::NoEntry { directory: "/x".to_owned() }), Reason::NotAPlugin);
        assert_eq!(reason(EntryError::ExplicitMissing { entry: "a".to_owned(), resolved: "/x/a".to_owned() }), Reason::ScenarioConfig);
        assert_eq!(reason(EntryError::EntryMissing { field: "main".to_owned(), file: "./a".to_owned() }), Reason::EntryMissing);
    }
}
