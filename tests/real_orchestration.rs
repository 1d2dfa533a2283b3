//! How a run goes, whatever the plugin is: order, skips, re-runs, exit codes, output, interruption. The cases run in real containers with
//! a stand-in for opencode that plays a plan, because the real one would take seconds for each.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test may panic, and says when it is skipped")]

#[path = "support/parts.rs"]
mod support;

#[path = "orchestration/faults.rs"]
mod faults;
#[path = "orchestration/folder.rs"]
mod folder;
#[path = "orchestration/interrupt.rs"]
mod interrupt;
#[path = "orchestration/line_v2.rs"]
mod line_v2;
#[path = "orchestration/order.rs"]
mod order;
#[path = "orchestration/output.rs"]
mod output;
#[path = "orchestration/subject.rs"]
mod subject;
#[path = "orchestration/tiers.rs"]
mod tiers;
#[path = "orchestration/variants.rs"]
mod variants;
