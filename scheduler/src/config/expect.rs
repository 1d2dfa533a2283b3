//! Decoder of a scenario's `expect`.

use std::collections::BTreeMap;

use ocsweep_proto::expect::{Count, Expect, FileExpect, HookExpect, Matcher, Phase, RequestExpect, ToolExpect, ToolStatus};

use super::decode::{Fields, any, boolean, integer, list, map_of, non_empty, string, word};
use super::issue::{Issues, Path};
use super::node::{Data, Node};

const STATUS: &[(&str, ToolStatus)] = &[("completed", ToolStatus::Completed), ("error", ToolStatus::Error)];
const PHASE: &[(&str, Phase)] = &[("pre", Phase::Pre), ("post", Phase::Post)];

pub(crate) fn expect(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<Expect> {
    let defaults = Expect::default();
    let mut fields = Fields::open(node, path, issues)?;
    let expect = Expect {
        exit_code: fields.optional("exitCode", integer(i128::from(i32::MIN), i128::from(i32::MAX))).unwrap_or(defaults.exit_code),
        no_errors: fields.optional("noErrors", boolean).unwrap_or(defaults.no_errors),
        tools: fields.optional("tools", list(tool)).unwrap_or_default(),
        no_tools: fields.optional("noTools", list(string)).unwrap_or_default(),
        hooks: fields.optional("hooks", list(hook)).unwrap_or_default(),
        request: fields.optional("request", request),
        files: fields.optional("files", list(file)).unwrap_or_default(),
        text: fields.optional("text", matcher),
        stderr: fields.optional("stderr", matcher),
    };
    fields.close();
    Some(expect)
}

fn tool(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<ToolExpect> {
    let mut fields = Fields::open(node, path, issues)?;
    let tool = ToolExpect {
        name: fields.required("name", "string", non_empty).unwrap_or_default(),
        status: fields.optional("status", word(STATUS)),
        input: fields.optional("input", matchers).unwrap_or_default(),
        output: fields.optional("output", matcher),
        count: fields.optional("count", count),
    };
    fields.close();
    Some(tool)
}

fn hook(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<HookExpect> {
    let mut fields = Fields::open(node, path, issues)?;
    let hook = HookExpect {
        hook: fields.required("hook", "string", non_empty).unwrap_or_default(),
        phase: fields.optional("phase", word(PHASE)).unwrap_or_default(),
        tool: fields.optional("tool", string),
        input: fields.optional("input", matchers).unwrap_or_default(),
        output: fields.optional("output", matcher),
        env: fields.optional("env", matchers).unwrap_or_default(),
        system: fields.optional("system", matcher),
        text: fields.optional("text", matcher),
        command: fields.optional("command", matcher),
        cwd: fields.optional("cwd", matcher),
    };
    fields.close();
    Some(hook)
}

fn request(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<RequestExpect> {
    let mut fields = Fields::open(node, path, issues)?;
    let request = RequestExpect {
        nth: fields.optional("nth", integer(1, i128::from(u32::MAX))).unwrap_or(1),
        system: fields.optional("system", matcher),
        tools: fields.optional("tools", matcher),
    };
    fields.close();
    Some(request)
}

fn file(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<FileExpect> {
    let mut fields = Fields::open(node, path, issues)?;
    let file = FileExpect {
        path: fields.required("path", "string", non_empty).unwrap_or_default(),
        exists: fields.optional("exists", boolean),
        equals: fields.optional("equals", any),
        contains: fields.optional("contains", string),
        not_contains: fields.optional("notContains", string),
        matches: fields.optional("matches", pattern),
        not_matches: fields.optional("notMatches", pattern),
    };
    fields.close();
    Some(file)
}

fn matchers(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<BTreeMap<String, Matcher>> {
    map_of(matcher)(node, path, issues)
}

fn matcher(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<Matcher> {
    if let Data::String(_) | Data::Number(_) | Data::Bool(_) = node.data {
        let hint = format!("a matcher is an object, like {{equals: {}}}", node.to_value());
        Fields::refuse(node, path, issues, hint);
        return None;
    }
    let mut fields = Fields::open(node, path, issues)?;
    let matcher = Matcher {
        equals: fields.optional("equals", any),
        contains: fields.optional("contains", string),
        not_contains: fields.optional("notContains", string),
        matches: fields.optional("matches", pattern),
        not_matches: fields.optional("notMatches", pattern),
        includes: fields.optional("includes", list(any)),
        exists: fields.optional("exists", boolean),
        count: fields.optional("count", count),
    };
    fields.close();
    Some(matcher)
}

fn count(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<Count> {
    if let Data::Number(number) = &node.data {
        Fields::refuse(node, path, issues, format!("write {{eq: {number}}}"));
        return None;
    }
    let mut fields = Fields::open(node, path, issues)?;
    let mut bound = |key| fields.optional(key, integer(i128::from(i64::MIN), i128::from(i64::MAX)));
    let count = Count { eq: bound("eq"), gte: bound("gte"), lte: bound("lte") };
    fields.close();
    Some(count)
}

/// A JavaScript regular expression that compiles.
fn pattern(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<String> {
    let source = string(node, path, issues)?;
    if let Err(error) = ocsweep_proto::pattern::compile(&source) {
        issues.push(path, node.span, error.to_string());
        return None;
    }
    Some(source)
}
