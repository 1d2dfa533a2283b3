//! Bundles from disks and archives, and the inputs that each guard stops.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use tar::EntryType;

use super::contents::Contents;
use super::*;

fn options() -> BundleOptions {
    BundleOptions::default()
}

fn write(root: &Path, path: &str, content: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn checkout() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    write(root, "package.json", r#"{"name": "p", "main": "index.js"}"#);
    write(root, "index.js", "export {}");
    write(root, "bin/run", "#!/bin/sh");
    fs::set_permissions(root.join("bin/run"), fs::Permissions::from_mode(0o755)).unwrap();
    write(root, "odd\nname #%20 ü", "x");
    write(root, &format!("{0}/{0}/{0}", "d".repeat(100)), "deep");
    fs::create_dir(root.join("empty")).unwrap();
    symlink("../index.js", root.join("bin/link")).unwrap();
    symlink(root.join("index.js"), root.join("bin/absolute")).unwrap();
    symlink("nothing", root.join("dangling")).unwrap();
    for secret in [".env", "a/.env.local", ".npmrc", ".git/config", ".opencode-ci/out/results.json", "results/x"] {
        write(root, secret, "secret");
    }
    dir
}

fn tar_of(bundle: &Bundle) -> Vec<u8> {
    write_tar(bundle, Vec::new()).unwrap()
}

fn names(bundle: &Bundle) -> Vec<String> {
    bundle.tree.iter().map(|(path, _)| String::from_utf8_lossy(path).into_owned()).collect()
}

#[test]
fn everything_is_packed_but_secrets_and_output() {
    let dir = checkout();
    let with_output = BundleOptions { exclude: vec!["results".to_owned()], ..options() };
    let bundle = scan_blocking(dir.path(), &with_output).unwrap();
    let d = "d".repeat(100);
    let expected = [
        ".opencode-ci",
        "a",
        "bin",
        "bin/absolute",
        "bin/link",
        "bin/run",
        "dangling",
        &d,
        &format!("{d}/{d}"),
        &format!("{d}/{d}/{d}"),
        "empty",
        "index.js",
        "odd\nname #%20 ü",
        "package.json",
    ];
    assert_eq!(names(&bundle), expected);
    assert_eq!(bundle.package.name(), Some("p"));
    assert!(!tar_of(&bundle).windows(6).any(|window| window == b"secret"));
    assert_eq!(bundle.tree.get(b"bin/absolute"), Some(&Node::Link(b"../index.js".to_vec())));
}

#[test]
fn an_archive_of_a_bundle_is_the_same_bundle() {
    let dir = checkout();
    let bundle = scan_blocking(dir.path(), &options()).unwrap();
    let archive = tar_of(&bundle);
    let again = scan_tar(archive.as_slice(), "", dir.path(), &options()).unwrap();
    assert_eq!((&again.digest, again.bytes, &again.tree, &again.package), (&bundle.digest, bundle.bytes, &bundle.tree, &bundle.package));
    assert_eq!(tar_of(&again), archive);
}

#[test]
fn the_digest_knows_content_modes_and_targets_and_no_times() {
    let digest = |change: &dyn Fn(&Path)| {
        let dir = checkout();
        change(dir.path());
        scan_blocking(dir.path(), &options()).unwrap().digest
    };
    let plain = digest(&|_| {});
    assert_eq!(
        plain,
        digest(&|root| fs::File::open(root.join("index.js"))
            .unwrap()
            .set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(9))
            .unwrap())
    );
    assert_eq!(plain, digest(&|root| fs::set_permissions(root.join("index.js"), fs::Permissions::from_mode(0o600)).unwrap()));
    assert_eq!(plain, digest(&|root| write(root, ".env", "other")));
    let changes: [&dyn Fn(&Path); 6] = [
        &|root| write(root, "index.js", "export {};"),
        &|root| write(root, "more", ""),
        &|root| fs::create_dir(root.join("more")).unwrap(),
        &|root| fs::rename(root.join("index.js"), root.join("index.ts")).unwrap(),
        &|root| fs::set_permissions(root.join("index.js"), fs::Permissions::from_mode(0o744)).unwrap(),
        &|root| {
            fs::remove_file(root.join("dangling")).unwrap();
            symlink("other", root.join("dangling")).unwrap();
        },
    ];
    for (i, change) in changes.iter().enumerate() {
        assert_ne!(plain, digest(*change), "change {i}");
    }
}

