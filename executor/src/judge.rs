//! Judges one case by its evidence, outside the container: what failed, why, and what else is worth knowing.
//!
//! Pure: values in, a judgement out. A pass means *shown to work*; the mere absence of an error is never one. The container is never asked
//! whether it passed.

mod assertions;
mod behaviour;
pub(crate) mod bun;
mod engines;
mod explain;
mod exports;
mod files;
mod findings;
mod hooks;
mod host;
mod inventory;
mod limits;
mod machine;
mod matcher;
mod observed;
mod request;
mod show;
mod stage;
mod suggest;
mod surface;
mod tools;
mod tui;

#[cfg(test)]
mod tests;

use ocsweep_proto::agent::{Exit, Report};
use ocsweep_proto::axes::Tier;
use ocsweep_proto::expect::Expect;
use ocsweep_proto::job::CaseWork;
use ocsweep_proto::row::{CaseRow, Observed, Tokens};
use ocsweep_proto::verdict::Reason;

use crate::evidence::{CallStatus, Observation, RawEvidence};
use findings::Findings;

pub use tui::{judge_tui, module_is_tui_only};

/// The judgement of one case.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Judgement {
    /// Why the case did not pass; `None` is a pass.
    pub reason: Option<Reason>,
    /// Why the case does not apply, in words.
    pub skipped: Option<String>,
    /// What is wrong, one sentence each; the reason's own first.
    pub failures: Vec<String>,
    /// Findings that are no failure.
    pub warnings: Vec<String>,
    /// Step events.
    pub steps: Option<u64>,
    /// Tool calls, in order.
    pub tools: Vec<String>,
    /// Tools of which a call completed.
    pub completed: Vec<String>,
    /// Cost in US dollars.
    pub cost_usd: Option<f64>,
    /// Tokens.
    pub tokens: Option<Tokens>,
    /// The beginning of the answers' text.
    pub text_excerpt: Option<String>,
    /// Messages of error events.
    pub errors: Vec<String>,
    /// The host's exit code.
    pub exit_code: Option<i32>,
    /// A bound was reached.
    pub timed_out: bool,
    /// What the case did beside answering.
    pub observed: Observed,
}

/// Characters of the answers that a row keeps.
const EXCERPT_CHARS: usize = 2000;
/// Entries of the lists on a row.
const LIST_CAP: usize = 50;
/// Tool calls on a row; a long conversation has many.
const TOOL_CAP: usize = 200;

/// One case and everything known of it.
#[derive(Clone, Copy)]
struct Case<'a> {
    work: &'a CaseWork,
    raw: &'a RawEvidence,
    seen: &'a Observation,
}

impl<'a> Case<'a> {
    fn report(&self) -> &'a Report {
        &self.raw.report
    }

    fn is_load(&self) -> bool {
        self.work.tier == Tier::Load
    }

    fn expect(&self) -> Option<&'a Expect> {
        self.work.scenario.as_ref().map(|scenario| &scenario.expect)
    }

    /// The host ended by itself: neither a bound nor a signal ended it.
    fn ended_by_itself(&self) -> bool {
        matches!(self.report().exit, Some(Exit::Code(_))) && self.report().timeout.is_none()
    }
}

/// Judges a case of a server plugin.
#[must_use]
pub fn judge(work: &CaseWork, raw: &RawEvidence) -> Judgement {
    let seen = Observation::on(work.host.line, raw);
    let case = Case { work, raw, seen: &seen };
    let mut findings = Findings::default();
    if limits::nothing_is_known(&case, &mut findings) {
        return Judgement { reason: findings.reason(), failures: findings.texts(), ..facts(&case) };
    }
    if let Some(judgement) = tui::by_module(work, &raw.report) {
        return judgement;
    }
    limits::check(&case, &mut findings);
    stage::check(&case, &mut findings);
    if raw.report.exit.is_some() || raw.report.timeout.is_some() {
        host::check(&case, &mut findings);
        stage::registration(&case, &mut findings);
        inventory::check(&case, &mut findings);
        assertions::check(&case, &mut findings);
    }
    explain::check(&case, &mut findings);
    let mut warnings = surface::warnings(&case);
    warnings.extend(machine::warnings(&case));
    Judgement { reason: findings.reason(), failures: findings.texts(), warnings: show::capped(warnings), ..facts(&case) }
}

/// The parts of a judgement that are no opinion.
fn facts(case: &Case<'_>) -> Judgement {
    let (seen, report) = (case.seen, case.report());
    let text = seen.events.texts.join("\n");
    let mut completed: Vec<String> = Vec::new();
    // A Code Mode program is told by its own calls.
    let calls = || seen.calls.iter().filter(|call| call.inner == 0);
    for call in calls().filter(|call| call.status == Some(CallStatus::Completed)) {
        if !completed.contains(&call.name) && completed.len() < LIST_CAP {
            completed.push(show::safe(&call.name));
        }
    }
    Judgement {
        steps: Some(seen.events.steps),
        tools: calls().take(TOOL_CAP).map(|call| show::safe(&call.name)).collect(),
        completed,
        cost_usd: (seen.events.finishes > 0).then_some(seen.events.cost_usd),
        tokens: (seen.events.finishes > 0).then_some(seen.events.tokens),
        text_excerpt: (!text.is_empty()).then(|| text.chars().take(EXCERPT_CHARS).collect()),
        errors: seen.events.errors.iter().take(LIST_CAP).map(|error| show::safe(&error.message)).collect(),
        exit_code: match report.exit {
            Some(Exit::Code(code)) => Some(code),
            _ => None,
        },
        timed_out: report.timeout.is_some(),
        observed: observed::of(case),
        ..Judgement::default()
    }
}

impl Judgement {
    /// Puts the judgement onto a row.
    #[must_use]
    pub fn apply(self, row: CaseRow) -> CaseRow {
        let row = match (self.reason, self.skipped) {
            (Some(reason), Some(text)) => row.skipped(reason, text),
            (reason, _) => row.ended(reason),
        };
        CaseRow {
            failures: self.failures,
            warnings: self.warnings,
            steps: self.steps,
            tools: self.tools,
            completed: self.completed,
            cost_usd: self.cost_usd,
            tokens: self.tokens,
            text_excerpt: self.text_excerpt,
            errors: self.errors,
            exit_code: self.exit_code,
            timed_out: self.timed_out,
            observed: self.observed,
            ..row
        }
    }
}
