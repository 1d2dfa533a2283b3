//! An agent that was started ahead of its job: it waits, and it ends when nobody can give it one any more.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use ocsweep_proto::agent::Report;
use ocsweep_proto::frame::{Decoder, Kind};

#[test]
fn an_agent_without_a_job_waits_and_ends_with_its_input() {
    let mut agent = Command::new(env!("CARGO_BIN_EXE_ocsweep-agent"));
    let mut agent = agent.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // Time is what is shown here: an idle agent says nothing, does nothing and stays.
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(agent.try_wait().unwrap(), None);
    let spent = std::fs::read_to_string(format!("/proc/{}/stat", agent.id())).unwrap();
    let fields: Vec<&str> = spent.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: u64 = fields[11..13].iter().map(|field| field.parse::<u64>().unwrap()).sum();
    assert!(ticks < 10, "an idle agent used {ticks} hundredths of a second");

    drop(agent.stdin.take());
    let mut output = Vec::new();
    agent.stdout.take().unwrap().read_to_end(&mut output).unwrap();
    assert!(agent.wait().unwrap().success());
    let mut decoder = Decoder::default();
    decoder.push(&output);
    let frames: Vec<_> = std::iter::from_fn(|| decoder.next().unwrap()).collect();
    assert_eq!(frames.iter().map(|frame| frame.kind).collect::<Vec<_>>(), [Kind::Report, Kind::End]);
    let report: Report = serde_json::from_slice(&frames[0].payload).unwrap();
    assert_eq!(report.fault.as_deref(), Some("cannot read the job: standard input has ended"));
}
