//! The command line of ocsweep: what a person types, and the embedded run that wires scheduler, executor and collector together in one
//! process.
//!
//! Verdicts are not made here. This crate turns arguments into calls and results into text and an exit code.

pub mod cli;
pub mod commands;
pub mod output;
pub mod reference;
pub mod run;
pub mod settings;
pub mod signals;
