//! Compares a run with an `expected.json`. Everything that differs is reported at once.
//!
//! An unknown key in such a file is an error: a condition that nobody checks must not look like one that holds.

use serde::Deserialize;
use serde_json::Value;

use super::run::Ended;

/// What a run must show.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Expected {
    /// For people.
    #[serde(default, rename = "id")]
    _id: Option<String>,
    /// For people: why this file is another one than for line v1.
    #[serde(default, rename = "//")]
    _why: Option<String>,
    /// Every row, in order.
    rows: Vec<Row>,
    /// Exit code.
    exit: i32,
    /// Texts on standard error, for a run without rows.
    #[serde(default)]
    message: Vec<String>,
}

/// What a row must show.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Row {
    /// Id of the row.
    case: String,
    /// One verdict, or any of several.
    verdict: OneOrMany,
    /// `null` is not checked.
    #[serde(default)]
    reason: Option<String>,
    /// In the row's failures, whatever the case of letters.
    #[serde(default)]
    contains: Vec<String>,
    /// In failures, `skipped` or warnings of the row, whatever the case of letters.
    #[serde(default)]
    any: Vec<String>,
    /// In the warnings of the run.
    #[serde(default)]
    warnings: Vec<String>,
    /// The row has no warning.
    #[serde(default)]
    no_warnings: bool,
    /// The failures, exactly.
    #[serde(default)]
    failures: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    fn holds(&self, verdict: &str) -> bool {
        match self {
            Self::One(one) => one == verdict,
            Self::Many(many) => many.iter().any(|one| one == verdict),
        }
    }
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(|item| item.as_str().unwrap_or_default().to_owned()).collect()
}

fn lacking<'a>(wanted: &'a [String], texts: &[String]) -> Vec<&'a String> {
    let all = texts.join("\n").to_lowercase();
    wanted.iter().filter(|text| !all.contains(&text.to_lowercase())).collect()
}

impl Expected {
    /// Everything in which a run differs; empty when it is as expected. `results` is `null` when no file was written.
    pub(crate) fn differences(&self, ended: &Ended, results: &Value) -> Vec<String> {
        let mut found = Vec::new();
        if ended.code != Some(self.exit) {
            found.push(format!("exit: expected {}, got {:?}", self.exit, ended.code));
        }
        found.extend(self.message.iter().filter(|text| !ended.stderr.contains(*text)).map(|text| format!("standard error lacks {text:?}")));
        let rows: Vec<&Value> = results["results"].as_array().into_iter().flatten().collect();
        let ids: Vec<&str> = rows.iter().map(|row| row["id"].as_str().unwrap_or_default()).collect();
        let wanted: Vec<&str> = self.rows.iter().map(|row| row.case.as_str()).collect();
        if same_set(&ids, &wanted) {
            let warnings: Vec<String> = rows.iter().flat_map(|row| strings(&row["warnings"])).collect();
            for expected in &self.rows {
                let row = rows.iter().find(|row| row["id"] == expected.case.as_str()).expect("the ids are the same");
                found.extend(expected.differences(row, &warnings).into_iter().map(|text| format!("{}: {text}", expected.case)));
            }
        } else {
            found.push(format!("rows: expected {wanted:?}, got {ids:?}"));
        }
        found
    }
}

fn same_set(left: &[&str], right: &[&str]) -> bool {
    let sorted = |ids: &[&str]| {
        let mut ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        ids.sort();
        ids
    };
    sorted(left) == sorted(right)
}

impl Row {
    fn differences(&self, row: &Value, warnings_of_run: &[String]) -> Vec<String> {
        let mut found = Vec::new();
        let verdict = row["verdict"].as_str().unwrap_or_default();
        if !self.verdict.holds(verdict) {
            found.push(format!("verdict: expected {:?}, got {verdict:?}", self.verdict));
        }
        if let Some(reason) = self.reason.as_deref().filter(|reason| row["reason"] != *reason) {
            found.push(format!("reason: expected {reason:?}, got {}", row["reason"]));
        }
        let (failures, warnings) = (strings(&row["failures"]), strings(&row["warnings"]));
        found.extend(lacking(&self.contains, &failures).into_iter().map(|text| format!("failures lack {text:?}")));
        let mut anywhere = [failures.clone(), warnings.clone()].concat();
        anywhere.extend(row["skipped"].as_str().map(str::to_owned));
        found.extend(lacking(&self.any, &anywhere).into_iter().map(|text| format!("neither failures, skipped nor warnings hold {text:?}")));
        found.extend(lacking(&self.warnings, warnings_of_run).into_iter().map(|text| format!("no warning of the run holds {text:?}")));
        if self.no_warnings && !warnings.is_empty() {
            found.push("there are warnings".to_owned());
        }
        if let Some(wanted) = self.failures.as_ref().filter(|wanted| **wanted != failures) {
            found.push(format!("failures: expected exactly {wanted:#?}"));
        }
        found
    }
}
