//! Frames of the evidence stream: what the agent writes to its standard output and the executor reads.
//!
//! A frame is `[magic "OF"][version 1][kind u8][payload length u32 BE][crc32 u32 BE][payload]`; the checksum covers the version, the kind,
//! the length and the payload, so that no damaged byte can turn one frame into another. The decoder must never trust a length before it
//! has compared it with the cap, and must never give out a frame again after an error: what follows a damaged frame has no border.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::digest::{Builder, Digest};

/// Bytes before the payload.
pub const HEADER: usize = 12;
/// The largest payload, in bytes.
pub const MAX_PAYLOAD: usize = 1024 * 1024;
/// The format of frames.
pub const VERSION: u8 = 1;

const MAGIC: [u8; 2] = *b"OF";

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $word:literal;)*) => {
        /// What a frame carries. All kinds but [`Kind::Note`] and [`Kind::End`] are streams: only the joined payloads of a kind mean
        /// something, the borders between its frames do not.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        #[repr(u8)]
        pub enum Kind { $($(#[$doc])* $name = $code,)* }

        impl Kind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The word used in [`End`] and in counts of dropped bytes.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }

            const fn from_code(code: u8) -> Option<Self> {
                match code { $($code => Some(Self::$name),)* _ => None }
            }
        }
    };
}

kinds! {
    /// One [`Note`] as JSON.
    Note = 1, "note";
    /// Standard output of the host.
    Stdout = 2, "stdout";
    /// Standard error of the host.
    Stderr = 3, "stderr";
    /// Lines of the probe before the plugin.
    ProbePre = 4, "probe-pre";
    /// Lines of the observer module.
    ProbeObserver = 5, "probe-observer";
    /// Lines of the probe after the plugin.
    ProbePost = 6, "probe-post";
    /// Model requests, one `agent::StubRequest` as JSON on each line.
    StubRequest = 7, "stub-request";
    /// One `agent::Report` as JSON.
    Report = 8, "report";
    /// A `tar.zst` archive.
    Workspace = 9, "workspace";
    /// One [`End`] as JSON. Nothing follows.
    End = 10, "end";
}

/// A whole frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What it carries.
    pub kind: Kind,
    /// The bytes, at most [`MAX_PAYLOAD`].
    pub payload: Vec<u8>,
}

/// Something that the agent says about its own work: a phase that begins, a cut that it had to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// Milliseconds since the agent started.
    pub at: u64,
    /// The phase that begins, if one does: `preflight`, `write`, `host`, `collect`, `done`.
    pub phase: Option<String>,
    /// For people.
    pub text: String,
}

/// The last frame: what must have arrived before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct End {
    /// Payload bytes by kind; kinds without bytes are absent.
    pub bytes: BTreeMap<Kind, u64>,
    /// Digest of all payloads in the order of the frames, this one not included.
    pub digest: Digest,
}

/// Why a stream of frames cannot be read any further.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The stream is no stream of frames, or has lost its borders.
    #[error("no frame begins at byte {at} of the evidence stream")]
    Magic {
        /// Offset of the frame.
        at: u64,
    },
    /// Written by another build.
    #[error("the frame at byte {at} has version {version}, this build reads {VERSION}")]
    Version {
        /// Offset of the frame.
        at: u64,
        /// What it says.
        version: u8,
    },
    /// Unknown kind.
    #[error("the frame at byte {at} has the unknown kind {code}")]
    Kind {
        /// Offset of the frame.
        at: u64,
        /// What it says.
        code: u8,
    },
    /// The length is above the cap.
    #[error("the frame at byte {at} claims {length} bytes, more than {MAX_PAYLOAD}")]
    TooLong {
        /// Offset of the frame.
        at: u64,
        /// What it says.
        length: u32,
    },
    /// The checksum is wrong.
    #[error("the frame at byte {at} is damaged")]
    Checksum {
        /// Offset of the frame.
        at: u64,
    },
    /// The stream ended within a frame.
    #[error("the evidence stream ends within the frame at byte {at}")]
    Truncated {
        /// Offset of the frame.
        at: u64,
    },
    /// The end frame does not fit what arrived.
    #[error("the end frame does not fit the frames before it: {0}")]
    Mismatch(String),
}

/// Writes frames. A payload above [`MAX_PAYLOAD`] becomes several frames of the same kind; an empty one becomes one empty frame.
#[must_use]
pub fn encode(kind: Kind, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(payload.len() + HEADER * (1 + payload.len() / MAX_PAYLOAD));
    let mut rest = payload;
    loop {
        let (piece, tail) = rest.split_at(rest.len().min(MAX_PAYLOAD));
        encode_one(kind, piece, &mut out);
        rest = tail;
        if rest.is_empty() {
            return out;
        }
    }
}

