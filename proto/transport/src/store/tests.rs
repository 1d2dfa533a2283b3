//! What every backend must show, the quirks of a folder, and backends that lie, hang or are full.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMode,
    PutMultipartOptions, PutOptions, PutPayload, PutResult,
};
use ocsweep_proto::verdict::Reason;
use proptest::prelude::*;

use super::{Put, Store, StoreErrorKind, key};

fn bytes(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

fn on(backend: impl ObjectStore) -> Store {
    Store { backend: Arc::new(backend), folder: None, deadline: Duration::from_secs(5) }
}

/// The conformance suite.
async fn keeps_its_promises(store: &Store) {
    assert_eq!(store.get("sweeps/a/1.json").await.unwrap(), None);
    assert_eq!(store.list("sweeps").await.unwrap(), Vec::<String>::new());
    store.delete_prefix("sweeps").await.unwrap();
    assert_eq!(store.put_if_absent("sweeps/a/1.json", bytes("one")).await.unwrap(), Put::Stored);
    assert_eq!(store.put_if_absent("sweeps/a/1.json", bytes("two")).await.unwrap(), Put::Exists);
    assert_eq!(store.get("sweeps/a/1.json").await.unwrap(), Some(bytes("one")));
    store.put("sweeps/a/1.json", bytes("three")).await.unwrap();
    assert_eq!(store.get("sweeps/a/1.json").await.unwrap(), Some(bytes("three")));
    for key in ["sweeps/ab/2.json", "sweeps/a/@musl/x", "other/1"] {
        store.put(key, Bytes::new()).await.unwrap();
    }
    assert_eq!(store.list("sweeps").await.unwrap(), ["sweeps/a/1.json", "sweeps/a/@musl/x", "sweeps/ab/2.json"]);
    // A prefix is whole segments.
    assert_eq!(store.list("sweeps/a").await.unwrap(), ["sweeps/a/1.json", "sweeps/a/@musl/x"]);
    store.delete_prefix("sweeps/a").await.unwrap();
    assert_eq!(store.list("").await.unwrap(), ["other/1", "sweeps/ab/2.json"]);
    assert_eq!(store.put_if_absent("sweeps/a/1.json", bytes("new")).await.unwrap(), Put::Stored);
    store.self_test().await.unwrap();
    assert_eq!(store.list("self-test").await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn memory_keeps_its_promises() {
    keeps_its_promises(&on(InMemory::new())).await;
}

#[tokio::test]
async fn a_folder_keeps_its_promises_under_any_name() {
    let root = tempfile::tempdir().unwrap();
    for name in ["plain", "with space", "pct%20x", "hash#1", "ünï", "q?&"] {
        let folder = root.path().join(name).join("store");
        keeps_its_promises(&Store::local(&folder).unwrap()).await;
        assert!(folder.join("other/1").is_file(), "{name} was encoded");
        assert!(!folder.join("self-test").exists());
        let url = url::Url::from_file_path(&folder).unwrap();
        assert_eq!(Store::open(url.as_str()).unwrap().list("other").await.unwrap(), ["other/1"]);
    }
    let names: BTreeSet<_> = std::fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 6, "a folder was made beside: {names:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_conditional_puts_one_wins() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::local(root.path()).unwrap();
    for round in 0..50 {
        let key = format!("race/{round}");
        let puts = (0..8).map(|n| {
            let (store, key) = (store.clone(), key.clone());
            tokio::spawn(async move { (n, store.put_if_absent(&key, Bytes::from(format!("{n}").repeat(10_000))).await.unwrap()) })
        });
        let winners: Vec<_> =
            futures_util::future::join_all(puts).await.into_iter().map(Result::unwrap).filter(|(_, put)| *put == Put::Stored).collect();
        assert_eq!(winners.len(), 1, "{winners:?}");
        assert_eq!(store.get(&key).await.unwrap().unwrap(), format!("{}", winners[0].0).repeat(10_000));
    }
    assert_eq!(std::fs::read_dir(root.path().join("race")).unwrap().count(), 50, "half-written files were left");
}

#[tokio::test]
async fn a_half_written_file_is_neither_listed_nor_left() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::local(root.path()).unwrap();
    store.put("a/b/1.json", bytes("x")).await.unwrap();
    // What a process that is killed during a put leaves.
    std::fs::write(root.path().join("a/b/1.json#1"), "half").unwrap();
    std::fs::write(root.path().join("a/b/2.json#7"), "half").unwrap();
    assert_eq!(store.list("a").await.unwrap(), ["a/b/1.json"]);
    store.put("a/b/1.json", bytes("y")).await.unwrap();
    assert_eq!(store.put_if_absent("a/b/2.json", bytes("z")).await.unwrap(), Put::Stored);
    store.delete_prefix("a/b").await.unwrap();
    assert!(!root.path().join("a/b").exists());
    assert!(root.path().exists());
}

#[tokio::test]
async fn files_of_others_are_not_listed() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::local(root.path()).unwrap();
    store.put("a/1", bytes("x")).await.unwrap();
    for name in ["a b", "pct%20", "hash#x"] {
        std::fs::write(root.path().join("a").join(name), "").unwrap();
    }
    assert_eq!(store.list("").await.unwrap(), ["a/1"]);
}

#[tokio::test]
async fn no_link_leads_out_of_the_folder() {
    use std::os::unix::fs::symlink;
    let root = tempfile::tempdir().unwrap();
    let outside = root.path().join("outside");
    std::fs::create_dir_all(outside.join("deep")).unwrap();
    std::fs::write(outside.join("keep"), "keep").unwrap();
    std::fs::write(outside.join("deep/keep"), "keep").unwrap();
    // The folder itself may be a link that its owner made.
    std::fs::create_dir(root.path().join("real")).unwrap();
    symlink(root.path().join("real"), root.path().join("store")).unwrap();
    let store = Store::local(&root.path().join("store")).unwrap();
    store.put("a/b/1", bytes("x")).await.unwrap();
    symlink(&outside, root.path().join("real/sweeps")).unwrap();
    symlink(outside.join("keep"), root.path().join("real/a/file")).unwrap();
    symlink(&outside, root.path().join("real/a/b/link")).unwrap();
    symlink("..", root.path().join("real/a/b/loop")).unwrap();
    for key in ["sweeps", "sweeps/deep", "sweeps/keep", "a/file", "a/b/link/keep", "a/b/loop/1"] {
        for error in [
            store.get(key).await.unwrap_err(),
            store.put(key, bytes("x")).await.unwrap_err(),
            store.put_if_absent(key, bytes("x")).await.unwrap_err(),
            store.list(key).await.unwrap_err(),
            store.delete_prefix(key).await.unwrap_err(),
        ] {
            assert_eq!(error.kind(), &StoreErrorKind::Link, "{key}");
        }
    }
    assert_eq!(store.list("").await.unwrap(), ["a/b/1"]);
    store.delete_prefix("a").await.unwrap();
    assert!(!root.path().join("real/a").exists());
    assert_eq!(std::fs::read_to_string(outside.join("keep")).unwrap(), "keep");
    assert_eq!(std::fs::read_to_string(outside.join("deep/keep")).unwrap(), "keep");
}

#[tokio::test]
async fn folders_that_became_empty_go_with_the_last_key() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::local(root.path()).unwrap();
    for key in ["a/b/c/1", "a/d", "x/y/1"] {
        store.put(key, bytes("x")).await.unwrap();
    }
    for prefix in ["a/b/c", "x/y"] {
        store.delete_prefix(prefix).await.unwrap();
    }
    assert!(!root.path().join("a/b").exists() && root.path().join("a/d").is_file() && !root.path().join("x").exists());
    store.delete_prefix("a/d").await.unwrap();
    assert!(root.path().join("a/d").is_file(), "a prefix is no key");
}

