//! Packages whose install scripts did not run, and native modules that are missing for it. Pure.

use serde_json::Value;

use super::super::manifest::PackageJson;
use super::super::tree::{self, Node, Tree};

const MOST_NAMES: usize = 10;

/// A package that has install scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Manifest {
    directory: Vec<u8>,
    name: String,
    scripts: Vec<&'static str>,
    is_native: bool,
    /// Packages that may hold the module ready-made, one for each platform.
    prebuilt: Vec<String>,
}

impl Manifest {
    pub(super) fn of(path: &[u8], package: &PackageJson) -> Option<Self> {
        let scripts = package.install_scripts();
        if scripts.is_empty() {
            return None;
        }
        let directory = directory_of(path).to_vec();
        let name = package.name().map_or_else(|| tree::shown(&directory), str::to_owned);
        let optional = package.field("optionalDependencies").and_then(Value::as_object);
        let prebuilt = optional.into_iter().flat_map(|map| map.keys().cloned()).collect();
        Some(Self { directory, name, scripts, is_native: package.makes_native_module(), prebuilt })
    }
}

fn directory_of(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(b"", |end| &path[..end])
}

/// Whether a path is the `package.json` of an installed package.
pub(super) fn is_manifest(path: &[u8]) -> bool {
    path.strip_suffix(b"/package.json").is_some_and(is_package)
}

fn is_package(directory: &[u8]) -> bool {
    let parts: Vec<&[u8]> = directory.rsplitn(3, |byte| *byte == b'/').collect();
    match parts.as_slice() {
        [name, b"node_modules"] => !name.starts_with(b"@"),
        [_, scope, rest] if scope.starts_with(b"@") => rest.ends_with(b"node_modules"),
        [name, b"node_modules", _] => !name.starts_with(b"@"),
        _ => false,
    }
}

pub(super) fn warnings(manifests: &[Manifest], tree: &Tree) -> Vec<String> {
    let has_module = |m: &Manifest| m.prebuilt.iter().any(|package| is_prebuilt(tree, package)) || has_native_module(tree, &m.directory);
    // The script of a native package only builds what is already there; naming it would be noise on nearly every plugin.
    let idle = |m: &&Manifest| !(m.is_native && has_module(m));
    let missing = |m: &&Manifest| m.is_native && !has_module(m);
    let mut scripts: Vec<(String, String)> = manifests.iter().filter(idle).map(|m| (m.name.clone(), m.scripts.join(", "))).collect();
    let mut native: Vec<(&[u8], String)> = manifests.iter().filter(missing).map(|m| (m.directory.as_slice(), m.name.clone())).collect();
    for (path, node) in tree.iter() {
        let Some(directory) = path.strip_suffix(b"/binding.gyp") else { continue };
        // npm compiles a package with this file although it declares no script.
        if *node == Node::File && is_package(directory) && !manifests.iter().any(|m| m.directory == directory) {
            let name = package_name(directory);
            scripts.push((name.clone(), "binding.gyp".to_owned()));
            native.push((directory, name));
        }
    }
    scripts.sort();
    scripts.dedup();
    native.sort();
    let mut warnings = Vec::new();
    if !scripts.is_empty() {
        let names: Vec<String> = scripts.iter().take(MOST_NAMES).map(|(name, what)| format!("{name} ({what})")).collect();
        let more = scripts.len().saturating_sub(MOST_NAMES);
        let tail = if more == 0 { String::new() } else { format!(" and {more} more") };
        warnings.push(format!("install scripts were not run: {}{tail}", names.join(", ")));
    }
    let missing = native.into_iter().filter(|(directory, _)| !has_native_module(tree, directory));
    warnings.extend(missing.map(|(_, name)| format!("native module missing: {name} was not built, because install scripts were not run")));
    warnings
}

fn has_native_module(tree: &Tree, directory: &[u8]) -> bool {
    tree.below(directory).any(|(path, node)| *node == Node::File && path.ends_with(b".node"))
}

/// Whether an installed package holds a native module.
fn is_prebuilt(tree: &Tree, package: &str) -> bool {
    let place = format!("node_modules/{package}/").into_bytes();
    let is_in = |path: &[u8]| path.starts_with(&place) || path.windows(place.len()).any(|window| window == place);
    tree.iter().any(|(path, node)| *node == Node::File && path.ends_with(b".node") && is_in(path))
}

fn package_name(directory: &[u8]) -> String {
    let start = directory.windows(13).rposition(|window| window == b"node_modules/").map_or(0, |at| at + 13);
    tree::shown(&directory[start..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_of_installed_packages() {
        for path in [
            "node_modules/a/package.json",
            "x/node_modules/a/package.json",
            "node_modules/@s/a/package.json",
            "node_modules/a/node_modules/b/package.json",
        ] {
            assert!(is_manifest(path.as_bytes()), "{path}");
        }
        for path in [
            "package.json",
            "a/package.json",
            "node_modules/a/lib/package.json",
            "node_modules/package.json",
            "node_modules/@s/package.json",
            "node_modules/a/x.json",
        ] {
            assert!(!is_manifest(path.as_bytes()), "{path}");
        }
    }

    #[test]
    fn what_was_not_run_and_what_is_missing() {
        let manifest = |path: &str, text: &str| Manifest::of(path.as_bytes(), &PackageJson::parse(text.as_bytes())).unwrap();
        let manifests = [
            manifest("node_modules/esbuild/package.json", r#"{"name": "esbuild", "scripts": {"postinstall": "node x"}}"#),
            manifest("node_modules/pty/package.json", r#"{"name": "pty", "scripts": {"install": "node-gyp rebuild"}}"#),
            manifest(
                "node_modules/pre/package.json",
                r#"{"name": "pre", "scripts": {"install": "node-gyp-build"}, "optionalDependencies": {"@pre/linux": "1", "@pre/mac": "1"}}"#,
            ),
            manifest("node_modules/built/package.json", r#"{"name": "built", "scripts": {"install": "node-gyp rebuild"}}"#),
        ];
        let files = [
            "node_modules/built/prebuilds/linux/x.node",
            "node_modules/@s/gyp/binding.gyp",
            "node_modules/pty/binding.gyp",
            "node_modules/pty2/x.node",
            "node_modules/@pre/linux/x.node",
        ];
        let tree: Tree = files.into_iter().map(|file| (file, Node::File)).collect();
        assert_eq!(
            warnings(&manifests, &tree),
            [
                "install scripts were not run: @s/gyp (binding.gyp), esbuild (postinstall), pty (install)",
                "native module missing: @s/gyp was not built, because install scripts were not run",
                "native module missing: pty was not built, because install scripts were not run",
            ]
        );
        assert!(warnings(&[], &Tree::default()).is_empty());
    }
}
