//! Golden files for every rendering, the layout rules as tables, and hostile text checked with a real Markdown parser.

use ocsweep_proto::axes::Tier;
use ocsweep_proto::row::{AttemptRow, CaseRow, Completeness, JudgeRow, Results, Tokens};
use ocsweep_proto::verdict::Reason;
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::{TableStyle, junit, markdown, summary, table, text};
use crate::testing::{golden, load, results, row, scripted};

const HOSTILE: &str = "a `b` ``c`` |d| \\|e <script>alert(1)</script> ![i](http://e.vil/i.png) [l](javascript:x) @user #12\r\n## h\n\u{1b}[31mred\u{1b}[0m \u{202e}rtl :smile:";

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// A run that shows everything a report can show.
fn everything() -> Results {
    let mut first = load("1.18.33", None);
    first.resolved = Some("1.18.33".to_owned());
    (first.steps, first.warnings) = (Some(1), words(&["tool \"read\" shadows a built-in tool", "prints to stdout"]));
    first.digests.binary = Some(format!("sha256:{}", "b".repeat(64)));
    first.digests.image = Some(format!("sha256:{}", "1".repeat(64)));
    let mut failed = scripted("tool-before", "1.18.33", Some(Reason::Assertion));
    failed.failures = words(&["tool bash: expected input.command to equal \"echo [x]\", got \"echo secret | cat\".", "second failure"]);
    (failed.tools, failed.completed) = (words(&["bash", "read", "bash", "grep"]), words(&["read"]));
    failed.text_excerpt = Some("first line\n\n```js\ncode\n```\nlast line".to_owned());
    (failed.flaky, failed.cost_usd, failed.steps) = (true, Some(0.0), Some(12));
    let mut hostile = scripted("hostile", "1.18.33", Some(Reason::HostError));
    hostile.failures = vec![HOSTILE.to_owned(), "x".repeat(400)];
    hostile.text_excerpt = Some(format!("{HOSTILE}\n````\n"));
    (hostile.warnings, hostile.tools) = (vec![HOSTILE.to_owned()], vec![HOSTILE.to_owned()]);
    let mut live = row("live-smoke", Tier::Live, "1.18.33", Some(Reason::Assertion));
    live.failures = words(&["live scenario live-smoke: 1 of 3 attempt(s) passed, needed 2 of 3."]);
    live.attempts = [true, false, false].map(|pass| AttemptRow { pass, failures: Vec::new() }).into();
    live.judge = Some(JudgeRow { pass: false, reason: "too short".to_owned() });
    live.tokens = Some(Tokens { input: 1200, output: 340, ..Tokens::default() });
    (live.cost_usd, live.duration_ms) = (Some(0.0612), 61_951);
    let skipped = row("live-other", Tier::Live, "1.18.33", None).skipped(Reason::BudgetExhausted, "budget exhausted ($1.00 of $1.00)");
    let mut unknown = load("latest", Some(Reason::Docker));
    "musl".clone_into(&mut unknown.variant);
    unknown.failures = words(&["the engine does not answer"]);
    let allowed = scripted("tool-before", "latest", Some(Reason::TimeoutTotal));
    let mut all = results(vec![first, failed, hostile, live, skipped, unknown, allowed]);
    all.plugin = "@scope/my_plugin".to_owned();
    all.budget_usd = Some(1.0);
    all.image = Some(format!("sha256:{}", "1".repeat(64)));
    all.completeness =
        Some(Completeness { planned: 8, done: 5, skipped: 1, indeterminate: 1, missing: words(&["gone-1234"]), unplanned: Vec::new() });
    all
}

#[test]
fn golden_files() {
    let (all, allowed) = (everything(), words(&["latest"]));
    golden("report.md", &markdown(&all, &allowed));
    golden("junit.xml", &junit(&all, &allowed));
    golden("table.txt", &table(&all, &allowed, TableStyle::default()));
    golden("table-narrow.txt", &table(&all, &allowed, TableStyle { width: Some(100), color: false }));
    golden("table-color.txt", &table(&all, &allowed, TableStyle { width: Some(120), color: true }).replace('\u{1b}', "ESC"));
    golden("summary.txt", &format!("{}\n", summary(&all, &allowed)));
    golden("empty.md", &markdown(&results(Vec::new()), &[]));
}

