//! The text of one file, read within bounds, and places in it.
//!
//! A plugin's repository is hostile: a file may be huge, no text, a pipe that never ends or a directory. It must never be read whole before its
//! size is known.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::node::Span;

/// The most bytes of one configuration file.
pub(crate) const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The text of one document and the name that messages show for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) label: String,
    pub(crate) text: String,
}

/// Why a document could not be read or parsed at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) span: Option<Span>,
    pub(crate) hint: Option<String>,
    /// The text as far as it is known, for the position.
    pub(crate) text: String,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), span: None, hint: None, text: String::new() }
    }

    pub(crate) fn at(message: impl Into<String>, span: Span) -> Self {
        Self { span: Some(span), ..Self::new(message) }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// The lines and columns of a place, counted from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Source {
    /// Reads a file of the checkout around `cwd`, of at most [`MAX_BYTES`] bytes, as UTF-8, without its byte-order mark.
    pub(crate) fn read(cwd: &Path, path: &Path, label: impl Into<String>) -> Result<Self, Failure> {
        let bytes = read_bounded(&inside(cwd, path)?)?;
        let text = decode(bytes)?;
        Ok(Self { label: label.into(), text })
    }
}

/// The real path of a file, unless a link leads it out of the checkout: a message that shows a line of the file must not show one of
/// somebody else's. The checkout is the git top level, as for a bundle, else the working directory.
fn inside(cwd: &Path, path: &Path) -> Result<PathBuf, Failure> {
    let real = |path: &Path| path.canonicalize().map_err(|error| Failure::new(format!("cannot be read: {error}")));
    let (cwd, path) = (real(cwd)?, real(path)?);
    let root = cwd.ancestors().find(|directory| directory.join(".git").exists()).unwrap_or(&cwd);
    if path.starts_with(root) {
        return Ok(path);
    }
    let failure = Failure::new(format!("cannot be read: it is a link that leads out of {}", root.display()));
    Err(failure.with_hint("put the file itself there"))
}

fn read_bounded(path: &Path) -> Result<Vec<u8>, Failure> {
    let unreadable = |error: io::Error| Failure::new(format!("cannot be read: {error}"));
    let meta = std::fs::metadata(path).map_err(unreadable)?;
    if !meta.is_file() {
        return Err(Failure::new("cannot be read: it is not a regular file"));
    }
    if meta.len() > MAX_BYTES {
        return Err(too_large(meta.len()));
    }
    let mut bytes = Vec::new();
    // The file may grow after the check above.
    File::open(path).map_err(unreadable)?.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_BYTES { Err(too_large(bytes.len() as u64)) } else { Ok(bytes) }
}

fn too_large(bytes: u64) -> Failure {
    Failure::new(format!("the file has {bytes} bytes, more than the {MAX_BYTES} that a configuration file may have"))
}

fn decode(bytes: Vec<u8>) -> Result<String, Failure> {
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)),
        Err(error) => {
            let offset = error.utf8_error().valid_up_to();
            // Up to the bad byte the lossy text has the same offsets.
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            let failure = Failure::at(format!("invalid UTF-8 at byte {offset}"), Span::at(offset));
            Err(Failure { text, ..failure.with_hint("save the file as UTF-8") })
        }
    }
}

/// The place of a byte. An offset that is no boundary or lies behind the end counts as the next one before it.
pub(crate) fn position(text: &str, offset: usize) -> Position {
    let before = &text[..floor(text, offset)];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Position { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
}

/// The line that holds a byte, without its line break, and the byte at which it starts.
pub(crate) fn line_at(text: &str, offset: usize) -> (&str, usize) {
    let offset = floor(text, offset);
    let start = text[..offset].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[offset..].find('\n').map_or(text.len(), |newline| offset + newline);
    let line = &text[start..end];
    (line.strip_suffix('\r').unwrap_or(line), start)
}

fn floor(text: &str, offset: usize) -> usize {
    text.floor_char_boundary(offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_characters_from_one() {
        let text = "ä: 1\r\nb: ü\n";
        assert_eq!(position(text, 0), Position { line: 1, column: 1 });
        assert_eq!(position(text, 4), Position { line: 1, column: 4 });
        assert_eq!(position(text, 12), Position { line: 2, column: 5 });
        assert_eq!(position(text, 11), Position { line: 2, column: 4 });
        assert_eq!(position(text, 999), Position { line: 3, column: 1 });
        assert_eq!(line_at(text, 0), ("ä: 1", 0));
        assert_eq!(line_at(text, 9), ("b: ü", 7));
        assert_eq!(line_at(text, 999), ("", 13));
    }

    #[test]
    fn a_mark_at_the_start_is_no_content() {
        assert_eq!(decode("\u{feff}a: 1".as_bytes().to_vec()).unwrap(), "a: 1");
    }

    #[test]
    fn a_directory_is_an_error_and_not_a_panic() {
        let dir = tempfile::tempdir().unwrap();
        let failure = Source::read(dir.path(), dir.path(), "x").unwrap_err();
        assert_eq!(failure.message, "cannot be read: it is not a regular file");
    }

    #[test]
    fn a_link_may_stay_in_the_checkout_and_not_leave_it() {
        let dir = tempfile::tempdir().unwrap();
        let cwd = dir.path().join("checkout/plugin");
        std::fs::create_dir_all(&cwd).unwrap();
        std::fs::write(dir.path().join("secret"), "password: 1").unwrap();
        std::fs::write(dir.path().join("checkout/shared.yaml"), "a: 1").unwrap();
        std::os::unix::fs::symlink("../../secret", cwd.join("out.yaml")).unwrap();
        std::os::unix::fs::symlink("../shared.yaml", cwd.join("in.yaml")).unwrap();
        let read = |name: &str| Source::read(&cwd, &cwd.join(name), name);
        assert!(read("out.yaml").unwrap_err().message.contains("a link that leads out of"));
        assert!(read("in.yaml").is_err(), "without a repository the working directory is the checkout");
        std::fs::create_dir(dir.path().join("checkout/.git")).unwrap();
        assert_eq!(read("in.yaml").unwrap().text, "a: 1");
        assert!(read("out.yaml").is_err());
    }
}
