//! Problems of a case, and which of them is the reason: the cause comes before its consequences.

use ocsweep_proto::verdict::{Fault, Reason};

use super::show;

/// Every problem found so far.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<(Reason, String)>);

/// From cause to consequence. Infrastructure comes before all of them.
const PRECEDENCE: [Reason; 21] = [
    Reason::MemoryLimit,
    Reason::ProcessLimit,
    Reason::DiskLimit,
    Reason::TimeoutStart,
    Reason::TimeoutNoOutput,
    Reason::TimeoutTotal,
    Reason::NotAPlugin,
    Reason::EntryMissing,
    Reason::NotResolved,
    Reason::ImportFailed,
    Reason::BadExport,
    Reason::SetupFailed,
    Reason::InitHang,
    Reason::HostCrashed,
    Reason::ScenarioConfig,
    Reason::HostError,
    Reason::LogProblem,
    Reason::ExpectationMissing,
    Reason::ForeignPlugin,
    Reason::ScriptExhausted,
    Reason::NoModelCall,
];

/// Assertions, and whatever the list does not name, come last.
fn rank(reason: Reason) -> usize {
    if reason.fault() == Fault::Infrastructure {
        return 0;
    }
    1 + PRECEDENCE.iter().position(|listed| *listed == reason).unwrap_or(PRECEDENCE.len())
}

impl Findings {
    /// Adds a problem.
    pub(super) fn add(&mut self, reason: Reason, text: impl Into<String>) {
        self.0.push((reason, text.into()));
    }

    /// Whether a problem of this reason was found.
    pub(super) fn has(&self, reason: Reason) -> bool {
        self.0.iter().any(|(found, _)| *found == reason)
    }

    /// Whether the plugin is already known not to have come up.
    pub(super) fn has_stage(&self) -> bool {
        [Reason::NotResolved, Reason::ImportFailed, Reason::BadExport, Reason::SetupFailed, Reason::InitHang]
            .into_iter()
            .any(|reason| self.has(reason))
    }

    /// The reason of the case; `None` when nothing was found.
    pub(super) fn reason(&self) -> Option<Reason> {
        self.0.iter().map(|(reason, _)| *reason).min_by_key(|reason| rank(*reason))
    }

    /// Every text, the reason's own first.
    pub(super) fn texts(&self) -> Vec<String> {
        let mut sorted: Vec<_> = self.0.iter().collect();
        sorted.sort_by_key(|(reason, _)| rank(*reason));
        show::capped(sorted.into_iter().map(|(_, text)| text.clone()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_comes_first_whatever_the_order() {
        let mut findings = Findings::default();
        assert_eq!(findings.reason(), None);
        for reason in [
            Reason::Assertion,
            Reason::NoModelCall,
            Reason::HostError,
            Reason::ImportFailed,
            Reason::TimeoutTotal,
            Reason::MemoryLimit,
            Reason::OomHost,
        ] {
            findings.add(reason, reason.as_str());
            assert_eq!(findings.reason(), Some(reason));
        }
        assert_eq!(
            findings.texts(),
            ["oom-host", "memory-limit", "timeout-total", "import-failed", "host-error", "no-model-call", "assertion"]
        );
    }

    #[test]
    fn every_reason_that_a_run_can_have_is_ranked_before_assertions() {
        let late: Vec<_> = Reason::ALL.iter().filter(|reason| rank(**reason) > PRECEDENCE.len()).map(|reason| reason.as_str()).collect();
        let expected = [
            "install-failed",
            "build-failed",
            "package-not-found",
            "assertion",
            "bun-test-failed",
            "tier-1-failed",
            "tier-1-indeterminate",
            "not-applicable",
            "no-key",
            "budget-exhausted",
        ];
        assert_eq!(late, expected);
    }
}
