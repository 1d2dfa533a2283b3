//! What can go wrong with the store, and whose fault it is. It must not lose the key or the cause.

use std::error::Error;
use std::fmt;
use std::io;
use std::time::Duration;

use ocsweep_proto::verdict::Reason;

type Source = Box<dyn Error + Send + Sync>;

/// A call of the store that failed.
#[derive(Debug)]
pub struct StoreError {
    operation: &'static str,
    key: String,
    kind: StoreErrorKind,
    source: Option<Source>,
}

/// Why it failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// The URL names no usable store.
    #[error("not a usable store URL: {0}")]
    Url(String),
    /// The key is not plain.
    #[error("not a plain key")]
    Key,
    /// A symlink in the store's folder stands in the way; nothing in the store is one.
    #[error("a symlink is in the way")]
    Link,
    /// Nothing is stored under the key.
    #[error("nothing is stored there")]
    Absent,
    /// Something is stored under the key already.
    #[error("something is stored there already")]
    Taken,
    /// The store refuses this caller.
    #[error("the store refuses access")]
    Denied,
    /// The disk is full, or a quota is reached.
    #[error("the disk is full")]
    DiskFull,
    /// The call took longer than its deadline.
    #[error("no answer within {} s", .0.as_secs())]
    Deadline(Duration),
    /// The store breaks a promise that everything relies on.
    #[error("the store cannot be used: {0}")]
    Unfit(&'static str),
    /// The store failed in another way.
    #[error("the store failed")]
    Failed,
}

impl StoreError {
    pub(super) fn new(operation: &'static str, key: &str, kind: StoreErrorKind) -> Self {
        Self { operation, key: key.to_owned(), kind, source: None }
    }

    pub(super) fn backend(operation: &'static str, key: &str, error: object_store::Error) -> Self {
        let kind = kind_of(&error);
        Self { operation, key: key.to_owned(), kind, source: Some(Box::new(error)) }
    }

    pub(super) fn io(operation: &'static str, key: &str, error: io::Error) -> Self {
        let kind = kind_of_io(&error).unwrap_or(StoreErrorKind::Failed);
        Self { operation, key: key.to_owned(), kind, source: Some(Box::new(error)) }
    }

    /// Why it failed.
    #[must_use]
    pub const fn kind(&self) -> &StoreErrorKind {
        &self.kind
    }

    /// The key, prefix or URL of the call.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The reason of a case that ends because of this.
    #[must_use]
    pub const fn reason(&self) -> Reason {
        match self.kind {
            StoreErrorKind::DiskFull => Reason::DiskFullHost,
            _ => Reason::Store,
        }
    }

    /// Whether the same call can succeed a little later without anybody doing anything.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        match self.kind {
            StoreErrorKind::Deadline(_) | StoreErrorKind::Failed => true,
            StoreErrorKind::Url(_)
            | StoreErrorKind::Key
            | StoreErrorKind::Link
            | StoreErrorKind::Absent
            | StoreErrorKind::Taken
            | StoreErrorKind::Denied
            | StoreErrorKind::DiskFull
            | StoreErrorKind::Unfit(_) => false,
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} {:?} in the store: {}", self.operation, self.key, self.kind)
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

fn kind_of(error: &object_store::Error) -> StoreErrorKind {
    match error {
        object_store::Error::NotFound { .. } => StoreErrorKind::Absent,
        object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. } => StoreErrorKind::Taken,
        object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => StoreErrorKind::Denied,
        other => causes(other).find_map(|cause| cause.downcast_ref::<io::Error>().and_then(kind_of_io)).unwrap_or(StoreErrorKind::Failed),
    }
}

fn kind_of_io(error: &io::Error) -> Option<StoreErrorKind> {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some(StoreErrorKind::DiskFull),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Some(StoreErrorKind::Denied),
        _ => None,
    }
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}
