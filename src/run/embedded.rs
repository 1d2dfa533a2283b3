//! The embedded run: one loop owns the schedule; workers claim from the same queue that a fleet would use; outcomes come back through it.
//!
//! It must never start a case that the schedule did not publish, and it ends only when every planned case is accounted for or cannot be.

use std::sync::Arc;

use ocsweep_proto::ids::CaseId;
use ocsweep_proto::job::{Job, Work};
use ocsweep_proto::keys;
use ocsweep_proto::outcome::{Announcement, Outcome, WorkResult};
use ocsweep_proto::verdict::Reason;
use ocsweep_scheduler::plan::Plan;
use ocsweep_scheduler::schedule::{Action, Schedule};
use ocsweep_transport::Bytes;
use ocsweep_transport::queue::{Delivery, MemoryDelivery, MemoryQueue, Message, Queue, QueueName};
use ocsweep_transport::store::Store;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::machine::Machine;
use super::progress::Progress;
use crate::output::Printer;
use crate::signals::Shutdown;

/// Everything that was recorded, and what had been planned.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) planned: Vec<CaseId>,
}

pub(crate) async fn drive(plan: Plan, machine: &Machine, store: &Store, printer: Printer, shutdown: &Shutdown) -> anyhow::Result<Ended> {
    let queue = MemoryQueue::new();
    let stop = shutdown.ask.child_token();
    let mut workers = JoinSet::new();
    for _ in 0..machine.workers() {
        spawn(&mut workers, machine, &queue, &stop);
    }
    let mut run = Run { progress: Progress::new(printer, plan.len() as u64), schedule: Schedule::new(plan), outcomes: Vec::new(), store };
    let result = run.event_loop(&queue, &mut workers, machine, shutdown, &stop).await;
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

type Workers = JoinSet<Result<(), ocsweep_executor::worker::WorkerError>>;

fn spawn(workers: &mut Workers, machine: &Machine, queue: &MemoryQueue, stop: &CancellationToken) {
    let (worker, queue, stop) = (Arc::clone(machine.backend()), queue.clone(), stop.clone());
    workers.spawn(async move { worker.serve(&queue, &stop).await });
}

struct Run<'a> {
    schedule: Schedule,
    outcomes: Vec<Outcome>,
    progress: Progress,
    store: &'a Store,
}

impl Run<'_> {
    async fn event_loop(
        &mut self,
        queue: &MemoryQueue,
        workers: &mut Workers,
        machine: &Machine,
        shutdown: &Shutdown,
        stop: &CancellationToken,
    ) -> anyhow::Result<()> {
        let mut stopped = false;
        loop {
            self.act(queue).await?;
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
                    spawn(workers, machine, queue, stop);
                },
                () = shutdown.ask.cancelled(), if !stopped => {
                    stopped = true;
                    self.schedule.cancel();
                }
            }
        }
    }

    /// Carries out what the schedule wants now.
    async fn act(&mut self, queue: &MemoryQueue) -> anyhow::Result<()> {
        while let Some(action) = self.schedule.next_action() {
            match action {
                Action::Publish(job) => {
                    self.progress.note(&format!("{} (attempt {})", job.case, job.attempt));
                    let body = serde_json::to_vec(&job)?;
                    queue.publish(queue_of(&job), Message::new(&job.case, body)).await?;
                }
                Action::Record(outcome) => {
                    let key = keys::outcome(&outcome.sweep, &outcome.case, outcome.attempt);
                    if let Err(error) = self.store.put_if_absent(&key, Bytes::from(serde_json::to_vec_pretty(&outcome)?)).await {
                        tracing::warn!(%error, "the record of a case that did not run is not stored");
                    }
                    self.keep(*outcome);
                }
            }
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
        if let WorkResult::Case(row) = &outcome.result {
            if self.schedule.has_ended(&outcome.case) {
                self.progress.ended(row);
            } else {
                self.progress.retried(row, outcome.attempt);
            }
        }
        self.outcomes.push(outcome);
    }

    fn end(self) -> Ended {
        let plan = self.schedule.plan();
        let mut planned: Vec<CaseId> = plan.cells.iter().flat_map(|cell| cell.cases.iter().map(|case| case.case.clone())).collect();
        // A subject that cannot be had is reported on load rows also when that tier was not selected.
        let loads = plan.cells.iter().map(|cell| &cell.load_case);
        planned.extend(loads.filter(|load| self.outcomes.iter().any(|outcome| outcome.case == **load)).cloned());
        Ended { planned, outcomes: self.outcomes }
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
