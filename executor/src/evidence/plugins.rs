//! The plugins that a v2 host lists, in every shape in which its versions write them.

use serde_json::Value;

use super::json;

/// One plugin of the host's list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PluginEntry {
    /// The id that the plugin gave itself.
    pub id: Option<String>,
    /// `builtin`, `local`, `package` or `sdk`; empty when the host does not say.
    pub source: String,
    /// File of a local plugin.
    pub path: Option<String>,
    /// What the configuration names.
    pub target: Option<String>,
    /// `active`, `failed` or another word.
    pub status: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
}

/// The entries of a list, or of an answer that holds one as `data`.
pub(super) fn entries(list: Option<&Value>) -> Vec<PluginEntry> {
    let list = list.map(|list| list.get("data").unwrap_or(list)).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default().iter().filter(|entry| entry.is_object()).map(entry).collect()
}

fn entry(value: &Value) -> PluginEntry {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let source = value.get("source");
    let of_source = |key: &str| text(source.and_then(|source| source.get(key)));
    // The state is an object of its own, or its word stands beside the id.
    let state = value.get("state").filter(|state| state.is_object()).unwrap_or(value);
    PluginEntry {
        id: text(value.get("id")),
        source: of_source("type").or_else(|| text(source)).unwrap_or_default(),
        path: of_source("path"),
        target: of_source("target"),
        status: text(state.get("status")).or_else(|| text(value.get("status"))),
        error: error(state.get("error").or_else(|| value.get("error"))),
    }
}

/// A text, an object with a message, or anything else as JSON.
fn error(value: Option<&Value>) -> Option<String> {
    let value = value?;
    json::key(value.get("message").filter(|message| message.is_string()).or(Some(value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_shapes_and_an_answer_around_them() {
        let source = json!({"type": "local", "path": "/p/server.js", "target": "/p"});
        let failed = PluginEntry {
            id: Some("x".to_owned()),
            source: "local".to_owned(),
            path: Some("/p/server.js".to_owned()),
            target: Some("/p".to_owned()),
            status: Some("failed".to_owned()),
            error: Some("boom".to_owned()),
        };
        for value in [
            json!([{"id": "x", "source": source, "state": {"status": "failed", "error": "boom", "ref": "err_1"}, "features": {"server": true}}]),
            json!([{"id": "x", "source": source, "state": {"status": "failed", "error": {"message": "boom"}}}]),
            json!([{"id": "x", "source": source, "status": "failed", "error": "boom"}]),
            json!({"location": {}, "data": [{"id": "x", "source": source, "status": "failed", "error": {"name": "E", "message": "boom"}}, "…[+61]"]}),
        ] {
            assert_eq!(entries(Some(&value)), std::slice::from_ref(&failed), "{value}");
        }
        assert_eq!(
            entries(Some(&json!([{"id": "y"}, {}, null]))),
            [PluginEntry { id: Some("y".into()), ..PluginEntry::default() }, PluginEntry::default()]
        );
        assert_eq!(entries(None), []);
    }
}
