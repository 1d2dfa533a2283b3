//! `results.json`: the order of its rows, its text and its schema. Reading it is tolerant, writing it is strict.
//!
//! It must never change a row, and never write a file by half.

mod read;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::Path;

use ocsweep_proto::ids::{BUN_TEST, DEFAULT_VARIANT};
use ocsweep_proto::row::{CaseRow, Results};

use crate::files::{self, FileError};

pub use read::{ReadError, parse, read};

/// The order of everything that has one. Words that are not in a list come after those that are, by their text.
#[derive(Debug, Clone, Copy, Default)]
pub struct Order<'a> {
    /// Host versions as asked for, the required one first.
    pub versions: &'a [String],
    /// Variants; the default one is first in any case.
    pub variants: &'a [String],
    /// Scenario ids in the order of their files.
    pub scenarios: &'a [String],
}

/// Puts rows into report order: version, variant, tier, scenario; the project's own tests are last of all.
pub fn sort(rows: &mut [CaseRow], order: Order<'_>) {
    let versions = positions(order.versions);
    let variants = positions(order.variants);
    let scenarios = positions(order.scenarios);
    let place = |places: &HashMap<&str, usize>, word: &str| places.get(word).copied().unwrap_or(usize::MAX);
    rows.sort_by(|a, b| {
        let key = |row: &CaseRow| {
            let variant = if row.variant == DEFAULT_VARIANT { None } else { Some(place(&variants, &row.variant)) };
            (row.id == BUN_TEST, place(&versions, &row.opencode), variant, row.tier, place(&scenarios, &row.id))
        };
        key(a).cmp(&key(b)).then_with(|| words(a).cmp(&words(b)))
    });
}

fn words(row: &CaseRow) -> [&str; 3] {
    [&row.opencode, &row.variant, &row.id]
}

fn positions(words: &[String]) -> HashMap<&str, usize> {
    // The first of two equal words counts.
    words.iter().enumerate().rev().map(|(at, word)| (word.as_str(), at)).collect()
}

/// The text of the file: indented, with a final line feed.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn to_json(results: &Results) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(results)?;
    text.push('\n');
    Ok(text)
}

/// Why a results file was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A value cannot be written as JSON.
    #[error("cannot write the results as JSON")]
    Json(#[from] serde_json::Error),
    /// The operating system refused.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Writes the file, whole or not at all.
///
/// # Errors
/// When the operating system refuses.
pub fn write(path: &Path, results: &Results) -> Result<(), WriteError> {
    Ok(files::write_whole(path, to_json(results)?.as_bytes())?)
}

/// The JSON Schema of the file, as it is published.
#[must_use]
pub fn schema() -> String {
    let schema = schemars::schema_for!(Results);
    format!("{:#}\n", schema.as_value())
}
