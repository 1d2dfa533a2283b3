//! The reaper: removes containers and volumes whose owner is dead or whose time is over, in every state.
//!
//! It must never touch what a living process owns, nor a complete cached volume: only the cache's own clean-up removes those.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, SystemTime};

use bollard::query_parameters::ListContainersOptionsBuilder;

use super::engine::{CALL, Engine, within};
use super::error::{ContainerError, Kind, Operation};
use super::guard::{Object, remove};
use super::labels;
use super::presence::Life;
use super::volume::MARKER;

/// Nothing takes that long to fill.
const FILL_LIMIT: Duration = Duration::from_secs(3600);

/// What a reaper removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reaped {
    /// Containers.
    pub containers: usize,
    /// Volumes of cases, and cached ones that were never completed.
    pub volumes: usize,
    /// Leftovers that could not be removed this time.
    pub failed: usize,
}

impl Engine {
    /// Removes what dead executors left, what is older than its own end, and what this executor's earlier life left under the same id.
    /// Whatever this process owns right now stays.
    ///
    /// # Errors
    /// When the engine cannot list its containers and volumes. A single object that cannot be removed is counted, not an error.
    pub async fn reap(&self) -> Result<Reaped, ContainerError> {
        let mut reaped = Reaped::default();
        let mut needed = HashSet::new();
        for (name, labels) in self.owned_containers().await? {
            if self.is_abandoned(&name, &labels) {
                let gone = self.reap_one(Object::Container, &name).await;
                reaped.note(gone, |reaped| &mut reaped.containers);
                needed.extend(labels.get(labels::EXECUTOR).filter(|_| !gone).cloned());
            }
        }
        for name in self.abandoned_volumes().await? {
            let gone = self.reap_one(Object::Volume, &name).await;
            reaped.note(gone, |reaped| &mut reaped.volumes);
        }
        if reaped.failed == 0 {
            self.shared.presence.bury(|executor| needed.contains(executor));
        }
        Ok(reaped)
    }

    async fn owned_containers(&self) -> Result<Vec<(String, HashMap<String, String>)>, ContainerError> {
        let filters = HashMap::from([("label", vec![labels::EXECUTOR])]);
        let options = ListContainersOptionsBuilder::default().all(true).filters(&filters).build();
        let list = within(CALL, Operation::ListContainers, "", self.shared.docker.list_containers(Some(options))).await?;
        let named = list.into_iter().filter_map(|container| {
            let name = container.names.and_then(|names| names.into_iter().next()).or(container.id)?;
            Some((name.trim_start_matches('/').to_owned(), container.labels.unwrap_or_default()))
        });
        Ok(named.collect())
    }

    async fn abandoned_volumes(&self) -> Result<Vec<String>, ContainerError> {
        let owned = self.list_volumes(labels::EXECUTOR).await?;
        let scratch = owned.into_iter().filter(|volume| self.is_abandoned(&volume.name, &volume.labels)).map(|volume| volume.name);
        let cached = self.list_volumes(labels::CACHE).await?;
        let complete: HashSet<&str> = cached.iter().filter_map(|volume| volume.labels.get(labels::CONTENT)).map(String::as_str).collect();
        let incomplete = cached
            .iter()
            .filter(|volume| !volume.name.ends_with(MARKER) && !complete.contains(volume.name.as_str()))
            .filter(|volume| self.is_given_up(&volume.name, &volume.labels))
            .map(|volume| volume.name.clone());
        Ok(scratch.chain(incomplete).collect())
    }

    fn is_abandoned(&self, name: &str, labels: &HashMap<String, String>) -> bool {
        if self.shared.lock_live().contains(name) {
            return false;
        }
        let executor = labels.get(labels::EXECUTOR).map(String::as_str).unwrap_or_default();
        abandoned(self.shared.presence.life(executor), labels::time(labels, labels::EXPIRES), SystemTime::now())
    }

    fn is_given_up(&self, name: &str, labels: &HashMap<String, String>) -> bool {
        if self.shared.lock_live().contains(name) {
            return false;
        }
        let filler = labels.get(labels::FILLER).map(String::as_str).unwrap_or_default();
        let end = labels::time(labels, labels::CREATED).map(|created| created + FILL_LIMIT);
        abandoned(self.shared.presence.life(filler), end, SystemTime::now())
    }

    /// `false` when it is still there.
    async fn reap_one(&self, object: Object, name: &str) -> bool {
        match remove(&self.shared, object, name).await {
            Ok(()) => true,
            Err(error) if error.kind() == Kind::NotFound => true,
            Err(error) => {
                tracing::warn!(name, %error, "cannot reap");
                false
            }
        }
    }
}

impl Reaped {
    fn note(&mut self, gone: bool, count: impl Fn(&mut Self) -> &mut usize) {
        *(if gone { count(self) } else { &mut self.failed }) += 1;
    }
}

/// Whether nobody can need an object that this process does not own right now.
fn abandoned(life: Life, end: Option<SystemTime>, now: SystemTime) -> bool {
    match life {
        // Of this id, and not among what this process owns: left by an earlier process with the same id.
        Life::Own | Life::Dead => true,
        // The end has a margin after every deadline, so a living owner has lost it.
        Life::Alive | Life::Unknown => end.is_some_and(|end| end < now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_dead_and_the_overdue_are_abandoned() {
        let now = SystemTime::now();
        let (past, future) = (Some(now - Duration::from_secs(1)), Some(now + Duration::from_secs(60)));
        let table = [
            (Life::Own, future, true),
            (Life::Dead, future, true),
            (Life::Dead, None, true),
            (Life::Alive, future, false),
            (Life::Alive, past, true),
            (Life::Unknown, future, false),
            (Life::Unknown, past, true),
            (Life::Unknown, None, false),
        ];
        for (life, end, expected) in table {
            assert_eq!(abandoned(life, end, now), expected, "{life:?} {end:?}");
        }
    }
}
