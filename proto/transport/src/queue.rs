//! The job queue: named queues of small messages, delivered at least once. Two implementations: in memory, and later a broker.
//!
//! It must not read a body, and it must never lose a message: one that is claimed and not settled comes back.
//!
//! A message is delivered at most [`DELIVERY_LIMIT`] times; after that it goes to [`QueueName::Dead`]. The order of a queue is kept, but a
//! message that comes back may come at any place.

mod memory;
mod message;
#[cfg(test)]
mod tests;

pub use memory::{MemoryDelivery, MemoryQueue};
pub use message::{CASE_HEADER, Message, QUEUE_HEADER};

/// Deliveries of one message before it is given up: the first, and three more.
pub const DELIVERY_LIMIT: u32 = 4;

/// The queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum QueueName {
    /// Subjects to prepare; needs the network.
    Prepare,
    /// Cases without network.
    Offline,
    /// Cases with a real model.
    Live,
    /// Announcements of stored outcomes.
    Outcomes,
    /// Messages that were given up or could not be read.
    Dead,
}

impl QueueName {
    /// Every queue.
    pub const ALL: [Self; 5] = [Self::Prepare, Self::Offline, Self::Live, Self::Outcomes, Self::Dead];

    /// The name at a broker and in logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Prepare => "prepare",
            Self::Offline => "offline",
            Self::Live => "live",
            Self::Outcomes => "outcomes",
            Self::Dead => "dead",
        }
    }
}

impl std::fmt::Display for QueueName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What can go wrong with a queue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueueError {
    /// The queue takes no more messages.
    #[error("cannot publish to the queue {0}: it is closed")]
    Closed(QueueName),
}

impl QueueError {
    /// Whether the same call can succeed a little later.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::Closed(_) => false,
        }
    }
}

/// A set of named queues. Clones are the same queues.
pub trait Queue: Clone + Send + Sync + 'static {
    /// A claimed message.
    type Delivery: Delivery;

    /// Puts a message at the end of a queue. Once this returns, the message will be delivered.
    ///
    /// # Errors
    /// When the queue does not take it.
    fn publish(&self, queue: QueueName, message: Message) -> impl Future<Output = Result<(), QueueError>> + Send;

    /// The next message of the first of these queues that has one; waits for one when there is none. `None` when no message can come any
    /// more. Dropping the future loses nothing.
    ///
    /// # Errors
    /// When the queues cannot be reached.
    fn claim(&self, queues: &[QueueName]) -> impl Future<Output = Result<Option<Self::Delivery>, QueueError>> + Send;
}

/// A claimed message. It must be settled once, by one of the consuming methods; when it is dropped instead, for example by a panic, it is
/// delivered again and the delivery counts.
pub trait Delivery: Send + 'static {
    /// The queue it came from.
    fn queue(&self) -> QueueName;

    /// The message.
    fn message(&self) -> &Message;

    /// Which delivery of the message this is, from 1.
    fn delivery(&self) -> u32;

    /// The work is done and its outcome is stored: the message is gone.
    ///
    /// # Errors
    /// When the queue cannot be told; the message may be delivered again.
    fn ack(self) -> impl Future<Output = Result<(), QueueError>> + Send;

    /// Hands the work back undone, for somebody else; costs no delivery, because the message is published anew.
    ///
    /// # Errors
    /// When the queue cannot be told; the message will be delivered again.
    fn release(self) -> impl Future<Output = Result<(), QueueError>> + Send;

    /// The message cannot be read: it goes to [`QueueName::Dead`] at once.
    ///
    /// # Errors
    /// When the queue cannot be told; the message will be delivered again.
    fn reject(self) -> impl Future<Output = Result<(), QueueError>> + Send;
}