#[test]
fn links_out_of_the_root_fail_with_their_name() {
    for (target, problem) in [("../../etc/passwd", "outside"), ("/etc/passwd", "outside"), ("bin/../..", "outside"), ("loop", "itself")] {
        let dir = checkout();
        symlink(target, dir.path().join("loop")).unwrap();
        let error = scan_blocking(dir.path(), &options()).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with(&format!("the symbolic link loop -> {target} ")) && text.contains(problem), "{text}");
        assert!(error.hint().is_some());
    }
}

#[test]
fn special_files_are_left_out_with_a_warning() {
    let dir = checkout();
    rustix::fs::mknodat(rustix::fs::CWD, dir.path().join("pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("socket")).unwrap();
    let mut bundle = scan_blocking(dir.path(), &options()).unwrap();
    bundle.warnings.sort();
    assert_eq!(bundle.warnings, ["not packed: pipe is a pipe", "not packed: socket is a socket"]);
    assert!(bundle.tree.get(b"pipe").is_none());
}

#[test]
fn size_and_number_are_bounded_before_anything_is_read() {
    let dir = checkout();
    write(dir.path(), "node_modules/big", &"x".repeat(5000));
    let capped = |bytes, entries| scan_blocking(dir.path(), &BundleOptions { caps: BundleCaps { bytes, entries }, ..options() });
    let text = capped(4000, 1000).unwrap_err().to_string();
    assert_eq!(text, "the plugin and what lies beside it have more than 4000 bytes; the largest part is node_modules with 5000");
    assert!(matches!(capped(1 << 20, 5), Err(BundleError::TooMany { limit: 5 })));
    let file = fs::File::create(dir.path().join("sparse")).unwrap();
    file.set_len(1 << 40).unwrap();
    assert!(matches!(scan_blocking(dir.path(), &options()), Err(BundleError::TooLarge { .. })));
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let dir = checkout();
    let mut contents = Contents::new(&options());
    let files = scan::walk(dir.path(), &options(), &mut contents).unwrap();
    let index = files.into_iter().find(|file| file.path == b"index.js").unwrap();
    fs::remove_file(dir.path().join("index.js")).unwrap();
    let error = scan::add_file(dir.path(), index, &mut contents).unwrap_err();
    assert_eq!(error.to_string(), "cannot read index.js");
    let error = scan_blocking(&dir.path().join("nowhere"), &options()).unwrap_err();
    assert!(matches!(error, BundleError::Unreadable { .. }));
}

#[test]
fn a_file_that_becomes_something_else_is_never_followed() {
    let changes: [&dyn Fn(&Path); 3] =
        [&|index| symlink("/etc/hostname", index).unwrap(), &|index| symlink("copy.js", index).unwrap(), &|index| {
            rustix::fs::mknodat(rustix::fs::CWD, index, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap()
        }];
    for (i, change) in changes.iter().enumerate() {
        let dir = checkout();
        fs::copy(dir.path().join("index.js"), dir.path().join("copy.js")).unwrap();
        let mut contents = Contents::new(&options());
        let files = scan::walk(dir.path(), &options(), &mut contents).unwrap();
        let index = files.into_iter().find(|file| file.path == b"index.js").unwrap();
        fs::remove_file(dir.path().join("index.js")).unwrap();
        change(&dir.path().join("index.js"));
        assert!(scan::add_file(dir.path(), index, &mut contents).is_err(), "change {i}");
    }
}

#[test]
fn a_change_between_reading_and_writing_is_seen() {
    let changes: [&dyn Fn(&Path); 5] = [
        &|index| fs::write(index, "export {} // longer").unwrap(),
        &|index| fs::write(index, "exp").unwrap(),
        &|index| fs::write(index, "EXPORT {}").unwrap(),
        &|index| {
            fs::remove_file(index).unwrap();
            symlink("package.json", index).unwrap();
        },
        &|index| {
            fs::remove_file(index).unwrap();
            rustix::fs::mknodat(rustix::fs::CWD, index, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
        },
    ];
    for (i, change) in changes.iter().enumerate() {
        let dir = checkout();
        let bundle = scan_blocking(dir.path(), &options()).unwrap();
        change(&dir.path().join("index.js"));
        let text = write_tar(&bundle, std::io::sink()).unwrap_err().to_string();
        assert!(text.contains("index.js"), "change {i}: {text}");
    }
}

/// One raw entry of an archive: name, type, content, link name. Names are written as they are, tricks included.
type Raw<'a> = (&'a str, EntryType, &'a [u8], &'a str);

fn archive(entries: &[Raw<'_>]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, kind, content, link) in entries {
        let mut header = tar::Header::new_gnu();
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.as_gnu_mut().unwrap().linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_entry_type(*kind);
        header.set_size(content.len() as u64);
        header.set_mode(0o4755);
        header.set_cksum();
        builder.append(&header, *content).unwrap();
    }
    builder.into_inner().unwrap()
}

fn read(entries: &[Raw<'_>], prefix: &str) -> Result<Bundle, BundleError> {
    let caps = BundleCaps { bytes: 10_000, entries: 50 };
    scan_tar(archive(entries).as_slice(), prefix, &std::env::temp_dir(), &BundleOptions { caps, ..options() })
}

const FILE: EntryType = EntryType::Regular;

#[test]
fn an_archive_of_a_container_directory() {
    let entries: &[Raw<'_>] = &[
        ("subject/", EntryType::Directory, b"", ""),
        ("subject/a/f", FILE, b"content", ""),
        ("subject/a/hard", EntryType::Link, b"", "subject/a/f"),
        ("subject/soft", EntryType::Symlink, b"", "./a//f"),
        ("subject/.npmrc", FILE, b"secret", ""),
        ("subject/package.json", FILE, br#"{"name": "p"}"#, ""),
    ];
    let bundle = read(entries, "subject").unwrap();
    assert_eq!(names(&bundle), ["a", "a/f", "a/hard", "package.json", "soft"]);
    assert_eq!(bundle.package.name(), Some("p"));
    let clean = tar_of(&bundle);
    let mut found = Vec::new();
    for entry in tar::Archive::new(clean.as_slice()).entries().unwrap() {
        let mut entry = entry.unwrap();
        let mut content = String::new();
        std::io::Read::read_to_string(&mut entry, &mut content).unwrap();
        found.push((entry.path().unwrap().display().to_string(), content, entry.header().mode().unwrap()));
    }
    assert_eq!(found[1], ("a/f".to_owned(), "content".to_owned(), 0o755), "set-user-id is gone");
    assert_eq!(found[2], ("a/hard".to_owned(), "content".to_owned(), 0o755));
}

#[test]
fn path_tricks_in_archives_are_refused() {
    let tricks: &[(&str, &[Raw<'_>])] = &[
        ("absolute", &[("/etc/x", FILE, b"x", "")]),
        ("climbs", &[("a/../../x", FILE, b"x", "")]),
        ("climbs", &[("../x", EntryType::Directory, b"", "")]),
        ("climbs", &[("h", EntryType::Link, b"", "../../etc/passwd")]),
        ("hard link to no file", &[("h", EntryType::Link, b"", "later"), ("later", FILE, b"x", "")]),
        ("hard link to no file", &[("d", EntryType::Directory, b"", ""), ("h", EntryType::Link, b"", "d")]),
        ("outside of the root", &[("l", EntryType::Symlink, b"", "../x")]),
        ("outside of the root", &[("l", EntryType::Symlink, b"", "/etc")]),
        ("outside of the root", &[("d/l", EntryType::Symlink, b"", ".."), ("m", EntryType::Symlink, b"", "d/l/..")]),
        ("no directory", &[("l", EntryType::Symlink, b"", "d"), ("l/x", FILE, b"x", "")]),
        ("no directory", &[("f", FILE, b"", ""), ("f/x", FILE, b"x", "")]),
        ("twice", &[("f", FILE, b"a", ""), ("f", FILE, b"b", "")]),
        ("twice", &[("f", FILE, b"a", ""), ("./f", EntryType::Symlink, b"", "x")]),
        ("neither file", &[("d", EntryType::Char, b"", "")]),
        ("neither file", &[("d", EntryType::Block, b"", "")]),
        ("neither file", &[("d", EntryType::Fifo, b"", "")]),
    ];
    for (rule, entries) in tricks {
        let text = read(entries, "").unwrap_err().to_string();
        assert!(text.contains(rule), "{rule}: {text}");
    }
    for outside in ["other/x", "subjectx", "x"] {
        let text = read(&[(outside, FILE, b"x", "")], "subject").unwrap_err().to_string();
        assert!(text.contains("outside of the archive's directory"), "{outside}: {text}");
    }
}

#[test]
fn archives_cannot_grow_without_bound() {
    assert!(matches!(read(&[("f", FILE, &[0; 10_001], "")], ""), Err(BundleError::TooLarge { limit: 10_000, .. })));
    let hard: Vec<(String, EntryType)> = (0..5).map(|i| (format!("h{i}"), EntryType::Link)).collect();
    let mut entries: Vec<Raw<'_>> = vec![("f", FILE, &[1; 4000], "")];
    entries.extend(hard.iter().map(|(name, kind)| (name.as_str(), *kind, b"".as_slice(), "f")));
    assert!(matches!(read(&entries, ""), Err(BundleError::TooLarge { .. })));
    let many: Vec<String> = (0..60).map(|i| format!("d{i}")).collect();
    let entries: Vec<Raw<'_>> = many.iter().map(|name| (name.as_str(), EntryType::Directory, b"".as_slice(), "")).collect();
    assert!(matches!(read(&entries, ""), Err(BundleError::TooMany { limit: 50 })));
}

#[test]
fn a_sparse_entry_counts_as_what_it_unpacks_to() {
    let mut header = tar::Header::new_gnu();
    header.set_path("sparse").unwrap();
    header.set_entry_type(EntryType::GNUSparse);
    header.set_size(0);
    header.set_mode(0o644);
    let gnu = header.as_gnu_mut().unwrap();
    gnu.realsize.copy_from_slice(b"77777777777\0");
    gnu.sparse[0].offset.copy_from_slice(b"77777777777\0");
    gnu.sparse[0].numbytes.copy_from_slice(b"00000000000\0");
    header.set_cksum();
    let mut bytes = header.as_bytes().to_vec();
    bytes.resize(bytes.len() + 1024, 0);
    let options = BundleOptions { caps: BundleCaps { bytes: 10_000, entries: 50 }, ..options() };
    let result = scan_tar(bytes.as_slice(), "", &std::env::temp_dir(), &options);
    assert!(matches!(result, Err(BundleError::TooLarge { .. })), "{result:?}");
}

#[test]
fn a_broken_off_archive_is_no_bundle() {
    let whole = archive(&[("a", FILE, b"content", ""), ("b", FILE, b"content", "")]);
    let scan = |length: usize| scan_tar(&whole[..length], "", &std::env::temp_dir(), &options());
    assert!(scan(whole.len()).is_ok());
    // After the first file's block, in a header, in a content, and at nothing at all.
    for length in [1024 - 505, 1536, 700, 515, 1, 0] {
        assert!(matches!(scan(length), Err(BundleError::Archive { .. })), "{length}");
    }
}

#[test]
fn scripts_that_did_not_run_are_found_on_the_way() {
    let dir = checkout();
    write(dir.path(), "node_modules/x/package.json", r#"{"name": "x", "scripts": {"postinstall": "node p"}}"#);
    assert!(scan_blocking(dir.path(), &options()).unwrap().warnings.is_empty());
    let bundle = scan_blocking(dir.path(), &BundleOptions { scripts_were_skipped: true, ..options() }).unwrap();
    assert_eq!(bundle.warnings, ["install scripts were not run: x (postinstall)"]);
}

proptest! {
    #[test]
    fn the_digest_is_independent_of_order_and_time(names in prop::collection::btree_set("[a-c]{1,2}(/[a-c]{1,2}){0,2}\\.f", 1..8), seed in any::<u64>()) {
        let make = |reverse: bool, seconds: u64| {
            let dir = tempfile::tempdir().unwrap();
            let mut names: Vec<&String> = names.iter().collect();
            if reverse {
                names.reverse();
            }
            for name in names {
                write(dir.path(), name, name);
                fs::File::open(dir.path().join(name)).unwrap().set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
            }
            let bundle = scan_blocking(dir.path(), &options()).unwrap();
            (bundle.digest.clone(), tar_of(&bundle))
        };
        prop_assert_eq!(make(false, 1), make(true, seed % 2_000_000_000));
    }

    #[test]
    fn an_accepted_archive_stays_inside(name in "[./ab]{1,10}", target in "[./ab]{1,10}") {
        let entries: &[Raw<'_>] = &[("b/a", FILE, b"x", ""), (&name, EntryType::Symlink, b"", &target)];
        if let Ok(bundle) = read(entries, "") {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path().join("deep/root");
            fs::create_dir_all(&root).unwrap();
            let root = root.canonicalize().unwrap();
            tar::Archive::new(tar_of(&bundle).as_slice()).unpack(&root).unwrap();
            for (path, _) in bundle.tree.iter() {
                let path = root.join(std::str::from_utf8(path).unwrap());
                prop_assert!(path.canonicalize().map_or(true, |real| real.starts_with(&root)), "{path:?}");
            }
        }
    }
}
