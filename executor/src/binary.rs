//! Host binaries: which version a word means, the platform package that holds it, and a cache of verified binaries.
//!
//! It must never run a binary on this machine, and never hand out one whose bytes were not checked.

use std::path::PathBuf;

use ocsweep_proto::axes::{Flavour, Line, VersionWord};
use ocsweep_proto::digest::Digest;
use ocsweep_proto::verdict::Reason;

use crate::registry::{Registry, RegistryError};

pub mod archive;
pub mod cache;
pub mod gc;

pub use cache::BinaryCache;

/// A version that a word was resolved to, once for each run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostVersion {
    /// The word that was asked for; results key on it.
    pub requested: String,
    /// The exact version.
    pub resolved: String,
    /// Its line.
    pub line: Line,
}

/// The processor that binaries are for: the container engine's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arch {
    /// `x86_64`.
    X64,
    /// `aarch64`.
    Arm64,
}

impl Arch {
    /// The architecture that an engine or kernel calls `x86_64`, `amd64`, `aarch64` or `arm64`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "x86_64" | "amd64" | "x64" => Some(Self::X64),
            "aarch64" | "arm64" => Some(Self::Arm64),
            _ => None,
        }
    }
}

/// What a binary is built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Platform {
    /// The processor.
    pub arch: Arch,
    /// The C library, and what is asked of the processor.
    pub flavour: Flavour,
}

impl Platform {
    /// The end of the name of its package, for either line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match (self.arch, self.flavour) {
            (Arch::X64, Flavour::Glibc) => "linux-x64",
            (Arch::X64, Flavour::Musl) => "linux-x64-musl",
            (Arch::X64, Flavour::Baseline) => "linux-x64-baseline",
            (Arch::Arm64, Flavour::Glibc) => "linux-arm64",
            (Arch::Arm64, Flavour::Musl) => "linux-arm64-musl",
            (Arch::Arm64, Flavour::Baseline) => "linux-arm64-baseline",
        }
    }
}

/// A binary in the cache, or the one of `OPENCODE_BIN`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostBinary {
    /// The file.
    pub path: PathBuf,
    /// Digest of its content.
    pub digest: Digest,
    /// Its size.
    pub bytes: u64,
    /// Platform package and integrity hash that it came from; `None` for `OPENCODE_BIN`.
    pub origin: Option<Origin>,
}

/// Where a binary came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The platform package.
    pub package: String,
    /// The registry's integrity hash of the tarball.
    pub integrity: String,
}

/// Why a host binary cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum BinaryError {
    /// The version belongs to no line.
    #[error("opencode {version} belongs to no known line (1.x is v1, 2.x is v2)")]
    NoLine {
        /// The version.
        version: String,
    },
    /// The registry does not tell what the word means.
    #[error("cannot resolve opencode version {word:?}")]
    Resolve {
        /// The word.
        word: String,
        /// Why.
        source: RegistryError,
    },
    /// The binary cannot be downloaded.
    #[error("cannot fetch opencode {version}")]
    Fetch {
        /// The exact version.
        version: String,
        /// Why.
        source: RegistryError,
    },
    /// The package has no binary for the platform.
    #[error("opencode {version} has no package for {platform}; it has: {}", offered.join(", "))]
    NoPlatform {
        /// The exact version.
        version: String,
        /// Wanted platform.
        platform: &'static str,
        /// The platform packages that exist.
        offered: Vec<String>,
    },
    /// The tarball does not hold a usable binary.
    #[error("the package {package} holds no usable binary")]
    Archive {
        /// The platform package.
        package: String,
        /// Why.
        source: archive::ArchiveError,
    },
    /// `OPENCODE_BIN` names a file that cannot be used.
    #[error("OPENCODE_BIN {}: {problem}", path.display())]
    Override {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A local file cannot be written or read.
    #[error("{doing} {}", path.display())]
    Disk {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

impl BinaryError {
    /// The reason of a row that has no binary. None of them is the subject's fault.
    #[must_use]
    pub fn reason(&self) -> Reason {
        match self {
            Self::Disk { source, .. } if source.kind() == std::io::ErrorKind::StorageFull => Reason::DiskFullHost,
            _ => Reason::Registry,
        }
    }

    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Resolve { source, .. } | Self::Fetch { source, .. } => source.hint(),
            Self::NoLine { .. } => Some("use a version 1.x.y or 2.x.y, or one of latest, v1, v2".to_owned()),
            Self::Override { .. } => Some("point OPENCODE_BIN at the opencode program itself, or unset it".to_owned()),
            Self::Disk { .. } => Some("check the free space and the permissions of the cache directory, or set XDG_CACHE_HOME".to_owned()),
            Self::NoPlatform { .. } | Self::Archive { .. } => None,
        }
    }
}

