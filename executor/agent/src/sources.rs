//! What the host says while it runs: its two output streams, and the three channels of the probes. Each source is one task that sends
//! frames up to its cap, keeps draining beyond it, and tells the watch that something came.
//!
//! A source must never stop reading before it is told to: a writer that blocks would look like a plugin that hangs.

use std::io;
use std::path::Path;

use ocsweep_proto::frame::Kind;
use rustix::fs::{FileType, Mode};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, watch};

use crate::lines::{Line, Lines};
use crate::output::Output;
use crate::watch::{Event, Record, Side};

const PIECE: usize = 64 * 1024;

/// What a source left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Bytes beyond the cap.
    pub(crate) dropped: u64,
    /// Lines of a probe that are no JSON.
    pub(crate) unparsed: u64,
}

/// Where a source sends to.
#[derive(Debug, Clone)]
pub(crate) struct Sink {
    pub(crate) output: Output,
    pub(crate) events: mpsc::Sender<Event>,
    /// Bytes that are kept of each source.
    pub(crate) cap: u64,
}

/// Reads an output stream of the host to its end.
pub(crate) async fn stream(mut reader: pipe::Receiver, kind: Kind, sink: Sink) -> Tally {
    let mut tally = Tally::default();
    let mut left = sink.cap;
    let mut buffer = vec![0; PIECE];
    loop {
        let size = match reader.read(&mut buffer).await {
            Ok(0) | Err(_) => return tally,
            Ok(size) => size,
        };
        let event = if kind == Kind::Stdout { Event::Stdout } else { Event::Other };
        // A full channel has signs of life enough.
        let _ = sink.events.try_send(event);
        let kept = usize::try_from(left).map_or(size, |left| size.min(left));
        left -= kept as u64;
        tally.dropped += (size - kept) as u64;
        if kept > 0 && sink.output.send(kind, buffer[..kept].to_vec()).await.is_err() {
            return tally;
        }
    }
}

/// Makes the channel of a probe: anybody may write, nobody but the agent may read or remove it. It is opened for reading and writing, so
/// that it never ends when a writer goes.
pub(crate) fn fifo(path: &Path) -> io::Result<pipe::Receiver> {
    rustix::fs::mknodat(rustix::fs::CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0)?;
    let receiver = pipe::OpenOptions::new().read_write(true).open_receiver(path)?;
    rustix::fs::chmod(path, Mode::from_raw_mode(0o222))?;
    Ok(receiver)
}

/// Reads the channel of a probe until `stop` says that no writer is left, then what is still in it.
pub(crate) async fn probe(mut reader: pipe::Receiver, kind: Kind, sink: Sink, mut stop: watch::Receiver<bool>) -> Tally {
    let mut channel = Channel { kind, lines: Lines::default(), left: sink.cap, tally: Tally::default(), sink };
    let mut buffer = vec![0; PIECE];
    loop {
        let size = tokio::select! {
            biased;
            size = reader.read(&mut buffer) => size.unwrap_or(0),
            // The sender is dropped together with the run.
            _ = stop.wait_for(|stop| *stop) => match reader.try_read(&mut buffer) {
                Ok(size) if size > 0 => size,
                _ => break,
            },
        };
        if size == 0 || !channel.take(buffer.get(..size).unwrap_or_default()).await {
            break;
        }
    }
    channel.finish().await
}

struct Channel {
    kind: Kind,
    lines: Lines,
    left: u64,
    tally: Tally,
    sink: Sink,
}

impl Channel {
    /// `false` when nobody reads the frames any more.
    async fn take(&mut self, bytes: &[u8]) -> bool {
        let lines = self.lines.push(bytes);
        self.send(lines).await
    }

    async fn finish(mut self) -> Tally {
        let rest = self.lines.finish();
        self.send(rest.into_iter().collect()).await;
        self.tally
    }

    async fn send(&mut self, lines: Vec<Line>) -> bool {
        let mut out = Vec::new();
        for line in lines {
            match line {
                Line::Whole(line) => {
                    self.look_at(&line).await;
                    self.keep(line, &mut out);
                }
                Line::TooLong(size) => {
                    self.tally.unparsed += 1;
                    self.tally.dropped += size;
                }
            }
        }
        out.is_empty() || self.sink.output.send(self.kind, out).await.is_ok()
    }

