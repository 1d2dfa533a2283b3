//! Keeps the beginning and the end of an output whose length nobody knows.
//!
//! It must never hold more than its bound, and it never drops a byte without counting it.

use std::collections::VecDeque;

/// The first and the last bytes of a stream.
#[derive(Debug)]
pub(crate) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_bytes: usize,
    tail_bytes: usize,
    dropped: u64,
}

/// What was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// The text; bytes that are no UTF-8 are replaced. Where something is missing a line says how much.
    pub text: String,
    /// Bytes that are missing.
    pub dropped: u64,
}

impl Capture {
    /// Keeps at most `bytes`, half of them from the beginning.
    pub(crate) fn new(bytes: u64) -> Self {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let head_bytes = bytes / 2;
        Self { head: Vec::new(), tail: VecDeque::new(), head_bytes, tail_bytes: bytes - head_bytes, dropped: 0 }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(self.head_bytes - self.head.len()));
        self.head.extend_from_slice(head);
        let skipped = rest.len().saturating_sub(self.tail_bytes);
        let kept = &rest[skipped..];
        let overflow = (self.tail.len() + kept.len()).saturating_sub(self.tail_bytes);
        self.tail.drain(..overflow);
        self.tail.extend(kept);
        self.dropped += (skipped + overflow) as u64;
    }

    pub(crate) fn finish(self) -> Captured {
        let tail: Vec<u8> = self.tail.into();
        let text = if self.dropped == 0 {
            String::from_utf8_lossy(&[self.head, tail].concat()).into_owned()
        } else {
            let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&tail));
            format!("{head}\n[… {} bytes left out …]\n{tail}", self.dropped)
        };
        Captured { text, dropped: self.dropped }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_short_output_is_whole_even_across_the_middle() {
        let mut capture = Capture::new(4);
        capture.push("aä".as_bytes());
        capture.push(b"b");
        assert_eq!(capture.finish(), Captured { text: "aäb".to_owned(), dropped: 0 });
    }

    #[test]
    fn a_long_output_keeps_both_ends() {
        let mut capture = Capture::new(4);
        capture.push(b"12345");
        capture.push(b"6789");
        assert_eq!(capture.finish(), Captured { text: "12\n[… 5 bytes left out …]\n89".to_owned(), dropped: 5 });
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter_and_every_byte_counts(pieces in prop::collection::vec("[a-z]{0,9}", 0..9), bound in 0_u64..20) {
            let mut whole = Capture::new(bound);
            whole.push(pieces.concat().as_bytes());
            let mut parts = Capture::new(bound);
            for piece in &pieces {
                parts.push(piece.as_bytes());
                prop_assert!(parts.head.len() + parts.tail.len() <= bound as usize);
            }
            let total: usize = pieces.iter().map(String::len).sum();
            prop_assert_eq!(parts.dropped + (parts.head.len() + parts.tail.len()) as u64, total as u64);
            prop_assert_eq!(parts.finish(), whole.finish());
        }
    }
}
