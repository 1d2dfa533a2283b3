//! The schedule: a pure state machine that turns a plan and the outcomes seen so far into the next actions. One loop owns it.
//!
//! It must never judge: a verdict enters here as recorded and leaves unchanged. A job is written when it is asked for and not before, so that
//! a plan of ten thousand cases does not lie in memory as ten thousand jobs.

use std::collections::{BTreeMap, VecDeque};

use ocsweep_proto::axes::Tier;
use ocsweep_proto::ids::{CaseId, ScenarioId};
use ocsweep_proto::job::{FORMAT, Job, Subject, Work};
use ocsweep_proto::outcome::{Outcome, Unprepared, WorkResult};
use ocsweep_proto::row::CaseRow;
use ocsweep_proto::verdict::{Reason, Verdict};

use crate::plan::{Cell, Plan, PlannedCase};

/// Attempts of a case that stays indeterminate.
pub const MAX_ATTEMPTS: u32 = 3;

const TUI_ONLY: &str = "TUI-only plugin: it has no server part that a scenario could use";

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

/// Where a case lies in the plan: the index of its cell, and its own in there.
#[derive(Debug, Clone, Copy)]
struct Place {
    cell: usize,
    case: usize,
}

/// A job that is to be published.
#[derive(Debug, Clone, Copy)]
enum Due {
    Prepare(u32),
    Case(Place, u32),
}

/// The state of a run.
#[derive(Debug)]
pub struct Schedule {
    plan: Plan,
    subject: Option<Subject>,
    prepare: State,
    states: BTreeMap<CaseId, (State, Place)>,
    /// Cases that have not ended.
    open: usize,
    due: VecDeque<Due>,
    records: VecDeque<Box<Outcome>>,
}

