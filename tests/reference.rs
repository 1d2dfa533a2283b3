//! What is generated must be what is committed.

#[test]
fn generated_files_are_up_to_date() {
    for (path, text) in ocsweep::reference::files() {
        let committed = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}; run `make schema`"));
        assert!(committed == text, "{path} differs from what is generated; run `make schema`");
    }
}
