//! What is left of a run that was killed: nothing that runs, and nothing that the next run does not remove.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{RUN, machine};
use crate::support::project::Project;
use crate::support::run::ocsweep;

/// Longer than a start takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

#[track_caller]
fn until(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < end, "{what} did not happen within {PATIENCE:?}");
        std::thread::yield_now();
    }
}

#[test]
fn a_killed_run_leaves_no_process_and_its_directory_goes_with_the_next_run() {
    if !machine::can_isolate() {
        return;
    }
    let cache = machine::own_cache();
    // Only the plugin's child has this number on its command line.
    let mark = format!("sleep 86{}", std::process::id());
    let project = Project::new();
    project.file(
        "index.js",
        format!("import {{ spawn }} from \"node:child_process\";\nspawn(\"sh\", [\"-c\", \"{mark}\"], {{ detached: true }}).unref();\nexport default async () => {{ await new Promise(() => {{}}); }};\n"),
    );
    let running = ocsweep(project.path(), &RUN).env("XDG_CACHE_HOME", cache.path()).start();
    until("the start of the plugin's child", || !machine::processes_with(&mark).is_empty());
    assert_eq!(machine::runs(cache.path()).len(), 1);
    machine::has_no_mounts_below(cache.path());
    running.signal("KILL");
    running.wait();
    until("the end of everything below", || machine::processes_with(&mark).is_empty());
    let left = machine::runs(cache.path());
    assert_eq!(left.len(), 1);
    let run = left[0].file_name().unwrap().to_string_lossy().into_owned();
    let healthy = Project::new().plan(&json!([]));
    ocsweep(healthy.path(), &[&RUN[..], &["--tier", "load"]].concat()).env("XDG_CACHE_HOME", cache.path()).run().expect(0);
    assert_eq!(machine::runs(cache.path()), Vec::<std::path::PathBuf>::new());
    assert_eq!(machine::groups_of(&run), Vec::<std::path::PathBuf>::new());
}
