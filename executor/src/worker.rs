//! One slot of an executor: claims a job, runs it, and settles last. Evidence stored, outcome stored, outcome announced, job
//! acknowledged: a crash anywhere repeats a case and never loses one.
//!
//! It must never acknowledge before the outcome is announced, and it must not raise an attempt's number. What runs a case and what prepares
//! a subject are given to it: this machine's isolation, or something that does nothing, to measure what everything else costs.

use std::time::Duration;

use ocsweep_proto::axes::VersionWord;
use ocsweep_proto::ids::ScenarioId;
use ocsweep_proto::job::{CaseWork, FORMAT, Job, PrepareWork, Subject, Work};
use ocsweep_proto::keys;
use ocsweep_proto::outcome::{Announcement, Outcome, Unprepared, WorkResult};
use ocsweep_proto::verdict::Reason;
use ocsweep_transport::queue::{Delivery, Message, Queue, QueueError, QueueName};
use ocsweep_transport::store::{Put, Store, StoreError};
use tokio_util::sync::CancellationToken;

use crate::case::{CaseRun, CaseRunner, describe};
use crate::container::Claim;
use crate::prepare::Preparer;
use crate::record;

/// Tries to store one object when the error says that it can help.
const STORE_TRIES: u32 = 4;
/// The first wait between them; doubled each time.
const STORE_WAIT: Duration = Duration::from_millis(200);

/// Why a slot had to stop.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The queue failed.
    #[error("the job queue failed")]
    Queue(#[from] QueueError),
    /// A message cannot be written. Only a programming error gets here.
    #[error("cannot write a message")]
    Message(#[from] serde_json::Error),
}

/// Makes a case happen.
pub trait RunCase: Send + Sync + 'static {
    /// Runs an attempt, which always ends with a row. The row of an interrupted one has the reason `cancelled`.
    fn run(&self, claim: Claim, work: &CaseWork, shutdown: &CancellationToken) -> impl Future<Output = CaseRun> + Send;
}

impl RunCase for CaseRunner {
    async fn run(&self, claim: Claim, work: &CaseWork, shutdown: &CancellationToken) -> CaseRun {
        Self::run(self, claim, work, shutdown).await
    }
}

/// Makes a subject ready.
pub trait Prepare: Send + Sync + 'static {
    /// The subject.
    ///
    /// # Errors
    /// When it cannot be had: the reason and its texts.
    fn prepare(
        &self,
        claim: Claim,
        work: &PrepareWork,
        shutdown: &CancellationToken,
    ) -> impl Future<Output = Result<Subject, Unprepared>> + Send;
}

impl Prepare for Preparer {
    async fn prepare(&self, claim: Claim, work: &PrepareWork, shutdown: &CancellationToken) -> Result<Subject, Unprepared> {
        Self::prepare(self, claim, work, shutdown).await
    }
}

/// Runs jobs of all kinds.
#[derive(Debug)]
pub struct Worker<C = CaseRunner, P = Preparer> {
    /// For cases.
    pub cases: C,
    /// For subjects.
    pub preparer: P,
    /// Where outcomes and evidence go.
    pub store: Store,
}

impl<C: RunCase, P: Prepare> Worker<C, P> {
    /// Serves queues until nothing can come any more or `shutdown` is cancelled.
    ///
    /// # Errors
    /// When the queue fails.
    pub async fn serve<Q: Queue>(&self, queue: &Q, names: &[QueueName], shutdown: &CancellationToken) -> Result<(), WorkerError> {
        loop {
            let claimed = shutdown.run_until_cancelled(queue.claim(names)).await;
            let Some(Some(delivery)) = claimed.transpose()? else { return Ok(()) };
            let job: Job = match serde_json::from_slice::<Job>(&delivery.message().body) {
                Ok(job) if job.format <= FORMAT => job,
                _ => {
                    delivery.reject().await?;
                    continue;
                }
            };
            let Some(announcement) = self.perform(&job, shutdown).await else {
                delivery.release().await?;
                return Ok(());
            };
            let body = serde_json::to_vec(&announcement)?;
            queue.publish(QueueName::Outcomes, Message::new(&job.case, body)).await?;
            delivery.ack().await?;
        }
    }

    /// Does a job and stores what came of it. `None`: it was interrupted, and nothing is recorded.
    async fn perform(&self, job: &Job, shutdown: &CancellationToken) -> Option<Announcement> {
        let key = keys::outcome(&job.sweep, &job.case, job.attempt);
        let announce = |record: Option<Outcome>| Announcement {
            format: FORMAT,
            sweep: job.sweep.clone(),
            case: job.case.clone(),
            attempt: job.attempt,
            key: key.clone(),
            record: record.map(Box::new),
        };
        if let Ok(Some(_)) = self.store.get(&key).await {
            return Some(announce(None));
        }
        let outcome = self.outcome(job, shutdown).await;
        if outcome.reason() == Some(Reason::Cancelled) {
            return None;
        }
        match self.store_outcome(&key, &outcome).await {
            Ok(()) => Some(announce(None)),
            Err(error) => {
                tracing::error!(case = %job.case, error = describe(&error), "the store did not take an outcome");
                Some(announce(Some(outcome)))
            }
        }
    }

