//! Tests of the whole loader on directories that a test makes itself; the exact texts of messages are in `tests/config/`.

use std::fs;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

struct Dir(tempfile::TempDir);

impl Dir {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let dir = Self(tempfile::tempdir().unwrap());
        for (name, content) in files {
            let path = dir.0.path().join(".opencode-ci").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        dir
    }

    fn load(&self) -> Result<Loaded, String> {
        load(self.0.path()).map_err(|error| error.to_string())
    }
}

fn one(name: &str, content: impl AsRef<[u8]>) -> Result<Loaded, String> {
    Dir::new(&[(name, content.as_ref())]).load()
}

#[test]
fn fifty_megabytes_are_refused_without_being_read() {
    let dir = Dir::new(&[("config.yaml", b"")]);
    let path = dir.0.path().join(".opencode-ci/config.yaml");
    fs::File::options().write(true).open(path).unwrap().set_len(50_000_000).unwrap();
    let start = Instant::now();
    assert_eq!(
        dir.load().unwrap_err(),
        "Configuration error: .opencode-ci/config.yaml: the file has 50000000 bytes, more than the 4194304 that a configuration file may have"
    );
    assert!(start.elapsed() < Duration::from_secs(1));
}

#[test]
fn the_largest_files_end_in_a_bounded_time() {
    let start = Instant::now();
    let size = 4_000_000;
    let keys: String = (0..200_000).map(|n| format!("key{n}: 1\n")).collect();
    for content in [
        "a: ".repeat(size / 3),
        "- ".repeat(size / 2),
        "[".repeat(size),
        keys,
        "&a ".repeat(size / 3),
        "x".repeat(size),
        "? ".repeat(size / 2),
    ] {
        let text = one("config.yaml", &content).unwrap_err();
        assert!(text.len() < 200_000, "{}", text.len());
    }
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

#[test]
fn invalid_utf8_has_its_place() {
    let expected = "Configuration error: .opencode-ci/config.yaml: invalid UTF-8 at byte 13\n    --> .opencode-ci/config.yaml:2:4\n     |\n   2 | b: �x\n     |    ^\n     = help: save the file as UTF-8";
    assert_eq!(one("config.yaml", b"a: plugin\nb: \xffx\nc: 1\n").unwrap_err(), expected);
}

#[test]
fn what_is_no_file_is_an_error_and_the_others_are_still_checked() {
    let dir = Dir::new(&[("scenarios/b.json", b"{}")]);
    let root = dir.0.path().join(".opencode-ci");
    fs::create_dir(root.join("config.json")).unwrap();
    std::os::unix::fs::symlink("nowhere", root.join("scenarios/a.yaml")).unwrap();
    let text = dir.load().unwrap_err();
    assert!(text.starts_with("Configuration error: .opencode-ci/config.json: cannot be read: it is not a regular file\n"), "{text}");
    assert!(text.contains("\nConfiguration error: .opencode-ci/scenarios/a.yaml: cannot be read: No such file"), "{text}");
    assert!(text.contains("\nConfiguration error: .opencode-ci/scenarios/b.json: validation failed:\n"), "{text}");
}

#[test]
fn a_missing_configuration_is_one_warning() {
    let dir = tempfile::tempdir().unwrap();
    let loaded = load(dir.path()).unwrap();
    assert_eq!(loaded.config, Config::default());
    assert_eq!(
        loaded.warnings,
        [format!("No .opencode-ci/config.yaml or .opencode-ci/config.json found under {}: using defaults.", dir.path().display())]
    );
}

#[test]
fn own_tests_are_found_and_results_are_not() {
    let files: Vec<(&str, &[u8])> = ["x.test.ts", "a/b/y.test.ts", "out/1/z.test.ts", "node_modules/m/w.test.ts", "a/x.test.js", "test.ts"]
        .into_iter()
        .map(|name| (name, &b""[..]))
        .collect();
    let dir = Dir::new(&files);
    std::os::unix::fs::symlink("..", dir.0.path().join(".opencode-ci/a/up")).unwrap();
    let found = dir.load().unwrap().bun_tests;
    assert_eq!(found, [".opencode-ci/a/b/y.test.ts", ".opencode-ci/x.test.ts"].map(PathBuf::from));
}

#[test]
fn other_endings_are_named_and_ignored() {
    let scenario = b"id: a\nmode: scripted\nprompt: x\nscript: []\n";
    let dir = Dir::new(&[
        ("config.yml", b"x"),
        ("scenarios/a.yml", b"x"),
        ("scenarios/a.yaml", scenario),
        ("scenarios/.a.yaml", b"x"),
        ("scenarios/notes.md", b"x"),
    ]);
    let loaded = dir.load().unwrap();
    assert_eq!(loaded.scenarios.len(), 1);
    let ignored = |name: &str| format!(".opencode-ci/{name} is ignored: the file name must end in .yaml or .json.");
    assert_eq!(loaded.warnings[1..], [ignored("config.yml"), ignored("scenarios/a.yml")]);
}

#[test]
fn scenarios_come_in_the_order_of_their_names() {
    let scenario = |id: &str| format!("{{\"id\": \"{id}\", \"mode\": \"scripted\", \"prompt\": \"x\", \"script\": []}}").into_bytes();
    let (x, y, z) = (scenario("x"), scenario("y"), scenario("z"));
    let loaded = Dir::new(&[("scenarios/b.yaml", &x), ("scenarios/c.json", &y), ("scenarios/a.json", &z)]).load().unwrap();
    assert_eq!(loaded.scenarios.iter().map(|file| file.scenario.id.as_str()).collect::<Vec<_>>(), ["z", "x", "y"]);
}

#[test]
fn a_repeated_version_is_used_once() {
    let loaded = one("config.yaml", "opencode: {versions: [1.18.33, latest, 1.18.33]}").unwrap();
    assert_eq!(loaded.config.opencode.versions.len(), 2);
    assert_eq!(loaded.warnings, ["opencode.versions names \"1.18.33\" more than once: it is used once."]);
}

#[test]
fn an_expectation_of_a_hook_that_nobody_records_is_a_warning() {
    let scenario = |hook: &str| {
        json!({"id": "x", "mode": "live", "prompt": "x", "expect": {"hooks": [{"hook": "shell.env"}, {"hook": hook}]}}).to_string()
    };
    let dir = |hook| Dir::new(&[("config.json", b"{}"), ("scenarios/x.json", scenario(hook).as_bytes())]).load().unwrap().warnings;
    assert_eq!(
        dir("tool.before.execute"),
        ["scenario \"x\": expect.hooks.1 names \"tool.before.execute\", which is no hook that is recorded: it can only fail."]
    );
    assert_eq!(dir("tool.execute.before"), [""; 0]);
}

#[test]
fn a_hostile_pattern_is_an_error_and_no_crash() {
    for pattern in [
        "(".repeat(100_000),
        "(?:a".repeat(50_000),
        "[".repeat(1000),
        "a|".repeat(100_000),
        "a{1000000}{1000000}".to_owned(),
        "\\".to_owned(),
    ] {
        let scenario = json!({"id": "x", "mode": "scripted", "prompt": "x", "script": [], "expect": {"text": {"matches": pattern}}});
        assert!(one("scenarios/x.json", scenario.to_string()).is_err(), "{}", &pattern[..pattern.len().min(20)]);
    }
}

/// The decoder and the types' own deserializer must agree on what is a scenario.
#[test]
fn the_decoder_agrees_with_the_types() {
    let base = json!({"id": "x", "mode": "scripted", "prompt": "p", "script": [{"text": "t"}]});
    let with = |key: &str, value: Value| {
        let mut scenario = base.clone();
        scenario[key] = value;
        scenario
    };
    let accepted = [
        base.clone(),
        with("timeoutMs", json!(1)),
        with("description", json!("d")),
        with("plugin", json!({"options": {"a": [1, null, {"b": 1.5}]}})),
        with("workspace", json!({"a/b.txt": "x\n"})),
        with("script", json!([])),
        with(
            "script",
            json!([{"toolCalls": [{"name": "t", "arguments": {"a": 1}}], "raw": true, "delayMs": 0, "usage": {"input": 1}}, {"error": {"status": 429, "body": null, "retryAfterSeconds": 1}}]),
        ),
        with(
            "expect",
            json!({"exitCode": -1, "noErrors": false, "noTools": ["x"], "request": {"nth": 2, "system": {}, "tools": {"includes": [1, "a"]}}}),
        ),
        with(
            "expect",
            json!({"tools": [{"name": "n", "status": "error", "input": {"f": {"equals": null}}, "output": {"matches": "(?i)a|b"}, "count": {"gte": 0, "lte": 3}}]}),
        ),
        with(
            "expect",
            json!({"hooks": [{"hook": "h", "phase": "pre", "tool": "t", "env": {"A": {"exists": false}}, "system": {"notContains": "x"}, "cwd": {"count": {"eq": 1}}}]}),
        ),
        with(
            "expect",
            json!({"files": [{"path": "../x", "exists": true, "equals": [1], "notMatches": "\\d"}], "stderr": {"contains": ""}, "text": {"equals": {"a": 1}}}),
        ),
    ];
    for value in accepted {
        let loaded = one("scenarios/x.json", value.to_string()).unwrap_or_else(|error| panic!("{value}: {error}"));
        let expected: Scenario = serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{value}: {error}"));
        assert_eq!(loaded.scenarios[0].scenario, expected, "{value}");
    }
    let refused = [
        json!([]),
        json!({}),
        json!("x"),
        with("id", json!("A")),
        with("id", json!(1)),
        with("mode", json!("x")),
        with("prompt", json!(null)),
        with("script", json!({})),
        with("script", json!([1])),
        with("script", json!([{"text": "t", "judgeReply": "x"}])),
        with("script", json!([{"toolCalls": [{"arguments": {}}]}])),
        with("script", json!([{"toolCalls": [{"name": "t", "arguments": []}]}])),
        with("script", json!([{"error": {}}])),
        with("script", json!([{"text": "x", "delayMs": -1}])),
        with("timeoutMs", json!(-1)),
        with("timeoutMs", json!("1")),
        with("workspace", json!({"a": 1})),
        with("plugin", json!({"option": {}})),
        with("judgeReply", json!("x")),
        with("expect", json!({"tool": []})),
        with("expect", json!({"tools": [{}]})),
        with("expect", json!({"tools": [{"name": "n", "status": "ok"}]})),
        with("expect", json!({"hooks": [{"hook": "h", "phase": "mid"}]})),
        with("expect", json!({"text": "x"})),
        with("expect", json!({"text": {"contains": 1}})),
        with("expect", json!({"text": {"count": 1}})),
        with("expect", json!({"text": {"contain": "x"}})),
        with("expect", json!({"files": [{"path": "x", "includes": []}]})),
        with("expect", json!({"exitCode": 1.5})),
    ];
    for value in refused {
        assert!(one("scenarios/x.json", value.to_string()).is_err(), "{value}");
        assert!(serde_json::from_value::<Scenario>(value.clone()).is_err(), "{value}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for name in ["config.yaml", "config.json", "scenarios/x.yaml", "scenarios/x.json"] {
            let _ = one(name, &bytes);
        }
    }

    #[test]
    fn a_valid_configuration_is_read_as_the_types_read_it(config in configs()) {
        let text = serde_json::to_string_pretty(&config).unwrap();
        for name in ["config.json", "config.yaml"] {
            prop_assert_eq!(&one(name, &text).unwrap().config, &config);
        }
    }
}

fn configs() -> impl Strategy<Value = Config> {
    let words = || proptest::collection::vec("[ -~]{0,8}", 0..3);
    let versions = proptest::sample::subsequence(vec!["1.18.33", "latest", "v1", "v2", "2.0.1"], 1..=5);
    let live = (1u32..9, 0u32..9, 0.0f64..1e6, 1u64..1 << 50, words());
    let limit = || proptest::option::of(1u64..1 << 50);
    (versions, "[ -~]{0,8}", any::<bool>(), words(), live, proptest::option::of("[ -~]{1,9}"), limit()).prop_map(
        |(versions, path, ui, tools, live, workflow, limit)| {
            let mut config = Config::default();
            config.opencode.versions = versions.into_iter().map(|word| word.parse().unwrap()).collect();
            config.plugin.path = path;
            config.plugin.ui = ui;
            config.plugin.options.insert("a".to_owned(), json!({"b": [null, 1, "x"]}));
            config.expect.tools.clone_from(&tools);
            config.expect.models = tools;
            (config.live.repeat, config.live.pass) = (live.0 + live.1, live.0);
            (config.live.budget_usd, config.live.timeout_ms, config.live.keys) = (live.2, live.3, live.4);
            config.gate.enabled = ui;
            config.gate.workflow = workflow;
            config.limits.memory_bytes = limit;
            config.limits.no_output_ms = limit;
            config
        },
    )
}
