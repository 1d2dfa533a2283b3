//! Names of tools and hooks: how two spellings of one tool are recognised, and what the hooks of both lines are called in probe records.
//!
//! Evidence and messages keep the word that the scenario used; only comparisons go through here.

pub mod v2;

/// A tool's name in the form that hosts record: the segments of a path joined by `_`.
///
/// `ns.spike_echo`, `tools.ns.spike_echo` and `tools["ns"]["spike_echo"]` are all `ns_spike_echo`. A bare name stays as it is.
#[must_use]
pub fn normalise_tool(name: &str) -> String {
    path_segments(name).map_or_else(|| name.replace('.', "_"), |segments| segments.join("_"))
}

/// What two spellings of one tool have in common, over both lines: `bash` is `shell`, `task` is `subagent`.
#[must_use]
pub fn tool_key(name: &str) -> String {
    let normalised = normalise_tool(name);
    match normalised.as_str() {
        "shell" => "bash".to_owned(),
        "subagent" => "task".to_owned(),
        _ => normalised,
    }
}

/// Whether two names mean the same tool.
#[must_use]
pub fn same_tool(left: &str, right: &str) -> bool {
    tool_key(left) == tool_key(right)
}

/// The segments behind `tools` of a path expression; `None` when the name is no such expression.
fn path_segments(name: &str) -> Option<Vec<String>> {
    let mut rest = name.strip_prefix("tools").filter(|rest| rest.starts_with(['.', '[']))?;
    let mut segments = Vec::new();
    while !rest.is_empty() {
        let (segment, after) =
            if let Some(inner) = rest.strip_prefix('[') { bracket_segment(inner)? } else { dot_segment(rest.strip_prefix('.')?)? };
        segments.push(segment);
        rest = after;
    }
    Some(segments)
}

fn dot_segment(rest: &str) -> Option<(String, &str)> {
    let end = rest.find(['.', '[']).unwrap_or(rest.len());
    let (segment, after) = rest.split_at(end);
    (!segment.is_empty()).then(|| (segment.to_owned(), after))
}

/// Characters that a recorded name cannot have become `_`, as in the host.
fn bracket_segment(rest: &str) -> Option<(String, &str)> {
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let inner = &rest[1..];
    let end = inner.find(quote)?;
    let after = inner[end + 1..].strip_prefix(']')?;
    let segment = inner[..end].chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect();
    Some((segment, after))
}

/// Kinds of probe records that a scenario's `hook` can name.
pub const PROBE_KINDS: [&str; 8] =
    ["tool.before", "tool.after", "shell.before", "session.prompt", "session.context", "model.request", "permission.evaluate", "event"];

/// The kind of probe record behind a hook's name of either line; `None` for a name that no line has.
#[must_use]
pub fn probe_kind(hook: &str) -> Option<&'static str> {
    let kind = match hook {
        "tool.execute.before" => "tool.before",
        "tool.execute.after" => "tool.after",
        "shell.env" | "shell.create.before" => "shell.before",
        "chat.message" | "session.prompt" => "session.prompt",
        "experimental.chat.system.transform" | "session.context" => "session.context",
        "chat.params" | "chat.headers" | "session.model.request" => "model.request",
        other => return PROBE_KINDS.into_iter().find(|kind| *kind == other),
    };
    Some(kind)
}

/// Every key that a v1 host reads of the object that a plugin returns.
pub const V1_HOOKS: [&str; 20] = [
    "event",
    "config",
    "tool",
    "auth",
    "provider",
    "chat.message",
    "chat.params",
    "chat.headers",
    "permission.ask",
    "command.execute.before",
    "tool.definition",
    "tool.execute.before",
    "tool.execute.after",
    "shell.env",
    "experimental.chat.messages.transform",
    "experimental.chat.system.transform",
    "experimental.compaction.autocontinue",
    "experimental.provider.small_model",
    "experimental.session.compacting",
    "experimental.text.complete",
];

/// Called once when the host ends; a key like the hooks, but nothing that a conversation can trigger.
pub const V1_DISPOSE: &str = "dispose";

