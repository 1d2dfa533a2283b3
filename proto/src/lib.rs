//! The contract that every other part of ocsweep agrees on: identifiers, the verdict vocabulary, scenarios, jobs, outcomes, result
//! rows, the agent's protocol and the keys of the store.
//!
//! Pure on purpose. It must never open a file or a socket, spawn a task, read the clock or the environment, and it must never depend on a
//! runtime, a broker, a container engine or a command line.

pub mod agent;
pub mod axes;
pub mod code_mode;
pub mod config;
pub mod digest;
pub mod exit;
pub mod expect;
pub mod frame;
pub mod ids;
pub mod job;
pub mod keys;
pub mod launch;
pub mod limits;
pub mod names;
pub mod outcome;
pub mod pattern;
pub mod redact;
pub mod row;
pub mod scenario;
pub mod verdict;
