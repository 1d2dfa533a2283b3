//! Names of line v2, and what a hook's name means on either line. The lists follow what hosts of the line were seen or documented to have.

use crate::axes::Line;

use super::{V1_DEAD_HOOKS, V1_EVENTS, is_v1_hook, probe_kind};

/// Hooks of a v2 host, as `<domain>.<name>`.
pub const V2_HOOKS: [&str; 15] = [
    "tool.execute.before",
    "tool.execute.after",
    "shell.create.before",
    "session.prompt",
    "session.context",
    "session.compaction",
    "session.generate",
    "session.title",
    "session.model.request",
    "session.http.request",
    "session.http.response",
    "session.retry",
    "permission.evaluate",
    "aisdk.sdk",
    "aisdk.language",
];

/// Types of events that a v2 host sends.
pub const V2_EVENTS: [&str; 46] = [
    "session.created",
    "session.renamed",
    "session.deleted",
    "session.inbox.enqueued",
    "session.inbox.delivered",
    "session.execution.started",
    "session.execution.succeeded",
    "session.execution.failed",
    "session.execution.interrupted",
    "session.step.started",
    "session.step.ended",
    "session.step.failed",
    "session.text.started",
    "session.text.delta",
    "session.text.ended",
    "session.reasoning.started",
    "session.reasoning.delta",
    "session.reasoning.ended",
    "session.tool.input.started",
    "session.tool.input.delta",
    "session.tool.input.ended",
    "session.tool.called",
    "session.tool.progress",
    "session.tool.success",
    "session.tool.failed",
    "session.compaction.started",
    "session.compaction.ended",
    "session.usage.updated",
    "session.instructions.updated",
    "permission.asked",
    "permission.replied",
    "form.created",
    "shell.created",
    "shell.exited",
    "plugin.added",
    "plugin.updated",
    "config.updated",
    "agent.updated",
    "command.updated",
    "skill.updated",
    "tool.updated",
    "mcp.updated",
    "provider.updated",
    "model.updated",
    "integration.updated",
    "reference.updated",
];

/// Tools that v2 brings itself. `execute` runs Code Mode.
pub const V2_BUILTIN_TOOLS: [&str; 15] = [
    "edit",
    "execute",
    "glob",
    "grep",
    "patch",
    "question",
    "read",
    "shell",
    "skill",
    "subagent",
    "todoread",
    "todowrite",
    "webfetch",
    "websearch",
    "write",
];

/// The tool that runs Code Mode.
pub const V2_EXECUTE: &str = "execute";

