//! The documented exit codes. Only the root's `main` turns one into the status of a process.

/// Exit status of `ocsweep`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ExitCode {
    /// No required failure; a run whose rows are all skipped included.
    Ok = 0,
    /// A required case failed.
    Failure = 1,
    /// Configuration or usage error, or the gate has no history.
    Usage = 2,
    /// A required row stayed indeterminate.
    Indeterminate = 3,
    /// The selection contains no case at all.
    NothingRan = 4,
    /// Interrupted by a signal.
    Interrupted = 130,
}
