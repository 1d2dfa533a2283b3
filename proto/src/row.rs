//! `results.json`: one row a case. Field names are the reference tool's, with additions that older readers ignore.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::axes::{Isolation, Jit, Line, Tier};
use crate::verdict::{Reason, Verdict};

/// The file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Results {
    /// Version of the format.
    pub version: u32,
    /// When the run ended, RFC 3339 in UTC.
    pub at: String,
    /// Version of ocsweep.
    pub tool: String,
    /// The plugin's name.
    pub plugin: String,
    /// Container image id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Budget of the live tier, in US dollars.
    #[serde(default, rename = "budgetUSD", skip_serializing_if = "Option::is_none")]
    pub budget_usd: Option<f64>,
    /// The proof that every planned case is accounted for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completeness: Option<Completeness>,
    /// Rows in report order.
    pub results: Vec<CaseRow>,
}

/// Planned cases against those accounted for: planned = done + skipped + indeterminate + missing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Completeness {
    /// Cases of the plan.
    pub planned: u64,
    /// Cases that passed or failed.
    pub done: u64,
    /// Cases that were skipped.
    pub skipped: u64,
    /// Cases that stayed indeterminate.
    pub indeterminate: u64,
    /// Ids of planned cases of which nothing is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Ids of cases with a result that nobody planned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unplanned: Vec<String>,
}

/// The version of [`Results`].
pub const RESULTS_VERSION: u32 = 1;

/// One case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CaseRow {
    /// `load`, `bun-test` or the scenario's id.
    pub id: String,
    /// Tier.
    pub tier: Tier,
    /// The host version as asked for; everything keys on it.
    pub opencode: String,
    /// The exact host version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<String>,
    /// The variant.
    #[serde(default = "default_variant")]
    pub variant: String,
    /// The host's line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<Line>,
    /// How the host's JavaScript engine was tuned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jit: Option<Jit>,
    /// What kept the case apart from the machine; absent on rows that nothing ran for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// True on skipped rows too: look at `verdict`, or at `skipped` first.
    pub pass: bool,
    /// How the case ended.
    pub verdict: Verdict,
    /// Why, unless it passed.
    pub reason: Option<Reason>,
    /// The infrastructure kept us from knowing.
    #[serde(default)]
    pub infra: bool,
    /// Attempts of the case ended as a pass and as a failure; the row tells of the failure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flaky: bool,
    /// Why the case was skipped, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// What is wrong, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
    /// Findings that are no failure.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Live attempts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<AttemptRow>,
    /// The judge's last opinion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<JudgeRow>,
    /// Step events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Tool calls, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Tools of which a call completed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completed: Vec<String>,
    /// Cost in US dollars.
    #[serde(default, rename = "costUSD", skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// The first 2000 characters of the answers' text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_excerpt: Option<String>,
    /// Messages of error events.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// The host's exit code; null when a signal ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// A bound was reached.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// Wall time of the case, in milliseconds.
    pub duration_ms: u64,
    /// Wall time of each phase, in milliseconds.
    #[serde(default)]
    pub phases: BTreeMap<String, u64>,
    /// Peak memory of the container, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
    /// What the case did beside answering.
    #[serde(default)]
    pub observed: Observed,
    /// Directory of the evidence, relative to the results file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// A kept sandbox or evidence path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// What exactly was run.
    #[serde(default)]
    pub digests: Digests,
}

fn default_variant() -> String {
    crate::ids::DEFAULT_VARIANT.to_owned()
}

/// One live attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptRow {
    /// Whether it passed.
    pub pass: bool,
    /// What was wrong.
    pub failures: Vec<String>,
}

/// A judge's opinion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeRow {
    /// Whether the answer is good.
    pub pass: bool,
    /// Why.
    pub reason: String,
}

/// Token counts, summed over the steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Tokens {
    /// Prompt tokens, cached ones excluded.
    pub input: u64,
    /// Answer tokens, reasoning excluded.
    pub output: u64,
    /// Reasoning tokens.
    pub reasoning: u64,
    /// Tokens read from a cache.
    pub cache_read: u64,
    /// Tokens written to a cache.
    pub cache_write: u64,
}

/// What a case did beside answering. Lists are capped at 50 entries; the full lists are in the evidence.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Observed {
    /// Web tools of the host that were called: `webfetch`, `websearch`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub web_tools: Vec<String>,
    /// Connection attempts that left loopback: `host:port`, or a name that was looked up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub connections: Vec<String>,
    /// Files written outside the project and the XDG directories, as `$HOME/…` or `$TMPDIR/…`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writes_outside: Vec<String>,
    /// Commands that outlived the host.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub leaked_processes: Vec<String>,
}

/// Digests of everything that decides a case.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Digests {
    /// The bundle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The host binary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binary: Option<String>,
    /// The scenario with expectation and options.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// The container image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The agent with its probes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

impl CaseRow {
    /// A row that says nothing yet beyond which case it is.
    #[must_use]
    pub fn blank(id: &str, tier: Tier, opencode: &str, variant: &str) -> Self {
        Self {
            id: id.to_owned(),
            tier,
            opencode: opencode.to_owned(),
            resolved: None,
            variant: variant.to_owned(),
            line: None,
            jit: None,
            isolation: None,
            pass: false,
            verdict: Verdict::Indeterminate,
            reason: None,
            infra: false,
            flaky: false,
            skipped: None,
            failures: Vec::new(),
            warnings: Vec::new(),
            attempts: Vec::new(),
            judge: None,
            steps: None,
            tools: Vec::new(),
            completed: Vec::new(),
            cost_usd: None,
            tokens: None,
            text_excerpt: None,
            errors: Vec::new(),
            exit_code: None,
            timed_out: false,
            duration_ms: 0,
            phases: BTreeMap::new(),
            peak_memory_bytes: None,
            observed: Observed::default(),
            evidence: None,
            kept: None,
            digests: Digests::default(),
        }
    }

    /// The row with a reason; verdict, `pass` and `infra` follow from it, so that they cannot disagree. `None` is a pass.
    #[must_use]
    pub fn ended(mut self, reason: Option<Reason>) -> Self {
        self.reason = reason;
        self.verdict = reason.map_or(Verdict::Pass, Reason::verdict);
        self.pass = matches!(self.verdict, Verdict::Pass | Verdict::Skipped);
        self.infra = self.verdict == Verdict::Indeterminate;
        self
    }

    /// A skipped row.
    #[must_use]
    pub fn skipped(self, reason: Reason, text: impl Into<String>) -> Self {
        Self { skipped: Some(text.into()), ..self.ended(Some(reason)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdict_pass_and_infra_follow_the_reason() {
        let row = |reason| CaseRow::blank("load", Tier::Load, "latest", "default").ended(reason);
        for &reason in Reason::ALL {
            let row = row(Some(reason));
            assert_eq!(row.verdict, reason.verdict());
            assert_eq!(row.pass, row.verdict == Verdict::Skipped);
            assert_eq!(row.infra, row.verdict == Verdict::Indeterminate);
        }
        assert!(row(None).pass);
    }

    #[test]
    fn a_reason_is_null_on_a_pass_and_present_for_readers() {
        let json = serde_json::to_value(CaseRow::blank("load", Tier::Load, "latest", "default").ended(None)).unwrap();
        assert!(json.get("reason").is_some_and(serde_json::Value::is_null));
        assert_eq!(json["warnings"], serde_json::json!([]));
    }
}
