//! The static check of a TUI plugin. A server host never loads one, so its load case is what an import shows.

use ocsweep_proto::agent::{Export, Preflight, Report, TuiReport};
use ocsweep_proto::axes::{Line, Tier};
use ocsweep_proto::job::CaseWork;
use ocsweep_proto::verdict::Reason;

use super::findings::Findings;
use super::stage::definition;
use super::{Judgement, show};
use crate::evidence::RawEvidence;

/// Why cases with a conversation do not apply.
const SKIPPED: &str = "TUI-only plugin: it has no server part that a conversation could reach";

/// Whether a module is a TUI plugin and nothing else. On v1: a default object with `tui` and without `server`. On v2: nothing that a server
/// could start, beside a `tui` or a TUI entry of its own.
#[must_use]
pub fn module_is_tui_only(work: &CaseWork, preflight: &Preflight) -> bool {
    let Preflight::Imported(exports) = preflight else { return false };
    if work.host.line == Line::V2 {
        return definition::is_nothing_for_a_server(exports, work.subject.entries.tui.is_some());
    }
    default_object(exports).is_some_and(|default| has(default, "tui") && !has(default, "server"))
}

fn default_object(exports: &[Export]) -> Option<&Export> {
    exports.iter().find(|export| export.name == "default" && export.kind == "object")
}

fn has(export: &Export, key: &str) -> bool {
    export.keys.get(key).is_some_and(|kind| kind != "undefined")
}

/// The judgement of a case whose module turned out to be a TUI plugin; `None` when it is none.
pub(super) fn by_module(work: &CaseWork, report: &Report) -> Option<Judgement> {
    let preflight = report.preflight.as_ref().filter(|preflight| module_is_tui_only(work, preflight))?;
    if work.tier != Tier::Load {
        return Some(skipped());
    }
    let Preflight::Imported(exports) = preflight else { return None };
    if work.host.line == Line::V2 {
        return Some(by_module_v2(work, report, exports));
    }
    let kind = default_object(exports).and_then(|default| default.keys.get("tui")).map_or("undefined", String::as_str);
    let check = TuiReport { imported: true, tui: kind.to_owned(), ..TuiReport::default() };
    let hint =
        "exports tui and no server: checked as a TUI plugin; it belongs into tui.json, not into the server's plugin list.".to_owned();
    Some(Judgement { warnings: vec![hint], ..verdict(Line::V1, &check) })
}

/// The static check of a v2 package whose server entry has nothing for a server: of its TUI entry when that was imported. A module that
/// nobody looked at has not passed.
fn by_module_v2(work: &CaseWork, report: &Report, exports: &[Export]) -> Judgement {
    if let Some(check) = &report.tui {
        return verdict(Line::V2, check);
    }
    let kind = |key: &str| default_object(exports).and_then(|default| default.keys.get(key)).cloned().unwrap_or_default();
    let check = TuiReport { imported: true, tui: kind("tui"), id: kind("id"), setup: kind("setup"), ..TuiReport::default() };
    let mut judgement = verdict(Line::V2, &check);
    judgement.failures.insert(0, "the server entry has no `setup` and no `effect`, so a server host can start nothing of it.".to_owned());
    if let Some(tui) = &work.subject.entries.tui {
        judgement.warnings.push(format!("the package has a TUI entry ({tui}): set plugin.ui to true to have it checked as a TUI plugin."));
    }
    judgement
}

/// Judges a case of a plugin that is TUI-only by its paths or by configuration.
#[must_use]
pub fn judge_tui(work: &CaseWork, raw: &RawEvidence) -> Judgement {
    if work.tier != Tier::Load {
        return skipped();
    }
    let mut findings = Findings::default();
    if !raw.complete {
        findings.add(Reason::StreamIncomplete, "the evidence stream has no end frame, so the check may not have ended.");
    } else if let Some(fault) = &raw.report.fault {
        findings.add(Reason::Docker, format!("the agent in the container could not do its work: {fault}."));
    } else if let Some(timeout) = &raw.report.timeout {
        findings.add(Reason::InitHang, format!("import of the TUI entry did not finish within {} ms (init bound).", timeout.limit_ms));
    } else if let Some(check) = &raw.report.tui {
        return verdict(work.host.line, check);
    } else {
        findings.add(Reason::StreamIncomplete, "the report holds no answer of the TUI check.");
    }
    Judgement { reason: findings.reason(), failures: findings.texts(), timed_out: raw.report.timeout.is_some(), ..Judgement::default() }
}

fn skipped() -> Judgement {
    Judgement { reason: Some(Reason::NotApplicable), skipped: Some(SKIPPED.to_owned()), ..Judgement::default() }
}

fn verdict(line: Line, check: &TuiReport) -> Judgement {
    let mut findings = Findings::default();
    if !check.imported {
        findings.add(
            Reason::ImportFailed,
            format!("import of the TUI entry failed: {}.", show::cut(&show::in_bundle(check.error.trim().trim_end_matches('.')), 1000)),
        );
    } else {
        let wanted: &[(&str, &str, &str)] = match line {
            Line::V1 => &[("tui", "function", &check.tui)],
            Line::V2 => &[("id", "string", &check.id), ("setup", "function", &check.setup)],
        };
        for (key, kind, found) in wanted.iter().filter(|(_, kind, found)| kind != found) {
            let found = if found.is_empty() { "undefined" } else { found };
            findings.add(
                Reason::BadExport,
                format!("`{key}` of the default export is {}, expected {}.", show::article(found), show::article(kind)),
            );
        }
    }
    Judgement { reason: findings.reason(), failures: findings.texts(), ..Judgement::default() }
}
