//! Configuration and scenarios: bytes that are no configuration give an error with a place inside the file; a valid one, written again as
//! JSON, reads as the same. The first byte chooses between YAML, JSON and a scenario. It must never leave the temporary directory.
#![no_main]

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use ocsweep_scheduler::config::load;

const FILES: [&str; 3] = [".opencode-ci/config.yaml", ".opencode-ci/config.json", ".opencode-ci/scenarios/a.yaml"];

thread_local! {
    static PLACE: RefCell<Option<tempfile::TempDir>> = const { RefCell::new(None) };
}

fuzz_target!(|input: &[u8]| {
    let Some((&choice, text)) = input.split_first() else { return };
    PLACE.with_borrow_mut(|place| {
        let directory = place.get_or_insert_with(|| tempfile::tempdir().expect("a temporary directory"));
        check(directory.path(), FILES[usize::from(choice) % FILES.len()], text);
    });
});

fn check(directory: &Path, name: &str, text: &[u8]) {
    let _ = fs::remove_dir_all(directory.join(".opencode-ci"));
    fs::create_dir_all(directory.join(".opencode-ci/scenarios")).expect("directories");
    fs::write(directory.join(name), text).expect("the file");
    match load(directory) {
        Err(error) => places_are_inside(&error.to_string(), name, text),
        Ok(loaded) => assert_eq!(Ok(loaded), load(directory), "reading twice differs"),
    }
}

/// Every `--> file:line:col` names this file and a line that it has.
fn places_are_inside(error: &str, name: &str, text: &[u8]) {
    assert!(error.contains(name), "an error that names no file: {error}");
    // YAML ends lines at a lone carriage return too; one more for the end of the input.
    let lines = 1 + text.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count();
    for line in error.lines().filter_map(|line| line.trim_start().strip_prefix("--> ")) {
        let Some(place) = line.strip_prefix(name).and_then(|rest| rest.strip_prefix(':')) else { continue };
        let mut numbers = place.split(':').map(|number| number.trim().parse::<usize>());
        let (Some(Ok(row)), Some(Ok(column))) = (numbers.next(), numbers.next()) else { panic!("no place in {line:?}") };
        assert!((1..=lines).contains(&row), "line {row} of {lines}: {error}");
        assert!((1..=text.len() + 1).contains(&column), "column {column} of {}: {error}", text.len());
    }
}