    async fn outcome(&self, job: &Job, shutdown: &CancellationToken) -> Outcome {
        let claim = Claim { sweep: job.sweep.clone(), case: job.case.clone(), attempt: job.attempt };
        let (result, tui_only) = match &job.work {
            Work::Prepare(work) => match self.preparer.prepare(claim, work, shutdown).await {
                Ok(subject) => (WorkResult::Prepared(Box::new(subject)), false),
                Err(unprepared) => (WorkResult::Unprepared(unprepared), false),
            },
            Work::Case(work) => {
                let run = self.case(claim, work, shutdown).await;
                (WorkResult::Case(Box::new(run.row)), run.tui_only)
            }
        };
        Outcome { format: FORMAT, sweep: job.sweep.clone(), case: job.case.clone(), attempt: job.attempt, result, tui_only }
    }

    async fn case(&self, claim: Claim, work: &CaseWork, shutdown: &CancellationToken) -> CaseRun {
        let mut run = self.cases.run(claim, work, shutdown).await;
        if run.row.reason == Some(Reason::Cancelled) {
            return run;
        }
        let prefix = evidence_prefix(work);
        run.row.evidence = Some(format!("{prefix}/"));
        if let Err(error) = self.store_evidence(&prefix, &run).await {
            // Without its evidence a verdict cannot be checked, so it does not count.
            run.row = run.row.ended(Some(error.reason()));
            run.row.failures.insert(0, format!("the evidence could not be stored: {}", describe(&error)));
        }
        run
    }

    async fn store_evidence(&self, prefix: &str, run: &CaseRun) -> Result<(), StoreError> {
        // What an earlier run left there must never be taken for evidence of this one.
        self.store.delete_prefix(prefix).await?;
        for file in &run.files {
            self.put(&format!("{prefix}/{}", file.name), file.bytes.clone()).await?;
        }
        if let Ok(result) = record::result(&run.row) {
            self.put(&format!("{prefix}/{}", result.name), result.bytes).await?;
        }
        Ok(())
    }

    async fn store_outcome(&self, key: &str, outcome: &Outcome) -> Result<(), StoreError> {
        let bytes = serde_json::to_vec_pretty(outcome).unwrap_or_default();
        if self.store.put_if_absent(key, bytes.clone().into()).await? == Put::Exists {
            // Another delivery was faster. Its record counts; ours is kept beside it when it says something else.
            let name = ocsweep_proto::digest::Digest::of(&bytes);
            let beside = format!("{}.dup-{}.json", key.trim_end_matches(".json"), name.short());
            self.put(&beside, bytes).await?;
        }
        Ok(())
    }

    async fn put(&self, key: &str, bytes: Vec<u8>) -> Result<(), StoreError> {
        let bytes = ocsweep_transport::Bytes::from(bytes);
        let mut wait = STORE_WAIT;
        for _ in 1..STORE_TRIES {
            match self.store.put(key, bytes.clone()).await {
                Err(error) if error.is_retryable() => tokio::time::sleep(wait).await,
                result => return result,
            }
            wait *= 2;
        }
        self.store.put(key, bytes).await
    }
}

/// Where the evidence of a case goes. A word that is no version cannot become a path; such a job was refused when it was planned.
fn evidence_prefix(work: &CaseWork) -> String {
    let word: VersionWord = work.host.requested.parse().unwrap_or(VersionWord::Latest);
    let id: &ScenarioId = &work.id;
    keys::evidence(&word, &work.variant, id)
}

/// Answers every job with the reason why this machine cannot run anything, so that each case is accounted for.
#[derive(Debug, Clone)]
pub struct Unable {
    /// The infrastructure's reason.
    pub reason: Reason,
    /// For people.
    pub text: String,
}

impl Unable {
    /// Only an infrastructure reason can be nobody's plugin's fault; anything else becomes the engine's.
    pub fn new(reason: Reason, text: impl Into<String>) -> Self {
        let infrastructure = reason.fault() == ocsweep_proto::verdict::Fault::Infrastructure;
        Self { reason: if infrastructure { reason } else { Reason::Docker }, text: text.into() }
    }

    /// As [`Worker::serve`].
    ///
    /// # Errors
    /// When the queue fails.
    pub async fn serve<Q: Queue>(&self, queue: &Q, names: &[QueueName], shutdown: &CancellationToken) -> Result<(), WorkerError> {
        loop {
            let claimed = shutdown.run_until_cancelled(queue.claim(names)).await;
            let Some(Some(delivery)) = claimed.transpose()? else { return Ok(()) };
            let Ok(job) = serde_json::from_slice::<Job>(&delivery.message().body) else {
                delivery.reject().await?;
                continue;
            };
            let body = serde_json::to_vec(&self.answer(&job))?;
            queue.publish(QueueName::Outcomes, Message::new(&job.case, body)).await?;
            delivery.ack().await?;
        }
    }

    fn answer(&self, job: &Job) -> Announcement {
        let text = format!("{}.", self.text.lines().next().unwrap_or_default());
        let record = Outcome::not_run(job, self.reason, text);
        Announcement {
            format: FORMAT,
            sweep: job.sweep.clone(),
            case: job.case.clone(),
            attempt: job.attempt,
            key: keys::outcome(&job.sweep, &job.case, job.attempt),
            record: Some(Box::new(record)),
        }
    }
}

#[cfg(test)]
mod tests;
