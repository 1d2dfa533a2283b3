//! Outcomes: what an executor stores before it announces that a job is done.

use serde::{Deserialize, Serialize};

use crate::ids::{CaseId, SweepId};
use crate::job::{FORMAT, Job, Subject, Work};
use crate::row::CaseRow;
use crate::verdict::Reason;

/// The stored record of one attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// [`crate::job::FORMAT`].
    pub format: u32,
    /// The run.
    pub sweep: SweepId,
    /// The case.
    pub case: CaseId,
    /// The attempt.
    pub attempt: u32,
    /// What came of it.
    pub result: WorkResult,
    /// The load case found that the module is a TUI plugin only, so that no server tier of the cell makes sense.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tui_only: bool,
}

/// What came of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkResult {
    /// The subject is ready.
    Prepared(Box<Subject>),
    /// The subject cannot be had; every cell of it fails, or stays indeterminate, with this.
    Unprepared(Unprepared),
    /// A case has run.
    Case(Box<CaseRow>),
}

/// Why a subject cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unprepared {
    /// The reason.
    pub reason: Reason,
    /// What is wrong, one sentence each; the first is the exact text of the step's failure.
    pub failures: Vec<String>,
    /// The last lines of the step's output.
    pub log_tail: String,
    /// Wall time, in milliseconds.
    pub duration_ms: u64,
}

/// The announcement that an outcome is stored. Small: the record itself travels through the store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Announcement {
    /// [`crate::job::FORMAT`].
    pub format: u32,
    /// The run.
    pub sweep: SweepId,
    /// The case.
    pub case: CaseId,
    /// The attempt.
    pub attempt: u32,
    /// Key of the stored record.
    pub key: String,
    /// The record itself, only when the store would not take it: the outcome must not be lost with the disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<Box<Outcome>>,
}

impl Outcome {
    /// The record of a job that nothing ran, for example because its executor died or has no engine.
    #[must_use]
    pub fn not_run(job: &Job, reason: Reason, text: String) -> Self {
        let failures = vec![text];
        let result = match &job.work {
            Work::Prepare(_) => WorkResult::Unprepared(Unprepared { reason, failures, log_tail: String::new(), duration_ms: 0 }),
            Work::Case(work) => {
                let row = CaseRow::blank(work.id.as_str(), work.tier, &work.host.requested, work.variant.as_str());
                WorkResult::Case(Box::new(CaseRow { failures, ..row.ended(Some(reason)) }))
            }
        };
        Self { format: FORMAT, sweep: job.sweep.clone(), case: job.case.clone(), attempt: job.attempt, result, tui_only: false }
    }

    /// The reason of the attempt, `None` for a pass or a prepared subject.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        match &self.result {
            WorkResult::Prepared(_) => None,
            WorkResult::Unprepared(unprepared) => Some(unprepared.reason),
            WorkResult::Case(row) => row.reason,
        }
    }
}
