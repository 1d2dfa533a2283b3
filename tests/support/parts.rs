//! What the tests of this directory share. Each test binary uses a part of it.
#![allow(dead_code, unused_imports, unused_macros, reason = "every test binary includes all of it and uses a part")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a panic is how a test fails, a note how one is skipped")]

#[path = "directory.rs"]
pub(crate) mod directory;
#[path = "engine.rs"]
pub(crate) mod engine;
#[path = "expected.rs"]
pub(crate) mod expected;
#[path = "guards.rs"]
pub(crate) mod guards;
#[path = "project.rs"]
pub(crate) mod project;
#[path = "run.rs"]
pub(crate) mod run;
