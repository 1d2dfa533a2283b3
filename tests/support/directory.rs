//! A directory of inputs with an `expected.json`: copied out of this repository, run on the real binary, compared.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::engine;
use super::expected::Expected;
use super::run::{Ended, json, ocsweep};

/// Rows that nobody ran have no evidence.
const SKIPPED: &str = "skipped";

pub(crate) fn inputs(group: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(group)
}

/// The version that the stand-in passes for on line v2, and the files that describe a directory there.
const V2: &str = "2.0.26";
const V2_PLAN: &str = "fake-plan.v2.json";
const V2_EXPECTED: &str = "expected.v2.json";

/// A further look at a directory after its run: what is wrong with it.
pub(crate) type Guard = fn(&Path, &Ended) -> Vec<String>;

fn unguarded(_: &Path, _: &Ended) -> Vec<String> {
    Vec::new()
}

/// The host of a run.
#[derive(Clone, Copy)]
enum Host {
    /// The real one, in the versions that the configuration names.
    Real,
    /// The stand-in, as a host of line v2.
    FakeV2,
}

/// Runs one directory and everything below it that has expectations, in containers.
#[track_caller]
pub(crate) fn check(group: &str, name: &str) {
    if engine::is_there() {
        check_on(Host::Real, group, name, &["run"], unguarded);
    }
}

/// As [`check`], with a further look at the directory after each run.
#[track_caller]
pub(crate) fn check_and(group: &str, name: &str, guard: Guard) {
    if engine::is_there() {
        check_on(Host::Real, group, name, &["run"], guard);
    }
}

/// The same on line v2, with the stand-in playing the directory's plan.
#[track_caller]
pub(crate) fn check_v2(group: &str, name: &str) {
    if engine::is_there() {
        check_on(Host::FakeV2, group, name, &["run", "--opencode", V2], unguarded);
    }
}

/// As [`check`], with the arguments of a run that needs no engine.
#[track_caller]
pub(crate) fn check_run(group: &str, name: &str, run: &[&str]) {
    check_on(Host::Real, group, name, run, unguarded);
}

#[track_caller]
fn check_on(host: Host, group: &str, name: &str, run: &[&str], guard: Guard) {
    let source = inputs(group).join(name);
    let target = tempfile::tempdir().expect("a temporary directory");
    let is_in_a_work_tree = target.path().ancestors().any(|directory| directory.join(".git").exists());
    assert!(!is_in_a_work_tree, "{} lies in a git work tree, which would become the bundle", target.path().display());
    prepare(&source, target.path());
    let mut wrong = Vec::new();
    let mut directories = Vec::new();
    with_expectations(target.path(), &mut directories);
    assert!(!directories.is_empty(), "{} has no expected.json", source.display());
    for directory in directories {
        wrong.extend(differences(host, &directory, run, guard));
    }
    if !wrong.is_empty() {
        let kept = target.keep();
        panic!("{group}/{name}: kept in {}\n{}", kept.display(), wrong.join("\n"));
    }
}

/// The inputs as their `setup.sh` lays them out, else as they are.
pub(crate) fn prepare(source: &Path, target: &Path) {
    if source.join("setup.sh").exists() {
        let status = Command::new("sh").arg(source.join("setup.sh")).arg(target).status().expect("sh runs");
        assert!(status.success(), "{}/setup.sh failed", source.display());
    } else {
        copy(source, target);
    }
}

/// Copies files and symbolic links, which stay what they are.
pub(crate) fn copy(source: &Path, target: &Path) {
    for entry in std::fs::read_dir(source).unwrap_or_else(|error| panic!("{}: {error}", source.display())) {
        let (from, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?))).expect("an entry");
        let to = target.join(from.file_name().expect("a name"));
        if kind.is_dir() {
            std::fs::create_dir_all(&to).expect("a directory");
            copy(&from, &to);
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(std::fs::read_link(&from).expect("a link"), &to).expect("a link");
        } else {
            std::fs::copy(&from, &to).expect("a copy");
        }
    }
}

fn with_expectations(directory: &Path, found: &mut Vec<PathBuf>) {
    if directory.join("expected.json").exists() {
        found.push(directory.to_owned());
    }
    let mut below: Vec<PathBuf> = std::fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path()).collect();
    below.sort();
    below.retain(|path| path.is_dir() && !path.is_symlink());
    for path in below {
        with_expectations(&path, found);
    }
}

