//! Text of configuration errors: the message lines, then the place with its source line and a hint. Everything that comes from a file is
//! escaped.

use std::fmt::Write as _;

use super::issue::Issue;
use super::node::Span;
use super::source::{Failure, line_at, position};

/// Characters of a source line that are shown at most; a longer line is cut around the place.
const WINDOW: usize = 100;
/// Problems of one document that are listed at most; a hostile document could have a million.
const MAX_ISSUES: usize = 200;

/// The block of one document that could not be read or parsed.
pub(crate) fn failure(label: &str, failure: &Failure) -> String {
    let mut out = format!("Configuration error: {}: {}\n", escape(label), escape(&failure.message));
    place(&mut out, label, &failure.text, failure.span, failure.hint.as_deref());
    out
}

/// The block of one document with the problems of its content.
pub(crate) fn issues(label: &str, text: &str, issues: &[Issue]) -> String {
    let mut out = format!("Configuration error: {}: validation failed:\n", escape(label));
    for issue in issues.iter().take(MAX_ISSUES) {
        let _ = writeln!(out, "  - at \"{}\": {}", escape(&issue.path), escape(&issue.message));
        place(&mut out, label, text, issue.span, issue.hint.as_deref());
    }
    if issues.len() > MAX_ISSUES {
        let _ = writeln!(out, "  - and {} more problems", issues.len() - MAX_ISSUES);
    }
    out
}

fn place(out: &mut String, label: &str, text: &str, span: Option<Span>, hint: Option<&str>) {
    let mut width = 2;
    if let Some(span) = span {
        let at = position(text, span.start);
        width = at.line.to_string().len().max(width);
        let _ = writeln!(out, "  {:width$}--> {}:{}:{}", "", escape(label), at.line, at.column);
        let (shown, before, marked) = excerpt(text, span);
        if !shown.is_empty() {
            let _ = writeln!(out, "  {:width$} |", "");
            let _ = writeln!(out, "  {:>width$} | {shown}", at.line);
            let _ = writeln!(out, "  {:width$} | {:before$}{:^<marked$}", "", "", "");
        }
    }
    if let Some(hint) = hint {
        let _ = writeln!(out, "  {:width$} = help: {}", "", escape(hint));
    }
}

/// The line of a place as it is shown, the width before the place, and the width of the place within the line.
fn excerpt(text: &str, span: Span) -> (String, usize, usize) {
    let (line, start) = line_at(text, span.start);
    let from = line.floor_char_boundary(span.start.saturating_sub(start));
    let to = line.floor_char_boundary(span.end.saturating_sub(start)).max(from);
    let (before, marked, after) = (&line[..from], &line[from..to], &line[to..]);
    let before_chars = before.chars().count();
    let skip = if line.chars().count() > WINDOW { before_chars.saturating_sub(WINDOW / 2) } else { 0 };
    let lead: String = before.chars().skip(skip).collect();
    let mark: String = marked.chars().take(WINDOW / 2).collect();
    let tail: String = if mark.len() < marked.len() { String::new() } else { after.chars().take(WINDOW / 2).collect() };
    let cut_tail = mark.len() + tail.len() < marked.len() + after.len();
    let lead = format!("{}{}", if skip > 0 { "…" } else { "" }, escape(&lead));
    let mark = escape(&mark);
    let widths = (lead.chars().count(), mark.chars().count().max(1));
    let shown = format!("{lead}{mark}{}{}", escape(&tail), if cut_tail { "…" } else { "" });
    (shown.trim_end().to_owned(), widths.0, widths.1)
}

/// Text of a file or a name as it may be shown on a terminal: a tab is four blanks, control characters and characters that reorder or hide
/// text are escaped.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => out.push_str("    "),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() || is_deceptive(c) => {
                let _ = write!(out, "{}", c.escape_unicode());
            }
            c => out.push(c),
        }
    }
    out
}

const fn is_deceptive(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_place_is_marked_under_its_text() {
        let text = "expect:\n  tool: x\n";
        let issue = Issue {
            path: "expect".to_owned(),
            message: "Unrecognized key: \"tool\"".to_owned(),
            span: Some(Span::new(10, 14)),
            hint: Some("did you mean \"tools\"?".to_owned()),
        };
        let expected = "Configuration error: c.yaml: validation failed:\n  - at \"expect\": Unrecognized key: \"tool\"\n    --> c.yaml:2:3\n     |\n   2 |   tool: x\n     |   ^^^^\n     = help: did you mean \"tools\"?\n";
        assert_eq!(issues("c.yaml", text, &[issue]), expected);
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let text = format!("{}HERE{}", "a".repeat(500), "b".repeat(500));
        let (shown, before, marked) = excerpt(&text, Span::new(500, 504));
        assert_eq!(shown, format!("…{}HERE{}…", "a".repeat(50), "b".repeat(50)));
        assert_eq!((before, marked), (51, 4));
    }

    #[test]
    fn control_and_reordering_characters_are_escaped() {
        assert_eq!(escape("a\u{1b}[31m\u{202e}\tb\r\n\0"), "a\\u{1b}[31m\\u{202e}    b\\r\\n\\u{0}");
    }

    proptest! {
        #[test]
        fn any_place_of_any_text_can_be_shown(text in "(?s).{0,300}", start in 0usize..400, len in 0usize..50) {
            let issue = Issue { path: text.clone(), message: text.clone(), span: Some(Span::new(start, start + len)), hint: Some(text.clone()) };
            let shown = issues("f", &text, &[issue]);
            prop_assert!(!shown.chars().any(|c| (c.is_control() && c != '\n') || is_deceptive(c)));
            prop_assert!(shown.lines().count() <= 7);
        }
    }
}