/// What a version word means for a subject of the given line. An exact version is taken as it is; whether it exists shows when it is
/// fetched. The other words are the tag `latest` of the line's package.
///
/// # Errors
/// When the version belongs to no line, or the registry does not answer.
pub async fn resolve(registry: &Registry, word: &VersionWord, subject_line: Line) -> Result<HostVersion, BinaryError> {
    let requested = word.to_string();
    if let VersionWord::Exact(version) = word {
        return exact(version);
    }
    let line = word.line().unwrap_or(subject_line);
    let release = registry.lookup(line.package(), None).await.map_err(|source| BinaryError::Resolve { word: requested.clone(), source })?;
    Ok(HostVersion { requested, resolved: release.version, line })
}

/// The host version of an exact `x.y.z`, without a network.
///
/// # Errors
/// When the version belongs to no line.
pub fn exact(version: &str) -> Result<HostVersion, BinaryError> {
    let word = VersionWord::Exact(version.to_owned());
    let line = word.line().ok_or_else(|| BinaryError::NoLine { version: version.to_owned() })?;
    Ok(HostVersion { requested: version.to_owned(), resolved: version.to_owned(), line })
}

/// Whether the output of `--version` fits a word: the version as a whole word, with or without `v`. Words that are no exact version accept
/// any output.
#[must_use]
pub fn version_matches(output: &str, word: &VersionWord) -> bool {
    let VersionWord::Exact(version) = word else { return true };
    let is_separator = |c: char| !(c.is_alphanumeric() || matches!(c, '.' | '-' | '+' | '_'));
    output.split(is_separator).map(|token| token.trim_end_matches('.')).any(|token| token.strip_prefix('v').unwrap_or(token) == version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::testing::{Reply, TestServer};
    use serde_json::json;

    #[test]
    fn versions_as_whole_words() {
        let word: VersionWord = "1.18.33".parse().unwrap();
        for output in ["1.18.33", "v1.18.33\n", "opencode v1.18.33", "opencode/1.18.33 linux", "version 1.18.33."] {
            assert!(version_matches(output, &word), "{output}");
        }
        for output in ["", "1.18.3", "1.18.334", "11.18.33", "1.18.33-beta", "1.18.33.1", "x1.18.33", "1.18.33+dirty"] {
            assert!(!version_matches(output, &word), "{output}");
        }
        for any in ["latest", "v1", "v2"] {
            assert!(version_matches("anything", &any.parse().unwrap()), "{any}");
        }
    }

    #[tokio::test]
    async fn words_become_versions() {
        let server = TestServer::start().await;
        server.publish("opencode-ai", &["1.0.0", "1.2.0"], &json!({}), b"x");
        server.publish("@opencode/cli", &["2.1.0"], &json!({}), b"x");
        let registry = server.client();
        let cases = [
            ("latest", Line::V1, "1.2.0", Line::V1),
            ("latest", Line::V2, "2.1.0", Line::V2),
            ("v1", Line::V2, "1.2.0", Line::V1),
            ("v2", Line::V1, "2.1.0", Line::V2),
            ("1.9.9", Line::V2, "1.9.9", Line::V1),
        ];
        for (word, subject, resolved, line) in cases {
            let host = resolve(&registry, &word.parse().unwrap(), subject).await.unwrap();
            assert_eq!((host.requested.as_str(), host.resolved.as_str(), host.line), (word, resolved, line));
        }
        assert!(matches!(resolve(&registry, &"3.0.0".parse().unwrap(), Line::V1).await, Err(BinaryError::NoLine { .. })));
        server.route("/opencode-ai", &[Reply::Status(500)]);
        let error = resolve(&registry, &"v1".parse().unwrap(), Line::V1).await.unwrap_err();
        assert_eq!(error.to_string(), "cannot resolve opencode version \"v1\"");
        assert_eq!(error.reason(), Reason::Registry);
    }
}
