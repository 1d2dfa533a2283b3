//! A message: headers that a reader needs before it can read the body, and the body.

use std::collections::BTreeMap;

use bytes::Bytes;
use ocsweep_proto::ids::CaseId;

use super::QueueName;

/// The header that carries the case. Its name and format never change, so that even a message of another version can be accounted for.
pub const CASE_HEADER: &str = "ocsweep-case";

/// The header that says from which queue a dead message came.
pub const QUEUE_HEADER: &str = "ocsweep-queue";

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Headers by lowercase name.
    pub headers: BTreeMap<String, String>,
    /// Versioned JSON.
    pub body: Bytes,
}

impl Message {
    /// A message about a case.
    #[must_use]
    pub fn new(case: &CaseId, body: impl Into<Bytes>) -> Self {
        Self { headers: BTreeMap::from([(CASE_HEADER.to_owned(), case.to_string())]), body: body.into() }
    }

    /// The case, when the header is there and valid. Read without the body, which may be unreadable.
    #[must_use]
    pub fn case(&self) -> Option<CaseId> {
        CaseId::new(self.headers.get(CASE_HEADER)?.as_str()).ok()
    }

    pub(super) fn dead_from(mut self, queue: QueueName) -> Self {
        self.headers.insert(QUEUE_HEADER.to_owned(), queue.to_string());
        self
    }
}
