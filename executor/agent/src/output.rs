//! The one way out: frames on standard output, written by one task behind a bounded channel, so that a slow reader slows the sources down
//! and never the memory up.
//!
//! It must never drop or reorder payloads; caps are the business of the sources.

use std::time::Instant;

use ocsweep_proto::frame::{self, Kind, Note, Tally};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

/// Payloads that may wait: of 64 KiB each when they come from a stream.
const WAITING: usize = 32;

enum Message {
    Payload(Kind, Vec<u8>),
    End,
}

/// The reader of the evidence stream is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("nobody reads the evidence stream")]
pub(crate) struct Closed;

/// A sender of frames.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    sender: mpsc::Sender<Message>,
    started: Instant,
}

impl std::fmt::Debug for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Payload(kind, payload) => write!(f, "{kind:?} of {} bytes", payload.len()),
            Self::End => f.write_str("End"),
        }
    }
}

impl Output {
    /// Sends bytes of a kind; waits while the reader is slow.
    pub(crate) async fn send(&self, kind: Kind, payload: Vec<u8>) -> Result<(), Closed> {
        self.sender.send(Message::Payload(kind, payload)).await.map_err(|_| Closed)
    }

    /// The same from a thread that may block.
    pub(crate) fn send_blocking(&self, kind: Kind, payload: Vec<u8>) -> Result<(), Closed> {
        self.sender.blocking_send(Message::Payload(kind, payload)).map_err(|_| Closed)
    }

    /// Says that a phase begins.
    pub(crate) async fn phase(&self, phase: &str) -> Result<(), Closed> {
        self.send(Kind::Note, self.note(Some(phase), "")).await
    }

    /// Says something about the agent's own work, as a payload of [`Kind::Note`].
    pub(crate) fn note(&self, phase: Option<&str>, text: &str) -> Vec<u8> {
        let note = Note { at: self.elapsed_ms(), phase: phase.map(str::to_owned), text: text.to_owned() };
        // Numbers and strings always have a JSON form.
        serde_json::to_vec(&note).unwrap_or_default()
    }

    /// Milliseconds since the agent started.
    pub(crate) fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Lets the writer end with an end frame; whatever is sent later is lost.
    pub(crate) async fn end(&self) -> Result<(), Closed> {
        self.sender.send(Message::End).await.map_err(|_| Closed)
    }
}

/// The channel and its writer. The writer ends after [`Output::end`], or without an end frame when every sender is gone or writing fails.
pub(crate) fn channel<W: AsyncWrite + Unpin>(writer: W) -> (Output, impl Future<Output = std::io::Result<()>>) {
    let (sender, receiver) = mpsc::channel(WAITING);
    (Output { sender, started: Instant::now() }, write(writer, receiver))
}

async fn write<W: AsyncWrite + Unpin>(mut writer: W, mut receiver: mpsc::Receiver<Message>) -> std::io::Result<()> {
    let mut tally = Tally::default();
    while let Some(message) = receiver.recv().await {
        match message {
            Message::Payload(kind, payload) => {
                tally.add(kind, &payload);
                writer.write_all(&frame::encode(kind, &payload)).await?;
            }
            Message::End => {
                let end = serde_json::to_vec(&tally.end()).map_err(std::io::Error::other)?;
                writer.write_all(&frame::encode(Kind::End, &end)).await?;
                return writer.flush().await;
            }
        }
        if receiver.is_empty() {
            writer.flush().await?;
        }
    }
    writer.flush().await
}

/// Takes all frames out of an evidence stream; for tests.
#[cfg(test)]
pub(crate) fn decode(bytes: &[u8]) -> Vec<frame::Frame> {
    let mut decoder = frame::Decoder::default();
    decoder.push(bytes);
    let frames = std::iter::from_fn(|| decoder.next().unwrap()).collect();
    decoder.finish().unwrap();
    frames
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn frames_come_in_order_and_the_end_fits_them() {
        let mut bytes = Vec::new();
        let (output, writer) = channel(&mut bytes);
        let (sent, written) = tokio::join!(
            async {
                output.send(Kind::Stdout, b"one".to_vec()).await?;
                output.send(Kind::Stderr, b"two".to_vec()).await?;
                output.end().await
            },
            writer
        );
        sent.unwrap();
        written.unwrap();
        let frames = decode(&bytes);
        assert_eq!(frames.iter().map(|frame| frame.kind).collect::<Vec<_>>(), [Kind::Stdout, Kind::Stderr, Kind::End]);
        let mut tally = Tally::default();
        frames.iter().for_each(|frame| tally.add(frame.kind, &frame.payload));
        assert_eq!(tally.verify(&serde_json::from_slice(&frames[2].payload).unwrap()), Ok(()));
    }

    #[tokio::test]
    async fn without_an_explicit_end_there_is_no_end_frame() {
        let mut bytes = Vec::new();
        let (output, writer) = channel(&mut bytes);
        output.send(Kind::Stdout, b"one".to_vec()).await.unwrap();
        drop(output);
        writer.await.unwrap();
        assert_eq!(decode(&bytes).len(), 1);
    }

    #[tokio::test]
    async fn a_reader_that_is_gone_is_an_error_for_the_sources() {
        let (reader, writer) = tokio::io::duplex(16);
        drop(reader);
        let (output, writer) = channel(writer);
        output.send(Kind::Stdout, b"one".to_vec()).await.unwrap();
        assert!(writer.await.is_err());
        assert_eq!(output.send(Kind::Stdout, b"two".to_vec()).await, Err(Closed));
    }
}
