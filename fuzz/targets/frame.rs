//! Frames: any split of a stream gives the same frames and the same end, and what was decoded encodes to the bytes it came from. The first
//! byte of the input chooses the split. It must never accept a stream that the encoder would not write.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ocsweep_proto::frame::{Decoder, Frame, FrameError, Kind, encode};

fuzz_target!(|input: &[u8]| {
    let Some((&step, bytes)) = input.split_first() else { return };
    let whole = decode(bytes, bytes.len().max(1));
    assert_eq!(whole, decode(bytes, usize::from(step).max(1)), "a split changes what is read");
    let again: Vec<u8> = whole.0.iter().flat_map(|frame| encode(frame.kind, &frame.payload)).collect();
    assert!(bytes.starts_with(&again), "frames encode to other bytes than they came from");
    assert_eq!(whole.1.is_ok(), again.len() == bytes.len(), "bytes are left over without an error");
    // The other direction, so that well-formed streams do not depend on a guessed checksum.
    let kind = Kind::ALL[usize::from(step) % Kind::ALL.len()];
    let (frames, end) = decode(&encode(kind, bytes), usize::from(step).max(1));
    assert_eq!(end, Ok(()));
    assert_eq!(frames, [Frame { kind, payload: bytes.to_vec() }]);
});

fn decode(bytes: &[u8], step: usize) -> (Vec<Frame>, Result<(), FrameError>) {
    let (mut decoder, mut frames) = (Decoder::default(), Vec::new());
    for piece in bytes.chunks(step) {
        decoder.push(piece);
        loop {
            match decoder.next() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Err(error)),
            }
        }
    }
    let end = decoder.finish();
    (frames, end)
}
