//! Frames survive every way of cutting the stream, and no damage of one byte gives another frame.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn frames() -> impl Strategy<Value = Vec<Frame>> {
    let kind = proptest::sample::select(Kind::ALL.to_vec());
    vec((kind, vec(any::<u8>(), 0..200)).prop_map(|(kind, payload)| Frame { kind, payload }), 1..6)
}

fn encode_all(frames: &[Frame]) -> Vec<u8> {
    frames.iter().flat_map(|frame| encode(frame.kind, &frame.payload)).collect()
}

/// Everything that comes out before the end or the first error.
fn decode_all(decoder: &mut Decoder) -> (Vec<Frame>, Result<(), FrameError>) {
    let mut out = Vec::new();
    loop {
        match decoder.next() {
            Ok(Some(frame)) => out.push(frame),
            Ok(None) => return (out, decoder.finish()),
            Err(error) => return (out, Err(error)),
        }
    }
}

proptest! {
    #[test]
    fn any_cut_of_the_stream_gives_the_same_frames(frames in frames(), cuts in vec(1_usize..64, 1..40)) {
        let bytes = encode_all(&frames);
        let mut decoder = Decoder::default();
        let (mut out, mut rest, mut cuts) = (Vec::new(), &bytes[..], cuts.iter().cycle());
        while !rest.is_empty() {
            let (piece, tail) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
            decoder.push(piece);
            while let Some(frame) = decoder.next().unwrap() { out.push(frame); }
            rest = tail;
        }
        prop_assert_eq!(out, frames);
        prop_assert_eq!(decoder.finish(), Ok(()));
    }

    #[test]
    fn a_damaged_byte_never_gives_a_wrong_frame(frames in frames(), place in any::<prop::sample::Index>(), flip in 1_u8..) {
        let mut bytes = encode_all(&frames);
        let place = place.index(bytes.len());
        bytes[place] ^= flip;
        let mut decoder = Decoder::default();
        decoder.push(&bytes);
        let (out, end) = decode_all(&mut decoder);
        prop_assert!(end.is_err());
        prop_assert!(out.len() < frames.len());
        prop_assert_eq!(&out[..], &frames[..out.len()]);
    }

    #[test]
    fn arbitrary_bytes_never_panic(pieces in vec(vec(any::<u8>(), 0..64), 0..8), valid_start in any::<bool>()) {
        let mut decoder = Decoder::default();
        if valid_start { decoder.push(&MAGIC); decoder.push(&[VERSION]); }
        for piece in pieces {
            decoder.push(&piece);
            while let Ok(Some(_)) = decoder.next() {}
        }
        let _ = decoder.finish();
    }

    #[test]
    fn a_cut_stream_is_truncated(frames in frames(), cut in any::<prop::sample::Index>()) {
        let bytes = encode_all(&frames);
        let mut decoder = Decoder::default();
        let cut = cut.index(bytes.len());
        decoder.push(&bytes[..cut]);
        let (out, end) = decode_all(&mut decoder);
        let whole = encode_all(&out).len();
        prop_assert_eq!(end, if whole == cut { Ok(()) } else { Err(FrameError::Truncated { at: whole as u64 }) });
    }
}

#[test]
fn every_byte_of_a_header_is_protected() {
    let bytes = encode(Kind::Stdout, b"payload");
    for place in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1 << bit;
            let mut decoder = Decoder::default();
            decoder.push(&damaged);
            let (out, end) = decode_all(&mut decoder);
            assert!(out.is_empty() && end.is_err(), "bit {bit} of byte {place}");
        }
    }
}

#[test]
fn a_claimed_length_above_the_cap_is_refused_before_anything_is_kept() {
    let mut header = encode(Kind::Stdout, b"");
    header[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
    let mut decoder = Decoder::default();
    decoder.push(&header);
    assert_eq!(decoder.next(), Err(FrameError::TooLong { at: 0, length: u32::MAX }));
    decoder.push(&[0; 100_000]);
    assert_eq!(decoder.buffer.capacity(), 0);
    assert_eq!(decoder.next(), Err(FrameError::TooLong { at: 0, length: u32::MAX }));
}

#[test]
fn a_long_payload_becomes_several_frames() {
    let payload = vec![7; MAX_PAYLOAD * 2 + 5];
    let mut decoder = Decoder::default();
    decoder.push(&encode(Kind::Workspace, &payload));
    let (out, end) = decode_all(&mut decoder);
    assert_eq!(end, Ok(()));
    assert_eq!(out.iter().map(|frame| frame.payload.len()).collect::<Vec<_>>(), [MAX_PAYLOAD, MAX_PAYLOAD, 5]);
    assert_eq!(out.concat_payloads(), payload);
}

trait Concat {
    fn concat_payloads(&self) -> Vec<u8>;
}

impl Concat for Vec<Frame> {
    fn concat_payloads(&self) -> Vec<u8> {
        self.iter().flat_map(|frame| frame.payload.clone()).collect()
    }
}

#[test]
fn errors_say_where() {
    let good = encode(Kind::Stdout, b"abc");
    let after = |bytes: &[u8]| {
        let mut decoder = Decoder::default();
        decoder.push(&good);
        decoder.push(bytes);
        decode_all(&mut decoder).1.unwrap_err()
    };
    let at = good.len() as u64;
    assert_eq!(after(b"hello"), FrameError::Magic { at });
    assert_eq!(after(b"OF\x02\x01\0\0\0\0\0\0\0\0"), FrameError::Version { at, version: 2 });
    assert_eq!(after(b"OF\x01\x63\0\0\0\0\0\0\0\0"), FrameError::Kind { at, code: 99 });
    assert_eq!(after(b"OF\x01\x02\0\0\0\0\0\0\0\0"), FrameError::Checksum { at });
}

#[test]
fn the_end_frame_tells_what_is_missing() {
    let count = |frames: &[(Kind, &[u8])]| {
        let mut tally = Tally::default();
        frames.iter().for_each(|(kind, payload)| tally.add(*kind, payload));
        tally
    };
    let sent: &[(Kind, &[u8])] = &[(Kind::Stdout, b"one"), (Kind::Report, b"{}")];
    let end = count(sent).end();
    let json = serde_json::to_string(&end).unwrap();
    assert_eq!(serde_json::from_str::<End>(&json).unwrap(), end);
    assert!(json.starts_with(r#"{"bytes":{"stdout":3,"report":2},"#), "{json}");
    assert_eq!(count(sent).verify(&end), Ok(()));
    assert_eq!(count(&[(Kind::Stdout, b"on"), (Kind::Stdout, b"e"), (Kind::End, b"x"), (Kind::Report, b"{}")]).verify(&end), Ok(()));
    for other in [
        &[(Kind::Report, &b"{}"[..])][..],
        &[(Kind::Stderr, b"one"), (Kind::Report, b"{}")],
        &[(Kind::Stdout, b"two"), (Kind::Report, b"{}")],
    ] {
        assert!(count(other).verify(&end).is_err());
    }
}
