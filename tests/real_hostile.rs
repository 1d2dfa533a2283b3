//! Plugins that attack: the machine, the harness, another case. Each directory of `tests/hostile` tries one thing and must end in its time,
//! with the verdict that it deserves, blaming nobody else and leaving nothing behind. A plugin there throws "got through" when something
//! that must be refused was not, so its pass shows a refusal and not the mere absence of a crash. docs/hostile.md has the table.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test may panic, and says when it is skipped")]

#[path = "support/parts.rs"]
mod support;

use std::path::Path;

use serde_json::Value;

use support::directory::{directories, inputs, prepare};
use support::engine;
use support::guards::{broken, essence};
use support::run::{Running, json, ocsweep};

directories! { "hostile", broken;
    big_request = "big-request",
    breaks_json = "breaks-json",
    breaks_recording = "breaks-recording",
    calls_internet = "calls-internet",
    calls_machine = "calls-machine",
    calls_other_case = "calls-other-case",
    cgroup_writes = "cgroup-writes",
    changes_clock = "changes-clock",
    closes_descriptors = "closes-descriptors",
    daemons = "daemons",
    deep_nesting = "deep-nesting",
    deletes_home = "deletes-home",
    exit_hangs = "exit-hangs",
    factory_spins = "factory-spins",
    fills_every_disk = "fills-every-disk",
    fills_memory_at_import = "fills-memory-at-import",
    fills_memory_with_files = "fills-memory-with-files",
    forges_events = "forges-events",
    forges_frames = "forges-frames",
    forges_preflight = "forges-preflight",
    forges_records = "forges-records",
    forks = "forks",
    holds_connections = "holds-connections",
    hook_hangs = "hook-hangs",
    huge_error = "huge-error",
    huge_exports = "huge-exports",
    huge_object = "huge-object",
    ignores_signals = "ignores-signals",
    import_spins = "import-spins",
    inotify = "inotify",
    invalid_utf8 = "invalid-utf8",
    kernel_doors = "kernel-doors",
    kills_everything = "kills-everything",
    kills_init = "kills-init",
    links_out = "links-out",
    many_files = "many-files",
    many_files_at_import = "many-files-at-import",
    many_open_files = "many-open-files",
    many_requests = "many-requests",
    many_threads = "many-threads",
    memory_balloon = "memory-balloon",
    mounts = "mounts",
    odd_names = "odd-names",
    overwrites_probes = "overwrites-probes",
    poisons_modules = "poisons-modules",
    poisons_report = "poisons-report",
    pollutes_prototypes = "pollutes-prototypes",
    probe_flood = "probe-flood",
    raw_sockets = "raw-sockets",
    reads_init = "reads-init",
    setuid_files = "setuid-files",
    silences_stdout = "silences-stdout",
    smuggles = "smuggles",
    stderr_gigabyte = "stderr-gigabyte",
    stdout_gigabyte = "stdout-gigabyte",
    stdout_one_line = "stdout-one-line",
    stops_itself = "stops-itself",
    takes_stub_port = "takes-stub-port",
    traces_init = "traces-init",
    tui_import_hangs = "tui-import-hangs",
    victim = "victim",
    writes_mounts = "writes-mounts",
}

/// The ones that take most from the machine, or reach for other cases. Each runs beside one run of the victim.
const WORST: [&str; 4] = ["forks", "fills-memory-with-files", "calls-other-case", "inotify"];

/// A plugin in a directory of its own.
struct Side {
    directory: tempfile::TempDir,
}

impl Side {
    fn new(name: &str) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        prepare(&inputs("hostile").join(name), directory.path());
        Self { directory }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn start(&self) -> Running {
        ocsweep(self.path(), &["run"]).start()
    }

    fn rows(&self) -> Vec<Value> {
        essence(&json(&self.path().join(".opencode-ci/out/results.json")))
    }
}

#[test]
fn a_victim_beside_them_is_as_if_it_were_alone() {
    if !engine::is_there() {
        return;
    }
    let victim = Side::new("victim");
    victim.start().wait().expect(0);
    let alone = victim.rows();
    for name in WORST {
        let attacker = Side::new(name);
        let (attack, run) = (attacker.start(), victim.start());
        let (run, attack) = (run.wait().expect(0), attack.wait());
        assert_eq!(victim.rows(), alone, "beside {name}");
        assert_eq!(broken(victim.path(), &run), Vec::<String>::new(), "beside {name}");
        assert_eq!(broken(attacker.path(), &attack), Vec::<String>::new(), "{name} itself");
        for side in [&victim, &attacker] {
            engine::holds_nothing_of(&side.path().join(".opencode-ci/out"));
        }
    }
}
