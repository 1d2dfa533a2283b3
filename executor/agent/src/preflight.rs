//! Importing the entry in the host's own runtime before the host does: which names it exports, or why it cannot be imported. The same way
//! of running serves the static check of a TUI plugin.
//!
//! The plugin's code runs here, so nothing of the answer is trusted beyond its shape, and nothing that it leaves behind survives.

use std::collections::BTreeMap;
use std::io;
use std::process::Command;
use std::time::Duration;

use ocsweep_proto::agent::{EXPORT_LIMIT, Exit, Export, ImportError, Preflight, TuiReport, paths};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::capture::{Captured, Unkillable, capture};
use crate::observer::file_url;
use crate::processes::Children;

/// Characters of output that explain a death.
const MAX_LAST_WORDS: usize = 2000;

/// Bytes that the names may take in the generated module, which lies in the agent's own tmpfs of 16 MiB.
const MAX_NAMES: usize = 12 * 1024 * 1024;
/// What stands around it.
const NAME_COST: usize = 64;

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
        Some(ImportAnswer { ok: true, exports, .. }) => bounded(exports.into_iter().map(export).collect()),
        Some(ImportAnswer { error, .. }) => Preflight::Failed(error),
        None if captured.exit.is_none() => Preflight::Hung,
        None => Preflight::Died(last_words(captured)),
    }
}

/// The plugin may have answered itself, so the script's own bound is no bound: a name stands twice in the generated module, escaped.
fn bounded(exports: Vec<Export>) -> Preflight {
    let size: usize = exports.iter().map(|export| 2 * export.name.chars().map(escaped).sum::<usize>() + NAME_COST).sum();
    if size <= MAX_NAMES {
        return Preflight::Imported(exports);
    }
    let message = format!("{} export names are too many, or too long, to be looked at one by one", exports.len());
    Preflight::Failed(ImportError { name: EXPORT_LIMIT.to_owned(), message, ..ImportError::default() })
}

/// Bytes of a character in a string literal.
const fn escaped(c: char) -> usize {
    match c {
        '"' | '\\' => 2,
        '\u{2028}' | '\u{2029}' => 6,
        c if c.is_ascii_control() => 6,
        c => c.len_utf8(),
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

/// Reads what the TUI check printed; `None` when its time was up before it had an answer.
pub(crate) fn tui(captured: &Captured) -> Option<TuiReport> {
    Some(match answer::<TuiAnswer>(captured, "ocsweepTui") {
        Some(TuiAnswer { setup, tui, id, error, .. }) => TuiReport {
            imported: setup.is_some(),
            error,
            tui,
            id: if id.is_some() { "string" } else { "undefined" }.to_owned(),
            setup: setup.unwrap_or_else(|| "undefined".to_owned()),
        },
        None if captured.exit.is_none() => return None,
        None => TuiReport { error: last_words(captured), ..TuiReport::default() },
    })
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
        assert_eq!(tui(&captured(ENDED, good, "")), Some(expected));
        let broken = tui(&captured(ENDED, r#"{"ocsweepTui":1,"ok":false,"tui":"undefined","error":"boom"}"#, "")).unwrap();
        assert_eq!((broken.imported, broken.error.as_str(), broken.id.as_str()), (false, "boom", "undefined"));
        assert_eq!(tui(&captured(Some(Exit::Code(1)), "", "oops")).unwrap().error, "exit code 1: oops");
        assert_eq!(tui(&captured(None, "noise", "")), None, "a hang is no failed import");
        assert!(tui(&captured(None, good, "")).unwrap().imported, "an answer that came before a hang at exit is an answer");
    }

    #[test]
    fn names_that_would_fill_the_assets_are_the_modules_own_fault() {
        let answer = |name: &str, count: usize| {
            let export = serde_json::json!({"name": name, "type": "function", "same": 0});
            let answer = serde_json::json!({"ocsweepPreflight": 1, "ok": true, "exports": vec![export; count]});
            preflight(&captured(ENDED, &answer.to_string(), ""))
        };
        // A control character or line separator takes six bytes, and a name stands there twice.
        for (name, good, bad) in [("\u{2028}".repeat(10_000), 100, 106), ("\u{1}".repeat(10_000), 100, 106)] {
            let Preflight::Imported(exports) = answer(&name, good) else { panic!("not imported") };
            let module = crate::observer::observer_module("file:///e.js", &Preflight::Imported(exports), None);
            assert!(module.len() <= MAX_NAMES + 1024, "{}", module.len());
            let Preflight::Failed(error) = answer(&name, bad) else { panic!("not refused") };
            assert_eq!(error.name, EXPORT_LIMIT);
        }
    }
}
