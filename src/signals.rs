//! Signals become a token: the first Ctrl-C or SIGTERM asks, a second one forces. Nothing here ends the process.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The two wishes of whoever sends signals.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    /// Stop, remove what was made, write what is known.
    pub ask: CancellationToken,
    /// Stop at once.
    pub force: CancellationToken,
}

/// Watches for signals until the token of the caller's scope is dropped with the returned task.
///
/// # Errors
/// When the runtime cannot install a handler.
pub fn watch(shutdown: Shutdown) -> std::io::Result<tokio::task::JoinHandle<()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(tokio::spawn(async move {
        loop {
            tokio::select! {
                received = interrupt.recv() => if received.is_none() { return },
                received = terminate.recv() => if received.is_none() { return },
            }
            if shutdown.ask.is_cancelled() {
                shutdown.force.cancel();
            }
            shutdown.ask.cancel();
        }
    }))
}
