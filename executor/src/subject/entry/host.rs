//! The first line's own rules, as read in its source and tried on the real program. Pure.
//!
//! It takes `exports["./server"]`, else `main`, and never checks that the file is there: a missing one ends the search without a word.
//! With an `exports` object and neither field, a directory falls back to `index.*` and a package to nothing. Without such an object the
//! directory itself is imported, which reads `module` and `index.*`.

use serde_json::Value;

use super::super::manifest::PackageJson;
use super::Rules;
use super::exports::host_value;
use super::files::{Files, Lookup};
use super::list::{field_rule, file_rule};

/// What the host does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// It loads this file.
    Loads { path: String, rule: String },
    /// It tries a file that is not there, and nothing else.
    Missing { field: String, file: String },
    /// It refuses a file outside of the plugin's directory.
    Outside { field: String, file: String },
    /// It finds nothing to try.
    Nothing,
}

/// The host's order for a directory.
const INDEX: [&str; 5] = ["ts", "tsx", "js", "mjs", "cjs"];

/// A directory on disk.
pub(super) fn path(files: &Files<'_>, package: &PackageJson) -> Answer {
    if *package == PackageJson::Absent {
        return by_index(files.first("index", &INDEX));
    }
    let fallback = || if has_exports_object(package) { by_index(files.first("index", &INDEX)) } else { by_import(files, package) };
    by_fields(files, package).unwrap_or_else(fallback)
}

/// A package from a registry.
pub(super) fn npm(files: &Files<'_>, package: &PackageJson) -> Answer {
    if !matches!(package, PackageJson::Parsed(_)) {
        return Answer::Nothing;
    }
    let fallback = || if has_exports_object(package) { Answer::Nothing } else { by_import(files, package) };
    by_fields(files, package).unwrap_or_else(fallback)
}

fn has_exports_object(package: &PackageJson) -> bool {
    package.field("exports").is_some_and(Value::is_object)
}

fn by_fields(files: &Files<'_>, package: &PackageJson) -> Option<Answer> {
    let server = host_value(package.field("exports"), "./server").map(|raw| (r#"exports["./server"]"#, raw));
    let (field, raw) = server.or_else(|| package.text("main").map(|raw| ("main", raw)))?;
    Some(by_field(files, field, raw))
}

fn by_field(files: &Files<'_>, field: &str, raw: &str) -> Answer {
    match files.complete(raw) {
        Lookup::File(path) => Answer::Loads { path, rule: field_rule(field) },
        Lookup::Missing => Answer::Missing { field: field.to_owned(), file: raw.to_owned() },
        Lookup::Outside => Answer::Outside { field: field.to_owned(), file: raw.to_owned() },
    }
}

/// The runtime's import of a directory.
fn by_import(files: &Files<'_>, package: &PackageJson) -> Answer {
    if package.field("exports").is_none()
        && let Some(raw) = package.text("module")
        && let answer @ Answer::Loads { .. } = by_field(files, "module", raw)
    {
        return answer;
    }
    by_index(files.imported_index())
}

fn by_index(index: Option<String>) -> Answer {
    index.map_or(Answer::Nothing, |path| Answer::Loads { rule: file_rule(&path), path })
}

/// Why the host does not load a file that is there, with the field that would fix it.
pub(super) fn why_not(answer: &Answer, rules: Rules, file: &str) -> String {
    let fix = format!("set \"main\" (or exports[\"./server\"]) of package.json to \"{file}\"");
    match answer {
        Answer::Missing { field, file } => {
            format!("package.json field {field} names {file}, which is not there, and the host looks no further; {fix}")
        }
        Answer::Outside { field, file } => {
            format!("package.json field {field} names {file}, which is outside of the plugin's directory; {fix}")
        }
        Answer::Nothing | Answer::Loads { .. } => {
            let index = if rules == Rules::Npm { "" } else { ", else index.* in the plugin's directory" };
            format!(
                "the host does not find {file}: it reads exports[\"./server\"] of package.json (a text, or one under \"import\" or \"default\"), else \"main\"{index}; {fix}"
            )
        }
    }
}
