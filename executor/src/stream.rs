//! Frames become evidence: each stream in its buffer, the report parsed, the end frame checked against what arrived.
//!
//! It must never judge; a damaged stream only stays incomplete.

use ocsweep_proto::agent::Report;
use ocsweep_proto::frame::{End, Frame, Kind, Tally};

use crate::container::CaseEnd;
use crate::evidence::RawEvidence;

/// The agent caps each stream; this bound holds even if it did not.
const MAX_STREAM_BYTES: usize = 256 * 1024 * 1024;

/// What has arrived so far.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) raw: RawEvidence,
    pub(crate) workspace: Option<Vec<u8>>,
    pub(crate) out_of_memory: bool,
    /// What is wrong with the stream, for the row.
    pub(crate) problem: Option<String>,
    tally: Tally,
    report: Vec<u8>,
    stub: Vec<u8>,
}

impl Collected {
    /// Takes a frame. `true`: the report is complete and the agent waits for an answer.
    pub(crate) fn take(&mut self, frame: Frame) -> bool {
        self.tally.add(frame.kind, &frame.payload);
        let into = match frame.kind {
            Kind::Note => return false,
            Kind::Stdout => &mut self.raw.stdout,
            Kind::Stderr => &mut self.raw.stderr,
            Kind::ProbePre => &mut self.raw.probe_pre,
            Kind::ProbeObserver => &mut self.raw.probe_observer,
            Kind::ProbePost => &mut self.raw.probe_post,
            Kind::StubRequest => &mut self.stub,
            Kind::Report => &mut self.report,
            Kind::Workspace => self.workspace.get_or_insert_default(),
            Kind::End => {
                self.check_end(&frame.payload);
                return false;
            }
        };
        let room = MAX_STREAM_BYTES.saturating_sub(into.len()).min(frame.payload.len());
        into.extend_from_slice(&frame.payload[..room]);
        frame.kind == Kind::Report && self.parse_report()
    }

    /// The stream has ended.
    pub(crate) fn end(&mut self, end: &CaseEnd) {
        self.out_of_memory = end.oom_killed;
        if !self.raw.complete && self.problem.is_none() {
            let log = end.agent_log.text.trim();
            let said = if log.is_empty() { String::new() } else { format!(", the agent said: {log}") };
            let code = end.exit_code.map_or_else(|| "an unknown exit code".to_owned(), |code| format!("exit code {code}"));
            self.problem = Some(format!("the evidence stream ended without its end frame ({code}{said})."));
        }
    }

    /// A report may arrive in several frames; it is complete when it parses.
    fn parse_report(&mut self) -> bool {
        let Ok(report) = serde_json::from_slice::<Report>(&self.report) else { return false };
        self.raw.report = report;
        for line in self.stub.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice(line) {
                Ok(request) => self.raw.stub_requests.push(request),
                Err(error) => self.problem = Some(format!("a recorded model request cannot be read: {error}.")),
            }
        }
        self.stub.clear();
        true
    }

    fn check_end(&mut self, payload: &[u8]) {
        let end: End = match serde_json::from_slice(payload) {
            Ok(end) => end,
            Err(error) => {
                self.problem = Some(format!("the end frame cannot be read: {error}."));
                return;
            }
        };
        match std::mem::take(&mut self.tally).verify(&end) {
            Ok(()) => self.raw.complete = true,
            Err(error) => self.problem = Some(format!("the evidence stream is damaged: {error}.")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::{Captured, Phases};

    fn frames(parts: &[(Kind, &[u8])]) -> Vec<Frame> {
        let mut tally = Tally::default();
        let mut frames: Vec<Frame> = parts.iter().map(|(kind, payload)| Frame { kind: *kind, payload: payload.to_vec() }).collect();
        frames.iter().for_each(|frame| tally.add(frame.kind, &frame.payload));
        frames.push(Frame { kind: Kind::End, payload: serde_json::to_vec(&tally.end()).unwrap() });
        frames
    }

    fn collect(frames: Vec<Frame>) -> (Collected, Vec<bool>) {
        let mut collected = Collected::default();
        let waits = frames.into_iter().map(|frame| collected.take(frame)).collect();
        (collected, waits)
    }

    fn end() -> CaseEnd {
        CaseEnd {
            exit_code: Some(1),
            oom_killed: false,
            complete: false,
            agent_log: Captured { text: "boom".to_owned(), dropped: 0 },
            phases: Phases::default(),
        }
    }

    #[test]
    fn a_whole_stream_is_complete_and_the_report_is_answered_once() {
        let report = serde_json::to_vec(&Report::default()).unwrap();
        let (first, second) = report.split_at(4);
        let parts: [(Kind, &[u8]); 4] = [(Kind::Stdout, b"a"), (Kind::Stdout, b"b"), (Kind::Report, first), (Kind::Report, second)];
        let (collected, waits) = collect(frames(&parts));
        assert_eq!(waits, [false, false, false, true, false]);
        assert_eq!(collected.raw.stdout, b"ab");
        assert!(collected.raw.complete && collected.problem.is_none());
    }

    #[test]
    fn a_lost_frame_leaves_the_stream_incomplete() {
        let mut all = frames(&[(Kind::Stdout, b"a"), (Kind::Stderr, b"b")]);
        all.remove(1);
        let (collected, _) = collect(all);
        assert!(!collected.raw.complete);
        assert!(collected.problem.unwrap().contains("damaged"));
    }

    #[test]
    fn without_an_end_frame_the_agents_last_words_are_named() {
        let mut all = frames(&[(Kind::Stdout, b"a")]);
        all.pop();
        let (mut collected, _) = collect(all);
        collected.end(&end());
        assert!(!collected.raw.complete);
        assert_eq!(collected.problem.unwrap(), "the evidence stream ended without its end frame (exit code 1, the agent said: boom).");
    }
}
