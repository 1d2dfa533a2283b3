//! One thing that is wrong in a document, and the path to it. Collecting never stops at the first.

use std::fmt;

use super::node::Span;

/// A problem with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Issue {
    /// Dotted path of the value, array positions included; empty for the document itself.
    pub(crate) path: String,
    pub(crate) message: String,
    /// Where to look; `None` when the document has no text for it.
    pub(crate) span: Option<Span>,
    /// What to do about it.
    pub(crate) hint: Option<String>,
}

/// Everything that is wrong in one document.
#[derive(Debug, Default)]
pub(crate) struct Issues {
    list: Vec<Issue>,
}

impl Issues {
    pub(crate) fn push(&mut self, path: &Path<'_>, span: Span, message: impl Into<String>) -> &mut Issue {
        self.add(Issue { path: path.to_string(), message: message.into(), span: Some(span), hint: None })
    }

    pub(crate) fn add(&mut self, issue: Issue) -> &mut Issue {
        let index = self.list.len();
        self.list.push(issue);
        &mut self.list[index]
    }

    /// Replaces the hint of the newest problem.
    pub(crate) fn hint_last(&mut self, hint: impl Into<String>) {
        if let Some(issue) = self.list.last_mut() {
            issue.hint(hint);
        }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The problems in the order of the text.
    pub(crate) fn into_sorted(mut self) -> Vec<Issue> {
        self.list.sort_by_key(|issue| issue.span.unwrap_or_default().start);
        self.list
    }
}

impl Issue {
    pub(crate) fn hint(&mut self, hint: impl Into<String>) {
        self.hint = Some(hint.into());
    }
}

/// The way from the document's root to a value, as a list that grows on the stack.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Path<'a> {
    Root,
    Key(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

impl<'a> Path<'a> {
    pub(crate) const fn key(&'a self, key: &'a str) -> Self {
        Self::Key(self, key)
    }

    pub(crate) const fn index(&'a self, index: usize) -> Self {
        Self::Index(self, index)
    }

    fn write_separator(parent: &Path<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{parent}")?;
        if matches!(parent, Path::Root) { Ok(()) } else { f.write_str(".") }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Key(parent, key) => {
                Self::write_separator(parent, f)?;
                f.write_str(key)
            }
            Self::Index(parent, index) => {
                Self::write_separator(parent, f)?;
                write!(f, "{index}")
            }
        }
    }
}
