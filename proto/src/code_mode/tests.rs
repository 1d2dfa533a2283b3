//! What is a line of the catalog, which names find it, and that wrapped code can be read back.

use proptest::prelude::*;
use serde_json::json;

use super::*;

const SYSTEM: &str = r#"You may call these:
- tools.read(path: string): Promise<string>
  - tools.ns.spike_echo({ text: string })
- tools.ns["my-tool"](input)
- tools['a b']["c\"d"](x)
- tools.other.read(x)
tools.not_an_item(x)
* tools.star(x)
- tools(x)
- tools.open
- tools.9lives(x)
- tools["unterminated(x)
- use tools.middle(x)
- toolsmith.hammer(x)
"#;

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[test]
fn only_list_items_with_a_call_are_the_catalog() {
    let catalog = catalog(SYSTEM);
    let paths: Vec<_> = catalog.iter().map(|path| (path.text(), path.segments().join("|"))).collect();
    let expected = [
        ("tools.read", "read"),
        ("tools.ns.spike_echo", "ns|spike_echo"),
        (r#"tools.ns["my-tool"]"#, "ns|my-tool"),
        (r#"tools['a b']["c\"d"]"#, r#"a b|c"d"#),
        ("tools.other.read", "other|read"),
    ];
    assert_eq!(paths, expected.map(|(text, segments)| (text, segments.to_owned())));
}

#[test]
fn names_find_their_path() {
    let catalog = catalog(SYSTEM);
    let table = [
        ("tools.ns.spike_echo", Some("tools.ns.spike_echo")),
        ("ns_spike_echo", Some("tools.ns.spike_echo")),
        ("ns.spike_echo", Some("tools.ns.spike_echo")),
        ("spike_echo", Some("tools.ns.spike_echo")),
        ("tools.ns['my-tool']", Some(r#"tools.ns["my-tool"]"#)),
        ("ns_my-tool", Some(r#"tools.ns["my-tool"]"#)),
        // The joined form of the first line wins over the last segment of the other.
        ("read", Some("tools.read")),
        ("other_read", Some("tools.other.read")),
        ("echo", None),
        ("ns", None),
        ("tools", None),
        ("", None),
    ];
    for (name, path) in table {
        let expected = path.map(|path| format!(r#"return await {path}({{"x":1}})"#));
        assert_eq!(wrap(name, &object(json!({"x": 1})), &catalog), expected, "{name}");
    }
}

#[test]
fn a_full_path_wins_over_an_earlier_last_segment() {
    let catalog = catalog("- tools.a.run(x)\n- tools.run(x)\n");
    assert_eq!(wrap("run", &Map::new(), &catalog).unwrap(), "return await tools.run({})");
    assert_eq!(wrap("tools.a.run", &Map::new(), &catalog).unwrap(), "return await tools.a.run({})");
}

#[test]
fn names_of_the_catalog_are_listed_once() {
    let names = catalog_names("- tools.read(x)\n- tools.ns.read(x)\n- tools.read(y)\n");
    assert_eq!(names, ["tools.read", "read", "tools.ns.read", "ns_read"]);
}

proptest! {
    #[test]
    fn any_text_is_read_without_panic(text in "(- tools[.\\[\"'a-z(\\\\é ]{0,20}\n?){0,4}|\\PC{0,80}") {
        for path in catalog(&text) {
            prop_assert!(!path.segments().is_empty());
            prop_assert!(text.contains(path.text()));
        }
        let _ = catalog_names(&text);
    }

    #[test]
    fn arguments_survive(key in "\\PC{0,12}", value in "\\PC{0,40}", segment in "[a-z_][a-z0-9_]{0,10}") {
        let arguments = object(json!({key: value}));
        let code = wrap(&segment, &arguments, &catalog(&format!("- tools.ns.{segment}(x)"))).unwrap();
        let json = code.strip_prefix(&format!("return await tools.ns.{segment}(")).unwrap().strip_suffix(')').unwrap();
        prop_assert_eq!(object(serde_json::from_str(json).unwrap()), arguments);
    }

    #[test]
    fn every_listed_name_finds_a_path(segments in proptest::collection::vec("[a-z]{1,4}", 1..4)) {
        let system = format!("- tools.{}(x)", segments.join("."));
        let catalog = catalog(&system);
        for name in catalog_names(&system) {
            prop_assert!(wrap(&name, &Map::new(), &catalog).is_some(), "{}", name);
        }
    }
}

/// As recorded: signatures over several lines, a tool without a namespace below a heading of its own, and `tools.` in the prose around.
const RECORDED: &str = r#"Call tools as `tools.<namespace>.<tool>(input)`; find more with `search(...)`.
- tools.<namespace>... is how a path begins.

## Available tools (PARTIAL - 2 of 6 tools shown)
- spike_echo (1 tool)
  - tools.spike_echo(input: {
  /** Text */
  text: string,
}): Promise<unknown> // Echo the text spike_echo
- my_ns (1 tool)
  - tools.my_ns["ns-echo"](input: {
  /** calls tools.other.read(x) */
  text: string,
}): Promise<unknown> // Echo
- dotted.name (2 tools, none shown) // Has tools
- dotted (1 tool, none shown)
- odd-ns (3 tools, 1 shown)
  - tools["odd-ns"].seen(input: {}): Promise<unknown>
- lonely (1 tool, none shown)
"#;

#[test]
fn recorded_catalogs_are_read_over_their_lines_and_prose() {
    let paths: Vec<_> = catalog(RECORDED).into_iter().map(|path| path.text).collect();
    assert_eq!(paths, ["tools.spike_echo", r#"tools.my_ns["ns-echo"]"#, r#"tools["odd-ns"].seen"#]);
}

#[test]
fn a_tool_that_a_cut_catalog_hides_has_the_path_of_its_namespace() {
    let table = [
        ("dotted_name_run", Some("tools.dotted.name.run")),
        ("dotted.name.run-it", Some(r#"tools.dotted.name["run-it"]"#)),
        ("tools.dotted.run", Some("tools.dotted.run")),
        ("odd-ns_hidden", Some(r#"tools["odd-ns"].hidden"#)),
        ("lonely", Some("tools.lonely")),
        // All of this namespace is shown, so what is not there does not exist.
        ("my_ns_other", None),
        ("unknown", None),
        ("dottedx", None),
    ];
    for (name, path) in table {
        assert_eq!(wrap_hidden(name, &Map::new(), RECORDED), path.map(|path| format!("return await {path}({{}})")), "{name}");
    }
    assert_eq!(wrap_hidden("spike_echo", &Map::new(), "- spike_echo (1 tool, 1 shown)\n- item (not a heading, none shown)"), None);
}
