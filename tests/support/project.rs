//! A plugin's directory, made up by a test, with a plan for the stand-in host.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::engine;
use super::run::{Call, Ended, json, ocsweep};

/// The version that projects ask for unless they say otherwise.
pub(crate) const VERSION: &str = "1.18.33";
/// Another one that the stand-in passes for.
pub(crate) const OTHER: &str = "1.18.34";

/// A directory in no git work tree that goes away with the value. Dropping it checks that the engine holds nothing of its runs.
pub(crate) struct Project {
    directory: tempfile::TempDir,
}

impl Project {
    /// A healthy plugin for one version, without scenarios.
    pub(crate) fn new() -> Self {
        let project = Self::empty();
        project.file("index.js", "export default async () => ({});\n");
        project.config(&[VERSION], "")
    }

    /// Nothing at all.
    pub(crate) fn empty() -> Self {
        Self { directory: tempfile::tempdir().expect("a temporary directory") }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The output folder of a run without `--out`.
    pub(crate) fn out(&self) -> PathBuf {
        self.path().join(".opencode-ci/out")
    }

    pub(crate) fn file(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(path, text).expect("a file");
    }

    /// The configuration: versions, and further lines of YAML.
    pub(crate) fn config(self, versions: &[&str], more: &str) -> Self {
        self.file(".opencode-ci/config.yaml", format!("opencode:\n  versions: {versions:?}\n{more}"));
        self
    }

    /// A scripted scenario whose prompt is its id and whose only answer is "done"; `more` are further lines of YAML.
    pub(crate) fn scenario(self, id: &str, more: &str) -> Self {
        let script = if more.contains("script:") { "" } else { "script:\n  - text: done\n" };
        self.file(&format!(".opencode-ci/scenarios/{id}.yaml"), format!("id: {id}\nmode: scripted\nprompt: {id}\n{script}{more}\n"));
        self
    }

    /// What the stand-in does: conversations by prompt, version or neither.
    pub(crate) fn plan(self, runs: &Value) -> Self {
        self.file("fake-plan.json", json!({"runs": runs}).to_string());
        self
    }

    /// `ocsweep run ARGS` with the stand-in.
    pub(crate) fn call(&self, args: &[&str]) -> Call {
        ocsweep(self.path(), &[&["run"], args].concat()).fake()
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ended {
        self.call(args).run()
    }

    pub(crate) fn results(&self) -> Value {
        json(&self.out().join("results.json"))
    }

    /// The rows of the last run.
    pub(crate) fn rows(&self) -> Vec<Value> {
        self.results()["results"].as_array().expect("rows").clone()
    }

    /// The row of a case of the default version.
    #[track_caller]
    pub(crate) fn row(&self, id: &str) -> Value {
        let rows = self.rows();
        let row = rows.iter().find(|row| row["id"] == id && row["opencode"] == VERSION);
        row.unwrap_or_else(|| panic!("no row {id} in {rows:#?}")).clone()
    }

    /// `[version, id, verdict, reason]` of every row, in order; a pass has the reason "".
    pub(crate) fn table(&self) -> Vec<[String; 4]> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        self.rows().iter().map(|row| ["opencode", "id", "verdict", "reason"].map(|field| text(&row[field]))).collect()
    }

    /// A file of the output folder as text.
    #[track_caller]
    pub(crate) fn output(&self, path: &str) -> String {
        let path = self.out().join(path);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            engine::holds_nothing_of(&self.out());
        }
    }
}

/// A condition of the plan: the scenario with this id, which is its prompt.
pub(crate) fn on(id: &str) -> Value {
    json!({"prompt": id})
}

/// A condition of the plan: this version.
pub(crate) fn version(version: &str) -> Value {
    json!({"version": version})
}

/// Every file below a directory.
pub(crate) fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.is_symlink() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}
