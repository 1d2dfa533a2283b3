//! JSON Schemas of the two file formats, for editors. They are generated from the types, then tightened to what the loader accepts; files in
//! `schema/` hold the result.

use ocsweep_proto::config::Config;
use ocsweep_proto::ids::ScenarioId;
use ocsweep_proto::scenario::Scenario;
use schemars::Schema;
use serde_json::{Map, Value, json};

/// A relative path that stays inside, as far as an expression can say it.
const WORKSPACE_PATH: &str = r"^(?![/\\]|[A-Za-z]:)(?!(.*[/\\])?\.\.([/\\]|$)).*[^/\\]$";

/// The schema of `.opencode-ci/config.yaml`, pretty-printed, with a final line feed.
#[must_use]
pub fn config_schema() -> String {
    finish(schemars::schema_for!(Config), "ocsweep configuration (.opencode-ci/config.yaml)", |_| {})
}

/// The schema of `.opencode-ci/scenarios/*.yaml`, pretty-printed, with a final line feed.
#[must_use]
pub fn scenario_schema() -> String {
    finish(schemars::schema_for!(Scenario), "ocsweep scenario (.opencode-ci/scenarios/*.yaml)", scenario_rules)
}

fn finish(schema: Schema, title: &str, rules: impl Fn(&mut Map<String, Value>)) -> String {
    let mut value = schema.to_value();
    tighten(&mut value);
    if let Value::Object(root) = &mut value {
        root.insert("title".to_owned(), title.into());
        rules(root);
    }
    let mut text = serde_json::to_string_pretty(&value).unwrap_or_default();
    text.push('\n');
    text
}

/// Removes what the types allow and the loader refuses: null for an absent value, unknown keys.
fn tighten(value: &mut Value) {
    match value {
        Value::Object(object) => {
            without_null(object);
            if object.contains_key("properties") {
                object.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
            // `null` as the default of an absent value is not a value that one may write.
            if object.get("default").is_some_and(Value::is_null) {
                object.remove("default");
            }
            // Names such as uint32 are unknown to most validators.
            object.remove("format");
            for (key, child) in object.iter_mut() {
                match (key.as_str(), child) {
                    ("default", _) => {}
                    // The keys below are names of the author's, not words of the schema language.
                    ("properties" | "$defs", Value::Object(named)) => named.values_mut().for_each(tighten),
                    (_, child) => tighten(child),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(tighten),
        _ => {}
    }
}

fn without_null(object: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(options)) = object.get_mut("anyOf") {
        options.retain(|option| option.get("type") != Some(&json!("null")));
        if let [Value::Object(only)] = options.as_slice() {
            let only = only.clone();
            object.remove("anyOf");
            object.extend(only);
        }
    }
}

/// The rules between fields that a schema can say.
fn scenario_rules(root: &mut Map<String, Value>) {
    let only_in = |mode: &str, then: Value| json!({"if": {"properties": {"mode": {"const": mode}}, "required": ["mode"]}, "then": then});
    let scripted = json!({"required": ["script"], "properties": {"judge": false}});
    let live = json!({"properties": {"script": false, "expect": {"properties": {"request": false}}}});
    root.insert("allOf".to_owned(), json!([only_in("scripted", scripted), only_in("live", live)]));
    if let Some(Value::Object(workspace)) = at(root, &["properties", "workspace"]) {
        workspace.insert("propertyNames".to_owned(), json!({"pattern": WORKSPACE_PATH}));
    }
    if let Some(Value::Object(id)) = at(root, &["$defs", "ScenarioId"]) {
        id.insert("maxLength".to_owned(), json!(128));
        id.insert("not".to_owned(), json!({"enum": ScenarioId::RESERVED}));
    }
    if let Some(Value::Object(step)) = at(root, &["$defs", "Step"]) {
        let required = |keys: &[&str]| json!({"required": keys});
        step.insert("anyOf".to_owned(), json!([required(&["text"]), required(&["toolCalls"]), required(&["error"])]));
        let answers = json!({"anyOf": [required(&["text"]), required(&["toolCalls"])]});
        step.insert("not".to_owned(), json!({"allOf": [required(&["error"]), answers]}));
    }
}

fn at<'v>(root: &'v mut Map<String, Value>, path: &[&str]) -> Option<&'v mut Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(root.get_mut(*first)?, |value, key| value.get_mut(key))
}
