//! Reading `results.json`, also of other versions and of the reference tool, which has neither verdicts nor reasons.
//!
//! Tolerant of what is missing or unknown; strict about what a row claims: a row that contradicts itself is an error, not a guess.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ocsweep_proto::row::{CaseRow, RESULTS_VERSION, Results};
use ocsweep_proto::verdict::{Reason, Verdict};
use serde::de::IntoDeserializer;
use serde::{Deserialize, de};
use serde_json::{Map, Value};

/// Why a results file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is no such file, or it cannot be read.
    #[error("cannot read the results file {}: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// It is no results file.
    #[error("{} is not a valid results file: {problem}", .path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the row where it is.
        problem: String,
    },
}

/// Reads a file.
///
/// # Errors
/// When it is missing or no results file.
pub fn read(path: &Path) -> Result<Results, ReadError> {
    let bytes = fs::read(path).map_err(|source| ReadError::File { path: path.to_owned(), source })?;
    parse(&bytes).map_err(|problem| ReadError::Invalid { path: path.to_owned(), problem })
}

/// Reads the text of a file.
///
/// # Errors
/// What is wrong, with the row where it is.
pub fn parse(bytes: &[u8]) -> Result<Results, String> {
    let mut file: Map<String, Value> = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let rows = match file.insert("results".to_owned(), Value::Array(Vec::new())) {
        Some(Value::Array(rows)) => rows,
        Some(_) => return Err("\"results\" is not a list".to_owned()),
        None => return Err("\"results\" is missing".to_owned()),
    };
    drop_nulls(&mut file);
    let mut results: Results = from(Value::Object(file)).map_err(|error| error.to_string())?;
    if results.version > RESULTS_VERSION {
        return Err(format!("it has version {}, and this program reads up to {RESULTS_VERSION}", results.version));
    }
    results.results = rows
        .into_iter()
        .enumerate()
        .map(|(at, row)| parse_row(row).map_err(|problem| format!("row {}: {problem}", at + 1)))
        .collect::<Result<_, _>>()?;
    Ok(results)
}

fn from<T: for<'de> Deserialize<'de>>(value: Value) -> Result<T, serde_json::Error> {
    T::deserialize(value.into_deserializer()).map_err(|error: serde_json::Error| de::Error::custom(error.to_string()))
}

/// Writers that know no "absent" write null. `reason` and `exitCode` may be null, and are the same when they are absent.
fn drop_nulls(object: &mut Map<String, Value>) {
    object.retain(|_, value| !value.is_null());
}

fn parse_row(row: Value) -> Result<CaseRow, String> {
    let Value::Object(mut row) = row else { return Err("not an object".to_owned()) };
    drop_nulls(&mut row);
    // A word of a newer writer is no reason to lose the row.
    if row.get("reason").is_some_and(|reason| from::<Reason>(reason.clone()).is_err()) {
        row.remove("reason");
    }
    if row.get("verdict").is_none_or(|verdict| from::<Verdict>(verdict.clone()).is_err()) {
        let (verdict, reason) = derived(&row);
        row.insert("verdict".to_owned(), Value::from(verdict.as_str()));
        if let Some(reason) = reason {
            row.insert("reason".to_owned(), Value::from(reason.as_str()));
        }
    }
    let mut row: CaseRow = from(Value::Object(row)).map_err(|error| error.to_string())?;
    row.infra = row.verdict == Verdict::Indeterminate;
    consistent(row)
}

/// Verdict and reason of a row that has no verdict, from what the reference tool writes. Skipped comes first: such a row has `pass: true`.
fn derived(row: &Map<String, Value>) -> (Verdict, Option<Reason>) {
    let known = row.get("reason").and_then(|reason| from::<Reason>(reason.clone()).ok());
    if let Some(reason) = known {
        return (reason.verdict(), Some(reason));
    }
    if let Some(text) = row.get("skipped").and_then(Value::as_str) {
        return (Verdict::Skipped, Some(skip_reason(text)));
    }
    if row.get("infra") == Some(&Value::Bool(true)) {
        return (Verdict::Indeterminate, None);
    }
    if row.get("pass") == Some(&Value::Bool(true)) { (Verdict::Pass, None) } else { (Verdict::Fail, None) }
}

fn skip_reason(text: &str) -> Reason {
    match text {
        "tier 1 failed" => Reason::Tier1Failed,
        _ if text.starts_with("no API key") => Reason::NoKey,
        _ if text.starts_with("budget exhausted") => Reason::BudgetExhausted,
        _ => Reason::NotApplicable,
    }
}

fn consistent(row: CaseRow) -> Result<CaseRow, String> {
    let passes = matches!(row.verdict, Verdict::Pass | Verdict::Skipped);
    if row.pass != passes {
        return Err(format!("the verdict is {} and \"pass\" is {}", row.verdict.as_str(), row.pass));
    }
    match row.reason {
        Some(reason) if reason.verdict() != row.verdict => {
            Err(format!("the verdict is {} and the reason is {}", row.verdict.as_str(), reason.as_str()))
        }
        _ => Ok(row),
    }
}
