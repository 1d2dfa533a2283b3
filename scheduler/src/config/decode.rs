//! Decoders from a tree of values to plain types. Each returns what it understood and reports everything that it did not, so that one look
//! at a file shows all its problems.
//!
//! Wording follows the reference tool's validator, because people search for these texts.

use serde_json::{Map, Value};

use super::hints;
use super::issue::{Issues, Path};
use super::node::{Data, Member, Node, Span, to_map};

/// A decoder: `None` only after it reported why.
pub(crate) trait Decode<T>: Fn(&Node, &Path<'_>, &mut Issues) -> Option<T> {}
impl<T, F: Fn(&Node, &Path<'_>, &mut Issues) -> Option<T>> Decode<T> for F {}

/// The members of an object whose keys are all known.
pub(crate) struct Fields<'n, 'p, 'i> {
    node: &'n Node,
    path: &'p Path<'p>,
    issues: &'i mut Issues,
    known: Vec<&'static str>,
    removed: &'static [(&'static str, &'static str)],
}

impl<'n, 'p, 'i> Fields<'n, 'p, 'i> {
    /// Reports a value that is no object.
    pub(crate) fn open(node: &'n Node, path: &'p Path<'p>, issues: &'i mut Issues) -> Option<Self> {
        if !matches!(node.data, Data::Object(_)) {
            wrong_type(node, path, issues, "object");
            return None;
        }
        Some(Self { node, path, issues, known: Vec::new(), removed: &[] })
    }

    /// Reports a value that is no object, with a hint of the caller's.
    pub(crate) fn refuse(node: &Node, path: &Path<'_>, issues: &mut Issues, hint: String) {
        wrong_type(node, path, issues, "object");
        issues.hint_last(hint);
    }

    /// Keys that once existed, each with what to do instead.
    pub(crate) const fn removed(&mut self, keys: &'static [(&'static str, &'static str)]) {
        self.removed = keys;
    }

    /// A field that may be absent.
    pub(crate) fn optional<T>(&mut self, key: &'static str, decode: impl Decode<T>) -> Option<T> {
        self.known.push(key);
        let member = self.node.get(key)?;
        decode(&member.node, &self.path.key(key), self.issues)
    }

    /// A field that may not be absent.
    pub(crate) fn required<T>(&mut self, key: &'static str, what: &str, decode: impl Decode<T>) -> Option<T> {
        if self.node.get(key).is_none() {
            self.known.push(key);
            let message = format!("Invalid input: expected {what}, received undefined");
            self.issues.push(&self.path.key(key), head(self.node), message).hint(format!("add the key \"{key}\""));
            return None;
        }
        self.optional(key, decode)
    }

    /// Reports every key that nobody asked for.
    pub(crate) fn close(self) {
        for Member { key, key_span, .. } in self.node.members() {
            if self.known.contains(&key.as_str()) {
                continue;
            }
            let issue = self.issues.push(self.path, *key_span, format!("Unrecognized key: {key:?}"));
            issue.hint = match self.removed.iter().find(|(removed, _)| removed == key) {
                Some((_, instead)) => Some((*instead).to_owned()),
                None => hints::unknown_key(key, &self.known),
            };
        }
    }
}

/// Where an object begins, for a message about something that it lacks.
fn head(node: &Node) -> Span {
    node.members().first().map_or(Span::at(node.span.start), |member| member.key_span)
}

fn wrong_type(node: &Node, path: &Path<'_>, issues: &mut Issues, expected: &str) {
    let message = format!("Invalid input: expected {expected}, received {}", node.kind());
    issues.push(path, node.span, message).hint = hints::wrong_type(node, expected);
}

pub(crate) fn string(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<String> {
    let text = node.as_str().map(str::to_owned);
    if text.is_none() {
        wrong_type(node, path, issues, "string");
    }
    text
}

/// Text of at least one character.
pub(crate) fn non_empty(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<String> {
    let text = string(node, path, issues)?;
    if text.is_empty() {
        issues.push(path, node.span, "Too small: expected string to have >=1 characters");
        return None;
    }
    Some(text)
}

pub(crate) fn boolean(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<bool> {
    match node.data {
        Data::Bool(value) => Some(value),
        _ => {
            wrong_type(node, path, issues, "boolean");
            None
        }
    }
}

/// A whole number within bounds, of a type that holds all of them.
pub(crate) fn integer<T: TryFrom<i128>>(min: i128, max: i128) -> impl Decode<T> {
    move |node: &Node, path: &Path<'_>, issues: &mut Issues| {
        let Data::Number(number) = &node.data else {
            wrong_type(node, path, issues, "number");
            return None;
        };
        let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
        let message = match whole {
            None => "Invalid input: expected int, received number".to_owned(),
            Some(value) if value < min && min == 1 => "Too small: expected number to be >0".to_owned(),
            Some(value) if value < min => format!("Too small: expected number to be >={min}"),
            Some(value) if value > max => format!("Too big: expected number to be <={max}"),
            Some(value) => return T::try_from(value).ok(),
        };
        issues.push(path, node.span, message);
        None
    }
}

/// A number that is not negative.
pub(crate) fn amount(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<f64> {
    let Data::Number(number) = &node.data else {
        wrong_type(node, path, issues, "number");
        return None;
    };
    let value = number.as_f64().filter(|value| *value >= 0.0);
    if value.is_none() {
        issues.push(path, node.span, "Too small: expected number to be >=0");
    }
    value
}

/// One word of a closed list.
pub(crate) fn word<T: Copy>(words: &'static [(&'static str, T)]) -> impl Decode<T> {
    move |node: &Node, path: &Path<'_>, issues: &mut Issues| {
        let found = node.as_str().and_then(|text| words.iter().find(|(word, _)| *word == text));
        if found.is_none() {
            let listed: Vec<String> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
            let issue = issues.push(path, node.span, format!("Invalid option: expected one of {}", listed.join("|")));
            let names: Vec<&'static str> = words.iter().map(|(word, _)| *word).collect();
            issue.hint = node.as_str().map_or_else(|| hints::wrong_type(node, "word"), |text| hints::similar(text, &names));
        }
        found.map(|(_, value)| *value)
    }
}

/// A list; wrong elements are reported and left out.
pub(crate) fn list<T>(element: impl Decode<T>) -> impl Decode<Vec<T>> {
    move |node: &Node, path: &Path<'_>, issues: &mut Issues| {
        let Data::Array(items) = &node.data else {
            wrong_type(node, path, issues, "array");
            return None;
        };
        let items = items.iter().enumerate();
        Some(items.filter_map(|(index, item)| element(item, &path.index(index), issues)).collect())
    }
}

/// An object with keys of the author's own; wrong values are reported and left out.
pub(crate) fn map_of<T, M: FromIterator<(String, T)>>(value: impl Decode<T>) -> impl Decode<M> {
    move |node: &Node, path: &Path<'_>, issues: &mut Issues| {
        if !matches!(node.data, Data::Object(_)) {
            wrong_type(node, path, issues, "record");
            return None;
        }
        let members = node.members().iter();
        Some(
            members
                .filter_map(|member| value(&member.node, &path.key(&member.key), issues).map(|value| (member.key.clone(), value)))
                .collect(),
        )
    }
}

/// An object of any content.
pub(crate) fn any_object(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<Map<String, Value>> {
    if !matches!(node.data, Data::Object(_)) {
        wrong_type(node, path, issues, "record");
        return None;
    }
    Some(to_map(node.members()))
}

/// Anything.
pub(crate) fn any(node: &Node, _path: &Path<'_>, _issues: &mut Issues) -> Option<Value> {
    Some(node.to_value())
}
