//! Decoder of `variants`: named overlays on a cell, which may not touch what the harness itself relies on.

use std::collections::BTreeMap;

use ocsweep_proto::axes::Flavour;
use ocsweep_proto::config::Variant;
use ocsweep_proto::ids::{SLUG_RULE, VariantName};
use serde_json::{Map, Value};

use super::decode::{Fields, any_object, list, non_empty, string, word};
use super::issue::{Issues, Path};
use super::node::{Data, Node};

/// Variables that the harness sets itself, or that would change how everything in the container runs.
const OWN_NAMES: [&str; 7] = ["PATH", "HOME", "PWD", "TMPDIR", "TERM", "LANG", "TZ"];
const OWN_PREFIXES: [&str; 6] = ["XDG_", "OPENCODE_", "GIT_CONFIG", "BUN_", "LD_", "NODE_"];
/// Keys of the host's configuration that the harness sets itself, of either line.
const OWN_KEYS: [&str; 11] = [
    "plugin",
    "plugins",
    "model",
    "small_model",
    "autoupdate",
    "update",
    "share",
    "snapshots",
    "$schema",
    // They can switch the stub off, and the host's refusal would be blamed on the plugin.
    "enabled_providers",
    "disabled_providers",
];
const PROVIDER_KEYS: [&str; 2] = ["provider", "providers"];
const STUB: &str = "stub";

/// The list; a name that is used twice is a problem of the later variant.
pub(crate) fn variants(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<Vec<Variant>> {
    let variants = list(variant)(node, path, issues)?;
    let Data::Array(items) = &node.data else { return Some(variants) };
    let mut seen: Vec<&str> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let Some(member) = item.get("name") else { continue };
        let Some(name) = member.node.as_str() else { continue };
        if seen.contains(&name) {
            let at = path.index(index);
            issues.push(&at.key("name"), member.node.span, format!("duplicate variant name {name:?}"));
        }
        seen.push(name);
    }
    Some(variants)
}

fn variant(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<Variant> {
    let mut fields = Fields::open(node, path, issues)?;
    let flavours = &[("glibc", Flavour::Glibc), ("musl", Flavour::Musl), ("baseline", Flavour::Baseline)];
    let name = fields.required("name", "string", name);
    let variant = Variant {
        name: name.clone().unwrap_or_else(VariantName::default_variant),
        flavour: fields.optional("flavour", word(flavours)).unwrap_or_default(),
        image: fields.optional("image", non_empty),
        options: fields.optional("options", any_object).unwrap_or_default(),
        env: fields.optional("env", env).unwrap_or_default(),
        config: fields.optional("config", config).unwrap_or_default(),
    };
    fields.close();
    if variant.flavour == Flavour::Musl
        && node.get("image").is_none()
        && let Some(flavour) = node.get("flavour")
    {
        let issue = issues.push(&path.key("flavour"), flavour.node.span, "flavour \"musl\" needs an image");
        issue.hint("add the key \"image\" with a container image of a musl system that has git, rg and bash");
    }
    name.map(|_| variant)
}

fn name(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<VariantName> {
    let text = string(node, path, issues)?;
    let name = VariantName::new(text).ok();
    if name.is_none() {
        let issue = issues.push(path, node.span, format!("Invalid string: must match pattern /{SLUG_RULE}/"));
        issue.hint("use lower-case letters, digits and hyphens");
    }
    name
}

fn env(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<BTreeMap<String, String>> {
    if !matches!(node.data, Data::Object(_)) {
        // The list's own words for a value of another type.
        return super::decode::map_of(string)(node, path, issues);
    }
    let mut env = BTreeMap::new();
    for member in node.members() {
        let at = path.key(&member.key);
        let is_name = !member.key.is_empty() && member.key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !is_name || member.key.starts_with(|first: char| first.is_ascii_digit()) {
            let issue = issues.push(&at, member.key_span, format!("{:?} is no name of an environment variable", member.key));
            issue.hint("use letters, digits and underscores");
        } else if is_own(&member.key) {
            issues.push(&at, member.key_span, format!("{:?} is set by the harness and cannot be overlaid", member.key));
        } else if let Some(value) = string(&member.node, &at, issues) {
            if value.contains('\0') {
                issues.push(&at, member.node.span, "a value must not hold a NUL character");
            } else {
                env.insert(member.key.clone(), value);
            }
        }
    }
    Some(env)
}

fn is_own(name: &str) -> bool {
    OWN_NAMES.contains(&name) || OWN_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

fn config(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<Map<String, Value>> {
    let config = any_object(node, path, issues)?;
    for member in node.members() {
        let at = path.key(&member.key);
        if OWN_KEYS.contains(&member.key.as_str()) {
            issues.push(&at, member.key_span, format!("{:?} is set by the harness and cannot be overlaid", member.key));
        } else if PROVIDER_KEYS.contains(&member.key.as_str())
            && let Some(stub) = member.node.get(STUB)
        {
            issues.push(&at.key(STUB), stub.key_span, "the stub provider is set by the harness and cannot be overlaid");
        }
    }
    Some(config)
}
