//! Cells are versions times variants: what a variant changes reaches its cases and no others, and its rows and evidence are told apart.
//!
//! It must not pull an image, and it removes only the image names that it made.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::engine;
use crate::support::project::{OTHER, Project, VERSION, files};
use crate::support::run::ocsweep;

/// A variant of no change and one that is told by a variable.
const TWO: &str = "variants:\n  - name: default\n  - name: tuned\n    env: {FAKE_MODE: quick}\n";

/// `[version, variant, id, verdict, reason]` of every row, in order; a pass has the reason "".
fn table(project: &Project) -> Vec<[String; 5]> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let fields = ["opencode", "variant", "id", "verdict", "reason"];
    project.rows().iter().map(|row| fields.map(|field| text(&row[field]))).collect()
}

fn owned<const N: usize>(rows: [[&str; 5]; N]) -> Vec<[String; 5]> {
    rows.map(|row| row.map(str::to_owned)).to_vec()
}

/// A conversation of the cases whose host was given this variable, in this version.
fn mode(version: &str, rest: Value) -> Value {
    let mut run = json!({"when": {"version": version, "env": {"FAKE_MODE": "quick"}}});
    if let (Some(run), Value::Object(rest)) = (run.as_object_mut(), rest) {
        run.extend(rest);
    }
    run
}

#[test]
fn every_version_runs_every_variant_with_evidence_of_its_own() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new().config(&[VERSION, OTHER], TWO).scenario("s", "");
    let ended = project.run(&[]).expect(0);
    assert!(ended.stderr.contains(&format!("{VERSION} load load: pass")), "{}", ended.describe());
    assert!(ended.stderr.contains(&format!("{VERSION} load load @tuned: pass")), "{}", ended.describe());
    let expected = [VERSION, OTHER].map(|version| {
        [["default", "load"], ["default", "s"], ["tuned", "load"], ["tuned", "s"]].map(|[variant, id]| [version, variant, id, "pass", ""])
    });
    assert_eq!(table(&project), [owned(expected[0]), owned(expected[1])].concat());
    assert_eq!(project.results()["completeness"], json!({"planned": 8, "done": 8, "skipped": 0, "indeterminate": 0}));
    for row in project.rows() {
        let word = |field: &str| row[field].as_str().unwrap().to_owned();
        let place = if word("variant") == "default" { word("id") } else { format!("@{}/{}", word("variant"), word("id")) };
        let evidence = format!("{}/{place}", word("opencode"));
        assert_eq!(row["evidence"], format!("{evidence}/"));
        assert!(project.output(&format!("{evidence}/events.jsonl")).contains("step_finish"), "{evidence}");
    }
    let digests: BTreeSet<String> = project.rows().iter().map(|row| row["digests"]["scenario"].to_string()).collect();
    assert_eq!(digests.len(), 4, "two cases of two variants are decided by different things: {digests:#?}");
}

#[test]
fn a_red_variant_of_the_first_version_fails_the_run_and_skips_only_its_own_scenarios() {
    if !engine::is_there() {
        return;
    }
    let plan = json!([mode(VERSION, json!({"plugin": "failed"}))]);
    let project = Project::new().config(&[VERSION, OTHER], TWO).scenario("s", "").plan(&plan);
    project.run(&[]).expect(1);
    let expected = owned([
        [VERSION, "default", "load", "pass", ""],
        [VERSION, "default", "s", "pass", ""],
        [VERSION, "tuned", "load", "fail", "setup-failed"],
        [VERSION, "tuned", "s", "skipped", "tier-1-failed"],
        [OTHER, "default", "load", "pass", ""],
        [OTHER, "default", "s", "pass", ""],
        [OTHER, "tuned", "load", "pass", ""],
        [OTHER, "tuned", "s", "pass", ""],
    ]);
    assert_eq!(table(&project), expected);
    let (report, junit) = (project.output("report.md"), project.output("junit.xml"));
    assert!(report.contains("@tuned"), "{report}");
    assert!(junit.contains("name=\"load @tuned\"") && junit.contains("name=\"load\""), "{junit}");
}

#[test]
fn a_red_variant_of_another_version_is_an_allowed_failure() {
    if !engine::is_there() {
        return;
    }
    let plan = json!([mode(OTHER, json!({"exitCode": 9}))]);
    let project = Project::new().config(&[VERSION, OTHER], TWO).plan(&plan);
    project.run(&["--tier", "load"]).expect(0);
    let verdicts: Vec<_> = table(&project).into_iter().map(|[version, variant, _, verdict, _]| [version, variant, verdict]).collect();
    let expected = [[VERSION, "default", "pass"], [VERSION, "tuned", "pass"], [OTHER, "default", "pass"], [OTHER, "tuned", "fail"]];
    assert_eq!(verdicts, expected.map(|row| row.map(str::to_owned)));
}

