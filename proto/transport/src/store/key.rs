//! Which texts are keys. Backends disagree on everything but plain names (a folder encodes `%` and hides `#1`), so nothing else passes.

use object_store::path::Path;

use super::error::{StoreError, StoreErrorKind};

/// The longest segment that every file system takes, with room for the suffix of a half-written file.
const MAX_SEGMENT: usize = 240;
/// The longest key of the object stores.
const MAX_KEY: usize = 1024;

/// The backend's form of a key.
pub(super) fn location(operation: &'static str, key: &str) -> Result<Path, StoreError> {
    if is_plain(key) { Ok(Path::from(key)) } else { Err(StoreError::new(operation, key, StoreErrorKind::Key)) }
}

/// Segments of letters, digits and `._@+-`, none of them `.` or `..`, joined by single slashes.
pub(super) fn is_plain(key: &str) -> bool {
    key.len() <= MAX_KEY && key.split('/').all(is_plain_segment)
}

fn is_plain_segment(segment: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._@+-".contains(&byte);
    (1..=MAX_SEGMENT).contains(&segment.len()) && segment.bytes().all(allowed) && segment != "." && segment != ".."
}

/// A prefix that no other self-test uses, on this machine or another.
pub(super) fn self_test_prefix() -> String {
    use std::hash::{BuildHasher as _, Hasher as _};
    // The one source of randomness in the standard library.
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    format!("self-test/{}-{random:016x}", std::process::id())
}
