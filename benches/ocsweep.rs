//! `make bench`: where ocsweep stands beside a bare loop, and what everything but containers costs. Prints one Markdown table.
//!
//! Both sides of a comparison run in the same process's rounds, interleaved, and medians are compared: an absolute time says nothing on
//! another machine. It must not be part of the tests.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a bench may panic, and prints its table"
)]

#[path = "bench/bare.rs"]
mod bare;
#[path = "bench/cost.rs"]
mod cost;
#[path = "bench/own.rs"]
mod own;

use std::time::Duration;

/// Interleaved rounds of a comparison.
const ROUNDS: usize = 5;
/// Load cases of a side in one round, two at a time.
const CASES: usize = 6;

/// A line of the table.
struct Line {
    what: String,
    value: String,
    target: &'static str,
    holds: bool,
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--bench")).collect();
    match args.first().map(String::as_str) {
        Some(own::CHILD) => return own::child(&args[1..]),
        Some(own::ROWS) => return own::rows_child(),
        _ => {}
    }
    let wants = |part: &str| args.is_empty() || args.iter().any(|arg| arg == part);
    let mut lines = Vec::new();
    if wants("b") || wants("c") {
        lines.extend(no_op());
    }
    if wants("d") {
        lines.push(rows());
    }
    if wants("a") {
        lines.extend(load_cases());
    }
    println!("| what | measured | target | holds |\n| ---- | -------- | ------ | ----- |");
    for Line { what, value, target, holds } in &lines {
        println!("| {what} | {value} | {target} | {} |", if *holds { "yes" } else { "**no**" });
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// (b) and (c): CPU a case and peak memory, each size in a process of its own.
fn no_op() -> Vec<Line> {
    let sizes = [1_000, 10_000];
    let mut costs: Vec<Vec<own::Cost>> = sizes.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for (size, costs) in sizes.iter().zip(&mut costs) {
            costs.push(own::no_op(*size));
        }
    }
    let mut lines = Vec::new();
    for (size, costs) in sizes.iter().zip(&costs) {
        let cpu = median(costs.iter().map(|cost| cost.cpu_ms / *size as f64).collect());
        lines.push(Line {
            what: format!("(b) CPU a case, {size} no-op cases"),
            value: format!("{cpu:.3} ms"),
            target: "< 1 ms",
            holds: cpu < 1.0,
        });
    }
    let peaks: Vec<f64> = costs.iter().map(|costs| median(costs.iter().map(|cost| cost.peak_mib).collect())).collect();
    for (size, peak) in sizes.iter().zip(&peaks) {
        lines.push(Line {
            what: format!("(c) peak memory, {size} no-op cases"),
            value: format!("{peak:.1} MiB"),
            target: "< 60 MB",
            holds: *peak * 1.048_576 < 60.0,
        });
    }
    lines
}

/// (d): what was recorded of 100,000 cases becomes results, report and JUnit.
fn rows() -> Line {
    let seconds = median((0..ROUNDS).map(|_| own::rows()).collect());
    Line {
        what: "(d) fold and render 100,000 recorded rows".to_owned(),
        value: format!("{seconds:.2} s"),
        target: "< 5 s",
        holds: seconds < 5.0,
    }
}

/// (a): load cases through `ocsweep run` and through bare loops of `docker run`.
fn load_cases() -> Vec<Line> {
    let bench = bare::Bench::new(CASES);
    let sides: [(&str, &dyn Fn() -> cost::Spent); 4] = [
        ("ocsweep", &|| bench.ocsweep(1)),
        ("ocsweep without warm containers", &|| bench.ocsweep(0)),
        ("tuned loop", &|| bench.bare(true)),
        ("naive loop", &|| bench.bare(false)),
    ];
    // Caches, volumes and the preflight are filled once by everybody.
    for (_, run) in &sides {
        run();
    }
    let mut spent: Vec<Vec<cost::Spent>> = sides.iter().map(|_| Vec::new()).collect();
    for round in 0..ROUNDS {
        for ((name, run), spent) in sides.iter().zip(&mut spent) {
            let one = run();
            eprintln!("round {}: {name}: {:.2} s wall, {:.2} s CPU", round + 1, one.wall.as_secs_f64(), one.cpu.as_secs_f64());
            spent.push(one);
        }
    }
    let of = |side: usize, value: fn(&cost::Spent) -> Duration| median(spent[side].iter().map(|one| value(one).as_secs_f64()).collect());
    let wall = |side| of(side, |one| one.wall);
    let cpu = |side| of(side, |one| one.cpu);
    let mut lines: Vec<Line> = sides
        .iter()
        .enumerate()
        .map(|(side, (name, _))| Line {
            what: format!("(a) {CASES} load cases, 2 at a time: {name}"),
            value: format!("{:.2} s wall, {:.2} s CPU", wall(side), cpu(side)),
            target: "",
            holds: true,
        })
        .collect();
    let ratio = |what: &str, value: f64, target: &'static str, limit: f64| Line {
        what: format!("(a) {what}"),
        value: format!("{value:.2}x"),
        target,
        holds: value <= limit,
    };
    lines.push(ratio("wall of ocsweep / tuned loop", wall(0) / wall(2), "<= 1.10x", 1.10));
    lines.push(ratio("CPU of ocsweep / tuned loop", cpu(0) / cpu(2), "<= 1.05x", 1.05));
    lines.push(ratio("wall of ocsweep / naive loop", wall(0) / wall(3), "< 0.75x", 0.75));
    lines.push(ratio("CPU of ocsweep / naive loop", cpu(0) / cpu(3), "", f64::MAX));
    lines.push(ratio("wall with warm containers / without", wall(0) / wall(1), "", f64::MAX));
    lines
}
