//! Redaction: no secret is left in what comes out, JSON stays JSON, a second pass changes nothing. The first line of the input is the
//! secret, the rest the text. It must never check what the redaction does not promise: values below the least length stay.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ocsweep_proto::redact::{MIN_CHARS, REDACTED, Secrets};
use serde_json::Value;

fuzz_target!(|input: &str| {
    let Some((secret, text)) = input.split_once('\n') else { return };
    let secret = secret.trim();
    let secrets = Secrets::new([secret]);
    let out = secrets.scrub(text);
    if secrets.is_empty() {
        assert_eq!(out, text);
        return;
    }
    assert!(secret.chars().count() >= MIN_CHARS);
    // Between a replacement and its neighbours the secret may appear to be formed again only if it shares characters with the marker.
    if !secret.contains(['[', ']']) && !REDACTED.contains(secret) {
        assert!(!out.contains(secret), "a secret is left");
        assert_eq!(out.as_bytes(), secrets.scrub_bytes(text.as_bytes()));
    }
    let line = text.lines().next().unwrap_or_default();
    let scrubbed = secrets.scrub_json_line(line);
    if let Ok(before) = serde_json::from_str::<Value>(line) {
        let after: Value = serde_json::from_str(&scrubbed).expect("JSON that is scrubbed stays JSON");
        assert_eq!(before.is_object(), after.is_object());
    }
});
