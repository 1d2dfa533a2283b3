//! Decoder of a scenario file, and the rules between its fields.

use std::collections::BTreeMap;

use ocsweep_proto::ids::{SLUG_RULE, ScenarioId};
use ocsweep_proto::scenario::{Judge, Mode, Scenario, ScenarioPlugin, Step, StepError, StepUsage, ToolCall};

use super::decode::{Fields, any, any_object, boolean, integer, list, map_of, non_empty, string, word};
use super::expect;
use super::issue::{Issues, Path};
use super::node::{Data, Node, Span};
use super::workspace;

const MODE: &[(&str, Mode)] = &[("scripted", Mode::Scripted), ("live", Mode::Live)];
const U64_MAX: i128 = u64::MAX as i128;

/// What `judgeReply` became.
const REMOVED: &[(&str, &str)] = &[("judgeReply", "judgeReply is no longer a field: remove it")];

/// Decodes the whole file. `stem` names the scenario in messages when it has no usable id. `None` when something is in `issues`.
pub(crate) fn scenario(node: &Node, stem: &str, issues: &mut Issues) -> Option<Scenario> {
    let path = Path::Root;
    let mut fields = Fields::open(node, &path, issues)?;
    fields.removed(REMOVED);
    let id = fields.required("id", "string", id);
    let description = fields.optional("description", string);
    let mode = fields.required("mode", "\"scripted\" or \"live\"", word(MODE));
    let plugin = fields.optional("plugin", plugin);
    let workspace: Option<BTreeMap<String, String>> = fields.optional("workspace", map_of(string));
    let prompt = fields.required("prompt", "string", non_empty);
    let script = fields.optional("script", list(step));
    let timeout_ms = fields.optional("timeoutMs", integer(1, U64_MAX));
    let expect = fields.optional("expect", expect::expect);
    let judge = fields.optional("judge", judge);
    fields.close();
    Rules { node, id: node.get("id").and_then(|member| member.node.as_str()).unwrap_or(stem), issues }.check(mode);
    Some(Scenario {
        id: id?,
        description,
        mode: mode?,
        plugin,
        workspace: workspace.unwrap_or_default(),
        prompt: prompt?,
        script,
        timeout_ms,
        expect: expect.unwrap_or_default(),
        judge,
    })
}

fn id(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<ScenarioId> {
    let text = string(node, path, issues)?;
    let id = ScenarioId::new(text).ok();
    if id.is_none() {
        let issue = issues.push(path, node.span, format!("Invalid string: must match pattern /{SLUG_RULE}/"));
        issue.hint("lowercase letters, digits and hyphens, at most 128, and no hyphen at the start");
    }
    id
}

fn plugin(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<ScenarioPlugin> {
    let mut fields = Fields::open(node, path, issues)?;
    let options = fields.optional("options", any_object);
    fields.close();
    Some(ScenarioPlugin { options })
}

fn judge(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<Judge> {
    let mut fields = Fields::open(node, path, issues)?;
    let rubric = fields.required("rubric", "string", non_empty);
    fields.close();
    Some(Judge { rubric: rubric? })
}

fn step(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<Step> {
    let mut fields = Fields::open(node, path, issues)?;
    fields.removed(REMOVED);
    let step = Step {
        text: fields.optional("text", string),
        tool_calls: fields.optional("toolCalls", list(tool_call)).unwrap_or_default(),
        raw: fields.optional("raw", boolean).unwrap_or_default(),
        error: fields.optional("error", step_error),
        delay_ms: fields.optional("delayMs", integer(0, U64_MAX)),
        usage: fields.optional("usage", usage),
    };
    fields.close();
    let answer = node.get("text").or_else(|| node.get("toolCalls"));
    match (node.get("error"), answer) {
        (Some(error), Some(_)) => {
            issues.push(&path.key("error"), error.key_span, "\"error\" excludes \"text\" and \"toolCalls\"");
        }
        (None, None) => {
            let span = node.members().first().map_or(node.span, |member| member.key_span);
            issues.push(path, span, "expected at least one of \"text\", \"toolCalls\" and \"error\"");
        }
        _ => {}
    }
    Some(step)
}

fn tool_call(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<ToolCall> {
    let mut fields = Fields::open(node, path, issues)?;
    let name = fields.required("name", "string", non_empty);
    let arguments = fields.optional("arguments", any_object).unwrap_or_default();
    fields.close();
    Some(ToolCall { name: name?, arguments })
}

fn step_error(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<StepError> {
    let mut fields = Fields::open(node, path, issues)?;
    let status = fields.required("status", "number", integer(400, 599));
    let body = fields.optional("body", any).filter(|body| !body.is_null());
    let retry_after_seconds = fields.optional("retryAfterSeconds", integer(0, U64_MAX));
    fields.close();
    Some(StepError { status: status?, body, retry_after_seconds })
}

fn usage(node: &Node, path: &Path<'_>, issues: &mut Issues) -> Option<StepUsage> {
    let mut fields = Fields::open(node, path, issues)?;
    let mut tokens = |key| fields.optional(key, integer(0, U64_MAX)).unwrap_or_default();
    let usage = StepUsage { input: tokens("input"), output: tokens("output") };
    fields.close();
    Some(usage)
}

/// The rules between fields. They look at what was written, so that they hold beside problems of single fields.
struct Rules<'n, 'i> {
    node: &'n Node,
    id: &'n str,
    issues: &'i mut Issues,
}

impl Rules<'_, '_> {
    fn check(&mut self, mode: Option<Mode>) {
        if ScenarioId::RESERVED.contains(&self.id) && self.node.get("id").is_some() {
            self.say("id", |id| format!("id \"{id}\" is reserved (the tool uses it for its own case and evidence dir)"));
        }
        self.workspace();
        match mode {
            Some(Mode::Scripted) => {
                self.say("judge", |_| "field \"judge\" is live-only and is not allowed when mode is \"scripted\"".to_owned());
                if self.node.get("script").is_none() {
                    let message = format!("scenario \"{}\": field \"script\" is required when mode is \"scripted\"", self.id);
                    self.issues.push(&Path::Root.key("script"), self.mode_span(), message);
                }
            }
            Some(Mode::Live) => {
                self.say("script", |_| "field \"script\" is scripted-only and is not allowed when mode is \"live\"".to_owned());
                self.request();
            }
            None => {}
        }
    }

    fn mode_span(&self) -> Span {
        self.node.get("mode").map_or(self.node.span, |member| member.node.span)
    }

    /// Reports a top-level key that is there and should not be.
    fn say(&mut self, key: &'static str, message: impl Fn(&str) -> String) {
        if let Some(member) = self.node.get(key) {
            let message = format!("scenario \"{}\": {}", self.id, message(self.id));
            self.issues.push(&Path::Root.key(key), member.key_span, message);
        }
    }

    fn request(&mut self) {
        if let Some(member) = self.node.get("expect").and_then(|expect| expect.node.get("request")) {
            let message =
                format!("scenario \"{}\": field \"expect.request\" is scripted-only and is not allowed when mode is \"live\"", self.id);
            self.issues.push(&Path::Root.key("expect").key("request"), member.key_span, message);
        }
    }

    fn workspace(&mut self) {
        let Some(files) = self.node.get("workspace").filter(|member| matches!(member.node.data, Data::Object(_))) else {
            return;
        };
        for member in files.node.members() {
            if !workspace::stays_inside(&member.key) {
                let message =
                    format!("scenario \"{}\": workspace path \"{}\" must be relative and stay inside the project dir", self.id, member.key);
                self.issues.push(&Path::Root.key("workspace").key(&member.key), member.key_span, message);
            }
        }
    }
}
