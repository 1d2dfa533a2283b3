//! Volumes. Cached ones hold what never changes (agent, host binary, bundle), are named by digest and are filled once; scratch ones
//! belong to one preparation.
//!
//! A volume cannot be renamed, and its labels cannot change. So contents are filled into a volume with a name of their own, and a second,
//! empty volume, the marker, is made last: its name follows from the digest alone and its label names the contents. Making it is atomic in
//! the engine, so of several processes exactly one wins, a marker is looked up in a millisecond without a container, and no file of ours
//! lies in a bundle, where a plugin could see or forge it. Contents without a marker are never mounted.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bollard::models::{Volume, VolumeCreateRequest};
use bollard::query_parameters::ListVolumesOptionsBuilder;
use futures_util::future::try_join_all;
use ocsweep_proto::digest::Digest;
use tokio::sync::OnceCell;

use super::archive::Archive;
use super::engine::{CALL, Engine, within};
use super::error::{ContainerError, Kind, Operation};
use super::guard::{Guard, Object, remove};
use super::labels::{self, Claim};

/// Digits of a digest in a name: enough that nobody can find two contents with the same name.
const NAME_DIGITS: usize = 32;
/// Rounds of looking, filling and losing against another process.
const ROUNDS: usize = 4;
pub(super) const MARKER: &str = ".complete";

/// The name of a volume on the engine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VolumeName(String);

impl VolumeName {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// In process isolation a path stands for a volume.
    pub(crate) fn of_path(path: &std::path::Path) -> Self {
        Self(path.display().to_string())
    }

    /// The path that [`VolumeName::of_path`] was given.
    pub(crate) fn as_path(&self) -> &std::path::Path {
        std::path::Path::new(&self.0)
    }

    #[cfg(test)]
    pub(crate) fn unchecked(name: &str) -> Self {
        Self(name.to_owned())
    }
}

impl fmt::Display for VolumeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a cached volume holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CacheKind {
    /// The agent.
    Agent,
    /// A host binary.
    Host,
    /// A subject.
    Bundle,
}

impl CacheKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Agent, Self::Host, Self::Bundle];

    /// The word in names and labels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Host => "host",
            Self::Bundle => "bundle",
        }
    }

    pub(super) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// The contents of a cached volume, by name.
#[derive(Debug, Clone)]
pub struct Contents {
    /// What they are.
    pub kind: CacheKind,
    /// Their digest.
    pub digest: Digest,
    /// Their size, for the bookkeeping of the cache.
    pub bytes: u64,
}

impl Contents {
    /// `ocsweep-<kind>-<digits>`: what every name of these contents begins with.
    fn stem(&self) -> String {
        let digits: String = self.digest.hex().chars().take(NAME_DIGITS).collect();
        format!("ocsweep-{}-{digits}", self.kind.as_str())
    }

    fn marker(&self) -> String {
        format!("{}{MARKER}", self.stem())
    }

    fn labels(&self, executor: &str) -> HashMap<String, String> {
        [
            (labels::CACHE, self.kind.as_str().to_owned()),
            (labels::DIGEST, self.digest.to_string()),
            (labels::BYTES, self.bytes.to_string()),
            (labels::CREATED, labels::seconds(SystemTime::now()).to_string()),
            (labels::FILLER, executor.to_owned()),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into()
    }
}

/// What this process knows to be complete, and who is filling right now.
#[derive(Debug, Default)]
pub(crate) struct Cache(Mutex<HashMap<String, Arc<OnceCell<VolumeName>>>>);

impl Cache {
    fn cell(&self, stem: String) -> Arc<OnceCell<VolumeName>> {
        let mut cells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(cells.entry(stem).or_default())
    }

    /// A volume is not what it was: look again before its next use.
    pub(super) fn forget(&self, lost: &VolumeName) {
        let mut cells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cells.retain(|_, cell| cell.get() != Some(lost));
    }
}

/// What the engine has for some contents.
enum Found {
    Complete(VolumeName),
    /// The marker names contents that are not there any more.
    Stale,
    Nothing,
}

impl Engine {
    /// The volume that holds these contents, filled by `fill` when no process has done so yet. Calls for the same contents wait for one
    /// fill; when that fails the next of them tries. `fill` gives the same contents each time.
    ///
    /// # Errors
    /// When the contents cannot be read or the engine cannot take them.
    pub async fn ensure_volume(
        &self,
        contents: &Contents,
        fill: impl Fn() -> io::Result<Archive> + Send + Sync,
    ) -> Result<VolumeName, ContainerError> {
        let cell = self.shared.cache.cell(contents.stem());
        let volume = cell.get_or_try_init(|| self.find_or_fill(contents, &fill)).await?.clone();
        self.shared.presence.touch(volume.as_str());
        Ok(volume)
    }

    async fn find_or_fill(
        &self,
        contents: &Contents,
        fill: &(impl Fn() -> io::Result<Archive> + Send + Sync),
    ) -> Result<VolumeName, ContainerError> {
        for _ in 0..ROUNDS {
            match self.find(contents).await? {
                Found::Complete(volume) => return Ok(volume),
                Found::Stale => self.remove_quietly(&contents.marker()).await?,
                Found::Nothing => {
                    if let Some(volume) = self.fill(contents, fill).await? {
                        return Ok(volume);
                    }
                }
            }
        }
        Err(ContainerError::new(Kind::Conflict, Operation::CreateVolume, contents.marker()))
    }