#[test]
fn variants_are_chosen_by_name_and_the_evidence_of_others_stays() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new().config(&[VERSION], TWO);
    project.run(&["--tier", "load"]).expect(0);
    project.file(&format!(".opencode-ci/out/{VERSION}/@tuned/load/stale"), "of the last run");
    project.file(&format!(".opencode-ci/out/{VERSION}/load/kept"), "of a cell that is not run again");
    project.run(&["--tier", "load", "--variant", "tuned"]).expect(0);
    assert_eq!(table(&project), owned([[VERSION, "tuned", "load", "pass", ""]]));
    let names: Vec<String> =
        files(&project.out().join(VERSION)).iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect();
    assert!(!names.iter().any(|name| name == "stale") && names.iter().any(|name| name == "kept"), "{names:?}");
}

#[test]
fn a_variant_that_nobody_knows_is_a_usage_error_that_names_those_that_are_known() {
    let project = Project::new().config(&[VERSION], TWO);
    let refused = |name: &str| ocsweep(project.path(), &["run", "--variant", name]).run();
    refused("tuned,nope").refused(&["Unknown --variant \"nope\": the configuration has default, tuned.", "hint: "]);
    refused("").refused(&["Unknown --variant \"\""]);
    assert!(!project.out().exists(), "a refused run makes no folder");
}

#[test]
fn validate_names_the_variants() {
    let validate = |project: &Project, args: &[&str]| ocsweep(project.path(), &[&["validate"], args].concat()).run().expect(0).stdout;
    let project = Project::new().config(&[VERSION], TWO);
    assert!(validate(&project, &[]).contains("\nvariants: default, tuned\n"));
    let data: Value = serde_json::from_str(&validate(&project, &["--json"])).unwrap();
    assert_eq!(data["variants"], json!(["default", "tuned"]));
    assert!(!validate(&Project::new(), &[]).contains("variants"), "nothing is said where there are none");
}

#[test]
fn a_subject_that_cannot_be_installed_is_reported_for_every_variant() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new().config(&[VERSION], &format!("{TWO}plugin: {{install: \"exit 3\"}}\n")).scenario("s", "");
    project.run(&[]).expect(1);
    let expected = owned([
        [VERSION, "default", "load", "fail", "install-failed"],
        [VERSION, "default", "s", "skipped", "tier-1-failed"],
        [VERSION, "tuned", "load", "fail", "install-failed"],
        [VERSION, "tuned", "s", "skipped", "tier-1-failed"],
    ]);
    assert_eq!(table(&project), expected);
}

/// A name for an image that the engine has; it goes away with the value, the image stays.
struct ImageName(String);

impl ImageName {
    /// The image that the last run of a project used.
    fn of(project: &Project) -> Self {
        let id = project.results()["image"].as_str().unwrap().to_owned();
        let name = format!("ocsweep-test/variants:{}", std::process::id());
        engine::docker(&["tag", &id, &name]);
        Self(name)
    }
}

impl Drop for ImageName {
    fn drop(&mut self) {
        let removed = std::process::Command::new("docker").args(["rmi", "--no-prune", &self.0]).output();
        assert!(std::thread::panicking() || removed.is_ok_and(|output| output.status.success()), "{} is left behind", self.0);
    }
}

#[test]
fn a_musl_variant_runs_in_the_image_that_it_names_and_a_missing_image_is_nobodys_failure() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new();
    project.run(&["--tier", "load"]).expect(0);
    let name = ImageName::of(&project);
    let variants = format!(
        "variants:\n  - name: default\n  - {{name: musl, flavour: musl, image: {:?}}}\n  - {{name: gone, image: \"ocsweep-test/nowhere:1\"}}\n",
        name.0
    );
    let project = project.config(&[VERSION], &variants);
    project.run(&["--tier", "load"]).expect(3);
    let expected = owned([
        [VERSION, "default", "load", "pass", ""],
        [VERSION, "musl", "load", "pass", ""],
        [VERSION, "gone", "load", "indeterminate", "image"],
    ]);
    assert_eq!(table(&project), expected);
    let rows = project.rows();
    assert_eq!(rows[1]["digests"]["image"], project.results()["image"], "the row has the image's id, not its name");
    assert!(rows[2]["failures"][0].as_str().unwrap().contains("ocsweep-test/nowhere:1"), "{:#}", rows[2]);
    assert_eq!((&rows[2]["infra"], &rows[2]["pass"]), (&json!(true), &json!(false)));
}
