//! The store: immutable blobs and records under keys, the source of truth of every run. Any backend of `object_store`; a folder for now.
//!
//! It must never hand out a backend's own types, never wait without a deadline, and never write below a key that is not plain.

mod error;
mod key;
mod local;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _, PutMode, PutOptions};

pub use error::{StoreError, StoreErrorKind};

/// The deadline of one call. Far above a healthy call on a slow disk or network, far below the deadlines of a case.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// What came of a conditional put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// The bytes are stored now.
    Stored,
    /// The key was taken; what is there stays.
    Exists,
}

/// A store. Clones share the connection.
#[derive(Debug, Clone)]
pub struct Store {
    backend: Arc<dyn ObjectStore>,
    /// The folder of a local store.
    folder: Option<PathBuf>,
    deadline: Duration,
}

impl Store {
    /// Opens the store at a URL: `file:///absolute/folder`. The folder is made when it is missing.
    ///
    /// # Errors
    /// When the URL names no store that this build can use, or the folder cannot be made.
    pub fn open(url: &str) -> Result<Self, StoreError> {
        let unusable = |text: String| StoreError::new("open", url, StoreErrorKind::Url(text));
        let parsed = url::Url::parse(url).map_err(|error| unusable(error.to_string()))?;
        match parsed.scheme() {
            "file" => Self::local(&parsed.to_file_path().map_err(|()| unusable("it names no absolute folder of this machine".to_owned()))?),
            other => Err(unusable(format!("the scheme {other} is not supported, only file"))),
        }
    }

    /// Opens the store in a folder, which is made when it is missing.
    ///
    /// # Errors
    /// When the folder cannot be made or entered.
    pub fn local(folder: &FilePath) -> Result<Self, StoreError> {
        let name = folder.display().to_string();
        std::fs::create_dir_all(folder).map_err(|error| StoreError::io("open", &name, error))?;
        let folder = folder.canonicalize().map_err(|error| StoreError::io("open", &name, error))?;
        let backend = LocalFileSystem::new_with_prefix(&folder).map_err(|error| StoreError::backend("open", &name, error))?;
        Ok(Self { backend: Arc::new(backend), folder: Some(folder), deadline: DEADLINE })
    }

    /// Stores bytes under a key that nobody has taken yet. Of any number of callers at the same time exactly one gets [`Put::Stored`].
    ///
    /// # Errors
    /// When the key is not plain or the store cannot do it.
    pub async fn put_if_absent(&self, key: &str, bytes: Bytes) -> Result<Put, StoreError> {
        match self.put_as("store", key, bytes, PutMode::Create).await {
            Ok(()) => Ok(Put::Stored),
            Err(error) if error.kind() == &StoreErrorKind::Taken => Ok(Put::Exists),
            Err(error) => Err(error),
        }
    }

    /// Stores bytes under a key, in the place of what is there.
    ///
    /// # Errors
    /// When the key is not plain or the store cannot do it.
    pub async fn put(&self, key: &str, bytes: Bytes) -> Result<(), StoreError> {
        self.put_as("store", key, bytes, PutMode::Overwrite).await
    }

    async fn put_as(&self, operation: &'static str, key: &str, bytes: Bytes, mode: PutMode) -> Result<(), StoreError> {
        let location = self.location(operation, key)?;
        let options = PutOptions { mode, ..PutOptions::default() };
        self.call(operation, key, self.backend.put_opts(&location, bytes.into(), options)).await.map(|_| ())
    }

