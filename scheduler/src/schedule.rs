//! The schedule: a pure state machine that turns a plan and the outcomes seen so far into the next actions. One loop owns it.
//!
//! It must never judge: a verdict enters here as recorded and leaves unchanged.

use std::collections::{BTreeMap, VecDeque};

use ocsweep_proto::axes::Tier;
use ocsweep_proto::ids::CaseId;
use ocsweep_proto::job::{FORMAT, Job, Subject, Work};
use ocsweep_proto::outcome::{Outcome, Unprepared, WorkResult};
use ocsweep_proto::row::CaseRow;
use ocsweep_proto::verdict::{Reason, Verdict};

use crate::plan::{Cell, Plan, PlannedCase};

/// Attempts of a case that stays indeterminate.
pub const MAX_ATTEMPTS: u32 = 3;

/// What the owner of the schedule does next.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Publish a job.
    Publish(Box<Job>),
    /// Store an outcome that needs no executor: a skipped case, or a case whose subject cannot be had.
    Record(Box<Outcome>),
}

/// Where a case stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Waits for its subject or for the load case of its cell.
    Waiting,
    /// An attempt is on its way.
    Running(u32),
    /// Done.
    Ended,
}

/// The state of a run.
#[derive(Debug)]
pub struct Schedule {
    plan: Plan,
    subject: Option<Subject>,
    prepare: State,
    states: BTreeMap<CaseId, State>,
    actions: VecDeque<Action>,
}

