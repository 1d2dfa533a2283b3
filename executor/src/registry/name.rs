//! The grammar of package names and of the versions that people ask for. Pure. Both become parts of addresses and paths, so both are
//! closed.

use super::RegistryError;

const LONGEST: usize = 214;

/// Checks a package name, `name` or `@scope/name`. Capital letters are allowed, because old packages have them.
///
/// # Errors
/// When the text is no package name.
pub fn check_name(name: &str) -> Result<(), RegistryError> {
    let bad = |rule| Err(RegistryError::BadName { name: name.to_owned(), rule });
    if name.is_empty() {
        return bad("a name is missing");
    }
    if name.len() > LONGEST {
        return bad("a name has at most 214 characters");
    }
    let parts: Vec<&str> = match name.strip_prefix('@') {
        Some(scoped) => scoped.split('/').collect(),
        None => vec![name],
    };
    if name.starts_with('@') && parts.len() != 2 {
        return bad("a scoped name is @scope/name");
    }
    if parts.iter().any(|part| !is_segment(part)) {
        return bad("letters, digits, `-`, `_`, `.` and `~`, not beginning with `.`, `_` or `-`");
    }
    if parts.iter().any(|part| matches!(part.to_ascii_lowercase().as_str(), "node_modules" | "favicon.ico")) {
        return bad("the name is reserved");
    }
    Ok(())
}

fn is_segment(part: &str) -> bool {
    !part.is_empty() && !part.starts_with(['.', '_', '-']) && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.~".contains(&b))
}

/// Whether a text can be a version, a range or a tag. Paths, addresses and git references cannot.
#[must_use]
pub fn is_wanted(text: &str) -> bool {
    let harmless = |b: u8| b.is_ascii_alphanumeric() || b".-+^~<>=|* _".contains(&b);
    !text.is_empty() && text.len() <= 128 && text.bytes().all(harmless) && !text.contains("..") && text.trim() == text
}

/// The name as one segment of an address: the slash of a scope is encoded.
#[must_use]
pub(crate) fn encoded(name: &str) -> String {
    name.replace('/', "%2f")
}

/// The name as one file name.
#[must_use]
pub(crate) fn file_name(name: &str) -> String {
    name.replace('/', "+")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names() {
        for name in ["a", "opencode-pty", "@scope/name", "@a-b/c.d_e", "JSONStream", "a~b", &"a".repeat(214)] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        let long = "a".repeat(215);
        let bad = [
            "",
            "@",
            "@a",
            "@a/",
            "@/a",
            "@a/b/c",
            "a/b",
            "../a",
            "..",
            ".a",
            "_a",
            "-a",
            "@-a/b",
            "@a/.b",
            "@../b",
            "a b",
            "a%2fb",
            "a\\b",
            "ä",
            "a\n",
            "a@1",
            "https://x",
            "node_modules",
            "@a/node_modules",
            "a?b",
            "a#b",
            &long,
        ];
        for name in bad {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn wanted_versions() {
        for text in ["1.2.3", "^1.2", ">=1 <2", "latest", "next-1", "1.x || 2.x", "1.0.0-beta.1+b"] {
            assert!(is_wanted(text), "{text}");
        }
        for text in ["", " 1", "../x", "file:../x", "git+https://x/y", "a/b", "a\\b", "1.0.0\n", "$(x)", "a;b", &"1".repeat(129)] {
            assert!(!is_wanted(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn an_accepted_name_is_one_safe_file_name(name in "(@[a-z./_-]{0,4}/)?[a-zA-Z0-9._~/%@-]{0,8}") {
            if check_name(&name).is_ok() {
                let file = file_name(&name);
                prop_assert!(!file.contains('/') && !file.starts_with('.') && !file.starts_with('-'));
                prop_assert!(!encoded(&name).contains('/'));
            }
        }
    }
}
