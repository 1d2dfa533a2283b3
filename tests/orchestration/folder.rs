//! The output folder: emptied where a case writes, never beyond; and what is kept of a case.

use serde_json::json;

use crate::support::engine;
use crate::support::project::{Project, VERSION, on};

#[test]
fn a_second_run_sees_nothing_of_the_first() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new().scenario("a", "");
    project.run(&[]).expect(0);
    project.file(&format!(".opencode-ci/out/{VERSION}/load/stale.txt"), "old");
    project.file("fake-plan.json", json!({"runs": [{"plugin": "missing"}]}).to_string());
    project.run(&[]).expect(1);
    assert_eq!(project.row("load")["reason"], "not-resolved", "evidence of the first run must not count");
    assert!(!project.out().join(VERSION).join("load/stale.txt").exists());
    assert!(!project.out().join(VERSION).join("a/events.jsonl").exists(), "a skipped case keeps no older evidence");
}

#[test]
fn the_workspace_is_kept_of_failures_and_on_demand() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new().scenario("bad", "").scenario("good", "").plan(&json!([{"when": on("bad"), "exitCode": 1}]));
    let kept = |id: &str| project.out().join(VERSION).join(id).join("workspace.tar.zst").exists();
    project.run(&[]).expect(1);
    assert_eq!((kept("load"), kept("bad"), kept("good")), (false, true, false));
    project.run(&["--keep"]).expect(1);
    assert_eq!((kept("load"), kept("bad"), kept("good")), (true, true, true));
}

#[test]
fn every_case_leaves_its_evidence_and_its_row() {
    if !engine::is_there() {
        return;
    }
    let project =
        Project::new().plan(&json!([{"noise": "hello from a plugin", "writes": {"/sandbox/home/.fakerc": "x", "made.txt": "y"}}]));
    project.run(&[]).expect(0);
    let row = project.row("load");
    assert_eq!(row["evidence"], format!("{VERSION}/load/"));
    for name in ["events.jsonl", "stdout.log", "stderr.log", "probe.jsonl", "stub-requests.jsonl", "report.json"] {
        assert!(!project.output(&format!("{VERSION}/load/{name}")).is_empty(), "{name}");
    }
    let stored: serde_json::Value = serde_json::from_str(&project.output(&format!("{VERSION}/load/result.json"))).unwrap();
    assert_eq!(stored, row, "the stored row is the reported one");
    assert_eq!(row["observed"]["writesOutside"], json!(["$HOME/.fakerc"]));
    assert!(row["warnings"].to_string().contains("hello from a plugin"), "{row:#}");
    assert!(row["peakMemoryBytes"].as_u64().is_some_and(|bytes| bytes > 0));
    for digest in ["subject", "binary", "image", "agent"] {
        assert!(row["digests"][digest].is_string(), "{digest}: {row:#}");
    }
}

#[test]
fn another_folder_can_be_named() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let out = elsewhere.path().join("deep/er");
    project.run(&["--out", out.to_str().unwrap()]).expect(0);
    assert!(out.join("results.json").exists() && out.join(VERSION).join("load/events.jsonl").exists());
    assert!(!project.out().exists());
    engine::holds_nothing_of(&out);
}

#[test]
fn a_link_in_the_folder_leads_no_deletion_astray() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new();
    let precious = tempfile::tempdir().unwrap();
    std::fs::write(precious.path().join("precious.txt"), "mine").unwrap();
    std::fs::create_dir(precious.path().join("load")).unwrap();
    std::fs::write(precious.path().join("load/precious.txt"), "mine").unwrap();
    std::fs::create_dir_all(project.out()).unwrap();
    std::os::unix::fs::symlink(precious.path(), project.out().join(VERSION)).unwrap();
    let ended = project.run(&[]).refused(&["refusing to reset", "it is not inside"]);
    assert!(precious.path().join("precious.txt").exists(), "{}", ended.describe());
    assert!(precious.path().join("load/precious.txt").exists(), "a case's folder was emptied through a link: {}", ended.describe());
}

#[test]
fn a_folder_that_is_a_link_keeps_what_is_not_ours() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new();
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::write(elsewhere.path().join("precious.txt"), "mine").unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), project.out()).unwrap();
    let ended = project.run(&[]).refused(&["is a symbolic link"]);
    assert!(elsewhere.path().join("precious.txt").exists(), "{}", ended.describe());
}

#[test]
fn records_that_are_a_link_are_refused() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new();
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(project.out()).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), project.out().join("sweeps")).unwrap();
    project.run(&[]).refused(&["sweeps is no directory"]);
}

#[test]
fn what_is_not_ours_in_a_chosen_folder_stays() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let notes = elsewhere.path().join("sweeps/notes.txt");
    std::fs::create_dir_all(notes.parent().unwrap()).unwrap();
    std::fs::write(&notes, "mine").unwrap();
    let old = elsewhere.path().join("sweeps/run-1-1/outcomes");
    std::fs::create_dir_all(&old).unwrap();
    std::fs::write(old.join("x.json"), "{}").unwrap();
    project.run(&["--out", elsewhere.path().to_str().unwrap()]).expect(0);
    assert!(notes.exists(), "a file that no run wrote was removed");
    assert!(!old.join("x.json").exists(), "the records of an earlier run stay for ever");
}

#[test]
fn two_runs_do_not_share_a_folder() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new();
    std::fs::create_dir_all(project.out()).unwrap();
    let lock = std::fs::File::create(project.out().join(".lock")).unwrap();
    lock.lock().unwrap();
    project.run(&[]).refused(&["another run is writing there"]);
    drop(lock);
    project.run(&[]).expect(0);
}
