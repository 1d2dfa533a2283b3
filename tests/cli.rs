//! The command line as a person or a script meets it, as far as it needs neither engine nor network.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test may panic, and says when it is skipped")]

#[path = "support/parts.rs"]
mod support;

use std::time::Duration;

use serde_json::{Value, json};
use support::run::{Call, Ended, ocsweep};

/// A directory with files, in no git work tree.
fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    directory
}

fn plugin(files: &[(&str, &str)]) -> tempfile::TempDir {
    let own = [("index.js", "export default async () => ({});\n"), (".opencode-ci/config.yaml", "opencode: {versions: ['1.18.33']}\n")];
    directory(&[&own, files].concat())
}

/// No engine, no registry: whoever needs one of them fails loudly.
fn offline(directory: &tempfile::TempDir, args: &[&str]) -> Call {
    ocsweep(directory.path(), args).env("DOCKER_HOST", "unix:///nonexistent/docker.sock").env("npm_config_registry", "http://127.0.0.1:9/")
}

fn run(directory: &tempfile::TempDir, args: &[&str]) -> Ended {
    offline(directory, args).run()
}

const SCENARIO: &str = "id: smoke\nmode: scripted\nprompt: x\nscript: [{text: a}]\n";
const SMOKE: (&str, &str) = (".opencode-ci/scenarios/smoke.yaml", SCENARIO);

#[test]
fn help_and_version_are_data() {
    let here = directory(&[]);
    for args in [&["--help"][..], &["--version"], &["run", "--help"], &["gc", "--help"]] {
        let ended = run(&here, args).expect(0);
        assert!(!ended.stdout.is_empty() && ended.stderr.is_empty(), "{args:?}: {}", ended.describe());
    }
    assert_eq!(run(&here, &["--version"]).stdout.trim(), concat!("ocsweep ", env!("CARGO_PKG_VERSION")));
    assert!(run(&here, &["--help"]).stdout.contains("Exit codes: 0"));
}

#[test]
fn usage_errors_are_talk_and_exit_2() {
    let here = plugin(&[SMOKE]);
    for (args, text) in [
        (&["run", "--teir", "load"][..], "Unknown argument for run: --teir"),
        (&["report", "--nope"], "Unknown argument for report: --nope"),
        (&["run", "--tier"], "--tier"),
        (&["run", "--tier", "--quiet"], "--tier"),
        (&["run", "--tier", "loud"], "loud"),
        (&["run", "--tier", "load,loud"], "loud"),
        (&["run", "--opencode", "../.."], "Invalid --opencode \"../..\": expected x.y.z or \"latest\", \"v1\", \"v2\"."),
        (&["run", "--opencode=1.2"], "Invalid --opencode \"1.2\": expected x.y.z or \"latest\", \"v1\", \"v2\"."),
        (&["run", "--opencode", "latest,"], "Invalid --opencode \"\""),
        (&["run", "--scenario", "smok"], "unknown --scenario id(s): smok (known: smoke)."),
        (&["run", "--quiet", "--verbose"], "--verbose"),
        (&["run", "no/such/directory"], "no/such/directory"),
        (&["run", "index.js"], "not a directory"),
        (&["run", "npm:../x"], "../x"),
        (&["run", "npm:"], "npm:"),
        (&["gc", "--max-size", "much"], "much"),
        (&["frobnicate"], "frobnicate"),
        (&[], "Usage"),
    ] {
        run(&here, args).refused(&[text]);
    }
    assert!(!here.path().join(".opencode-ci/out").exists(), "a refused run leaves nothing behind");
}

#[test]
fn an_unknown_scenario_without_any_is_told_so() {
    run(&plugin(&[]), &["run", "--scenario", "x,y"]).refused(&["unknown --scenario id(s): x, y (known: none)."]);
}

#[test]
fn init_writes_a_project_that_validates_and_never_overwrites_unasked() {
    let here = directory(&[("index.js", "export default async () => ({});\n")]);
    offline(&here, &["init"]).run().expect(0);
    run(&here, &["validate"]).expect(0);
    let config = here.path().join(".opencode-ci/config.yaml");
    std::fs::write(&config, "opencode: {versions: [latest]} # mine\n").unwrap();
    run(&here, &["init"]).refused(&["config.yaml", "--force"]);
    assert!(std::fs::read_to_string(&config).unwrap().contains("# mine"));
    run(&here, &["init", "--force"]).expect(0);
    assert!(!std::fs::read_to_string(&config).unwrap().contains("# mine"));
}

