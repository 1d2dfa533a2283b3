//! What a v2 host demands of a module: a default export with an id and a function `setup` or an `effect`. Nothing else is checked by it.

use ocsweep_proto::agent::{Export, Preflight};

use crate::judge::{Case, show};

/// Whether an error of the host refuses the shape of the default export.
pub(in crate::judge) fn is_refusal(error: &str) -> bool {
    error.contains("must export a default definition")
}

/// The id that the module gives itself.
pub(in crate::judge) fn id<'a>(case: &Case<'a>) -> Option<&'a str> {
    match &case.report().preflight {
        Some(Preflight::Imported(exports)) => default(exports)?.id.as_deref(),
        _ => None,
    }
}

fn default(exports: &[Export]) -> Option<&Export> {
    exports.iter().find(|export| export.name == "default")
}

fn kind<'a>(export: &'a Export, key: &str) -> Option<&'a str> {
    export.keys.get(key).map(String::as_str).filter(|kind| *kind != "undefined")
}

/// Whether nothing of the module is meant for a server: no function, and at most a default object without a server part of either line.
pub(in crate::judge) fn is_nothing_for_a_server(exports: &[Export], has_tui_entry: bool) -> bool {
    match default(exports) {
        Some(default) if default.kind == "object" => {
            let server = ["setup", "effect", "server"].into_iter().any(|key| kind(default, key).is_some());
            !server && (has_tui_entry || kind(default, "tui").is_some())
        }
        Some(_) => false,
        None => has_tui_entry && exports.iter().all(|export| export.kind != "function"),
    }
}

/// Why a v2 host rejects the exports, one sentence each; empty when it accepts them.
pub(in crate::judge) fn problems(exports: &[Export]) -> Vec<String> {
    let Some(default) = default(exports) else {
        let v1 = if exports.iter().any(|export| export.kind == "function") { "; its named functions are what a v1 host calls" } else { "" };
        return vec![format!("the module has no default export, and a v2 host looks at nothing else{v1}.")];
    };
    match default.kind.as_str() {
        "object" => {}
        "function" if default.class => return vec!["the default export is a class, and a v2 host wants an object {id, setup}.".to_owned()],
        "function" => {
            return vec![
                "the default export is a function: it is a plugin for opencode 1.x, and a v2 host wants an object {id, setup}.".to_owned(),
            ];
        }
        other => return vec![format!("the default export is {}, and a v2 host wants an object {{id, setup}}.", show::article(other))],
    }
    let mut problems = Vec::new();
    match (kind(default, "setup"), kind(default, "effect")) {
        (Some("function"), _) | (None, Some(_)) => {}
        (Some(other), _) => problems.push(format!("`setup` of the default export is {}, not a function.", show::article(other))),
        (None, None) if kind(default, "server").is_some() => {
            problems.push("the default export has `server` and no `setup`: it is a plugin for opencode 1.x.".to_owned());
        }
        (None, None) => problems.push("the default export has neither `setup` nor `effect`.".to_owned()),
    }
    if kind(default, "id") != Some("string") {
        problems.push("the default export has no string `id`.".to_owned());
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn export(name: &str, kind: &str, keys: &[(&str, &str)]) -> Export {
        let keys = keys.iter().map(|(key, kind)| ((*key).to_owned(), (*kind).to_owned())).collect();
        Export { name: name.to_owned(), kind: kind.to_owned(), keys, ..Export::default() }
    }

    #[test]
    fn what_a_host_accepts_and_what_it_rejects() {
        let object = |keys: &[(&str, &str)]| vec![export("default", "object", keys)];
        for (exports, words) in [
            (object(&[("id", "string"), ("setup", "function")]), &[] as &[&str]),
            (object(&[("id", "string"), ("effect", "object")]), &[]),
            (object(&[("id", "string"), ("setup", "function"), ("server", "function")]), &[]),
            (vec![export("P", "function", &[])], &["no default export", "v1 host calls"]),
            (vec![], &["no default export"]),
            (vec![export("default", "function", &[])], &["a function", "1.x"]),
            (vec![Export { class: true, ..export("default", "function", &[]) }], &["a class"]),
            (vec![export("default", "string", &[])], &["a string"]),
            (object(&[("id", "string"), ("server", "function")]), &["`server` and no `setup`", "1.x"]),
            (object(&[("id", "string"), ("setup", "object")]), &["`setup`", "an object, not a function"]),
            (object(&[("id", "string"), ("setup", "undefined")]), &["neither `setup` nor `effect`"]),
            (object(&[("setup", "function")]), &["no string `id`"]),
        ] {
            let found = problems(&exports);
            assert_eq!(found.len(), usize::from(!words.is_empty()), "{exports:?}: {found:?}");
            for word in words {
                assert!(found[0].contains(word), "{word}: {found:?}");
            }
        }
    }

    #[test]
    fn a_module_without_a_server_part() {
        let object = |keys: &[(&str, &str)]| vec![export("default", "object", keys)];
        for (exports, tui_entry, nothing) in [
            (object(&[("id", "string"), ("tui", "function")]), false, true),
            (object(&[("id", "string")]), true, true),
            (object(&[("id", "string")]), false, false),
            (object(&[("id", "string"), ("setup", "function")]), true, false),
            (object(&[("server", "function"), ("tui", "function")]), true, false),
            (vec![], true, true),
            (vec![export("VERSION", "string", &[])], true, true),
            (vec![export("Plugin", "function", &[])], true, false),
            (vec![export("default", "function", &[])], true, false),
        ] {
            assert_eq!(is_nothing_for_a_server(&exports, tui_entry), nothing, "{exports:?}");
        }
    }
}
