//! Infrastructure faults, limits and bounds: what kept the case from going on, before anything is said of the plugin.

use ocsweep_proto::agent::{Bound, Preflight, Timeout};
use ocsweep_proto::verdict::Reason;

use super::Case;
use super::findings::Findings;
use super::stage::pending;

/// Whether the evidence is too incomplete for any statement on the plugin; then the reason is among the findings.
pub(super) fn nothing_is_known(case: &Case<'_>, findings: &mut Findings) -> bool {
    let report = case.report();
    if machine_ran_out_of_memory(case) {
        findings.add(
            Reason::OomHost,
            "the kernel killed a process of the container for memory, far below the container's own limit: the machine had none left.",
        );
        return true;
    }
    if !case.raw.complete {
        if report.out_of_memory {
            findings.add(Reason::MemoryLimit, memory_text(case));
        } else {
            findings
                .add(Reason::StreamIncomplete, "the evidence stream has no end frame, so the case may have left more than was received.");
        }
        return true;
    }
    if let Some(fault) = &report.fault {
        // What a case leaves full, it leaves to the agent too: that is no fault of the machine.
        if report.out_of_memory {
            findings.add(Reason::MemoryLimit, memory_text(case));
            return true;
        }
        if report.out_of_processes {
            findings.add(Reason::ProcessLimit, processes_text(case));
            return true;
        }
        findings.add(Reason::Docker, format!("the agent in the container could not do its work: {fault}."));
        return true;
    }
    let explained =
        matches!(report.preflight, Some(Preflight::Failed(_) | Preflight::Hung | Preflight::Died(_))) || report.timeout.is_some();
    if report.exit.is_none()
        && !explained
        && !report.preflight.as_ref().is_some_and(|preflight| super::module_is_tui_only(case.work, preflight))
    {
        findings.add(Reason::StreamIncomplete, "the report says nothing of the host process.");
        return true;
    }
    false
}

/// A process was killed for memory although the container was nowhere near its limit.
fn machine_ran_out_of_memory(case: &Case<'_>) -> bool {
    let report = case.report();
    report.out_of_memory && report.peak_memory_bytes.is_some_and(|peak| peak < case.work.limits.memory_bytes / 4 * 3)
}

/// Adds every limit and bound that was reached.
pub(super) fn check(case: &Case<'_>, findings: &mut Findings) {
    let (report, limits) = (case.report(), &case.work.limits);
    if report.out_of_memory {
        findings.add(Reason::MemoryLimit, memory_text(case));
    }
    if report.out_of_processes {
        findings.add(Reason::ProcessLimit, processes_text(case));
    }
    for full in &report.full {
        let (name, bytes) = match full.as_str() {
            "home" => ("HOME", limits.home_bytes),
            "tmp" => ("TMPDIR", limits.tmp_bytes),
            _ => ("the project directory", limits.project_bytes),
        };
        findings.add(Reason::DiskLimit, format!("the case filled {name}, which holds {bytes} bytes."));
    }
    if let Some(timeout) = &report.timeout {
        add_timeout(case, timeout, findings);
    }
}

fn memory_text(case: &Case<'_>) -> String {
    let peak = case.report().peak_memory_bytes.map(|peak| format!("; its peak was {peak} bytes")).unwrap_or_default();
    format!("the case reached its memory limit of {} bytes{peak}.", case.work.limits.memory_bytes)
}

fn processes_text(case: &Case<'_>) -> String {
    format!("the case reached its limit of {} processes and threads.", case.work.limits.pids)
}

/// Init hangs are told by the stage; here are the bounds of the whole run.
fn add_timeout(case: &Case<'_>, timeout: &Timeout, findings: &mut Findings) {
    let ms = timeout.limit_ms;
    let (reason, text) = match timeout.bound {
        Bound::Init => return,
        Bound::Start => (Reason::TimeoutStart, format!("opencode gave no sign of life within {ms} ms (start bound)")),
        Bound::NoOutput => (Reason::TimeoutNoOutput, format!("opencode said nothing within {ms} ms (no-output bound)")),
        Bound::Total => (Reason::TimeoutTotal, format!("opencode run timed out after {ms}ms. It did not end within {ms} ms (total bound)")),
    };
    findings.add(reason, format!("{text}{}.", circumstances(case, timeout)));
}

fn circumstances(case: &Case<'_>, timeout: &Timeout) -> String {
    if case.seen.finished() {
        return "; its turn was complete and the process stayed alive".to_owned();
    }
    let pending = if timeout.pending.is_empty() { pending(case) } else { vec![timeout.pending.clone()] };
    if !pending.is_empty() {
        return format!("; still pending: {}", pending.join(", "));
    }
    let retried = case.seen.log.iter().rfind(|line| line.message() == "stream error").and_then(|line| line.get("error.error"));
    retried.map(|error| format!("; it was retrying a model call that failed with {error:?}")).unwrap_or_default()
}
