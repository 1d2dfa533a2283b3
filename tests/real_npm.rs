//! A published plugin on the real opencode: fetched, installed without its scripts, bundled, loaded offline, judged with evidence.

#[path = "support/parts.rs"]
mod support;

use support::engine;
use support::run::{json, ocsweep};

#[test]
fn a_published_plugin_gets_a_verdict_with_evidence() {
    if !engine::is_there() {
        return;
    }
    let elsewhere = tempfile::tempdir().unwrap();
    let ended = ocsweep(elsewhere.path(), &["run", "npm:opencode-pty@0.1.3", "--tier", "load", "--opencode", "1.18.33"]).run();
    let out = elsewhere.path().join(".opencode-ci/out");
    let results = json(&out.join("results.json"));
    let row = &results["results"][0];
    assert!(matches!(ended.code, Some(0 | 1)), "{}", ended.describe());
    assert_eq!(row["infra"], false, "{row:#}\n{}", ended.describe());
    let evidence = out.join(row["evidence"].as_str().expect("evidence"));
    for name in ["events.jsonl", "probe.jsonl", "stub-requests.jsonl", "result.json"] {
        assert!(evidence.join(name).exists(), "{name}");
    }
    assert!(row["digests"]["subject"].is_string() && row["resolved"] == "1.18.33", "{row:#}");
    engine::holds_nothing_of(&out);
}
