//! Decoder of `config.yaml` and `config.json`.

use ocsweep_proto::axes::{Jit, VERSION_RULE, VersionWord};
use ocsweep_proto::config::{Bootstrap, Config, GateConfig, InventoryExpect, LiveConfig, LogLevel, OpencodeConfig, PluginConfig};
use ocsweep_proto::limits::LimitOverrides;

use super::decode::{Fields, amount, any_object, boolean, integer, list, non_empty, string, word};
use super::issue::{Issues, Path};
use super::node::{Data, Node};
use super::variant::variants;

const U32_MAX: i128 = u32::MAX as i128;
const U64_MAX: i128 = u64::MAX as i128;

/// Decodes the whole file; what could not be understood is in `issues` and has its default in the result.
pub(crate) fn config(node: &Node, issues: &mut Issues) -> Config {
    let path = Path::Root;
    let Some(mut fields) = Fields::open(node, &path, issues) else {
        return Config::default();
    };
    let config = Config {
        plugin: fields.optional("plugin", plugin).unwrap_or_default(),
        opencode: fields.optional("opencode", opencode).unwrap_or_default(),
        expect: fields.optional("expect", inventory).unwrap_or_default(),
        live: fields.optional("live", live).unwrap_or_default(),
        gate: fields.optional("gate", gate).unwrap_or_default(),
        log_level: fields.optional("logLevel", word(&[("info", LogLevel::Info), ("all", LogLevel::All)])).unwrap_or_default(),
        jit: fields.optional("jit", word(&[("reduced", Jit::Reduced), ("full", Jit::Full)])),
        variants: fields.optional("variants", variants).unwrap_or_default(),
        limits: fields.optional("limits", limits).unwrap_or_default(),
    };
    fields.close();
    config
}

fn plugin(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<PluginConfig> {
    let mut fields = Fields::open(node, path, issues)?;
    let plugin = PluginConfig {
        path: fields.optional("path", string).unwrap_or(PluginConfig::default().path),
        entry: fields.optional("entry", string),
        install: fields.optional("install", string),
        build: fields.optional("build", string),
        options: fields.optional("options", any_object).unwrap_or_default(),
        ui: fields.optional("ui", boolean).unwrap_or_default(),
    };
    fields.close();
    Some(plugin)
}

fn opencode(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<OpencodeConfig> {
    let mut fields = Fields::open(node, path, issues)?;
    let versions = fields.optional("versions", versions);
    fields.close();
    Some(versions.map_or_else(OpencodeConfig::default, |versions| OpencodeConfig { versions }))
}

fn versions(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<Vec<VersionWord>> {
    if matches!(&node.data, Data::Array(items) if items.is_empty()) {
        issues.push(path, node.span, "Too small: expected array to have >=1 items");
    }
    list(version)(node, path, issues)
}

fn version(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<VersionWord> {
    if let Data::Number(_) = node.data {
        let issue = issues.push(path, node.span, "Invalid input: expected string, received number");
        issue.hint("write the version in full and in quotes, like \"1.18.33\"");
        return None;
    }
    let text = string(node, path, issues)?;
    let parsed = text.parse().ok();
    if parsed.is_none() {
        let issue = issues.push(path, node.span, VERSION_RULE);
        if let Some(bare) = text.strip_prefix('v').filter(|bare| bare.parse::<VersionWord>().is_ok()) {
            issue.hint(format!("write \"{bare}\""));
        }
    }
    parsed
}

fn inventory(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<InventoryExpect> {
    let mut fields = Fields::open(node, path, issues)?;
    let mut names = |key| fields.optional(key, list(string)).unwrap_or_default();
    let expect = InventoryExpect {
        tools: names("tools"),
        commands: names("commands"),
        agents: names("agents"),
        skills: names("skills"),
        mcp: names("mcp"),
        providers: names("providers"),
        models: names("models"),
    };
    fields.close();
    Some(expect)
}

fn live(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<LiveConfig> {
    let defaults = LiveConfig::default();
    let mut fields = Fields::open(node, path, issues)?;
    let live = LiveConfig {
        model: fields.optional("model", string),
        keys: fields.optional("keys", list(string)).unwrap_or(defaults.keys),
        repeat: fields.optional("repeat", integer(1, U32_MAX)).unwrap_or(defaults.repeat),
        pass: fields.optional("pass", integer(1, U32_MAX)).unwrap_or(defaults.pass),
        budget_usd: fields.optional("budgetUSD", amount).unwrap_or(defaults.budget_usd),
        timeout_ms: fields.optional("timeoutMs", integer(1, U64_MAX)).unwrap_or(defaults.timeout_ms),
    };
    fields.close();
    if live.pass > live.repeat {
        let at = node.get("pass").or_else(|| node.get("repeat"));
        let message = format!("\"live.pass\" ({}) must not be greater than \"live.repeat\" ({})", live.pass, live.repeat);
        issues.push(&path.key("pass"), at.map_or(node.span, |member| member.node.span), message);
    }
    Some(live)
}

fn gate(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<GateConfig> {
    let defaults = GateConfig::default();
    let mut fields = Fields::open(node, path, issues)?;
    fields.removed(&[("window", "remove it: the gate's rule is fixed"), ("threshold", "remove it: the gate's rule is fixed")]);
    let gate = GateConfig {
        enabled: fields.optional("enabled", boolean).unwrap_or(defaults.enabled),
        bootstrap: fields.optional("bootstrap", word(&[("fail", Bootstrap::Fail), ("allow", Bootstrap::Allow)])).unwrap_or_default(),
        workflow: fields.optional("workflow", non_empty),
        artifact: fields.optional("artifact", non_empty).unwrap_or(defaults.artifact),
    };
    fields.close();
    Some(gate)
}

fn limits(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<LimitOverrides> {
    let mut fields = Fields::open(node, path, issues)?;
    let mut limit = |key, name| fields.optional(key, integer(LimitOverrides::minimum(name).into(), U64_MAX));
    let limits = LimitOverrides {
        memory_bytes: limit("memoryBytes", "memory_bytes"),
        home_bytes: limit("homeBytes", "home_bytes"),
        tmp_bytes: limit("tmpBytes", "tmp_bytes"),
        project_bytes: limit("projectBytes", "project_bytes"),
        pids: limit("pids", "pids"),
        nofile: limit("nofile", "nofile"),
        stream_bytes: limit("streamBytes", "stream_bytes"),
        start_ms: limit("startMs", "start_ms"),
        init_ms: limit("initMs", "init_ms"),
        no_output_ms: limit("noOutputMs", "no_output_ms"),
        load_ms: limit("loadMs", "load_ms"),
        prepare_ms: limit("prepareMs", "prepare_ms"),
    };
    fields.close();
    Some(limits)
}
