//! The npm registry: which one, with whose certificates and tokens, and how a package comes from it, verified.
//!
//! It must never name a registry of its own: the address comes from npm's configuration alone. It must never log or store a token, never
//! send one to a host that it was not configured for, and never hand out bytes whose integrity hash was not checked.

use std::collections::BTreeMap;
use std::path::PathBuf;

pub mod client;
pub mod discover;
pub mod error;
pub mod integrity;
pub mod name;
pub mod npmrc;
pub mod packument;
pub mod range;
pub mod settings;
#[cfg(test)]
pub(crate) mod testing;

pub use client::{Deadlines, Registry, Tarball};
pub use error::RegistryError;
pub use packument::{Packument, Release};
pub use settings::Settings;

/// The environment that settings are read from: a value, so that tests never touch the process.
#[derive(Debug, Clone, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// The environment of this process. Variables that are not UTF-8 are left out.
    #[must_use]
    pub fn of_process() -> Self {
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))).collect()
    }

    /// The value of a variable that is set and not empty.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The first of several variables that is set and not empty.
    #[must_use]
    pub fn first(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.get(name))
    }

    /// Every variable.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The home directory.
    #[must_use]
    pub fn home(&self) -> Option<PathBuf> {
        self.get("HOME").map(PathBuf::from)
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        Self(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}
