//! A name server on loopback that knows nothing and remembers what it was asked, so that a case can say which names its plugin wanted.
//!
//! It must never forward a question. It is a help, not a guard: the container has no network at all.

use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

const PORT: u16 = 53;
/// Names that are kept.
const MAX_NAMES: usize = 200;
/// The largest question that can be asked over TCP in one piece is 64 KiB; no real one is near this.
const MAX_QUESTION: usize = 1024;
const HEADER: usize = 12;
const NXDOMAIN: u8 = 3;

/// The names that were looked up, in order, once each.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lookups(Arc<Mutex<Vec<String>>>);

impl Lookups {
    fn add(&self, name: String) {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if names.len() < MAX_NAMES && !names.contains(&name) {
            names.push(name);
        }
    }

    /// Takes out what has been remembered.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Answers on 127.0.0.1:53 from now on, over UDP and TCP.
pub(crate) async fn start(lookups: Lookups) -> io::Result<()> {
    let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, PORT)).await?;
    tokio::spawn(serve_udp(udp, lookups.clone()));
    let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT)).await?;
    tokio::spawn(serve_tcp(tcp, lookups));
    Ok(())
}

async fn serve_udp(socket: UdpSocket, lookups: Lookups) {
    let mut buffer = [0; MAX_QUESTION];
    loop {
        // An error belongs to one peer that is gone.
        let Ok((size, peer)) = socket.recv_from(&mut buffer).await else { continue };
        if let Some(answer) = answer(buffer.get(..size).unwrap_or_default(), &lookups) {
            let _ = socket.send_to(&answer, peer).await;
        }
    }
}

async fn serve_tcp(listener: TcpListener, lookups: Lookups) {
    loop {
        // One at a time: a peer that says nothing delays only other questions of its own case.
        if let Ok((mut stream, _)) = listener.accept().await {
            let _ = tokio::time::timeout(std::time::Duration::from_secs(2), serve_stream(&mut stream, &lookups)).await;
        }
    }
}

async fn serve_stream(stream: &mut TcpStream, lookups: &Lookups) -> io::Result<()> {
    let size = usize::from(stream.read_u16().await?).min(MAX_QUESTION);
    let mut question = vec![0; size];
    stream.read_exact(&mut question).await?;
    if let Some(answer) = answer(&question, lookups) {
        stream.write_u16(u16::try_from(answer.len()).unwrap_or_default()).await?;
        stream.write_all(&answer).await?;
    }
    Ok(())
}

/// The answer to a question, with the question repeated and nothing else; `None` for what is none.
fn answer(packet: &[u8], lookups: &Lookups) -> Option<Vec<u8>> {
    let (header, body) = packet.split_first_chunk::<HEADER>()?;
    let is_query = header[2] & 0x80 == 0;
    if !is_query || header[4..6] == [0, 0] {
        return None;
    }
    let (name, size) = name(body)?;
    lookups.add(name);
    let mut out = Vec::with_capacity(HEADER + size);
    out.extend_from_slice(&[header[0], header[1], 0x80 | (header[2] & 0x79), 0x80 | NXDOMAIN, 0, 1, 0, 0, 0, 0, 0, 0]);
    out.extend_from_slice(body.get(..size)?);
    Some(out)
}

/// The name of the first question, and the bytes of the question with its type and class.
fn name(body: &[u8]) -> Option<(String, usize)> {
    let mut labels = Vec::new();
    let mut at = 0;
    loop {
        let size = usize::from(*body.get(at)?);
        at += 1;
        match size {
            0 => break,
            1..=63 => labels.push(String::from_utf8_lossy(body.get(at..at + size)?).escape_default().to_string()),
            // A pointer has nothing to point at in a question.
            _ => return None,
        }
        at += size;
    }
    let name = labels.join(".").to_ascii_lowercase();
    (name.len() <= 4 * 255 && body.len() >= at + 4).then_some((name, at + 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(name: &str) -> Vec<u8> {
        let mut out = vec![0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.') {
            out.push(u8::try_from(label.len()).unwrap());
            out.extend_from_slice(label.as_bytes());
        }
        out.extend_from_slice(&[0, 0, 1, 0, 1]);
        out
    }

    #[test]
    fn a_question_is_remembered_and_answered_with_no_such_name() {
        let lookups = Lookups::default();
        let packet = question("Models.Example.com");
        let answer = answer(&packet, &lookups).unwrap();
        assert_eq!(answer[..2], packet[..2]);
        assert_eq!((answer[2] & 0x80, answer[3] & 0x0f, &answer[4..12]), (0x80, NXDOMAIN, &[0, 1, 0, 0, 0, 0, 0, 0][..]));
        assert_eq!(answer[12..], packet[12..]);
        assert_eq!(lookups.take(), ["models.example.com"]);
        assert!(lookups.take().is_empty());
    }

    #[test]
    fn names_are_kept_once_and_not_for_ever() {
        let lookups = Lookups::default();
        for n in 0..300 {
            answer(&question(&format!("n{n}.test")), &lookups).unwrap();
            answer(&question("n0.test"), &lookups).unwrap();
        }
        let names = lookups.take();
        assert_eq!(names.len(), MAX_NAMES);
        assert_eq!(names.iter().filter(|name| *name == "n0.test").count(), 1);
    }

    #[test]
    fn what_is_no_question_is_ignored() {
        let lookups = Lookups::default();
        let mut response = question("a.test");
        response[2] |= 0x80;
        let mut pointer = question("a.test");
        pointer[12] = 0xc0;
        let cut = question("a.test")[..16].to_vec();
        for packet in [Vec::new(), vec![0; 5], vec![0; 12], response, pointer, cut] {
            assert_eq!(answer(&packet, &lookups), None);
        }
        assert!(lookups.take().is_empty());
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_packets_never_panic(packet in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..100)) {
            let _ = answer(&packet, &Lookups::default());
        }
    }
}
