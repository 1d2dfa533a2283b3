//! YAML 1.2 to a tree of values with places. One document, unique keys, core schema; aliases are expanded within a budget.
//!
//! It must end quickly on every input: nesting, values and alias expansion are bounded before memory is spent.

use std::collections::HashMap;
use std::rc::Rc;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Span as EventSpan, StrInput, Tag};

use super::issue::{Issue, Issues, Path};
use super::node::{Data, Member, Node, Span};
use super::scalar;
use super::source::Failure;

/// Collections within collections.
pub(crate) const MAX_DEPTH: usize = 64;
/// Values of one document, expanded aliases included.
const MAX_NODES: usize = 200_000;
/// Bytes of text that anchors and aliases may repeat.
const MAX_ALIAS_BYTES: usize = 8 * 1024 * 1024;

/// Parses one document; an empty one is `None`. Repeated keys go to `issues`.
pub(crate) fn parse(text: &str, issues: &mut Issues) -> Result<Option<Node>, Failure> {
    // One more than the own bound, so that the own message is the one that is seen.
    let options = granit_parser::options! { flow_nesting_limit: MAX_DEPTH + 1, block_nesting_limit: MAX_DEPTH + 1 };
    let parser = Parser::new_from_str_with_options(text, options);
    Loader { text, parser, anchors: HashMap::new(), nodes: 0, alias_bytes: 0, issues }.document()
}

/// A value that aliases may repeat, and what a repetition costs.
struct Anchor {
    node: Rc<Node>,
    size: Size,
}

#[derive(Clone, Copy, Default)]
struct Size {
    nodes: usize,
    bytes: usize,
    /// Collections within collections, the outermost included.
    depth: usize,
}

struct Loader<'t, 'i> {
    text: &'t str,
    parser: Parser<'t, StrInput<'t>>,
    anchors: HashMap<usize, Anchor>,
    nodes: usize,
    alias_bytes: usize,
    issues: &'i mut Issues,
}

type Next<'t> = (Event<'t>, Span);

