//! The model of the bare loop that `make bench` compares with: answers every chat completion with "ok", streamed, as the agent's stub does.
//!
//! As small as can be, so that the loop pays nothing for it. It must never be used to say anything about a plugin.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

const ADDRESS: &str = "127.0.0.1:41789";

fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind(ADDRESS)?;
    for stream in listener.incoming().flatten() {
        std::thread::spawn(move || {
            // A peer that goes away is no matter.
            let _ = serve(&stream);
        });
    }
    Ok(())
}

fn serve(mut stream: &TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let line = line.trim().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink())?;
        let body = answer();
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{body}", body.len())?;
    }
}

fn answer() -> String {
    let chunk = |delta: &str, finish: &str| {
        format!(
            r#"data: {{"id":"x","object":"chat.completion.chunk","created":0,"model":"m1","choices":[{{"index":0,"delta":{delta},"finish_reason":{finish}}}]}}"#
        )
    };
    let usage = r#"data: {"id":"x","object":"chat.completion.chunk","created":0,"model":"m1","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}"#;
    let chunks = [chunk(r#"{"role":"assistant","content":""}"#, "null"), chunk(r#"{"content":"ok"}"#, "null"), chunk("{}", r#""stop""#)];
    format!("{}\n\n{usage}\n\ndata: [DONE]\n\n", chunks.join("\n\n"))
}
