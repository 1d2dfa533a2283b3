//! The cache of host binaries: `<digest>/opencode`, and an index from versions to digests that is checked at every use.
//!
//! Several processes may use it at once: every file appears by rename, and a download holds a lock for its version.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ocsweep_proto::digest::{Builder, Digest};
use tempfile::TempPath;

use super::archive::{self, Caps};
use super::{BinaryError, HostBinary, HostVersion, Origin, Platform};
use crate::registry::{Environment, Registry, RegistryError, Release, name};

mod index;
mod store;

use index::Record;

/// Unfinished downloads of dead processes are removed after this time.
const STALE: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a process waits for another one that downloads the same version.
const LOCK_DEADLINE: Duration = Duration::from_secs(11 * 60);
const LOCK_POLL: Duration = Duration::from_millis(100);

/// The cache of host binaries.
#[derive(Debug, Clone)]
pub struct BinaryCache {
    root: PathBuf,
    caps: Caps,
}

impl BinaryCache {
    /// The user's cache: `$XDG_CACHE_HOME/ocsweep/binaries`, else `~/.cache/ocsweep/binaries`. `None`: neither variable is set.
    #[must_use]
    pub fn of_user(env: &Environment) -> Option<Self> {
        // The rules for this variable say that a relative path is to be ignored.
        let cache = env.get("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let cache = cache.or_else(|| env.home().map(|home| home.join(".cache")))?;
        Some(Self::at(cache.join("ocsweep").join("binaries")))
    }

    /// A cache in a given directory.
    #[must_use]
    pub fn at(root: PathBuf) -> Self {
        Self { root, caps: Caps::default() }
    }

    /// The directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The binary of a version when the cache has it and its bytes are the recorded ones. Needs no network.
    ///
    /// # Errors
    /// When the cache cannot be read.
    pub async fn cached(&self, host: &HostVersion, platform: Platform) -> Result<Option<HostBinary>, BinaryError> {
        let (cache, key) = (self.clone(), key(host, platform));
        blocking(move || cache.look_up(&key)).await
    }

    /// The binary of a version, from the cache or else from the registry.
    ///
    /// # Errors
    /// When the registry does not give it, or the cache cannot be written.
    pub async fn fetch(&self, registry: &Registry, host: &HostVersion, platform: Platform) -> Result<HostBinary, BinaryError> {
        if let Some(binary) = self.cached(host, platform).await? {
            return Ok(binary);
        }
        let _lock = self.lock(&key(host, platform)).await?;
        if let Some(binary) = self.cached(host, platform).await? {
            return Ok(binary);
        }
        let failed = |source: RegistryError| BinaryError::Fetch { version: host.resolved.clone(), source };
        let main = registry.lookup(host.line.package(), Some(&host.resolved)).await.map_err(failed)?;
        let (package, version) = platform_package(&main, platform)?;
        let release = registry.lookup(&package, Some(&version)).await.map_err(failed)?;
        let tarball = registry.download(&release, &self.temp_directory()).await.map_err(failed)?;
        let (cache, key) = (self.clone(), key(host, platform));
        blocking(move || cache.add(&key, &release, &tarball.file)).await
    }

    /// Unpacks a verified tarball into the cache and records it.
    fn add(&self, key: &str, release: &Release, tarball: &Path) -> Result<HostBinary, BinaryError> {
        let unusable = |source| BinaryError::Archive { package: release.package.clone(), source };
        let source = File::open(tarball).map_err(disk("cannot read", tarball))?;
        let temp = tempfile::Builder::new().prefix(".binary-").tempfile_in(self.temp_directory());
        let (mut file, temp) = temp.map_err(disk("cannot create a file in", &self.temp_directory()))?.into_parts();
        let (digest, bytes) = archive::extract_binary(io::BufReader::new(source), &mut file, self.caps).map_err(unusable)?;
        file.set_permissions(fs::Permissions::from_mode(0o755)).map_err(disk("cannot change the mode of", &temp))?;
        drop(file);
        let path = self.place(&digest, temp)?;
        let origin = Origin { package: release.package.clone(), integrity: release.integrity.to_string() };
        let binary = HostBinary { path, digest, bytes, origin: Some(origin) };
        self.record(key, &binary)?;
        Ok(binary)
    }

    fn place(&self, digest: &Digest, temp: TempPath) -> Result<PathBuf, BinaryError> {
        let directory = self.root.join(digest.hex());
        let path = directory.join(store::FILE);
        fs::create_dir_all(&directory).map_err(disk("cannot create", &directory))?;
        temp.persist(&path).map_err(|error| disk("cannot create", &path)(error.error))?;
        Ok(path)
    }

    fn record(&self, key: &str, binary: &HostBinary) -> Result<(), BinaryError> {
        let metadata = fs::metadata(&binary.path).map_err(disk("cannot read", &binary.path))?;
        let record = Record::new(binary, stamp(&metadata));
        record.write(&self.index_file(key), &self.temp_directory())?;
        self.touch(&binary.digest);
        Ok(())
    }

    /// The recorded binary of a key. A record or file that does not hold is as good as absent: it is fetched again.
    fn look_up(&self, key: &str) -> Result<Option<HostBinary>, BinaryError> {
        let Some(record) = Record::read(&self.index_file(key)) else { return Ok(None) };
        let path = self.root.join(record.digest.hex()).join(store::FILE);
        let Ok(metadata) = fs::symlink_metadata(&path) else { return Ok(None) };
        let is_program = metadata.is_file() && metadata.permissions().mode() & 0o111 != 0;
        if !is_program || metadata.len() != record.size {
            return Ok(None);
        }
        let changed = stamp(&metadata) != record.mtime;
        if changed && digest_file(&path).map_err(disk("cannot read", &path))?.0 != record.digest {
            tracing::warn!(path = %path.display(), "a cached binary was changed and is fetched again");
            return Ok(None);
        }
        let origin = Origin { package: record.package, integrity: record.integrity };
        let binary = HostBinary { path, digest: record.digest, bytes: record.size, origin: Some(origin) };
        if changed {
            self.record(key, &binary)?
        } else {
            self.touch(&binary.digest)
        }
        Ok(Some(binary))
    }

    /// Waits for the lock of a key. Without it two processes would download twice; nothing worse, so the wait is bounded.
    async fn lock(&self, key: &str) -> Result<Option<File>, BinaryError> {
        for directory in [self.temp_directory(), self.index_directory()] {
            fs::create_dir_all(&directory).map_err(disk("cannot create", &directory))?;
        }
        self.remove_stale(SystemTime::now());
        let path = self.index_directory().join(format!("{key}.lock"));
        let file = File::create(&path).map_err(disk("cannot create", &path))?;
        let locked = async {
            while rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_err() {
                tokio::time::sleep(LOCK_POLL).await;
            }
        };
        let locked = tokio::time::timeout(LOCK_DEADLINE, locked).await.is_ok();
        Ok(locked.then_some(file))
    }

    fn temp_directory(&self) -> PathBuf {
        self.root.join("tmp")
    }

    fn index_directory(&self) -> PathBuf {
        self.root.join("by-version")
    }

    fn index_file(&self, key: &str) -> PathBuf {
        self.index_directory().join(format!("{key}.json"))
    }
}

/// The binary that `OPENCODE_BIN` names. Its version is checked by running it in a container, elsewhere.
///
/// # Errors
/// When the file is no readable, executable regular file.
pub async fn override_binary(path: &Path) -> Result<HostBinary, BinaryError> {
    let path = path.to_owned();
    blocking(move || {
        let bad = |problem: String| BinaryError::Override { path: path.clone(), problem };
        let real = path.canonicalize().map_err(|error| bad(error.to_string()))?;
        let metadata = fs::metadata(&real).map_err(|error| bad(error.to_string()))?;
        if !metadata.is_file() {
            return Err(bad("is not a regular file".to_owned()));
        }
        if metadata.permissions().mode() & 0o111 == 0 {
            return Err(bad("is not executable".to_owned()));
        }
        let (digest, bytes) = digest_file(&real).map_err(|error| bad(error.to_string()))?;
        Ok(HostBinary { path: real, digest, bytes, origin: None })
    })
    .await
}

/// The platform package of a release, as its own `optionalDependencies` name it.
fn platform_package(release: &Release, platform: Platform) -> Result<(String, String), BinaryError> {
    let offered = release.optional_dependencies();
    let suffix = format!("-{}", platform.name());
    let found = offered.iter().find(|(name, _)| name.ends_with(&suffix));
    found.map(|(name, version)| ((*name).to_owned(), (*version).to_owned())).ok_or_else(|| BinaryError::NoPlatform {
        version: release.version.clone(),
        platform: platform.name(),
        offered: offered.keys().map(|name| (*name).to_owned()).collect(),
    })
}

fn key(host: &HostVersion, platform: Platform) -> String {
    format!("{}@{}.{}", name::file_name(host.line.package()), host.resolved, platform.name())
}

/// The modification time in nanoseconds: with the size, a cheap sign that a file is still the one that was checked.
fn stamp(metadata: &fs::Metadata) -> String {
    format!("{}.{:09}", metadata.mtime(), metadata.mtime_nsec())
}

fn digest_file(path: &Path) -> io::Result<(Digest, u64)> {
    let mut file = File::open(path)?;
    let mut builder = Builder::default();
    let mut buffer = vec![0; 128 * 1024];
    let mut bytes = 0;
    loop {
        let count = io::Read::read(&mut file, &mut buffer)?;
        if count == 0 {
            return Ok((builder.finish(), bytes));
        }
        bytes += count as u64;
        builder.update(&buffer[..count]);
    }
}

fn disk<'a>(doing: &'static str, path: &'a Path) -> impl Fn(io::Error) -> BinaryError + 'a {
    move |source| BinaryError::Disk { doing, path: path.to_owned(), source }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, BinaryError> + Send + 'static) -> Result<T, BinaryError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(BinaryError::Disk { doing: "cannot finish the work on", path: PathBuf::new(), source: io::Error::other(error) }),
    }
}

#[cfg(test)]
mod tests;
