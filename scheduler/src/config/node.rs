//! The tree of a configuration document, whatever its syntax: values with the place where each was written.
//!
//! It knows nothing of files, YAML, JSON or what a value means.

use serde_json::{Map, Number, Value};

/// A range of bytes of the document's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Span {
    pub(crate) const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// An empty range.
    pub(crate) const fn at(offset: usize) -> Self {
        Self { start: offset, end: offset }
    }
}

/// A value and its place. An alias keeps the place of the value that it stands for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) data: Data,
    pub(crate) span: Span,
}

/// The JSON data model; a YAML document is reduced to it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Data {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    Array(Vec<Node>),
    Object(Vec<Member>),
}

/// One key of an object. Keys are unique: a repeated one is reported and dropped while loading.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Member {
    pub(crate) key: String,
    pub(crate) key_span: Span,
    pub(crate) node: Node,
}

impl Node {
    /// The kind of value, in the words of error messages.
    pub(crate) const fn kind(&self) -> &'static str {
        match self.data {
            Data::Null => "null",
            Data::Bool(_) => "boolean",
            Data::Number(_) => "number",
            Data::String(_) => "string",
            Data::Array(_) => "array",
            Data::Object(_) => "object",
        }
    }

    /// The member of an object; `None` for every other kind.
    pub(crate) fn get(&self, key: &str) -> Option<&Member> {
        self.members().iter().find(|member| member.key == key)
    }

    /// The members of an object; empty for every other kind.
    pub(crate) fn members(&self) -> &[Member] {
        match &self.data {
            Data::Object(members) => members,
            _ => &[],
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match &self.data {
            Data::String(text) => Some(text),
            _ => None,
        }
    }

    /// The value without places.
    pub(crate) fn to_value(&self) -> Value {
        match &self.data {
            Data::Null => Value::Null,
            Data::Bool(value) => Value::Bool(*value),
            Data::Number(number) => Value::Number(number.clone()),
            Data::String(text) => Value::String(text.clone()),
            Data::Array(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            Data::Object(members) => Value::Object(to_map(members)),
        }
    }
}

/// Members as a JSON object.
pub(crate) fn to_map(members: &[Member]) -> Map<String, Value> {
    members.iter().map(|member| (member.key.clone(), member.node.to_value())).collect()
}

/// A number as JavaScript knows it: `1.0` is `1`, and an integer that no 64-bit type holds is a float. `None` when it is not finite.
pub(crate) fn number(value: f64) -> Option<Number> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "an integral value up to 2^53 is exact in i64")]
        return Some(Number::from(value as i64));
    }
    Number::from_f64(value)
}
