//! What a case left behind, parsed into one model that every judgement reads.
//!
//! Pure: no file, no socket, no clock. A plugin can write into every stream that it shares with the host, so parsing never fails: what
//! makes no sense is counted, kept as noise, or ignored.

mod calls;
mod json;
mod logfmt;
mod permission;
mod plugins;
mod probe;
mod stdout;
mod stub;
mod trace;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod v2_tests;

use ocsweep_proto::agent::{Report, StubRequest};
use ocsweep_proto::axes::Line;
use ocsweep_proto::config::NameLists;

pub use calls::{Call, CallStatus};
pub use json::is_same_but_clipped;
pub use logfmt::LogLine;
pub use permission::Rejection;
pub use plugins::PluginEntry;
pub use probe::Record;
pub use stdout::{HostError, HostEvents, InnerCall, Noise, ToolUse};
pub use stub::{catalog_text, offered_tools, system_text, tool_parameters};
pub use trace::{ClientCall, ExitCall, FactoryRun, HookRun, Listen, NetAttempt, PluginTrace, Thrown, ToolRun};

/// Everything that came out of a container, as bytes.
#[derive(Debug, Clone, Default)]
pub struct RawEvidence {
    /// The host's standard output.
    pub stdout: Vec<u8>,
    /// The host's standard error.
    pub stderr: Vec<u8>,
    /// Records of the probe before the plugin.
    pub probe_pre: Vec<u8>,
    /// Records of the observer around the plugin.
    pub probe_observer: Vec<u8>,
    /// Records of the probe after the plugin.
    pub probe_post: Vec<u8>,
    /// Model requests.
    pub stub_requests: Vec<StubRequest>,
    /// The agent's report.
    pub report: Report,
    /// The evidence stream had its end frame.
    pub complete: bool,
}

/// The parsed evidence of one case.
#[derive(Debug, Clone, Default)]
pub struct Observation {
    /// Events of the host.
    pub events: HostEvents,
    /// What else was on standard output.
    pub noise: Noise,
    /// Standard error as text.
    pub stderr: String,
    /// The log lines of standard error.
    pub log: Vec<LogLine>,
    /// Records of the probe before the plugin, in order.
    pub pre: Vec<Record>,
    /// Records of the probe after the plugin, in order.
    pub post: Vec<Record>,
    /// What the observer saw of the plugin.
    pub plugin: PluginTrace,
    /// The last inventory.
    pub inventory: Option<Inventory>,
    /// Tool calls, in order.
    pub calls: Vec<Call>,
    /// Permissions that the host refused because nobody could be asked.
    pub rejections: Vec<Rejection>,
    /// Probe lines that are no record.
    pub unparsed_lines: u64,
}

/// What the host said it has, when the first prompt arrived.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inventory {
    /// Names, by plural: `tools`, `commands`, `agents`, `skills`, `mcp`, `providers`, `models`.
    pub names: NameLists,
    /// Configured plugins, as written (line v1).
    pub plugins: Vec<String>,
    /// The host's own list of plugins (line v2).
    pub entries: Vec<PluginEntry>,
    /// Lists that the host did not answer for.
    pub missing: Vec<String>,
}

impl Observation {
    /// Parses the evidence of a case of line v1. Never fails.
    #[must_use]
    pub fn of(raw: &RawEvidence) -> Self {
        Self::on(Line::V1, raw)
    }

    /// Parses the evidence of a case. Never fails.
    #[must_use]
    pub fn on(line: Line, raw: &RawEvidence) -> Self {
        let (events, noise) = stdout::parse(&raw.stdout);
        let stderr = String::from_utf8_lossy(&raw.stderr).into_owned();
        let (pre, unparsed_pre) = probe::parse(&raw.probe_pre);
        let (post, unparsed_post) = probe::parse(&raw.probe_post);
        let (observer, unparsed_observer) = probe::parse(&raw.probe_observer);
        Self {
            log: logfmt::parse(&stderr),
            inventory: post.iter().rev().find(|record| record.kind == "inventory").map(inventory),
            calls: match line {
                Line::V1 => calls::join(&pre, &post, &events.tool_uses),
                Line::V2 => calls::v2::join(&pre, &post, &events.tool_uses),
            },
            rejections: permission::rejections(&stderr),
            plugin: trace::of(&observer),
            unparsed_lines: unparsed_pre + unparsed_post + unparsed_observer,
            events,
            noise,
            stderr,
            pre,
            post,
        }
    }

    /// The host brought its turn to an end, by an answer or by an error.
    #[must_use]
    pub fn finished(&self) -> bool {
        self.events.finishes > 0 && self.events.last_finish != "tool-calls" || !self.events.errors.is_empty()
    }
}

fn inventory(record: &Record) -> Inventory {
    let lists = ["tools", "commands", "agents", "skills", "mcp", "providers", "models"];
    Inventory {
        names: lists.into_iter().map(|list| (list.to_owned(), json::strings(record.fields.get(list)))).collect(),
        plugins: json::strings(record.fields.get("plugins")),
        entries: plugins::entries(record.fields.get("plugins")),
        missing: json::strings(record.fields.get("missing")),
    }
}
