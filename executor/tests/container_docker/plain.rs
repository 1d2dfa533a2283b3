//! Commands in containers.

use std::time::{Duration, Instant};

use ocsweep_executor::container::{FileMount, Kind, PlainExit, TmpfsMount};

use super::support::{Bench, plain};

#[tokio::test]
async fn docker_output_and_exit_code_are_kept() {
    let Some(bench) = Bench::new().await else { return };
    let end = bench.engine.run_plain(&plain("echo out; echo err >&2; exit 7"), &bench.shutdown).await.unwrap();
    assert_eq!(end.exit, PlainExit::Code(7));
    let mut lines: Vec<&str> = end.output.text.lines().collect();
    lines.sort_unstable();
    assert_eq!((lines, end.output.dropped), (vec!["err", "out"], 0));
    let end = bench.engine.run_plain(&plain("echo fine"), &bench.shutdown).await.unwrap();
    assert_eq!((end.exit, end.output.text.as_str()), (PlainExit::Code(0), "fine\n"));
    bench.end().await;
}

#[tokio::test]
async fn docker_a_long_output_is_cut_and_counted() {
    let Some(bench) = Bench::new().await else { return };
    let mut spec = plain("echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last");
    spec.output_bytes = 1000;
    let end = bench.engine.run_plain(&spec, &bench.shutdown).await.unwrap();
    assert_eq!(end.output.dropped, 3_000_000 + "first\n\nlast\n".len() as u64 - 1000);
    assert!(end.output.text.starts_with("first\n") && end.output.text.ends_with("\nlast\n"));
    bench.end().await;
}

#[tokio::test]
async fn docker_a_command_ends_at_its_deadline_with_what_it_said() {
    let Some(bench) = Bench::new().await else { return };
    let mut spec = plain("echo begun; exec tail -f /dev/null");
    spec.deadline = Duration::from_secs(3);
    let began = Instant::now();
    let end = bench.engine.run_plain(&spec, &bench.shutdown).await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(20));
    assert_eq!((end.exit, end.output.text.as_str()), (PlainExit::Timeout, "begun\n"));
    assert!(bench.containers().is_empty(), "removed before the answer");
    bench.end().await;
}

#[tokio::test]
async fn docker_closing_the_output_does_not_outwit_the_deadline() {
    let Some(bench) = Bench::new().await else { return };
    let mut spec = plain("exec >/dev/null 2>&1; exec tail -f /dev/null");
    spec.deadline = Duration::from_secs(3);
    assert_eq!(bench.engine.run_plain(&spec, &bench.shutdown).await.unwrap().exit, PlainExit::Timeout);
    bench.end().await;
}

#[tokio::test]
async fn docker_the_memory_limit_is_told_apart() {
    let Some(bench) = Bench::new().await else { return };
    // A command that gets over the death of a child has not failed.
    let end = bench.engine.run_plain(&plain("tail /dev/zero; echo $?"), &bench.shutdown).await.unwrap();
    assert_eq!(end.exit, PlainExit::Code(0));
    assert!(end.output.text.contains("137\n"), "{}", end.output.text);
    let end = bench.engine.run_plain(&plain("tail /dev/zero; exit 4"), &bench.shutdown).await.unwrap();
    assert_eq!(end.exit, PlainExit::OutOfMemory);
    let end = bench.engine.run_plain(&plain("exec tail /dev/zero"), &bench.shutdown).await.unwrap();
    assert_eq!(end.exit, PlainExit::OutOfMemory);
    bench.end().await;
}

#[tokio::test]
async fn docker_a_command_has_no_network_no_power_and_no_root() {
    let Some(bench) = Bench::new().await else { return };
    let mut spec = plain(
        "id -u; ls /sys/class/net; grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/self/status; touch /x 2>/dev/null || echo read-only; \
         cat /ca; touch /ca 2>/dev/null || echo no; stat -c '%U %a' /scratch; cp /bin/true /scratch/t && /scratch/t && echo exec; \
         ulimit -n; ulimit -c; hostname",
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "certificate\n").unwrap();
    std::os::unix::fs::chown(file.path(), Some(1000), None).unwrap();
    spec.files = vec![FileMount { source: file.path().to_owned(), target: "/ca".to_owned() }];
    spec.tmpfs = vec![TmpfsMount { target: "/scratch".to_owned(), bytes: 1 << 20 }];
    let end = bench.engine.run_plain(&spec, &bench.shutdown).await.unwrap();
    let zero = "0000000000000000";
    let expected = format!(
        "1000\nlo\nCapEff:\t{zero}\nCapBnd:\t{zero}\nNoNewPrivs:\t1\nread-only\ncertificate\nno\nsandbox 755\nexec\n256\n0\nsandbox\n"
    );
    assert_eq!(end.output.text, expected);
    spec.network = true;
    let end = bench.engine.run_plain(&spec, &bench.shutdown).await.unwrap();
    assert!(end.output.text.contains("eth0"), "{}", end.output.text);
    bench.end().await;
}

#[tokio::test]
async fn docker_cancelling_a_command_leaves_nothing() {
    let Some(bench) = Bench::new().await else { return };
    let (engine, shutdown) = (bench.engine.clone(), bench.shutdown.clone());
    let running = tokio::spawn(async move { engine.run_plain(&plain("exec tail -f /dev/null"), &shutdown).await });
    while bench.containers().is_empty() {
        tokio::task::yield_now().await;
    }
    let began = Instant::now();
    bench.shutdown.cancel();
    assert_eq!(running.await.unwrap().unwrap_err().kind(), Kind::Cancelled);
    assert!(bench.engine.shutdown(Duration::from_secs(5)).await.is_empty());
    assert!(began.elapsed() < Duration::from_secs(5));
    bench.end().await;
}

#[tokio::test]
async fn docker_a_command_that_does_not_exist_is_the_engines_error() {
    let Some(bench) = Bench::new().await else { return };
    let mut spec = plain("");
    spec.argv = vec!["/nowhere/at-all".to_owned()];
    let error = bench.engine.run_plain(&spec, &bench.shutdown).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Refused, "{error:?}");
    bench.end().await;
}