    async fn find(&self, contents: &Contents) -> Result<Found, ContainerError> {
        let Some(marker) = self.inspect_volume(&contents.marker()).await? else { return Ok(Found::Nothing) };
        let Some(name) = marker.labels.get(labels::CONTENT) else { return Ok(Found::Stale) };
        let volume = self.inspect_volume(name).await?;
        // The full digest is compared: the name has only half of it. A volume that the engine made up for a mount has no such label.
        let whole = volume.is_some_and(|volume| volume.labels.get(labels::DIGEST).map(String::as_str) == Some(contents.digest.as_str()));
        Ok(if whole { Found::Complete(VolumeName(name.clone())) } else { Found::Stale })
    }

    /// `None` when another process was faster.
    async fn fill(
        &self,
        contents: &Contents,
        fill: &(impl Fn() -> io::Result<Archive> + Send + Sync),
    ) -> Result<Option<VolumeName>, ContainerError> {
        let mut volume_labels = contents.labels(self.executor());
        let mut guard = Guard::new(&self.shared, Object::Volume, &contents.stem());
        let volume = VolumeName(guard.name().to_owned());
        self.create_volume(volume.as_str(), volume_labels.clone()).await?;
        guard.confirm();
        let archive = fill().map_err(|error| ContainerError::new(Kind::LocalIo, Operation::Upload, volume.as_str()).caused_by(error))?;
        self.upload(&volume, archive).await?;
        volume_labels.insert(labels::CONTENT.to_owned(), volume.as_str().to_owned());
        let marker = self.create_volume(&contents.marker(), volume_labels).await?;
        if marker.labels.get(labels::CONTENT).map(String::as_str) != Some(volume.as_str()) {
            return Ok(None);
        }
        guard.keep();
        Ok(Some(volume))
    }

    /// Whether all of these are still the contents that were found. Asked after a container has them: from then on none can go.
    pub(super) async fn check_cached(&self, volumes: &[&VolumeName]) -> Result<(), ContainerError> {
        let looks = volumes.iter().map(|volume| async move { Ok((*volume, self.inspect_volume(volume.as_str()).await?)) });
        for (name, volume) in try_join_all(looks).await? {
            if !volume.is_some_and(|volume| volume.labels.contains_key(labels::CACHE)) {
                self.shared.cache.forget(name);
                return Err(ContainerError::new(Kind::VolumeLost, Operation::CreateContainer, name.as_str()));
            }
        }
        Ok(())
    }

    /// An empty volume for one preparation, writable by `uid`. It goes with the returned value.
    ///
    /// # Errors
    /// When the engine refuses.
    pub async fn scratch_volume(&self, claim: &Claim, lifetime: Duration, uid: u32) -> Result<ScratchVolume, ContainerError> {
        let mut guard = Guard::new(&self.shared, Object::Volume, "ocsweep-scratch");
        let volume = VolumeName(guard.name().to_owned());
        self.create_volume(volume.as_str(), labels::claimed(claim, self.executor(), SystemTime::now() + lifetime)).await?;
        guard.confirm();
        self.own_volume(&volume, uid).await?;
        Ok(ScratchVolume { volume, guard })
    }

    pub(super) async fn create_volume(&self, name: &str, labels: HashMap<String, String>) -> Result<Volume, ContainerError> {
        let request = VolumeCreateRequest { name: Some(name.to_owned()), labels: Some(labels), ..VolumeCreateRequest::default() };
        within(CALL, Operation::CreateVolume, name, self.shared.docker.create_volume(request)).await
    }

    async fn inspect_volume(&self, name: &str) -> Result<Option<Volume>, ContainerError> {
        match within(CALL, Operation::InspectVolume, name, self.shared.docker.inspect_volume(name)).await {
            Ok(volume) => Ok(Some(volume)),
            Err(error) if error.kind() == Kind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All volumes with a label.
    pub(super) async fn list_volumes(&self, label: &str) -> Result<Vec<Volume>, ContainerError> {
        let filters = HashMap::from([("label", vec![label])]);
        let options = ListVolumesOptionsBuilder::default().filters(&filters).build();
        let list = within(CALL, Operation::ListVolumes, "", self.shared.docker.list_volumes(Some(options))).await?;
        Ok(list.volumes.unwrap_or_default())
    }

    pub(super) async fn remove_quietly(&self, volume: &str) -> Result<(), ContainerError> {
        match remove(&self.shared, Object::Volume, volume).await {
            Err(error) if error.kind() != Kind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// A volume of one preparation. Dropping it removes it in the background.
#[derive(Debug)]
pub struct ScratchVolume {
    volume: VolumeName,
    guard: Guard,
}

impl ScratchVolume {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &VolumeName {
        &self.volume
    }

    /// Removes it and waits for that.
    ///
    /// # Errors
    /// When the engine still refuses after several tries; the reaper will try again.
    pub async fn remove(self) -> Result<(), ContainerError> {
        self.guard.remove().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_labels_follow_from_the_contents() {
        let contents = Contents { kind: CacheKind::Host, digest: Digest::of(b"abc"), bytes: 3 };
        assert_eq!(contents.marker(), "ocsweep-host-ba7816bf8f01cfea414140de5dae2223.complete");
        let labels = contents.labels("me");
        let expected = ["ocsweep.bytes", "ocsweep.cache", "ocsweep.created", "ocsweep.digest", "ocsweep.filler"];
        let mut keys: Vec<&str> = labels.keys().map(String::as_str).collect();
        keys.sort_unstable();
        assert_eq!(keys, expected);
        assert_eq!(labels["ocsweep.digest"], Digest::of(b"abc").to_string());
    }

    #[test]
    fn a_lost_volume_is_forgotten_and_no_other() {
        let cache = Cache::default();
        for name in ["a", "b"] {
            cache.cell(name.to_owned()).set(VolumeName::unchecked(name)).unwrap();
        }
        cache.forget(&VolumeName::unchecked("a"));
        assert_eq!(cache.cell("a".to_owned()).get(), None);
        assert!(cache.cell("b".to_owned()).get().is_some());
    }
}
