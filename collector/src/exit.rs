//! Which status a finished run has. Pure; configuration errors, an empty selection and an interruption are the caller's, and outrank this.

use ocsweep_proto::exit::ExitCode;
use ocsweep_proto::row::CaseRow;
use ocsweep_proto::verdict::{Reason, Verdict};

/// The status of a run with these rows. Only rows of the required version count: a failure before anything else, then a row that stayed
/// indeterminate or was skipped because its load case did.
pub fn exit_code<'a>(rows: impl IntoIterator<Item = &'a CaseRow>, required: &str) -> ExitCode {
    let mut unknown = false;
    for row in rows {
        if row.opencode != required {
            continue;
        }
        match row.verdict {
            Verdict::Fail => return ExitCode::Failure,
            Verdict::Indeterminate => unknown = true,
            Verdict::Skipped => unknown |= row.reason == Some(Reason::Tier1Indeterminate),
            Verdict::Pass => {}
        }
    }
    if unknown { ExitCode::Indeterminate } else { ExitCode::Ok }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{load, scripted};

    #[test]
    fn a_failure_outranks_what_is_not_known_and_only_the_required_version_counts() {
        let fail = |version| scripted("a", version, Some(Reason::Assertion));
        let unknown = |version| load(version, Some(Reason::Docker));
        let pass = |version| load(version, None);
        let skipped = |reason| load("1.0.0", Some(reason));
        let table = [
            (vec![], ExitCode::Ok),
            (vec![pass("1.0.0")], ExitCode::Ok),
            (vec![pass("1.0.0"), fail("latest"), unknown("latest")], ExitCode::Ok),
            (vec![unknown("1.0.0"), fail("1.0.0"), pass("1.0.0")], ExitCode::Failure),
            (vec![unknown("1.0.0"), fail("latest")], ExitCode::Indeterminate),
            (vec![skipped(Reason::NoKey), skipped(Reason::NotApplicable), skipped(Reason::Tier1Failed)], ExitCode::Ok),
            (vec![skipped(Reason::Tier1Indeterminate), pass("1.0.0")], ExitCode::Indeterminate),
            (vec![load("1.0.0", Some(Reason::ScenarioConfig))], ExitCode::Failure),
        ];
        for (rows, expected) in table {
            assert_eq!(exit_code(&rows, "1.0.0"), expected, "{rows:?}");
        }
    }

    #[test]
    fn every_reason_leads_to_the_status_of_its_verdict() {
        for &reason in Reason::ALL {
            let expected = match reason.verdict() {
                Verdict::Fail => ExitCode::Failure,
                Verdict::Indeterminate => ExitCode::Indeterminate,
                Verdict::Skipped if reason == Reason::Tier1Indeterminate => ExitCode::Indeterminate,
                Verdict::Skipped | Verdict::Pass => ExitCode::Ok,
            };
            assert_eq!(exit_code(&[load("1.0.0", Some(reason))], "1.0.0"), expected, "{reason:?}");
        }
    }
}