#[test]
fn the_mark_of_the_result() {
    let fail = || load("1.0.0", Some(Reason::Assertion));
    let unknown = |version| load(version, Some(Reason::Docker));
    let table = [
        (vec![], "0 passed, 0 failed, 0 skipped, 0 indeterminate** ✅"),
        (vec![load("1.0.0", Some(Reason::NoKey))], "0 passed, 0 failed, 1 skipped, 0 indeterminate** ✅"),
        (vec![load("1.0.0", None), load("latest", Some(Reason::Assertion))], "1 passed, 1 failed, 0 skipped, 0 indeterminate** ✅"),
        (vec![load("1.0.0", None), unknown("latest")], "1 passed, 0 failed, 0 skipped, 1 indeterminate** ✅"),
        (vec![unknown("1.0.0")], "0 passed, 0 failed, 0 skipped, 1 indeterminate** ❔"),
        (vec![unknown("1.0.0"), fail()], "0 passed, 1 failed, 0 skipped, 1 indeterminate** ❌"),
    ];
    for (rows, expected) in table {
        let page = markdown(&results(rows), &words(&["latest"]));
        assert!(page.contains(&format!("- Result: **{expected}\n")), "{page}");
    }
}

#[test]
fn a_run_that_lost_a_case_has_no_good_mark() {
    let mut all = results(vec![load("1.0.0", None)]);
    for (missing, mark, sum) in [
        (words(&[]), "✅", "- Planned: 1 = 1 done + 0 skipped + 0 indeterminate\n"),
        (words(&["gone"]), "❔", "- Planned: 2 = 1 done + 0 skipped + 0 indeterminate + 1 missing\n- Missing: `gone`\n"),
    ] {
        all.completeness = Some(Completeness { planned: 1 + missing.len() as u64, done: 1, missing, ..Completeness::default() });
        let page = markdown(&all, &[]);
        assert!(page.contains(&format!("indeterminate** {mark}\n")) && page.contains(sum), "{page}");
    }
}

#[test]
fn a_cut_text_says_so() {
    let fenced = |text: &str| text::fenced(text, 30, 2000);
    assert_eq!(fenced("a\n\nb\n"), "  ```text\n  a\n\n  b\n  ```\n");
    assert!(fenced(&"x\n".repeat(30)).ends_with("  x\n  ```\n"));
    assert!(fenced(&"x\n".repeat(31)).ends_with("  x\n  … (cut)\n  ```\n"));
    assert!(fenced(&"x".repeat(2000)).ends_with("x\n  ```\n"));
    assert!(fenced(&"x".repeat(2001)).ends_with("x\n  … (cut)\n  ```\n"));
}

#[test]
fn the_layout_that_readers_rely_on() {
    let page = markdown(&everything(), &words(&["latest"]));
    for line in [
        "## opencode 1.18.33 (required)",
        "## opencode latest (allowed to fail)",
        "| case | tier | verdict | attempts | steps | cost | time | first failure |",
        "| `load` | load | ✅ pass | — | 1 | — | 1.2s | — |",
        "### ❌ `live-smoke` (live)",
        "- `live scenario live-smoke: 1 of 3 attempt(s) passed, needed 2 of 3.`",
        "- Called but never completed: `bash`, `grep`",
        "- Judge: fail — `too short`",
        "- Evidence: `1.18.33/tool-before/`",
        "| `live-other` | live | ⏭ skipped: budget exhausted ($1.00 of $1.00) | — | — | — | 1.2s | — |",
        "| `load` `@musl` | load | ❔ indeterminate: docker | — | — | — | 1.2s | `the engine does not answer` |",
        "Live totals: 3 attempts, in 1200 / out 340 tokens, $0.0612 of $1.00",
    ] {
        assert!(page.lines().any(|found| found == line), "{line}\n{page}");
    }
    assert!(page.contains("| ⚠️ allowed failure |") && page.contains("echo secret \\| cat"), "{page}");
}

