//! How far a plugin came on line v2. The host lists its plugins with their states, and only its entry there is evidence; what the preflight
//! learned explains a failure and never makes one.

use ocsweep_proto::agent::{Bound, Preflight, paths};
use ocsweep_proto::verdict::Reason;

use super::definition;
use super::{entry, import_text, imported};
use crate::evidence::{LogLine, PluginEntry};
use crate::judge::findings::Findings;
use crate::judge::{Case, host, show};

/// The directory that stands in the configuration for the plugin under test.
pub(in crate::judge) const SHIM: &str = "plugin-under-test";

/// Whether a path, or a file URL, is the stand-in or a file of it.
fn is_shim(path: &str) -> bool {
    is_in(path, SHIM)
}

/// Whether a path, or a file URL, is a directory of the assets or a file directly inside of it.
pub(in crate::judge) fn is_in(path: &str, directory: &str) -> bool {
    let path = path.strip_prefix("file://").unwrap_or(path);
    let inside = path.strip_prefix(paths::ASSETS).and_then(|rest| rest.strip_prefix('/')).and_then(|rest| rest.strip_prefix(directory));
    inside.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('/').is_some_and(|file| !file.contains('/')))
}

/// The plugin's entry in the host's list.
pub(in crate::judge) fn own<'a>(case: &Case<'a>) -> Option<&'a PluginEntry> {
    let mut own = case.seen.inventory.as_ref()?.entries.iter().filter(|entry| is_own(entry)).peekable();
    let first = own.peek().copied();
    own.find(|entry| entry.status.as_deref() != Some("active")).or(first)
}

/// Whether an entry of the host's list is the stand-in's.
pub(in crate::judge) fn is_own(entry: &PluginEntry) -> bool {
    entry.path.as_deref().or(entry.target.as_deref()).is_some_and(is_shim)
}

/// Adds what kept the plugin from coming up.
pub(super) fn check(case: &Case<'_>, findings: &mut Findings) {
    let report = case.report();
    if let Some(timeout) = report.timeout.as_ref().filter(|timeout| timeout.bound == Bound::Init) {
        let pending = if timeout.pending.is_empty() { "plugin setup" } else { &timeout.pending };
        let import = if report.preflight == Some(Preflight::Hung) {
            format!("; import of {} alone did not end either", entry(case))
        } else {
            String::new()
        };
        findings.add(
            Reason::InitHang,
            format!(
                "plugin init did not finish within {} ms (init bound): {pending} of {}; the host waits for it, so nothing behind it was reached{import}.",
                timeout.limit_ms,
                entry(case)
            ),
        );
        return;
    }
    if report.exit.is_none() && report.timeout.is_none() {
        // The host was not started: then what the preflight learned is all there is.
        explain(case, findings);
        return;
    }
    match own(case).map(|own| (own, own.status.as_deref())) {
        Some((own, Some("failed"))) => failed(case, own, findings),
        Some((_, Some("active"))) | None => {}
        Some((_, other)) => {
            let status = other.map_or_else(|| "no status".to_owned(), |word| format!("the status {}", show::quoted(word)));
            findings.add(Reason::SetupFailed, format!("{} has {status} in the host's list of plugins, expected \"active\".", entry(case)));
        }
    }
}

/// The host's own word for a plugin that failed, behind what explains it.
fn failed(case: &Case<'_>, own: &PluginEntry, findings: &mut Findings) {
    let told = own.error.as_deref().map(str::trim).filter(|error| !error.is_empty());
    let logged = told.is_none().then(|| logged(case, own.id.as_deref())).flatten();
    let logged = logged.map(|cause| format!("; the log says: {}", show::cut(&show::in_bundle(cause), 500))).unwrap_or_default();
    let place = told.and_then(show::place_in_bundle).map(|place| format!(" ({place})")).unwrap_or_default();
    let text = format!("plugin setup failed: {}{place}{logged}", show::thrown("", told.unwrap_or_default()));
    if told.is_some_and(definition::is_refusal) {
        let told = show::thrown("", told.unwrap_or_default());
        findings.add(Reason::BadExport, format!("the host rejects the module: {}.", told.trim_end_matches('.')));
        for problem in imported(case).map(definition::problems).unwrap_or_default() {
            findings.add(Reason::BadExport, problem);
        }
        findings.add(Reason::BadExport, text);
    } else if explain(case, findings) {
        findings.add(findings.reason().unwrap_or(Reason::SetupFailed), text);
    } else {
        findings.add(Reason::SetupFailed, text);
    }
}

