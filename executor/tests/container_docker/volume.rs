//! Cached and scratch volumes.

use std::io::{self, Cursor, Read};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ocsweep_executor::container::{Archive, CacheKind, Contents, Engine, Kind, PlainExit, VolumeMount, VolumeName};
use ocsweep_proto::digest::Digest;

use super::support::{Bench, claim, contents, docker, options, plain};

fn unique(bench: &Bench, name: &str) -> (Contents, Vec<u8>) {
    contents(CacheKind::Bundle, &[(name, bench.engine.executor().as_bytes())])
}

fn count(digest: &Digest) -> usize {
    docker(&["volume", "ls", "-q", "--filter", &format!("label=ocsweep.digest={digest}")]).lines().count()
}

async fn shell(bench: &Bench, volume: &VolumeName, read_only: bool, script: &str) -> (PlainExit, String) {
    let mut spec = plain(script);
    // Root without any capability: the owner of what is in a cached volume.
    spec.uid = if read_only { 0 } else { 1000 };
    spec.volumes = vec![VolumeMount { volume: volume.clone(), target: "/v".to_owned(), read_only }];
    let end = bench.engine.run_plain(&spec, &bench.shutdown).await.unwrap();
    (end.exit, end.output.text)
}

#[tokio::test]
async fn docker_eight_at_once_fill_once() {
    let Some(bench) = Bench::new().await else { return };
    let (wanted, bytes) = unique(&bench, "a");
    let fills = AtomicUsize::new(0);
    let fill = || {
        fills.fetch_add(1, Ordering::SeqCst);
        Ok(Archive::read(Cursor::new(bytes.clone())))
    };
    let calls = (0..8).map(|_| bench.engine.ensure_volume(&wanted, fill));
    let volumes = futures_util::future::try_join_all(calls).await.unwrap();
    assert_eq!(fills.load(Ordering::SeqCst), 1);
    assert!(volumes.iter().all(|volume| *volume == volumes[0]));

    // Another process finds it, and does not fill.
    let other = Engine::connect(&options(&bench.state)).await.unwrap();
    let found = other.ensure_volume(&wanted, || Err(io::Error::other("filled twice"))).await.unwrap();
    assert_eq!(found, volumes[0]);
    assert_eq!(count(&wanted.digest), 2, "contents and marker");
    bench.end().await;
}

#[tokio::test]
async fn docker_two_processes_at_once_agree_on_one_volume() {
    let Some(bench) = Bench::new().await else { return };
    let (wanted, bytes) = unique(&bench, "a");
    let other = Engine::connect(&options(&bench.state)).await.unwrap();
    let fill = || Ok(Archive::read(Cursor::new(bytes.clone())));
    let (mine, theirs) = tokio::try_join!(bench.engine.ensure_volume(&wanted, fill), other.ensure_volume(&wanted, fill)).unwrap();
    assert_eq!(mine, theirs);
    assert!(other.shutdown(Duration::from_secs(10)).await.is_empty());
    assert!(bench.engine.shutdown(Duration::from_secs(10)).await.is_empty());
    assert_eq!(count(&wanted.digest), 2, "contents and marker of the winner");
    for cached in bench.engine.cache_volumes().await.unwrap() {
        if cached.digest == wanted.digest {
            assert!(bench.engine.remove_cached(&cached).await.unwrap());
        }
    }
    bench.end().await;
}

#[tokio::test]
async fn docker_an_interrupted_fill_is_never_mounted() {
    let Some(bench) = Bench::new().await else { return };
    let (wanted, bytes) = unique(&bench, "a");
    struct Breaks(Cursor<Vec<u8>>);
    impl Read for Breaks {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(io::Error::other("the disk is gone")),
                count => Ok(count),
            }
        }
    }
    let half = bytes[..700].to_vec();
    let error = bench.engine.ensure_volume(&wanted, || Ok(Archive::read(Breaks(Cursor::new(half.clone()))))).await.unwrap_err();
    assert_eq!(error.kind(), Kind::LocalIo, "{error:?}");
    assert!(bench.engine.shutdown(Duration::from_secs(10)).await.is_empty());
    assert_eq!(count(&wanted.digest), 0);
    // A later call starts from nothing.
    let volume = bench.engine.ensure_volume(&wanted, || Ok(Archive::read(Cursor::new(bytes.clone())))).await.unwrap();
    let (exit, text) = shell(&bench, &volume, true, "ls -A /v").await;
    assert_eq!((exit, text.as_str()), (PlainExit::Code(0), "a\n"));
    bench.end().await;
}

