//! What a v2 host without `--auto` tells people on standard error when it refuses a permission by itself.

/// A permission that the host refused because nobody was there to grant it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rejection {
    /// For example `shell`.
    pub action: String,
    /// For example `echo x`.
    pub resources: String,
}

/// The refusals in a text: `! permission requested: <action> (<resources>); auto-rejecting`, coloured or not.
pub(super) fn rejections(stderr: &str) -> Vec<Rejection> {
    stderr.lines().filter_map(|line| parse(&plain(line))).collect()
}

fn parse(line: &str) -> Option<Rejection> {
    let rest = line.trim().strip_prefix('!')?.trim_start().strip_prefix("permission requested: ")?;
    let rest = rest.strip_suffix("auto-rejecting")?.trim_end().strip_suffix(';')?;
    let (action, resources) = rest.split_once(" (").unwrap_or((rest, ""));
    let resources = resources.strip_suffix(')').unwrap_or(resources);
    Some(Rejection { action: action.to_owned(), resources: resources.to_owned() })
}

/// A line without the escape sequences that colour it.
fn plain(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            chars.by_ref().find(char::is_ascii_alphabetic);
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_read_between_other_lines() {
        let text = "level=INFO message=x\n\u{1b}[93m\u{1b}[1m! \u{1b}[0mpermission requested: shell (echo (x)); auto-rejecting\n\
                    ! permission requested: doom; auto-rejecting\n! permission requested: shell (x)\n";
        let found = rejections(text);
        assert_eq!(
            found.iter().map(|r| (r.action.as_str(), r.resources.as_str())).collect::<Vec<_>>(),
            [("shell", "echo (x)"), ("doom", "")]
        );
    }
}
