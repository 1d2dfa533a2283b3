//! The JavaScript that runs inside the host: probes, observer runtime, preflight. Carried in this binary, so that agent and probes of one
//! build always belong together.

macro_rules! assets {
    ($list:ident, $directory:literal: $($name:literal,)*) => {
        /// Assets: path below the assets directory, and text.
        pub(crate) const $list: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../probe/", $directory, "/", $name))),)*];
    };
}

assets! { ASSETS, "v1":
    "observer-globals.mjs",
    "observer-runtime.mjs",
    "overlay.mjs",
    "preflight.mjs",
    "probe-core.mjs",
    "probe-post.mjs",
    "probe-pre.mjs",
    "record.mjs",
    "tui-check.mjs",
}

// Beside those of v1, whose recorder and whose eyes on the process they use.
assets! { V2_ASSETS, "v2":
    "probe-post/server.mjs",
    "probe-pre/server.mjs",
    "v2-core.mjs",
    "v2-inventory.mjs",
}

/// The asset that imports an entry and says what it exports.
pub(crate) const PREFLIGHT: &str = "preflight.mjs";
/// The asset that checks a TUI entry.
pub(crate) const TUI_CHECK: &str = "tui-check.mjs";
/// The module that is made for each case of line v1.
pub(crate) const OBSERVER: &str = "observer.mjs";
/// The module that is made for each case of line v2, in [`paths::SHIM`](ocsweep_proto::agent::paths::SHIM).
pub(crate) const SHIM: &str = "plugin-under-test/server.js";

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ocsweep_proto::agent::paths;

    use super::*;

    fn modules(root: &Path, directory: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("tests") {
                modules(root, &path, found);
            } else if path.extension().is_some_and(|extension| extension == "mjs") {
                found.push(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
            }
        }
    }

    #[test]
    fn every_module_of_the_probe_is_carried() {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../probe/v1");
        let mut files: Vec<_> = std::fs::read_dir(source).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        files.retain(|name| name.ends_with(".mjs"));
        files.sort_unstable();
        assert_eq!(ASSETS.iter().map(|(name, _)| *name).collect::<Vec<_>>(), files);
        let v2 = Path::new(env!("CARGO_MANIFEST_DIR")).join("../probe/v2");
        let mut files = Vec::new();
        modules(&v2, &v2, &mut files);
        files.sort_unstable();
        assert_eq!(V2_ASSETS.iter().map(|(name, _)| *name).collect::<Vec<_>>(), files);
        assert_eq!(format!("{}/{SHIM}", paths::ASSETS), format!("{}/server.js", paths::SHIM));
        let files = ASSETS.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        assert!([PREFLIGHT, TUI_CHECK].iter().all(|name| files.contains(name)));
    }
}
