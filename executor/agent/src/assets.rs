//! The JavaScript that runs inside the host: probes, observer runtime, preflight. Carried in this binary, so that agent and probes of one
//! build always belong together.

macro_rules! assets {
    ($($name:literal,)*) => {
        /// Every asset: file name and text.
        pub(crate) const ASSETS: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../probe/v1/", $name))),)*];
    };
}

assets! {
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

/// The asset that imports an entry and says what it exports.
pub(crate) const PREFLIGHT: &str = "preflight.mjs";
/// The asset that checks a TUI entry.
pub(crate) const TUI_CHECK: &str = "tui-check.mjs";
/// The module that is made for each case.
pub(crate) const OBSERVER: &str = "observer.mjs";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_of_the_probe_is_carried() {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../probe/v1");
        let mut files: Vec<_> = std::fs::read_dir(source).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        files.retain(|name| name.ends_with(".mjs"));
        files.sort_unstable();
        assert_eq!(ASSETS.iter().map(|(name, _)| *name).collect::<Vec<_>>(), files);
        assert!([PREFLIGHT, TUI_CHECK].iter().all(|name| files.iter().any(|file| file == name)));
    }
}
