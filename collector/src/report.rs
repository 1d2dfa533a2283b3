//! `report`: renders a stored results file again, and the step summary of a CI run.
//!
//! It needs no keys: values were scrubbed when the file was written.

use std::path::Path;

use ocsweep_proto::row::Results;

use crate::files::{self, FileError};
use crate::render;
use crate::results::{self, ReadError};

/// The largest step summary that CI shows is 1 MiB; a longer one is not shown at all.
const SUMMARY_BYTES: usize = 1_000_000;

/// The versions that may fail when only the results are known: all but the first, in order of first appearance.
#[must_use]
pub fn allowed_versions(results: &Results) -> Vec<String> {
    let mut seen: Vec<&str> = Vec::new();
    for row in &results.results {
        if !seen.contains(&row.opencode.as_str()) {
            seen.push(&row.opencode);
        }
    }
    seen.into_iter().skip(1).map(str::to_owned).collect()
}

/// The Markdown report of a results file.
///
/// # Errors
/// When the file is missing or no results file; the caller's status is the one for usage errors.
pub fn render_file(path: &Path) -> Result<String, ReadError> {
    let results = results::read(path)?;
    Ok(render::markdown(&results, &allowed_versions(&results)))
}

/// Appends Markdown to the step summary of a CI run. A failure is a warning, never a failure of the run.
///
/// # Errors
/// When the operating system refuses.
pub fn append_summary(path: &Path, markdown: &str) -> Result<(), FileError> {
    files::append(path, fitting(markdown).as_bytes())
}

/// The whole text, or as many whole lines as are shown, and a line that says so.
fn fitting(markdown: &str) -> std::borrow::Cow<'_, str> {
    if markdown.len() <= SUMMARY_BYTES {
        return markdown.into();
    }
    let kept = markdown.get(..markdown.floor_char_boundary(SUMMARY_BYTES)).unwrap_or_default();
    let kept = kept.rsplit_once('\n').map_or("", |(lines, _)| lines);
    format!("{kept}\n\nThe report is longer than a summary may be; the rest is in report.md.\n").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{load, results};

    #[test]
    fn every_version_but_the_first_may_fail() {
        let rows = ["1.18.33", "latest", "1.18.33", "v2", "latest"].iter().map(|version| load(version, None)).collect();
        assert_eq!(allowed_versions(&results(rows)), ["latest", "v2"]);
        assert!(allowed_versions(&results(Vec::new())).is_empty());
    }

    #[test]
    fn a_stored_file_gives_the_same_report() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("results.json");
        let written = results(vec![load("1.18.33", None), load("latest", None)]);
        results::write(&path, &written).unwrap();
        assert_eq!(render_file(&path).unwrap(), render::markdown(&written, &["latest".to_owned()]));
        assert!(render_file(root.path()).is_err());
    }

    #[test]
    fn a_summary_is_appended_and_cut_at_a_line() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("summary.md");
        append_summary(&path, "one\n").unwrap();
        append_summary(&path, "two\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        assert!(append_summary(root.path(), "x").is_err());
        let long = "äöü\n".repeat(200_000);
        let cut = fitting(&long);
        assert!(
            cut.len() <= SUMMARY_BYTES + 100
                && cut.ends_with("äöü\n\nThe report is longer than a summary may be; the rest is in report.md.\n")
        );
    }
}
