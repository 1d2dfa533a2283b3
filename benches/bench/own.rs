//! Everything but containers, each measurement in a process of its own, so that its memory and CPU are its own.

use std::process::Command;

use ocsweep_collector::{completeness, fold, render, results};
use ocsweep_proto::axes::Tier;
use ocsweep_proto::ids::{CaseId, SweepId};
use ocsweep_proto::outcome::{Outcome, WorkResult};
use ocsweep_proto::row::{CaseRow, RESULTS_VERSION, Results};
use ocsweep_proto::verdict::Reason;

/// The argument of a child that runs no-op cases.
pub(crate) const CHILD: &str = "no-op-child";
/// The argument of a child that renders rows.
pub(crate) const ROWS: &str = "rows-child";
const RECORDED: usize = 100_000;

/// What a child says of itself.
pub(crate) struct Cost {
    pub(crate) cpu_ms: f64,
    pub(crate) peak_mib: f64,
}

/// That many no-op cases.
pub(crate) fn no_op(cases: usize) -> Cost {
    let text = child_text(&[CHILD, &cases.to_string()]);
    let mut numbers = text.split_whitespace().map(|word| word.parse::<f64>().expect("a number"));
    let cost = (numbers.next(), numbers.next());
    Cost { cpu_ms: cost.0.expect("CPU"), peak_mib: cost.1.expect("memory") }
}

/// Seconds for all recorded rows.
pub(crate) fn rows() -> f64 {
    child_text(&[ROWS]).trim().parse().expect("a number")
}

fn child_text(args: &[&str]) -> String {
    let output = Command::new(std::env::current_exe().expect("this program")).args(args).output().expect("a child");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The child of [`no_op`]: prints CPU in milliseconds and peak memory in MiB, without what the process cost before.
pub(crate) fn child(args: &[String]) {
    let cases = args[0].parse().expect("a number");
    let folder = tempfile::tempdir().expect("a folder");
    let before = cpu_ms();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let bytes = runtime.block_on(ocsweep::run::measure::no_op(cases, folder.path())).expect("a run");
    assert!(bytes > cases as u64, "the results are too small to hold every case");
    println!("{} {}", cpu_ms() - before, peak_mib());
}

/// User and system time of this process.
fn cpu_ms() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").expect("/proc/self/stat");
    let fields: Vec<&str> = text.rsplit_once(')').expect("a name").1.split_whitespace().collect();
    let ticks = |index: usize| fields[index].parse::<f64>().expect("a number");
    (ticks(11) + ticks(12)) * 10.0
}

fn peak_mib() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("/proc/self/status");
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse::<f64>().expect("a number") / 1024.0
}

/// The child of [`rows`]: records are read, folded, proven complete, sorted and rendered in every form.
pub(crate) fn rows_child() {
    let records: Vec<String> = (0..RECORDED).map(record).collect();
    let planned: Vec<CaseId> = (0..RECORDED).map(case).collect();
    let began = std::time::Instant::now();
    let outcomes: Vec<Outcome> = records.iter().map(|record| serde_json::from_str(record).expect("a record")).collect();
    let folded = fold::cases(&outcomes);
    let proof = completeness::prove(&planned, &folded);
    assert!(completeness::is_complete(&proof));
    let mut rows: Vec<CaseRow> = folded.into_values().collect();
    results::sort(&mut rows, results::Order::default());
    let results = Results {
        version: RESULTS_VERSION,
        at: String::new(),
        tool: String::new(),
        plugin: "many".to_owned(),
        image: None,
        budget_usd: None,
        completeness: Some(proof),
        results: rows,
    };
    let bytes =
        results::to_json(&results).expect("JSON").len() + render::markdown(&results, &[]).len() + render::junit(&results, &[]).len();
    assert!(bytes > RECORDED);
    println!("{}", began.elapsed().as_secs_f64());
}

fn case(n: usize) -> CaseId {
    CaseId::new(format!("case-{n}")).expect("an id")
}

/// Every tenth has failed, with a text as long as real ones.
fn record(n: usize) -> String {
    let reason = n.is_multiple_of(10).then_some(Reason::Assertion);
    let mut row = CaseRow::blank(&format!("scenario-{}", n % 1000), Tier::Scripted, &format!("1.18.{}", n / 1000), "default").ended(reason);
    if reason.is_some() {
        row.failures = vec!["hooks[0].tool.execute.before@post.input.command: expected \"echo secret\", got \"echo [x]\".".to_owned()];
    }
    row.tools = vec!["bash".to_owned(), "read".to_owned()];
    let sweep = SweepId::new("s").expect("an id");
    let outcome = Outcome { format: 1, sweep, case: case(n), attempt: 1, result: WorkResult::Case(Box::new(row)), tui_only: false };
    serde_json::to_string(&outcome).expect("JSON")
}