/// What a hook's name in a scenario means on a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookOn {
    /// Probe records of this kind.
    Recorded(&'static str),
    /// A type of event.
    Event,
    /// The line has it, and no probe records it.
    NotRecorded,
    /// The line declares it and never triggers it.
    Dead,
    /// Only the other line has it, under this word when the line has a near relative.
    OtherLine(Option<&'static str>),
    /// No line has it.
    Unknown,
}

/// What a name means on a line. Every name that both lines know in some form is accepted on both.
#[must_use]
pub fn hook_on(line: Line, name: &str) -> HookOn {
    match line {
        Line::V1 => on_v1(name),
        Line::V2 => on_v2(name),
    }
}

/// Whether records or events can show on any line that a hook of this name ran.
#[must_use]
pub fn can_be_seen(name: &str) -> bool {
    [Line::V1, Line::V2].into_iter().any(|line| matches!(hook_on(line, name), HookOn::Recorded(_) | HookOn::Event))
}

fn on_v1(name: &str) -> HookOn {
    if V1_DEAD_HOOKS.contains(&name) {
        return HookOn::Dead;
    }
    match probe_kind(name) {
        Some("permission.evaluate") => HookOn::OtherLine(None),
        Some(kind) => HookOn::Recorded(kind),
        None if V1_EVENTS.contains(&name) => HookOn::Event,
        None if is_v1_hook(name) => HookOn::NotRecorded,
        None if V2_HOOKS.contains(&name) || V2_EVENTS.contains(&name) => HookOn::OtherLine(relative(name)),
        None => HookOn::Unknown,
    }
}

fn on_v2(name: &str) -> HookOn {
    if name == "permission.ask" {
        return HookOn::Recorded("permission.evaluate");
    }
    match probe_kind(name) {
        Some(kind) => HookOn::Recorded(kind),
        None if V2_EVENTS.contains(&name) => HookOn::Event,
        None if V2_HOOKS.contains(&name) => HookOn::NotRecorded,
        None if is_v1_hook(name) || V1_EVENTS.contains(&name) => HookOn::OtherLine(relative(name)),
        None => HookOn::Unknown,
    }
}

/// Hooks and events that do about the same on the two lines; the v1 word first.
const RELATIVES: [(&str, &str); 6] = [
    ("session.idle", "session.execution.succeeded"),
    ("session.error", "session.execution.failed"),
    ("session.compacted", "session.compaction.ended"),
    ("message.part.updated", "session.tool.success"),
    ("experimental.session.compacting", "session.compaction"),
    ("config", "config.updated"),
];

fn relative(name: &str) -> Option<&'static str> {
    RELATIVES.into_iter().find_map(|(first, second)| match name {
        name if name == first => Some(second),
        name if name == second => Some(first),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_the_same_on_both_lines_where_both_have_it() {
        for (name, kind) in [
            ("tool.execute.before", "tool.before"),
            ("tool.execute.after", "tool.after"),
            ("shell.env", "shell.before"),
            ("shell.create.before", "shell.before"),
            ("chat.message", "session.prompt"),
            ("session.prompt", "session.prompt"),
            ("experimental.chat.system.transform", "session.context"),
            ("session.context", "session.context"),
            ("chat.params", "model.request"),
            ("chat.headers", "model.request"),
            ("session.model.request", "model.request"),
            ("event", "event"),
        ] {
            for line in [Line::V1, Line::V2] {
                assert_eq!(hook_on(line, name), HookOn::Recorded(kind), "{name} on {line:?}");
            }
        }
    }

    #[test]
    fn what_one_line_has_alone_is_known_on_the_other() {
        use HookOn::{Dead, Event, NotRecorded, OtherLine, Recorded, Unknown};
        for (name, v1, v2) in [
            ("permission.ask", Dead, Recorded("permission.evaluate")),
            ("permission.evaluate", OtherLine(None), Recorded("permission.evaluate")),
            ("tool.definition", NotRecorded, OtherLine(None)),
            ("experimental.session.compacting", NotRecorded, OtherLine(Some("session.compaction"))),
            ("session.compaction", OtherLine(Some("experimental.session.compacting")), NotRecorded),
            ("session.idle", Event, OtherLine(Some("session.execution.succeeded"))),
            ("session.execution.succeeded", OtherLine(Some("session.idle")), Event),
            ("session.created", Event, Event),
            ("permission.asked", Event, Event),
            ("chat.mesage", Unknown, Unknown),
            ("", Unknown, Unknown),
        ] {
            assert_eq!((hook_on(Line::V1, name), hook_on(Line::V2, name)), (v1, v2), "{name}");
        }
    }

    #[test]
    fn what_no_line_records_cannot_be_seen() {
        for (name, seen) in
            [("shell.env", true), ("permission.ask", true), ("session.idle", true), ("tool.definition", false), ("x", false)]
        {
            assert_eq!(can_be_seen(name), seen, "{name}");
        }
    }

    #[test]
    fn every_listed_name_is_known_on_its_line() {
        for name in V2_HOOKS {
            assert!(matches!(hook_on(Line::V2, name), HookOn::Recorded(_) | HookOn::NotRecorded), "{name}");
        }
        for name in V2_EVENTS {
            assert_eq!(hook_on(Line::V2, name), HookOn::Event, "{name}");
        }
    }
}
