//! How values and texts of hostile origin are shown: cut, and without anything that a terminal or a log reader would obey.

use ocsweep_proto::agent::paths;
use serde_json::Value;

use super::LIST_CAP;

/// Characters of a value in a message.
const VALUE_CHARS: usize = 300;
/// Characters of a whole message.
const MESSAGE_CHARS: usize = 2000;

/// A value as JSON, cut with an ellipsis.
pub(super) fn value(value: &Value) -> String {
    cut(&value.to_string(), VALUE_CHARS)
}

/// A text as JSON, cut with an ellipsis.
pub(super) fn quoted(text: &str) -> String {
    value(&Value::String(text.to_owned()))
}

/// A text, cut with an ellipsis.
pub(super) fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// A text without control characters and invisible marks, and of bounded length.
pub(super) fn safe(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(MESSAGE_CHARS * 4));
    for (count, c) in text.chars().enumerate() {
        if count == MESSAGE_CHARS {
            out.push('…');
            break;
        }
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || is_invisible(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// Marks that reorder or hide text.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Texts made safe, each once, at most 50.
pub(super) fn capped(texts: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    let mut more = 0;
    for text in texts {
        let text = safe(&text);
        if kept.contains(&text) {
            continue;
        }
        if kept.len() < LIST_CAP {
            kept.push(text);
        } else {
            more += 1;
        }
    }
    if more > 0 {
        kept.push(format!("… and {more} more."));
    }
    kept
}

/// The first entries of a list of names, joined, and how many follow.
pub(super) fn list(names: &[String], most: usize) -> String {
    let shown: Vec<&str> = names.iter().take(most).map(String::as_str).collect();
    let rest = names.len().saturating_sub(most);
    if rest == 0 { shown.join(", ") } else { format!("{} and {rest} more", shown.join(", ")) }
}

/// A text in which paths of the bundle are relative to it.
pub(super) fn in_bundle(text: &str) -> String {
    let bundle = format!("{}/", paths::BUNDLE);
    text.replace(&format!("file://{bundle}"), "").replace(&bundle, "")
}

/// The first place of a stack that lies in the bundle, as `file:line:column`.
pub(super) fn place_in_bundle(stack: &str) -> Option<String> {
    let at = stack.find(paths::BUNDLE)?;
    let rest = stack[at + paths::BUNDLE.len()..].trim_start_matches('/');
    let end = rest.find([')', '\n']).unwrap_or(rest.len());
    let place = rest[..end].trim_end();
    (!place.is_empty()).then(|| cut(place, VALUE_CHARS))
}

/// The first lines of a thrown error: its class, unless it is the plain one, and its message.
pub(super) fn thrown(name: &str, message: &str) -> String {
    let head = match name {
        "" | "Error" => String::new(),
        name => format!("{name}: "),
    };
    let message = if message.trim().is_empty() { "unknown error" } else { message.trim() };
    let lines: Vec<&str> = message.lines().take(3).map(str::trim_end).collect();
    in_bundle(&format!("{head}{}", lines.join(" / ")))
}

/// `a` or `an` before a type's name.
pub(super) fn article(kind: &str) -> String {
    match kind {
        "undefined" | "null" => kind.to_owned(),
        kind if kind.starts_with(['a', 'e', 'i', 'o', 'u']) => format!("an {kind}"),
        kind => format!("a {kind}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn values_are_cut_at_300_characters() {
        assert_eq!(value(&json!({"a": [1, null]})), r#"{"a":[1,null]}"#);
        let shown = value(&json!("ä".repeat(400)));
        assert_eq!(shown.chars().count(), 301);
        assert!(shown.ends_with('…'));
        assert_eq!(value(&json!("x".repeat(298))).chars().count(), 300);
    }

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        assert_eq!(safe("a\x1b[31mred\u{202e}\n\t\u{9b}x"), "a\\u{1b}[31mred\\u{202e}\\n\\t\\u{9b}x");
    }

    #[test]
    fn places_and_paths_are_relative_to_the_bundle() {
        let stack = "Error: x\n    at f (/run/ocsweep/assets/observer.mjs:1:1)\n    at g (/opt/ocsweep/bundle/src/a b.js:3:7)\n";
        assert_eq!(place_in_bundle(stack).as_deref(), Some("src/a b.js:3:7"));
        assert_eq!(place_in_bundle("at f (/run/x.js:1:1)"), None);
        assert_eq!(in_bundle("open 'file:///opt/ocsweep/bundle/a' /opt/ocsweep/bundle/b"), "open 'a' b");
    }

    #[test]
    fn lists_say_what_they_leave_out() {
        let texts: Vec<String> = (0..60).map(|n| format!("w{n}")).chain(["w1".to_owned()]).collect();
        let kept = capped(texts);
        assert_eq!((kept.len(), kept[50].as_str()), (51, "… and 10 more."));
        assert_eq!(list(&["a".into(), "b".into(), "c".into()], 2), "a, b and 1 more");
    }

    proptest! {
        #[test]
        fn a_safe_text_is_safe_and_stays_so(text in any::<String>()) {
            let once = safe(&text);
            prop_assert!(once.chars().all(|c| !c.is_control()));
            prop_assert_eq!(safe(&once), once);
        }
    }
}
