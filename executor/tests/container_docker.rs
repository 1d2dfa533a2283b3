//! The container module against a real engine. Every test ends with the proof that it left nothing behind.
//!
//! Without `OCSWEEP_TEST_DOCKER=1` the tests say that they are skipped; with it a missing engine is a failure.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests are tests too")]

#[path = "container_docker/case.rs"]
mod case;
#[path = "container_docker/engine.rs"]
mod engine;
#[path = "container_docker/plain.rs"]
mod plain;
#[path = "container_docker/reap.rs"]
mod reap;
#[path = "container_docker/support.rs"]
mod support;
#[path = "container_docker/volume.rs"]
mod volume;
