//! What can go wrong between us and a registry, and whose fault it is. The kind is decided where it happens, never by reading a text.

use std::path::PathBuf;

use ocsweep_proto::verdict::Reason;

/// An error of the registry client.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// npm's configuration cannot be used.
    #[error("{problem}")]
    Settings {
        /// What is wrong.
        problem: String,
    },
    /// The text is no package name.
    #[error("invalid package name {name:?}: {rule}")]
    BadName {
        /// The text.
        name: String,
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// The registry has no such package.
    #[error("package {package} is not in the registry {registry}")]
    NotFound {
        /// Its name.
        package: String,
        /// Address of the registry.
        registry: String,
    },
    /// The registry has the package, but not in this version.
    #[error("package {package} has no version {wanted}{}", nearest_text(.nearest))]
    NoSuchVersion {
        /// Its name.
        package: String,
        /// Version, range or tag.
        wanted: String,
        /// Versions that exist, closest first.
        nearest: Vec<String>,
    },
    /// No answer: name resolution, connection, certificate or time.
    #[error("cannot reach {url}: {problem}")]
    Unreachable {
        /// The address, without query.
        url: String,
        /// What failed.
        problem: String,
        /// The client's error, when there is one.
        source: Option<reqwest::Error>,
    },
    /// The registry answers that it cannot, or that we may not.
    #[error("{url} answered {status}")]
    Server {
        /// The address, without query.
        url: String,
        /// HTTP status.
        status: u16,
    },
    /// The bytes are not the ones that the registry announced.
    #[error("{package}@{version}: the downloaded bytes do not match the integrity hash {expected}")]
    Integrity {
        /// Package name.
        package: String,
        /// Version.
        version: String,
        /// The announced hash.
        expected: String,
    },
    /// An answer that cannot be understood, or is too large.
    #[error("{url} gave an answer that cannot be used: {problem}")]
    Malformed {
        /// The address, without query.
        url: String,
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

fn nearest_text(nearest: &[String]) -> String {
    if nearest.is_empty() { String::new() } else { format!(" (nearest: {})", nearest.join(", ")) }
}

impl RegistryError {
    /// The reason of a row that ends with this error.
    #[must_use]
    pub fn reason(&self) -> Reason {
        match self {
            Self::NotFound { .. } | Self::NoSuchVersion { .. } | Self::BadName { .. } => Reason::PackageNotFound,
            Self::Settings { .. } | Self::Unreachable { .. } | Self::Server { .. } => Reason::Registry,
            Self::Integrity { .. } | Self::Malformed { .. } => Reason::Registry,
            Self::Disk { source, .. } if source.kind() == std::io::ErrorKind::StorageFull => Reason::DiskFullHost,
            Self::Disk { .. } => Reason::Registry,
        }
    }

    /// Whether asking again can help.
    #[must_use]
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Server { status, .. } => *status >= 500 || *status == 429,
            _ => false,
        }
    }

    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Settings { .. } => "set npm_config_registry, or `registry=` in ~/.npmrc",
            Self::BadName { .. } => "write npm:<name> or npm:<name>@<version>",
            Self::NotFound { .. } => "check the name; a private package needs its scope's registry and token in .npmrc",
            Self::NoSuchVersion { .. } => "choose a version that exists",
            Self::Unreachable { .. } => {
                "check the network, the proxy and `npm config get registry`; a company's certificate goes into NODE_EXTRA_CA_CERTS"
            }
            Self::Server { status: 401 | 403, .. } => "the registry wants a token: `//host/:_authToken=` in .npmrc",
            Self::Server { .. } => "the registry is out of order or overloaded: try again later",
            Self::Integrity { .. } => "a proxy or mirror changes packages: compare with another registry",
            Self::Malformed { .. } => "check that `npm config get registry` names an npm registry",
            Self::Disk { .. } => "check the free space and the permissions of the cache directory",
        };
        Some(hint.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ocsweep_proto::verdict::Fault;

    #[test]
    fn a_missing_package_is_the_subjects_and_a_dead_registry_is_not() {
        let missing = RegistryError::NotFound { package: "x".into(), registry: "r".into() };
        let version =
            RegistryError::NoSuchVersion { package: "x".into(), wanted: "9".into(), nearest: vec!["1.0.0".into(), "2.0.0".into()] };
        assert_eq!(missing.reason().fault(), Fault::Subject);
        assert_eq!(version.reason().fault(), Fault::Subject);
        assert_eq!(version.to_string(), "package x has no version 9 (nearest: 1.0.0, 2.0.0)");
        let server = |status| RegistryError::Server { url: "u".into(), status };
        assert_eq!(server(503).reason().fault(), Fault::Infrastructure);
        assert!(server(503).is_transient() && server(429).is_transient() && !server(403).is_transient());
    }
}
