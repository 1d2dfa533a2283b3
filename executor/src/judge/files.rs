//! `files`: the project after the run. Where a path leads was decided by the agent, inside the container.

use ocsweep_proto::agent::{FileFact, FileState};
use ocsweep_proto::expect::FileExpect;
use serde_json::Value;

use super::{Case, assertions, matcher};

/// Checks every expected file.
pub(super) fn check(case: &Case<'_>, expected: &[FileExpect]) -> Vec<String> {
    expected
        .iter()
        .enumerate()
        .flat_map(|(index, wanted)| {
            let label = format!("files[{index}].{}", wanted.path);
            let fact = case.report().files.iter().find(|fact| fact.path == wanted.path);
            fact.map_or_else(|| vec![format!("{label}: the file was not collected.")], |fact| check_one(fact, wanted, &label))
        })
        .collect()
}

fn check_one(fact: &FileFact, wanted: &FileExpect, label: &str) -> Vec<String> {
    let one = |text: &str| vec![format!("{label}: {text}")];
    let content = wanted.content();
    // A path alone asks for a file that is there.
    let exists = wanted.exists.or(content.is_none().then_some(true));
    match (&fact.state, exists, content) {
        (FileState::EscapesLexically, ..) => one("path escapes the project dir."),
        (FileState::EscapesBySymlink, ..) => one("path escapes the project dir (symlink target outside)."),
        (FileState::Unresolvable, ..) => one("path escapes the project dir (could not resolve real path)."),
        (FileState::Missing, Some(true), _) => one("expected file to exist, but it does not."),
        (FileState::Missing, Some(false), _) => Vec::new(),
        (FileState::Missing, None, _) => one("no such file."),
        (_, Some(false), _) => one("expected file not to exist, but it does."),
        (_, _, None) => Vec::new(),
        (FileState::Other, ..) => one("it is no regular file."),
        (FileState::File(file), _, Some(matcher)) => {
            let mut failures = matcher::check(Some(&Value::String(file.text.clone())), &matcher, label);
            if file.dropped > 0 && failures.is_empty() && assertions::needs_everything(&matcher) {
                failures.push(assertions::cut_text(label, file.dropped));
            }
            failures
        }
    }
}
