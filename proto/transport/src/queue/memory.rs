//! Queues in memory, for a run in one process. The same promises as at a broker: at least once, a delivery limit, dead letters.
//!
//! Unbounded on purpose: a run's plan is in memory anyway, and a bound would let a task that publishes and claims wait for itself.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::{DELIVERY_LIMIT, Delivery, Message, Queue, QueueError, QueueName};

/// Queues in memory.
#[derive(Debug, Clone, Default)]
pub struct MemoryQueue {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Every change that a waiting claim may be waiting for.
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    ready: BTreeMap<QueueName, VecDeque<Entry>>,
    unsettled: BTreeMap<QueueName, usize>,
    closed: BTreeSet<QueueName>,
}

#[derive(Debug)]
struct Entry {
    message: Message,
    /// Deliveries so far.
    delivered: u32,
}

enum Next {
    Entry(QueueName, Entry),
    Wait,
    Never,
}

impl MemoryQueue {
    /// Empty queues.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Says that a queue gets no more messages. What is in it can still be claimed, and what is claimed can still come back; when all is
    /// settled, claims end with `None`.
    pub fn close(&self, queue: QueueName) {
        self.shared.lock().closed.insert(queue);
        self.shared.changed.notify_waiters();
    }

    /// Messages that wait in a queue.
    #[must_use]
    pub fn waiting(&self, queue: QueueName) -> usize {
        self.shared.lock().ready.get(&queue).map_or(0, VecDeque::len)
    }

    /// Messages of a queue that are claimed and not settled.
    #[must_use]
    pub fn unsettled(&self, queue: QueueName) -> usize {
        self.shared.lock().unsettled.get(&queue).copied().unwrap_or(0)
    }
}

impl Queue for MemoryQueue {
    type Delivery = MemoryDelivery;

    async fn publish(&self, queue: QueueName, message: Message) -> Result<(), QueueError> {
        {
            let mut state = self.shared.lock();
            if state.closed.contains(&queue) {
                return Err(QueueError::Closed(queue));
            }
            state.push_back(queue, message);
        }
        self.shared.changed.notify_waiters();
        Ok(())
    }

    async fn claim(&self, queues: &[QueueName]) -> Result<Option<MemoryDelivery>, QueueError> {
        loop {
            // Registered before the look, so that a change between look and wait is not missed.
            let changed = self.shared.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let next = self.shared.lock().next(queues);
            match next {
                Next::Entry(queue, entry) => {
                    return Ok(Some(MemoryDelivery { shared: Arc::clone(&self.shared), queue, entry: Some(entry) }));
                }
                Next::Never => return Ok(None),
                Next::Wait => changed.await,
            }
        }
    }
}

impl Shared {
    /// A panic elsewhere leaves the state whole: every change below is complete before anything can panic.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, queue: QueueName, change: impl FnOnce(&mut State)) {
        {
            let mut state = self.lock();
            if let Some(count) = state.unsettled.get_mut(&queue) {
                *count = count.saturating_sub(1);
            }
            change(&mut state);
        }
        self.changed.notify_waiters();
    }
}

impl State {
    fn push_back(&mut self, queue: QueueName, message: Message) {
        self.ready.entry(queue).or_default().push_back(Entry { message, delivered: 0 });
    }

    fn next(&mut self, queues: &[QueueName]) -> Next {
        for &queue in queues {
            if let Some(mut entry) = self.ready.get_mut(&queue).and_then(VecDeque::pop_front) {
                entry.delivered += 1;
                *self.unsettled.entry(queue).or_default() += 1;
                return Next::Entry(queue, entry);
            }
        }
        let ended = |queue| self.closed.contains(queue) && self.unsettled.get(queue).is_none_or(|&count| count == 0);
        if queues.iter().all(ended) { Next::Never } else { Next::Wait }
    }

    /// Dead letters have no limit: there is nowhere left to put them.
    fn give_back(&mut self, queue: QueueName, entry: Entry) {
        if entry.delivered >= DELIVERY_LIMIT && queue != QueueName::Dead {
            self.push_back(QueueName::Dead, entry.message.dead_from(queue));
        } else {
            self.ready.entry(queue).or_default().push_front(entry);
        }
    }
}

/// A claimed message of a [`MemoryQueue`].
#[derive(Debug)]
pub struct MemoryDelivery {
    shared: Arc<Shared>,
    queue: QueueName,
    /// Taken when the delivery is settled; what is still here when it is dropped comes back.
    entry: Option<Entry>,
}

/// What a settled delivery shows: nothing looks at one, because settling consumes it.
static SETTLED: Message = Message { headers: BTreeMap::new(), body: bytes::Bytes::new() };

impl Delivery for MemoryDelivery {
    fn queue(&self) -> QueueName {
        self.queue
    }

    fn message(&self) -> &Message {
        self.entry.as_ref().map_or(&SETTLED, |entry| &entry.message)
    }

    fn delivery(&self) -> u32 {
        self.entry.as_ref().map_or(0, |entry| entry.delivered)
    }

    async fn ack(mut self) -> Result<(), QueueError> {
        if self.entry.take().is_some() {
            self.shared.settle(self.queue, |_| {});
        }
        Ok(())
    }

    async fn release(mut self) -> Result<(), QueueError> {
        if let Some(entry) = self.entry.take() {
            self.shared.settle(self.queue, |state| state.push_back(self.queue, entry.message));
        }
        Ok(())
    }

    async fn reject(mut self) -> Result<(), QueueError> {
        if let Some(entry) = self.entry.take() {
            self.shared.settle(self.queue, |state| state.push_back(QueueName::Dead, entry.message.dead_from(self.queue)));
        }
        Ok(())
    }
}

impl Drop for MemoryDelivery {
    fn drop(&mut self) {
        if let Some(entry) = self.entry.take() {
            self.shared.settle(self.queue, |state| state.give_back(self.queue, entry));
        }
    }
}
