//! Questions to the container engine: whether it is there, and what of a run is left in it.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Set by whoever wants a missing engine to fail the tests instead of skipping them.
const REQUIRED: &str = "OCSWEEP_TEST_DOCKER";

/// Whether the engine answers. Where it does not, a test is skipped with a note, unless [`REQUIRED`] is set.
pub(crate) fn is_there() -> bool {
    let answer = Command::new("docker").args(["version", "--format", "{{.Server.Version}}"]).output();
    let there = answer.is_ok_and(|output| output.status.success());
    let required = std::env::var(REQUIRED).is_ok_and(|value| value == "1");
    assert!(there || !required, "{REQUIRED}=1, and no Docker engine answers");
    if !there {
        println!("skipped: no Docker engine answers (set {REQUIRED}=1 to make this a failure)");
    }
    there
}

/// The lines that a `docker` command prints.
pub(crate) fn docker(args: &[&str]) -> Vec<String> {
    let output = Command::new("docker").args(args).output().expect("docker runs");
    assert!(output.status.success(), "docker {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// The ids under which the runs of an output folder labelled their containers and volumes.
pub(crate) fn sweeps(out: &Path) -> BTreeSet<String> {
    let Ok(entries) = std::fs::read_dir(out.join("sweeps")) else { return BTreeSet::new() };
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

/// Fails when a container or volume of the folder's runs is left, in any state.
#[track_caller]
pub(crate) fn holds_nothing_of(out: &Path) {
    for sweep in sweeps(out) {
        let filter = format!("label=ocsweep.sweep={sweep}");
        let containers = docker(&["ps", "-aq", "--filter", &filter]);
        let volumes = docker(&["volume", "ls", "-q", "--filter", &filter]);
        assert!(containers.is_empty() && volumes.is_empty(), "run {sweep} left containers {containers:?} and volumes {volumes:?}");
    }
}