#[test]
fn init_refuses_before_it_writes_anything() {
    let here = directory(&[("index.js", ""), SMOKE, (".opencode-ci/scenarios/example.yaml", "mine\n")]);
    run(&here, &["init"]).refused(&["example.yaml"]);
    assert!(!here.path().join(".opencode-ci/config.yaml").exists());
}

#[test]
fn init_takes_the_line_from_the_dependencies() {
    for (package, line) in [("@opencode-ai/plugin", "opencode-ai"), ("@opencode/plugin", "@opencode/cli")] {
        let manifest = json!({"name": "p", "devDependencies": {package: "*"}}).to_string();
        let here = directory(&[("index.js", ""), ("package.json", &manifest)]);
        run(&here, &["init"]).expect(0);
        let config = std::fs::read_to_string(here.path().join(".opencode-ci/config.yaml")).unwrap();
        assert!(config.contains(line), "{package}: {config}");
    }
}

#[test]
fn validate_says_what_would_run() {
    let live = (".opencode-ci/scenarios/live.yaml", "id: live-one\nmode: live\nprompt: x\n");
    let ended = run(&plugin(&[SMOKE, live]), &["validate"]).expect(0);
    for text in ["index.js", "1.18.33", "scripted", "live"] {
        assert!(ended.stdout.contains(text), "{text}: {}", ended.describe());
    }
    assert!(ended.stdout.contains("entries: server="), "{}", ended.describe());
    assert!(ended.stdout.contains("opencode versions: 1.18.33"), "{}", ended.describe());
}

#[test]
fn validate_speaks_json() {
    let ended = run(&plugin(&[SMOKE]), &["validate", "--json"]).expect(0);
    let value: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.describe()));
    assert!(value.is_object());
}

#[test]
fn a_plugin_that_is_still_to_be_built_validates_with_a_warning() {
    let manifest = r#"{"main": "dist/index.js"}"#;
    let config = "opencode: {versions: ['1.18.33']}\nplugin: {build: make}\n";
    let here = directory(&[("package.json", manifest), (".opencode-ci/config.yaml", config)]);
    run(&here, &["validate"]).expect(0).says(&["(plugin.build is set, so run checks again after building)."]);
    let here = directory(&[("README.md", "x"), (".opencode-ci/config.yaml", "opencode: {versions: ['1.18.33']}\n")]);
    run(&here, &["validate"]).refused(&["No server entry found under"]);
}

#[test]
fn every_problem_is_reported_at_once_with_its_place() {
    let here = plugin(&[
        (".opencode-ci/config.yaml", "opencode:\n  versions: [\"1.18\"]\nexpect:\n  tool: [x]\n"),
        (".opencode-ci/scenarios/a.yaml", "id: a\nmode: scripted\nprompt: x\nscript: []\nworkspace: {\"../out\": x}\n"),
        (".opencode-ci/scenarios/b.yaml", "id: \"../x\"\nmode: scripted\nprompt: x\nscript: []\n"),
        (".opencode-ci/scenarios/c.json", "{\"id\": \"c\", \"id\": \"c\", \"mode\": \"live\", \"prompt\": \"x\"}"),
    ]);
    for command in ["validate", "run"] {
        run(&here, &[command]).refused(&[
            "Configuration error: .opencode-ci/config.yaml: validation failed:",
            "  - at \"expect\": Unrecognized key: \"tool\"",
            "must be semver (x.y.z) or \"latest\", \"v1\", \"v2\"",
            "config.yaml:2:",
            "workspace path \"../out\" must be relative and stay inside the project dir",
            "b.yaml:1:",
            "c.json:1:",
        ]);
    }
}

