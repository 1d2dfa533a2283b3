//! Makes hostile text harmless: for Markdown (with HTML, links, mentions and tables), for a terminal, and for XML.
//!
//! One mechanism for Markdown: a code span that the text cannot leave. In it nothing is markup, a link, a mention or a reference, and the text
//! stays readable byte for byte.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What an absent value looks like.
pub(super) const NONE: &str = "—";

/// Shows what cannot be seen: control characters (a terminal obeys them), direction marks (they reorder a line), and other invisible ones.
pub(super) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if is_invisible(character) {
            out.extend(character.escape_unicode());
        } else {
            out.push(character);
        }
    }
    out
}

fn is_invisible(character: char) -> bool {
    let code = u32::from(character);
    character.is_control()
        || matches!(code, 0xAD | 0x061C | 0x180E | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F | 0xFEFF | 0xFFF9..=0xFFFB | 0xE0000..=0xE0FFF)
}

/// One visible line of at most `max` characters; line ends and tabs become blanks, and a cut ends in `…`.
pub(super) fn one_line(text: &str, max: usize) -> String {
    let mut line = String::new();
    // Cut first: a text of megabytes costs no more than what is shown.
    let mut characters = text.trim().chars();
    for character in characters.by_ref().take(max) {
        if matches!(character, '\n' | '\r' | '\t' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}') {
            if !line.ends_with(' ') {
                line.push(' ');
            }
        } else {
            line.push(character);
        }
    }
    if characters.next().is_some() {
        line.pop();
        line.push('…');
    }
    visible(&line)
}

/// A text as a Markdown code span on one line.
pub(super) fn code(text: &str, max: usize) -> String {
    let line = one_line(text, max);
    if line.trim().is_empty() {
        return NONE.to_owned();
    }
    let ticks = "`".repeat(longest_run(&line, '`') + 1);
    // One blank on both sides belongs to the span; without it a backtick at the end would join the delimiter.
    let touches = line.starts_with(['`', ' ']) || line.ends_with(['`', ' ']);
    if touches { format!("{ticks} {line} {ticks}") } else { format!("{ticks}{line}{ticks}") }
}

/// A code span for a table's cell, in which a bar would end the cell even inside of the span.
pub(super) fn code_cell(text: &str, max: usize) -> String {
    escape_bars(&code(text, max))
}

/// A bar behind a backslash is no border, unless that backslash is escaped itself; so an odd number of them stands before each bar.
fn escape_bars(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut backslashes = 0;
    for character in text.chars() {
        if character == '|' {
            out.push_str(if backslashes % 2 == 0 { "\\" } else { "\\\\" });
        }
        backslashes = if character == '\\' { backslashes + 1 } else { 0 };
        out.push(character);
    }
    out
}

/// A short text inside a line of Markdown: as it is when no character of it can mean anything, else a code span.
pub(super) fn plain(text: &str, max: usize) -> String {
    let line = one_line(text, max);
    if is_plain(&line) { line } else { code_cell(text, max) }
}

fn is_plain(text: &str) -> bool {
    let characters: Vec<char> = text.chars().collect();
    let at = |index: Option<usize>| index.and_then(|index| characters.get(index)).copied().unwrap_or(' ');
    let harmless = characters.iter().enumerate().all(|(index, &character)| {
        let (before, after) = (at(index.checked_sub(1)), at(index.checked_add(1)));
        match character {
            '.' | ',' | ';' | '(' | ')' | '\'' | '"' | '/' | '+' | '-' | '%' | '=' | '?' | '…' | ' ' => true,
            // Neither a scheme nor an emoji.
            ':' => after == ' ' || (before.is_ascii_digit() && after.is_ascii_digit()),
            // No emphasis inside a word.
            '_' => before.is_alphanumeric() && after.is_alphanumeric(),
            // No formula before a price.
            '$' => after.is_ascii_digit(),
            other => other.is_alphanumeric(),
        }
    });
    harmless
        && characters.first().is_some_and(|first| first.is_alphanumeric() || *first == '(')
        && !text.to_ascii_lowercase().contains("www.")
}

/// A block of text, fenced by more backticks than it holds, indented by two blanks to stay inside a list item. A cut is said in its last
/// line.
pub(super) fn fenced(text: &str, max_lines: usize, max_characters: usize) -> String {
    let text = text.trim_end();
    let kept: String = text.chars().take(max_characters).collect();
    let unified = kept.replace("\r\n", "\n").replace(['\r', '\u{85}', '\u{2028}', '\u{2029}'], "\n").replace('\t', "    ");
    let mut lines: Vec<String> = unified.split('\n').take(max_lines).map(visible).collect();
    if kept.len() < text.len() || unified.split('\n').count() > max_lines {
        lines.push("… (cut)".to_owned());
    }
    let ticks = "`".repeat(lines.iter().map(|line| longest_run(line, '`') + 1).max().unwrap_or(0).max(3));
    let mut out = format!("  {ticks}text\n");
    for line in &lines {
        if !line.trim().is_empty() {
            out.push_str("  ");
            out.push_str(line);
        }
        out.push('\n');
    }
    out.push_str(&format!("  {ticks}\n"));
    out
}

fn longest_run(text: &str, of: char) -> usize {
    let (mut longest, mut run) = (0, 0);
    for character in text.chars() {
        run = if character == of { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// At most `width` columns of a terminal; a cut ends in `…`.
pub(super) fn fit(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for character in text.chars() {
        let columns = character.width().unwrap_or(0);
        if used + columns + 1 > width {
            break;
        }
        used += columns;
        out.push(character);
    }
    if width > 0 {
        out.push('…');
    }
    out
}

/// The text with blanks behind it up to `width` columns of a terminal.
pub(super) fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

/// Lines for an XML 1.0 document, which may not hold control characters even as references: those are removed. Other invisible characters
/// are shown.
pub(super) fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t' | '\n' | '\r' => out.push(character),
            ' '..='\u{fffd}' | '\u{10000}'.. if is_invisible(character) => out.extend(character.escape_unicode()),
            ' '..='\u{fffd}' | '\u{10000}'.. => out.push(character),
            _ => {}
        }
    }
    out
}
