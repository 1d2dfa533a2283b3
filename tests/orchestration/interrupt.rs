//! A person or a machine stops a run: it ends within five seconds, says what it knows, and leaves no container.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::support::engine::{self, docker};
use crate::support::project::{Project, on};

/// The engine's word on containers that start.
struct Starts {
    events: Child,
}

impl Starts {
    fn watch() -> Self {
        let format = "{{.ID}} {{index .Actor.Attributes \"ocsweep.case\"}}";
        let events = Command::new("docker")
            .args(["events", "--filter", "event=start", "--filter", "label=ocsweep.case", "--format", format])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("docker runs");
        Self { events }
    }

    /// The container of a case whose id begins like this, once its host runs.
    fn host_of(&mut self, case: &str) -> String {
        let lines = BufReader::new(self.events.stdout.take().expect("a pipe")).lines();
        let started = lines.map(|line| line.expect("an event")).find_map(|line| {
            let (container, id) = line.split_once(' ')?;
            id.starts_with(case).then(|| container.to_owned())
        });
        let container = started.expect("the case starts before the engine goes away");
        // The engine has no event for a process; asking takes it long enough that this is no busy loop. The runner's own limit bounds it.
        while !docker(&["top", &container, "-eo", "pid,args"]).iter().any(|args| args.contains("opencode run")) {}
        container
    }
}

impl Drop for Starts {
    fn drop(&mut self) {
        let _ = self.events.kill();
        let _ = self.events.wait();
    }
}

fn ends_within_five_seconds(signal: &str, id: &str) {
    if !engine::is_there() {
        return;
    }
    let plan = json!([{"when": on(id), "hang": "end"}]);
    let project = Project::new().scenario(id, "timeoutMs: 100000").scenario("waits", "timeoutMs: 100000").plan(&plan);
    let mut starts = Starts::watch();
    let running = project.call(&[]).start();
    let container = starts.host_of(id);
    let asked = std::time::Instant::now();
    running.signal(signal);
    let ended = running.wait().expect(130);
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?} after the signal: {}", asked.elapsed(), ended.describe());
    assert_eq!(docker(&["ps", "-aq", "--no-trunc", "--filter", &format!("id={container}")]), [""; 0], "the container is left");
    engine::holds_nothing_of(&project.out());
    let row = project.row(id);
    assert_eq!((&row["verdict"], &row["reason"]), (&json!("indeterminate"), &json!("cancelled")), "{row:#}");
    assert_eq!(project.row("load")["verdict"], "pass", "what had ended keeps its verdict");
    assert_eq!(project.rows().len(), 3, "no planned case is lost");
    assert!(project.out().join("report.md").exists());
}

#[test]
fn ctrl_c_ends_a_run_within_five_seconds_and_leaves_no_container() {
    ends_within_five_seconds("INT", "hangs-int");
}

#[test]
fn a_polite_kill_is_as_good_as_ctrl_c() {
    ends_within_five_seconds("TERM", "hangs-term");
}
