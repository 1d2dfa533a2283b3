//! A bundle while it is put together: one set of rules for what may be in it, whether it comes from a disk or from an archive.

use super::{Builder, Bundle, BundleCaps, BundleError, BundleOptions, Digest, Node, PackageJson, Source, Target, Tree, native, tree};
use std::collections::BTreeMap;

/// One thing in a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    Directory,
    File(FileItem),
    /// Target in its plain form.
    Link(Vec<u8>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileItem {
    pub(super) bytes: u64,
    pub(super) executable: bool,
    pub(super) digest: Digest,
    /// Where the content begins in a spool.
    pub(super) offset: u64,
}

/// Changes when the meaning of the digest does.
const FORMAT: &[u8] = b"ocsweep bundle 1";
/// A `package.json` above this size is not looked at.
pub(super) const LARGEST_PACKAGE_JSON: u64 = 4 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct Contents {
    items: BTreeMap<Vec<u8>, Item>,
    bytes: u64,
    caps: BundleCaps,
    plugin_manifest: Vec<u8>,
    looks_for_scripts: bool,
    package: PackageJson,
    scripts: Vec<native::Manifest>,
    pub(super) warnings: Vec<String>,
}

impl Contents {
    pub(super) fn new(options: &BundleOptions) -> Self {
        let directory = options.directory.trim_end_matches('/');
        let plugin_manifest = if directory.is_empty() { "package.json".to_owned() } else { format!("{directory}/package.json") };
        Self {
            items: BTreeMap::new(),
            bytes: 0,
            caps: options.caps,
            plugin_manifest: plugin_manifest.into_bytes(),
            looks_for_scripts: options.scripts_were_skipped,
            package: PackageJson::Absent,
            scripts: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Adds an item. A directory may come twice, anything else may not, and nothing may lie below a thing that is no directory.
    pub(super) fn add(&mut self, path: Vec<u8>, item: Item) -> Result<(), BundleError> {
        let refused = |path: &[u8], problem| BundleError::Refused { path: tree::shown(path), problem };
        for (end, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            match self.items.get(&path[..end]) {
                None => drop(self.items.insert(path[..end].to_vec(), Item::Directory)),
                Some(Item::Directory) => {}
                Some(_) => return Err(refused(&path, "it lies below something that is no directory")),
            }
        }
        match (self.items.get(&path), &item) {
            (None, _) => drop(self.items.insert(path, item)),
            (Some(Item::Directory), Item::Directory) => {}
            (Some(_), _) => return Err(refused(&path, "the path appears twice")),
        }
        if self.items.len() > self.caps.entries {
            return Err(BundleError::TooMany { limit: self.caps.entries });
        }
        Ok(())
    }

    /// Counts bytes of files towards the limit.
    pub(super) fn count(&mut self, bytes: u64) -> Result<(), BundleError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.caps.bytes { Err(BundleError::TooLarge { limit: self.caps.bytes, largest: None }) } else { Ok(()) }
    }

    pub(super) fn file(&self, path: &[u8]) -> Option<&FileItem> {
        match self.items.get(path) {
            Some(Item::File(file)) => Some(file),
            _ => None,
        }
    }

    /// Whether the text of a file is wanted by [`Self::note_text`].
    pub(super) fn wants_text(&self, path: &[u8], bytes: u64) -> bool {
        bytes <= LARGEST_PACKAGE_JSON && (path == self.plugin_manifest || self.looks_for_scripts && native::is_manifest(path))
    }

    pub(super) fn note_text(&mut self, path: &[u8], text: &[u8]) {
        let package = PackageJson::parse(text);
        if self.looks_for_scripts {
            self.scripts.extend(native::Manifest::of(path, &package));
        }
        if path == self.plugin_manifest {
            self.package = package;
        }
    }

    pub(super) fn finish(mut self, source: Source) -> Result<Bundle, BundleError> {
        let tree = self.tree();
        self.check_links(&tree)?;
        if self.looks_for_scripts {
            self.warnings.extend(native::warnings(&self.scripts, &tree));
        }
        let digest = digest(&self.items);
        Ok(Bundle { digest, bytes: self.bytes, tree, package: self.package, warnings: self.warnings, items: self.items, source })
    }

    fn tree(&self) -> Tree {
        let mut tree = Tree::default();
        for (path, item) in &self.items {
            let node = match item {
                Item::Directory => Node::Directory,
                Item::File(_) => Node::File,
                Item::Link(target) => Node::Link(target.clone()),
            };
            tree.insert(path, node);
        }
        tree
    }

    fn check_links(&self, tree: &Tree) -> Result<(), BundleError> {
        for (path, item) in &self.items {
            let Item::Link(target) = item else { continue };
            let problem = match tree.resolve(path) {
                Target::Outside => "leads outside of the root",
                Target::Endless => "leads to itself",
                Target::File(_) | Target::Directory(_) | Target::Missing => continue,
            };
            return Err(BundleError::BadLink { path: tree::shown(path), target: tree::shown(target), problem });
        }
        Ok(())
    }
}

fn digest(items: &BTreeMap<Vec<u8>, Item>) -> Digest {
    let mut builder = Builder::default();
    builder.field(FORMAT);
    for (path, item) in items {
        builder.field(path);
        match item {
            Item::Directory => builder.field(b"directory"),
            Item::File(file) => {
                builder.field(if file.executable { b"program" } else { b"file" });
                builder.field(file.digest.hex().as_bytes());
            }
            Item::Link(target) => {
                builder.field(b"link");
                builder.field(target);
            }
        }
    }
    builder.finish()
}
