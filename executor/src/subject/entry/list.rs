//! The list of places that decides whether there is an entry at all. Pure.

use super::super::manifest::PackageJson;
use super::exports::loader_value;
use super::files::{Files, Lookup};

/// A file and the rule that found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Relative to the bundle's root.
    pub(super) path: String,
    pub(super) rule: String,
}

/// What the list says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) found: Option<Found>,
    /// The first field, with its file, that names no regular file.
    pub(super) missing: Option<(String, String)>,
}

const EXTENSIONS: [&str; 3] = ["ts", "js", "mjs"];

/// `exports["./server"]`, `exports["."]`, `main`, `module`, then `server.*` and `index.*`. A candidate that is no file is passed over.
pub(super) fn server(files: &Files<'_>, package: &PackageJson) -> Listed {
    let exports = package.field("exports");
    let fields = [
        (r#"exports["./server"]"#, loader_value(exports, "./server")),
        (r#"exports["."]"#, loader_value(exports, ".")),
        ("main", package.text("main")),
        ("module", package.text("module")),
    ];
    let mut listed = Listed::default();
    for (field, raw) in fields {
        let Some(raw) = raw else { continue };
        match files.complete(raw) {
            Lookup::File(path) => {
                listed.found = Some(Found { path, rule: field_rule(field) });
                return listed;
            }
            Lookup::Missing | Lookup::Outside => {
                listed.missing.get_or_insert_with(|| (field.to_owned(), raw.to_owned()));
            }
        }
    }
    let by_name = ["server", "index"].iter().find_map(|stem| files.first(stem, &EXTENSIONS));
    listed.found = by_name.map(|path| Found { rule: file_rule(&path), path });
    listed
}

/// `exports["./tui"]`, then `tui.*`.
pub(super) fn tui(files: &Files<'_>, package: &PackageJson) -> Option<String> {
    let exported = loader_value(package.field("exports"), "./tui").and_then(|raw| match files.complete(raw) {
        Lookup::File(path) => Some(path),
        Lookup::Missing | Lookup::Outside => None,
    });
    exported.or_else(|| files.first("tui", &EXTENSIONS))
}

pub(super) fn field_rule(field: &str) -> String {
    if field.starts_with("exports") { format!("package.json {field}") } else { format!("package.json \"{field}\"") }
}

pub(super) fn file_rule(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}
