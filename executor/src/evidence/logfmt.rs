//! The host's log on standard error: logfmt, with quoted values, escapes and dotted keys, between lines that are none.

/// One log line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogLine {
    /// The line as it is.
    pub raw: String,
    /// Fields in order.
    pub fields: Vec<(String, String)>,
}

impl LogLine {
    /// The first value of a field.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.fields.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// Level, as written.
    #[must_use]
    pub fn level(&self) -> &str {
        self.get("level").unwrap_or_default()
    }

    /// Message: `message`, else `msg`.
    #[must_use]
    pub fn message(&self) -> &str {
        self.get("message").or_else(|| self.get("msg")).unwrap_or_default()
    }

    /// Whether the line reports an error.
    #[must_use]
    pub fn is_error(&self) -> bool {
        matches!(self.level(), "ERROR" | "FATAL")
    }
}

/// The log lines of a text: those with a level.
pub(super) fn parse(text: &str) -> Vec<LogLine> {
    text.lines().map(parse_line).filter(|line| !line.level().is_empty()).collect()
}

/// Takes a line apart; words without `=` are left out.
fn parse_line(raw: &str) -> LogLine {
    let mut fields = Vec::new();
    let mut rest = raw.trim_start();
    while !rest.is_empty() {
        let end = rest.find([' ', '\t', '=']).unwrap_or(rest.len());
        let (key, after) = rest.split_at(end);
        let Some(after) = after.strip_prefix('=') else {
            rest = after.trim_start();
            continue;
        };
        let (value, after) = after.strip_prefix('"').map_or_else(|| bare(after), quoted);
        if !key.is_empty() {
            fields.push((key.to_owned(), value));
        }
        rest = after.trim_start();
    }
    LogLine { raw: raw.to_owned(), fields }
}

fn bare(text: &str) -> (String, &str) {
    let end = text.find([' ', '\t']).unwrap_or(text.len());
    (text[..end].to_owned(), &text[end..])
}

/// A quoted value; one that never ends takes the rest of the line.
fn quoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, &text[at + 1..]),
            '\\' => match chars.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, 't')) => value.push('\t'),
                Some((_, 'r')) => value.push('\r'),
                Some((_, other)) => value.push(other),
                None => value.push('\\'),
            },
            other => value.push(other),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quotes_escapes_and_dotted_keys() {
        let line = parse_line(
            r#"timestamp=2026 level=ERROR message="failed to \"load\" plugin\nnow" error.error="AI: bad" plugin.id=x word tail="open"#,
        );
        assert_eq!(line.message(), "failed to \"load\" plugin\nnow");
        assert_eq!((line.get("error.error"), line.get("plugin.id"), line.get("tail")), (Some("AI: bad"), Some("x"), Some("open")));
        assert!(line.is_error());
        assert_eq!(line.get("word"), None);
    }

    #[test]
    fn msg_is_a_message_and_lines_without_a_level_are_none() {
        let lines = parse("level=WARN msg=hi\nplain words a=b\n\nlevel=INFO message=x");
        assert_eq!(lines.iter().map(LogLine::message).collect::<Vec<_>>(), ["hi", "x"]);
        assert!(!lines[0].is_error());
    }

    proptest! {
        #[test]
        fn no_line_panics(line in "\\PC{0,40}|[a-z=\"\\\\ ]{0,40}") {
            let _ = parse_line(&line);
        }

        #[test]
        fn a_quoted_value_comes_back(value in "[a-zäé \"\\\\=]{0,20}") {
            let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
            let line = parse_line(&format!("level=INFO message=\"{escaped}\" after=1"));
            prop_assert_eq!(line.message(), value);
            prop_assert_eq!(line.get("after"), Some("1"));
        }
    }
}
