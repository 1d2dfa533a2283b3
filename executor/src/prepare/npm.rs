//! A published package: its tarball, installed as the host would do it, without install scripts, judged by the rules for npm packages.

use ocsweep_proto::job::{NpmSource, PrepareWork, Subject};
use ocsweep_proto::verdict::Fault;
use tokio_util::sync::CancellationToken;

use super::steps::Preparation;
use super::{Failed, Preparer, entry_error, entry_input, subject};
use crate::case::describe;
use crate::container::Claim;
use crate::registry::{Registry, RegistryError};
use crate::subject::entry;
use crate::subject::{Rules, npm};

impl Preparer {
    pub(super) async fn package(
        &self,
        claim: Claim,
        work: &PrepareWork,
        source: &NpmSource,
        shutdown: &CancellationToken,
    ) -> Result<Subject, Failed> {
        let cwd = std::env::current_dir().unwrap_or_default();
        let registry = Registry::discover(&self.env, &cwd).await.map_err(|error| registry_error(&error))?;
        let spool = self.spool_directory()?;
        let fetched = npm::fetch(&registry, source, &spool).await.map_err(|error| registry_error(&error))?;
        let steps = npm::prepare_steps(&fetched, registry.settings());
        let preparation = Preparation { claim, limits: &work.limits, settings: Some(registry.settings()), shutdown };
        let bundle = self.run_steps(&preparation, None, &steps).await?;
        let mut resolved = entry::resolve(entry_input(&bundle, &steps.directory, work, Rules::Npm)).map_err(|error| entry_error(&error))?;
        resolved.warnings.extend(fetched.warnings.iter().cloned());
        self.store(&bundle).await?;
        let revision = format!("{}@{}", fetched.release.package, fetched.release.version);
        Ok(subject(work, &bundle, steps.directory, resolved, Some(fetched.release.package.clone()), Some(revision)))
    }
}

fn registry_error(error: &RegistryError) -> Failed {
    let mut text = describe(error);
    if error.reason().fault() == Fault::Infrastructure
        && let Some(hint) = error.hint()
    {
        text.push_str(&format!("\nhint: {hint}"));
    }
    Failed::new(error.reason(), text)
}
