//! What preflights have learned, by bundle and binary: the names that a module exports are static, so they are asked for once.
//!
//! Only an import that worked is kept: one that failed may have depended on the moment, and must be able to show otherwise. A wrong entry could only mislead cases of the same bundle, whose code wrote it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use ocsweep_proto::agent::Preflight;
use ocsweep_proto::digest::{Builder, Digest};

/// Bundle, and what else the import depends on: the binary, for a variant also its environment and image.
pub type Key = (Digest, Digest);

/// A cache in memory and, when a directory is given, in files.
#[derive(Debug)]
pub struct PreflightCache {
    known: Mutex<HashMap<Key, Preflight>>,
    directory: Option<PathBuf>,
    /// The agent's digest: another agent may learn otherwise.
    agent: Digest,
}

impl PreflightCache {
    /// A cache for one agent.
    #[must_use]
    pub fn new(directory: Option<PathBuf>, agent: Digest) -> Self {
        Self { known: Mutex::default(), directory, agent }
    }

    /// What is known.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<Preflight> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(preflight) = known.get(key) {
            return Some(preflight.clone());
        }
        let preflight: Preflight = serde_json::from_slice(&std::fs::read(self.file(key)?).ok()?).ok()?;
        known.insert(key.clone(), preflight.clone());
        Some(preflight)
    }

    /// Keeps an import that worked. A file that cannot be written costs the next run a tenth of a second and nothing else.
    pub fn put(&self, key: Key, preflight: Preflight) {
        if !matches!(preflight, Preflight::Imported(_)) {
            return;
        }
        if let Some(file) = self.file(&key)
            && let Ok(json) = serde_json::to_vec(&preflight)
            && let Err(error) = write(&file, &json)
        {
            tracing::debug!(%error, file = %file.display(), "preflight result is not cached");
        }
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(key, preflight);
    }

    fn file(&self, (bundle, binary): &Key) -> Option<PathBuf> {
        let mut name = Builder::default();
        for digest in [&self.agent, bundle, binary] {
            name.field(digest.as_str().as_bytes());
        }
        Some(self.directory.as_ref()?.join(format!("{}.json", name.finish().hex())))
    }
}

fn write(file: &std::path::Path, json: &[u8]) -> std::io::Result<()> {
    let directory = file.parent().unwrap_or_else(|| std::path::Path::new("."));
    std::fs::create_dir_all(directory)?;
    let mut temporary = tempfile::NamedTempFile::new_in(directory)?;
    std::io::Write::write_all(&mut temporary, json)?;
    temporary.persist(file).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_that_worked_survive_in_files_and_others_are_not_kept() {
        let directory = tempfile::tempdir().unwrap();
        let cache = |agent: &str| PreflightCache::new(Some(directory.path().to_owned()), Digest::of(agent.as_bytes()));
        let key = (Digest::of(b"bundle"), Digest::of(b"binary"));
        let first = cache("a");
        for other in [Preflight::Hung, Preflight::Failed(Default::default()), Preflight::Died(String::new())] {
            first.put(key.clone(), other);
            assert_eq!(first.get(&key), None);
        }
        first.put(key.clone(), Preflight::Imported(Vec::new()));
        assert_eq!(cache("a").get(&key), Some(Preflight::Imported(Vec::new())));
        assert_eq!(cache("b").get(&key), None, "another agent looks for itself");
        assert_eq!(cache("a").get(&(key.1.clone(), key.0)), None);
    }
}
