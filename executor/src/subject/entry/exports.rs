//! The `exports` field. Pure. The host reads far less of it than a module loader does, so there are two readers.

use serde_json::Value;

/// In the order of their weight.
const CONDITIONS: [&str; 4] = ["import", "default", "bun", "node"];

/// A subpath as the host reads it: a text, or the text under `import` or `default`. Other conditions, nesting and lists are nothing to it.
pub(super) fn host_value<'a>(exports: Option<&'a Value>, subpath: &str) -> Option<&'a str> {
    let value = exports?.as_object()?.get(subpath)?;
    let text = match value {
        Value::Object(conditions) => ["import", "default"].iter().find_map(|name| conditions.get(*name).and_then(Value::as_str)),
        other => other.as_str(),
    };
    text.filter(|text| !text.is_empty())
}

/// A subpath as a module loader reads it: nested conditions and lists too; `.` is also what an `exports` without subpaths means.
pub(super) fn loader_value<'a>(exports: Option<&'a Value>, subpath: &str) -> Option<&'a str> {
    let exports = exports?;
    let has_subpaths = exports.as_object().is_some_and(|map| map.keys().any(|key| key.starts_with('.')));
    if has_subpaths {
        return first_text(exports.get(subpath)?);
    }
    if subpath == "." { first_text(exports) } else { None }
}

fn first_text(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text.as_str()).filter(|text| !text.is_empty()),
        Value::Array(alternatives) => alternatives.iter().find_map(first_text),
        Value::Object(conditions) => CONDITIONS.iter().find_map(|name| first_text(conditions.get(*name)?)),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn two_readers() {
        // exports, subpath, host, loader
        let cases = [
            (json!("./a"), ".", None, Some("./a")),
            (json!("./a"), "./server", None, None),
            (json!(["./a", "./b"]), ".", None, Some("./a")),
            (json!({"import": "./a"}), ".", None, Some("./a")),
            (json!({".": "./a"}), ".", Some("./a"), Some("./a")),
            (json!({"./server": "./a"}), "./server", Some("./a"), Some("./a")),
            (json!({"./server": {"import": "./a", "default": "./b"}}), "./server", Some("./a"), Some("./a")),
            (json!({"./server": {"default": "./b"}}), "./server", Some("./b"), Some("./b")),
            (json!({"./server": {"import": {"default": "./n"}, "default": "./b"}}), "./server", Some("./b"), Some("./n")),
            (json!({"./server": {"import": {"types": "./t", "default": "./n"}}}), "./server", None, Some("./n")),
            (json!({"./server": {"bun": "./c"}}), "./server", None, Some("./c")),
            (json!({"./server": {"node": "./d"}}), "./server", None, Some("./d")),
            (json!({"./server": {"require": "./e"}}), "./server", None, None),
            (json!({"./server": [{"browser": "./x"}, "./y"]}), "./server", None, Some("./y")),
            (json!({"./server": ""}), "./server", None, None),
            (json!({"./server": null}), "./server", None, None),
            (json!(null), ".", None, None),
        ];
        for (exports, subpath, host, loader) in cases {
            assert_eq!(host_value(Some(&exports), subpath), host, "host: {exports} {subpath}");
            assert_eq!(loader_value(Some(&exports), subpath), loader, "loader: {exports} {subpath}");
        }
    }
}
