//! Paths inside the plugin's directory, and the way in which the host's runtime completes them. Pure.

use super::super::tree::{Target, Tree};

/// The files of one plugin directory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Files<'a> {
    tree: &'a Tree,
    directory: &'a str,
}

/// What a path of a `package.json` leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Lookup {
    /// A file; its path relative to the bundle's root.
    File(String),
    Missing,
    /// Outside of the plugin's directory.
    Outside,
}

/// The order in which the host's runtime completes an import.
const EXTENSIONS: [&str; 9] = ["tsx", "jsx", "mts", "ts", "mjs", "js", "cts", "cjs", "json"];
/// What the runtime reads when an import names the compiled file of a source.
const SOURCES: [(&str, &[&str]); 4] = [("js", &["ts", "tsx"]), ("jsx", &["tsx"]), ("mjs", &["mts"]), ("cjs", &["cts"])];

impl<'a> Files<'a> {
    pub(super) fn new(tree: &'a Tree, directory: &'a str) -> Self {
        Self { tree, directory }
    }

    /// A path as `package.json` writes it, as it is.
    pub(super) fn look_up(&self, raw: &str) -> Lookup {
        let Some(inside) = self.inside(raw) else { return Lookup::Outside };
        match self.tree.resolve(inside.as_bytes()) {
            Target::File(real) if self.contains(&real) => Lookup::File(inside),
            Target::File(_) | Target::Outside => Lookup::Outside,
            Target::Directory(_) | Target::Missing | Target::Endless => Lookup::Missing,
        }
    }

    /// A path as `package.json` writes it, completed as the host's runtime does: by extension, by source file, by `index` of a directory.
    pub(super) fn complete(&self, raw: &str) -> Lookup {
        let exact = self.look_up(raw);
        if exact != Lookup::Missing {
            return exact;
        }
        let trimmed = raw.trim_end_matches('/');
        let mut candidates: Vec<String> = Vec::new();
        if let Some((stem, extension)) = trimmed.rsplit_once('.') {
            let sources = SOURCES.iter().find(|(compiled, _)| *compiled == extension).map_or(&[] as &[&str], |(_, sources)| sources);
            candidates.extend(sources.iter().map(|source| format!("{stem}.{source}")));
        }
        candidates.extend(EXTENSIONS.iter().map(|extension| format!("{trimmed}.{extension}")));
        candidates.extend(EXTENSIONS.iter().map(|extension| format!("{trimmed}/index.{extension}")));
        candidates.iter().map(|candidate| self.look_up(candidate)).find(|found| matches!(found, Lookup::File(_))).unwrap_or(Lookup::Missing)
    }

    /// The first of `<stem>.<extension>` that is a file.
    pub(super) fn first(&self, stem: &str, extensions: &[&str]) -> Option<String> {
        extensions.iter().find_map(|extension| match self.look_up(&format!("{stem}.{extension}")) {
            Lookup::File(path) => Some(path),
            Lookup::Missing | Lookup::Outside => None,
        })
    }

    /// The `index` that an import of the directory itself finds.
    pub(super) fn imported_index(&self) -> Option<String> {
        self.first("index", &EXTENSIONS)
    }

    /// A path of the bundle as a `package.json` would name it.
    pub(super) fn named(&self, path: &str) -> String {
        let inside =
            if self.directory.is_empty() { Some(path) } else { path.strip_prefix(self.directory).and_then(|rest| rest.strip_prefix('/')) };
        inside.map_or_else(|| path.to_owned(), |inside| format!("./{inside}"))
    }

    fn inside(&self, raw: &str) -> Option<String> {
        if raw.starts_with('/') || raw.starts_with("file:") {
            return None;
        }
        let inside = lexical(raw)?;
        Some(if self.directory.is_empty() { inside } else { format!("{}/{inside}", self.directory) })
    }

    fn contains(&self, real: &[u8]) -> bool {
        // The plugin's directory is named without links.
        self.directory.is_empty() || real.strip_prefix(self.directory.as_bytes()).is_some_and(|rest| rest.starts_with(b"/"))
    }
}

/// A relative path with `.` and `..` resolved by its text, as `path.resolve` does. `None` when it climbs out.
pub(super) fn lexical(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}