#[test]
fn files_that_are_no_text_or_too_much_of_it_end_quickly() {
    let laughs: String = (1..12).map(|n| format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 10].join(", "))).collect();
    let bombs: [(&str, Vec<u8>); 4] = [
        ("50 MB", [b"description: \"".to_vec(), vec![b'x'; 50 << 20], b"\"\n".to_vec()].concat()),
        ("billion laughs", format!("a0: &a0 [x]\n{laughs}").into_bytes()),
        ("invalid UTF-8", b"opencode: {versions: ['\xff\xfe']}\n".to_vec()),
        ("deep nesting", [vec![b'['; 100_000], vec![b']'; 100_000]].concat()),
    ];
    for (name, text) in bombs {
        let here = plugin(&[]);
        std::fs::write(here.path().join(".opencode-ci/config.yaml"), text).unwrap();
        let ended = run(&here, &["validate"]).refused(&["config.yaml"]);
        assert!(ended.took < Duration::from_secs(10), "{name}: {:?}", ended.took);
        assert!(ended.stderr.len() < 10_000, "{name}: {} bytes of talk", ended.stderr.len());
    }
}

#[test]
fn a_host_configuration_with_a_key_twice_is_refused_before_anything_runs() {
    let here = plugin(&[("opencode.json", "{\"plugin\": [\"a\"],\n \"plugin\": [\"b\"]}")]);
    run(&here, &["run"]).refused(&["opencode.json", "plugin"]);
}

#[test]
fn both_configurations_are_one_too_many() {
    run(&plugin(&[(".opencode-ci/config.json", "{}")]), &["validate"]).refused(&["config.yaml", "config.json"]);
}

#[test]
fn a_report_needs_a_results_file() {
    let here = directory(&[("broken.json", "{"), ("other.json", "{\"a\": 1}"), ("newer.json", "{\"version\": 99, \"results\": []}")]);
    for (args, text) in [
        (&["report"][..], ".opencode-ci/out/results.json"),
        (&["report", "broken.json"], "broken.json"),
        (&["report", "other.json"], "other.json"),
        (&["report", "newer.json"], "newer.json"),
    ] {
        run(&here, args).refused(&[text]);
    }
}

#[test]
fn a_report_takes_the_reference_tools_results() {
    let row = json!({"id": "load", "tier": "load", "opencode": "1.18.33", "pass": true, "durationMs": 1});
    let skipped = json!({"id": "s", "tier": "scripted", "opencode": "1.18.33", "pass": true, "skipped": "tier 1 failed", "durationMs": 0, "agent": null});
    let results =
        json!({"version": 1, "at": "2026-01-01T00:00:00Z", "tool": "1.1.0", "plugin": "p", "results": [row, skipped], "model": "x"});
    let here = directory(&[("results.json", &results.to_string())]);
    let ended = run(&here, &["report", "results.json"]).expect(0);
    assert!(ended.stdout.starts_with("# "), "{}", ended.describe());
    assert!(ended.stdout.contains("⏭ skipped: tier 1 failed"), "{}", ended.describe());
}

#[test]
fn names_from_a_file_cannot_steer_a_terminal() {
    let here = plugin(&[(".opencode-ci/scenarios/a.yaml", "id: \"a\\e[2Jb\"\nmode: scripted\nprompt: x\nscript: []\n")]);
    let ended = run(&here, &["validate"]).refused(&["a.yaml"]);
    assert!(!ended.stderr.contains('\u{1b}'), "{:?}", ended.stderr);
}

#[test]
fn doctor_names_what_is_missing_and_how_to_get_it() {
    let here = directory(&[]);
    let ended = run(&here, &["doctor"]);
    assert_ne!(ended.code, Some(0), "{}", ended.describe());
    let all = format!("{}{}", ended.stdout, ended.stderr);
    assert!(all.contains("Docker") && all.to_lowercase().contains("setup"), "{}", ended.describe());
}

#[test]
fn a_closed_pipe_is_no_error() {
    let here = plugin(&[SMOKE]);
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "\"$@\" | true", "sh", support::run::OCSWEEP]);
    let ended = support::run::through(command, here.path(), &["validate", "--json"]).run();
    assert!(ended.stderr.is_empty(), "{}", ended.describe());
}

#[test]
fn a_silent_registry_is_a_clear_error_and_leaves_no_results() {
    let here = plugin(&[]);
    let cache = tempfile::tempdir().unwrap();
    for args in [&["run"][..], &["run", "--opencode", "latest"]] {
        let ended = offline(&here, args).env("XDG_CACHE_HOME", cache.path()).run().refused(&["127.0.0.1:9", "hint"]);
        assert!(ended.took < Duration::from_secs(60), "{:?}", ended.took);
    }
    assert!(!here.path().join(".opencode-ci/out/results.json").exists());
}