/// Hooks that v1 declares in its types and never triggers.
pub const V1_DEAD_HOOKS: [&str; 1] = ["permission.ask"];

/// Types of events that a v1 `event` hook receives.
pub const V1_EVENTS: [&str; 17] = [
    "session.created",
    "session.updated",
    "session.status",
    "session.diff",
    "session.idle",
    "session.error",
    "session.deleted",
    "session.compacted",
    "message.updated",
    "message.removed",
    "message.part.updated",
    "message.part.removed",
    "permission.asked",
    "permission.replied",
    "file.edited",
    "command.executed",
    "todo.updated",
];

/// Tools that v1 brings itself.
pub const V1_BUILTIN_TOOLS: [&str; 14] = [
    "invalid",
    "question",
    "bash",
    "read",
    "glob",
    "grep",
    "edit",
    "write",
    "task",
    "webfetch",
    "todowrite",
    "websearch",
    "skill",
    "apply_patch",
];

/// The tool that v1 runs in the place of one that it does not know, or whose arguments it cannot read.
pub const V1_INVALID_TOOL: &str = "invalid";

/// Whether a v1 host reads a key of the object that a plugin returns.
#[must_use]
pub fn is_v1_hook(key: &str) -> bool {
    key == V1_DISPOSE || V1_HOOKS.contains(&key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_of_tools_become_what_hosts_record() {
        for (name, recorded) in [
            ("ns_spike_echo", "ns_spike_echo"),
            ("ns.spike_echo", "ns_spike_echo"),
            ("tools.ns.spike_echo", "ns_spike_echo"),
            (r#"tools.ns["my-tool"]"#, "ns_my-tool"),
            ("tools['ns']['my tool']", "ns_my_tool"),
            ("echo_tool", "echo_tool"),
            ("toolsmith", "toolsmith"),
            ("tools", "tools"),
            ("tools[broken", "tools[broken"),
            ("tools..x", "tools__x"),
            ("", ""),
        ] {
            assert_eq!(normalise_tool(name), recorded, "{name}");
        }
    }

    #[test]
    fn both_lines_words_mean_the_same_tool() {
        assert!(same_tool("bash", "shell") && same_tool("task", "subagent") && same_tool("tools.shell", "bash"));
        assert!(!same_tool("bash", "task") && !same_tool("ns_bash", "bash") && !same_tool("spike_echo", "ns_spike_echo"));
    }

    #[test]
    fn hooks_of_both_lines_have_one_kind() {
        for (hook, kind) in [
            ("tool.execute.before", Some("tool.before")),
            ("tool.execute.after", Some("tool.after")),
            ("shell.create.before", Some("shell.before")),
            ("shell.env", Some("shell.before")),
            ("session.context", Some("session.context")),
            ("experimental.chat.system.transform", Some("session.context")),
            ("session.prompt", Some("session.prompt")),
            ("chat.message", Some("session.prompt")),
            ("chat.params", Some("model.request")),
            ("tool.before", Some("tool.before")),
            ("event", Some("event")),
            ("chat.mesage", None),
            ("permission.ask", None),
        ] {
            assert_eq!(probe_kind(hook), kind, "{hook}");
        }
    }

    #[test]
    fn dead_hooks_are_known_hooks() {
        assert!(V1_DEAD_HOOKS.into_iter().all(is_v1_hook) && is_v1_hook("dispose"));
        assert!(!is_v1_hook("chat.mesage") && !is_v1_hook("onSessionIdle") && !is_v1_hook(""));
    }

    proptest! {
        #[test]
        fn normalising_twice_changes_nothing(name in r#"(tools)?([.\[\]"'a-z_$ -]|tools){0,16}"#) {
            let once = normalise_tool(&name);
            prop_assert_eq!(normalise_tool(&once), once);
        }

        #[test]
        fn a_tool_is_the_same_as_itself(name in "\\PC{0,20}") {
            prop_assert!(same_tool(&name, &normalise_tool(&name)));
        }
    }
}
