//! What a scenario expects: assertions and matchers as data. Evaluating them is the executor's work, outside the container.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// Everything that must be true after a scenario. The empty object means: exit code 0 and no error event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Expect {
    /// The host's exit code.
    pub exit_code: i32,
    /// No event of type `error`.
    pub no_errors: bool,
    /// Calls that took place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolExpect>,
    /// Tools that were not called.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub no_tools: Vec<String>,
    /// Hooks that ran.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookExpect>,
    /// What the model was sent; scripted only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestExpect>,
    /// Files of the project.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileExpect>,
    /// All text of the answers, joined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<Matcher>,
    /// The host's standard error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<Matcher>,
}

impl Default for Expect {
    fn default() -> Self {
        Self {
            exit_code: 0,
            no_errors: true,
            tools: Vec::new(),
            no_tools: Vec::new(),
            hooks: Vec::new(),
            request: None,
            files: Vec::new(),
            text: None,
            stderr: None,
        }
    }
}

/// A call that must have taken place.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolExpect {
    /// The tool; `bash` and `shell`, `task` and `subagent` are the same.
    #[schemars(length(min = 1))]
    pub name: String,
    /// How the call ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ToolStatus>,
    /// Arguments, by field.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub input: BTreeMap<String, Matcher>,
    /// The result's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Matcher>,
    /// How many calls; at least one when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<Count>,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ToolStatus {
    /// With a result.
    Completed,
    /// With an error.
    Error,
}

impl ToolStatus {
    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Error => "error",
        }
    }
}

/// A hook that must have run, and what it received or produced.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookExpect {
    /// The hook's name, of either line.
    #[schemars(length(min = 1))]
    pub hook: String,
    /// `pre`: what the plugin received; `post`: what it produced.
    #[serde(default)]
    pub phase: Phase,
    /// Only records of this tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Arguments, by field.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub input: BTreeMap<String, Matcher>,
    /// A tool's result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Matcher>,
    /// Environment of a shell, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, Matcher>,
    /// System prompt, its parts joined by line feeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<Matcher>,
    /// Text of a user's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Matcher>,
    /// A shell's command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Matcher>,
    /// A shell's working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<Matcher>,
}

/// Which probe.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// The probe before the plugin.
    Pre,
    /// The probe after the plugin.
    #[default]
    Post,
}

impl Phase {
    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pre => "pre",
            Self::Post => "post",
        }
    }
}

/// What the model was sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RequestExpect {
    /// Which primary request, from 1.
    #[schemars(range(min = 1))]
    pub nth: u32,
    /// Text of the system messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<Matcher>,
    /// Names of the offered tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Matcher>,
}

impl Default for RequestExpect {
    fn default() -> Self {
        Self { nth: 1, system: None, tools: None }
    }
}

/// A file of the project and matchers on its content.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FileExpect {
    /// Relative to the project.
    #[schemars(length(min = 1))]
    pub path: String,
    /// Whether the file is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exists: Option<bool>,
    /// Content equals.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub equals: Option<Value>,
    /// Content contains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// Content does not contain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_contains: Option<String>,
    /// Content matches a JavaScript regular expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matches: Option<String>,
    /// Content does not match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_matches: Option<String>,
}

impl FileExpect {
    /// The matchers on the content, without `exists`; `None` when there are none.
    #[must_use]
    pub fn content(&self) -> Option<Matcher> {
        let matcher = Matcher {
            equals: self.equals.clone(),
            contains: self.contains.clone(),
            not_contains: self.not_contains.clone(),
            matches: self.matches.clone(),
            not_matches: self.not_matches.clone(),
            ..Matcher::default()
        };
        (matcher != Matcher::default()).then_some(matcher)
    }
}

/// Conditions on one value; all that are present must hold. An empty matcher asks only that the value was recorded.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Matcher {
    /// Deep equality of JSON values.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub equals: Option<Value>,
    /// The text contains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// The text does not contain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_contains: Option<String>,
    /// The text matches a JavaScript regular expression; a leading `(?i)` ignores case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matches: Option<String>,
    /// The text does not match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_matches: Option<String>,
    /// The array contains every element.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub includes: Option<Vec<Value>>,
    /// Whether the value was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exists: Option<bool>,
    /// The number itself, or the length of the array.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<Count>,
}

/// Bounds on a number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Count {
    /// Exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eq: Option<i64>,
    /// At least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gte: Option<i64>,
    /// At most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lte: Option<i64>,
}

/// `equals: null` asks for a recorded null; an absent key asks for nothing.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_object_still_expects_success() {
        let expect: Expect = serde_json::from_str("{}").unwrap();
        assert_eq!((expect.exit_code, expect.no_errors), (0, true));
    }

    #[test]
    fn equals_null_is_not_an_absent_equals() {
        let matcher: Matcher = serde_json::from_str(r#"{"equals": null}"#).unwrap();
        assert_eq!(matcher.equals, Some(Value::Null));
        assert_ne!(matcher, Matcher::default());
        let back: Matcher = serde_json::from_value(serde_json::to_value(&matcher).unwrap()).unwrap();
        assert_eq!(back, matcher);
    }
}
