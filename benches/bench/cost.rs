//! What something cost: wall time, and CPU of the whole machine, because the engine's work is done by its daemons.

use std::time::{Duration, Instant};

/// Ticks of `/proc/stat`, which Linux counts in hundredths of a second for every program.
const TICK: Duration = Duration::from_millis(10);

/// Wall time and CPU.
#[derive(Clone, Copy)]
pub(crate) struct Spent {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
}

/// Measures one call.
pub(crate) fn spent(call: impl FnOnce()) -> Spent {
    let (before, began) = (busy(), Instant::now());
    call();
    Spent { wall: began.elapsed(), cpu: busy() - before }
}

/// Time that all processors were busy since the machine started: everything but idle and waiting.
fn busy() -> Duration {
    let text = std::fs::read_to_string("/proc/stat").expect("/proc/stat");
    let numbers: Vec<u32> =
        text.lines().next().expect("a line").split_whitespace().skip(1).map(|word| word.parse().expect("a number")).collect();
    let busy: u32 = [0, 1, 2, 5, 6, 7].iter().filter_map(|&column| numbers.get(column as usize)).sum();
    TICK * busy
}
