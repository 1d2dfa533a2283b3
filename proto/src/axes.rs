//! The axes of the matrix: tiers, host lines, host version words, flavours. Parsing only; resolving a word needs the network and lives elsewhere.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is asked of a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Does it load at all?
    Load,
    /// Does it do what a scripted conversation expects?
    Scripted,
    /// Does it do so with a real model?
    Live,
}

impl Tier {
    /// Every tier, in the order in which they run.
    pub const ALL: [Self; 3] = [Self::Load, Self::Scripted, Self::Live];

    /// The word used on the command line and in files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Scripted => "scripted",
            Self::Live => "live",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A generation of the host program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Line {
    /// npm package `opencode-ai`, versions 1.x.
    V1,
    /// npm package `@opencode/cli`, versions 2.x.
    V2,
}

impl Line {
    /// The npm package whose dist-tags name the line's versions.
    #[must_use]
    pub const fn package(self) -> &'static str {
        match self {
            Self::V1 => "opencode-ai",
            Self::V2 => "@opencode/cli",
        }
    }

    /// `v1` or `v2`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
        }
    }
}

/// Which build of the host binary runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Flavour {
    /// For systems with glibc.
    #[default]
    Glibc,
    /// For systems with musl libc; needs an image of such a system.
    Musl,
    /// For glibc and processors without AVX2.
    Baseline,
}

impl Flavour {
    /// The word used in files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Glibc => "glibc",
            Self::Musl => "musl",
            Self::Baseline => "baseline",
        }
    }
}

/// How the host's JavaScript engine is tuned: a profile that saves CPU and changes no semantics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Jit {
    /// Without the optimising compiler and with one collector thread: a short run takes a fifth less CPU, heavy computation gets slower.
    #[default]
    Reduced,
    /// As the host is shipped.
    Full,
}

impl Jit {
    /// The word used in files and on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reduced => "reduced",
            Self::Full => "full",
        }
    }
}

/// What keeps a case apart from the machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// A fresh container of the Docker engine.
    #[default]
    Docker,
    /// Processes of this machine behind as many namespaces as the kernel allows; only for the user's own checkout.
    Process,
}

impl Isolation {
    /// The word used on the command line and in files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Process => "process",
        }
    }
}

/// A host version as a person writes it. It becomes a path segment, so the grammar is closed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("pattern" = r"^(\d+\.\d+\.\d+|latest|v1|v2)$"))]
pub enum VersionWord {
    /// An exact `x.y.z`.
    Exact(String),
    /// The newest of the subject's line.
    Latest,
    /// The newest of a line.
    Line(Line),
}

/// The text shown for a version that is none.
pub const VERSION_RULE: &str = r#"must be semver (x.y.z) or "latest", "v1", "v2""#;

impl VersionWord {
    /// The line that the word itself decides; `latest` leaves it to the subject, and so does a major version that is no line.
    #[must_use]
    pub fn line(&self) -> Option<Line> {
        match self {
            Self::Exact(version) if version.starts_with("1.") => Some(Line::V1),
            Self::Exact(version) if version.starts_with("2.") => Some(Line::V2),
            Self::Exact(_) | Self::Latest => None,
            Self::Line(line) => Some(*line),
        }
    }
}

impl FromStr for VersionWord {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "latest" => Ok(Self::Latest),
            "v1" => Ok(Self::Line(Line::V1)),
            "v2" => Ok(Self::Line(Line::V2)),
            other if is_exact(other) => Ok(Self::Exact(other.to_owned())),
            _ => Err(VERSION_RULE.to_owned()),
        }
    }
}

fn is_exact(word: &str) -> bool {
    let parts: Vec<&str> = word.split('.').collect();
    parts.len() == 3 && parts.iter().all(|part| (1..=9).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit()))
}

impl TryFrom<String> for VersionWord {
    type Error = String;

    fn try_from(word: String) -> Result<Self, Self::Error> {
        word.parse()
    }
}

impl From<VersionWord> for String {
    fn from(word: VersionWord) -> Self {
        word.to_string()
    }
}

impl fmt::Display for VersionWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(version) => f.write_str(version),
            Self::Latest => f.write_str("latest"),
            Self::Line(line) => f.write_str(line.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_and_lines() {
        for (word, line) in [
            ("1.18.33", Some(Line::V1)),
            ("2.0.26", Some(Line::V2)),
            ("3.0.0", None),
            ("latest", None),
            ("v1", Some(Line::V1)),
            ("v2", Some(Line::V2)),
        ] {
            assert_eq!(word.parse::<VersionWord>().unwrap().line(), line, "{word}");
        }
    }

    #[test]
    fn path_syntax_is_no_version() {
        for word in ["../..", "1.2", "1.2.3.4", "v3", "", "1.2.x", "1.2.3-beta", "1.2.3/..", "１.2.3", "1..3", "Latest"] {
            assert!(word.parse::<VersionWord>().is_err(), "{word}");
        }
    }

    proptest! {
        #[test]
        fn an_accepted_word_is_a_safe_path_segment(word in ".{0,12}") {
            if let Ok(parsed) = word.parse::<VersionWord>() {
                prop_assert!(!word.contains('/') && !word.contains('\\') && !word.starts_with('.'));
                prop_assert_eq!(parsed.to_string(), word);
            }
        }
    }
}
