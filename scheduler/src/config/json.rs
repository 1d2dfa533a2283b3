//! JSON, and JSON with comments and trailing commas as the host reads it, to a tree of values with places.

use std::collections::HashMap;

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::{CollectOptions, ParseOptions};
use serde_json::Number;

use super::issue::{Issues, Path};
use super::node::{Data, Member, Node, Span, number};
use super::source::Failure;
use super::yaml::{MAX_DEPTH, duplicate};

/// How strictly to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// As the standard says.
    Json,
    /// Comments and trailing commas are allowed.
    Jsonc,
}

/// Parses one document; one without a value is `None` (JSONC only). Repeated keys go to `issues`.
pub(crate) fn parse(text: &str, dialect: Dialect, issues: &mut Issues) -> Result<Option<Node>, Failure> {
    let loose = dialect == Dialect::Jsonc;
    let options = ParseOptions {
        allow_comments: loose,
        allow_trailing_commas: loose,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &options).map_err(|error| {
        let message = error.kind().to_string();
        Failure::at(format!("invalid JSON: {}", lower_first(&message)), span(error.range()))
    })?;
    if dialect == Dialect::Json {
        strict(text)?;
    }
    let mut loader = Loader { text, issues };
    parsed.value.map(|value| loader.node(&value, 0, &Path::Root)).transpose()
}

/// The reference for what JSON is; the other parser is there for the places, and is more lenient here and there.
fn strict(text: &str) -> Result<(), Failure> {
    let Err(error) = serde_json::from_str::<serde_json::Value>(text) else {
        return Ok(());
    };
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
    let line_start = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
    let offset = line_start + error.column().saturating_sub(1);
    Err(Failure::at(format!("invalid JSON: {message}"), Span::at(offset)))
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

fn span(range: Range) -> Span {
    Span::new(range.start, range.end)
}

struct Loader<'t, 'i> {
    text: &'t str,
    issues: &'i mut Issues,
}

impl Loader<'_, '_> {
    fn node(&mut self, value: &Value<'_>, depth: usize, path: &Path<'_>) -> Result<Node, Failure> {
        let span = span(value.range());
        if depth >= MAX_DEPTH && matches!(value, Value::Array(_) | Value::Object(_)) {
            return Err(Failure::at(format!("values are nested deeper than {MAX_DEPTH} levels"), Span::at(span.start)));
        }
        let data = match value {
            Value::NullKeyword(_) => Data::Null,
            Value::BooleanLit(literal) => Data::Bool(literal.value),
            Value::NumberLit(literal) => Data::Number(parse_number(literal.value, span)?),
            Value::StringLit(literal) => Data::String(literal.value.clone().into_owned()),
            Value::Array(array) => {
                let items = array.elements.iter().enumerate();
                Data::Array(items.map(|(index, item)| self.node(item, depth + 1, &path.index(index))).collect::<Result<_, _>>()?)
            }
            Value::Object(object) => Data::Object(self.members(object, depth, path)?),
        };
        Ok(Node { data, span })
    }

    fn members(&mut self, object: &Object<'_>, depth: usize, path: &Path<'_>) -> Result<Vec<Member>, Failure> {
        let mut members: Vec<Member> = Vec::with_capacity(object.properties.len());
        let mut seen: HashMap<&str, Span> = HashMap::new();
        for property in &object.properties {
            let key = property.name.as_str();
            let key_span = span(property.name.range());
            let node = self.node(&property.value, depth + 1, &path.key(key))?;
            if let Some(first) = seen.get(key) {
                self.issues.add(duplicate(self.text, path, key, *first, key_span));
                continue;
            }
            seen.insert(key, key_span);
            members.push(Member { key: key.to_owned(), key_span, node });
        }
        Ok(members)
    }
}

fn parse_number(text: &str, span: Span) -> Result<Number, Failure> {
    let unusable = || Failure::at(format!("invalid JSON: the number {text} is out of range"), span);
    let parsed: Number = serde_json::from_str(text).map_err(|_| unusable())?;
    match parsed.as_f64() {
        Some(value) if parsed.is_f64() => number(value).ok_or_else(unusable),
        _ => Ok(parsed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str, dialect: Dialect) -> (Result<Option<Node>, Failure>, Vec<String>) {
        let mut issues = Issues::default();
        let node = parse(text, dialect, &mut issues);
        (node, issues.into_sorted().into_iter().map(|issue| format!("{}: {}", issue.path, issue.message)).collect())
    }

    #[test]
    fn a_repeated_key_is_found_at_any_depth() {
        let (_, issues) = read("{\"a\": [{\"b\": 1,\n \"b\": 2}]}", Dialect::Json);
        assert_eq!(issues, ["a.0: Duplicate key: \"b\", first defined on line 1, column 9"]);
    }

    #[test]
    fn json_is_strict_and_jsonc_takes_comments_and_trailing_commas() {
        for text in [
            "{\"a\": 1,}",
            "{} // x",
            "{'a': 1}",
            "{a: 1}",
            "[01]",
            "[+1]",
            "[.5]",
            "[0x1]",
            "[NaN]",
            "[\"\\x41\"]",
            "[\"\u{1}\"]",
            "",
            "{} {}",
            "[1e999]",
        ] {
            assert!(read(text, Dialect::Json).0.is_err(), "{text}");
        }
        for text in ["{\"a\": 1,}", "{} // x", "/* x */ [1,]", ""] {
            assert!(read(text, Dialect::Jsonc).0.is_ok(), "{text}");
        }
        for text in ["{'a': 1}", "{a: 1}", "[1 2]", "{\"a\": 1", "[+1]", "[1e999]"] {
            assert!(read(text, Dialect::Jsonc).0.is_err(), "{text}");
        }
    }

    #[test]
    fn the_place_of_a_syntax_error() {
        let failure = read("{\n  \"a\": tru\n}", Dialect::Json).0.unwrap_err();
        assert_eq!(failure.span.map(|span| span.start), Some(9));
    }

    #[test]
    fn deep_nesting_ends_in_an_error() {
        for depth in [65, 500, 100_000] {
            let text = "[".repeat(depth) + &"]".repeat(depth);
            assert!(read(&text, Dialect::Json).0.is_err(), "{depth}");
            assert!(read(&text, Dialect::Jsonc).0.is_err(), "{depth}");
        }
        assert!(read(&("[".repeat(64) + &"]".repeat(64)), Dialect::Json).0.is_ok());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(?s)[\\[\\]{}:,\"'/* 0-9a-e.+\\\\u\\-\\n]{0,60}|(?s).{0,60}") {
            let json = read(&text, Dialect::Json).0.is_ok();
            let jsonc = read(&text, Dialect::Jsonc).0.is_ok();
            prop_assert!(!json || jsonc);
            prop_assert!(!json || serde_json::from_str::<serde_json::Value>(&text).is_ok());
        }
    }
}
