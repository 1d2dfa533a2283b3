//! Warnings about what the case did to its machine: files, standard output, processes, ports, connections, and what a cap cut off.

use ocsweep_proto::axes::Line;

use super::{Case, behaviour, inventory, observed, show};

/// Names that one warning lists.
const SHOWN: usize = 5;

/// The warnings of any row on which it shows.
pub(super) fn warnings(case: &Case<'_>) -> Vec<String> {
    let mut warnings = behaviour::warnings(case);
    if case.work.host.line == Line::V2 {
        warnings.extend(inventory::v2::warnings(case));
    }
    warnings.extend(writes(case));
    warnings.extend(noise(case));
    warnings.extend(leaks(case));
    warnings.extend(ports(case));
    warnings.extend(connections(case));
    warnings.extend(web_tools(case));
    warnings.extend(model_calls(case));
    warnings.extend(cuts(case));
    warnings
}

fn writes(case: &Case<'_>) -> Option<String> {
    let home: Vec<String> = observed::writes_outside(case).into_iter().filter(|path| path.starts_with("$HOME/")).collect();
    (!home.is_empty()).then(|| format!("writes outside the XDG directories, which are elsewhere: {}.", show::list(&home, SHOWN)))
}

fn noise(case: &Case<'_>) -> Option<String> {
    let noise = &case.seen.noise;
    let first = noise.first.first()?;
    let lines = if noise.lines == 1 { "1 line".to_owned() } else { format!("{} lines", noise.lines) };
    Some(format!("writes to stdout: {lines}, first: {}.", show::quoted(first)))
}

fn leaks(case: &Case<'_>) -> Vec<String> {
    let leaked = &case.report().leaked;
    let texts = leaked.iter().map(|process| {
        let command = show::cut(&process.command, 200);
        format!("leaves a process behind: `{command}` outlived the host and was ended by ocsweep.")
    });
    texts.collect()
}

fn ports(case: &Case<'_>) -> Vec<String> {
    let fixed = case.seen.plugin.listens.iter().filter(|listen| listen.port != 0 && listen.origin != "host");
    fixed
        .map(|listen| {
            let host = if listen.host.is_empty() { "*" } else { &listen.host };
            format!("listens on the fixed port {host}:{} ({}); a second host on the same machine cannot.", listen.port, listen.api)
        })
        .collect()
}

fn connections(case: &Case<'_>) -> Option<String> {
    let foreign: Vec<String> = observed::connections(case).into_iter().filter(|to| !observed::is_the_hosts(case, to)).collect();
    (!foreign.is_empty()).then(|| format!("tried to connect to {}; a case has no network.", show::list(&foreign, SHOWN)))
}

fn web_tools(case: &Case<'_>) -> Option<String> {
    let tools = observed::web_tools(case);
    (!tools.is_empty()).then(|| format!("the conversation used {}, which needs the network.", tools.join(" and ")))
}

/// A script of one answer is enough for a load; a plugin that goes on asking is worth a word.
fn model_calls(case: &Case<'_>) -> Option<String> {
    let more = case.report().stub.exhausted;
    (case.is_load() && more > 0).then(|| format!("the host asked the model {more} time(s) more than one turn needs."))
}

fn cuts(case: &Case<'_>) -> Vec<String> {
    let report = case.report();
    let mut warnings: Vec<String> = report
        .dropped
        .iter()
        .filter(|(_, lost)| **lost > 0)
        .map(|(what, lost)| match what.as_str() {
            "writes-outside" | "project-files" => format!("the list of {what} was cut: {lost} more paths are not in the evidence."),
            "leaked-processes" => format!("the list of {what} was cut: {lost} more are not in the evidence."),
            stream => {
                format!("{stream} was cut: {lost} bytes above the limit of {} are not in the evidence.", case.work.limits.stream_bytes)
            }
        })
        .collect();
    let unparsed = report.unparsed_probe_lines.max(case.seen.unparsed_lines);
    if unparsed > 0 {
        warnings.push(format!(
            "{unparsed} probe line(s) cannot be read, because two processes wrote at once or the plugin wrote into the probe."
        ));
    }
    warnings
}
