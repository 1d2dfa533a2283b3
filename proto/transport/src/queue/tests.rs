//! What every implementation of a queue must show, written against the trait, and what only the one in memory does. No test waits for a
//! clock: a future that must be pending is polled.

use std::time::Duration;

use futures_util::FutureExt as _;
use ocsweep_proto::ids::CaseId;

use super::{CASE_HEADER, DELIVERY_LIMIT, Delivery, MemoryQueue, Message, QUEUE_HEADER, Queue, QueueName};

const OFFLINE: &[QueueName] = &[QueueName::Offline];

fn message(case: &str) -> Message {
    Message::new(&CaseId::new(case).unwrap(), case.to_owned().into_bytes())
}

async fn publish(queue: &impl Queue, cases: &[&str]) {
    for case in cases {
        queue.publish(QueueName::Offline, message(case)).await.unwrap();
    }
}

async fn claim<Q: Queue>(queue: &Q, queues: &[QueueName]) -> Q::Delivery {
    queue.claim(queues).await.unwrap().expect("a message")
}

fn case<D: Delivery>(delivery: &D) -> String {
    delivery.message().case().unwrap().to_string()
}

/// The conformance suite.
async fn keeps_its_promises<Q: Queue>(new: impl Fn() -> Q) {
    keeps_order(new()).await;
    prefers_the_first_queue(new()).await;
    an_unsettled_message_comes_back(new()).await;
    gives_up_after_the_limit(new()).await;
    a_release_costs_no_delivery(new()).await;
    a_rejected_message_is_dead_at_once(new()).await;
    a_publish_wakes_a_waiting_claim(new()).await;
    an_abandoned_claim_loses_nothing(new()).await;
}

async fn keeps_order(queue: impl Queue) {
    publish(&queue, &["a", "b", "c"]).await;
    for expected in ["a", "b", "c"] {
        let delivery = claim(&queue, OFFLINE).await;
        assert_eq!((case(&delivery).as_str(), delivery.delivery(), delivery.queue()), (expected, 1, QueueName::Offline));
        assert_eq!(delivery.message().body, expected.as_bytes());
        delivery.ack().await.unwrap();
    }
    assert!(queue.claim(OFFLINE).now_or_never().is_none(), "an acknowledged message came back");
}

async fn prefers_the_first_queue(queue: impl Queue) {
    publish(&queue, &["offline"]).await;
    queue.publish(QueueName::Prepare, message("prepare")).await.unwrap();
    for expected in ["prepare", "offline"] {
        let delivery = claim(&queue, &[QueueName::Prepare, QueueName::Offline]).await;
        assert_eq!(case(&delivery), expected);
        delivery.ack().await.unwrap();
    }
    publish(&queue, &["other"]).await;
    assert!(queue.claim(&[QueueName::Live]).now_or_never().is_none(), "a claim got a message of another queue");
}

async fn an_unsettled_message_comes_back(queue: impl Queue) {
    publish(&queue, &["a"]).await;
    drop(claim(&queue, OFFLINE).await);
    let again = claim(&queue, OFFLINE).await;
    assert_eq!((case(&again).as_str(), again.delivery()), ("a", 2));
    assert_eq!(again.message(), &message("a"));
    again.ack().await.unwrap();
}

async fn gives_up_after_the_limit(queue: impl Queue) {
    publish(&queue, &["a"]).await;
    for expected in 1..=DELIVERY_LIMIT {
        assert_eq!(claim(&queue, OFFLINE).await.delivery(), expected);
    }
    assert!(queue.claim(OFFLINE).now_or_never().is_none(), "a fifth delivery");
    // A dead letter outlives any number of readers that die over it.
    for _ in 0..=DELIVERY_LIMIT {
        let dead = claim(&queue, &[QueueName::Dead]).await;
        assert_eq!((case(&dead).as_str(), dead.message().headers[QUEUE_HEADER].as_str()), ("a", "offline"));
    }
}

async fn a_release_costs_no_delivery(queue: impl Queue) {
    publish(&queue, &["a"]).await;
    for _ in 0..=DELIVERY_LIMIT {
        let delivery = claim(&queue, OFFLINE).await;
        assert_eq!(delivery.delivery(), 1);
        delivery.release().await.unwrap();
    }
    claim(&queue, OFFLINE).await.ack().await.unwrap();
}

