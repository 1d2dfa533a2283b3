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