#[test]
fn text_is_cut_and_made_visible() {
    assert_eq!(text::one_line("a\r\nb\tc \u{1b}[1m", 100), "a b c \\u{1b}[1m");
    assert_eq!(text::one_line(&"ä".repeat(200), 160), format!("{}…", "ä".repeat(159)));
    assert_eq!(text::one_line(&"ä".repeat(160), 160), "ä".repeat(160));
    assert_eq!(text::code("a`b", 10), "``a`b``");
    assert_eq!(text::code("`a", 10), "`` `a ``");
    assert_eq!(text::code(" \n ", 10), "—");
    assert_eq!(text::code_cell("a|b\\|c\\\\|d", 20), "`a\\|b\\\\\\|c\\\\\\|d`");
    for harmless in
        ["tier 1 failed", "no API key (set one of: A_B, C)", "budget exhausted ($1.00 of $1.00)", "2026-11-30T22:00:00Z", "my-plugin 1.2.3"]
    {
        assert_eq!(text::plain(harmless, 100), harmless);
    }
    for hostile in [
        "@user",
        "a@b",
        "#1",
        "_a_",
        "a _b_ c",
        "*a*",
        "[a](b)",
        "<b>",
        "http://x",
        "a www.x.y",
        ":smile:",
        "$x$",
        "a|b",
        "~~a~~",
        "- a",
        "&amp;",
        "\\",
    ] {
        assert!(text::plain(hostile, 100).starts_with('`'), "{hostile}");
    }
    assert_eq!(text::fit("日本語", 5), "日本…");
    assert_eq!(text::padded("日", 4), "日  ");
    assert_eq!(text::xml("a\0\u{8}\u{b}\u{1b}[31m\u{fffe}\u{ffff}\tb\u{202e}\n"), "a[31m\tb\\u{202e}\n");
}

#[test]
fn lists_are_cut_and_say_so() {
    let mut row = load("1.0.0", Some(Reason::Assertion));
    row.failures = (0..60).map(|n| format!("failure {n}")).collect();
    let page = markdown(&results(vec![row]), &[]);
    assert!(page.contains("- `failure 49`\n- … and 10 more\n"), "{page}");
}

#[test]
fn a_hundred_thousand_rows_take_no_time() {
    let rows: Vec<CaseRow> = (0..100_000)
        .map(|n| {
            let mut row =
                scripted(&format!("case-{n}"), if n % 2 == 0 { "1.18.33" } else { "latest" }, (n % 3 == 0).then_some(Reason::Assertion));
            row.failures = vec![HOSTILE.to_owned()];
            row
        })
        .collect();
    let all = results(rows);
    let start = std::time::Instant::now();
    let page = markdown(&all, &words(&["latest"]));
    assert!(page.lines().count() > 200_000);
    // Far above what an optimised build takes (below a second); quadratic work takes minutes.
    assert!(start.elapsed() < std::time::Duration::from_secs(30), "{:?}", start.elapsed());
}

fn hostile_text() -> impl Strategy<Value = String> {
    let pieces = [
        "`",
        "``",
        "|",
        "\\",
        "\n",
        "\r",
        " ",
        "<script>",
        "<!--",
        "](javascript:x)",
        "[a]: http://x",
        "![x](y)",
        "@user",
        "http://e.vil",
        "#1",
        "- ",
        "1. ",
        "***",
        "_",
        "~~~\n",
        "```\n",
        "$x$",
        "&lt;",
        "\u{1b}[31m",
        "\u{202e}",
        ":smile:",
        "[^1]",
        "\u{2028}",
        "---\n",
        "www.x.y",
        "a",
        "\0",
        "]]>",
        "\t",
    ];
    proptest::collection::vec(proptest::sample::select(pieces.to_vec()), 0..14).prop_map(|pieces| pieces.concat())
}

/// One row with the text everywhere.
fn poisoned(text: &str) -> Results {
    let mut row = row("load", Tier::Live, text, Some(Reason::Assertion));
    let list = || vec![text.to_owned()];
    (row.failures, row.warnings, row.tools, row.errors) = (list(), list(), list(), list());
    (row.id, row.variant) = (text.to_owned(), text.to_owned());
    (row.resolved, row.evidence, row.text_excerpt) = (Some(text.to_owned()), Some(text.to_owned()), Some(text.to_owned()));
    row.judge = Some(JudgeRow { pass: true, reason: text.to_owned() });
    row.digests.binary = Some(text.to_owned());
    let mut skipped = load(text, None).skipped(Reason::NotApplicable, text);
    skipped.variant = text.to_owned();
    let mut all = results(vec![row, skipped]);
    (all.plugin, all.at, all.tool) = (text.to_owned(), text.to_owned(), text.to_owned());
    all.completeness = Some(Completeness { missing: list(), unplanned: list(), ..Completeness::default() });
    all.image = Some(text.to_owned());
    all
}

