//! Which file is the plugin's entry, and what the host itself would say of it. Pure: tree and `package.json` in, entries out.
//!
//! Two sets of rules meet here. A list of places decides whether there is an entry at all. The host's own rules, read in its source and
//! tried on it, then decide which file it loads, or that it loads none, which it does without a word.

use ocsweep_proto::job::{Entries, ServerEntry};
use ocsweep_proto::verdict::Reason;

use super::manifest::PackageJson;
use super::tree::Tree;

mod exports;
mod files;
mod host;
mod list;

use files::Files;
use host::Answer;

/// Whose rules the host applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// First line, a directory on disk.
    Path,
    /// First line, a package from a registry.
    Npm,
    /// The list alone; the entry is then re-exported by its file.
    Listed,
}

/// What the resolution looks at.
#[derive(Debug, Clone, Copy)]
pub struct EntryInput<'a> {
    /// Every path of the bundle.
    pub tree: &'a Tree,
    /// The plugin's directory relative to the bundle's root; empty for the root.
    pub directory: &'a str,
    /// The `package.json` of that directory.
    pub package: &'a PackageJson,
    /// `plugin.entry`.
    pub entry: Option<&'a str>,
    /// `plugin.ui`.
    pub ui: bool,
    /// The host's rules.
    pub rules: Rules,
    /// The bundle's root as it is named in messages: an absolute path on the user's machine.
    pub shown_root: &'a str,
}

/// The entries of a subject with findings that are no failure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resolved {
    /// The entries.
    pub entries: Entries,
    /// Findings for the load row.
    pub warnings: Vec<String>,
}

/// Why a subject has no entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// Nothing names an entry: a configuration error, in a sweep a row `not-a-plugin`.
    #[error(
        "No server entry found under {directory}: looked for package.json exports[\"./server\"]/[\".\"], main, then server.{{ts,js,mjs}} and index.{{ts,js,mjs}}."
    )]
    NoEntry {
        /// The plugin's directory, absolute.
        directory: String,
    },
    /// `plugin.entry` names a file that is not there: a configuration error, never a reason to look elsewhere.
    #[error("plugin.entry \"{entry}\" does not exist (resolved to {resolved}). Fix the path, or check that plugin.build creates it.")]
    ExplicitMissing {
        /// As it was written.
        entry: String,
        /// Absolute path.
        resolved: String,
    },
    /// `plugin.entry` leaves the bundle: a configuration error.
    #[error("plugin.entry \"{entry}\" leads outside of {root}, which is all that a case gets to see.")]
    ExplicitOutside {
        /// As it was written.
        entry: String,
        /// The bundle's root, absolute.
        root: String,
    },
    /// A field names a file that is not there, and nothing else resolves.
    #[error("entry {file} is missing: package.json field {field} names it, and nothing else resolves.")]
    EntryMissing {
        /// The field.
        field: String,
        /// The file as the field names it.
        file: String,
    },
    /// A field names a file outside of the plugin's directory, which the host refuses.
    #[error("entry {file} is outside of the plugin's directory: package.json field {field} names it, and the host refuses it.")]
    Outside {
        /// The field.
        field: String,
        /// The file as the field names it.
        file: String,
    },
}

impl EntryError {
    /// The reason of a row, `None` for a configuration error (which is `not-a-plugin` where nobody wrote a configuration).
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        match self {
            Self::EntryMissing { .. } => Some(Reason::EntryMissing),
            Self::Outside { .. } => Some(Reason::NotResolved),
            Self::NoEntry { .. } | Self::ExplicitMissing { .. } | Self::ExplicitOutside { .. } => None,
        }
    }
}

/// Finds the entries of a subject.
///
/// # Errors
/// See [`EntryError`].
pub fn resolve(input: EntryInput<'_>) -> Result<Resolved, EntryError> {
    let files = Files::new(input.tree, input.directory);
    let mut resolved = Resolved::default();
    if let PackageJson::Invalid(problem) = input.package {
        resolved.warnings.push(format!("package.json is ignored: {problem}"));
    }
    resolved.entries.tui = list::tui(&files, input.package);
    let server = match input.entry {
        Some(entry) => explicit(&input, entry).map(Some),
        None => server(&input, &files, resolved.entries.tui.is_some(), &mut resolved.warnings),
    };
    if input.ui {
        return tui_only(&input, resolved, server);
    }
    resolved.entries.server = server?;
    resolved.entries.tui_only = resolved.entries.server.is_none();
    Ok(resolved)
}

