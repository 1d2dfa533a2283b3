//! Lines from standard input: the job, and later what to do after the report. Read by a thread of its own, because a read of standard input
//! cannot be given up, and a runtime that waits for it never ends.

use std::io::{BufRead, BufReader, Read as _};

use tokio::sync::mpsc;

/// The longest line: a job with its workspace files.
const MAX_LINE: u64 = 64 * 1024 * 1024;

/// The lines, without their line ends; ends with the input, or with the error that ended it.
pub(crate) fn lines() -> mpsc::Receiver<Result<Vec<u8>, String>> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        let mut input = BufReader::new(std::io::stdin().lock());
        while let Some(line) = line(&mut input, MAX_LINE) {
            let failed = line.is_err();
            if sender.blocking_send(line).is_err() || failed {
                return;
            }
        }
    });
    receiver
}

fn line(input: &mut impl BufRead, cap: u64) -> Option<Result<Vec<u8>, String>> {
    let mut line = Vec::new();
    match input.take(cap + 1).read_until(b'\n', &mut line) {
        Ok(0) => return None,
        Ok(_) => {}
        Err(error) => return Some(Err(format!("cannot read standard input: {error}"))),
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() as u64 > cap {
        return Some(Err(format!("a line of standard input is longer than {cap} bytes")));
    }
    Some(Ok(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_and_a_long_one_is_an_error() {
        let mut input = &b"one\n\nlast"[..];
        let mut next = || line(&mut input, 5).map(|line| line.map(|line| String::from_utf8(line).unwrap()));
        assert_eq!(
            [next(), next(), next(), next()],
            [Some(Ok("one".to_owned())), Some(Ok(String::new())), Some(Ok("last".to_owned())), None]
        );
        assert_eq!(line(&mut &b"12345\n"[..], 5), Some(Ok(b"12345".to_vec())));
        assert!(line(&mut &b"123456\n"[..], 5).unwrap().is_err());
    }
}