    /// The bytes under a key, `None` when there are none.
    ///
    /// # Errors
    /// When the key is not plain or the store cannot do it.
    pub async fn get(&self, key: &str) -> Result<Option<Bytes>, StoreError> {
        let location = self.location("read", key)?;
        let read = async { self.backend.get(&location).await?.bytes().await };
        match self.call("read", key, read).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == &StoreErrorKind::Absent => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All keys below a prefix, sorted. A prefix is one or more whole segments; the empty one means everything.
    ///
    /// # Errors
    /// When the prefix is not plain or the store cannot do it.
    pub async fn list(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let location = if prefix.is_empty() { None } else { Some(self.location("list", prefix)?) };
        let mut keys = if let Some(folder) = self.folder.clone() {
            let below = prefix.to_owned();
            self.on_disk("list", prefix, move || local::list(&folder, &below)).await?
        } else {
            let found = self.backend.list(location.as_ref()).try_collect::<Vec<_>>();
            self.call("list", prefix, found).await?.into_iter().map(|meta| meta.location.to_string()).collect()
        };
        // Names that this type never writes are somebody else's files, or half of one of ours.
        keys.retain(|key| key::is_plain(key));
        keys.sort_unstable();
        Ok(keys)
    }

    /// Removes everything below a prefix, which must not be empty. Nothing there is no error.
    ///
    /// # Errors
    /// When the prefix is not plain or the store cannot do it; a part may be gone then.
    pub async fn delete_prefix(&self, prefix: &str) -> Result<(), StoreError> {
        let location = self.location("delete", prefix)?;
        if let Some(folder) = self.folder.clone() {
            let below = prefix.to_owned();
            return self.on_disk("delete", prefix, move || local::remove(&folder, &below)).await;
        }
        let found = self.backend.list(Some(&location)).map_ok(|meta| meta.location).boxed();
        let removed = self.backend.delete_stream(found).try_for_each(|_| async { Ok(()) });
        self.call("delete", prefix, removed).await
    }

    /// Shows that the store keeps its word: a second conditional put changes nothing, of two at the same time one wins, and what was stored
    /// can be read and listed. A store that lies about this loses or mixes outcomes, so nothing may start on it.
    ///
    /// # Errors
    /// [`StoreErrorKind::Unfit`] with what was broken, or the error of a call.
    pub async fn self_test(&self) -> Result<(), StoreError> {
        let prefix = key::self_test_prefix();
        let tested = self.promises(&prefix).await;
        let removed = self.delete_prefix(&prefix).await;
        tested.and(removed)
    }

    async fn promises(&self, prefix: &str) -> Result<(), StoreError> {
        let unfit = |what: &'static str| Err(StoreError::new("test", prefix, StoreErrorKind::Unfit(what)));
        let (first, race) = (format!("{prefix}/first"), format!("{prefix}/race"));
        if self.put_if_absent(&first, Bytes::from_static(b"1")).await? != Put::Stored {
            return unfit("a new key is reported as taken");
        }
        if self.put_if_absent(&first, Bytes::from_static(b"2")).await? != Put::Exists {
            return unfit("a conditional put replaced what was there");
        }
        if self.get(&first).await?.as_deref() != Some(b"1") {
            return unfit("what was stored cannot be read again");
        }
        let (one, other) =
            tokio::join!(self.put_if_absent(&race, Bytes::from_static(b"1")), self.put_if_absent(&race, Bytes::from_static(b"2")));
        if (one? == Put::Stored) == (other? == Put::Stored) {
            return unfit("two conditional puts at the same time did not have one winner");
        }
        if self.list(prefix).await? != [first, race] {
            return unfit("what was stored is not listed");
        }
        Ok(())
    }

    /// The backend's form of a key that is safe to use.
    fn location(&self, operation: &'static str, key: &str) -> Result<Path, StoreError> {
        let location = key::location(operation, key)?;
        match &self.folder {
            Some(folder) if local::is_linked(folder, key) => Err(StoreError::new(operation, key, StoreErrorKind::Link)),
            _ => Ok(location),
        }
    }

    async fn on_disk<T: Send + 'static>(
        &self,
        operation: &'static str,
        key: &str,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let done = async { tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error))) };
        match tokio::time::timeout(self.deadline, done).await {
            Err(_) => Err(StoreError::new(operation, key, StoreErrorKind::Deadline(self.deadline))),
            Ok(result) => result.map_err(|error| StoreError::io(operation, key, error)),
        }
    }

    async fn call<T>(
        &self,
        operation: &'static str,
        key: &str,
        call: impl Future<Output = Result<T, object_store::Error>>,
    ) -> Result<T, StoreError> {
        match tokio::time::timeout(self.deadline, call).await {
            Err(_) => Err(StoreError::new(operation, key, StoreErrorKind::Deadline(self.deadline))),
            Ok(result) => result.map_err(|error| StoreError::backend(operation, key, error)),
        }
    }
}
