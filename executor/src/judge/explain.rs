//! Why an expectation does not hold, as far as the evidence tells: said only when one does not.

use ocsweep_proto::names;
use ocsweep_proto::verdict::Reason;

use super::findings::Findings;
use super::{Case, behaviour, show, surface, tools};
use crate::evidence::ToolRun;

/// Adds explanations behind failed expectations.
pub(super) fn check(case: &Case<'_>, findings: &mut Findings) {
    if !findings.has(Reason::Assertion) {
        return;
    }
    let expected: Vec<&str> = case.expect().iter().flat_map(|expect| &expect.tools).map(|tool| tool.name.as_str()).collect();
    let about = |tool: &str| expected.iter().any(|name| names::same_tool(name, tool));
    let mut texts: Vec<String> = case.seen.plugin.tools.iter().filter(|run| about(&run.tool)).filter_map(bad_result).collect();
    texts.extend(behaviour::replaced_arguments(case));
    texts.extend(refused(case, &expected));
    texts.extend(surface::dead_hooks(case));
    texts.extend(surface::unknown_hooks(case));
    texts.extend(behaviour::cut_handlers(case));
    for text in texts {
        findings.add(Reason::Assertion, text);
    }
}

/// What was wrong with a tool's result. The host's own message is minified and names neither tool nor type.
fn bad_result(run: &ToolRun) -> Option<String> {
    let tool = &run.tool;
    if let Some(error) = &run.error {
        return Some(format!("tool {tool} threw: {}.", show::thrown(&error.name, &error.message).trim_end_matches('.')));
    }
    let what = match run.result_type.as_str() {
        _ if !run.ended => return Some(format!("tool {tool} was called and did not come back before the host ended.")),
        "" | "string" => return None,
        "object" if run.has_output && matches!(run.output_type.as_str(), "" | "string") => return None,
        "object" if run.has_output => format!("an object whose \"output\" is {}", show::article(&run.output_type)),
        "object" => "an object without \"output\"".to_owned(),
        "undefined" => "nothing (undefined)".to_owned(),
        other => show::article(other),
    };
    Some(format!("tool {tool} returned {what}, expected a string or {{output}}."))
}

/// Errors of expected calls, which an expectation on the output alone does not show.
fn refused(case: &Case<'_>, expected: &[&str]) -> Vec<String> {
    let threw = |tool: &str| case.seen.plugin.tools.iter().any(|run| run.error.is_some() && names::same_tool(&run.tool, tool));
    let calls = expected.iter().filter(|name| !threw(name)).flat_map(|name| tools::calls_of(case, name));
    calls
        .filter_map(|call| Some(format!("the call of {} ended with an error: {}", call.name, show::quoted(call.error.as_deref()?))))
        .map(|text| format!("{text}."))
        .collect()
}
