//! The host lines. An adapter says how a case of its line is set up; reading what came out is `evidence` and `judge`.
//!
//! Only line v1 exists. Line v2 has its place here; until it is built, a case of it is refused before anything runs.

use ocsweep_proto::agent::{AgentJob, Preflight};
use ocsweep_proto::axes::{Jit, Line};
use ocsweep_proto::job::CaseWork;

pub mod v1;

/// Why a case cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// The line has no adapter yet.
    #[error("opencode {version} belongs to line {}, which this version of ocsweep cannot run yet", line.as_str())]
    Unsupported {
        /// The line.
        line: Line,
        /// The host version.
        version: String,
    },
    /// The subject has no server entry to run.
    #[error("the subject has no server entry")]
    NoEntry,
    /// A configuration cannot be written as JSON.
    #[error("cannot write the host's configuration")]
    Config(#[from] serde_json::Error),
}

/// Whether an adapter for the line exists.
///
/// # Errors
/// When it does not.
pub fn supported(line: Line, version: &str) -> Result<(), LineError> {
    match line {
        Line::V1 => Ok(()),
        Line::V2 => Err(LineError::Unsupported { line, version: version.to_owned() }),
    }
}

/// The environment of a tuning of the host's JavaScript engine.
fn jit_env(jit: Jit) -> &'static [(&'static str, &'static str)] {
    match jit {
        // Measured on short runs: a fifth less CPU at the same wall time.
        Jit::Reduced => &[("BUN_JSC_useDFGJIT", "0"), ("BUN_JSC_numberOfGCMarkers", "1"), ("BUN_JSC_useConcurrentGC", "0")],
        Jit::Full => &[],
    }
}

/// What the agent is asked to do for a case.
///
/// # Errors
/// When the line has no adapter or the subject has no server entry.
pub fn agent_job(work: &CaseWork, preflight: Option<Preflight>) -> Result<AgentJob, LineError> {
    supported(work.host.line, &work.host.resolved)?;
    v1::agent_job(work, preflight)
}
