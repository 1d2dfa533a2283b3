//! `request`: what the model was sent.

use ocsweep_proto::agent::RequestKind;
use ocsweep_proto::expect::RequestExpect;
use serde_json::Value;

use super::{Case, matcher};
use crate::evidence::{offered_tools, system_text};

/// Checks the wanted primary request.
pub(super) fn check(case: &Case<'_>, wanted: &RequestExpect) -> Vec<String> {
    let primary: Vec<_> = case.raw.stub_requests.iter().filter(|request| request.kind == RequestKind::Primary).collect();
    let position = (wanted.nth.max(1) - 1) as usize;
    let Some(request) = primary.get(position) else {
        return vec![format!("request: expected primary request {}, but the model was asked {} time(s).", wanted.nth, primary.len())];
    };
    let mut failures = Vec::new();
    if let Some(matcher) = &wanted.system {
        failures.extend(match system_text(request) {
            Some(text) => matcher::check(Some(&Value::String(text)), matcher, "request.system"),
            None => vec![unreadable("request.system")],
        });
    }
    if let Some(matcher) = &wanted.tools {
        failures.extend(match offered_tools(request) {
            Some(names) => matcher::check(Some(&Value::from(names)), matcher, "request.tools"),
            None => vec![unreadable("request.tools")],
        });
    }
    failures
}

fn unreadable(label: &str) -> String {
    format!("{label}: the body of the request cannot be read.")
}
