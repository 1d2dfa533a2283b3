//! Removal of known secret values from everything that is stored or shown.
//!
//! It must never fail, never scan the environment for secrets itself, and never be asked to decide a verdict: judgement uses raw text. A text
//! is scrubbed as a whole, because a value that is cut between two pieces is found in neither.

use serde_json::{Map, Value};

use crate::row::{CaseRow, Digests, Observed};

#[cfg(test)]
mod tests;

/// What stands in the place of a secret.
pub const REDACTED: &str = "[redacted]";

/// Values shorter than this many characters, blanks around them not counted, are not scrubbed: `false` or a port number would tear up
/// every text.
pub const MIN_CHARS: usize = 8;

/// How often a value may be wrapped into JSON: a tool's arguments are JSON in a string of a request, which is JSON itself.
const JSON_LEVELS: usize = 3;

/// Known secret values, ready to be searched for.
#[derive(Clone)]
pub struct Secrets {
    /// Every form of every value, by its first byte, the longest first.
    forms: Vec<Vec<Vec<u8>>>,
    empty: bool,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secrets").field("forms", &self.forms.iter().map(Vec::len).sum::<usize>()).finish_non_exhaustive()
    }
}

impl Default for Secrets {
    fn default() -> Self {
        Self::new(std::iter::empty::<String>())
    }
}

impl Secrets {
    /// Prepares the values. Too short ones, and parts of [`REDACTED`] itself, are left out.
    pub fn new(values: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let mut forms = vec![Vec::new(); 256];
        for value in values {
            let value = value.as_ref().trim();
            if value.chars().count() < MIN_CHARS {
                continue;
            }
            for form in forms_of(value) {
                // A value that is part of the replacement could be replaced for ever.
                if let Some(&first) = form.as_bytes().first().filter(|_| !REDACTED.contains(&form)) {
                    forms[usize::from(first)].push(form.into_bytes());
                }
            }
        }
        for bucket in &mut forms {
            bucket.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
            bucket.dedup();
        }
        let empty = forms.iter().all(Vec::is_empty);
        Self { forms, empty }
    }

