//! The embedded run: one loop owns the schedule; workers claim from the same queue that a fleet would use; outcomes come back through it.
//!
//! It must never start a case that the schedule did not publish, and it ends only when every planned case is accounted for or cannot be. Of
//! what was recorded it keeps the rows alone, and of what is to be done no more jobs than keep the workers busy: a run of ten thousand cases
//! needs little more memory than one of a thousand.

use std::collections::BTreeMap;
use std::sync::Arc;

use ocsweep_collector::fold::Fold;
use ocsweep_executor::worker::WorkerError;
use ocsweep_proto::ids::CaseId;
use ocsweep_proto::job::{Job, Work};
use ocsweep_proto::keys;
use ocsweep_proto::outcome::{Announcement, Outcome, Unprepared, WorkResult};
use ocsweep_proto::row::CaseRow;
use ocsweep_proto::verdict::Reason;
use ocsweep_scheduler::plan::Plan;
use ocsweep_scheduler::schedule::{Action, Schedule};
use ocsweep_transport::Bytes;
use ocsweep_transport::queue::{Delivery, MemoryDelivery, MemoryQueue, Message, Queue, QueueName};
use ocsweep_transport::store::Store;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::progress::Progress;
use crate::output::Printer;
use crate::signals::Shutdown;

/// Jobs that are on their way at most, for each worker: one to run, and one to take next.
const JOBS: usize = 2;

/// What works on the jobs of a run. One call is one slot.
pub(crate) trait Serve: Send + Sync + 'static {
    /// Serves the queues of jobs until nothing can come any more or `stop` is cancelled.
    fn serve(&self, queue: &MemoryQueue, stop: &CancellationToken) -> impl Future<Output = Result<(), WorkerError>> + Send;
}

/// What the run needs of whatever runs cases.
pub(crate) struct Slots<S> {
    pub(crate) backend: Arc<S>,
    pub(crate) workers: usize,
}

/// Everything that was recorded, and what had been planned.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) rows: BTreeMap<CaseId, CaseRow>,
    pub(crate) planned: Vec<CaseId>,
    /// Why the subject cannot be had.
    pub(crate) unprepared: Option<Unprepared>,
}

pub(crate) async fn drive<S: Serve>(
    plan: Plan,
    slots: &Slots<S>,
    store: &Store,
    printer: Printer,
    shutdown: &Shutdown,
) -> anyhow::Result<Ended> {
    let queue = MemoryQueue::new();
    let stop = shutdown.ask.child_token();
    let mut workers = JoinSet::new();
    for _ in 0..slots.workers {
        spawn(&mut workers, slots, &queue, &stop);
    }
    let progress = Progress::new(printer, plan.len() as u64);
    let mut run = Run { progress, schedule: Schedule::new(plan), fold: Fold::default(), unprepared: None, underway: 0, store };
    let result = run.event_loop(&queue, &mut workers, slots, shutdown, &stop).await;
    run.progress.finish();
    stop.cancel();
    while let Some(ended) = workers.join_next().await {
        if let Err(error) = ended {
            tracing::warn!(%error, "a worker did not end well");
        }
    }
    result?;
    Ok(run.end())
}

type Workers = JoinSet<Result<(), WorkerError>>;

fn spawn<S: Serve>(workers: &mut Workers, slots: &Slots<S>, queue: &MemoryQueue, stop: &CancellationToken) {
    let (backend, queue, stop) = (Arc::clone(&slots.backend), queue.clone(), stop.clone());
    workers.spawn(async move { backend.serve(&queue, &stop).await });
}

struct Run<'a> {
    schedule: Schedule,
    fold: Fold,
    unprepared: Option<Unprepared>,
    progress: Progress,
    /// Jobs that were published and whose outcome has not come.
    underway: usize,
    store: &'a Store,
}

