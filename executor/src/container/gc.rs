//! What the cache of volumes holds, for whoever decides what to throw away. The sizes are those of the contents when they were filled: the
//! engine's own accounting walks all files of all volumes.
//!
//! It must never decide by itself.

use std::collections::HashMap;
use std::time::SystemTime;

use ocsweep_proto::digest::Digest;

use super::engine::Engine;
use super::error::{ContainerError, Kind};
use super::guard::{Object, remove};
use super::labels;
use super::volume::{CacheKind, MARKER};

/// One complete cached volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedVolume {
    /// What it holds.
    pub kind: CacheKind,
    /// Digest of the contents.
    pub digest: Digest,
    /// Size of the contents.
    pub bytes: u64,
    /// When it was filled.
    pub created: SystemTime,
    /// When it was last used from this state directory, else when it was filled.
    pub last_used: SystemTime,
    volume: String,
    marker: String,
}

impl Engine {
    /// All complete cached volumes.
    ///
    /// # Errors
    /// When the engine cannot list its volumes.
    pub async fn cache_volumes(&self) -> Result<Vec<CachedVolume>, ContainerError> {
        let volumes = self.list_volumes(labels::CACHE).await?;
        let markers = volumes.into_iter().filter(|volume| volume.name.ends_with(MARKER));
        let mut cached: Vec<CachedVolume> = markers.filter_map(|marker| parse(&marker.name, &marker.labels)).collect();
        for volume in &mut cached {
            volume.last_used = self.shared.presence.last_used(&volume.volume).unwrap_or(volume.created);
        }
        Ok(cached)
    }

    /// Removes a cached volume. `false` when a container uses it, of whatever process.
    ///
    /// # Errors
    /// When the engine fails otherwise.
    pub async fn remove_cached(&self, cached: &CachedVolume) -> Result<bool, ContainerError> {
        // Contents first: a marker without contents is noticed by whoever looks, contents without a marker would be filled a second time.
        match remove(&self.shared, Object::Volume, &cached.volume).await {
            Err(error) if error.kind() == Kind::Conflict => return Ok(false),
            Err(error) if error.kind() != Kind::NotFound => return Err(error),
            _ => {}
        }
        self.remove_quietly(&cached.marker).await?;
        self.shared.presence.forget(&cached.volume);
        Ok(true)
    }
}

fn parse(marker: &str, labels: &HashMap<String, String>) -> Option<CachedVolume> {
    let created = labels::time(labels, labels::CREATED)?;
    Some(CachedVolume {
        kind: CacheKind::parse(labels.get(labels::CACHE)?)?,
        digest: Digest::try_from(labels.get(labels::DIGEST)?.clone()).ok()?,
        bytes: labels.get(labels::BYTES)?.parse().ok()?,
        created,
        last_used: created,
        volume: labels.get(labels::CONTENT)?.clone(),
        marker: marker.to_owned(),
    })
}
