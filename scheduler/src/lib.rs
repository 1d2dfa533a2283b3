//! Decides what should run: reads a plugin author's configuration, expands it into cells and cases, turns cases into jobs, gates tiers
//! and retries.
//!
//! It must never run anything itself, and it must never judge an outcome.

pub mod config;
pub mod init;
pub mod plan;
pub mod schedule;
