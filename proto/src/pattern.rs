//! JavaScript regular expressions, as scenarios write them.
//!
//! The engine backtracks, as JavaScript's own does: a catastrophic pattern is slow in both, and it is the scenario author's own. A pattern
//! that cannot be compiled is an error of the scenario, never "no match".

use regress::{Flags, Regex};

/// Why a source is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid pattern /{pattern}/: {message}")]
pub struct PatternError {
    pattern: String,
    message: String,
}

/// A compiled pattern.
#[derive(Debug, Clone)]
pub struct Pattern(Regex);

/// The prefix that ignores case; JavaScript has no inline flags, so it is ours.
const IGNORE_CASE: &str = "(?i)";

/// Groups and alternatives of one pattern. The compiler recurses into each, and a thousand of them end the whole process.
const MAX_BRANCHES: usize = 256;

/// Compiles the source of a JavaScript regular expression; a leading `(?i)` ignores case.
///
/// # Errors
/// When the source is no regular expression.
pub fn compile(source: &str) -> Result<Pattern, PatternError> {
    let (body, icase) = match source.strip_prefix(IGNORE_CASE) {
        Some(rest) => (rest, true),
        None => (source, false),
    };
    if body.bytes().filter(|byte| matches!(byte, b'(' | b'|')).count() > MAX_BRANCHES {
        let message = format!("more than {MAX_BRANCHES} groups and alternatives");
        return Err(PatternError { pattern: source.chars().take(40).collect::<String>() + "…", message });
    }
    Regex::with_flags(body, Flags { icase, ..Flags::default() })
        .map(Pattern)
        .map_err(|error| PatternError { pattern: source.to_owned(), message: error.text })
}

impl Pattern {
    /// Whether the pattern matches anywhere in the text.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        self.0.find(text).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn javascript_syntax_is_understood() {
        for (source, text, expected) in [
            ("start\\s+end", "start\nend", true),
            ("^src/", "lib/src/", false),
            ("(?<=a)b", "ab", true),
            ("(?<!a)b", "ab", false),
            ("(?i)HELLO", "say hello", true),
            ("HELLO", "say hello", false),
            ("[^]x", "\nx", true),
            ("\\d+(?!\\d|px)", "12px", false),
            ("", "", true),
            ("ü{2}", "üü", true),
        ] {
            assert_eq!(compile(source).unwrap().is_match(text), expected, "/{source}/ on {text:?}");
        }
    }

    #[test]
    fn a_source_that_cannot_be_compiled_is_an_error() {
        for source in ["(", "[a", "a{2,1}", "(?i)(", "*", "a(?i)b"] {
            let error = compile(source).unwrap_err().to_string();
            assert!(error.starts_with(&format!("invalid pattern /{source}/: ")), "{error}");
        }
    }

    #[test]
    fn a_pattern_that_would_exhaust_the_stack_is_an_error() {
        for source in ["(".repeat(100_000), "a|".repeat(100_000), "(?:".repeat(257) + "a" + &")*".repeat(257)] {
            assert!(compile(&source).unwrap_err().to_string().ends_with("more than 256 groups and alternatives"));
        }
        assert!(compile(&("(".repeat(256) + "a" + &")".repeat(256))).is_ok());
    }

    proptest! {
        #[test]
        fn an_escaped_text_matches_itself(text in "\\PC{0,20}", around in "\\PC{0,5}") {
            let source: String = text.chars().map(|c| if "\\^$.*+?()[]{}|/".contains(c) { format!("\\{c}") } else { c.to_string() }).collect();
            let haystack = format!("{around}{text}{around}");
            prop_assert!(compile(&source).unwrap().is_match(&haystack));
        }

        #[test]
        fn no_source_panics(source in "\\PC{0,12}") {
            let _ = compile(&source);
        }
    }
}