fn encode_one(kind: Kind, piece: &[u8], out: &mut Vec<u8>) {
    let mut protected = [VERSION, kind as u8, 0, 0, 0, 0];
    // At most MAX_PAYLOAD, which is far below u32::MAX.
    protected[2..].copy_from_slice(&(piece.len() as u32).to_be_bytes());
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&protected);
    out.extend_from_slice(&checksum(&protected, piece).to_be_bytes());
    out.extend_from_slice(piece);
}

fn checksum(protected: &[u8], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(protected);
    hasher.update(payload);
    hasher.finalize()
}

/// Reads frames out of bytes that arrive in any pieces. Holds no more than what was pushed and not yet taken.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    // Start of the next frame within `buffer`.
    start: usize,
    // Offset of that frame within the stream.
    at: u64,
    failed: Option<FrameError>,
}

impl Decoder {
    /// Adds bytes. After an error they are dropped.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.failed.is_some() {
            return;
        }
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole frame, `None` when more bytes are needed.
    ///
    /// # Errors
    /// When the bytes are no frame; the same error for ever after.
    #[expect(clippy::should_implement_trait, reason = "an iterator that yields None and then Some again would surprise")]
    pub fn next(&mut self) -> Result<Option<Frame>, FrameError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        match self.read() {
            Ok(frame) => Ok(frame),
            Err(error) => {
                self.buffer = Vec::new();
                self.start = 0;
                self.failed = Some(error.clone());
                Err(error)
            }
        }
    }

    /// Ends the stream.
    ///
    /// # Errors
    /// When it was damaged or ends within a frame.
    pub fn finish(&self) -> Result<(), FrameError> {
        match &self.failed {
            Some(error) => Err(error.clone()),
            None if self.start < self.buffer.len() => Err(FrameError::Truncated { at: self.at }),
            None => Ok(()),
        }
    }

    fn read(&mut self) -> Result<Option<Frame>, FrameError> {
        let at = self.at;
        let bytes = self.buffer.get(self.start..).unwrap_or_default();
        // A wrong beginning is an error at once, not only when twelve bytes have come.
        if bytes.iter().zip(MAGIC).any(|(have, want)| *have != want) {
            return Err(FrameError::Magic { at });
        }
        let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let [_, _, version, code, l0, l1, l2, l3, c0, c1, c2, c3] = *header;
        if version != VERSION {
            return Err(FrameError::Version { at, version });
        }
        let kind = Kind::from_code(code).ok_or(FrameError::Kind { at, code })?;
        let length = u32::from_be_bytes([l0, l1, l2, l3]);
        let size = usize::try_from(length).ok().filter(|size| *size <= MAX_PAYLOAD).ok_or(FrameError::TooLong { at, length })?;
        let Some(payload) = rest.get(..size) else {
            return Ok(None);
        };
        if checksum(&header[2..8], payload) != u32::from_be_bytes([c0, c1, c2, c3]) {
            return Err(FrameError::Checksum { at });
        }
        let frame = Frame { kind, payload: payload.to_vec() };
        self.start += HEADER + size;
        self.at += (HEADER + size) as u64;
        Ok(Some(frame))
    }
}

/// Counts payloads, on both ends of the stream.
#[derive(Debug, Default)]
pub struct Tally {
    bytes: BTreeMap<Kind, u64>,
    digest: Builder,
}

impl Tally {
    /// Adds a payload. The end frame is not counted.
    pub fn add(&mut self, kind: Kind, payload: &[u8]) {
        if kind == Kind::End || payload.is_empty() {
            return;
        }
        *self.bytes.entry(kind).or_default() += payload.len() as u64;
        self.digest.update(payload);
    }

    /// What has been counted.
    #[must_use]
    pub fn end(self) -> End {
        End { bytes: self.bytes, digest: self.digest.finish() }
    }

    /// Compares what arrived with what the sender says it sent.
    ///
    /// # Errors
    /// [`FrameError::Mismatch`] with the first difference.
    pub fn verify(self, told: &End) -> Result<(), FrameError> {
        let seen = self.end();
        for kind in Kind::ALL {
            let [seen, told] = [&seen, told].map(|end| end.bytes.get(kind).copied().unwrap_or_default());
            if seen != told {
                return Err(FrameError::Mismatch(format!("{seen} bytes of {} arrived, {told} were sent", kind.as_str())));
            }
        }
        if seen.digest == told.digest { Ok(()) } else { Err(FrameError::Mismatch("the digests differ".to_owned())) }
    }
}

#[cfg(test)]
mod tests;
