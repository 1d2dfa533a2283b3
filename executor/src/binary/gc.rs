//! What the clean-up of caches removes. Pure: entries, limits and the time in, entries to remove out.

use std::time::{Duration, SystemTime};

use ocsweep_proto::digest::Digest;

/// What a cache entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CacheKind {
    /// A host binary in the cache directory.
    Binary,
    /// A stored bundle.
    Bundle,
    /// A volume of the container engine.
    Volume,
}

/// One thing that can be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheEntry {
    /// What it is.
    pub kind: CacheKind,
    /// The content.
    pub digest: Digest,
    /// Its size.
    pub bytes: u64,
    /// When a case last used it.
    pub last_used: SystemTime,
}

/// How much is kept.
#[derive(Debug, Clone, Copy)]
pub struct GcLimits {
    /// Bytes of all entries together.
    pub cap_bytes: u64,
    /// Entries that were not used for this long go.
    pub max_age: Duration,
    /// Entries that were used within this time stay whatever the cap says: a run may be about to use them.
    pub grace: Duration,
}

impl Default for GcLimits {
    fn default() -> Self {
        const DAY: u64 = 24 * 60 * 60;
        Self { cap_bytes: 10_000_000_000, max_age: Duration::from_secs(30 * DAY), grace: Duration::from_secs(15 * 60) }
    }
}

/// The entries to remove: those beyond the age, then the longest unused until the rest is within the cap.
#[must_use]
pub fn plan_gc(mut entries: Vec<CacheEntry>, limits: GcLimits, now: SystemTime) -> Vec<CacheEntry> {
    // A time in the future counts as now: a wrong clock must not keep a thing for ever, nor remove it at once.
    let unused = |entry: &CacheEntry| now.duration_since(entry.last_used).unwrap_or_default();
    entries.sort_by(|a, b| a.last_used.cmp(&b.last_used).then_with(|| (a.kind, &a.digest).cmp(&(b.kind, &b.digest))));
    let mut total: u64 = entries.iter().map(|entry| entry.bytes).fold(0, u64::saturating_add);
    let mut removed = Vec::new();
    for entry in entries {
        let age = unused(&entry);
        let goes = age > limits.max_age || total > limits.cap_bytes;
        if goes && age >= limits.grace {
            total = total.saturating_sub(entry.bytes);
            removed.push(entry);
        }
    }
    removed
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOUR: u64 = 3600;

    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)
    }

    fn entry(name: &str, bytes: u64, hours: u64) -> CacheEntry {
        CacheEntry {
            kind: CacheKind::Binary,
            digest: Digest::of(name.as_bytes()),
            bytes,
            last_used: now() - Duration::from_secs(hours * HOUR),
        }
    }

    fn limits(cap_bytes: u64) -> GcLimits {
        GcLimits { cap_bytes, max_age: Duration::from_secs(100 * HOUR), grace: Duration::from_secs(HOUR) }
    }

    fn removed(entries: &[CacheEntry], cap: u64) -> Vec<u64> {
        plan_gc(entries.to_vec(), limits(cap), now()).iter().map(|entry| entry.bytes).collect()
    }

    #[test]
    fn the_longest_unused_goes_first() {
        let entries = [entry("a", 1, 5), entry("b", 2, 50), entry("c", 4, 20)];
        assert_eq!(removed(&entries, 7), Vec::<u64>::new());
        assert_eq!(removed(&entries, 6), [2]);
        assert_eq!(removed(&entries, 4), [2, 4]);
        assert_eq!(removed(&entries, 0), [2, 4, 1]);
    }

    #[test]
    fn age_counts_without_the_cap_and_grace_against_it() {
        let future = CacheEntry { last_used: now() + Duration::from_secs(HOUR), ..entry("d", 8, 0) };
        let entries = [entry("a", 1, 101), entry("b", 2, 0), future];
        assert_eq!(removed(&entries, 1000), [1]);
        assert_eq!(removed(&entries, 0), [1]);
    }

    proptest! {
        #[test]
        fn what_stays_is_within_the_cap_and_newer(sizes in prop::collection::vec((1_u64..100, 1_u64..99), 0..12), cap in 0_u64..500) {
            let entries: Vec<CacheEntry> = sizes.iter().enumerate().map(|(i, (bytes, hours))| entry(&i.to_string(), *bytes, *hours)).collect();
            let removed = plan_gc(entries.clone(), limits(cap), now());
            let kept: Vec<&CacheEntry> = entries.iter().filter(|entry| !removed.contains(entry)).collect();
            prop_assert!(kept.iter().map(|entry| entry.bytes).sum::<u64>() <= cap);
            let newest_removed = removed.iter().map(|entry| entry.last_used).max();
            prop_assert!(kept.iter().all(|entry| newest_removed.is_none_or(|removed| entry.last_used >= removed)));
        }
    }
}
