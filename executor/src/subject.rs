//! The subject: a plugin at an exact revision, as a bundle whose digest names its content, with the entry that the host would load.
//!
//! It reads and packs; it must never run anything of the plugin on this machine. What has to run is described as [`steps::PrepareSteps`]
//! for a container.

pub mod bundle;
pub mod entry;
pub mod manifest;
pub mod npm;
pub mod place;
pub mod steps;
pub mod tree;

pub use bundle::{Bundle, BundleError};
pub use entry::{EntryError, EntryInput, Rules};
pub use manifest::PackageJson;
pub use place::Place;
pub use tree::Tree;

/// The entries of a checkout as it lies on this machine, before any build.
///
/// # Errors
/// A [`place::PlaceError`], [`BundleError`] or [`EntryError`].
pub fn local_entries(
    working_directory: &std::path::Path,
    plugin: &ocsweep_proto::config::PluginConfig,
) -> Result<entry::Resolved, LocalError> {
    let place = place::locate(working_directory, &plugin.path)?;
    let options = bundle::BundleOptions { directory: place.directory.clone(), ..bundle::BundleOptions::default() };
    let bundle = bundle::scan_blocking(&place.root, &options)?;
    let root = place.root.display().to_string();
    let input = EntryInput {
        tree: &bundle.tree,
        directory: &place.directory,
        package: &bundle.package,
        entry: plugin.entry.as_deref(),
        ui: plugin.ui,
        rules: Rules::Path,
        shown_root: &root,
    };
    Ok(entry::resolve(input)?)
}

/// Why a checkout has no entries.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// The directories cannot be used.
    #[error(transparent)]
    Place(#[from] place::PlaceError),
    /// The files cannot be used.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// There is no entry.
    #[error(transparent)]
    Entry(#[from] EntryError),
}
