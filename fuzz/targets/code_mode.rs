//! Code Mode catalogs: every name that is read stands in the text, and the text cannot make more names than it has lines' worth of bytes.
//! It must never assume a well-formed catalog.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ocsweep_proto::code_mode::{catalog, catalog_names, wrap};
use serde_json::Map;

fuzz_target!(|input: &str| {
    let paths = catalog(input);
    assert!(paths.len() <= input.len());
    // Full path, last segment, joined segments.
    assert!(catalog_names(input).len() <= 3 * paths.len());
    for path in &paths {
        assert!(input.contains(path.text()), "a path that is not in the text");
        assert!(!path.segments().is_empty());
        assert_eq!(path.segments().last().map(String::as_str), Some(path.last()));
        assert!(wrap(&path.joined(), &Map::new(), &paths).is_some(), "a listed tool cannot be called: {path:?}");
    }
});
