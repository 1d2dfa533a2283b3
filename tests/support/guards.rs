//! What must hold after a run of a plugin that attacks: it ended in its time, its evidence is small, nothing of it can steer who reads the
//! report, and no process of it is left. It must not know what the plugin tried.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::project::files;
use super::run::{Ended, json};

/// For everything around the bounds of a case on a machine that does other things too: preparation, container, collection.
const AROUND: Duration = Duration::from_secs(90);
/// A whole folder of evidence. Streams are cut at 16 MiB each, and no test here lets more than a few of them grow.
const EVIDENCE_BYTES: u64 = 48 * 1024 * 1024;

/// Everything that does not hold.
pub(crate) fn broken(directory: &Path, ended: &Ended) -> Vec<String> {
    let out = directory.join(".opencode-ci/out");
    let results = json(&out.join("results.json"));
    let mut found = Vec::new();
    let bound = bound(directory);
    if ended.took > bound {
        found.push(format!("it took {:?}, and its own limits allow {bound:?}", ended.took));
    }
    let bytes: u64 = files(&out).iter().filter_map(|file| file.symlink_metadata().ok()).map(|data| data.len()).sum();
    if bytes > EVIDENCE_BYTES {
        found.push(format!("the evidence takes {bytes} bytes"));
    }
    for row in results["results"].as_array().into_iter().flatten() {
        if row["verdict"] == "indeterminate" || row["infra"] == true {
            found.push(format!("{}: the machine is blamed: {}", row["id"], row["reason"]));
        }
        if row["verdict"] == "pass" && row["failures"].as_array().is_some_and(|failures| !failures.is_empty()) {
            found.push(format!("{}: a pass with failures", row["id"]));
        }
    }
    for name in ["report.md", "junit.xml"] {
        found.extend(steering(&out.join(name)).map(|found| format!("{name} holds {found}")));
    }
    found.extend(steering_text(&ended.stderr).map(|found| format!("standard error holds {found}")));
    found.extend(orphans());
    found
}

/// The sum of what the configuration and the scenarios allow each case, and what is around them.
fn bound(directory: &Path) -> Duration {
    let mut bound = AROUND;
    for file in files(&directory.join(".opencode-ci")).into_iter().filter(|file| file.extension().is_some_and(|end| end == "yaml")) {
        let text = std::fs::read_to_string(&file).expect("a configuration is text");
        for line in text.lines().map(str::trim) {
            let value = ["loadMs:", "initMs:", "timeoutMs:"].into_iter().find_map(|name| line.strip_prefix(name));
            bound += Duration::from_millis(value.map_or(0, |value| value.trim().parse().expect("a limit is a number")));
        }
    }
    bound
}

fn steering(file: &Path) -> Option<String> {
    steering_text(&std::fs::read_to_string(file).expect("a report is text"))
}

/// A control character or an element that a reader would obey.
fn steering_text(text: &str) -> Option<String> {
    let control = text.chars().find(|c| (c.is_control() && !matches!(c, '\n' | '\t')) || matches!(c, '\u{202e}' | '\u{2028}'));
    let plain: String = text.lines().map(outside_code).collect();
    let element = ["<script", "<img"].into_iter().find(|element| plain.contains(element));
    control.map(|c| format!("{c:?}")).or_else(|| element.map(str::to_owned))
}

/// A line of Markdown without its code spans, in which nothing is an element: each ends at a run of as many backticks as it began with.
fn outside_code(line: &str) -> String {
    let mut plain = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        plain.push_str(&rest[..at]);
        let inside = rest[at..].trim_start_matches('`');
        let ticks = rest.len() - at - inside.len();
        let Some(end) = closing(inside, ticks) else { break };
        rest = &inside[end + ticks..];
    }
    plain + rest
}

/// Where a run of exactly so many backticks begins.
fn closing(text: &str, ticks: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text[at..].find('`') {
        let start = at + found;
        let run = text.len() - start - text[start..].trim_start_matches('`').len();
        if run == ticks {
            return Some(start);
        }
        at = start + run;
    }
    None
}

/// Processes of this machine that belong to a container which the engine no longer has.
fn orphans() -> Vec<String> {
    let gone = |id: &String| !Command::new("docker").args(["inspect", id]).output().is_ok_and(|output| output.status.success());
    let containers: BTreeMap<String, Vec<u32>> = contained();
    let gone: Vec<String> = containers.into_keys().filter(gone).collect();
    // One that was being removed while it was looked at has no processes now.
    let now = if gone.is_empty() { BTreeMap::new() } else { contained() };
    gone.into_iter().filter_map(|id| Some(format!("processes {:?} are left of container {id}", now.get(&id)?))).collect()
}

/// The processes in containers, by the container's id.
fn contained() -> BTreeMap<String, Vec<u32>> {
    let mut found: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let Ok(groups) = std::fs::read_to_string(entry.path().join("cgroup")) else { continue };
        let mut ids =
            groups.split(['/', '\n', '-', '.']).filter(|part| part.len() == 64 && part.bytes().all(|byte| byte.is_ascii_hexdigit()));
        if let Some(id) = ids.next_back() {
            found.entry(id.to_owned()).or_default().push(pid);
        }
    }
    found
}

/// What of a row must not depend on who runs beside it.
pub(crate) fn essence(results: &Value) -> Vec<Value> {
    let fields = ["id", "verdict", "reason", "failures", "warnings", "tools", "completed", "steps", "exitCode", "textExcerpt"];
    let rows = results["results"].as_array().expect("rows");
    rows.iter()
        .map(|row| fields.iter().map(|field| ((*field).to_owned(), row[*field].clone())).collect::<serde_json::Map<_, _>>().into())
        .collect()
}
