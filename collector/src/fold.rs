//! Folds the stored records of a case's attempts into one row. Pure: neither the order nor the repetition of records changes the row.
//!
//! It must never retry, and it must never let a later attempt hide an earlier failure.

use std::collections::BTreeMap;

use ocsweep_proto::ids::CaseId;
use ocsweep_proto::outcome::{Outcome, WorkResult};
use ocsweep_proto::row::CaseRow;
use ocsweep_proto::verdict::{Reason, Verdict};

/// One attempt of a case: its number, and the row that it ended with.
type Attempt<'a> = (u32, &'a CaseRow);

/// The rows of a run as they come in, one attempt after the other. Nothing but the rows is kept.
#[derive(Debug, Default)]
pub struct Fold {
    attempts: BTreeMap<CaseId, Vec<(u32, Box<CaseRow>)>>,
}

impl Fold {
    /// Takes the row of an attempt.
    pub fn add(&mut self, case: CaseId, attempt: u32, row: Box<CaseRow>) {
        self.attempts.entry(case).or_default().push((attempt, row));
    }

    /// Whether a case has a row.
    #[must_use]
    pub fn has(&self, case: &CaseId) -> bool {
        self.attempts.contains_key(case)
    }

    /// One row for each case that has one, as [`cases`] gives them.
    #[must_use]
    pub fn into_rows(self) -> BTreeMap<CaseId, CaseRow> {
        let folded = self.attempts.into_iter().filter_map(|(case, mut attempts)| {
            // Nearly every case has one attempt, and its row need not be copied.
            let row = match attempts.pop() {
                Some((_, only)) if attempts.is_empty() => *only,
                last => {
                    attempts.extend(last);
                    fold(&attempts.iter().map(|(attempt, row)| (*attempt, row.as_ref())).collect::<Vec<_>>())?
                }
            };
            Some((case, row))
        });
        folded.collect()
    }
}

/// One row for each case that has a record. Records of preparations are no cases.
pub fn cases<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> BTreeMap<CaseId, CaseRow> {
    let mut attempts: BTreeMap<&CaseId, Vec<Attempt<'_>>> = BTreeMap::new();
    for outcome in outcomes {
        if let WorkResult::Case(row) = &outcome.result {
            attempts.entry(&outcome.case).or_default().push((outcome.attempt, row));
        }
    }
    attempts.into_iter().filter_map(|(case, attempts)| Some((case.clone(), fold(&attempts)?))).collect()
}

/// The row of one case: any failure makes it fail, else any pass makes it pass, else it is skipped, else indeterminate. The lowest attempt
/// with that verdict gives everything else. `None` without records of a case.
pub fn case<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> Option<CaseRow> {
    let attempts: Vec<Attempt<'_>> = outcomes
        .into_iter()
        .filter_map(|outcome| match &outcome.result {
            WorkResult::Case(row) => Some((outcome.attempt, row.as_ref())),
            WorkResult::Prepared(_) | WorkResult::Unprepared(_) => None,
        })
        .collect();
    fold(&attempts)
}

fn fold(attempts: &[Attempt<'_>]) -> Option<CaseRow> {
    let known: Vec<Attempt<'_>> = attempts.iter().filter(|attempt| !is_only_lost(attempt, attempts)).copied().collect();
    let verdict = known.iter().map(|(_, row)| row.verdict).max_by_key(|&verdict| weight(verdict))?;
    let mut row = first_with(&known, verdict)?.1.clone();
    if verdict == Verdict::Fail
        && let Some((attempt, passed)) = first_with(&known, Verdict::Pass)
    {
        row.flaky = true;
        let evidence = passed.evidence.as_deref().unwrap_or("not kept");
        row.warnings.push(format!("flaky: attempt {attempt} passed (evidence: {evidence})"));
    }
    Some(row)
}

/// What decides over what. Exhaustive, so that a new verdict has to take its place.
const fn weight(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Fail => 3,
        Verdict::Pass => 2,
        Verdict::Skipped => 1,
        Verdict::Indeterminate => 0,
    }
}

/// The lowest attempt with a verdict. Two executors may have run the same attempt; then the records' text decides, because it is the same in
/// every order.
fn first_with<'a>(attempts: &[Attempt<'a>], verdict: Verdict) -> Option<Attempt<'a>> {
    let lowest = attempts.iter().filter(|(_, row)| row.verdict == verdict).map(|(attempt, _)| *attempt).min()?;
    let same: Vec<Attempt<'a>> = attempts.iter().filter(|(attempt, row)| *attempt == lowest && row.verdict == verdict).copied().collect();
    match same.as_slice() {
        [only] => Some(*only),
        several => several.iter().min_by_key(|(_, row)| serde_json::to_string(row).unwrap_or_default()).copied(),
    }
}

/// "The executor was lost" is said about an attempt from outside; a record of the attempt itself knows better.
fn is_only_lost(attempt: &Attempt<'_>, all: &[Attempt<'_>]) -> bool {
    let is_lost = |row: &CaseRow| row.reason == Some(Reason::ExecutorLost);
    is_lost(attempt.1) && all.iter().any(|(number, row)| *number == attempt.0 && !is_lost(row))
}

#[cfg(test)]
mod tests;
