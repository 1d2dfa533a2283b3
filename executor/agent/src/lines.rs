//! Lines out of bytes that arrive in any pieces, without ever holding more than one line of a bounded length.

/// The longest line that is kept whole. An inventory with the schemas of two hundred tools is below a tenth of it.
pub(crate) const MAX_LINE: usize = 4 * 1024 * 1024;

/// What has come of the current line.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    pending: Vec<u8>,
    // Bytes of a line that is too long, which is being thrown away up to its end.
    overlong: u64,
}

/// A line, or what is left of one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// Without its line end.
    Whole(Vec<u8>),
    /// Longer than [`MAX_LINE`]: its length.
    TooLong(u64),
}

impl Lines {
    /// Takes bytes and gives the lines that they complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<Line> {
        let mut out = Vec::new();
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, tail) = rest.split_at(end);
            self.keep(line);
            out.push(self.take());
            rest = tail.get(1..).unwrap_or_default();
        }
        self.keep(rest);
        out
    }

    /// What is left when no more bytes come.
    pub(crate) fn finish(&mut self) -> Option<Line> {
        (self.overlong > 0 || !self.pending.is_empty()).then(|| self.take())
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.overlong > 0 {
            self.overlong += bytes.len() as u64;
        } else if self.pending.len() + bytes.len() > MAX_LINE {
            self.overlong = (self.pending.len() + bytes.len()) as u64;
            self.pending = Vec::new();
        } else {
            self.pending.extend_from_slice(bytes);
        }
    }

    fn take(&mut self) -> Line {
        match std::mem::take(&mut self.overlong) {
            0 => Line::Whole(std::mem::take(&mut self.pending)),
            size => Line::TooLong(size),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_cut_gives_the_same_lines(text in "([a-z]{0,5}\n){0,6}[a-z]{0,5}", size in 1_usize..9) {
            let mut lines = Lines::default();
            let mut out: Vec<Line> = text.as_bytes().chunks(size).flat_map(|piece| lines.push(piece)).collect();
            out.extend(lines.finish());
            let expected: Vec<Line> = text.lines().map(|line| Line::Whole(line.as_bytes().to_vec())).collect();
            prop_assert_eq!(out, expected);
        }
    }

    #[test]
    fn a_line_without_end_does_not_grow_and_the_next_one_is_whole() {
        let mut lines = Lines::default();
        let piece = vec![b'x'; MAX_LINE / 2 + 1];
        for _ in 0..3 {
            assert!(lines.push(&piece).is_empty());
            assert!(lines.pending.capacity() <= MAX_LINE);
        }
        let expected = [Line::TooLong(3 * piece.len() as u64), Line::Whole(b"b".to_vec())];
        assert_eq!(lines.push(b"\nb\n"), expected);
        assert_eq!(lines.finish(), None);
    }
}
