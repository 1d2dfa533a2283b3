//! Code Mode: a host may offer one tool, `execute`, and list the others as JavaScript call paths in its system text. This module reads
//! that catalog and turns a scripted tool call into code.
//!
//! A catalog is cut when it grows beyond its budget: its namespaces are still listed, with how many of their tools are shown. A tool that is
//! not shown is called by the path that its namespace and name give.
//!
//! Pure text work. It must never decide whether a call *should* be wrapped: the stub knows which tools a request offers directly.

use serde_json::{Map, Value};

/// A line of the catalog: `tools.ns["my-tool"]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallPath {
    text: String,
    segments: Vec<String>,
}

impl CallPath {
    /// The path as it is written in the catalog, `tools` included.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The segments after `tools`; never empty.
    #[must_use]
    pub fn segments(&self) -> &[String] {
        &self.segments
    }

    /// The segments joined by `_`.
    #[must_use]
    pub fn joined(&self) -> String {
        self.segments.join("_")
    }

    /// The last segment.
    #[must_use]
    pub fn last(&self) -> &str {
        self.segments.last().map_or("", String::as_str)
    }

    /// How well a name fits; lower is better.
    fn rank(&self, name: &str, parsed: Option<&[String]>) -> Option<u8> {
        if self.text == name || parsed == Some(&self.segments[..]) {
            Some(0)
        } else if self.joined() == name || self.segments.join(".") == name {
            Some(1)
        } else {
            (self.last() == name).then_some(2)
        }
    }
}

/// The call paths of a system text, in order: list items that begin with `tools`, at least one `.identifier` or `["…"]`, and `(`.
#[must_use]
pub fn catalog(system: &str) -> Vec<CallPath> {
    system.lines().filter_map(|line| parse(line.trim_start().strip_prefix("- ")?.trim_start(), true)).collect()
}

/// Every form by which a tool of the catalog may be named: full path, last segment, segments joined by `_`. In order, without repetition.
#[must_use]
pub fn catalog_names(system: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for path in catalog(system) {
        for name in [path.text.clone(), path.last().to_owned(), path.joined()] {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// The code that calls a tool, or `None` when the catalog does not have it. A full path wins over joined segments, those over a last
/// segment; among equals the first line wins.
#[must_use]
pub fn wrap(name: &str, arguments: &Map<String, Value>, catalog: &[CallPath]) -> Option<String> {
    let parsed = parse(name, false).map(|path| path.segments);
    let ranked = catalog.iter().filter_map(|path| Some((path.rank(name, parsed.as_deref())?, path)));
    let (_, path) = ranked.min_by_key(|(rank, _)| *rank)?;
    let arguments = serde_json::to_string(arguments).ok()?;
    Some(format!("return await {}({arguments})", path.text))
}

/// The code that calls a tool which a cut catalog does not show, or `None` when no namespace with hidden tools fits. The host's name for it is
/// the namespace, `_` and the name; a longer namespace wins.
#[must_use]
pub fn wrap_hidden(name: &str, arguments: &Map<String, Value>, text: &str) -> Option<String> {
    let plain = parse(name, false).map_or_else(|| name.to_owned(), |path| path.segments.join("."));
    let hidden = text.lines().filter_map(namespace).filter(|namespace| namespace.hides);
    let fits = hidden.filter_map(|namespace| Some((namespace.name, namespace.rest(&plain)?)));
    let (namespace, rest) = fits.max_by_key(|(namespace, _)| namespace.len())?;
    let segments = namespace.split('.').chain((!rest.is_empty()).then_some(rest));
    let path: String = std::iter::once("tools".to_owned()).chain(segments.map(written)).collect();
    Some(format!("return await {path}({})", serde_json::to_string(arguments).ok()?))
}

/// A segment as it is written behind the one before.
fn written(segment: &str) -> String {
    match identifier(segment) {
        Some((_, "")) => format!(".{segment}"),
        _ => format!("[{}]", Value::from(segment)),
    }
}

/// The heading of a namespace: `- my_ns (3 tools, 1 shown) // description`.
struct Namespace<'a> {
    name: &'a str,
    /// Not all of its tools are listed.
    hides: bool,
}

fn namespace(line: &str) -> Option<Namespace<'_>> {
    let (name, rest) = line.trim_start().strip_prefix("- ")?.split_once(" (")?;
    let (count, _) = rest.split_once(')')?;
    let (tools, shown) = count.split_once(", ").map_or((count, None), |(tools, shown)| (tools, Some(shown)));
    let (number, word) = tools.split_once(' ')?;
    let is_heading = number.parse::<u64>().is_ok() && matches!(word, "tool" | "tools") && !name.contains(char::is_whitespace);
    let hides = shown.and_then(|shown| shown.strip_suffix(" shown")).is_some_and(|shown| shown != number);
    is_heading.then_some(Namespace { name, hides })
}

impl Namespace<'_> {
    /// What of a tool's name follows the namespace: nothing when a tool without a namespace has a heading of its own.
    fn rest<'n>(&self, name: &'n str) -> Option<&'n str> {
        let rest = name.strip_prefix(self.name).or_else(|| name.strip_prefix(self.name.replace('.', "_").as_str()))?;
        if rest.is_empty() { Some(rest) } else { rest.strip_prefix(['.', '_']).filter(|rest| !rest.is_empty()) }
    }
}

/// Reads a path that begins with `tools`. A call must go on with `(`, a bare path must end.
fn parse(text: &str, call: bool) -> Option<CallPath> {
    let mut rest = text.strip_prefix("tools")?;
    let mut segments = Vec::new();
    loop {
        let (segment, tail) = match rest.chars().next() {
            Some('.') => identifier(&rest[1..])?,
            Some('[') => quoted(&rest[1..])?,
            Some('(') if call => break,
            None if !call => break,
            _ => return None,
        };
        segments.push(segment);
        rest = tail;
    }
    let text = text[..text.len() - rest.len()].to_owned();
    (!segments.is_empty()).then_some(CallPath { text, segments })
}

fn identifier(text: &str) -> Option<(String, &str)> {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let starts_well = name.chars().next().is_some_and(|c| !c.is_numeric());
    starts_well.then(|| (name.to_owned(), rest))
}

/// `"…"]` or `'…']`, with the escapes of a JavaScript string that a name can need.
fn quoted(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut name = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => name.push(chars.next()?.1),
            c if c == quote => return Some((name, text[at + 1..].strip_prefix(']')?)),
            c => name.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests;