async fn a_rejected_message_is_dead_at_once(queue: impl Queue) {
    let mut unreadable = message("a");
    unreadable.headers.insert(CASE_HEADER.to_owned(), "../a".to_owned());
    queue.publish(QueueName::Offline, unreadable).await.unwrap();
    claim(&queue, OFFLINE).await.reject().await.unwrap();
    assert!(queue.claim(OFFLINE).now_or_never().is_none());
    assert_eq!(claim(&queue, &[QueueName::Dead]).await.message().case(), None);
}

async fn a_publish_wakes_a_waiting_claim(queue: impl Queue) {
    let waiting = {
        let queue = queue.clone();
        tokio::spawn(async move { case(&claim(&queue, OFFLINE).await) })
    };
    tokio::task::yield_now().await;
    publish(&queue, &["a"]).await;
    assert_eq!(waiting.await.unwrap(), "a");
}

async fn an_abandoned_claim_loses_nothing(queue: impl Queue) {
    assert!(queue.claim(OFFLINE).now_or_never().is_none());
    publish(&queue, &["a"]).await;
    assert_eq!(claim(&queue, OFFLINE).await.delivery(), 1);
}

#[tokio::test]
async fn the_queue_in_memory_keeps_its_promises() {
    keeps_its_promises(MemoryQueue::new).await;
}

#[tokio::test]
async fn close_wakes_claims_and_refuses_messages() {
    let queue = MemoryQueue::new();
    let waiting = {
        let queue = queue.clone();
        tokio::spawn(async move { queue.claim(&[QueueName::Prepare, QueueName::Offline]).await.unwrap().is_none() })
    };
    tokio::task::yield_now().await;
    queue.close(QueueName::Prepare);
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished(), "the other queue is open");
    queue.close(QueueName::Offline);
    assert!(waiting.await.unwrap());
    let refused = queue.publish(QueueName::Offline, message("a")).await.unwrap_err();
    assert_eq!(refused.to_string(), "cannot publish to the queue offline: it is closed");
    queue.publish(QueueName::Outcomes, message("a")).await.unwrap();
}

#[tokio::test]
async fn a_closed_queue_is_emptied_first() {
    let queue = MemoryQueue::new();
    publish(&queue, &["a", "b"]).await;
    queue.close(QueueName::Offline);
    let (a, b) = (claim(&queue, OFFLINE).await, claim(&queue, OFFLINE).await);
    assert_eq!((queue.waiting(QueueName::Offline), queue.unsettled(QueueName::Offline)), (0, 2));
    a.ack().await.unwrap();
    // One more may come back, so nobody may leave yet.
    assert!(queue.claim(OFFLINE).now_or_never().is_none());
    drop(b);
    let again = claim(&queue, OFFLINE).await;
    assert_eq!((case(&again).as_str(), again.delivery()), ("b", 2));
    again.ack().await.unwrap();
    assert!(queue.claim(OFFLINE).await.unwrap().is_none());
    assert_eq!(queue.unsettled(QueueName::Offline), 0);
}

#[tokio::test]
async fn a_panic_over_a_message_gives_it_back() {
    let queue = MemoryQueue::new();
    publish(&queue, &["a"]).await;
    let died = {
        let queue = queue.clone();
        tokio::spawn(async move {
            let _delivery = claim(&queue, OFFLINE).await;
            panic!("the worker dies");
        })
    };
    assert!(died.await.unwrap_err().is_panic());
    assert_eq!(claim(&queue, OFFLINE).await.delivery(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_workers_share_the_work() {
    let queue = MemoryQueue::new();
    let names: Vec<String> = (0..500).map(|n| format!("case-{n:03}")).collect();
    let workers: Vec<_> = (0..8)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move {
                let mut done = Vec::new();
                while let Some(delivery) = queue.claim(OFFLINE).await.unwrap() {
                    done.push(case(&delivery));
                    delivery.ack().await.unwrap();
                }
                done
            })
        })
        .collect();
    publish(&queue, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    queue.close(QueueName::Offline);
    let all =
        tokio::time::timeout(Duration::from_secs(30), futures_util::future::join_all(workers)).await.expect("a claim was never woken");
    let mut all: Vec<String> = all.into_iter().flat_map(Result::unwrap).collect();
    all.sort();
    assert_eq!(all, names);
}
