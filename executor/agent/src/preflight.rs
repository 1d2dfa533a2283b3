//! Importing the entry in the host's own runtime before the host does: which names it exports, or why it cannot be imported. The same way
//! of running serves the static check of a TUI plugin.
//!
//! The plugin's code runs here, so nothing of the answer is trusted beyond its shape, and nothing that it leaves behind survives.

use std::collections::BTreeMap;
use std::io;
use std::process::Command;
use std::time::Duration;

use ocsweep_proto::agent::{Exit, Export, ImportError, Preflight, TuiReport, paths};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::capture::{Captured, Unkillable, capture};
use crate::observer::file_url;
use crate::processes::Children;

/// Characters of output that explain a death.
const MAX_LAST_WORDS: usize = 2000;

/// A script could not be run at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ScriptError {
    #[error("cannot start the host's runtime: {0}")]
    Start(#[from] io::Error),
    #[error(transparent)]
    Unkillable(#[from] Unkillable),
}

/// Runs an asset over an entry in the host's own runtime, in the environment of the run.
pub(crate) async fn script(
    children: &Children,
    asset: &str,
    entry: &str,
    env: &BTreeMap<String, String>,
    patience: Duration,
) -> Result<Captured, ScriptError> {
    let mut command = Command::new(paths::HOST);
    command.arg(format!("{}/{asset}", paths::ASSETS)).arg(file_url(entry));
    command.env_clear().envs(env).env("BUN_BE_BUN", "1").current_dir(paths::PROJECT);
    Ok(capture(children.spawn(&mut command)?, Vec::new(), patience).await?)
}

#[derive(Deserialize)]
struct ImportAnswer {
    #[serde(rename = "ocsweepPreflight")]
    _marker: u32,
    ok: bool,
    #[serde(default)]
    exports: Vec<ExportAnswer>,
    #[serde(default)]
    error: ImportError,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExportAnswer {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    same: Option<u32>,
    #[serde(default)]
    class: bool,
    #[serde(default)]
    key_types: BTreeMap<String, String>,
    id: Option<String>,
}

/// Reads what the preflight printed.
pub(crate) fn preflight(captured: &Captured) -> Preflight {
    match answer::<ImportAnswer>(captured, "ocsweepPreflight") {
        Some(ImportAnswer { ok: true, exports, .. }) => Preflight::Imported(exports.into_iter().map(export).collect()),
        Some(ImportAnswer { error, .. }) => Preflight::Failed(error),
        None if captured.exit.is_none() => Preflight::Hung,
        None => Preflight::Died(last_words(captured)),
    }
}

fn export(answer: ExportAnswer) -> Export {
    let ExportAnswer { name, kind, same, class, key_types, id } = answer;
    Export { name, kind, same, class, keys: key_types, id }
}

#[derive(Deserialize)]
struct TuiAnswer {
    #[serde(rename = "ocsweepTui")]
    _marker: u32,
    // Only an imported module has the type of anything but `tui`.
    setup: Option<String>,
    tui: String,
    id: Option<String>,
    #[serde(default)]
    error: String,
}

/// Reads what the TUI check printed.
pub(crate) fn tui(captured: &Captured) -> TuiReport {
    match answer::<TuiAnswer>(captured, "ocsweepTui") {
        Some(TuiAnswer { setup, tui, id, error, .. }) => TuiReport {
            imported: setup.is_some(),
            error,
            tui,
            id: if id.is_some() { "string" } else { "undefined" }.to_owned(),
            setup: setup.unwrap_or_else(|| "undefined".to_owned()),
        },
        None if captured.exit.is_none() => TuiReport { error: "the import did not end in time".to_owned(), ..TuiReport::default() },
        None => TuiReport { error: last_words(captured), ..TuiReport::default() },
    }
}

/// The last line that holds the marker and can be read.
fn answer<T: DeserializeOwned>(captured: &Captured, marker: &str) -> Option<T> {
    let marker = format!("{{\"{marker}\":");
    captured
        .stdout
        .rsplit(|byte| *byte == b'\n')
        .find_map(|line| line.starts_with(marker.as_bytes()).then(|| serde_json::from_slice(line).ok())?)
}

fn last_words(captured: &Captured) -> String {
    let end = match captured.exit {
        Some(Exit::Code(code)) => format!("exit code {code}"),
        Some(Exit::Signal(signal)) => format!("signal {signal}"),
        None => "no end".to_owned(),
    };
    let words = if captured.stderr.trim_ascii().is_empty() { &captured.stdout } else { &captured.stderr };
    let words = String::from_utf8_lossy(words);
    let words = words.trim();
    let surplus = words.chars().count().saturating_sub(MAX_LAST_WORDS);
    let words: String = words.chars().skip(surplus).collect();
    if words.is_empty() { end } else { format!("{end}: {words}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(exit: Option<Exit>, stdout: &str, stderr: &str) -> Captured {
        Captured { exit, stdout: stdout.as_bytes().to_vec(), stderr: stderr.as_bytes().to_vec() }
    }

    const ENDED: Option<Exit> = Some(Exit::Code(0));

    #[test]
    fn the_last_readable_answer_counts() {
        let text = "noise\n{\"ocsweepPreflight\":1,\"ok\":true,\"exports\":[]}\nmore {\"ocsweepPreflight\":1}\n\
                    {\"ocsweepPreflight\":1,\"ok\":true,\"exports\":[{\"name\":\"a\",\"type\":\"function\",\"same\":0,\"class\":true},\
                    {\"name\":\"default\",\"type\":\"object\",\"keys\":[\"id\"],\"keyTypes\":{\"id\":\"string\"},\"id\":\"x\"}]}\n\
                    {\"ocsweepPreflight\":1,\"ok\"\n";
        let Preflight::Imported(exports) = preflight(&captured(ENDED, text, "")) else { panic!("not imported") };
        assert_eq!((exports[0].name.as_str(), exports[0].same, exports[0].class), ("a", Some(0), true));
        assert_eq!((exports[1].keys["id"].as_str(), exports[1].id.as_deref()), ("string", Some("x")));
    }

    #[test]
    fn a_failed_import_has_its_places() {
        let text = r#"{"ocsweepPreflight":1,"ok":false,"error":{"name":"SyntaxError","message":"m","stack":"s","code":"X","positions":[{"file":"/a.js","line":3,"column":4,"message":"p"}]}}"#;
        let Preflight::Failed(error) = preflight(&captured(ENDED, text, "")) else { panic!("not failed") };
        assert_eq!((error.name.as_str(), error.positions[0].line, error.positions[0].file.as_str()), ("SyntaxError", 3, "/a.js"));
    }

    #[test]
    fn silence_is_a_death_or_a_hang() {
        assert_eq!(preflight(&captured(None, "noise", "")), Preflight::Hung);
        assert_eq!(preflight(&captured(Some(Exit::Code(3)), "out", " ")), Preflight::Died("exit code 3: out".to_owned()));
        assert_eq!(preflight(&captured(Some(Exit::Signal(11)), "out", "err")), Preflight::Died("signal 11: err".to_owned()));
        // An answer that came before a hang at exit is an answer.
        assert!(matches!(preflight(&captured(None, "{\"ocsweepPreflight\":1,\"ok\":true}", "")), Preflight::Imported(_)));
    }

    #[test]
    fn the_tui_check_is_read() {
        let good = r#"{"ocsweepTui":1,"ok":true,"id":"x","tui":"function","setup":"undefined","server":"undefined"}"#;
        let expected =
            TuiReport { imported: true, error: String::new(), tui: "function".into(), id: "string".into(), setup: "undefined".into() };
        assert_eq!(tui(&captured(ENDED, good, "")), expected);
        let broken = tui(&captured(ENDED, r#"{"ocsweepTui":1,"ok":false,"tui":"undefined","error":"boom"}"#, ""));
        assert_eq!((broken.imported, broken.error.as_str(), broken.id.as_str()), (false, "boom", "undefined"));
        assert_eq!(tui(&captured(Some(Exit::Code(1)), "", "oops")).error, "exit code 1: oops");
        assert!(tui(&captured(None, "", "")).error.contains("did not end"));
    }
}