/// What is wrong with a run in this directory.
fn differences(host: Host, directory: &Path, run: &[&str], guard: Guard) -> Vec<String> {
    let own = Some(directory.join(V2_EXPECTED)).filter(|path| matches!(host, Host::FakeV2) && path.exists());
    let expected = own.unwrap_or_else(|| directory.join("expected.json"));
    let expected: Expected = serde_json::from_value(json(&expected)).expect("a readable expected.json");
    let call = ocsweep(directory, run);
    let ended = match host {
        Host::Real => call.run(),
        Host::FakeV2 => call.fake().run(),
    };
    let out = directory.join(".opencode-ci/out");
    let results = if out.join("results.json").exists() { json(&out.join("results.json")) } else { Value::Null };
    let mut found = expected.differences(&ended, &results);
    found.extend(incoherences(&out, &results));
    found.extend(guard(directory, &ended));
    if run == ["run"] {
        engine::holds_nothing_of(&out);
    }
    if !found.is_empty() {
        found.insert(0, format!("=== in {}", directory.display()));
        found.push(describe(&ended, &results));
    }
    found
}

/// What must hold of every run, whatever it shows.
fn incoherences(out: &Path, results: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for row in results["results"].as_array().into_iter().flatten() {
        let (id, verdict) = (&row["id"], row["verdict"].as_str().unwrap_or_default());
        let pass = matches!(verdict, "pass" | SKIPPED);
        if row["pass"] != pass || row["infra"] != (verdict == "indeterminate") || row["reason"].is_null() != (verdict == "pass") {
            found.push(format!("{id}: verdict, pass, infra and reason do not fit"));
        }
        let evidence = row["evidence"].as_str().map(|path| out.join(path).join("result.json"));
        if let Some(missing) = evidence.filter(|path| !path.exists()) {
            found.push(format!("{id}: {} is missing", missing.display()));
        }
        if id != "bun-test" && row["exitCode"].is_i64() && !row["phases"]["agent-host"].is_u64() {
            found.push(format!("{id}: the row does not say how long the host took: {}", row["phases"]));
        }
    }
    if !results.is_null() {
        let files = ["report.md", "junit.xml"].into_iter().filter(|name| !out.join(name).exists());
        found.extend(files.map(|name| format!("{name} is missing")));
    }
    found
}

fn describe(ended: &Ended, results: &Value) -> String {
    let rows = results["results"].as_array().into_iter().flatten().map(|row| {
        format!(
            "  {} {} {} skipped={} exit={}\n    failures {:#}\n    warnings {:#}",
            row["id"], row["verdict"], row["reason"], row["skipped"], row["exitCode"], row["failures"], row["warnings"]
        )
    });
    format!("rows:\n{}\n{}", rows.collect::<Vec<_>>().join("\n"), ended.describe())
}

/// Fails unless every directory of a group either has a plan for line v2 and a test, or is listed with the reason why not.
#[track_caller]
pub(crate) fn all_tested_on_v2(group: &str, tested: &[&str], left_out: &[(&str, &str)]) {
    all_tested(group, &left_out.iter().map(|(name, _)| *name).chain(tested.iter().copied()).collect::<Vec<_>>());
    for (names, planned) in [(tested.to_vec(), true), (left_out.iter().map(|(name, _)| *name).collect(), false)] {
        let wrong: Vec<_> = names.into_iter().filter(|name| inputs(group).join(name).join(V2_PLAN).exists() != planned).collect();
        assert!(wrong.is_empty(), "{wrong:?} of tests/{group}: a directory has a {V2_PLAN} exactly when it is run on line v2");
    }
    assert!(left_out.iter().all(|(_, reason)| !reason.is_empty()), "a directory is left out without a reason");
}

/// Fails when a directory of a group has no test, or a test no directory.
#[track_caller]
pub(crate) fn all_tested(group: &str, tested: &[&str]) {
    let entries = std::fs::read_dir(inputs(group)).expect("a directory").map(|entry| entry.expect("an entry"));
    let present: BTreeSet<String> =
        entries.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let tested: BTreeSet<String> = tested.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(present, tested, "tests/{group} and its list of tests differ");
}

/// One test for each directory of a group, and one that compares the list with the directories.
macro_rules! directories {
    ($group:literal: $($test:ident = $directory:literal,)*) => {
        directories! { $group, |_, _| Vec::new(); $($test = $directory,)* }
    };
    ($group:literal, $guard:expr; $($test:ident = $directory:literal,)*) => {
        $(#[test]
        fn $test() {
            crate::support::directory::check_and($group, $directory, $guard);
        })*

        #[test]
        fn every_directory_has_a_test() {
            crate::support::directory::all_tested($group, &[$($directory),*]);
        }
    };
}
pub(crate) use directories;
