//! The cache against a server that stands for a registry, and once against the configured registry.

use ocsweep_proto::axes::Line;
use ocsweep_proto::verdict::Reason;
use serde_json::json;
use tar::EntryType;

use super::super::archive::tests::tarball;
use super::super::gc::{GcLimits, plan_gc};
use ocsweep_proto::axes::Flavour;

use super::super::Arch;
use super::*;

const X64: Platform = Platform { arch: Arch::X64, flavour: Flavour::Glibc };
const ARM64: Platform = Platform { arch: Arch::Arm64, flavour: Flavour::Glibc };
use crate::registry::testing::{Reply, TestServer};

struct World {
    server: TestServer,
    cache: BinaryCache,
    _dir: tempfile::TempDir,
}

const ELF: &[u8] = b"ELF content";

async fn world() -> World {
    let server = TestServer::start().await;
    let platforms = json!({"optionalDependencies": {
        "opencode-linux-x64-musl": "1.0.0", "opencode-linux-x64": "1.0.0", "opencode-linux-x64-baseline": "1.0.0", "opencode-darwin-x64": "1.0.0"}});
    server.publish("opencode-ai", &["1.0.0"], &platforms, b"unused");
    server.publish("opencode-linux-x64", &["1.0.0"], &json!({}), &tarball(&[("package/bin/opencode", EntryType::Regular, ELF, "")]));
    let dir = tempfile::tempdir().unwrap();
    World { server, cache: BinaryCache::at(dir.path().join("binaries")), _dir: dir }
}

impl World {
    async fn fetch(&self, version: &str) -> Result<HostBinary, BinaryError> {
        self.cache.fetch(&self.server.client(), &super::super::exact(version).unwrap(), X64).await
    }

    fn downloads(&self) -> usize {
        self.server.count("/files/opencode-linux-x64.tgz")
    }
}

#[tokio::test]
async fn a_binary_is_downloaded_once_and_then_needs_no_network() {
    let mut world = world().await;
    let binary = world.fetch("1.0.0").await.unwrap();
    assert_eq!(fs::read(&binary.path).unwrap(), ELF);
    assert_eq!(binary.digest, Digest::of(ELF));
    assert_eq!(binary.path, world.cache.root().join(binary.digest.hex()).join("opencode"));
    assert_eq!(fs::metadata(&binary.path).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(binary.origin.as_ref().unwrap().package, "opencode-linux-x64");
    assert_eq!(fs::read_dir(world.cache.temp_directory()).unwrap().count(), 0);
    let client = world.server.client();
    world.server = TestServer::start().await;
    let again = world.cache.fetch(&client, &super::super::exact("1.0.0").unwrap(), X64).await.unwrap();
    assert_eq!(again, binary);
}

#[tokio::test]
async fn two_at_once_download_once() {
    let world = world().await;
    let (a, b) = tokio::join!(world.fetch("1.0.0"), world.fetch("1.0.0"));
    assert_eq!(a.unwrap(), b.unwrap());
    assert_eq!(world.downloads(), 1);
}

fn replace(path: &Path, content: &[u8]) {
    fs::write(path, content).unwrap();
    let later = SystemTime::now() + Duration::from_secs(5);
    File::options().append(true).open(path).unwrap().set_modified(later).unwrap();
}

#[tokio::test]
async fn a_changed_binary_is_not_used() {
    let world = world().await;
    let path = world.fetch("1.0.0").await.unwrap().path;
    for bad in [b"ELF c0ntent".as_slice(), b"short", b""] {
        let before = world.downloads();
        replace(&path, bad);
        assert_eq!(fs::read(world.fetch("1.0.0").await.unwrap().path).unwrap(), ELF);
        assert_eq!(world.downloads(), before + 1);
    }
    replace(&path, ELF);
    let before = world.downloads();
    world.fetch("1.0.0").await.unwrap();
    assert_eq!(world.downloads(), before, "a new time alone is no change");
}

#[tokio::test]
async fn a_cut_binary_is_not_used_although_its_time_is_right() {
    let world = world().await;
    let path = world.fetch("1.0.0").await.unwrap().path;
    let checked = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, "cut").unwrap();
    File::options().append(true).open(&path).unwrap().set_modified(checked).unwrap();
    assert_eq!(fs::read(world.fetch("1.0.0").await.unwrap().path).unwrap(), ELF);
}

#[tokio::test]
async fn a_link_in_the_cache_is_not_followed() {
    let world = world().await;
    let path = world.fetch("1.0.0").await.unwrap().path;
    // The name of the target is as long as the binary, so that the size alone tells nothing.
    let target = "opencode-cp";
    assert_eq!(target.len(), ELF.len());
    fs::rename(&path, path.with_file_name(target)).unwrap();
    std::os::unix::fs::symlink(target, &path).unwrap();
    let again = world.fetch("1.0.0").await.unwrap().path;
    assert!(fs::symlink_metadata(again).unwrap().is_file());
}

