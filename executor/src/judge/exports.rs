//! The rules by which a v1 host accepts what a module exports.

use ocsweep_proto::agent::Export;

use super::show;

/// Keys that make a default object a plugin in the object form.
const OBJECT_FORM: [&str; 3] = ["id", "server", "tui"];

/// Why a v1 host rejects the exports, one sentence each; empty when it accepts them.
pub(super) fn problems(exports: &[Export], npm: bool) -> Vec<String> {
    if exports.is_empty() {
        return vec!["the module exports nothing, so the host has nothing to call.".to_owned()];
    }
    match object_form(exports) {
        Some(default) => object_problems(default, npm),
        None => exports.iter().filter_map(function_problem).collect(),
    }
}

/// The default export, when the host treats it as `{id, server}`.
pub(super) fn object_form(exports: &[Export]) -> Option<&Export> {
    let default = exports.iter().find(|export| export.name == "default" && export.kind == "object")?;
    OBJECT_FORM.into_iter().any(|key| default.keys.contains_key(key)).then_some(default)
}

fn object_problems(default: &Export, npm: bool) -> Vec<String> {
    let kind = |key: &str| default.keys.get(key).map(String::as_str).filter(|kind| *kind != "undefined");
    let mut problems = Vec::new();
    match (kind("server"), kind("tui")) {
        (Some(_), Some(_)) => {
            problems.push("the default export has both `server` and `tui`; a v1 host accepts only one of them in a module.".to_owned())
        }
        (Some("function"), None) => {}
        (Some(other), None) => problems.push(format!("`server` of the default export is {}, not a function.", show::article(other))),
        (None, _) => problems.push("the default export is an object without `server`.".to_owned()),
    }
    if !npm && kind("id") != Some("string") {
        problems.push("the default export has no string `id`, which a v1 host demands of a plugin that is loaded from a path.".to_owned());
    }
    problems
}

fn function_problem(export: &Export) -> Option<String> {
    let name = &export.name;
    if export.class {
        return Some(format!("export `{name}` is a class, and a v1 host calls every export as a function."));
    }
    let callable =
        export.kind == "function" || (export.kind == "object" && export.keys.get("server").is_some_and(|kind| kind == "function"));
    if callable {
        return None;
    }
    if name == "default" && ["setup", "effect"].into_iter().any(|key| export.keys.contains_key(key)) {
        return Some(
            "the default export has `setup` or `effect` and no `server`: it is a plugin for opencode 2.x, and a v1 host rejects it."
                .to_owned(),
        );
    }
    Some(format!(
        "export `{name}` is {}, not a function: a v1 host rejects the whole module. Export only plugin functions, or a default object {{id, server}}.",
        show::article(&export.kind)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn export(name: &str, kind: &str, keys: &[(&str, &str)]) -> Export {
        let keys = keys.iter().map(|(key, kind)| ((*key).to_owned(), (*kind).to_owned())).collect();
        Export { name: name.to_owned(), kind: kind.to_owned(), keys, ..Export::default() }
    }

    #[test]
    fn what_a_host_accepts() {
        let good: [&[Export]; 4] = [
            &[export("default", "function", &[]), export("Once", "function", &[])],
            &[export("default", "object", &[("id", "string"), ("server", "function")]), export("RELEASE", "string", &[])],
            &[export("P", "object", &[("server", "function")])],
            &[export("default", "object", &[("id", "string"), ("server", "function"), ("setup", "function")])],
        ];
        for exports in good {
            assert_eq!(problems(exports, false), Vec::<String>::new());
        }
    }

    #[test]
    fn what_a_host_rejects_is_named_with_its_type() {
        for (exports, npm, words) in [
            (vec![], false, &["exports nothing"] as &[&str]),
            (vec![export("A", "function", &[]), export("RELEASE", "string", &[])], false, &["`RELEASE`", "a string"]),
            (vec![export("default", "object", &[("server", "function")])], false, &["string `id`"]),
            (vec![export("default", "object", &[("id", "string"), ("server", "function"), ("tui", "function")])], true, &["both"]),
            (vec![export("default", "object", &[("id", "string"), ("server", "object")])], true, &["an object, not a function"]),
            (vec![export("default", "object", &[("id", "string")])], true, &["without `server`"]),
            (vec![export("default", "object", &[("setup", "function")])], false, &["2.x"]),
            (vec![Export { class: true, ..export("Plugin", "function", &[]) }], false, &["`Plugin` is a class"]),
            (vec![export("nothing", "undefined", &[])], false, &["`nothing` is undefined"]),
        ] {
            let found = problems(&exports, npm);
            assert_eq!(found.len(), 1, "{exports:?}: {found:?}");
            for word in words {
                assert!(found[0].contains(word), "{word}: {found:?}");
            }
        }
    }

    #[test]
    fn a_package_needs_no_id() {
        assert_eq!(problems(&[export("default", "object", &[("server", "function")])], true), Vec::<String>::new());
    }
}
