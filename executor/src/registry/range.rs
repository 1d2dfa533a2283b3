//! Version ranges as npm writes them, over the `semver` crate. Pure. Cargo reads `1.2` as `^1.2`, npm as `1.2.x`; npm also has `||`,
//! hyphen ranges and blanks between comparators.

use semver::{Version, VersionReq};

/// A range of versions: alternatives of comparators that must all hold.
#[derive(Debug, Clone)]
pub struct Range(Vec<VersionReq>);

impl Range {
    /// Reads a range. `None` when it is none, for example a tag.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        text.split("||").map(|part| alternative(part.trim())).collect::<Option<Vec<_>>>().map(Self)
    }

    /// Whether a version is in the range. A prerelease is only when a comparator names one of the same triple, as in npm.
    #[must_use]
    pub fn contains(&self, version: &Version) -> bool {
        self.0.iter().any(|req| req.matches(version))
    }
}

/// Whether an exact version is in an npm range; `None` when either text cannot be read.
#[must_use]
pub fn satisfies(version: &str, range: &str) -> Option<bool> {
    let version = Version::parse(version.trim_start_matches('v')).ok()?;
    Some(Range::parse(range)?.contains(&version))
}

fn alternative(text: &str) -> Option<VersionReq> {
    if let Some((from, to)) = text.split_once(" - ") {
        return VersionReq::parse(&format!(">={}, <={}", bare(from)?, bare(to)?)).ok();
    }
    let comparators: Vec<String> = join_operators(text).iter().map(|word| comparator(word)).collect::<Option<_>>()?;
    let wanted: Vec<String> = comparators.into_iter().filter(|word| word != "*").collect();
    if wanted.is_empty() { Some(VersionReq::STAR) } else { VersionReq::parse(&wanted.join(", ")).ok() }
}

/// Words of an alternative; an operator that stands alone belongs to the next word.
fn join_operators(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(last) if last.chars().all(|c| "<>=~^".contains(c)) => last.push_str(word),
            _ => words.push(word.to_owned()),
        }
    }
    words
}

fn comparator(word: &str) -> Option<String> {
    let digits = word.find(|c: char| !"<>=~^".contains(c)).unwrap_or(word.len());
    let (operator, version) = word.split_at(digits);
    let version = bare(version)?;
    if version == "*" {
        return Some("*".to_owned());
    }
    match operator {
        "" | "=" => Some(format!("={version}")),
        "~>" => Some(format!("~{version}")),
        ">" | "<" | ">=" | "<=" | "~" | "^" => Some(format!("{operator}{version}")),
        _ => None,
    }
}

/// A version without `v` and without its trailing `x` parts; `*` for one that has nothing else.
fn bare(text: &str) -> Option<String> {
    let text = text.trim().trim_start_matches(['v', '=']);
    if text.is_empty() {
        return Some("*".to_owned());
    }
    let parts: Vec<&str> = text.splitn(3, '.').take_while(|part| !matches!(*part, "x" | "X" | "*")).collect();
    let valid = text.bytes().all(|b| b.is_ascii_alphanumeric() || b".-+*".contains(&b));
    let numeric = parts.first().is_none_or(|first| first.bytes().all(|b| b.is_ascii_digit()));
    (valid && numeric).then(|| if parts.is_empty() { "*".to_owned() } else { parts.join(".") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_npm() {
        let cases = [
            ("1.2.3", "1.2.3", Some(true)),
            ("1.2.3", "1.2.4", Some(false)),
            ("1.2", "1.2.9", Some(true)),
            ("1.2", "1.3.0", Some(false)),
            ("1.x", "1.9.0", Some(true)),
            ("1.2.*", "1.3.0", Some(false)),
            ("*", "3.0.0", Some(true)),
            ("", "3.0.0", Some(true)),
            ("x", "3.0.0", Some(true)),
            ("^0.4.1", "0.5.0", Some(false)),
            ("~1.2.3", "1.2.9", Some(true)),
            ("~>1.2.3", "1.3.0", Some(false)),
            (">=1.0.0 <2.0.0", "1.18.33", Some(true)),
            (">= 1.0.0 < 2", "2.0.0", Some(false)),
            (">1.2", "1.2.9", Some(false)),
            ("1.0.0 - 1.5", "1.5.9", Some(true)),
            ("1.0.0 - 1.5", "1.6.0", Some(false)),
            ("^1 || ^3", "3.1.0", Some(true)),
            ("^1 || ^3", "2.1.0", Some(false)),
            (">=2", "2.0.0-beta.1", Some(false)),
            ("2.0.0-beta.1", "2.0.0-beta.1", Some(true)),
            ("=v1.0.0", "1.0.0", Some(true)),
            ("latest", "1.0.0", None),
            ("beta", "1.0.0", None),
            ("git+https://x", "1.0.0", None),
            ("1.0.0", "not", None),
        ];
        for (range, version, expected) in cases {
            assert_eq!(satisfies(version, range), expected, "{range} {version}");
        }
    }
}
