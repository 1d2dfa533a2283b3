//! Where a checkout lies: the root of its bundle and the plugin's directory in it. Looks at the disk, changes nothing.

use std::path::{Path, PathBuf};

/// A checkout on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Root of the bundle, without links.
    pub root: PathBuf,
    /// The plugin's directory relative to the root, with forward slashes; empty for the root itself.
    pub directory: String,
    /// A finding that the user should see even when nothing else comes of the checkout.
    pub warning: Option<String>,
}

/// Why a checkout cannot be used. All are configuration errors.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// A directory cannot be found.
    #[error("{what} {} cannot be used", path.display())]
    Unusable {
        /// `working directory` or `plugin.path`.
        what: &'static str,
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// `plugin.path` leaves the root.
    #[error("plugin.path {given:?} leads to {}, which is outside of {}", path.display(), root.display())]
    Outside {
        /// As it was given.
        given: String,
        /// Where it leads.
        path: PathBuf,
        /// The root.
        root: PathBuf,
    },
    /// The name of a directory is no UTF-8.
    #[error("the path {} is not UTF-8", path.display())]
    NotUtf8 {
        /// The path.
        path: PathBuf,
    },
}

/// Finds the root and the plugin's directory: the root is the git top level of the working directory, else the working directory.
///
/// # Errors
/// See [`PlaceError`].
pub fn locate(working_directory: &Path, plugin_path: &str) -> Result<Place, PlaceError> {
    let real = |what, path: &Path| path.canonicalize().map_err(|source| PlaceError::Unusable { what, path: path.to_owned(), source });
    let working_directory = real("working directory", working_directory)?;
    let plugin = real("plugin.path", &working_directory.join(plugin_path))?;
    let root = git_top(&working_directory).unwrap_or(&working_directory).to_owned();
    let Ok(relative) = plugin.strip_prefix(&root) else {
        return Err(PlaceError::Outside { given: plugin_path.to_owned(), path: plugin, root });
    };
    let warning = plugin.is_file().then(|| "configured plugin path must be a directory".to_owned());
    let directory = relative.to_str().map(str::to_owned).ok_or_else(|| PlaceError::NotUtf8 { path: plugin.clone() })?;
    Ok(Place { root, directory, warning })
}

/// The nearest directory with a `.git`, which is a file in work trees and submodules.
fn git_top(directory: &Path) -> Option<&Path> {
    directory.ancestors().find(|candidate| candidate.join(".git").symlink_metadata().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn world() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("repo/pkg/hash#dir ü")).unwrap();
        fs::create_dir_all(top.join("other")).unwrap();
        (dir, top)
    }

    #[test]
    fn the_git_top_level_is_the_root() {
        let (_dir, top) = world();
        let here = || locate(&top.join("repo/pkg"), "hash#dir ü").unwrap();
        assert_eq!(here(), Place { root: top.join("repo/pkg"), directory: "hash#dir ü".to_owned(), warning: None });
        fs::write(top.join("repo/.git"), "gitdir: elsewhere").unwrap();
        assert_eq!(here(), Place { root: top.join("repo"), directory: "pkg/hash#dir ü".to_owned(), warning: None });
        fs::create_dir(top.join("repo/pkg/.git")).unwrap();
        assert_eq!(
            locate(&top.join("repo/pkg"), ".").unwrap(),
            Place { root: top.join("repo/pkg"), directory: String::new(), warning: None }
        );
    }

    #[test]
    fn a_file_is_no_plugin_directory() {
        let (_dir, top) = world();
        fs::write(top.join("repo/plugin.ts"), "").unwrap();
        let place = locate(&top.join("repo"), "plugin.ts").unwrap();
        assert_eq!(place.warning.as_deref(), Some("configured plugin path must be a directory"));
    }

    #[test]
    fn the_plugin_must_be_inside() {
        let (_dir, top) = world();
        let error = locate(&top.join("repo/pkg"), "../../other").unwrap_err();
        assert!(matches!(error, PlaceError::Outside { .. }), "{error}");
        std::os::unix::fs::symlink(top.join("other"), top.join("repo/pkg/sly")).unwrap();
        assert!(matches!(locate(&top.join("repo/pkg"), "sly"), Err(PlaceError::Outside { .. })));
        let error = locate(&top.join("repo/pkg"), "none").unwrap_err();
        assert!(error.to_string().starts_with("plugin.path "), "{error}");
    }
}
