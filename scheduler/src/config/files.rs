//! Which files of a directory belong to its configuration.

use std::path::{Path, PathBuf};

use super::render;
use super::source::Failure;

/// The folder of everything.
const ROOT: &str = ".opencode-ci";
/// The configuration as YAML.
pub(crate) const CONFIG_YAML: &str = ".opencode-ci/config.yaml";
/// The configuration as JSON.
pub(crate) const CONFIG_JSON: &str = ".opencode-ci/config.json";
const SCENARIOS: &str = ".opencode-ci/scenarios";
/// Folders below `ROOT` that hold results or dependencies, never the author's tests.
const NOT_SEARCHED: [&str; 2] = ["out", "node_modules"];
/// Folders within folders that are searched for tests.
const MAX_DEPTH: usize = 32;

/// What there is to read; names are relative to the working directory.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) config: Option<String>,
    /// Sorted by name.
    pub(crate) scenarios: Vec<String>,
    /// Sorted by path.
    pub(crate) bun_tests: Vec<PathBuf>,
    pub(crate) warnings: Vec<String>,
    /// Texts of configuration errors.
    pub(crate) errors: Vec<String>,
}

/// Looks at names alone; no file is opened.
pub(crate) fn discover(cwd: &Path) -> Found {
    let mut found = Found::default();
    let exists = |name: &str| cwd.join(name).symlink_metadata().is_ok();
    match (exists(CONFIG_YAML), exists(CONFIG_JSON)) {
        (true, true) => found.errors.push(format!("Configuration error: both {CONFIG_YAML} and {CONFIG_JSON} exist: keep one of them.\n")),
        (true, false) => found.config = Some(CONFIG_YAML.to_owned()),
        (false, true) => found.config = Some(CONFIG_JSON.to_owned()),
        (false, false) => {}
    }
    if exists(".opencode-ci/config.yml") {
        found.warnings.push(ignored(".opencode-ci/config.yml"));
    }
    scenarios(cwd, &mut found);
    tests_below(&cwd.join(ROOT), Path::new(ROOT), 0, &mut found.bun_tests);
    found.bun_tests.sort();
    found
}

fn scenarios(cwd: &Path, found: &mut Found) {
    let entries = match std::fs::read_dir(cwd.join(SCENARIOS)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
        Err(error) => return found.errors.push(unreadable(&error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        match entry {
            Ok(entry) => names.push(entry.file_name()),
            Err(error) => found.errors.push(unreadable(&error)),
        }
    }
    names.sort();
    for name in names {
        let Some(name) = name.to_str() else {
            found.warnings.push(format!("{SCENARIOS}/{} is ignored: its name is no UTF-8.", render::escape(&name.to_string_lossy())));
            continue;
        };
        let label = format!("{SCENARIOS}/{name}");
        match name.rsplit_once('.') {
            Some((stem, "yaml" | "json")) if !stem.is_empty() && !name.starts_with('.') => found.scenarios.push(label),
            Some((_, "yml")) => found.warnings.push(ignored(&label)),
            _ => {}
        }
    }
}

fn unreadable(error: &std::io::Error) -> String {
    render::failure(SCENARIOS, &Failure::new(format!("cannot be read: {error}")))
}

fn ignored(label: &str) -> String {
    format!("{} is ignored: the file name must end in .yaml or .json.", render::escape(label))
}

fn tests_below(dir: &Path, relative: &Path, depth: usize, tests: &mut Vec<PathBuf>) {
    // A folder that cannot be read holds no test that could be run.
    let Ok(entries) = std::fs::read_dir(dir) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let path = relative.join(&name);
        // The type of the entry itself: a link to a folder may lead anywhere, or in a circle.
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() {
            let searched = !NOT_SEARCHED.iter().any(|skipped| name == *skipped) && depth < MAX_DEPTH;
            if searched {
                tests_below(&entry.path(), &path, depth + 1, tests);
            }
        } else if name.to_string_lossy().ends_with(".test.ts") {
            tests.push(path);
        }
    }
}

/// The name of a file without folder and ending.
pub(crate) fn stem(label: &str) -> &str {
    let name = label.rsplit('/').next().unwrap_or(label);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}
