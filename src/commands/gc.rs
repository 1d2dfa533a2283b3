//! `gc`: removes cached binaries and volumes, the longest unused first, until what is left fits. Never touches what a container uses.

use std::time::{Duration, SystemTime};

use ocsweep_executor::binary::BinaryCache;
use ocsweep_executor::binary::gc::{CacheEntry, CacheKind, GcLimits, plan_gc};
use ocsweep_executor::container::{CachedVolume, ConnectOptions, Engine};
use ocsweep_proto::exit::ExitCode;

use crate::cli::GcArgs;
use crate::output::Printer;
use crate::run::Refusal;
use crate::settings::Settings;

const CONNECT: Duration = Duration::from_secs(10);
const DAY: u64 = 24 * 60 * 60;

pub(super) async fn gc(args: &GcArgs, printer: Printer, settings: &Settings) -> anyhow::Result<ExitCode> {
    let cap_bytes = bytes(&args.max_size).ok_or_else(|| {
        Refusal::configuration(format!("Invalid --max-size {:?}: expected a number of bytes with an optional K, M or G.", args.max_size))
    })?;
    let limits = GcLimits { cap_bytes, max_age: Duration::from_secs(args.max_age.saturating_mul(DAY)), ..GcLimits::default() };
    let cache = BinaryCache::at(settings.cache.join("binaries"));
    let options = ConnectOptions { executor: None, state: settings.cache.join("state"), deadline: CONNECT };
    let engine = match Engine::connect(&options).await {
        Ok(engine) => Some(engine),
        Err(error) => {
            printer.warn(&format!("volumes are left alone: {error}"));
            None
        }
    };
    let volumes = match &engine {
        Some(engine) => engine.cache_volumes().await?,
        None => Vec::new(),
    };
    let mut entries = cache.entries()?;
    entries.extend(volumes.iter().map(as_entry));
    let total: u64 = entries.iter().map(|entry| entry.bytes).sum();
    let goes = plan_gc(entries, limits, SystemTime::now());
    let mut removed = Vec::new();
    for entry in goes {
        if args.dry_run || remove(&entry, &cache, engine.as_ref(), &volumes).await? {
            removed.push(entry);
        }
    }
    if let Some(engine) = engine {
        engine.shutdown(CONNECT).await;
    }
    show(&removed, total, args.dry_run, printer);
    Ok(ExitCode::Ok)
}

fn as_entry(volume: &CachedVolume) -> CacheEntry {
    CacheEntry { kind: CacheKind::Volume, digest: volume.digest.clone(), bytes: volume.bytes, last_used: volume.last_used }
}

async fn remove(entry: &CacheEntry, cache: &BinaryCache, engine: Option<&Engine>, volumes: &[CachedVolume]) -> anyhow::Result<bool> {
    if entry.kind != CacheKind::Volume {
        cache.remove(&entry.digest)?;
        return Ok(true);
    }
    let Some(engine) = engine else { return Ok(false) };
    let mut removed = false;
    for volume in volumes.iter().filter(|volume| volume.digest == entry.digest) {
        removed |= engine.remove_cached(volume).await?;
    }
    Ok(removed)
}

fn show(removed: &[CacheEntry], total: u64, dry_run: bool, printer: Printer) {
    let freed: u64 = removed.iter().map(|entry| entry.bytes).sum();
    if printer.json() {
        let list: Vec<_> = removed
            .iter()
            .map(|entry| serde_json::json!({"kind": word(entry.kind), "digest": entry.digest.as_str(), "bytes": entry.bytes}))
            .collect();
        return printer
            .data(&serde_json::json!({"dryRun": dry_run, "removed": list, "freedBytes": freed, "totalBytes": total}).to_string());
    }
    for entry in removed {
        printer.data(&format!("{} {} {} bytes", word(entry.kind), entry.digest.short(), entry.bytes));
    }
    let verb = if dry_run { "would free" } else { "freed" };
    printer.say(&format!("{verb} {freed} of {total} bytes"));
}

const fn word(kind: CacheKind) -> &'static str {
    match kind {
        CacheKind::Binary => "binary",
        CacheKind::Bundle => "bundle",
        CacheKind::Volume => "volume",
    }
}

/// `500`, `20K`, `3M`, `10G`, in powers of 1000.
fn bytes(text: &str) -> Option<u64> {
    let (digits, unit) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (&text[..at], 1_000),
        (at, 'm' | 'M') => (&text[..at], 1_000_000),
        (at, 'g' | 'G') => (&text[..at], 1_000_000_000),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes() {
        for (text, expected) in [
            ("500", Some(500)),
            ("10G", Some(10_000_000_000)),
            ("2k", Some(2000)),
            ("", None),
            ("G", None),
            ("-1", None),
            ("1T", None),
            ("99999999999G", None),
        ] {
            assert_eq!(bytes(text), expected, "{text}");
        }
    }
}