impl<'t> Loader<'t, '_> {
    fn document(mut self) -> Result<Option<Node>, Failure> {
        let mut root = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(root),
                Event::DocumentStart(..) if root.is_some() => {
                    return Err(
                        Failure::at("the file holds more than one document", span).with_hint("remove the line `---` and what follows")
                    );
                }
                Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd => {}
                event => root = Some(self.node(event, span, 0, &Path::Root)?),
            }
        }
    }

    fn next(&mut self) -> Result<Next<'t>, Failure> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => Ok((event, self.span(span))),
            Some(Err(error)) => Err(self.syntax(&error)),
            None => Err(Failure::new("the document ends too early")),
        }
    }

    fn node(&mut self, event: Event<'t>, span: Span, depth: usize, path: &Path<'_>) -> Result<Node, Failure> {
        self.count(1, span)?;
        if depth >= MAX_DEPTH && matches!(event, Event::SequenceStart(..) | Event::MappingStart(..)) {
            return Err(too_deep(span));
        }
        let anchor = event.anchor_id();
        let node = match event {
            Event::Alias(id) => return self.alias(id, span, depth),
            Event::Scalar(text, style, _, tag) => Node { data: scalar_data(&text, style, tag.as_deref(), span)?, span },
            Event::SequenceStart(_, _, tag) => {
                check_tag(tag.as_deref(), "seq", span)?;
                self.sequence(span, depth, path)?
            }
            Event::MappingStart(_, _, tag) => {
                check_tag(tag.as_deref(), "map", span)?;
                self.mapping(span, depth, path)?
            }
            _ => return Err(Failure::at("unexpected end of a value", span)),
        };
        if let Some(id) = anchor {
            let size = size_of(&node);
            self.charge(size, span)?;
            self.anchors.insert(id, Anchor { node: Rc::new(node.clone()), size });
        }
        Ok(node)
    }

    fn sequence(&mut self, span: Span, depth: usize, path: &Path<'_>) -> Result<Node, Failure> {
        let mut items = Vec::new();
        loop {
            let (event, at) = self.next()?;
            if matches!(event, Event::SequenceEnd) {
                return Ok(Node { data: Data::Array(items), span: Span::new(span.start, at.end.max(span.end)) });
            }
            let path = path.index(items.len());
            items.push(self.node(event, at, depth + 1, &path)?);
        }
    }

    fn mapping(&mut self, span: Span, depth: usize, path: &Path<'_>) -> Result<Node, Failure> {
        let mut members: Vec<Member> = Vec::new();
        let mut seen: HashMap<String, Span> = HashMap::new();
        loop {
            let (event, key_span) = self.next()?;
            let (key, is_plain) = match event {
                Event::MappingEnd => {
                    let start = members.first().map_or(span.start, |first| first.key_span.start.min(span.start));
                    return Ok(Node { data: Data::Object(members), span: Span::new(start, key_span.end.max(span.end)) });
                }
                Event::Scalar(text, style, id, _) => (self.key(text.into_owned(), key_span, id), style == ScalarStyle::Plain),
                Event::Alias(id) => (self.alias_key(id, key_span)?, false),
                _ => return Err(Failure::at("a key must be text, not a list or an object", key_span)),
            };
            let (event, at) = self.next()?;
            let node = self.node(event, at, depth + 1, &path.key(&key))?;
            if key == "<<" && is_plain {
                self.issues
                    .push(path, key_span, "merge keys (<<) are not supported")
                    .hint("write the keys out, or use an alias for a whole value");
            } else if let Some(first) = seen.get(&key) {
                self.issues.add(duplicate(self.text, path, &key, *first, key_span));
            } else {
                seen.insert(key.clone(), key_span);
                members.push(Member { key, key_span, node });
            }
        }
    }

    /// A key may carry an anchor of its own.
    fn key(&mut self, key: String, span: Span, anchor: usize) -> String {
        if anchor != 0 {
            let node = Node { data: Data::String(key.clone()), span };
            self.anchors.insert(anchor, Anchor { size: size_of(&node), node: Rc::new(node) });
        }
        key
    }

    fn alias_key(&self, id: usize, span: Span) -> Result<String, Failure> {
        let text = self.anchors.get(&id).and_then(|anchor| anchor.node.as_str());
        text.map(str::to_owned).ok_or_else(|| Failure::at("a key must be text, not a list or an object", span))
    }

    fn alias(&mut self, id: usize, span: Span, depth: usize) -> Result<Node, Failure> {
        let Some(anchor) = self.anchors.get(&id) else {
            return Err(Failure::at("the alias stands for a value that contains it", span));
        };
        let (node, size) = (Rc::clone(&anchor.node), anchor.size);
        if depth + size.depth > MAX_DEPTH {
            return Err(too_deep(span));
        }
        self.charge(size, span)?;
        Ok((*node).clone())
    }

    /// Pays for a copy before it is made.
    fn charge(&mut self, size: Size, span: Span) -> Result<(), Failure> {
        self.alias_bytes += size.bytes;
        if self.alias_bytes > MAX_ALIAS_BYTES {
            return Err(Failure::at(format!("aliases expand to more than {MAX_ALIAS_BYTES} bytes"), span));
        }
        self.count(size.nodes, span)
    }

    fn count(&mut self, nodes: usize, span: Span) -> Result<(), Failure> {
        self.nodes += nodes;
        if self.nodes <= MAX_NODES {
            return Ok(());
        }
        Err(Failure::at(format!("the document expands to more than {MAX_NODES} values"), span).with_hint("use fewer aliases (*name)"))
    }

    fn span(&self, span: EventSpan) -> Span {
        let bytes = |marker: granit_parser::Marker| marker.byte_offset().unwrap_or_else(|| self.offset(marker));
        Span::new(bytes(span.start), bytes(span.end))
    }

    /// The byte of a marker that knows only its character index.
    fn offset(&self, marker: granit_parser::Marker) -> usize {
        self.text.char_indices().nth(marker.index()).map_or(self.text.len(), |(offset, _)| offset)
    }

    fn syntax(&self, error: &ScanError) -> Failure {
        let marker = *error.marker();
        let span = Span::at(marker.byte_offset().unwrap_or_else(|| self.offset(marker)));
        if *error.kind() == ErrorKind::RecursionLimitExceeded {
            return too_deep(span);
        }
        let failure = Failure::at(format!("invalid YAML: {}", error.info()), span);
        match error.kind() {
            ErrorKind::TabInBlockIndentation | ErrorKind::TabInIndentation | ErrorKind::TabNotAllowed => {
                failure.with_hint("indent with spaces")
            }
            _ => failure,
        }
    }
}

