//! Generates the module that the host configuration names instead of the plugin's entry: the observer on line v1, the shim on v2.
//!
//! Export names are static in JavaScript modules, so they come from the preflight. The module holds names and nothing else: all
//! behaviour is in `observer-runtime.mjs`, which is tested by the real binary. Must not decide whether an export is good: a value
//! that the host rejects is exported as it is.

use std::fmt::Write as _;

use ocsweep_proto::agent::{Export, Preflight};

/// Beside the generated module in the assets directory.
const RUNTIME: &str = "./observer-runtime.mjs";

/// The source of the observer module for the entry at `entry_url` (an encoded `file:` URL). `npm_id` is the package's name for an
/// npm subject, which the host would use as the plugin's id. A preflight that saw no exports gives a module without exports, whose
/// import fails the way the entry's own does.
pub(crate) fn observer_module(entry_url: &str, preflight: &Preflight, npm_id: Option<&str>) -> String {
    let exports: &[Export] = match preflight {
        Preflight::Imported(exports) => exports,
        Preflight::Failed(_) | Preflight::Hung | Preflight::Died(_) => &[],
    };
    let mut source = String::from("// Stands in for the plugin's entry: every export under its own name.\n");
    let _ = writeln!(source, "import {{ begins, expose, importFailed }} from {};", js_string(RUNTIME));
    source.push_str(&import_of(entry_url, exports));
    let npm_id = npm_id.map_or_else(|| "undefined".to_owned(), js_string);
    let _ = writeln!(source, "const exposed = expose(namespace, {{ npmId: {npm_id} }});");
    for (index, export) in exports.iter().enumerate() {
        let _ = writeln!(source, "const e{index} = exposed({});", js_string(&export.name));
    }
    source.push_str("export {");
    for (index, export) in exports.iter().enumerate() {
        let _ = write!(source, "{} e{index} as {}", if index == 0 { "" } else { "," }, export_name(&export.name));
    }
    source.push_str(" };\n");
    source
}

/// The source of the shim for the entry at `entry_url`. The host of line v2 takes the default export alone, and names its own errors, so it is
/// handed on as it is.
pub(crate) fn shim_module(entry_url: &str) -> String {
    format!("export {{ default }} from {};\n", js_string(entry_url))
}

/// The import is dynamic, so that its failure can be recorded before it is thrown on; except for a module that exports a function
/// `then`, which a dynamic import would call.
fn import_of(entry_url: &str, exports: &[Export]) -> String {
    let entry = js_string(entry_url);
    let is_thenable = exports.iter().any(|export| export.name == "then" && export.kind == "function");
    if is_thenable {
        return format!("import * as namespace from {entry};\nbegins({entry});\n");
    }
    format!(
        "begins({entry});\nlet namespace;\ntry {{\n  namespace = await import({entry});\n}} catch (error) {{\n  \
         importFailed(error);\n  throw error;\n}}\n"
    )
}

/// A name in an `export` clause: any string may be one, in quotes unless it is a plain identifier.
fn export_name(name: &str) -> String {
    let mut chars = name.chars();
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_' || c == '$';
    let is_plain = chars.next().is_some_and(is_start) && chars.all(|c| is_start(c) || c.is_ascii_digit());
    if is_plain { name.to_owned() } else { js_string(name) }
}

/// A JavaScript string literal: JSON, with the two line separators escaped that older parsers end a literal at.
fn js_string(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// The `file:` URL of an absolute path: every byte that is not plain is percent-encoded, so that `#`, `%`, `?` and blanks survive.
pub(crate) fn file_url(path: &str) -> String {
    let mut url = String::from("file://");
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            url.push(char::from(byte));
        } else {
            let _ = write!(url, "%{byte:02X}");
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use ocsweep_proto::agent::ImportError;
    use proptest::prelude::*;

    use super::*;

    fn exports(names: &[(&str, &str)]) -> Preflight {
        let export = |&(name, kind): &(&str, &str)| Export { name: name.to_owned(), kind: kind.to_owned(), ..Export::default() };
        Preflight::Imported(names.iter().map(export).collect())
    }

    #[test]
    fn module_re_exports_every_name_through_the_runtime() {
        let module = observer_module("file:///b/a%20b.js", &exports(&[("RELEASE", "string"), ("default", "function")]), None);
        let expected = r#"// Stands in for the plugin's entry: every export under its own name.
import { begins, expose, importFailed } from "./observer-runtime.mjs";
begins("file:///b/a%20b.js");
let namespace;
try {
  namespace = await import("file:///b/a%20b.js");
} catch (error) {
  importFailed(error);
  throw error;
}
const exposed = expose(namespace, { npmId: undefined });
const e0 = exposed("RELEASE");
const e1 = exposed("default");
export { e0 as RELEASE, e1 as default };
"#;
        assert_eq!(module, expected);
    }

    #[test]
    fn the_shim_is_one_re_export_of_the_encoded_url() {
        assert_eq!(shim_module(&file_url("/opt/a b/\"x\".js")), "export { default } from \"file:///opt/a%20b/%22x%22.js\";\n");
    }

    #[test]
    fn odd_names_and_ids_are_quoted() {
        let module = observer_module("file:///e.js", &exports(&[("a b", "function"), ("1x", "number"), ("q\"\\", "null")]), Some("@s/p\""));
        assert!(module.contains(r#"export { e0 as "a b", e1 as "1x", e2 as "q\"\\" };"#), "{module}");
        assert!(module.contains(r#"{ npmId: "@s/p\"" }"#), "{module}");
    }

    #[test]
    fn thenable_module_is_imported_statically() {
        assert!(observer_module("file:///e.js", &exports(&[("then", "function")]), None).contains("import * as namespace from"));
        assert!(observer_module("file:///e.js", &exports(&[("then", "number")]), None).contains("await import("));
    }

    #[test]
    fn failed_preflight_exports_nothing_and_still_imports() {
        for preflight in [Preflight::Failed(ImportError::default()), Preflight::Hung, Preflight::Died(String::new())] {
            let module = observer_module("file:///e.js", &preflight, None);
            assert!(module.contains("await import(\"file:///e.js\")") && module.ends_with("export { };\n"), "{module}");
        }
    }

    #[test]
    fn file_url_encodes_what_a_url_would_interpret() {
        let table = [
            ("/opt/a.js", "file:///opt/a.js"),
            ("/a b/c#d/e%20f/g?h.js", "file:///a%20b/c%23d/e%2520f/g%3Fh.js"),
            ("/é", "file:///%C3%A9"),
        ];
        for (path, url) in table {
            assert_eq!(file_url(path), url);
        }
    }

    proptest! {
        #[test]
        fn a_name_cannot_leave_its_literal(name in any::<String>()) {
            let literal = js_string(&name);
            prop_assert_eq!(serde_json::from_str::<String>(&literal).unwrap(), name);
            let ends_a_line = literal.contains(['\n', '\r', '\u{2028}', '\u{2029}']);
            prop_assert!(!ends_a_line);
        }

        #[test]
        fn an_unquoted_export_name_is_an_identifier(name in any::<String>()) {
            let written = export_name(&name);
            prop_assert!(written.starts_with('"') || (!written.is_empty() && written.chars().all(|c| c.is_ascii_alphanumeric() || "_$".contains(c))));
        }
    }
}