    /// Only whole lines are kept, so that a cut leaves no half record.
    fn keep(&mut self, mut line: Vec<u8>, out: &mut Vec<u8>) {
        let size = line.len() as u64 + 1;
        if size > self.left {
            // Nothing after the first gap, or a later short line would seem to follow the last long one.
            self.left = 0;
            self.tally.dropped += size;
            return;
        }
        self.left -= size;
        out.append(&mut line);
        out.push(b'\n');
    }

    async fn look_at(&mut self, line: &[u8]) {
        if serde_json::from_slice::<serde::de::IgnoredAny>(line).is_err() {
            self.tally.unparsed += 1;
            return;
        }
        let event = serde_json::from_slice(line).ok().and_then(|record| self.event(record));
        match event {
            // The watch must miss none of these.
            Some(event) => drop(self.sink.events.send(event).await),
            None => drop(self.sink.events.try_send(Event::Probe)),
        }
    }

    /// What the watch must know of a record beyond that it came.
    fn event(&self, record: Record) -> Option<Event> {
        match self.kind {
            Kind::ProbeObserver => Some(Event::Observed(record)),
            Kind::ProbePre if record.is("setup") => Some(Event::SetUp(Side::Before)),
            Kind::ProbePost if record.is("setup") => Some(Event::SetUp(Side::After)),
            Kind::ProbePre | Kind::ProbePost if record.is("session.prompt") => Some(Event::Prompted),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::output;

    /// Runs a source over what `write` puts into its channel, and gives its tally, its bytes and its events.
    async fn run(kind: Kind, cap: u64, text: &[u8]) -> (Tally, Vec<u8>, Vec<Event>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fifo");
        let reader = fifo(&path).unwrap();
        let mut bytes = Vec::new();
        let (output, writer) = output::channel(&mut bytes);
        let (events, mut received) = mpsc::channel(1024);
        let (stop, stopped) = watch::channel(false);
        let text = text.to_vec();
        let writing = std::thread::spawn(move || std::fs::OpenOptions::new().write(true).open(path).unwrap().write_all(&text).unwrap());
        let sink = Sink { output: output.clone(), events, cap };
        let reading = async {
            let reading = tokio::spawn(probe(reader, kind, sink, stopped));
            tokio::task::spawn_blocking(move || writing.join().unwrap()).await.unwrap();
            stop.send(true).unwrap();
            let tally = reading.await.unwrap();
            output.end().await.unwrap();
            tally
        };
        let (tally, written) = tokio::join!(reading, writer);
        written.unwrap();
        let payload = output::decode(&bytes).into_iter().filter(|frame| frame.kind == kind).flat_map(|frame| frame.payload).collect();
        let events = std::iter::from_fn(|| received.try_recv().ok()).collect();
        (tally, payload, events)
    }

    #[tokio::test]
    async fn whole_lines_arrive_and_bad_ones_are_counted_but_kept() {
        let text = b"{\"kind\":\"factory.start\",\"id\":1}\nnoise\n{\"kind\":\"x\"}\n{\"cut\":";
        let (tally, payload, events) = run(Kind::ProbeObserver, 1000, text).await;
        assert_eq!(payload, [&text[..], b"\n"].concat());
        assert_eq!(tally, Tally { dropped: 0, unparsed: 2 });
        assert_eq!(events.len(), 2);
        assert!(events.iter().all(|event| matches!(event, Event::Observed(_))));
    }

    #[tokio::test]
    async fn beyond_the_cap_the_channel_is_drained_and_no_half_line_is_left() {
        let line = b"{\"a\":1}\n";
        let text = line.repeat(100_000);
        let (tally, payload, events) = run(Kind::ProbePost, 20, &text).await;
        assert_eq!(payload, line.repeat(2));
        assert_eq!(tally, Tally { dropped: (text.len() - payload.len()) as u64, unparsed: 0 });
        assert_eq!(events[0], Event::Probe);
    }

    #[tokio::test]
    async fn a_channel_may_be_written_by_anybody_and_read_by_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fifo");
        let _reader = fifo(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o222);
        assert!(fifo(&path).is_err());
    }
}