/// `plugin.ui` makes the subject TUI-only; without a TUI entry of its own the file that would be the server entry is meant.
fn tui_only(
    input: &EntryInput<'_>,
    mut resolved: Resolved,
    server: Result<Option<ServerEntry>, EntryError>,
) -> Result<Resolved, EntryError> {
    if resolved.entries.tui.is_none() || input.entry.is_some() {
        let server = server?;
        if resolved.entries.tui.is_none() {
            resolved.entries.tui = server.map(|server| server.path);
        }
    }
    resolved.entries.tui_only = true;
    Ok(resolved)
}

fn explicit(input: &EntryInput<'_>, entry: &str) -> Result<ServerEntry, EntryError> {
    let root = input.shown_root.trim_end_matches('/');
    let outside = || EntryError::ExplicitOutside { entry: entry.to_owned(), root: input.shown_root.to_owned() };
    let relative = if entry.starts_with('/') {
        entry.strip_prefix(root).and_then(|rest| rest.strip_prefix('/')).ok_or_else(outside)?.to_owned()
    } else {
        format!("{}/{entry}", input.directory).trim_start_matches('/').to_owned()
    };
    let path = files::lexical(&relative).ok_or_else(outside)?;
    match input.tree.resolve(path.as_bytes()) {
        super::tree::Target::File(_) => {}
        super::tree::Target::Outside => return Err(outside()),
        _ => return Err(EntryError::ExplicitMissing { entry: entry.to_owned(), resolved: format!("{root}/{path}") }),
    }
    let engines = engines(input);
    Ok(ServerEntry { path, rule: "plugin.entry".to_owned(), not_resolved: None, engines })
}

fn engines(input: &EntryInput<'_>) -> Option<String> {
    // The host checks the field for packages alone.
    (input.rules == Rules::Npm).then(|| input.package.engine().map(str::to_owned)).flatten()
}

fn server(input: &EntryInput<'_>, files: &Files<'_>, has_tui: bool, warnings: &mut Vec<String>) -> Result<Option<ServerEntry>, EntryError> {
    let listed = list::server(files, input.package);
    let answer = match input.rules {
        Rules::Path => host::path(files, input.package),
        Rules::Npm => host::npm(files, input.package),
        Rules::Listed => listed.found.clone().map_or(Answer::Nothing, |found| Answer::Loads { path: found.path, rule: found.rule }),
    };
    if let (Rules::Path, Answer::Loads { path, .. }) = (input.rules, &answer) {
        warnings.extend(published_differs(input, files, path));
    }
    let entry = |path, rule, not_resolved| ServerEntry { path, rule, not_resolved, engines: engines(input) };
    match (answer, listed.found) {
        (Answer::Loads { path, rule }, _) => Ok(Some(entry(path, rule, None))),
        (answer, Some(found)) => {
            let why = host::why_not(&answer, input.rules, &files.named(&found.path));
            Ok(Some(entry(found.path, found.rule, Some(why))))
        }
        (Answer::Missing { field, file }, None) => Err(EntryError::EntryMissing { field, file }),
        (Answer::Outside { field, file }, None) => Err(EntryError::Outside { field, file }),
        (Answer::Nothing, None) => match listed.missing {
            Some((field, file)) => Err(EntryError::EntryMissing { field, file }),
            None if has_tui => Ok(None),
            None => Err(EntryError::NoEntry { directory: shown_directory(input) }),
        },
    }
}

fn shown_directory(input: &EntryInput<'_>) -> String {
    let root = input.shown_root.trim_end_matches('/');
    if input.directory.is_empty() { root.to_owned() } else { format!("{root}/{}", input.directory) }
}

/// A checkout that loads can still be a package that does not.
fn published_differs(input: &EntryInput<'_>, files: &Files<'_>, path: &str) -> Option<String> {
    if !input.package.is_published() {
        return None;
    }
    let name = files.named(path);
    match host::npm(files, input.package) {
        Answer::Loads { path: other, .. } if other == path => None,
        Answer::Loads { path: other, .. } => Some(format!("the published package would load {}, not {name}", files.named(&other))),
        _ => Some(format!(
            "the published package would not load: of a package with \"exports\" the host reads exports[\"./server\"] or \"main\" alone; add \"main\": \"{name}\""
        )),
    }
}

#[cfg(test)]
mod tests;
