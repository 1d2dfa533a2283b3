//! The shape of a bundle: which paths exist and where links lead. Pure; the one place that decides whether a path stays inside the root.
//!
//! Paths are bytes with forward slashes, relative to the root, without `.`, `..` or empty parts; the root itself is the empty path.

use std::collections::BTreeMap;

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// A symbolic link with its target.
    Link(Vec<u8>),
}

/// Where a path leads once its links are followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A file, at its real path.
    File(Vec<u8>),
    /// A directory, at its real path.
    Directory(Vec<u8>),
    /// Nothing is there, but the place is inside the root.
    Missing,
    /// Outside of the root.
    Outside,
    /// Links that never end.
    Endless,
}

/// As many links as Linux follows.
const MOST_LINKS: usize = 40;

/// All paths of a bundle.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree(BTreeMap<Vec<u8>, Node>);

impl Tree {
    /// Adds a path. Directories above it appear by themselves.
    pub fn insert(&mut self, path: &[u8], node: Node) {
        for (end, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            self.0.entry(path[..end].to_vec()).or_insert(Node::Directory);
        }
        self.0.insert(path.to_vec(), node);
    }

    /// What is at a path, links not followed.
    #[must_use]
    pub fn get(&self, path: &[u8]) -> Option<&Node> {
        if path.is_empty() { Some(&Node::Directory) } else { self.0.get(path) }
    }

    /// Every path with its node, sorted.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &Node)> {
        self.0.iter().map(|(path, node)| (path.as_slice(), node))
    }

    /// The paths below a directory.
    pub fn below<'a>(&'a self, directory: &'a [u8]) -> impl Iterator<Item = (&'a [u8], &'a Node)> {
        let start = if directory.is_empty() { Vec::new() } else { [directory, b"/"].concat() };
        let prefix = start.clone();
        self.0.range(start..).map(|(path, node)| (path.as_slice(), node)).take_while(move |(path, _)| path.starts_with(&prefix))
    }

    /// Follows a path from the root. `..` and links are resolved one part after the other, as a kernel does.
    #[must_use]
    pub fn resolve(&self, path: &[u8]) -> Target {
        if path.starts_with(b"/") {
            return Target::Outside;
        }
        let mut pending: Vec<&[u8]> = parts_reversed(path);
        let mut at: Vec<&[u8]> = Vec::new();
        let (mut links, mut missing) = (0, false);
        while let Some(part) = pending.pop() {
            match part {
                b"." | b"" => continue,
                b".." => {
                    if at.pop().is_none() {
                        return Target::Outside;
                    }
                    continue;
                }
                name => at.push(name),
            }
            match self.0.get(&at.join(&b'/')) {
                Some(Node::Link(target)) => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Target::Endless;
                    }
                    if target.starts_with(b"/") {
                        return Target::Outside;
                    }
                    at.pop();
                    pending.extend(parts_reversed(target));
                }
                Some(Node::Directory) => {}
                Some(Node::File) => missing |= !pending.is_empty(),
                None => missing = true,
            }
        }
        let real = at.join(&b'/');
        match self.get(&real) {
            Some(Node::File) if !missing => Target::File(real),
            Some(Node::Directory) if !missing => Target::Directory(real),
            _ => Target::Missing,
        }
    }

    /// Whether a path leads to a regular file.
    #[must_use]
    pub fn is_file(&self, path: &str) -> bool {
        matches!(self.resolve(path.as_bytes()), Target::File(_))
    }
}

impl<'a> FromIterator<(&'a str, Node)> for Tree {
    fn from_iter<I: IntoIterator<Item = (&'a str, Node)>>(nodes: I) -> Self {
        let mut tree = Self::default();
        nodes.into_iter().for_each(|(path, node)| tree.insert(path.as_bytes(), node));
        tree
    }
}

fn parts_reversed(path: &[u8]) -> Vec<&[u8]> {
    let mut parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    parts.reverse();
    parts
}

/// The plain form of a path from an archive or a listing: its parts joined. `None` when it is absolute, climbs, or holds a NUL.
#[must_use]
pub fn plain(path: &[u8]) -> Option<Vec<u8>> {
    if path.starts_with(b"/") || path.contains(&0) {
        return None;
    }
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => return None,
            name => parts.push(name),
        }
    }
    Some(parts.join(&b'/'))
}

/// The plain form of a link's target: `..` stays, `.` and empty parts go. An absolute target keeps its slash.
#[must_use]
pub fn plain_target(target: &[u8]) -> Vec<u8> {
    let parts: Vec<&[u8]> = target.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b".")).collect();
    let mut joined = if target.starts_with(b"/") { b"/".to_vec() } else { Vec::new() };
    joined.extend(parts.join(&b'/'));
    if joined.is_empty() { b".".to_vec() } else { joined }
}