impl Schedule {
    /// Starts a plan; the first action prepares the subject.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        let places = plan.cells.iter().enumerate().flat_map(|(at, cell)| (0..cell.cases.len()).map(move |case| Place { cell: at, case }));
        let states: BTreeMap<_, _> =
            places.map(|place| (plan.cells[place.cell].cases[place.case].case.clone(), (State::Waiting, place))).collect();
        let (open, due) = (states.len(), VecDeque::from([Due::Prepare(1)]));
        Self { plan, subject: None, prepare: State::Running(1), states, open, due, records: VecDeque::new() }
    }

    /// The next action, if there is one now. Records come before jobs.
    pub fn next_action(&mut self) -> Option<Action> {
        self.next_record().map(Action::Record).or_else(|| {
            let due = self.due.pop_front()?;
            self.job(due).map(|job| Action::Publish(Box::new(job)))
        })
    }

    /// The next outcome that needs no executor. Whoever has enough jobs on their way asks for these alone.
    pub fn next_record(&mut self) -> Option<Box<Outcome>> {
        self.records.pop_front()
    }

    /// Whether every planned case has ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.due.is_empty() && self.records.is_empty() && self.prepare == State::Ended && self.open == 0
    }

    /// Whether nothing more will be known of a case.
    #[must_use]
    pub fn has_ended(&self, case: &CaseId) -> bool {
        self.states.get(case).is_none_or(|(state, _)| *state == State::Ended)
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
        let Some((State::Running(attempt), place)) = self.states.get(&outcome.case).copied() else { return };
        if attempt != outcome.attempt {
            return;
        }
        if self.should_retry(outcome) {
            return self.start(place, attempt + 1);
        }
        self.set(&outcome.case, State::Ended);
        if self.case(place).tier == Tier::Load {
            self.release(place.cell, outcome);
        }
    }

    /// Stops the run: whatever has not ended is recorded as cancelled.
    pub fn cancel(&mut self) {
        self.due.clear();
        self.records.clear();
        self.prepare = State::Ended;
        for place in self.places() {
            if self.state(place) != State::Ended {
                let row = self.blank(place).ended(Some(Reason::Cancelled));
                self.end(place, with_failure(row, "the run was interrupted before this case ended.".to_owned()));
            }
        }
    }

    fn record_prepare(&mut self, outcome: &Outcome) {
        if self.prepare != State::Running(outcome.attempt) {
            return;
        }
        if self.should_retry(outcome) {
            self.prepare = State::Running(outcome.attempt + 1);
            self.due.push_back(Due::Prepare(outcome.attempt + 1));
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
        for cell in 0..self.plan.cells.len() {
            match self.plan.cells[cell].cases.iter().position(|case| case.tier == Tier::Load) {
                Some(case) => self.start(Place { cell, case }, 1),
                None => self.start_rest(cell),
            }
        }
    }

    /// The load case has ended: the other cases of its cell start, or are skipped for its reason.
    fn release(&mut self, cell: usize, load: &Outcome) {
        if load.tui_only {
            return self.skip_rest(cell, Reason::NotApplicable, TUI_ONLY);
        }
        match load.reason().map(Reason::verdict) {
            None => self.start_rest(cell),
            Some(Verdict::Indeterminate) => self.skip_rest(cell, Reason::Tier1Indeterminate, "tier 1 indeterminate"),
            Some(_) => self.skip_rest(cell, Reason::Tier1Failed, "tier 1 failed"),
        }
    }

    fn start_rest(&mut self, cell: usize) {
        let tui_only = self.subject.as_ref().is_some_and(|subject| subject.entries.tui_only);
        if tui_only {
            return self.skip_rest(cell, Reason::NotApplicable, TUI_ONLY);
        }
        for place in self.rest(cell) {
            match self.plan.live_skip() {
                Some((reason, text)) if self.case(place).tier == Tier::Live => self.end(place, self.blank(place).skipped(reason, text)),
                _ => self.start(place, 1),
            }
        }
    }

    fn start(&mut self, place: Place, attempt: u32) {
        let case = self.case(place).case.clone();
        self.set(&case, State::Running(attempt));
        self.due.push_back(Due::Case(place, attempt));
    }

    fn skip_rest(&mut self, cell: usize, reason: Reason, text: &str) {
        for place in self.rest(cell) {
            if self.state(place) == State::Waiting {
                self.end(place, self.blank(place).skipped(reason, text));
            }
        }
    }

    /// A subject that cannot be had: one load row for each cell says why, the rest is skipped.
    fn fail_cells(&mut self, unprepared: &Unprepared) {
        let verdict = unprepared.reason.verdict();
        for cell in 0..self.plan.cells.len() {
            let load = &self.plan.cells[cell];
            let mut row = blank(load, &ScenarioId::load(), Tier::Load).ended(Some(unprepared.reason));
            row.failures.clone_from(&unprepared.failures);
            row.duration_ms = unprepared.duration_ms;
            self.end_case(load.load_case.clone(), row);
            if verdict == Verdict::Indeterminate {
                self.skip_rest(cell, Reason::Tier1Indeterminate, "tier 1 indeterminate");
            } else {
                self.skip_rest(cell, Reason::Tier1Failed, "tier 1 failed");
            }
        }
    }

    fn end(&mut self, place: Place, row: CaseRow) {
        self.end_case(self.case(place).case.clone(), row);
    }

    fn end_case(&mut self, case: CaseId, row: CaseRow) {
        self.set(&case, State::Ended);
        let result = WorkResult::Case(Box::new(row));
        let outcome = Outcome { format: FORMAT, sweep: self.plan.sweep.clone(), case, attempt: 1, result, tui_only: false };
        self.records.push_back(Box::new(outcome));
    }

    /// `None` for a case without a subject, which is never due.
    fn job(&self, due: Due) -> Option<Job> {
        let (case, attempt, work) = match due {
            Due::Prepare(attempt) => (&self.plan.prepare_case, attempt, Work::Prepare(Box::new(self.plan.prepare.clone()))),
            Due::Case(place, attempt) => {
                let case = self.case(place);
                let work = self.plan.work(&self.plan.cells[place.cell], case, self.subject.as_ref()?);
                (&case.case, attempt, Work::Case(Box::new(work)))
            }
        };
        Some(Job { format: FORMAT, sweep: self.plan.sweep.clone(), case: case.clone(), attempt, work })
    }

    fn case(&self, place: Place) -> &PlannedCase {
        &self.plan.cells[place.cell].cases[place.case]
    }

    fn state(&self, place: Place) -> State {
        self.states.get(&self.case(place).case).map_or(State::Ended, |(state, _)| *state)
    }

    /// A load case whose tier is not selected has no state.
    fn set(&mut self, case: &CaseId, to: State) {
        if let Some((state, _)) = self.states.get_mut(case) {
            if *state != State::Ended && to == State::Ended {
                self.open -= 1;
            }
            *state = to;
        }
    }

    fn places(&self) -> Vec<Place> {
        (0..self.plan.cells.len()).flat_map(|cell| (0..self.plan.cells[cell].cases.len()).map(move |case| Place { cell, case })).collect()
    }

    /// The cases of a cell but for its load case.
    fn rest(&self, cell: usize) -> Vec<Place> {
        let cases = self.plan.cells[cell].cases.iter().enumerate();
        cases.filter(|(_, planned)| planned.tier != Tier::Load).map(|(case, _)| Place { cell, case }).collect()
    }

    fn blank(&self, place: Place) -> CaseRow {
        let case = self.case(place);
        blank(&self.plan.cells[place.cell], &case.id, case.tier)
    }
}

fn blank(cell: &Cell, id: &ScenarioId, tier: Tier) -> CaseRow {
    let mut row = CaseRow::blank(id.as_str(), tier, &cell.host.requested, cell.variant.as_str());
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
