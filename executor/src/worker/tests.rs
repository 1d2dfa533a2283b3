//! How a job is settled, with a backend that only answers: whatever happens to a case, its delivery must not be lost, nor settled too early.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use ocsweep_proto::axes::{Jit, Line, Tier};
use ocsweep_proto::config::{InventoryExpect, LogLevel};
use ocsweep_proto::digest::Digest;
use ocsweep_proto::ids::{CaseId, SweepId, VariantName};
use ocsweep_proto::job::{Entries, Host, Overlay};
use ocsweep_proto::limits::Limits;
use ocsweep_proto::row::CaseRow;
use ocsweep_transport::queue::MemoryQueue;

use super::*;

const QUEUES: &[QueueName] = &[QueueName::Offline];

/// Ends a case with one reason after the other; without one left it waits until it is interrupted, as a case that has only got warm.
#[derive(Default)]
struct Scripted {
    reasons: Mutex<Vec<Option<Reason>>>,
    ran: AtomicUsize,
}

impl RunCase for Arc<Scripted> {
    async fn run(&self, _: Claim, work: &CaseWork, shutdown: &CancellationToken) -> CaseRun {
        self.ran.fetch_add(1, Ordering::Relaxed);
        let next = self.reasons.lock().unwrap().pop();
        let reason = match next {
            Some(reason) => reason,
            None => {
                shutdown.cancelled().await;
                Some(Reason::Cancelled)
            }
        };
        let row = CaseRow::blank(work.id.as_str(), work.tier, &work.host.requested, work.variant.as_str()).ended(reason);
        CaseRun { row, files: Vec::new(), tui_only: false }
    }
}

impl Prepare for Arc<Scripted> {
    async fn prepare(&self, _: Claim, _: &PrepareWork, _: &CancellationToken) -> Result<Subject, Unprepared> {
        unreachable!("no test prepares a subject")
    }
}

struct Bench {
    worker: Worker<Arc<Scripted>, Arc<Scripted>>,
    queue: MemoryQueue,
    shutdown: CancellationToken,
    _folder: tempfile::TempDir,
}

impl Bench {
    async fn new(reasons: &[Option<Reason>]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let script = Arc::new(Scripted { reasons: Mutex::new(reasons.iter().rev().copied().collect()), ran: AtomicUsize::new(0) });
        let store = Store::local(folder.path()).unwrap();
        let worker = Worker { cases: Arc::clone(&script), preparer: script, store };
        let bench = Self { worker, queue: MemoryQueue::new(), shutdown: CancellationToken::new(), _folder: folder };
        bench.publish().await;
        bench
    }

    async fn publish(&self) {
        let job = job();
        self.queue.publish(QueueName::Offline, Message::new(&job.case, serde_json::to_vec(&job).unwrap())).await.unwrap();
    }

    /// Serves until the queue is empty and settled.
    async fn serve(&self) {
        self.queue.close(QueueName::Offline);
        self.worker.serve(&self.queue, QUEUES, &self.shutdown).await.unwrap();
    }

    fn ran(&self) -> usize {
        self.worker.cases.ran.load(Ordering::Relaxed)
    }

    async fn stored(&self) -> Vec<String> {
        let prefix = format!("sweeps/{}", job().sweep);
        self.worker.store.list(&prefix).await.unwrap()
    }

    fn announced(&self) -> Option<Announcement> {
        let delivery = self.queue.claim(&[QueueName::Outcomes]).now_or_never()?.unwrap()?;
        Some(serde_json::from_slice(&delivery.message().body).unwrap())
    }
}

fn job() -> Job {
    let work = CaseWork {
        subject: Subject {
            name: "p".to_owned(),
            revision: None,
            digest: Digest::of(b"p"),
            directory: String::new(),
            entries: Entries::default(),
            npm: None,
            warnings: Vec::new(),
        },
        host: Host { requested: "latest".to_owned(), resolved: "1.18.33".to_owned(), line: Line::V1, digest: Digest::of(b"h") },
        variant: VariantName::default_variant(),
        tier: Tier::Load,
        id: ScenarioId::load(),
        scenario: None,
        expect: InventoryExpect::default(),
        options: serde_json::Map::new(),
        log_level: LogLevel::Info,
        overlay: Overlay::default(),
        jit: Jit::Reduced,
        bun: None,
        limits: Limits::default(),
    };
    let (sweep, case) = (SweepId::new("s").unwrap(), CaseId::new("load-1").unwrap());
    Job { format: FORMAT, sweep, case, attempt: 1, work: Work::Case(Box::new(work)) }
}

#[tokio::test]
async fn an_ended_case_is_stored_then_announced_then_acknowledged() {
    let bench = Bench::new(&[None]).await;
    bench.serve().await;
    let announcement = bench.announced().unwrap();
    assert_eq!((bench.stored().await, announcement.record), (vec![announcement.key.clone()], None));
    let stored = bench.worker.store.get(&announcement.key).await.unwrap().unwrap();
    assert_eq!(serde_json::from_slice::<Outcome>(&stored).unwrap().reason(), None);
    assert_eq!((bench.queue.waiting(QueueName::Offline), bench.queue.unsettled(QueueName::Offline)), (0, 0));
}

#[tokio::test]
async fn an_interrupted_case_is_handed_back_and_nothing_is_recorded() {
    let bench = Bench::new(&[]).await;
    let serving = bench.worker.serve(&bench.queue, QUEUES, &bench.shutdown);
    let interrupt = async {
        while bench.ran() == 0 {
            tokio::task::yield_now().await;
        }
        bench.shutdown.cancel();
    };
    let (served, ()) = tokio::join!(serving, interrupt);
    served.unwrap();
    assert_eq!((bench.stored().await, bench.announced()), (Vec::<String>::new(), None));
    let again = bench.queue.claim(QUEUES).now_or_never().expect("the job is back").unwrap().unwrap();
    assert_eq!(again.delivery(), 1, "an interruption must not cost a delivery");
}

#[tokio::test]
async fn a_case_that_is_recorded_is_announced_again_and_not_run_again() {
    let bench = Bench::new(&[None]).await;
    bench.publish().await;
    bench.serve().await;
    assert_eq!(bench.ran(), 1);
    let both = (bench.announced().unwrap(), bench.announced().unwrap());
    assert_eq!(both.0, both.1);
}

#[tokio::test]
async fn a_case_that_another_delivery_recorded_meanwhile_keeps_both_records() {
    let bench = Bench::new(&[None, Some(Reason::Assertion)]).await;
    let key = keys::outcome(&job().sweep, &job().case, 1);
    // Both have looked for the record before either has stored one.
    for _ in 0..2 {
        let outcome = bench.worker.outcome(&job(), &bench.shutdown).await;
        bench.worker.store_outcome(&key, &outcome).await.unwrap();
    }
    let stored = bench.stored().await;
    assert_eq!(stored.len(), 2, "{stored:?}");
    assert!(stored.iter().any(|name| name.contains(".dup-")), "{stored:?}");
    let first = bench.worker.store.get(&key).await.unwrap().unwrap();
    assert_eq!(serde_json::from_slice::<Outcome>(&first).unwrap().reason(), None);
}
