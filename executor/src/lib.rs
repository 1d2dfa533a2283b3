//! Makes one case happen: prepares a subject, fetches a host binary, runs the case in a fresh container, keeps the evidence and judges
//! it outside the container.
//!
//! It must never decide what should run (the scheduler) or what the results mean together (the collector), and it never runs a plugin's
//! code outside of an isolation.

pub mod binary;
mod bun_test;
pub mod case;
pub mod container;
pub mod evidence;
pub mod host_check;
pub mod images;
pub mod isolation;
pub mod judge;
pub mod line;
pub mod local_file;
pub mod preflight;
pub mod prepare;
pub mod process;
pub mod record;
pub mod registry;
mod stream;
pub mod subject;
pub mod worker;