/// A path as it may be shown: quoted and escaped when it holds anything unusual.
#[must_use]
pub fn shown(path: &[u8]) -> String {
    let text = String::from_utf8_lossy(path);
    if text.chars().any(|c| c.is_control() || c == '\u{fffd}') { format!("{text:?}") } else { text.into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn link(target: &str) -> Node {
        Node::Link(target.as_bytes().to_vec())
    }

    fn tree() -> Tree {
        [
            ("a/f", Node::File),
            ("a/up", link("../b/g")),
            ("b/g", Node::File),
            ("dir", link("a")),
            ("out", link("../x")),
            ("abs", link("/etc/passwd")),
            ("sly", link("dir/../../x")),
            ("dangling", link("a/none")),
            ("loop", link("loop")),
            ("root", link(".")),
            ("via", link("dangling/../../..")),
        ]
        .into_iter()
        .collect()
    }

    #[test]
    fn links_are_followed_inside_only() {
        let file = |path: &str| Target::File(path.as_bytes().to_vec());
        let directory = |path: &str| Target::Directory(path.as_bytes().to_vec());
        let cases = [
            ("a/f", file("a/f")),
            ("./a//f", file("a/f")),
            ("a/up", file("b/g")),
            ("dir/f", file("a/f")),
            ("dir/up", file("b/g")),
            ("dir/../b/g", file("b/g")),
            ("root/root/a/f", file("a/f")),
            ("", directory("")),
            ("dir", directory("a")),
            ("none", Target::Missing),
            ("a/f/x", Target::Missing),
            ("a/f/../f", Target::Missing),
            ("dangling", Target::Missing),
            ("none/../a/f", Target::Missing),
            ("out", Target::Outside),
            ("abs", Target::Outside),
            ("/a/f", Target::Outside),
            ("..", Target::Outside),
            ("a/../../a/f", Target::Outside),
            ("sly", Target::Outside),
            ("via", Target::Outside),
            ("loop", Target::Endless),
        ];
        for (path, expected) in cases {
            assert_eq!(tree().resolve(path.as_bytes()), expected, "{path}");
        }
    }

    #[test]
    fn plain_paths() {
        let cases: &[(&str, Option<&str>)] = &[
            ("a/b", Some("a/b")),
            ("./a//b/", Some("a/b")),
            (".", Some("")),
            ("a\nb/ü", Some("a\nb/ü")),
            ("/a", None),
            ("..", None),
            ("a/../b", None),
            ("a\0b", None),
            ("...", Some("...")),
        ];
        for (path, expected) in cases {
            assert_eq!(plain(path.as_bytes()).as_deref(), expected.map(str::as_bytes), "{path}");
        }
        for (target, expected) in [("./x", "x"), ("../x/", "../x"), ("", "."), ("./", "."), ("/a//b", "/a/b"), ("a/../b", "a/../b")] {
            assert_eq!(plain_target(target.as_bytes()), expected.as_bytes(), "{target}");
        }
    }

    proptest! {
        #[test]
        fn an_accepted_path_stays_inside(path in "[./ab]{0,12}") {
            if let Some(plain) = plain(path.as_bytes()) {
                let joined = std::path::Path::new("/root").join(String::from_utf8(plain).unwrap());
                let mut depth = 0_i32;
                for component in joined.strip_prefix("/root").unwrap().components() {
                    depth += if component == std::path::Component::ParentDir { -1 } else { 1 };
                    prop_assert!(depth >= 0);
                }
            }
        }

        #[test]
        fn the_real_file_system_agrees(target in "(\\.\\./|a/|d/|x/){0,4}(f|a|\\.\\.)?", path in "(\\.\\./|a/|l/|d/){0,3}(f|l)") {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path().canonicalize().unwrap().join("root");
            std::fs::create_dir_all(root.join("a")).unwrap();
            std::fs::write(root.join("a/f"), "").unwrap();
            std::os::unix::fs::symlink("a", root.join("d")).unwrap();
            let target = if target.is_empty() { ".".to_owned() } else { target };
            std::os::unix::fs::symlink(&target, root.join("l")).unwrap();
            let tree: Tree = [("a/f", Node::File), ("d", link("a")), ("l", link(&target))].into_iter().collect();
            let real = root.join(&path).canonicalize();
            match tree.resolve(path.as_bytes()) {
                Target::File(found) | Target::Directory(found) => {
                    prop_assert_eq!(real.unwrap(), root.join(String::from_utf8(found).unwrap()).components().collect::<std::path::PathBuf>());
                }
                Target::Missing | Target::Endless => prop_assert!(real.is_err(), "{real:?}"),
                // A path may leave the root and come back; that it ever left is enough to refuse it.
                Target::Outside => {}
            }
            if real_is_outside(&root, &path) {
                prop_assert_eq!(tree.resolve(path.as_bytes()), Target::Outside);
            }
        }
    }

    fn real_is_outside(root: &std::path::Path, path: &str) -> bool {
        root.join(path).canonicalize().is_ok_and(|real| !real.starts_with(root))
    }
}
