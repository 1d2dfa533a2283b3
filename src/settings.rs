//! The environment variables and directories that ocsweep reads, in one place and through a seam, so that tests need no process
//! environment.

use std::path::PathBuf;

/// Where names come from: the process environment, or a table in tests.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Containers that are made ahead.
const WARM: usize = 1;
/// More of them would only take memory.
const MAX_WARM: usize = 8;

/// Everything that the environment decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `OPENCODE_BIN`: a host binary to use instead of a fetched one.
    pub opencode_bin: Option<PathBuf>,
    /// `OCSWEEP_AGENT`: the agent binary; by default the file `ocsweep-agent` beside the executable.
    pub agent: Option<PathBuf>,
    /// `XDG_CACHE_HOME/ocsweep`, else `~/.cache/ocsweep`: binaries and small state.
    pub cache: PathBuf,
    /// `OPENCODE_PLUGIN_CI_KEEP`: as `--keep`.
    pub keep: bool,
    /// `GITHUB_STEP_SUMMARY`: the report is appended to this file.
    pub step_summary: Option<PathBuf>,
    /// `OCSWEEP_WARM`: containers that are made ahead while others run; 1 unless set, 0 for none.
    pub warm: usize,
    /// `CI`: no moving progress.
    pub ci: bool,
}

impl Settings {
    /// Reads them all.
    #[must_use]
    pub fn read(lookup: Lookup<'_>) -> Self {
        let path = |name: &str| lookup(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = path("HOME").unwrap_or_else(|| PathBuf::from("/"));
        // A relative XDG directory is invalid by its own specification and is ignored.
        let cache = path("XDG_CACHE_HOME").filter(|cache| cache.is_absolute()).unwrap_or_else(|| home.join(".cache"));
        Self {
            opencode_bin: path("OPENCODE_BIN"),
            agent: path("OCSWEEP_AGENT"),
            cache: cache.join("ocsweep"),
            keep: lookup("OPENCODE_PLUGIN_CI_KEEP").is_some_and(|value| !matches!(value.as_str(), "" | "0" | "false")),
            step_summary: path("GITHUB_STEP_SUMMARY"),
            warm: lookup("OCSWEEP_WARM").and_then(|value| value.parse().ok()).map_or(WARM, |warm: usize| warm.min(MAX_WARM)),
            ci: lookup("CI").is_some_and(|value| !matches!(value.as_str(), "" | "0" | "false")),
        }
    }

    /// From the process environment.
    #[must_use]
    pub fn from_env() -> Self {
        Self::read(&|name| std::env::var(name).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(table: &[(&str, &str)]) -> Settings {
        Settings::read(&|name| table.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn cache_follows_xdg_when_it_is_absolute() {
        assert_eq!(settings(&[("HOME", "/h")]).cache, PathBuf::from("/h/.cache/ocsweep"));
        assert_eq!(settings(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")]).cache, PathBuf::from("/x/ocsweep"));
        assert_eq!(settings(&[("HOME", "/h"), ("XDG_CACHE_HOME", "x")]).cache, PathBuf::from("/h/.cache/ocsweep"));
    }

    #[test]
    fn empty_means_absent() {
        let read = settings(&[("OPENCODE_BIN", ""), ("OPENCODE_PLUGIN_CI_KEEP", "0"), ("CI", "true")]);
        assert_eq!((read.opencode_bin, read.keep, read.ci), (None, false, true));
    }
}
