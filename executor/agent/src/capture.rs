//! A short child of the user that is run to its end for what it prints: preflight, TUI check, the writer of the sandbox. When it has ended,
//! or its time is up, nothing that it started is left.

use std::time::Duration;

use ocsweep_proto::agent::Exit;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio::task::JoinHandle;

use crate::processes::{Child, kill_all};

/// Bytes kept of the end of each stream: the answer is the last thing that is printed.
const MAX_TAIL: usize = 4 * 1024 * 1024;
/// For the kernel to end what was killed.
pub(crate) const KILL_PATIENCE: Duration = Duration::from_secs(10);
/// For the pipes to close when nobody is left to hold them.
const CLOSE_PATIENCE: Duration = Duration::from_secs(5);

/// What came of a child.
#[derive(Debug, Default)]
pub(crate) struct Captured {
    /// `None` when its time was up.
    pub(crate) exit: Option<Exit>,
    /// The end of its standard output.
    pub(crate) stdout: Vec<u8>,
    /// The end of its standard error.
    pub(crate) stderr: Vec<u8>,
}

/// Processes that do not end although they were killed: the machine is at fault, or a file system that hangs.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("processes are still there after they were killed")]
pub(crate) struct Unkillable;

/// Feeds a child, waits for it, and kills whatever is left.
pub(crate) async fn capture(child: Child, stdin: Vec<u8>, patience: Duration) -> Result<Captured, Unkillable> {
    let Child { exit, stdin: writer, stdout, stderr, .. } = child;
    tokio::spawn(feed(writer, stdin));
    let (stdout, stderr) = (tokio::spawn(tail(stdout)), tokio::spawn(tail(stderr)));
    let exit = tokio::time::timeout(patience, exit).await.ok().and_then(Result::ok);
    if !kill_all(KILL_PATIENCE).await {
        return Err(Unkillable);
    }
    Ok(Captured { exit, stdout: joined(stdout).await, stderr: joined(stderr).await })
}

/// Writes everything, then closes. A child that does not read is no error.
pub(crate) async fn feed(mut writer: pipe::Sender, bytes: Vec<u8>) {
    let _ = writer.write_all(&bytes).await;
}

async fn joined(task: JoinHandle<Vec<u8>>) -> Vec<u8> {
    tokio::time::timeout(CLOSE_PATIENCE, task).await.ok().and_then(Result::ok).unwrap_or_default()
}

async fn tail(mut reader: pipe::Receiver) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(size @ 1..) = reader.read(&mut buffer).await {
        kept.extend_from_slice(&buffer[..size]);
        // Cut rarely, so that a flood costs no quadratic time.
        if kept.len() > 2 * MAX_TAIL {
            kept.drain(..kept.len() - MAX_TAIL);
        }
    }
    let surplus = kept.len().saturating_sub(MAX_TAIL);
    kept.drain(..surplus);
    kept
}
