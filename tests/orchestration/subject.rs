//! Directories as people have them: in a repository or not, with links, with files that cannot be read.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use serde_json::json;

use crate::support::engine;
use crate::support::project::Project;
use crate::support::run::{OCSWEEP, ocsweep, through};

#[test]
fn a_directory_in_no_repository_works_like_any_other() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new();
    assert!(!project.path().join(".git").exists());
    project.run(&[]).expect(0);
}

#[test]
fn a_plugin_deep_in_a_repository_brings_the_whole_of_it() {
    if !engine::is_there() {
        return;
    }
    let project = Project::empty();
    let status = Command::new("git").args(["init", "-q"]).arg(project.path()).status().unwrap();
    assert!(status.success());
    // The plan is looked for at the bundle's root: that it counts shows that the root is the repository's.
    project.file("fake-plan.json", json!({"runs": [{"plugin": "failed"}]}).to_string());
    project.file("packages/plugin/index.js", "export default async () => ({});\n");
    project.file("packages/plugin/.opencode-ci/config.yaml", "opencode: {versions: ['1.18.33']}\n");
    let inside = project.path().join("packages/plugin");
    ocsweep(&inside, &["run"]).fake().run().expect(1);
    let results = crate::support::run::json(&inside.join(".opencode-ci/out/results.json"));
    assert_eq!(results["results"][0]["reason"], "setup-failed", "{results:#}");
    engine::holds_nothing_of(&inside.join(".opencode-ci/out"));
}

#[test]
fn a_subject_can_be_named_by_its_path() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let out = elsewhere.path().join("out");
    let args = ["run", project.path().to_str().unwrap(), "--opencode", "1.18.33", "--out", out.to_str().unwrap()];
    ocsweep(elsewhere.path(), &args).fake().run().expect(0);
    engine::holds_nothing_of(&out);
}

#[test]
fn a_link_out_of_the_project_is_refused_by_its_name() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new();
    symlink("/etc/hostname", project.path().join("leads-out")).unwrap();
    let ended = project.run(&[]);
    assert_ne!(ended.code, Some(0), "{}", ended.describe());
    assert!(ended.describe().contains("leads-out"), "{}", ended.describe());
    assert!(!ended.stderr.contains("panicked"), "{}", ended.describe());
}

#[test]
fn a_link_inside_the_project_stays() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new();
    symlink("index.js", project.path().join("also.js")).unwrap();
    symlink("no-such-file", project.path().join("dangling.js")).unwrap();
    project.run(&[]).expect(0);
}

/// Root reads everything, so the program runs without the capabilities that let it.
#[test]
fn a_file_that_cannot_be_read_is_named() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new();
    project.file("locked.js", "x");
    std::fs::set_permissions(project.path().join("locked.js"), std::fs::Permissions::from_mode(0o000)).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-dac_override,-dac_read_search", OCSWEEP]);
    let ended = through(command, project.path(), &["run"]).fake().run();
    assert!(matches!(ended.code, Some(1..=3)), "{}", ended.describe());
    assert!(ended.describe().contains("locked.js"), "{}", ended.describe());
}

#[test]
fn secrets_and_repository_data_are_not_packed() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new();
    let status = Command::new("git").args(["init", "-q"]).arg(project.path()).status().unwrap();
    assert!(status.success());
    let run = || {
        project.run(&["--tier", "load"]).expect(0);
        project.row("load")["digests"]["subject"].clone()
    };
    let before = run();
    project.file(".env", "KEY=1");
    project.file(".env.local", "KEY=1");
    project.file(".npmrc", "//x/:_authToken=1");
    project.file(".git/more", "x");
    assert_eq!(run(), before, "none of them is part of the bundle");
    project.file("more.js", "x");
    assert_ne!(run(), before, "every other file is");
}

fn published(name: &str, registry: Option<&str>) -> (Option<i32>, serde_json::Value) {
    let elsewhere = tempfile::tempdir().unwrap();
    let mut call = ocsweep(elsewhere.path(), &["run", name, "--tier", "load", "--opencode", "1.18.33"]).fake();
    if let Some(registry) = registry {
        call = call.env("npm_config_registry", registry);
    }
    let ended = call.run();
    let out = elsewhere.path().join(".opencode-ci/out");
    engine::holds_nothing_of(&out);
    assert!(out.join("results.json").exists(), "{}", ended.describe());
    (ended.code, crate::support::run::json(&out.join("results.json"))["results"][0].clone())
}

#[test]
fn a_package_that_the_registry_does_not_have_is_the_subjects_fault() {
    if !engine::is_there() {
        return;
    }
    let (code, row) = published("npm:opencode-ocsweep-there-is-no-such-package", None);
    assert_eq!((code, &row["reason"]), (Some(1), &json!("package-not-found")), "{row:#}");
    let (code, row) = published("npm:opencode-pty@99.0.0", None);
    assert_eq!((code, &row["reason"]), (Some(1), &json!("package-not-found")), "{row:#}");
}

#[test]
fn a_package_of_a_registry_that_is_down_is_nobodys_fault() {
    if !engine::is_there() {
        return;
    }
    let (code, row) = published("npm:opencode-pty@0.1.3", Some("http://127.0.0.1:9/"));
    assert_eq!((code, &row["verdict"], &row["reason"]), (Some(3), &json!("indeterminate"), &json!("registry")), "{row:#}");
}
