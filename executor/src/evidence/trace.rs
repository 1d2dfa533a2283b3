//! What the observer module saw of the plugin: its import, its factories, hooks, tools, calls of the host's client, exits and sockets.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::json;
use super::probe::Record;

/// The observer's records, put together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PluginTrace {
    /// The observer module itself ran.
    pub alive: bool,
    /// The entry was imported; the error when it was not. `None`: the import never ended.
    pub import: Option<Result<(), Thrown>>,
    /// Calls of exported functions, in order.
    pub factories: Vec<FactoryRun>,
    /// Calls of hooks, in order.
    pub hooks: Vec<HookRun>,
    /// Calls of the plugin's own tools, in order.
    pub tools: Vec<ToolRun>,
    /// Calls of the host's client.
    pub client: Vec<ClientCall>,
    /// Calls that end the process.
    pub exits: Vec<ExitCall>,
    /// Connections that were asked for.
    pub net: Vec<NetAttempt>,
    /// Servers on fixed ports.
    pub listens: Vec<Listen>,
}

/// A thrown value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Thrown {
    /// Class.
    pub name: String,
    /// Message.
    pub message: String,
    /// Stack.
    pub stack: String,
}

/// One call of an exported function by the host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FactoryRun {
    /// Name of the export.
    pub export: String,
    /// It came back.
    pub ended: bool,
    /// What it threw.
    pub error: Option<Thrown>,
    /// `typeof` of what it returned, or `null`.
    pub returned: String,
    /// Keys of what it returned.
    pub hooks: Vec<String>,
    /// Their types.
    pub hook_types: BTreeMap<String, String>,
    /// Names of its tools.
    pub tools: Vec<String>,
}

/// One call of a hook.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookRun {
    /// Hook.
    pub hook: String,
    /// Type of the event, for the hook `event`.
    pub event: Option<String>,
    /// It came back.
    pub ended: bool,
    /// What it threw.
    pub error: Option<Thrown>,
}

/// One call of a plugin's own tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolRun {
    /// Tool.
    pub tool: String,
    /// Call.
    pub call_id: String,
    /// It came back.
    pub ended: bool,
    /// What it threw.
    pub error: Option<Thrown>,
    /// `typeof` of the result.
    pub result_type: String,
    /// The result is an object with `output`.
    pub has_output: bool,
    /// `typeof` of that output.
    pub output_type: String,
}

/// A call of the client that the host hands to a plugin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientCall {
    /// For example `session.list`.
    pub call: String,
    /// It came back.
    pub ended: bool,
}

/// A call that ends the host's process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExitCall {
    /// Exit code or signal, as text; empty when the call has none.
    pub code: String,
    /// For example `process.exit`.
    pub api: String,
    /// Where it was called.
    pub stack: String,
    /// What was running, or had just ended.
    pub during: Vec<String>,
    /// Whose code called: `plugin`, `host` or `unknown`; empty when the observer did not say.
    pub origin: String,
    /// Last-resort events, such as `unhandledRejection`, that the plugin listens to.
    pub listeners: Vec<String>,
}

/// A connection that was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetAttempt {
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: Option<u64>,
    /// It stays on the machine.
    pub loopback: bool,
    /// Whose code asked, as for exits.
    pub origin: String,
}

/// A server on a fixed port.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listen {
    /// For example `net.Server.listen`.
    pub api: String,
    /// Address; may be empty.
    pub host: String,
    /// Port.
    pub port: u64,
    /// Whose code listens, as for exits.
    pub origin: String,
}

/// Puts the records of the observer together.
pub(super) fn of(records: &[Record]) -> PluginTrace {
    let mut builder = Builder::default();
    for record in records {
        builder.add(record);
    }
    builder.trace
}

/// Open calls by the id that start and end share. The counters of the kinds are independent.
#[derive(Default)]
struct Builder {
    trace: PluginTrace,
    factories: HashMap<String, usize>,
    hooks: HashMap<String, usize>,
    tools: HashMap<String, usize>,
    client: HashMap<String, usize>,
}

