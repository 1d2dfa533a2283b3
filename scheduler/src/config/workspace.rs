//! Which paths a scenario's workspace may hold: relative, inside the project directory on every system, and the name of a file.

/// Whether a path names something below the directory that it is relative to, whatever the system's rules for paths.
pub(crate) fn stays_inside(path: &str) -> bool {
    let drive = path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic();
    let absolute = path.starts_with(['/', '\\']) || drive;
    let mut segments = path.split(['/', '\\']);
    let climbs = segments.clone().any(|segment| segment == "..");
    let names_a_file = segments.next_back().is_some_and(|last| !matches!(last, "" | "."));
    !absolute && !climbs && names_a_file && !path.contains('\0')
}

/// The path without `.` segments and doubled separators, so that two spellings of one file are the same text.
pub(crate) fn normal(path: &str) -> String {
    let segments: Vec<&str> = path.split(['/', '\\']).filter(|segment| !matches!(*segment, "" | ".")).collect();
    segments.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::{Component, Path, PathBuf};

    #[test]
    fn accepted_and_refused() {
        for path in ["a", "a/b.txt", ".opencode/plugins/x.js", "./a", "a/./b", "...", "..a/b", "a..", "a b/#%20ä", "ab:c", "1:x"] {
            assert!(stays_inside(path), "{path:?}");
        }
        let refused = [
            "",
            ".",
            "./",
            "a/",
            "a/.",
            "..",
            "../a",
            "a/../../b",
            "a/..",
            "..\\a",
            "a\\..\\b",
            "/a",
            "\\a",
            "//a",
            "C:",
            "C:/a",
            "c:\\a",
            "C:a",
            "a\0b",
        ];
        for path in refused {
            assert!(!stays_inside(path), "{path:?}");
        }
    }

    fn lexical(path: &str) -> Option<PathBuf> {
        let mut out = PathBuf::new();
        for component in Path::new(path).components() {
            match component {
                Component::Normal(name) => out.push(name),
                Component::CurDir => {}
                Component::ParentDir => {
                    if !out.pop() {
                        return None;
                    }
                }
                Component::RootDir | Component::Prefix(_) => return None,
            }
        }
        Some(out)
    }

    proptest! {
        #[test]
        fn an_accepted_path_never_leaves(path in "([a.:C /\\\\]|\\.\\.|\\PC){0,12}") {
            if stays_inside(&path) {
                for spelling in [path.clone(), path.replace('\\', "/")] {
                    let joined = lexical(&spelling);
                    prop_assert!(joined.is_some_and(|joined| joined.components().next().is_some()), "{spelling:?}");
                }
            }
        }
    }
}
