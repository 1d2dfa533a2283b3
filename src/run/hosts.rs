//! Host versions and their binaries: each word resolved once for the run, each binary fetched, verified and cached before a case starts.
//!
//! A version that is already in the cache needs no network.

use std::path::Path;

use ocsweep_executor::binary::{self, Arch, BinaryCache, BinaryError, HostBinary, HostVersion};
use ocsweep_executor::registry::{Environment, Registry};
use ocsweep_proto::axes::VersionWord;
use ocsweep_proto::job::Host;

use super::request::{Refusal, Request};
use crate::output::Printer;
use crate::settings::Settings;

/// A host and the file that runs it.
#[derive(Debug, Clone)]
pub(crate) struct ReadyHost {
    pub(crate) host: Host,
    pub(crate) word: VersionWord,
    pub(crate) binary: HostBinary,
}

pub(crate) async fn resolve(request: &Request, settings: &Settings, printer: Printer) -> anyhow::Result<Vec<ReadyHost>> {
    let arch = Arch::parse(std::env::consts::ARCH).ok_or_else(|| {
        Refusal::configuration(format!("opencode has no binary for this machine's architecture, {}.", std::env::consts::ARCH))
    })?;
    let source = Lookup {
        cache: BinaryCache::at(settings.cache.join("binaries")),
        arch,
        env: Environment::of_process(),
        registry: tokio::sync::OnceCell::new(),
    };
    let mut ready = Vec::new();
    for word in &request.versions {
        let version = match settings.opencode_bin {
            Some(_) => overridden(word, request),
            None => source.version(word, request).await,
        };
        let version = version.map_err(|error| refuse(&error))?;
        let binary = match &settings.opencode_bin {
            Some(path) => binary::cache::override_binary(path).await,
            None => {
                printer.detail(&format!("opencode {} is version {}", version.requested, version.resolved));
                source.binary(&version, &request.cwd, printer).await
            }
        };
        let binary = binary.map_err(|error| refuse(&error))?;
        let host = Host { requested: version.requested, resolved: version.resolved, line: version.line, digest: binary.digest.clone() };
        ready.push(ReadyHost { host, word: word.clone(), binary });
    }
    Ok(ready)
}

/// With `OPENCODE_BIN` nothing is looked up: an exact word is its own version, another one is whatever the binary is.
fn overridden(word: &VersionWord, request: &Request) -> Result<HostVersion, BinaryError> {
    match word {
        VersionWord::Exact(version) => binary::exact(version),
        other => Ok(HostVersion { requested: other.to_string(), resolved: other.to_string(), line: other.line().unwrap_or(request.line) }),
    }
}

struct Lookup {
    cache: BinaryCache,
    arch: Arch,
    env: Environment,
    registry: tokio::sync::OnceCell<Registry>,
}

impl Lookup {
    /// Made only when something has to be asked: finding npm's configuration can mean running npm.
    async fn registry(&self, word: &str, cwd: &Path) -> Result<&Registry, BinaryError> {
        let made = self.registry.get_or_try_init(|| Registry::discover(&self.env, cwd)).await;
        made.map_err(|source| BinaryError::Resolve { word: word.to_owned(), source })
    }

    async fn version(&self, word: &VersionWord, request: &Request) -> Result<HostVersion, BinaryError> {
        match word {
            VersionWord::Exact(version) => binary::exact(version),
            other => binary::resolve(self.registry(&other.to_string(), &request.cwd).await?, other, request.line).await,
        }
    }

    async fn binary(&self, version: &HostVersion, cwd: &Path, printer: Printer) -> Result<HostBinary, BinaryError> {
        if let Some(binary) = self.cache.cached(version, self.arch).await? {
            return Ok(binary);
        }
        let registry = self.registry(&version.requested, cwd).await?;
        printer.say(&format!("fetching opencode {} ...", version.resolved));
        self.cache.fetch(registry, version, self.arch).await
    }
}

fn refuse(error: &BinaryError) -> Refusal {
    let mut text = format!("error: {error}");
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(&format!("\n  caused by: {cause}"));
        source = cause.source();
    }
    if let Some(hint) = error.hint() {
        text.push_str(&format!("\nhint: {hint}"));
    }
    Refusal::configuration(text)
}