/// Adds what the preflight knows of a module that cannot be imported; `false` when it knows nothing.
fn explain(case: &Case<'_>, findings: &mut Findings) -> bool {
    match &case.report().preflight {
        Some(Preflight::Failed(error)) => findings.add(Reason::ImportFailed, import_text(case, error)),
        Some(Preflight::Died(how)) => {
            let how = show::cut(&show::in_bundle(how.trim()), 1000);
            findings.add(Reason::ImportFailed, format!("import of {} ended the process: {how}.", entry(case)));
        }
        Some(Preflight::Hung) => {
            let ms = case.work.limits.init_ms;
            findings.add(Reason::InitHang, format!("import of {} did not finish within {ms} ms (init bound).", entry(case)));
        }
        Some(Preflight::Imported(_)) | None => return false,
    }
    true
}

/// Adds that nothing shows the plugin at work, unless something already says why: a stage, or a host that did not come so far.
pub(super) fn registration(case: &Case<'_>, findings: &mut Findings) {
    let came_so_far = case.ended_by_itself() && !findings.has(Reason::HostCrashed) && host::invalid_config(case).is_none();
    if findings.has_stage() || !came_so_far {
        return;
    }
    let Some(inventory) = &case.seen.inventory else {
        findings.add(Reason::ExpectationMissing, "no inventory was recorded.");
        return;
    };
    if own(case).is_some() {
        return;
    }
    if inventory.missing.iter().any(|list| list == "plugins") {
        findings.add(Reason::HostError, "the host did not answer for its list of plugins, so nothing shows that the plugin is active.");
        return;
    }
    absent(case, findings);
}

/// Early hosts leave a plugin that failed out of their list; the log may still name it.
fn absent(case: &Case<'_>, findings: &mut Findings) {
    let text = format!("plugin never registered: the host's list of plugins has no entry for {}.", entry(case));
    let problems = imported(case).map(definition::problems).unwrap_or_default();
    if let Some(cause) = logged(case, definition::id(case)) {
        let cause = show::cut(&show::in_bundle(cause), 500);
        let reason = if definition::is_refusal(&cause) { Reason::BadExport } else { Reason::SetupFailed };
        let reason = if explain(case, findings) { Reason::ImportFailed } else { reason };
        findings.add(reason, format!("plugin setup failed: the log says: {cause}"));
        findings.add(reason, text);
    } else if explain(case, findings) {
        findings.add(findings.reason().unwrap_or(Reason::NotResolved), text);
    } else if problems.is_empty() {
        findings.add(Reason::NotResolved, text);
    } else {
        findings.add(Reason::BadExport, text);
        for problem in problems {
            findings.add(Reason::BadExport, problem);
        }
    }
}

/// The cause in the host's log line for this plugin, whether it threw in its setup or could not be imported.
fn logged<'a>(case: &Case<'a>, id: Option<&str>) -> Option<&'a str> {
    let line = case.seen.log.iter().find(|line| is_load_failure(line, id))?;
    line.get("cause").or_else(|| line.get("error"))
}

/// Whether a line says that this plugin could not be loaded: by its id, or by where it is.
pub(in crate::judge) fn is_load_failure(line: &LogLine, id: Option<&str>) -> bool {
    let by_id = || id.is_some_and(|id| line.get("plugin.id") == Some(id));
    let by_path = || ["target", "path", "entrypoint", "id"].into_iter().filter_map(|key| line.get(key)).any(is_of_the_plugin);
    line.message().contains("failed to load plugin") && (by_id() || by_path())
}

/// Whether a path is the stand-in's or lies in the bundle.
pub(in crate::judge) fn is_of_the_plugin(path: &str) -> bool {
    let plain = path.strip_prefix("file://").unwrap_or(path);
    let plain = plain.split('?').next().unwrap_or(plain);
    is_shim(plain) || plain == paths::BUNDLE || plain.strip_prefix(paths::BUNDLE).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stand_in_is_known_by_its_place() {
        for (path, shim) in [
            ("/run/ocsweep/assets/plugin-under-test", true),
            ("/run/ocsweep/assets/plugin-under-test/server.js", true),
            ("file:///run/ocsweep/assets/plugin-under-test/server.js", true),
            ("/run/ocsweep/assets/plugin-under-test/deep/server.js", false),
            ("/run/ocsweep/assets/plugin-under-tests/server.js", false),
            ("/evil/run/ocsweep/assets/plugin-under-test/server.js", false),
            ("plugin-under-test", false),
        ] {
            assert_eq!(is_shim(path), shim, "{path}");
        }
        assert!(is_of_the_plugin("/opt/ocsweep/bundle/index.js?mtime=1") && !is_of_the_plugin("/opt/ocsweep/bundles/index.js"));
    }
}
