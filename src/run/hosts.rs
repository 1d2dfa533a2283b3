//! Host versions and their binaries: each word resolved once for the run, each binary fetched, verified and cached before a case starts.
//!
//! A version that is already in the cache needs no network.

use std::collections::BTreeMap;
use std::path::Path;

use ocsweep_executor::binary::{self, Arch, BinaryCache, BinaryError, HostBinary, HostVersion, Platform};
use ocsweep_executor::registry::{Environment, Registry};
use ocsweep_proto::axes::{Flavour, VersionWord};
use ocsweep_proto::job::Host;

use super::request::{Refusal, Request};
use crate::output::Printer;
use crate::settings::Settings;

/// A host and the file that runs it.
#[derive(Debug, Clone)]
pub(crate) struct ReadyHost {
    pub(crate) flavour: Flavour,
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
        if settings.opencode_bin.is_none() {
            printer.detail(&format!("opencode {} is version {}", version.requested, version.resolved));
        }
        for flavour in request.flavours() {
            let binary = match &settings.opencode_bin {
                Some(path) => binary::cache::override_binary(path).await,
                None => source.binary(&version, flavour, &request.cwd, printer).await,
            };
            let binary = binary.map_err(|error| refuse(&error))?;
            let HostVersion { requested, resolved, line } = version.clone();
            let host = Host { requested, resolved, line, digest: binary.digest.clone() };
            ready.push(ReadyHost { flavour, host, word: word.clone(), binary });
        }
    }
    Ok(ready)
}

/// The hosts of each version by flavour, in the order of the versions.
pub(crate) fn by_version(hosts: &[ReadyHost]) -> Vec<BTreeMap<Flavour, Host>> {
    let mut versions: Vec<(&VersionWord, BTreeMap<Flavour, Host>)> = Vec::new();
    for ready in hosts {
        match versions.last_mut() {
            Some((word, flavours)) if *word == &ready.word => drop(flavours.insert(ready.flavour, ready.host.clone())),
            _ => versions.push((&ready.word, BTreeMap::from([(ready.flavour, ready.host.clone())]))),
        }
    }
    versions.into_iter().map(|(_, flavours)| flavours).collect()
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

    async fn binary(&self, version: &HostVersion, flavour: Flavour, cwd: &Path, printer: Printer) -> Result<HostBinary, BinaryError> {
        let platform = Platform { arch: self.arch, flavour };
        if let Some(binary) = self.cache.cached(version, platform).await? {
            return Ok(binary);
        }
        let registry = self.registry(&version.requested, cwd).await?;
        printer.say(&format!("fetching opencode {} ({}) ...", version.resolved, platform.name()));
        self.cache.fetch(registry, version, platform).await
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
