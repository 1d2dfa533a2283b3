//! Judges the case `bun-test` by bun's exit code and summary. A pass needs at least one test that passed: no test is no evidence.
//!
//! Pure. It must not trust a summary over the exit code.

use ocsweep_proto::job::CaseWork;
use ocsweep_proto::verdict::Reason;

use super::{Judgement, show};
use crate::container::PlainExit;

/// Lines of the output's end that a failure shows.
const TAIL_LINES: usize = 40;
/// Characters of them.
const TAIL_CHARS: usize = 4000;
/// Failing tests that are named.
const NAMED: usize = 20;
/// The script's own exit code for a tree that does not fit.
const NO_ROOM: i64 = 97;

/// What bun did.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ran<'a> {
    /// Its end.
    pub(crate) exit: PlainExit,
    /// Standard output and error as they came.
    pub(crate) output: &'a str,
    /// Bytes that were cut out of it.
    pub(crate) dropped: u64,
}

/// The bound of the whole case in milliseconds: the author's own commands all have the same.
pub(crate) const fn bound_ms(work: &CaseWork) -> u64 {
    work.limits.prepare_ms
}

/// The judgement.
pub(crate) fn judge(work: &CaseWork, ran: &Ran<'_>) -> Judgement {
    let (reason, first) = match ran.exit {
        PlainExit::Timeout => (Some(Reason::TimeoutTotal), format!("bun test did not end within {} ms (prepareMs bound).", bound_ms(work))),
        PlainExit::OutOfMemory => {
            (Some(Reason::MemoryLimit), format!("bun test reached the memory limit of {} bytes.", work.limits.memory_bytes))
        }
        PlainExit::Code(NO_ROOM) => {
            let room = work.limits.project_bytes;
            (Some(Reason::DiskLimit), format!("the working tree without node_modules does not fit into the project's {room} bytes."))
        }
        PlainExit::Code(0) if passed(ran.output) > 0 => (None, String::new()),
        PlainExit::Code(0) => (Some(Reason::BunTestFailed), "bun test ended well and no test passed: that shows nothing.".to_owned()),
        PlainExit::Code(code) => (Some(Reason::BunTestFailed), format!("bun test failed: exit code {code}.{}", named(ran.output))),
    };
    let mut judgement = Judgement { reason, timed_out: ran.exit == PlainExit::Timeout, ..Judgement::default() };
    if let PlainExit::Code(code) = ran.exit {
        judgement.exit_code = i32::try_from(code).ok();
    }
    if reason.is_some() {
        judgement.failures.push(first);
        judgement.failures.extend(tail(ran.output));
    }
    if ran.dropped > 0 {
        judgement.warnings.push(format!("{} bytes of the tests' output were dropped.", ran.dropped));
    }
    judgement
}

/// The number of the summary's line ` 3 pass`; the last one counts, because a test may print one too.
fn passed(output: &str) -> u64 {
    let number = |line: &str| line.trim().strip_suffix(" pass").and_then(|number| number.parse().ok());
    output.lines().rev().find_map(number).unwrap_or(0)
}

/// The tests that bun marks as failed.
fn named(output: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for line in output.lines() {
        let Some(name) = line.trim().strip_prefix("(fail) ") else { continue };
        let name = name.rsplit_once(" [").map_or(name, |(name, _)| name);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return String::new();
    }
    let shown: Vec<String> = names.iter().take(NAMED).map(|name| show::quoted(&show::cut(name, 200))).collect();
    let more = if names.len() > NAMED { format!(", … and {} more", names.len() - NAMED) } else { String::new() };
    format!(" Failing: {}{more}.", shown.join(", "))
}

fn tail(output: &str) -> Option<String> {
    let lines: Vec<&str> = output.trim_end().lines().collect();
    let text = lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n");
    let surplus = text.chars().count().saturating_sub(TAIL_CHARS);
    let text: String = text.chars().skip(surplus).collect();
    (!text.trim().is_empty()).then(|| show::safe(&show::in_bundle(&text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::tests::run::Run;

    const PASSING: &str = "bun test v1.4.5\n\n.opencode-ci/a.test.ts:\n(pass) adds [0.10ms]\n\n 1 pass\n 0 fail\n 1 expect() calls\nRan 1 test across 1 file. [9.00ms]\n";
    const FAILING: &str = "bun test v1.4.5\n\n.opencode-ci/a.test.ts:\nerror: expect(received).toBe(expected)\n(fail) adds > two numbers [0.10ms]\n(pass) other\n\n 1 pass\n 1 fail\nRan 2 tests across 1 file.\n";

    fn of(exit: PlainExit, output: &str) -> Judgement {
        judge(&Run::load().work, &Ran { exit, output, dropped: 0 })
    }

    #[test]
    fn a_pass_needs_a_test_that_passed() {
        assert_eq!(of(PlainExit::Code(0), PASSING).reason, None);
        for nothing in ["", "bun test v1.4.5\n", " 0 pass\n 1 skip\n 0 fail\n", "1 passed\n", " x pass\n"] {
            assert_eq!(of(PlainExit::Code(0), nothing).reason, Some(Reason::BunTestFailed), "{nothing:?}");
        }
        // What a test prints above counts for nothing against the summary.
        assert_eq!(of(PlainExit::Code(0), " 9 pass\n 0 pass\n").reason, Some(Reason::BunTestFailed));
        assert_eq!(of(PlainExit::Code(1), PASSING).reason, Some(Reason::BunTestFailed));
    }

    #[test]
    fn a_failure_names_its_tests_and_shows_the_end() {
        let judgement = of(PlainExit::Code(1), FAILING);
        assert_eq!(judgement.failures[0], "bun test failed: exit code 1. Failing: \"adds > two numbers\".");
        assert!(judgement.failures[1].contains("expect(received).toBe(expected)"), "{:?}", judgement.failures);
        assert_eq!(judgement.exit_code, Some(1));
    }

    #[test]
    fn limits_have_their_own_reasons() {
        assert_eq!(of(PlainExit::Timeout, "").reason, Some(Reason::TimeoutTotal));
        assert_eq!(of(PlainExit::OutOfMemory, "").reason, Some(Reason::MemoryLimit));
        assert_eq!(of(PlainExit::Code(NO_ROOM), "tar: no space").reason, Some(Reason::DiskLimit));
        assert!(of(PlainExit::Timeout, "").timed_out);
    }
}
