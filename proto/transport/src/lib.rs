//! The two doors between the parts: the job queue and the object store. In one process they are a queue in memory and a folder.
//!
//! It must not know what a job or an outcome says; it carries bytes. Nothing else may use a broker's or a store's client library.

pub use bytes::Bytes;

pub mod queue;
pub mod store;