impl Schedule {
    /// Starts a plan; the first action prepares the subject.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        let states = plan.cells.iter().flat_map(|cell| cell.cases.iter().map(|case| (case.case.clone(), State::Waiting))).collect();
        let mut schedule = Self { plan, subject: None, prepare: State::Running(1), states, actions: VecDeque::new() };
        schedule.publish(schedule.plan.prepare_case.clone(), 1, Work::Prepare(Box::new(schedule.plan.prepare.clone())));
        schedule
    }

    /// The next action, if there is one now.
    pub fn next_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Whether every planned case has ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.actions.is_empty() && self.prepare == State::Ended && self.states.values().all(|state| *state == State::Ended)
    }

    /// Whether nothing more will be known of a case.
    #[must_use]
    pub fn has_ended(&self, case: &CaseId) -> bool {
        self.states.get(case).is_none_or(|state| *state == State::Ended)
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Takes note of an outcome. A duplicate, an old attempt or an unknown case changes nothing.
    pub fn record(&mut self, outcome: &Outcome) {
        if outcome.case == self.plan.prepare_case {
            self.record_prepare(outcome);
            return;
        }
        let Some(State::Running(attempt)) = self.states.get(&outcome.case).copied() else { return };
        if attempt != outcome.attempt {
            return;
        }
        let Some((cell, case)) = self.find(&outcome.case) else { return };
        if self.should_retry(outcome) {
            if let Some(subject) = &self.subject {
                let work = Work::Case(Box::new(self.plan.work(&cell, &case, subject)));
                self.states.insert(outcome.case.clone(), State::Running(attempt + 1));
                self.publish(outcome.case.clone(), attempt + 1, work);
            }
            return;
        }
        self.states.insert(outcome.case.clone(), State::Ended);
        if case.tier == Tier::Load {
            self.release(&cell, outcome);
        }
    }

    /// Stops the run: whatever has not ended is recorded as cancelled.
    pub fn cancel(&mut self) {
        self.actions.clear();
        self.prepare = State::Ended;
        for cell in self.plan.cells.clone() {
            for case in &cell.cases {
                if self.states.get(&case.case) != Some(&State::Ended) {
                    let row = blank(&cell, case).ended(Some(Reason::Cancelled));
                    self.end(&case.case, with_failure(row, "the run was interrupted before this case ended.".to_owned()));
                }
            }
        }
    }

    fn record_prepare(&mut self, outcome: &Outcome) {
        if self.prepare != State::Running(outcome.attempt) {
            return;
        }
        if self.should_retry(outcome) {
            self.prepare = State::Running(outcome.attempt + 1);
            self.publish(outcome.case.clone(), outcome.attempt + 1, Work::Prepare(Box::new(self.plan.prepare.clone())));
            return;
        }
        self.prepare = State::Ended;
        match &outcome.result {
            WorkResult::Prepared(subject) => {
                self.subject = Some((**subject).clone());
                self.start_cells();
            }
            WorkResult::Unprepared(unprepared) => self.fail_cells(unprepared),
            // A case's row under the preparation's id cannot be told what it means; the cells stay unaccounted, which is a headline.
            WorkResult::Case(_) => {}
        }
    }

    fn should_retry(&self, outcome: &Outcome) -> bool {
        outcome.attempt < MAX_ATTEMPTS && outcome.reason().is_some_and(Reason::is_retryable)
    }

    fn start_cells(&mut self) {
        for cell in self.plan.cells.clone() {
            match cell.cases.iter().find(|case| case.tier == Tier::Load) {
                Some(load) => self.start(&cell, load),
                None => self.start_rest(&cell),
            }
        }
    }

    /// The load case has ended: the other cases of its cell start, or are skipped for its reason.
    fn release(&mut self, cell: &Cell, load: &Outcome) {
        if load.tui_only {
            return self.skip_rest(cell, Reason::NotApplicable, "TUI-only plugin: it has no server part that a scenario could use");
        }
        match load.reason().map(Reason::verdict) {
            None => self.start_rest(cell),
            Some(Verdict::Indeterminate) => self.skip_rest(cell, Reason::Tier1Indeterminate, "tier 1 indeterminate"),
            Some(_) => self.skip_rest(cell, Reason::Tier1Failed, "tier 1 failed"),
        }
    }

    fn start_rest(&mut self, cell: &Cell) {
        let tui_only = self.subject.as_ref().is_some_and(|subject| subject.entries.tui_only);
        if tui_only {
            return self.skip_rest(cell, Reason::NotApplicable, "TUI-only plugin: it has no server part that a scenario could use");
        }
        for case in cell.cases.iter().filter(|case| case.tier != Tier::Load) {
            match self.plan.live_skip() {
                Some((reason, text)) if case.tier == Tier::Live => self.end(&case.case, blank(cell, case).skipped(reason, text)),
                _ => self.start(cell, case),
            }
        }
    }

    fn start(&mut self, cell: &Cell, case: &PlannedCase) {
        let Some(subject) = &self.subject else { return };
        let work = Work::Case(Box::new(self.plan.work(cell, case, subject)));
        self.states.insert(case.case.clone(), State::Running(1));
        self.publish(case.case.clone(), 1, work);
    }

    fn skip_rest(&mut self, cell: &Cell, reason: Reason, text: &str) {
        for case in cell.cases.iter().filter(|case| case.tier != Tier::Load) {
            if self.states.get(&case.case) == Some(&State::Waiting) {
                self.end(&case.case, blank(cell, case).skipped(reason, text));
            }
        }
    }

    /// A subject that cannot be had: one load row for each cell says why, the rest is skipped.
    fn fail_cells(&mut self, unprepared: &Unprepared) {
        let verdict = unprepared.reason.verdict();
        for cell in self.plan.cells.clone() {
            let load =
                PlannedCase { case: cell.load_case.clone(), tier: Tier::Load, id: ocsweep_proto::ids::ScenarioId::load(), scenario: None };
            let mut row = blank(&cell, &load).ended(Some(unprepared.reason));
            row.failures.clone_from(&unprepared.failures);
            row.duration_ms = unprepared.duration_ms;
            self.end(&load.case, row);
            if verdict == Verdict::Indeterminate {
                self.skip_rest(&cell, Reason::Tier1Indeterminate, "tier 1 indeterminate");
            } else {
                self.skip_rest(&cell, Reason::Tier1Failed, "tier 1 failed");
            }
        }
    }

    fn end(&mut self, case: &CaseId, row: CaseRow) {
        self.states.insert(case.clone(), State::Ended);
        let outcome = Outcome {
            format: FORMAT,
            sweep: self.plan.sweep.clone(),
            case: case.clone(),
            attempt: 1,
            result: WorkResult::Case(Box::new(row)),
            tui_only: false,
        };
        self.actions.push_back(Action::Record(Box::new(outcome)));
    }

    fn publish(&mut self, case: CaseId, attempt: u32, work: Work) {
        let job = Job { format: FORMAT, sweep: self.plan.sweep.clone(), case, attempt, work };
        self.actions.push_back(Action::Publish(Box::new(job)));
    }

    fn find(&self, case: &CaseId) -> Option<(Cell, PlannedCase)> {
        self.plan.cells.iter().find_map(|cell| {
            let planned = cell.cases.iter().find(|planned| planned.case == *case)?;
            Some((cell.clone(), planned.clone()))
        })
    }
}

fn blank(cell: &Cell, case: &PlannedCase) -> CaseRow {
    let mut row = CaseRow::blank(case.id.as_str(), case.tier, &cell.host.requested, cell.variant.as_str());
    row.resolved = Some(cell.host.resolved.clone());
    row.line = Some(cell.host.line);
    row
}

fn with_failure(mut row: CaseRow, text: String) -> CaseRow {
    row.failures.push(text);
    row
}

#[cfg(test)]
#[path = "schedule/tests.rs"]
mod tests;