    /// Nothing to scrub.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.empty
    }

    /// The text with every known value replaced.
    #[must_use]
    pub fn scrub(&self, text: &str) -> String {
        match self.replaced(text.as_bytes()) {
            None => text.to_owned(),
            // Values are whole characters, so what is left between them is too.
            Some(bytes) => String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
        }
    }

    /// The bytes with every known value replaced; for streams that need not be UTF-8.
    #[must_use]
    pub fn scrub_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        self.replaced(bytes).unwrap_or_else(|| bytes.to_vec())
    }

    /// One line of JSON, which stays JSON. Where replacing inside the text would break it (a value that begins in the middle of an escape,
    /// a number that is a value), the parsed line is scrubbed and written again. A line that is no JSON is scrubbed as text.
    #[must_use]
    pub fn scrub_json_line(&self, line: &str) -> String {
        let Some(bytes) = self.replaced(line.as_bytes()) else {
            return line.to_owned();
        };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Ok(mut value) = serde_json::from_str::<Value>(line) else {
            return text;
        };
        if serde_json::from_str::<Value>(&text).is_ok() {
            return text;
        }
        self.scrub_value(&mut value);
        value.to_string()
    }

    /// Lines of JSON, each by [`Self::scrub_json_line`]; line ends stay. Bytes that are no UTF-8 are replaced when the line is changed.
    #[must_use]
    pub fn scrub_json_lines(&self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            let (body, end) = line.strip_suffix(b"\n").map_or((line, &b""[..]), |body| (body, &b"\n"[..]));
            match std::str::from_utf8(body) {
                Ok(text) => out.extend_from_slice(self.scrub_json_line(text).as_bytes()),
                Err(_) => out.extend_from_slice(&self.scrub_bytes(body)),
            }
            out.extend_from_slice(end);
        }
        out
    }

    /// Every string, key and number of a JSON value. Not for typed records, whose keys and words have a meaning: see [`Self::scrub_row`].
    pub fn scrub_value(&self, value: &mut Value) {
        if self.empty {
            return;
        }
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => {
                if self.replaced(number.to_string().as_bytes()).is_some() {
                    *value = Value::String(REDACTED.to_owned());
                }
            }
            Value::String(text) => self.scrub_string(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.scrub_value(item)),
            Value::Object(map) => {
                let mut scrubbed = Map::new();
                for (mut key, mut item) in std::mem::take(map) {
                    self.scrub_string(&mut key);
                    self.scrub_value(&mut item);
                    scrubbed.insert(key, item);
                }
                *map = scrubbed;
            }
        }
    }

    /// Every text of a row that a plugin, a model or a host wrote. Identity, verdict and numbers stay, so the row stays a row.
    pub fn scrub_row(&self, row: &mut CaseRow) {
        if self.empty {
            return;
        }
        // Every field is named, so that a new one has to decide.
        let CaseRow {
            id: _,
            tier: _,
            opencode: _,
            resolved: _,
            variant: _,
            line: _,
            jit: _,
            isolation: _,
            pass: _,
            verdict: _,
            reason: _,
            infra: _,
            flaky: _,
            skipped,
            failures,
            warnings,
            attempts,
            judge,
            steps: _,
            tools,
            completed,
            cost_usd: _,
            tokens: _,
            text_excerpt,
            errors,
            exit_code: _,
            timed_out: _,
            duration_ms: _,
            phases: _,
            peak_memory_bytes: _,
            observed: Observed { web_tools, connections, writes_outside, leaked_processes },
            evidence: _,
            kept: _,
            digests: Digests { subject: _, binary: _, scenario: _, image: _, agent: _ },
        } = row;
        let lists = [failures, warnings, tools, completed, errors, web_tools, connections, writes_outside, leaked_processes];
        lists.into_iter().flatten().for_each(|text| self.scrub_string(text));
        attempts.iter_mut().flat_map(|attempt| &mut attempt.failures).for_each(|text| self.scrub_string(text));
        [skipped, text_excerpt].into_iter().flatten().for_each(|text| self.scrub_string(text));
        if let Some(judge) = judge {
            self.scrub_string(&mut judge.reason);
        }
    }

    /// Scrubs a string that will be written as JSON. When escaping it makes a value appear (`\n` before `abcdefg` holds `nabcdefg`), the
    /// whole string goes: a scanner of the file must find nothing.
    fn scrub_string(&self, text: &mut String) {
        if let Some(bytes) = self.replaced(text.as_bytes()) {
            *text = String::from_utf8_lossy(&bytes).into_owned();
        }
        let changes_when_escaped = text.bytes().any(|byte| byte < 0x20 || byte == b'"' || byte == b'\\');
        if changes_when_escaped && self.replaced(json_escaped(text).as_bytes()).is_some() {
            *text = REDACTED.to_owned();
        }
    }

    /// The bytes with every value replaced, or `None` when there is none in them.
    ///
    /// Replacing can make a value appear, one that begins or ends with a piece of [`REDACTED`]; so it is done until none is left. Each
    /// round swallows whole replacements and at least one more byte, hence it ends.
    fn replaced(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut spans = self.spans(bytes);
        let mut text: Option<Vec<u8>> = None;
        while !spans.is_empty() {
            let current = text.as_deref().unwrap_or(bytes);
            let next = replace(current, &spans);
            spans = self.spans(&next);
            text = Some(next);
        }
        text
    }

    /// Where values are: sorted, overlapping ones joined, so that no rest of a value stays behind.
    fn spans(&self, bytes: &[u8]) -> Vec<(usize, usize)> {
        let mut spans: Vec<(usize, usize)> = Vec::new();
        if self.empty {
            return spans;
        }
        for (at, &byte) in bytes.iter().enumerate() {
            let Some(form) = self.forms[usize::from(byte)].iter().find(|form| bytes[at..].starts_with(form)) else {
                continue;
            };
            let (start, end) = around_replacements(bytes, at, at + form.len());
            match spans.last_mut() {
                Some(last) if start < last.1 => last.1 = last.1.max(end),
                _ => spans.push((start, end)),
            }
        }
        spans
    }
}

/// A value as it may stand in a file: as it is, and escaped as JSON, with or without characters beyond ASCII.
fn forms_of(value: &str) -> Vec<String> {
    let mut forms = vec![value.to_owned()];
    let (mut plain, mut ascii) = (value.to_owned(), value.to_owned());
    for _ in 0..JSON_LEVELS {
        plain = json_escaped(&plain);
        ascii = ascii_only(&json_escaped(&ascii));
        forms.extend([plain.clone(), ascii.clone()]);
    }
    forms
}

fn json_escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

/// What writers that keep to ASCII make of a JSON text.
fn ascii_only(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii() {
            out.push(character);
        } else {
            let mut units = [0; 2];
            character.encode_utf16(&mut units).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        }
    }
    out
}

/// The span, grown over every replacement that it touches in part.
fn around_replacements(bytes: &[u8], start: usize, end: usize) -> (usize, usize) {
    let token = REDACTED.as_bytes();
    let begins_at = |at: usize| bytes[at..].starts_with(token);
    let first = (start.saturating_sub(token.len() - 1)..start).find(|&at| begins_at(at)).unwrap_or(start);
    let last = (end.saturating_sub(token.len() - 1).max(start)..end).find(|&at| begins_at(at)).map_or(end, |at| end.max(at + token.len()));
    (first, last)
}

fn replace(bytes: &[u8], spans: &[(usize, usize)]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut done = 0;
    for &(start, end) in spans {
        out.extend_from_slice(&bytes[done.min(start)..start]);
        out.extend_from_slice(REDACTED.as_bytes());
        done = end;
    }
    out.extend_from_slice(&bytes[done..]);
    out
}