#[tokio::test]
async fn keys_that_are_not_plain_are_refused_before_anything_happens() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::local(&root.path().join("store")).unwrap();
    std::fs::write(root.path().join("outside"), "keep").unwrap();
    let long = "a".repeat(241);
    for key in [
        "",
        "/",
        "/a",
        "a/",
        "a//b",
        "..",
        "../outside",
        "a/../../outside",
        ".",
        "a/./b",
        "a\\b",
        "a b",
        "a#1",
        "a%2e",
        "a\0",
        "ä",
        "a\n",
        &long,
    ] {
        assert_eq!(store.put(key, bytes("x")).await.unwrap_err().kind(), &StoreErrorKind::Key, "{key:?}");
        assert_eq!(store.put_if_absent(key, bytes("x")).await.unwrap_err().kind(), &StoreErrorKind::Key, "{key:?}");
        assert_eq!(store.get(key).await.unwrap_err().kind(), &StoreErrorKind::Key, "{key:?}");
        assert_eq!(store.delete_prefix(key).await.unwrap_err().kind(), &StoreErrorKind::Key, "{key:?}");
        assert!(key.is_empty() || store.list(key).await.is_err(), "{key:?}");
    }
    assert_eq!(std::fs::read_to_string(root.path().join("outside")).unwrap(), "keep");
    assert_eq!(std::fs::read_dir(root.path().join("store")).unwrap().count(), 0);
}

proptest! {
    #[test]
    fn a_plain_key_stays_below_its_root(key in "[a-c./@#%\\\\ -]{0,12}") {
        if key::is_plain(&key) {
            let location = Path::from(key.as_str());
            prop_assert_eq!(location.as_ref(), key.as_str(), "the backend encodes it");
            let inside = std::path::Path::new(&key).components().all(|part| matches!(part, std::path::Component::Normal(_)));
            prop_assert!(inside, "{}", key);
        }
    }
}

