//! Bundles: everything that a case gets to see of a subject, packed the same way wherever it comes from, under a digest of its content.
//!
//! Times, owners and the order of a directory never reach the digest. Nothing is ever unpacked on this machine: what comes out of a
//! container is read from its archive and rewritten from scratch.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use ocsweep_proto::digest::{Builder, Digest};
use ocsweep_proto::verdict::Reason;

use super::manifest::PackageJson;
use super::tree::{self, Node, Target, Tree};

mod contents;
mod native;
mod read;
mod rules;
mod scan;
mod write;

pub use read::scan_tar;
pub use scan::{scan, scan_blocking};
pub(crate) use write::header;
pub use write::write_tar;

use contents::Item;

/// How a bundle is made.
#[derive(Debug, Clone, Default)]
pub struct BundleOptions {
    /// The plugin's directory relative to the root, whose `package.json` is read on the way.
    pub directory: String,
    /// Further paths that stay out, relative to the root, for example an output directory.
    pub exclude: Vec<String>,
    /// Whether to look for packages whose install scripts did not run.
    pub scripts_were_skipped: bool,
    /// How much a bundle may hold.
    pub caps: BundleCaps,
}

/// How much a bundle may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BundleCaps {
    /// Bytes of all files together.
    pub bytes: u64,
    /// Files, directories and links.
    pub entries: usize,
}

impl Default for BundleCaps {
    fn default() -> Self {
        Self { bytes: 2 * 1024 * 1024 * 1024, entries: 1_000_000 }
    }
}

/// A subject's content.
#[derive(Debug, Clone)]
pub struct Bundle {
    /// Names the content: sorted paths, the executable bit, contents, targets of links.
    pub digest: Digest,
    /// Bytes of all files together.
    pub bytes: u64,
    /// Every path.
    pub tree: Tree,
    /// The plugin's `package.json`.
    pub package: PackageJson,
    /// Findings for the load row.
    pub warnings: Vec<String>,
    items: BTreeMap<Vec<u8>, Item>,
    source: Source,
}

/// Where the contents of files are.
#[derive(Debug, Clone)]
enum Source {
    /// In a directory of this machine.
    Disk(PathBuf),
    /// In one file, each at its own offset.
    Spool(Arc<File>),
}

/// Why a bundle cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// A file or directory cannot be read.
    #[error("cannot read {path}")]
    Unreadable {
        /// Relative to the root.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// A link leaves the root, or never ends.
    #[error("the symbolic link {path} -> {target} {problem}")]
    BadLink {
        /// Relative to the root.
        path: String,
        /// As it is written.
        target: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// More bytes than allowed.
    #[error("the plugin and what lies beside it have more than {limit} bytes{}", largest_text(.largest.as_ref()))]
    TooLarge {
        /// The limit.
        limit: u64,
        /// The largest part with its bytes.
        largest: Option<(String, u64)>,
    },
    /// More entries than allowed.
    #[error("there are more than {limit} files and directories")]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// A file is another one than a moment ago.
    #[error("{path} changed while it was packed")]
    Changed {
        /// Relative to the root.
        path: String,
    },
    /// An archive holds something that no bundle may hold.
    #[error("the archive entry {path} is refused: {problem}")]
    Refused {
        /// As the archive names it.
        path: String,
        /// The rule.
        problem: &'static str,
    },
    /// An archive cannot be read.
    #[error("the archive cannot be read")]
    Archive {
        /// The error.
        source: std::io::Error,
    },
    /// A local file or stream cannot be written.
    #[error("cannot write the bundle")]
    Write {
        /// The system's error.
        source: std::io::Error,
    },
}

fn largest_text(largest: Option<&(String, u64)>) -> String {
    largest.map_or_else(String::new, |(path, bytes)| format!("; the largest part is {path} with {bytes}"))
}

impl BundleError {
    /// The reason of a row, for a bundle that comes out of a prepare container. For a checkout as the user has it, the error is one of
    /// configuration instead, unless it is the machine's.
    #[must_use]
    pub fn reason(&self) -> Reason {
        match self {
            Self::Write { source } if source.kind() == std::io::ErrorKind::StorageFull => Reason::DiskFullHost,
            Self::Archive { .. } | Self::Write { .. } => Reason::Docker,
            Self::Unreadable { .. } | Self::BadLink { .. } | Self::TooLarge { .. } => Reason::InstallFailed,
            Self::TooMany { .. } | Self::Changed { .. } | Self::Refused { .. } => Reason::InstallFailed,
        }
    }

    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::BadLink { .. } => {
                Some("a case sees nothing outside of the repository: install the target as a dependency, or remove the link")
            }
            Self::TooLarge { .. } | Self::TooMany { .. } => Some("remove what the plugin does not need, or move it out of the repository"),
            Self::Changed { .. } => Some("stop what writes there (a watcher, an editor) and run again"),
            Self::Unreadable { .. } => Some("check the permissions, or move the file out of the repository"),
            Self::Refused { .. } | Self::Archive { .. } | Self::Write { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests;
