//! Probe records: one JSON object a line. Two processes that write at once can mix their lines, so a line that does not parse is counted.

use serde_json::{Map, Value};

use super::json;

/// One observation of a probe.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Record {
    /// Kind, for example `tool.before`.
    pub kind: String,
    /// When, in milliseconds since the epoch.
    pub t: f64,
    /// Payload and metadata.
    pub fields: Map<String, Value>,
}

impl Record {
    /// The text of a field; empty when it is absent or no string.
    #[must_use]
    pub fn text(&self, field: &str) -> String {
        json::text(self.fields.get(field))
    }

    /// A field as a key of its own kind, whatever its type.
    pub(super) fn key(&self, field: &str) -> Option<String> {
        json::key(self.fields.get(field))
    }
}

/// The records of one channel and the number of lines that are none.
pub(super) fn parse(bytes: &[u8]) -> (Vec<Record>, u64) {
    let mut unparsed = 0;
    let mut records = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        match parse_line(line) {
            Some(record) => records.push(record),
            None => unparsed += 1,
        }
    }
    (records, unparsed)
}

fn parse_line(line: &[u8]) -> Option<Record> {
    let text = String::from_utf8_lossy(line);
    let fields: Map<String, Value> = serde_json::from_str(&text).ok()?;
    let kind = fields.get("kind")?.as_str()?.to_owned();
    let t = fields.get("t").and_then(Value::as_f64).unwrap_or(0.0);
    Some(Record { kind, t, fields })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_lines_are_counted_and_the_others_kept() {
        let bytes =
            b"{\"kind\":\"setup\",\"t\":1}\n{\"kind\":\"to{\"kind\":\"event\"}\n\n[1]\n{\"t\":2}\n\xff\n{\"kind\":\"x\xff\",\"t\":3}";
        let (records, unparsed) = parse(bytes);
        assert_eq!(records.iter().map(|record| record.kind.as_str()).collect::<Vec<_>>(), ["setup", "x\u{fffd}"]);
        assert_eq!(unparsed, 4);
    }
}
