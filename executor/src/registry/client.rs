//! The HTTP side of a registry: documents and tarballs, with deadlines, size caps, retries and integrity.
//!
//! Every answer is bounded in time and size. A token leaves only for the host that it is configured for, also after a redirect.

use std::path::Path;
use std::time::Duration;

use futures_util::StreamExt as _;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, HeaderValue};
use reqwest::{Response, StatusCode, Url};
use tempfile::TempPath;
use tokio::io::AsyncWriteExt as _;

use super::name::{check_name, encoded};
use super::{Environment, Packument, RegistryError, Release, Settings};

mod body;
mod connect;

const ABBREVIATED: &str = "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8, */*";

/// How long and how much a registry may take. Durations are for one request with all its retries.
#[derive(Debug, Clone)]
pub struct Deadlines {
    /// Opening a connection.
    pub connect: Duration,
    /// Silence in the middle of an answer.
    pub idle: Duration,
    /// A document in all.
    pub document: Duration,
    /// A tarball in all.
    pub tarball: Duration,
    /// Pause before the second try; the third waits four times as long.
    pub backoff: Duration,
    /// Bytes of a document, unpacked.
    pub document_bytes: u64,
    /// Bytes of a tarball.
    pub tarball_bytes: u64,
}

/// Further tries after a failure that may pass.
const RETRIES: u32 = 2;

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(30),
            document: Duration::from_secs(90),
            tarball: Duration::from_secs(600),
            backoff: Duration::from_millis(500),
            document_bytes: 128 * 1024 * 1024,
            tarball_bytes: 1024 * 1024 * 1024,
        }
    }
}

/// A client for the registries of one configuration.
#[derive(Debug, Clone)]
pub struct Registry {
    settings: Settings,
    http: reqwest::Client,
    deadlines: Deadlines,
}

/// A downloaded tarball whose integrity was checked. The file is removed when the value is dropped.
#[derive(Debug)]
pub struct Tarball {
    /// The file.
    pub file: TempPath,
    /// Its size.
    pub bytes: u64,
}

impl Registry {
    /// A client with npm's settings for `directory`.
    ///
    /// # Errors
    /// When npm's configuration cannot be used.
    pub async fn discover(env: &Environment, directory: &Path) -> Result<Self, RegistryError> {
        let settings = super::discover::discover(env, directory).await?;
        Self::new(settings, env, Deadlines::default())
    }

    /// A client with given settings; certificates and proxies also come from the environment.
    ///
    /// # Errors
    /// When a certificate bundle or proxy cannot be used.
    pub fn new(settings: Settings, env: &Environment, deadlines: Deadlines) -> Result<Self, RegistryError> {
        let http = connect::client(&settings, env, &deadlines)?;
        Ok(Self { settings, http, deadlines })
    }

    /// The settings in use.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The registry's document about a package.
    ///
    /// # Errors
    /// See [`RegistryError`].
    pub async fn packument(&self, package: &str) -> Result<Packument, RegistryError> {
        check_name(package)?;
        let registry = self.registry_of(package)?;
        let url = registry.join(&encoded(package)).map_err(|_| malformed(registry, "the name cannot be added to the address"))?;
        let bytes = self.within(self.deadlines.document, &url, self.retrying(|| self.document(&url))).await;
        let bytes = bytes.map_err(|error| match error {
            RegistryError::Server { status: 404, .. } => {
                RegistryError::NotFound { package: package.to_owned(), registry: registry.to_string() }
            }
            other => other,
        })?;
        serde_json::from_slice(&bytes).map_err(|error| malformed(&url, &format!("it is no package document: {error}")))
    }

    /// The release that a version, range or tag of a package means; `None` means `latest`.
    ///
    /// # Errors
    /// See [`RegistryError`].
    pub async fn lookup(&self, package: &str, wanted: Option<&str>) -> Result<Release, RegistryError> {
        self.packument(package).await?.select(package, wanted)
    }

    /// Downloads the tarball of a release into a new file of the directory `into` and checks its integrity.
    ///
    /// # Errors
    /// See [`RegistryError`]; [`RegistryError::Integrity`] when the bytes are others than announced.
    pub async fn download(&self, release: &Release, into: &Path) -> Result<Tarball, RegistryError> {
        let registry = self.registry_of(&release.package)?;
        let url = registry.join(&release.tarball).map_err(|_| malformed(registry, "the tarball's address is no URL"))?;
        let fetch =
            |url: Url| async move { self.within(self.deadlines.tarball, &url, self.retrying(|| self.tarball(&url, release, into))).await };
        match fetch(url.clone()).await {
            // A mirror may pass on the addresses of the registry that it mirrors, which a closed network does not reach.
            Err(RegistryError::Unreachable { .. }) if url.host_str() != registry.host_str() => fetch(mirrored(registry, &url)).await,
            other => other,
        }
    }

