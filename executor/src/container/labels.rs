//! Labels that tie containers and volumes to the case they belong to, so that whatever is left behind can be found and removed.
//!
//! Names here are a contract with the clean-up script and with other versions of this program: they never change their meaning.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ocsweep_proto::digest::Digest;
use ocsweep_proto::ids::{CaseId, SweepId};

pub(crate) const SWEEP: &str = "ocsweep.sweep";
pub(crate) const CASE: &str = "ocsweep.case";
pub(crate) const ATTEMPT: &str = "ocsweep.attempt";
/// The executor whose process owns the object while it lives.
pub(crate) const EXECUTOR: &str = "ocsweep.executor";
/// Seconds since the epoch after which nobody can need the object any more.
pub(crate) const EXPIRES: &str = "ocsweep.expires";
/// The kind of a cached volume. Never together with [`EXECUTOR`].
pub(crate) const CACHE: &str = "ocsweep.cache";
/// The full digest of a cached volume's contents.
pub(crate) const DIGEST: &str = "ocsweep.digest";
/// Bytes of a cached volume's contents.
pub(crate) const BYTES: &str = "ocsweep.bytes";
/// Seconds since the epoch at which a cached volume was made.
pub(crate) const CREATED: &str = "ocsweep.created";
/// The executor that fills or filled a cached volume.
pub(crate) const FILLER: &str = "ocsweep.filler";
/// On a completion marker: the volume whose contents are complete.
pub(crate) const CONTENT: &str = "ocsweep.content";

/// The case that an object belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Claim {
    /// The run.
    pub sweep: SweepId,
    /// The case.
    pub case: CaseId,
    /// The attempt, from 1.
    pub attempt: u32,
}

/// The labels of everything that one process owns: the executor and an end.
pub(crate) fn owned(executor: &str, expires: SystemTime) -> HashMap<String, String> {
    HashMap::from([(EXECUTOR.to_owned(), executor.to_owned()), (EXPIRES.to_owned(), seconds(expires).to_string())])
}

/// The labels of everything that belongs to a case.
pub(crate) fn claimed(claim: &Claim, executor: &str, expires: SystemTime) -> HashMap<String, String> {
    let mut labels = owned(executor, expires);
    labels.insert(SWEEP.to_owned(), claim.sweep.to_string());
    labels.insert(CASE.to_owned(), claim.case.to_string());
    labels.insert(ATTEMPT.to_owned(), claim.attempt.to_string());
    labels
}

/// Whole seconds since the epoch; 0 before it.
pub(crate) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The time of a label with seconds since the epoch.
pub(crate) fn time(labels: &HashMap<String, String>, key: &str) -> Option<SystemTime> {
    let seconds: u64 = labels.get(key)?.parse().ok()?;
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

/// Twelve hexadecimal digits that no other process or call has. The standard library seeds each `RandomState` from the system.
pub(crate) fn nonce() -> String {
    let mut seed = Vec::with_capacity(32);
    for _ in 0..2 {
        seed.extend(RandomState::new().build_hasher().finish().to_be_bytes());
    }
    seed.extend(std::process::id().to_be_bytes());
    seed.extend(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_be_bytes());
    Digest::of(&seed).short().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_has_exactly_five_labels() {
        let claim = Claim { sweep: SweepId::new("s1").unwrap(), case: CaseId::new("load-1").unwrap(), attempt: 2 };
        let labels = claimed(&claim, "me", UNIX_EPOCH + Duration::from_secs(77));
        let expected = [("sweep", "s1"), ("case", "load-1"), ("attempt", "2"), ("executor", "me"), ("expires", "77")];
        assert_eq!(labels, expected.map(|(key, value)| (format!("ocsweep.{key}"), value.to_owned())).into());
        assert_eq!(time(&labels, EXPIRES), Some(UNIX_EPOCH + Duration::from_secs(77)));
    }

    #[test]
    fn nonsense_is_no_time() {
        for text in ["", "x", "-1", "99999999999999999999999"] {
            assert_eq!(time(&HashMap::from([(EXPIRES.to_owned(), text.to_owned())]), EXPIRES), None, "{text}");
        }
    }

    #[test]
    fn nonces_differ() {
        let all: std::collections::HashSet<String> = (0..1000).map(|_| nonce()).collect();
        assert_eq!(all.len(), 1000);
    }
}