impl Run<'_> {
    async fn event_loop<S: Serve>(
        &mut self,
        queue: &MemoryQueue,
        workers: &mut Workers,
        slots: &Slots<S>,
        shutdown: &Shutdown,
        stop: &CancellationToken,
    ) -> anyhow::Result<()> {
        let mut stopped = false;
        loop {
            self.act(queue, slots.workers.max(1) * JOBS).await?;
            if self.schedule.is_done() {
                return Ok(());
            }
            tokio::select! {
                delivery = queue.claim(&[QueueName::Outcomes, QueueName::Dead]) => match delivery? {
                    Some(delivery) => self.take(delivery).await?,
                    None => return Ok(()),
                },
                Some(ended) = workers.join_next() => if !stop.is_cancelled() {
                    // A worker ends only when it is told to; anything else costs its job a delivery and needs a successor.
                    tracing::error!(?ended, "a worker ended early");
                    spawn(workers, slots, queue, stop);
                },
                () = shutdown.ask.cancelled(), if !stopped => {
                    stopped = true;
                    self.schedule.cancel();
                }
            }
        }
    }

    /// Carries out what the schedule wants now, with so many jobs on their way at most.
    async fn act(&mut self, queue: &MemoryQueue, at_most: usize) -> anyhow::Result<()> {
        loop {
            while let Some(outcome) = self.schedule.next_record() {
                self.store_record(&outcome).await?;
                self.keep(*outcome);
            }
            if self.underway >= at_most {
                return Ok(());
            }
            match self.schedule.next_action() {
                None => return Ok(()),
                Some(Action::Record(outcome)) => {
                    self.store_record(&outcome).await?;
                    self.keep(*outcome);
                }
                Some(Action::Publish(job)) => {
                    self.progress.note(&format!("{} (attempt {})", job.case, job.attempt));
                    let body = serde_json::to_vec(&job)?;
                    queue.publish(queue_of(&job), Message::new(&job.case, body)).await?;
                    self.underway += 1;
                }
            }
        }
    }

    async fn store_record(&self, outcome: &Outcome) -> anyhow::Result<()> {
        let key = keys::outcome(&outcome.sweep, &outcome.case, outcome.attempt);
        if let Err(error) = self.store.put_if_absent(&key, Bytes::from(serde_json::to_vec_pretty(outcome)?)).await {
            tracing::warn!(%error, "the record of a case that did not run is not stored");
        }
        Ok(())
    }

    async fn take(&mut self, delivery: MemoryDelivery) -> anyhow::Result<()> {
        let outcome = match delivery.queue() {
            QueueName::Dead => lost(delivery.message()),
            _ => self.announced(delivery.message()).await,
        };
        let Some(outcome) = outcome else {
            // Nothing more will come for that case, so waiting for it would never end.
            anyhow::bail!(
                "the outcome of case {} was announced but cannot be read",
                delivery.message().case().map_or_else(String::new, Into::into)
            );
        };
        self.underway = self.underway.saturating_sub(1);
        self.schedule.record(&outcome);
        self.keep(outcome);
        delivery.ack().await?;
        Ok(())
    }

    async fn announced(&self, message: &Message) -> Option<Outcome> {
        let announcement: Announcement = serde_json::from_slice(&message.body).ok()?;
        if let Some(record) = announcement.record {
            return Some(*record);
        }
        match self.store.get(&announcement.key).await {
            Ok(Some(bytes)) => serde_json::from_slice(&bytes).ok(),
            Ok(None) => None,
            Err(error) => {
                tracing::error!(%error, "an announced outcome cannot be read");
                None
            }
        }
    }

    fn keep(&mut self, outcome: Outcome) {
        match outcome.result {
            WorkResult::Case(row) => {
                if self.schedule.has_ended(&outcome.case) {
                    self.progress.ended(&row);
                } else {
                    self.progress.retried(&row, outcome.attempt);
                }
                self.fold.add(outcome.case, outcome.attempt, row);
            }
            // An attempt that is repeated may still succeed; the last one counts.
            WorkResult::Unprepared(unprepared) => self.unprepared = Some(unprepared),
            WorkResult::Prepared(_) => self.unprepared = None,
        }
    }

    fn end(self) -> Ended {
        let plan = self.schedule.plan();
        let mut planned: Vec<CaseId> = plan.cells.iter().flat_map(|cell| cell.cases.iter().map(|case| case.case.clone())).collect();
        // A subject that cannot be had is reported on load rows also when that tier was not selected.
        planned.extend(plan.cells.iter().map(|cell| &cell.load_case).filter(|load| self.fold.has(load)).cloned());
        Ended { planned, rows: self.fold.into_rows(), unprepared: self.unprepared }
    }
}

fn queue_of(job: &Job) -> QueueName {
    match job.work {
        Work::Prepare(_) => QueueName::Prepare,
        Work::Case(_) => QueueName::Offline,
    }
}

/// A job whose executor died at every delivery.
fn lost(message: &Message) -> Option<Outcome> {
    let job: Job = serde_json::from_slice(&message.body).ok()?;
    Some(Outcome::not_run(&job, Reason::ExecutorLost, "the worker ended unexpectedly at every delivery of this job.".to_owned()))
}
