//! One recorded request as one line. The body is copied as it came, without building a value of it: a hostile body of 32 MiB would take
//! ten times that.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use hyper::HeaderMap;
use ocsweep_proto::agent::RequestKind;
use serde::Serialize;
use serde_json::value::RawValue;

/// Larger bodies are recorded as the beginning of their text: no conversation of a host comes near.
const MAX_BODY: usize = 8 * 1024 * 1024;
/// What is kept of them, and of bodies that are no JSON.
const KEPT: usize = 64 * 1024;
/// Bodies nested deeper are recorded as text: a reader of the record would refuse to follow them.
const MAX_DEPTH: usize = 100;

/// The JSON form of `ocsweep_proto::agent::StubRequest`, with the body as raw text.
#[derive(Serialize)]
struct Record<'a> {
    n: u64,
    t: u64,
    kind: RequestKind,
    headers: BTreeMap<&'a str, String>,
    body: &'a RawValue,
}

/// The line, with its line end, and the bytes of the body that were left out.
pub(super) fn line(n: u64, kind: RequestKind, headers: &HeaderMap, body: &[u8]) -> (Vec<u8>, u64) {
    let (body, cut) = raw(body);
    let t = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
    let headers = headers.iter().map(|(name, value)| (name.as_str(), String::from_utf8_lossy(value.as_bytes()).into_owned())).collect();
    // Every part has a JSON form; were it not so, the record would be lost and the count of requests would show it.
    let mut line = serde_json::to_vec(&Record { n, t, kind, headers, body: &body }).unwrap_or_default();
    line.push(b'\n');
    (line, cut)
}

fn raw(body: &[u8]) -> (Box<RawValue>, u64) {
    let text = std::str::from_utf8(body).ok().filter(|text| text.len() <= MAX_BODY && depth(text) <= MAX_DEPTH);
    // A line end inside JSON stands between its parts only, where a blank does as well.
    let json = text.and_then(|text| RawValue::from_string(text.trim().replace(['\n', '\r'], " ")).ok());
    if let Some(json) = json {
        return (json, 0);
    }
    let kept = body.get(..KEPT).unwrap_or(body);
    let cut = (body.len() - kept.len()) as u64;
    let mut text = String::from_utf8_lossy(kept).into_owned();
    if cut > 0 {
        text.push_str(&format!("…[+{cut}]"));
    }
    (serde_json::value::to_raw_value(&text).unwrap_or_default(), cut)
}

/// How deep brackets stand in brackets, for a text that is JSON; those in strings do not count.
fn depth(text: &str) -> usize {
    let (mut now, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                now += 1;
                deepest = deepest.max(now);
            }
            b']' | b'}' if !in_string => now = now.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use ocsweep_proto::agent::StubRequest;
    use serde_json::{Value, json};

    use super::*;

    fn recorded(body: &[u8]) -> (StubRequest, u64) {
        let headers = [("x-one".parse().unwrap(), "1".parse().unwrap())].into_iter().collect::<HeaderMap>();
        let (line, cut) = line(3, RequestKind::Primary, &headers, body);
        let text = String::from_utf8(line).unwrap();
        assert_eq!(text.matches('\n').count(), 1);
        (serde_json::from_str(text.strip_suffix('\n').unwrap()).unwrap(), cut)
    }

    #[test]
    fn a_body_is_recorded_as_it_is() {
        let (request, cut) = recorded(b"{\"a\":\n [1,\r\n \"x\\ny\"]}\n");
        assert_eq!((request.n, request.kind, cut), (3, RequestKind::Primary, 0));
        assert_eq!(request.headers["x-one"], "1");
        assert_eq!(request.body, json!({"a": [1, "x\ny"]}));
    }

    #[test]
    fn what_is_no_json_is_a_string() {
        for body in [&b""[..], b"{", b"a\nb", b"{} {}", b"\xff\xfe"] {
            assert_eq!(recorded(body).0.body, Value::String(String::from_utf8_lossy(body).into_owned()));
        }
    }

    #[test]
    fn a_body_beyond_measure_is_cut_and_counted() {
        let body = serde_json::to_vec(&"x".repeat(MAX_BODY)).unwrap();
        let (request, cut) = recorded(&body);
        assert_eq!(cut, (body.len() - KEPT) as u64);
        assert!(request.body.as_str().unwrap().ends_with(&format!("…[+{cut}]")));
    }

    #[test]
    fn a_body_too_deep_to_be_read_again_is_a_string() {
        let nested = |depth: usize| format!("{{\"messages\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        for deep in [MAX_DEPTH, 200, 200_000] {
            let body = nested(deep);
            let (request, cut) = recorded(body.as_bytes());
            let kept = request.body.as_str().unwrap();
            assert!(body.starts_with(kept.split('…').next().unwrap()) && cut == body.len().saturating_sub(KEPT) as u64, "{deep}");
        }
        assert!(recorded(nested(MAX_DEPTH - 1).as_bytes()).0.body.is_object());
        let brackets_in_text = format!("{{\"a\":\"\\\"{}\"}}", "[".repeat(300));
        assert!(recorded(brackets_in_text.as_bytes()).0.body.is_object());
    }
}
