//! The closed vocabulary of verdicts and reasons. Nothing else in the code base may invent a word for "how did it end".

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a case ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Shown to work; never given for the mere absence of an error.
    Pass,
    /// Shown not to work.
    Fail,
    /// Deliberately not run.
    Skipped,
    /// The infrastructure kept us from knowing.
    Indeterminate,
}

impl Verdict {
    /// The word used in files and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Skipped => "skipped",
            Self::Indeterminate => "indeterminate",
        }
    }
}

/// Who is to blame for a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The plugin under test.
    Subject,
    /// The test itself, for example a model that the scenario's own config does not define.
    Scenario,
    /// The machine, the engine, the network or ocsweep.
    Infrastructure,
    /// Nobody: the case did not run on purpose.
    Nobody,
}

macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $variant:ident = $word:literal => $fault:ident,)*) => {
        /// Why a case did not pass. A closed list; a change needs an ADR.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum Reason {
            $($(#[doc = $doc])+ #[serde(rename = $word)] $variant,)*
        }

        impl Reason {
            /// Every reason, in the order of this list.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The kebab-case word used in files and reports.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// What the reason means, in one sentence.
            #[must_use]
            pub fn describe(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc),+).trim(),)* }
            }

            /// Whose fault the reason is. Exhaustive, so that a new reason has to decide.
            #[must_use]
            pub const fn fault(self) -> Fault {
                match self { $(Self::$variant => Fault::$fault,)* }
            }
        }
    };
}

reasons! {
    /// The subject's install command, or the installation of its package, failed.
    InstallFailed = "install-failed" => Subject,
    /// The subject's build command failed.
    BuildFailed = "build-failed" => Subject,
    /// The registry does not have the package or version.
    PackageNotFound = "package-not-found" => Subject,
    /// Nothing names an entry.
    NotAPlugin = "not-a-plugin" => Subject,
    /// A package field names a file that is not there.
    EntryMissing = "entry-missing" => Subject,
    /// The host's own rules do not find the entry.
    NotResolved = "not-resolved" => Subject,
    /// The module cannot be parsed or throws while it is imported.
    ImportFailed = "import-failed" => Subject,
    /// The host rejects what the module exports.
    BadExport = "bad-export" => Subject,
    /// The plugin's factory or config hook failed.
    SetupFailed = "setup-failed" => Subject,
    /// The plugin's import, factory or config hook did not end.
    InitHang = "init-hang" => Subject,
    /// The host process ended without finishing.
    HostCrashed = "host-crashed" => Subject,
    /// The host reported an error.
    HostError = "host-error" => Subject,
    /// No model call was made.
    NoModelCall = "no-model-call" => Subject,
    /// An expectation of the scenario does not hold.
    Assertion = "assertion" => Subject,
    /// The host asked the model more often than the script has steps.
    ScriptExhausted = "script-exhausted" => Subject,
    /// An expected name is not in the inventory.
    ExpectationMissing = "expectation-missing" => Subject,
    /// A plugin that nobody asked for was loaded.
    ForeignPlugin = "foreign-plugin" => Subject,
    /// The host logged a problem with the plugin.
    LogProblem = "log-problem" => Subject,
    /// The project's own tests failed.
    BunTestFailed = "bun-test-failed" => Subject,
    /// Nothing came out of the host in time.
    TimeoutStart = "timeout-start" => Subject,
    /// The host fell silent for too long.
    TimeoutNoOutput = "timeout-no-output" => Subject,
    /// The case took too long in all.
    TimeoutTotal = "timeout-total" => Subject,
    /// The case reached its memory limit.
    MemoryLimit = "memory-limit" => Subject,
    /// The case reached its process limit.
    ProcessLimit = "process-limit" => Subject,
    /// The case filled one of its file systems.
    DiskLimit = "disk-limit" => Subject,
    /// The scenario's own configuration is at fault.
    ScenarioConfig = "scenario-config" => Scenario,
    /// The container image cannot be had.
    Image = "image" => Infrastructure,
    /// The container engine failed.
    Docker = "docker" => Infrastructure,
    /// The machine, not the case, ran out of memory.
    OomHost = "oom-host" => Infrastructure,
    /// The machine's disk is full.
    DiskFullHost = "disk-full-host" => Infrastructure,
    /// The package registry could not be asked.
    Registry = "registry" => Infrastructure,
    /// The store refused or lost something.
    Store = "store" => Infrastructure,
    /// The executor died at every delivery of the job.
    ExecutorLost = "executor-lost" => Infrastructure,
    /// A stored record belongs to other inputs.
    StoreConflict = "store-conflict" => Infrastructure,
    /// The evidence stream has no end frame.
    StreamIncomplete = "stream-incomplete" => Infrastructure,
    /// A message could not be read.
    BadMessage = "bad-message" => Infrastructure,
    /// Somebody stopped the run.
    Cancelled = "cancelled" => Infrastructure,
    /// The load case of the cell failed.
    Tier1Failed = "tier-1-failed" => Nobody,
    /// The load case of the cell stayed indeterminate.
    Tier1Indeterminate = "tier-1-indeterminate" => Nobody,
    /// The case makes no sense for this subject.
    NotApplicable = "not-applicable" => Nobody,
    /// No API key for the live tier.
    NoKey = "no-key" => Nobody,
    /// The budget was spent before the case could run.
    BudgetExhausted = "budget-exhausted" => Nobody,
}

impl Reason {
    /// The verdict that goes with the reason.
    #[must_use]
    pub const fn verdict(self) -> Verdict {
        match self.fault() {
            Fault::Subject | Fault::Scenario => Verdict::Fail,
            Fault::Infrastructure => Verdict::Indeterminate,
            Fault::Nobody => Verdict::Skipped,
        }
    }

    /// Whether another attempt can change anything.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        match self {
            // The delivery limit has already tried four times, and a person's wish is not a fault.
            Self::ExecutorLost | Self::Cancelled => false,
            other => matches!(other.fault(), Fault::Infrastructure),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_kebab_case_and_unique() {
        let mut seen = std::collections::BTreeSet::new();
        for reason in Reason::ALL {
            let word = reason.as_str();
            assert!(word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{word}");
            assert!(seen.insert(word), "{word} twice");
            assert_eq!(serde_json::to_value(reason).unwrap(), word);
        }
    }

    #[test]
    fn an_infrastructure_fault_is_never_a_fail() {
        for reason in Reason::ALL {
            if reason.fault() == Fault::Infrastructure {
                assert_eq!(reason.verdict(), Verdict::Indeterminate, "{reason:?}");
            }
            if reason.is_retryable() {
                assert_eq!(reason.fault(), Fault::Infrastructure, "{reason:?}");
            }
        }
    }
}
