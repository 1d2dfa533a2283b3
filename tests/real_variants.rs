//! Variants on the real opencode: the baseline build runs, and environment, options and configuration of a variant reach the plugin.
//!
//! What is baseline about the binary cannot be seen from here: some releases ship the same bytes under both package names.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test may panic, and says when it is skipped")]

#[path = "support/parts.rs"]
mod support;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use support::engine;
use support::run::{json as read, ocsweep};

/// A plugin that says what it was given by refusing anything else.
const PLUGIN: &str = r#"const expected = process.env.MODE === "tuned"
  ? { options: { base: 1, shared: "variant" }, temperature: 0.125 }
  : { options: { base: 1, shared: "config" }, temperature: undefined };
const same = (what, got, wanted) => {
  if (JSON.stringify(got) !== JSON.stringify(wanted)) throw new Error(`${what} of ${process.env.MODE}: ${JSON.stringify(got)}`);
};
if (process.env.MODE === "broken") throw new Error("import of the broken variant");
export default async (input, options) => {
  same("options", options, expected.options);
  let temperature;
  return {
    config: async (config) => { temperature = config.agent?.build?.temperature; },
    "chat.message": async () => same("temperature", temperature, expected.temperature),
  };
};
"#;

const CONFIG: &str = r#"opencode: { versions: ["1.18.33"] }
plugin: { options: { base: 1, shared: config } }
variants:
  - name: default
  - name: baseline
    flavour: baseline
    env: { MODE: tuned }
    options: { shared: variant }
    config: { agent: { build: { temperature: 0.125 } } }
  - name: broken
    env: { MODE: broken }
"#;

fn run(directory: &Path, args: &[&str], code: i32) -> Vec<Value> {
    let out = directory.join(".opencode-ci/out");
    let ended = ocsweep(directory, &[&["run", "--tier", "load"], args].concat()).run().expect(code);
    engine::holds_nothing_of(&out);
    let results = read(&out.join("results.json"));
    println!("{}", ended.describe());
    results["results"].as_array().unwrap().clone()
}

#[test]
fn the_baseline_build_runs_and_each_variant_gets_what_is_its_own() {
    if !engine::is_there() {
        return;
    }
    let project = tempfile::tempdir().unwrap();
    fs::create_dir(project.path().join(".opencode-ci")).unwrap();
    fs::write(project.path().join("index.js"), PLUGIN).unwrap();
    fs::write(project.path().join(".opencode-ci/config.yaml"), CONFIG).unwrap();

    let rows = run(project.path(), &["--variant", "default,baseline"], 0);
    let ended: Vec<_> = rows.iter().map(|row| (row["variant"].as_str().unwrap(), row["verdict"].as_str().unwrap())).collect();
    assert_eq!(ended, [("default", "pass"), ("baseline", "pass")], "{rows:#?}");
    assert!(rows.iter().all(|row| row["resolved"] == "1.18.33" && row["digests"]["binary"].is_string()), "{rows:#?}");

    // What the import of another variant has shown, in this run or an earlier one, says nothing about this one's.
    let rows = run(project.path(), &["--variant", "broken"], 1);
    assert_eq!((&rows[0]["verdict"], &rows[0]["reason"]), (&json!("fail"), &json!("import-failed")), "{rows:#?}");
    assert!(rows[0]["failures"][0].as_str().unwrap().contains("import of the broken variant"), "{rows:#?}");
}

/// Exports that the host refuses, or takes, by a variable.
const SHAPES: &str = "export default process.env.SHAPE === \"tui\" ? { id: \"x\", tui: () => {} } : async () => ({});\n";

#[test]
fn what_a_module_exports_is_asked_for_each_environment() {
    if !engine::is_there() {
        return;
    }
    let project = tempfile::tempdir().unwrap();
    fs::create_dir(project.path().join(".opencode-ci")).unwrap();
    // No other run has seen this bundle.
    fs::write(project.path().join("index.js"), format!("{SHAPES}// {:?}\n", project.path())).unwrap();
    let variants = "variants: [{ name: default }, { name: tui, env: { SHAPE: tui } }]\n";
    fs::write(project.path().join(".opencode-ci/config.yaml"), format!("opencode: {{ versions: [\"1.18.33\"] }}\n{variants}")).unwrap();
    for name in ["default", "tui", "default"] {
        let rows = run(project.path(), &["--variant", name], 0);
        assert_eq!(rows[0]["verdict"], "pass", "{rows:#?}");
    }
}