    fn registry_of(&self, package: &str) -> Result<&Url, RegistryError> {
        let none = || RegistryError::Settings { problem: "no npm registry is configured".to_owned() };
        self.settings.registry_of(package).ok_or_else(none)
    }

    async fn within<T>(
        &self,
        bound: Duration,
        url: &Url,
        work: impl Future<Output = Result<T, RegistryError>>,
    ) -> Result<T, RegistryError> {
        let late =
            || RegistryError::Unreachable { url: shown(url), problem: format!("not done within {} s", bound.as_secs()), source: None };
        tokio::time::timeout(bound, work).await.unwrap_or_else(|_| Err(late()))
    }

    async fn retrying<T, F: Future<Output = Result<T, RegistryError>>>(&self, mut attempt: impl FnMut() -> F) -> Result<T, RegistryError> {
        let mut pause = self.deadlines.backoff;
        for _ in 0..RETRIES {
            match attempt().await {
                Err(error) if error.is_transient() => tracing::debug!(error = %error, "registry request failed, trying again"),
                other => return other,
            }
            tokio::time::sleep(pause).await;
            pause *= 4;
        }
        attempt().await
    }

    async fn get(&self, url: &Url, accept: &'static str) -> Result<Response, RegistryError> {
        let mut target = url.clone();
        for _ in 0..=connect::MAX_REDIRECTS {
            let mut request = self.http.get(target.clone()).header(ACCEPT, accept).header(ACCEPT_ENCODING, "gzip, identity");
            if let Some(text) = self.settings.authorization(&target) {
                let mut value = HeaderValue::from_str(text).map_err(|_| malformed(url, "the configured token is no header value"))?;
                value.set_sensitive(true);
                request = request.header(AUTHORIZATION, value);
            }
            let response = request.send().await.map_err(|error| unreachable(&target, error))?;
            match connect::redirect(&target, &response)? {
                Some(next) => target = next,
                None if response.status() == StatusCode::OK => return Ok(response),
                None => return Err(RegistryError::Server { url: shown(&target), status: response.status().as_u16() }),
            }
        }
        Err(malformed(url, "it redirects too often"))
    }

    async fn document(&self, url: &Url) -> Result<Vec<u8>, RegistryError> {
        let response = self.get(url, ABBREVIATED).await?;
        let zipped = response.headers().get(CONTENT_ENCODING).is_some_and(|value| value == "gzip");
        let limit = self.deadlines.document_bytes;
        let bytes = body::collect(url, response, limit).await?;
        if zipped { body::unzip(url, bytes, limit).await } else { Ok(bytes) }
    }

    async fn tarball(&self, url: &Url, release: &Release, into: &Path) -> Result<Tarball, RegistryError> {
        let response = self.get(url, "*/*").await?;
        let disk = |doing| move |source| RegistryError::Disk { doing, path: into.to_owned(), source };
        let temp = tempfile::Builder::new().prefix(".tarball-").tempfile_in(into).map_err(disk("cannot create a file in"))?;
        let (file, path) = temp.into_parts();
        let mut file = tokio::fs::File::from_std(file);
        let mut check = release.integrity.check();
        let mut bytes = 0_u64;
        let mut stream = response.bytes_stream();
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(|error| unreachable(url, error))?;
            bytes += chunk.len() as u64;
            body::within_limit(url, bytes, self.deadlines.tarball_bytes)?;
            check.update(&chunk);
            file.write_all(&chunk).await.map_err(disk("cannot write to"))?;
        }
        file.flush().await.map_err(disk("cannot write to"))?;
        let (package, version, expected) = (release.package.clone(), release.version.clone(), release.integrity.to_string());
        if check.holds() { Ok(Tarball { file: path, bytes }) } else { Err(RegistryError::Integrity { package, version, expected }) }
    }
}

/// The path of an address at the registry itself.
fn mirrored(registry: &Url, url: &Url) -> Url {
    let mut mirrored = registry.clone();
    mirrored.set_path(&format!("{}{}", registry.path(), url.path().trim_start_matches('/')));
    mirrored
}

/// An address as it may be shown: without user, password and query.
fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Both fail only for addresses that cannot have a user, which is what is wanted.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.to_string()
}

fn malformed(url: &Url, problem: &str) -> RegistryError {
    RegistryError::Malformed { url: shown(url), problem: problem.to_owned() }
}

fn unreachable(url: &Url, error: reqwest::Error) -> RegistryError {
    let problem = if error.is_timeout() {
        "no answer in time"
    } else if error.is_connect() {
        "no connection"
    } else {
        "the answer broke off"
    };
    RegistryError::Unreachable { url: shown(url), problem: problem.to_owned(), source: Some(error.without_url()) }
}

#[cfg(test)]
mod tests;
