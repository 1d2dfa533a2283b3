//! What stays out of every bundle: version control, output of earlier runs, and the files in which people keep secrets. Pure.

/// Whether a path, or a directory above it, stays out.
pub(super) fn is_excluded(path: &[u8], also: &[String]) -> bool {
    let mut end = 0;
    for part in path.split(|byte| *byte == b'/') {
        end += part.len();
        if is_name_excluded(part) || is_output(&path[..end]) || also.iter().any(|excluded| excluded.as_bytes() == &path[..end]) {
            return true;
        }
        end += 1;
    }
    false
}

fn is_name_excluded(name: &[u8]) -> bool {
    matches!(name, b".git" | b".npmrc") || name.starts_with(b".env")
}

fn is_output(path: &[u8]) -> bool {
    let output: &[u8] = b".opencode-ci/out";
    path == output || path.ends_with(&[b"/", output].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_output_stay_out() {
        let also = vec!["pkg/results".to_owned()];
        for path in [
            ".git",
            "a/.git/config",
            ".env",
            "a/.env.local",
            ".envrc",
            "x/.npmrc",
            ".opencode-ci/out",
            "p/.opencode-ci/out/1/load/events.jsonl",
            "pkg/results/x",
        ] {
            assert!(is_excluded(path.as_bytes(), &also), "{path}");
        }
        for path in [
            ".gitignore",
            ".github/x",
            "env",
            "a.env",
            ".opencode-ci/config.yaml",
            ".opencode-ci/output",
            "x.opencode-ci/out",
            "out",
            "pkg/results2",
            "results",
        ] {
            assert!(!is_excluded(path.as_bytes(), &also), "{path}");
        }
    }
}