impl Builder {
    fn add(&mut self, record: &Record) {
        let trace = &mut self.trace;
        match record.kind.as_str() {
            "setup" => trace.alive = true,
            "import" => trace.import = Some(thrown(record).map_or(Ok(()), Err)),
            "factory.start" => open(&mut trace.factories, &mut self.factories, record, |record| FactoryRun {
                export: record.text("export"),
                ..FactoryRun::default()
            }),
            "factory.end" => close(&mut trace.factories, &self.factories, record, end_factory),
            "hook.start" => open(&mut trace.hooks, &mut self.hooks, record, start_hook),
            "hook.end" => close(&mut trace.hooks, &self.hooks, record, |hook, record| {
                hook.ended = true;
                hook.error = thrown(record);
            }),
            "tool.start" => open(&mut trace.tools, &mut self.tools, record, |record| ToolRun {
                tool: record.text("tool"),
                call_id: record.text("callID"),
                ..ToolRun::default()
            }),
            "tool.end" => close(&mut trace.tools, &self.tools, record, end_tool),
            "client.start" => {
                open(&mut trace.client, &mut self.client, record, |record| ClientCall { call: record.text("call"), ended: false })
            }
            "client.end" => close(&mut trace.client, &self.client, record, |call, _| call.ended = true),
            "exit" => trace.exits.push(exit(record)),
            "net" => trace.net.push(net(record)),
            "listen" => trace.listens.push(listen(record)),
            _ => {}
        }
    }
}

fn open<T>(list: &mut Vec<T>, index: &mut HashMap<String, usize>, record: &Record, make: impl FnOnce(&Record) -> T) {
    if let Some(id) = record.key("id") {
        index.insert(id, list.len());
    }
    list.push(make(record));
}

/// An end without a start, for example behind a cut, says nothing.
fn close<T>(list: &mut [T], index: &HashMap<String, usize>, record: &Record, end: impl FnOnce(&mut T, &Record)) {
    let position = record.key("id").and_then(|id| index.get(&id).copied());
    if let Some(run) = position.and_then(|position| list.get_mut(position)) {
        end(run, record);
    }
}

fn start_hook(record: &Record) -> HookRun {
    let event = record.fields.get("event").and_then(Value::as_str).map(str::to_owned);
    HookRun { hook: record.text("hook"), event, ..HookRun::default() }
}

fn end_factory(run: &mut FactoryRun, record: &Record) {
    run.ended = true;
    run.error = thrown(record);
    run.returned = record.text("returned");
    run.hooks = json::strings(record.fields.get("hooks"));
    run.tools = json::strings(record.fields.get("tools"));
    let types = record.fields.get("hookTypes").and_then(Value::as_object);
    run.hook_types = types.into_iter().flatten().filter_map(|(key, kind)| Some((key.clone(), kind.as_str()?.to_owned()))).collect();
}

fn end_tool(run: &mut ToolRun, record: &Record) {
    run.ended = true;
    run.error = thrown(record);
    run.result_type = record.text("resultType");
    run.has_output = record.fields.get("hasOutput").and_then(Value::as_bool).unwrap_or(false);
    run.output_type = record.text("outputType");
}

fn thrown(record: &Record) -> Option<Thrown> {
    match record.fields.get("error")? {
        Value::Null => None,
        Value::Object(error) => Some(Thrown {
            name: json::text(error.get("name")),
            message: json::text(error.get("message")),
            stack: json::text(error.get("stack")),
        }),
        other => Some(Thrown { message: json::key(Some(other)).unwrap_or_default(), ..Thrown::default() }),
    }
}

fn exit(record: &Record) -> ExitCall {
    ExitCall {
        code: record.key("code").unwrap_or_default(),
        api: record.text("api"),
        stack: record.text("stack"),
        during: json::strings(record.fields.get("during")),
        origin: record.text("origin"),
        listeners: json::strings(record.fields.get("listeners")),
    }
}

fn net(record: &Record) -> NetAttempt {
    let loopback = record.fields.get("loopback").and_then(Value::as_bool).unwrap_or(false);
    NetAttempt { host: record.text("host"), port: number(record, "port"), loopback, origin: record.text("origin") }
}

fn listen(record: &Record) -> Listen {
    let port = number(record, "port").unwrap_or(0);
    Listen { api: record.text("api"), host: record.text("host"), port, origin: record.text("origin") }
}

/// A number, or a text that is one.
fn number(record: &Record, field: &str) -> Option<u64> {
    record.fields.get(field)?.as_u64().or_else(|| record.text(field).parse().ok())
}
