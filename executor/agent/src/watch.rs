//! The bounds of a run as a state machine: fed with events and times, it says when the next bound falls due and which one was reached.
//!
//! Pure: it must never read a clock, wait or kill. Times are milliseconds since any fixed moment. What a plugin forges here can only change
//! which bound ends its own run, and the bound of the whole run depends on nothing that it can send.

use std::collections::BTreeMap;

use ocsweep_proto::agent::{Bound, Deadlines, StandIn, Timeout};
use serde::Deserialize;
use serde_json::Value;

/// Pending items of one sort that are kept; a plugin that starts more is watched by the other bounds.
const MAX_PENDING: usize = 256;
/// Characters kept of a name that a plugin chose.
const MAX_NAME: usize = 200;

/// The key under which the plugin's own setup is pending.
const SETUP: &str = "setup";

/// Something came from the host.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    /// Bytes on standard output.
    Stdout,
    /// A line of a probe.
    Probe,
    /// A probe was set up.
    SetUp(Side),
    /// A prompt has come to a probe: every plugin has been set up.
    Prompted,
    /// A line of the observer, which is a sign of life too.
    Observed(Record),
    /// Bytes on standard error, or a model request or its answer.
    Other,
}

/// Where a probe stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// In front of the plugin.
    Before,
    /// Behind it.
    After,
}

/// The fields of a record that matter here.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Record {
    kind: String,
    id: Value,
    export: Option<String>,
    hook: Option<String>,
    call: Option<String>,
}

impl Record {
    pub(crate) fn is(&self, kind: &str) -> bool {
        self.kind == kind
    }
}

#[derive(Debug)]
struct Pending {
    what: String,
    since: u64,
}

/// The state of a run.
#[derive(Debug)]
pub(crate) struct Watch {
    bounds: Deadlines,
    stand_in: StandIn,
    started: u64,
    last: u64,
    alive: bool,
    imported: bool,
    // In the order in which they began.
    pending: Vec<(String, Pending)>,
    clients: BTreeMap<String, String>,
}

impl Watch {
    /// A run that starts now.
    pub(crate) fn new(bounds: Deadlines, stand_in: StandIn, now: u64) -> Self {
        Self { bounds, stand_in, started: now, last: now, alive: false, imported: false, pending: Vec::new(), clients: BTreeMap::new() }
    }

    /// The import of the entry alone did not end: then it is pending in a host without an observer until the plugin's turn is over.
    pub(crate) fn expect_hang(&mut self, now: u64) {
        if self.stand_in == StandIn::Shim {
            self.begin(SETUP.to_owned(), "import of the entry".to_owned(), now);
        }
    }

    /// Takes an event into account.
    pub(crate) fn apply(&mut self, event: &Event, now: u64) {
        self.last = now;
        self.alive |= *event != Event::Other;
        match event {
            Event::Observed(record) => self.observe(record, now),
            Event::SetUp(side) => self.set_up(*side, now),
            Event::Prompted => self.end(SETUP),
            Event::Stdout | Event::Probe | Event::Other => {}
        }
    }

    /// A host without an observer sets plugins up one after the other, so the plugin's turn lies between those of the probes.
    fn set_up(&mut self, side: Side, now: u64) {
        match side {
            Side::Before if self.stand_in == StandIn::Shim && !self.pending.iter().any(|(key, _)| key == SETUP) => {
                self.begin(SETUP.to_owned(), "plugin setup".to_owned(), now);
            }
            Side::Before => {}
            Side::After => self.end(SETUP),
        }
    }

    /// When the next bound falls due, if nothing happens until then.
    pub(crate) fn due(&self) -> u64 {
        self.dates().map(|(date, _)| date).min().unwrap_or(u64::MAX)
    }

    /// The bound that has been reached. What is pending names most, so it is said first.
    pub(crate) fn expired(&self, now: u64) -> Option<Timeout> {
        self.dates().find(|(date, _)| now >= *date).map(|(_, bound)| self.timeout(bound))
    }

    fn dates(&self) -> impl Iterator<Item = (u64, Bound)> {
        let after = u64::saturating_add;
        let init = self.pending.iter().map(|(_, pending)| pending.since).min();
        let start = (!self.alive).then(|| (after(self.started, self.bounds.start), Bound::Start));
        init.map(|since| (after(since, self.bounds.init), Bound::Init))
            .into_iter()
            .chain(start)
            .chain([(after(self.last, self.bounds.no_output), Bound::NoOutput), (after(self.started, self.bounds.total), Bound::Total)])
    }

    fn timeout(&self, bound: Bound) -> Timeout {
        let limit_ms = match bound {
            Bound::Start => self.bounds.start,
            Bound::Init => self.bounds.init,
            Bound::NoOutput => self.bounds.no_output,
            Bound::Total => self.bounds.total,
        };
        let pending = self.pending.iter().min_by_key(|(_, pending)| pending.since).map(|(_, pending)| pending.what.clone());
        let mut pending = pending.unwrap_or_default();
        if !pending.is_empty() && !self.clients.is_empty() {
            pending.push_str(", waiting for ");
            pending.push_str(&self.clients.values().cloned().collect::<Vec<_>>().join(", "));
        }
        Timeout { bound, limit_ms, pending }
    }

    fn observe(&mut self, record: &Record, now: u64) {
        let key = |sort: &str| format!("{sort} {}", record.id);
        match record.kind.as_str() {
            "setup" if !self.imported => self.begin("import".to_owned(), "import of the entry".to_owned(), now),
            "import" => self.imported = true,
            "factory.start" => {
                self.imported = true;
                self.begin(key("factory"), format!("factory \"{}\"", name(record.export.as_deref())), now);
            }
            "factory.end" => self.end(&key("factory")),
            "hook.start" if record.hook.as_deref() == Some("config") => self.begin(key("hook"), "hook \"config\"".to_owned(), now),
            "hook.end" => self.end(&key("hook")),
            "client.start" if self.clients.len() < MAX_PENDING => {
                self.clients.insert(key("client"), name(record.call.as_deref()));
            }
            "client.end" => {
                self.clients.remove(&key("client"));
            }
            _ => {}
        }
        if self.imported {
            self.end("import");
        }
    }

    fn begin(&mut self, key: String, what: String, since: u64) {
        if self.pending.len() < MAX_PENDING {
            self.pending.push((key, Pending { what, since }));
        }
    }

    fn end(&mut self, key: &str) {
        if let Some(at) = self.pending.iter().position(|(other, _)| other == key) {
            self.pending.remove(at);
        }
    }
}

fn name(text: Option<&str>) -> String {
    text.unwrap_or("?").chars().take(MAX_NAME).collect()
}

#[cfg(test)]
mod tests;