#[test]
fn urls_that_name_no_store() {
    for (url, expected) in [
        ("s3://bucket/prefix", "the scheme s3 is not supported, only file"),
        ("store", "relative URL without a base"),
        ("file://host/store", "it names no absolute folder of this machine"),
    ] {
        let error = Store::open(url).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(!error.is_retryable());
    }
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("file"), "").unwrap();
    assert!(Store::local(&root.path().join("file")).is_err());
}

/// A backend with one fault.
#[derive(Debug)]
struct Faulty {
    inner: InMemory,
    fault: Fault,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    /// Replaces on a conditional put.
    Replaces,
    /// Looks first and puts afterwards.
    Races,
    /// Says that every key is taken.
    Taken,
    /// Never answers a read or a put.
    Hangs,
    /// Says stored and forgets.
    Forgets,
    /// Lists nothing.
    ListsNothing,
    Io(io::ErrorKind),
}

impl fmt::Display for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("faulty")
    }
}

#[async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(&self, location: &Path, payload: PutPayload, mut options: PutOptions) -> object_store::Result<PutResult> {
        match self.fault {
            Fault::Replaces => options.mode = PutMode::Overwrite,
            Fault::Races if options.mode == PutMode::Create => {
                let taken = self.inner.head(location).await.is_ok();
                tokio::task::yield_now().await;
                if !taken {
                    options.mode = PutMode::Overwrite;
                }
            }
            Fault::Taken => {
                return Err(object_store::Error::AlreadyExists { path: location.to_string(), source: "taken".into() });
            }
            Fault::Hangs => std::future::pending().await,
            Fault::Forgets => {
                return self.inner.put_opts(&Path::from("elsewhere"), payload, PutOptions::default()).await;
            }
            Fault::Io(kind) => {
                return Err(object_store::Error::Generic { store: "faulty", source: Box::new(Wrapped(io::Error::from(kind))) });
            }
            Fault::ListsNothing | Fault::Races => {}
        }
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(&self, location: &Path, options: PutMultipartOptions) -> object_store::Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> object_store::Result<GetResult> {
        if self.fault == Fault::Hangs {
            std::future::pending::<()>().await;
        }
        self.inner.get_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, object_store::Result<Path>>) -> BoxStream<'static, object_store::Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        match self.fault {
            Fault::ListsNothing => Box::pin(futures_util::stream::empty()),
            _ => self.inner.list(prefix),
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> object_store::Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> object_store::Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

/// The cause of a failure lies some levels deep.
#[derive(Debug, thiserror::Error)]
#[error("wrapped")]
struct Wrapped(#[source] io::Error);

fn with(fault: Fault) -> Store {
    on(Faulty { inner: InMemory::new(), fault })
}

#[tokio::test]
async fn the_self_test_finds_a_store_that_lies() {
    for (fault, expected) in [
        (Fault::Replaces, "a conditional put replaced what was there"),
        (Fault::Races, "two conditional puts at the same time did not have one winner"),
        (Fault::Taken, "a new key is reported as taken"),
        (Fault::Forgets, "a conditional put replaced what was there"),
        (Fault::ListsNothing, "what was stored is not listed"),
    ] {
        let error = with(fault).self_test().await.unwrap_err();
        assert_eq!(error.kind(), &StoreErrorKind::Unfit(expected), "{fault:?}");
        assert_eq!((error.reason(), error.is_retryable()), (Reason::Store, false));
    }
}

#[tokio::test(start_paused = true)]
async fn every_call_has_a_deadline() {
    let (store, start) = (with(Fault::Hangs), tokio::time::Instant::now());
    for error in [store.get("a/1").await.unwrap_err(), store.put("a/1", bytes("x")).await.unwrap_err()] {
        assert_eq!(error.kind(), &StoreErrorKind::Deadline(Duration::from_secs(5)));
        assert!(error.is_retryable());
        assert!(error.to_string().ends_with("\"a/1\" in the store: no answer within 5 s"), "{error}");
    }
    assert_eq!(start.elapsed(), Duration::from_secs(10));
}

#[tokio::test]
async fn a_full_disk_is_the_machines_fault_and_named_so() {
    for (kind, reason, retryable) in [
        (io::ErrorKind::StorageFull, Reason::DiskFullHost, false),
        (io::ErrorKind::QuotaExceeded, Reason::DiskFullHost, false),
        (io::ErrorKind::PermissionDenied, Reason::Store, false),
        (io::ErrorKind::ConnectionReset, Reason::Store, true),
    ] {
        let error = with(Fault::Io(kind)).put("a/1", bytes("x")).await.unwrap_err();
        assert_eq!((error.reason(), error.is_retryable()), (reason, retryable), "{kind:?}");
        assert!(std::error::Error::source(&error).is_some());
    }
}
