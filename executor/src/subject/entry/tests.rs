//! Entries case by case, as the real host resolves them.

use serde_json::json;

use super::super::tree::Node;
use super::*;

fn tree(files: &[&str]) -> Tree {
    files
        .iter()
        .map(|file| match file.split_once(" -> ") {
            Some((link, target)) => (link, Node::Link(target.as_bytes().to_vec())),
            None => (*file, Node::File),
        })
        .collect()
}

struct Case<'a> {
    files: &'a [&'a str],
    package: Option<serde_json::Value>,
    directory: &'a str,
    entry: Option<&'a str>,
    ui: bool,
}

fn case<'a>(files: &'a [&'a str], package: serde_json::Value) -> Case<'a> {
    Case { files, package: Some(package), directory: "", entry: None, ui: false }
}

impl Case<'_> {
    fn run(&self, rules: Rules) -> Result<Resolved, EntryError> {
        let tree = tree(self.files);
        let package = self.package.as_ref().map_or(PackageJson::Absent, |value| PackageJson::parse(value.to_string().as_bytes()));
        resolve(EntryInput {
            tree: &tree,
            directory: self.directory,
            package: &package,
            entry: self.entry,
            ui: self.ui,
            rules,
            shown_root: "/root",
        })
    }

    /// Path and rule of the server entry; a leading `!` marks one that the host does not resolve.
    fn shown(&self, rules: Rules) -> String {
        match self.run(rules) {
            Ok(resolved) => match resolved.entries.server {
                Some(server) => format!("{}{} by {}", if server.not_resolved.is_some() { "!" } else { "" }, server.path, server.rule),
                None => format!("tui {}", resolved.entries.tui.unwrap_or_default()),
            },
            Err(error) => match error {
                EntryError::NoEntry { .. } => "none".to_owned(),
                EntryError::EntryMissing { field, file } => format!("missing {file} of {field}"),
                EntryError::Outside { field, file } => format!("outside {file} of {field}"),
                other => other.to_string(),
            },
        }
    }
}