fn too_deep(span: Span) -> Failure {
    Failure::at(format!("values are nested deeper than {MAX_DEPTH} levels"), span)
}

/// The problem of a key that is written twice in one object.
pub(crate) fn duplicate(text: &str, path: &Path<'_>, key: &str, first: Span, second: Span) -> Issue {
    let first = super::source::position(text, first.start);
    let message = format!("Duplicate key: {key:?}, first defined on line {}, column {}", first.line, first.column);
    Issue { path: path.to_string(), message, span: Some(second), hint: Some("keep one of the two".to_owned()) }
}

fn size_of(node: &Node) -> Size {
    let children: &mut dyn Iterator<Item = (&Node, usize)> = match &node.data {
        Data::Array(items) => &mut items.iter().map(|item| (item, 0)),
        Data::Object(members) => &mut members.iter().map(|member| (&member.node, member.key.len())),
        Data::String(text) => return Size { nodes: 1, bytes: text.len(), depth: 0 },
        Data::Null | Data::Bool(_) | Data::Number(_) => return Size { nodes: 1, bytes: 0, depth: 0 },
    };
    children.fold(Size { nodes: 1, bytes: 0, depth: 1 }, |sum, (child, key)| {
        let size = size_of(child);
        Size { nodes: sum.nodes + size.nodes, bytes: sum.bytes + size.bytes + key, depth: sum.depth.max(size.depth + 1) }
    })
}

fn scalar_data(text: &str, style: ScalarStyle, tag: Option<&Tag>, span: Span) -> Result<Data, Failure> {
    let not_finite =
        || Failure::at(format!("the number {text} has no JSON form"), span).with_hint(format!("if it is meant as text, write \"{text}\""));
    let kind = match tag {
        None if style == ScalarStyle::Plain => return scalar::plain(text).ok_or_else(not_finite),
        None => return Ok(Data::String(text.to_owned())),
        Some(tag) if tag.original() == "!" => return Ok(Data::String(text.to_owned())),
        Some(tag) => tag.core_suffix().ok_or_else(|| unsupported(tag, span))?,
    };
    let data = scalar::plain(text).ok_or_else(not_finite)?;
    let fits = match (kind, &data) {
        ("str", _) => return Ok(Data::String(text.to_owned())),
        ("null", Data::Null) | ("bool", Data::Bool(_)) | ("float", Data::Number(_)) => true,
        ("int", Data::Number(number)) => !number.is_f64(),
        _ => false,
    };
    if fits { Ok(data) } else { Err(Failure::at(format!("the tag !!{kind} does not fit the value {text:?}"), span)) }
}

fn check_tag(tag: Option<&Tag>, kind: &str, span: Span) -> Result<(), Failure> {
    match tag {
        Some(tag) if tag.core_suffix() != Some(kind) && tag.original() != "!" => Err(unsupported(tag, span)),
        _ => Ok(()),
    }
}

fn unsupported(tag: &Tag, span: Span) -> Failure {
    Failure::at(format!("the tag {} is not supported", tag.original()), span)
}

#[cfg(test)]
mod tests;