#[tokio::test]
async fn docker_a_dropped_fill_leaves_nothing() {
    let Some(bench) = Bench::new().await else { return };
    let (wanted, _) = unique(&bench, "a");
    struct Forever;
    impl Read for Forever {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            // A tar stream of empty files without an end.
            let header = super::support::tar(&[("f", b"")]);
            let count = buffer.len().min(512);
            buffer[..count].copy_from_slice(&header[..count]);
            Ok(count)
        }
    }
    let filling = bench.engine.ensure_volume(&wanted, || Ok(Archive::read(Forever)));
    assert!(tokio::time::timeout(Duration::from_secs(1), filling).await.is_err());
    assert!(bench.engine.shutdown(Duration::from_secs(20)).await.is_empty());
    assert_eq!(count(&wanted.digest), 0);
    bench.end().await;
}

#[tokio::test]
async fn docker_a_large_file_arrives_whole_and_cannot_be_written() {
    let Some(bench) = Bench::new().await else { return };
    let file = tempfile::NamedTempFile::new().unwrap();
    let data: Vec<u8> = (0..24_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    std::fs::write(file.path(), [bench.engine.executor().as_bytes(), &data].concat()).unwrap();
    let digest = Digest::of(&std::fs::read(file.path()).unwrap());
    let wanted = Contents { kind: CacheKind::Host, digest: digest.clone(), bytes: 24_000_012 };
    let volume = bench.engine.ensure_volume(&wanted, || Archive::file(file.path(), "opencode", 0o755)).await.unwrap();
    let script = "cd /v; sha256sum opencode | cut -c1-64; stat -c '%U %a' opencode . ; for f in opencode new; do touch $f 2>&1; done";
    let (_, text) = shell(&bench, &volume, true, script).await;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..3], [digest.hex(), "root 755", "root 755"]);
    assert!(lines[3..].len() == 2 && lines[3..].iter().all(|line| line.contains("Read-only file system")), "{text}");
    bench.end().await;
}

#[tokio::test]
async fn docker_a_scratch_volume_is_written_read_and_removed() {
    let Some(bench) = Bench::new().await else { return };
    let scratch = bench.engine.scratch_volume(&claim(), Duration::from_secs(60), 1000).await.unwrap();
    let files = super::support::tar(&[("in.txt", b"hello")]);
    bench.engine.upload(scratch.name(), Archive::read(Cursor::new(files))).await.unwrap();
    let script = "set -e; cd /v; mkdir out; tr a-z A-Z <in.txt >out/up.txt; ln -s /etc/passwd link";
    let (exit, text) = shell(&bench, scratch.name(), false, script).await;
    assert_eq!(exit, PlainExit::Code(0), "{text}");

    let mut bytes = Vec::new();
    bench.engine.download(scratch.name(), "", 1 << 20, &mut bytes).await.unwrap();
    let mut names: Vec<String> =
        tar::Archive::new(bytes.as_slice()).entries().unwrap().map(|entry| entry.unwrap().path().unwrap().display().to_string()).collect();
    names.sort();
    assert_eq!(names, ["./", "./in.txt", "./link", "./out/", "./out/up.txt"]);

    let mut bytes = Vec::new();
    bench.engine.download(scratch.name(), "out", 1 << 20, &mut bytes).await.unwrap();
    let mut text = String::new();
    let mut archive = tar::Archive::new(bytes.as_slice());
    archive.entries().unwrap().nth(1).unwrap().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "HELLO");

    let error = bench.engine.download(scratch.name(), "", 100, &mut Vec::new()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::TooLarge(100));
    let error = bench.engine.download(scratch.name(), "nothing", 100, &mut Vec::new()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::NotFound);
    scratch.remove().await.unwrap();
    bench.end().await;
}

#[tokio::test]
async fn docker_the_cache_can_be_counted_and_cleaned() {
    let Some(bench) = Bench::new().await else { return };
    let (wanted, bytes) = unique(&bench, "a");
    bench.engine.ensure_volume(&wanted, || Ok(Archive::read(Cursor::new(bytes.clone())))).await.unwrap();
    let all = bench.engine.cache_volumes().await.unwrap();
    let cached = all.iter().find(|cached| cached.digest == wanted.digest).unwrap();
    assert_eq!((cached.kind, cached.bytes), (CacheKind::Bundle, wanted.bytes));
    assert!(cached.last_used >= cached.created);

    // In use, also by a container that was never started.
    let volume = docker(&["volume", "ls", "-q", "--filter", &format!("label=ocsweep.digest={}", wanted.digest)]);
    let contents = volume.lines().find(|name| !name.ends_with(".complete")).unwrap();
    let user = docker(&["create", "-v", &format!("{contents}:/v"), &ocsweep_executor::container::image::run()]);
    let kept = bench.engine.remove_cached(cached).await;
    docker(&["rm", &user]);
    assert!(!kept.unwrap());
    assert!(bench.engine.remove_cached(cached).await.unwrap());
    assert_eq!(count(&wanted.digest), 0);
    bench.end().await;
}