#[tokio::test]
async fn a_broken_record_is_ignored() {
    let world = world().await;
    world.fetch("1.0.0").await.unwrap();
    fs::write(world.cache.index_file("opencode-ai@1.0.0.linux-x64"), "{").unwrap();
    world.fetch("1.0.0").await.unwrap();
    assert_eq!(world.downloads(), 2);
}

#[tokio::test]
async fn errors_say_which_version() {
    let world = world().await;
    let error = world.fetch("1.0.1").await.unwrap_err();
    assert_eq!(error.to_string(), "cannot fetch opencode 1.0.1");
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(source, "package opencode-ai has no version 1.0.1 (nearest: 1.0.0)");
    let arm = world.cache.fetch(&world.server.client(), &super::super::exact("1.0.0").unwrap(), ARM64).await.unwrap_err();
    assert!(arm.to_string().starts_with("opencode 1.0.0 has no package for linux-arm64; it has: opencode-darwin-x64, "), "{arm}");
    world.server.route("/files/opencode-linux-x64.tgz", &[Reply::Status(502)]);
    assert_eq!(world.fetch("1.0.0").await.unwrap_err().reason(), Reason::Registry);
}

#[tokio::test]
async fn wrong_bytes_leave_nothing_behind() {
    let world = world().await;
    world.server.route("/files/opencode-linux-x64.tgz", &[Reply::Body(b"other".to_vec())]);
    let error = world.fetch("1.0.0").await.unwrap_err();
    assert!(matches!(error, BinaryError::Fetch { source: RegistryError::Integrity { .. }, .. }), "{error:?}");
    assert_eq!(fs::read_dir(world.cache.temp_directory()).unwrap().count(), 0);
    assert!(world.cache.entries().unwrap().is_empty());
}

#[tokio::test]
async fn gc_removes_the_binary_and_its_record() {
    let world = world().await;
    assert!(world.cache.entries().unwrap().is_empty());
    let binary = world.fetch("1.0.0").await.unwrap();
    let entries = world.cache.entries().unwrap();
    assert_eq!(entries.len(), 1);
    assert_eq!((&entries[0].digest, entries[0].bytes), (&binary.digest, ELF.len() as u64));
    let limits = GcLimits { cap_bytes: 0, max_age: Duration::ZERO, grace: Duration::ZERO };
    for entry in plan_gc(entries, limits, SystemTime::now() + Duration::from_secs(1)) {
        world.cache.remove(&entry.digest).unwrap();
    }
    assert!(world.cache.entries().unwrap().is_empty());
    assert!(world.cache.records().is_empty());
    world.cache.remove(&binary.digest).unwrap();
    world.fetch("1.0.0").await.unwrap();
    assert_eq!(world.downloads(), 2);
}

#[tokio::test]
async fn old_left_overs_go_and_young_ones_stay() {
    let world = world().await;
    fs::create_dir_all(world.cache.temp_directory()).unwrap();
    for (name, age) in [("old", STALE + Duration::from_secs(60)), ("young", Duration::from_secs(60))] {
        let file = File::create(world.cache.temp_directory().join(name)).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }
    world.fetch("1.0.0").await.unwrap();
    let left: Vec<_> = fs::read_dir(world.cache.temp_directory()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["young"]);
}

#[tokio::test]
async fn the_override_must_be_a_program() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("opencode");
    assert!(override_binary(&path).await.is_err());
    fs::write(&path, ELF).unwrap();
    assert!(override_binary(&path).await.unwrap_err().to_string().ends_with("is not executable"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(override_binary(&path).await.unwrap().digest, Digest::of(ELF));
    assert!(override_binary(dir.path()).await.unwrap_err().to_string().ends_with("is not a regular file"));
}

#[test]
fn the_cache_is_where_the_user_keeps_caches() {
    let root = |pairs: &[(&str, &str)]| BinaryCache::of_user(&pairs.iter().copied().collect()).map(|cache| cache.root().to_owned());
    assert_eq!(root(&[("XDG_CACHE_HOME", "/c"), ("HOME", "/h")]), Some("/c/ocsweep/binaries".into()));
    assert_eq!(root(&[("XDG_CACHE_HOME", "rel"), ("HOME", "/h")]), Some("/h/.cache/ocsweep/binaries".into()));
    assert_eq!(root(&[]), None);
}

/// The configured registry itself: word, platform package, integrity, cache.
#[tokio::test]
async fn network_the_configured_registry_gives_a_real_binary() {
    let env = Environment::of_process();
    let registry = Registry::discover(&env, Path::new("/")).await.unwrap();
    let newest = super::super::resolve(&registry, &"v1".parse().unwrap(), Line::V1).await.unwrap();
    assert!(newest.resolved.starts_with("1."), "{newest:?}");
    let dir = tempfile::tempdir().unwrap();
    let cache = BinaryCache::at(dir.path().to_owned());
    let host = super::super::exact("1.18.33").unwrap();
    let binary = cache.fetch(&registry, &host, X64).await.unwrap();
    assert!(binary.bytes > 50_000_000);
    assert_eq!(binary.origin.as_ref().unwrap().package, "opencode-linux-x64");
    assert_eq!(cache.cached(&host, X64).await.unwrap(), Some(binary));
}
