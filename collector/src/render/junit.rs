//! `junit.xml` for CI systems: one suite for each host version. A failure that is allowed is still written as a failure; the suite says that
//! it is not required.

use ocsweep_proto::ids::DEFAULT_VARIANT;
use ocsweep_proto::row::{CaseRow, Results};
use ocsweep_proto::verdict::Verdict;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};

use super::text::{one_line, xml};
use super::{Tally, by_version};

/// Characters of a message.
const MESSAGE: usize = 1000;

/// The document. `allowed` are the versions that may fail.
#[must_use]
pub fn junit(results: &Results, allowed: &[String]) -> String {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    #[expect(clippy::expect_used, reason = "only the buffer could refuse, and a buffer in memory takes everything")]
    document(&mut writer, results, allowed).expect("a buffer in memory takes everything");
    String::from_utf8_lossy(&writer.into_inner()).into_owned()
}

fn document(writer: &mut Writer<Vec<u8>>, results: &Results, allowed: &[String]) -> std::io::Result<()> {
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let root = with_counts(BytesStart::new("testsuites"), &format!("ocsweep {}", results.plugin), results.results.iter());
    writer.write_event(Event::Start(root))?;
    for (version, rows) in by_version(results) {
        suite(writer, results, version, &rows, allowed)?;
    }
    writer.write_event(Event::End(BytesEnd::new("testsuites")))?;
    writer.get_mut().push(b'\n');
    Ok(())
}

fn suite(writer: &mut Writer<Vec<u8>>, results: &Results, version: &str, rows: &[&CaseRow], allowed: &[String]) -> std::io::Result<()> {
    let start = with_counts(BytesStart::new("testsuite"), &format!("opencode {version}"), rows.iter().copied());
    writer.write_event(Event::Start(attribute(start, "timestamp", &results.at)))?;
    let required = if allowed.iter().any(|word| word == version) { "false" } else { "true" };
    writer.write_event(Event::Start(BytesStart::new("properties")))?;
    let property = attribute(attribute(BytesStart::new("property"), "name", "required"), "value", required);
    writer.write_event(Event::Empty(property))?;
    writer.write_event(Event::End(BytesEnd::new("properties")))?;
    for row in rows {
        case(writer, results, row)?;
    }
    writer.write_event(Event::End(BytesEnd::new("testsuite")))
}

fn case(writer: &mut Writer<Vec<u8>>, results: &Results, row: &CaseRow) -> std::io::Result<()> {
    let name = if row.variant == DEFAULT_VARIANT { row.id.clone() } else { format!("{} @{}", row.id, row.variant) };
    let start = attribute(BytesStart::new("testcase"), "name", &name);
    let start = attribute(start, "classname", &format!("{}.{}", results.plugin, row.tier));
    let start = attribute(start, "time", &decimal(row.duration_ms));
    writer.write_event(Event::Start(start))?;
    let reason = row.reason.map_or("", |reason| reason.as_str());
    let message = row.failures.first().map_or(reason, String::as_str);
    match row.verdict {
        Verdict::Pass => {}
        Verdict::Skipped => {
            let skipped = attribute(BytesStart::new("skipped"), "message", row.skipped.as_deref().unwrap_or(reason));
            writer.write_event(Event::Empty(skipped))?;
        }
        Verdict::Fail => problem(writer, "failure", reason, message, row)?,
        Verdict::Indeterminate => problem(writer, "error", reason, message, row)?,
    }
    if !row.warnings.is_empty() {
        let lines: Vec<String> = row.warnings.iter().map(|warning| format!("warning: {warning}")).collect();
        text_element(writer, BytesStart::new("system-out"), &lines.join("\n"))?;
    }
    writer.write_event(Event::End(BytesEnd::new("testcase")))
}

fn problem(writer: &mut Writer<Vec<u8>>, element: &'static str, reason: &str, message: &str, row: &CaseRow) -> std::io::Result<()> {
    let start = attribute(attribute(BytesStart::new(element), "type", reason), "message", message);
    let evidence = row.evidence.iter().map(|evidence| format!("evidence: {evidence}/"));
    let lines: Vec<String> = row.failures.iter().cloned().chain(evidence).collect();
    text_element(writer, start, &lines.join("\n"))
}

fn text_element(writer: &mut Writer<Vec<u8>>, start: BytesStart<'_>, text: &str) -> std::io::Result<()> {
    let end = start.to_end().into_owned();
    writer.write_event(Event::Start(start.borrow()))?;
    writer.write_event(Event::Text(BytesText::new(&xml(text))))?;
    writer.write_event(Event::End(end))
}

fn with_counts<'a>(start: BytesStart<'static>, name: &str, rows: impl Iterator<Item = &'a CaseRow> + Clone) -> BytesStart<'static> {
    let tally = Tally::of(rows.clone(), &[]);
    let tests = tally.passed + tally.failed + tally.skipped + tally.indeterminate;
    let counts = [("tests", tests), ("failures", tally.failed), ("errors", tally.indeterminate), ("skipped", tally.skipped)];
    let start = counts.into_iter().fold(attribute(start, "name", name), |start, (key, count)| attribute(start, key, &count.to_string()));
    attribute(start, "time", &decimal(rows.map(|row| row.duration_ms).fold(0, u64::saturating_add)))
}

/// An attribute is one line: a parser makes blanks of line feeds anyway.
fn attribute(mut start: BytesStart<'static>, key: &str, value: &str) -> BytesStart<'static> {
    start.push_attribute((key, one_line(&xml(value), MESSAGE).as_str()));
    start
}

/// Seconds with three decimals.
fn decimal(milliseconds: u64) -> String {
    format!("{}.{:03}", milliseconds / 1000, milliseconds % 1000)
}