#[test]
fn package_fields() {
    let main = r#"package.json "main""#;
    let server = r#"package.json exports["./server"]"#;
    let dot = r#"package.json exports["."]"#;
    let both = |text: String| (text.clone(), text);
    let table: Vec<(Case<'_>, (String, String))> = vec![
        (case(&["x.js"], json!({"main": "x.js"})), both(format!("x.js by {main}"))),
        (case(&["x.js"], json!({"main": " ./x.js "})), both(format!("x.js by {main}"))),
        (case(&["lib/index.js"], json!({"main": "lib"})), both(format!("lib/index.js by {main}"))),
        (case(&["lib/index.js"], json!({"main": "./lib/"})), both(format!("lib/index.js by {main}"))),
        (case(&["entry.ts"], json!({"main": "entry"})), both(format!("entry.ts by {main}"))),
        (case(&["x.ts"], json!({"main": "./x.js"})), both(format!("x.ts by {main}"))),
        (case(&["s.js", "m.js"], json!({"main": "m.js", "exports": {"./server": "./s.js"}})), both(format!("s.js by {server}"))),
        (case(&["s.js"], json!({"exports": {"./server": {"types": "./s.d.ts", "import": "./s.js"}}})), both(format!("s.js by {server}"))),
        (case(&["s.js", "t.js"], json!({"exports": {"./server": "./s.js", "./tui": "./t.js"}})), both(format!("s.js by {server}"))),
        // The host knows two conditions and no nesting; a module loader would find these.
        (case(&["s.js"], json!({"exports": {"./server": {"bun": "./s.js"}}})), both(format!("!s.js by {server}"))),
        (case(&["s.js"], json!({"exports": {"./server": {"import": {"default": "./s.js"}}}})), both(format!("!s.js by {server}"))),
        (case(&["s.js"], json!({"exports": {"./server": ["./s.js"]}})), both(format!("!s.js by {server}"))),
        (case(&["x.js"], json!({"exports": {".": "./x.js"}})), both(format!("!x.js by {dot}"))),
        (case(&["x.js"], json!({"exports": "./x.js"})), both(format!("!x.js by {dot}"))),
        (case(&["x.js"], json!({"exports": {"import": "./x.js"}})), both(format!("!x.js by {dot}"))),
        // "main" decides for the host, whatever "." says.
        (case(&["a.js", "b.js"], json!({"main": "./b.js", "exports": {".": "./a.js"}})), both(format!("b.js by {main}"))),
        (case(&["index.ts"], json!({"exports": {".": "./none.js"}})), ("index.ts by index.ts".into(), "!index.ts by index.ts".into())),
        (case(&["x.js", "index.js"], json!({"exports": {".": "./x.js"}})), ("index.js by index.js".into(), format!("!x.js by {dot}"))),
        (case(&["index.js"], json!({"exports": "./none.js"})), both("index.js by index.js".into())),
        (case(&["m.js"], json!({"module": "./m.js"})), both(r#"m.js by package.json "module""#.into())),
        (case(&["index.ts"], json!({"module": "./none.js"})), both("index.ts by index.ts".into())),
    ];
    for (case, (path, npm)) in table {
        assert_eq!(case.shown(Rules::Path), path, "path: {:?} {:?}", case.files, case.package);
        assert_eq!(case.shown(Rules::Npm), npm, "npm: {:?} {:?}", case.files, case.package);
    }
}

#[test]
fn files_by_name() {
    let table = [
        (case(&["index.js"], json!({})), "index.js by index.js"),
        (case(&["index.tsx", "index.ts"], json!({})), "index.tsx by index.tsx"),
        (case(&["index.tsx", "index.ts"], json!({"exports": {}})), "index.ts by index.ts"),
        (case(&["index.mjs", "index.js"], json!({})), "index.mjs by index.mjs"),
        (case(&["index.mjs", "index.js"], json!({"exports": {}})), "index.js by index.js"),
        (case(&["server.ts"], json!({})), "!server.ts by server.ts"),
        (case(&["server.ts", "index.ts"], json!({})), "index.ts by index.ts"),
        (case(&["index/x"], json!({})), "none"),
        (case(&["README.md"], json!({})), "none"),
        (case(&["tui.ts"], json!({})), "tui tui.ts"),
        (case(&["t.ts"], json!({"exports": {"./tui": "./t.ts"}})), "tui t.ts"),
        (case(&["tui.ts", "index.ts"], json!({})), "index.ts by index.ts"),
    ];
    for (case, expected) in table {
        assert_eq!(case.shown(Rules::Path), expected, "{:?} {:?}", case.files, case.package);
    }
    let bare = |files| Case { files, package: None, directory: "", entry: None, ui: false }.shown(Rules::Path);
    assert_eq!(bare(&["index.mjs"]), "index.mjs by index.mjs");
    assert_eq!(bare(&["server.mjs"]), "!server.mjs by server.mjs");
    assert_eq!(bare(&[]), "none");
}

#[test]
fn missing_files_and_files_outside() {
    let table = [
        (case(&["src/index.ts"], json!({"main": "./dist/index.js"})), "missing ./dist/index.js of main"),
        (case(&[], json!({"exports": {"./server": "./s.js"}})), r#"missing ./s.js of exports["./server"]"#),
        (case(&[], json!({"exports": {".": "./s.js"}})), r#"missing ./s.js of exports["."]"#),
        (case(&[], json!({"module": "./m.js"})), "missing ./m.js of module"),
        (case(&["dist/x"], json!({"main": "dist"})), "missing dist of main"),
        (case(&["tui.ts"], json!({"main": "./dist/index.js"})), "missing ./dist/index.js of main"),
        // The host tries "main" alone, so that the other file does not help it.
        (case(&["index.ts"], json!({"main": "./dist/index.js"})), "!index.ts by index.ts"),
        (case(&["m.js"], json!({"main": "./m.js", "exports": {"./server": "./s.js"}})), r#"!m.js by package.json "main""#),
        (case(&[], json!({"main": "../x.js"})), "outside ../x.js of main"),
        (case(&[], json!({"main": "/etc/passwd"})), "outside /etc/passwd of main"),
        (case(&[], json!({"main": "file:///etc/passwd"})), "outside file:///etc/passwd of main"),
        (case(&["x.js"], json!({"main": "a/../x.js"})), r#"x.js by package.json "main""#),
    ];
    for (case, expected) in table {
        assert_eq!(case.shown(Rules::Path), expected, "{:?} {:?}", case.files, case.package);
    }
}

#[test]
fn a_nested_plugin_directory_is_a_border() {
    let nested = |files, main| Case { directory: "pkg/a", ..case(files, json!({"main": main})) }.shown(Rules::Path);
    assert_eq!(nested(&["pkg/a/x.js"], "x.js"), r#"pkg/a/x.js by package.json "main""#);
    assert_eq!(nested(&["pkg/b/x.js"], "../b/x.js"), "outside ../b/x.js of main");
    assert_eq!(nested(&["pkg/b/x.js", "pkg/a/l.js -> ../b/x.js"], "l.js"), "outside l.js of main");
    assert_eq!(nested(&["pkg/ab/x.js", "pkg/a/l.js -> ../ab/x.js"], "l.js"), "outside l.js of main");
    assert_eq!(nested(&["pkg/a/d/x.js", "pkg/a/l.js -> d/x.js"], "l.js"), r#"pkg/a/l.js by package.json "main""#);
}

#[test]
fn messages() {
    let error = case(&[], json!({"main": "./dist/index.js"})).run(Rules::Path).unwrap_err();
    assert_eq!(error.to_string(), "entry ./dist/index.js is missing: package.json field main names it, and nothing else resolves.");
    assert_eq!(error.reason(), Some(Reason::EntryMissing));
    let error = Case { directory: "pkg", ..case(&["pkg/x"], json!({})) }.run(Rules::Path).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"No server entry found under /root/pkg: looked for package.json exports["./server"]/["."], main, then server.{ts,js,mjs} and index.{ts,js,mjs}."#
    );
    assert_eq!(error.reason(), None);
    let why = |case: Case<'_>, rules| case.run(rules).unwrap().entries.server.unwrap().not_resolved.unwrap();
    let text = why(case(&["x.js"], json!({"exports": {".": "./x.js"}})), Rules::Npm);
    assert!(text.ends_with(r#"else "main"; set "main" (or exports["./server"]) of package.json to "./x.js""#), "{text}");
    let text = why(case(&["index.ts"], json!({"main": "./dist/index.js"})), Rules::Path);
    assert_eq!(
        text,
        r#"package.json field main names ./dist/index.js, which is not there, and the host looks no further; set "main" (or exports["./server"]) of package.json to "./index.ts""#
    );
}

#[test]
fn an_explicit_entry_is_final() {
    let explicit = |files, entry| Case { entry: Some(entry), directory: "pkg", ..case(files, json!({"main": "./m.js"})) };
    let files: &[&str] = &["pkg/m.js", "pkg/index.ts", "pkg/b/e.ts", "lib/x.ts", "pkg/out -> /etc/passwd"];
    assert_eq!(explicit(files, "b/e.ts").shown(Rules::Path), "pkg/b/e.ts by plugin.entry");
    assert_eq!(explicit(files, "./b/e.ts").shown(Rules::Path), "pkg/b/e.ts by plugin.entry");
    assert_eq!(explicit(files, "/root/lib/x.ts").shown(Rules::Path), "lib/x.ts by plugin.entry");
    assert_eq!(explicit(files, "../lib/x.ts").shown(Rules::Path), "lib/x.ts by plugin.entry");
    assert_eq!(
        explicit(files, "dist/e.js").run(Rules::Path).unwrap_err().to_string(),
        r#"plugin.entry "dist/e.js" does not exist (resolved to /root/pkg/dist/e.js). Fix the path, or check that plugin.build creates it."#
    );
    assert!(matches!(explicit(files, "b").run(Rules::Path), Err(EntryError::ExplicitMissing { .. })));
    for outside in ["../../x", "/etc/passwd", "/rootx/e.ts", "out"] {
        assert!(matches!(explicit(files, outside).run(Rules::Path), Err(EntryError::ExplicitOutside { .. })), "{outside}");
    }
}

#[test]
fn tui_only_by_configuration() {
    let ui = |files, package| Case { ui: true, ..case(files, package) }.run(Rules::Path);
    let entries = ui(&["index.ts", "tui.ts"], json!({})).unwrap().entries;
    assert_eq!((entries.server, entries.tui.as_deref(), entries.tui_only), (None, Some("tui.ts"), true));
    let entries = ui(&["index.ts"], json!({})).unwrap().entries;
    assert_eq!((entries.tui.as_deref(), entries.tui_only), (Some("index.ts"), true));
    assert!(matches!(ui(&[], json!({})), Err(EntryError::NoEntry { .. })));
    let entries = case(&["index.ts", "tui.ts"], json!({})).run(Rules::Path).unwrap().entries;
    assert_eq!((entries.tui.as_deref(), entries.tui_only), (Some("tui.ts"), false));
}

#[test]
fn warnings_where_the_published_package_differs() {
    let warnings = |files, package| case(files, package).run(Rules::Path).unwrap().warnings;
    let found = warnings(&["index.ts"], json!({"name": "p", "exports": {"./other": "./o.js"}}));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with("the published package would not load: ") && found[0].ends_with(r#"add "main": "./index.ts""#),
        "{found:?}"
    );
    assert!(warnings(&["index.ts"], json!({"name": "p", "private": true, "exports": {}})).is_empty());
    assert!(warnings(&["index.ts"], json!({"exports": {}})).is_empty());
    assert!(warnings(&["index.ts"], json!({"name": "p"})).is_empty());
    assert!(warnings(&["x.ts"], json!({"name": "p", "main": "x.ts"})).is_empty());
}

#[test]
fn a_path_that_is_a_file_and_a_package_json_that_is_none() {
    let tree = tree(&["plugin.ts", "index.js"]);
    let input = |directory, package| EntryInput {
        tree: &tree,
        directory,
        package,
        entry: None,
        ui: false,
        rules: Rules::Path,
        shown_root: "/root",
    };
    assert!(matches!(resolve(input("plugin.ts", &PackageJson::Absent)), Err(EntryError::NoEntry { .. })));
    let broken = PackageJson::parse(b"{");
    let resolved = resolve(input("", &broken)).unwrap();
    assert_eq!(resolved.entries.server.unwrap().path, "index.js");
    assert!(resolved.warnings[0].starts_with("package.json is ignored: "), "{:?}", resolved.warnings);
}

#[test]
fn engines_count_for_packages_alone() {
    let engines =
        |rules| case(&["x.js"], json!({"main": "x.js", "engines": {"opencode": "^1"}})).run(rules).unwrap().entries.server.unwrap().engines;
    assert_eq!(engines(Rules::Npm).as_deref(), Some("^1"));
    assert_eq!(engines(Rules::Path), None);
}

#[test]
fn the_list_alone_takes_its_first_hit() {
    assert_eq!(case(&["server.ts", "index.ts"], json!({})).shown(Rules::Listed), "server.ts by server.ts");
    assert_eq!(
        case(&["a.js", "b.js"], json!({"main": "b.js", "exports": {".": "./a.js"}})).shown(Rules::Listed),
        r#"a.js by package.json exports["."]"#
    );
}
