//! What a scenario expects, checked on the evidence. Every failed expectation is one sentence.

use ocsweep_proto::agent::Exit;
use ocsweep_proto::expect::{Expect, Matcher};
use ocsweep_proto::verdict::Reason;
use serde_json::Value;

use super::findings::Findings;
use super::{Case, files, hooks, matcher, request, tools};

/// Adds what does not hold of the scenario's expectations. Error events are the host's; see there.
pub(super) fn check(case: &Case<'_>, findings: &mut Findings) {
    let Some(expect) = case.expect() else { return };
    let crashed = findings.has(Reason::HostCrashed);
    let mut failures = Vec::new();
    failures.extend(exit_code(case, expect).filter(|_| !crashed));
    failures.extend(tools::check(case, expect));
    failures.extend(tools::check_absent(case, &expect.no_tools));
    failures.extend(hooks::check(case, &expect.hooks));
    failures.extend(expect.request.as_ref().map(|request| request::check(case, request)).unwrap_or_default());
    failures.extend(files::check(case, &expect.files));
    failures.extend(stream(case, "text", "stdout", &case.seen.events.texts.join("\n"), expect.text.as_ref()));
    failures.extend(stream(case, "stderr", "stderr", &case.seen.stderr, expect.stderr.as_ref()));
    for failure in failures {
        findings.add(Reason::Assertion, failure);
    }
}

/// A host that was ended from outside has no exit code to compare.
fn exit_code(case: &Case<'_>, expect: &Expect) -> Option<String> {
    match case.report().exit {
        Some(Exit::Code(code)) if case.report().timeout.is_none() && code != expect.exit_code => {
            Some(format!("exitCode: expected {}, got {code}.", expect.exit_code))
        }
        _ => None,
    }
}

fn stream(case: &Case<'_>, label: &str, stream: &str, text: &str, matcher: Option<&Matcher>) -> Vec<String> {
    let Some(matcher) = matcher else { return Vec::new() };
    let mut failures = matcher::check(Some(&Value::String(text.to_owned())), matcher, label);
    let lost = dropped(case, stream);
    if lost > 0 && failures.is_empty() && needs_everything(matcher) {
        failures.push(cut_text(label, lost));
    }
    failures
}

/// Bytes of a stream that a cap dropped.
pub(super) fn dropped(case: &Case<'_>, stream: &str) -> u64 {
    case.report().dropped.iter().filter(|(name, _)| name.contains(stream)).map(|(_, bytes)| bytes).sum()
}

/// Whether a condition could fail on the part that is missing.
pub(super) fn needs_everything(matcher: &Matcher) -> bool {
    matcher.equals.is_some() || matcher.not_contains.is_some() || matcher.not_matches.is_some()
}

/// The failure of a condition that nobody can check.
pub(super) fn cut_text(label: &str, lost: u64) -> String {
    format!("{label}: {lost} bytes were cut off, so the expectation cannot be checked.")
}
