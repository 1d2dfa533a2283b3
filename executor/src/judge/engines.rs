//! npm version ranges, as far as `engines.opencode` uses them.

use semver::{Version, VersionReq};

/// Whether a range admits a version; `None` when either cannot be read.
pub(super) fn admits(range: &str, version: &str) -> Option<bool> {
    let version = Version::parse(version).ok()?;
    let alternatives: Vec<VersionReq> = range.split("||").map(alternative).collect::<Option<_>>()?;
    Some(alternatives.iter().any(|requirement| requirement.matches(&version)))
}

/// One alternative of a range: comparators that all must hold, divided by blanks where the parser wants commas.
fn alternative(text: &str) -> Option<VersionReq> {
    let text = text.trim();
    if matches!(text, "" | "*" | "x" | "X" | "latest") {
        return Some(VersionReq::STAR);
    }
    if let Some((low, high)) = text.split_once(" - ") {
        return VersionReq::parse(&format!(">={}, <={}", low.trim(), high.trim())).ok();
    }
    let mut comparators: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match comparators.last_mut().filter(|last| last.chars().all(|c| "<>=^~".contains(c))) {
            Some(operator) => operator.push_str(word),
            None => comparators.push(word.to_owned()),
        }
    }
    // A bare version is exact for npm and a caret range for the parser.
    let exact = |word: String| {
        let full = word.starts_with(|c: char| c.is_ascii_digit()) && Version::parse(&word).is_ok();
        if full { format!("={word}") } else { word }
    };
    let bare = |word: String| word.strip_prefix('v').map_or(word.clone(), str::to_owned);
    VersionReq::parse(&comparators.into_iter().map(bare).map(exact).map(partial).collect::<Vec<_>>().join(", ")).ok()
}

/// `1.2` and `1` mean `1.2.x` and `1.x.x` for npm.
fn partial(word: String) -> String {
    let bare = word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if bare { format!("{word}.*") } else { word }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_as_npm_reads_them() {
        for (range, version, expected) in [
            ("*", "1.18.33", Some(true)),
            ("", "1.18.33", Some(true)),
            (">=1.0.0", "1.18.33", Some(true)),
            (">= 1.0.0 < 2", "1.18.33", Some(true)),
            (">=2.0.0", "1.18.33", Some(false)),
            ("^1.2.0 || ^2.0.0", "2.0.26", Some(true)),
            ("^1.2.0 || ^2.0.0", "3.0.0", Some(false)),
            ("1.18.33", "1.18.33", Some(true)),
            ("1.18.33", "1.18.34", Some(false)),
            ("1.18", "1.18.34", Some(true)),
            ("1.17", "1.18.34", Some(false)),
            ("1.x", "1.18.34", Some(true)),
            ("1.0.0 - 1.18.0", "1.18.34", Some(false)),
            ("~1.18.0", "1.18.34", Some(true)),
            ("v1.18.33", "1.18.33", Some(true)),
            ("whatever you like", "1.18.33", None),
            (">=1", "not a version", None),
        ] {
            assert_eq!(admits(range, version), expected, "{range} and {version}");
        }
    }
}