proptest! {
    #[test]
    fn no_text_gets_out_of_its_place_in_markdown(text in hostile_text()) {
        let page = markdown(&poisoned(&text), &[]);
        let (mut cells, mut headings, mut in_block) = (0, 0, false);
        for event in Parser::new_ext(&page, Options::all()) {
            match event {
                Event::Html(_) | Event::InlineHtml(_) | Event::FootnoteReference(_) | Event::InlineMath(_) | Event::DisplayMath(_) | Event::Rule => prop_assert!(false, "{event:?} in\n{page}"),
                Event::Start(Tag::Link { .. } | Tag::Image { .. } | Tag::Emphasis | Tag::Strikethrough | Tag::BlockQuote(_) | Tag::HtmlBlock) => prop_assert!(false, "{event:?} in\n{page}"),
                Event::Start(Tag::TableCell) => cells += 1,
                Event::Start(Tag::Heading { .. }) => headings += 1,
                Event::Start(Tag::CodeBlock(_)) => in_block = true,
                Event::End(TagEnd::CodeBlock) => in_block = false,
                Event::Text(shown) if !in_block => {
                    for mark in ["@", "http", "www.", "#", "<", ":smile:"] {
                        prop_assert!(!shown.contains(mark), "{shown:?} in\n{page}");
                    }
                }
                _ => {}
            }
        }
        prop_assert_eq!((cells, headings), (8 * 3, 4), "{}", page);
        prop_assert!(page.chars().all(|c| c == '\n' || !c.is_control()), "{page:?}");
    }

    #[test]
    fn a_failure_is_shown_as_it_is(text in "[ -~äß`|\\\\]{1,60}") {
        let mut row = load("1.0.0", Some(Reason::Assertion));
        row.failures = vec![text.clone()];
        let page = markdown(&results(vec![row]), &[]);
        let shown = Parser::new_ext(&page, Options::all()).filter_map(|event| if let Event::Code(shown) = event { Some(shown.to_string()) } else { None }).collect::<Vec<_>>();
        prop_assert!(text.trim().is_empty() || shown.iter().any(|shown| shown == text.trim()), "{text:?} not in {shown:?}");
    }

    #[test]
    fn a_terminal_sees_no_control_character(text in hostile_text(), width in proptest::option::of(0_usize..200)) {
        let lines = table(&poisoned(&text), &[], TableStyle { width, color: false });
        prop_assert_eq!(lines.lines().count(), 3);
        prop_assert!(lines.chars().all(|c| c == '\n' || !c.is_control()), "{lines:?}");
        let turned = lines.contains('\u{202e}');
        prop_assert!(!turned);
    }

    #[test]
    fn xml_stays_well_formed(text in hostile_text()) {
        let document = junit(&poisoned(&text), &[]);
        let mut reader = quick_xml::Reader::from_str(&document);
        let (mut cases, mut open) = (0, 0_i32);
        loop {
            match reader.read_event().unwrap() {
                quick_xml::events::Event::Eof => break,
                quick_xml::events::Event::Start(start) => {
                    cases += usize::from(start.name().as_ref() == b"testcase");
                    open += 1;
                    for attribute in start.attributes() {
                        attribute.unwrap().unescape_value().unwrap();
                    }
                }
                quick_xml::events::Event::End(_) => open -= 1,
                quick_xml::events::Event::Text(text) => {
                    text.decode().unwrap();
                }
                _ => {}
            }
        }
        prop_assert_eq!((cases, open), (2, 0));
        prop_assert_eq!(text::xml(&document), document.clone());
    }

    #[test]
    fn the_same_results_give_the_same_bytes(text in hostile_text()) {
        let all = poisoned(&text);
        prop_assert_eq!(markdown(&all, &[]), markdown(&all.clone(), &[]));
    }
}
