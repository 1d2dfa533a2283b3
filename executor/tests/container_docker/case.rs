//! Cases whose agent is a shell script.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ocsweep_executor::container::{Kind, Running};
use ocsweep_proto::agent::After;
use ocsweep_proto::frame::{Kind as FrameKind, encode};
use ocsweep_proto::verdict::Reason;

use super::support::{Bench, docker, inspect};

const HANG: &str = "cat >/dev/null & exec tail -f /dev/null";

async fn frames(running: &mut Running) -> Vec<(FrameKind, String)> {
    let mut all = Vec::new();
    while let Some(frame) = running.next_frame().await.unwrap() {
        all.push((frame.kind, String::from_utf8(frame.payload).unwrap()));
    }
    all
}

#[tokio::test]
async fn docker_a_case_talks_both_ways_and_goes() {
    let Some(bench) = Bench::new().await else { return };
    let report = encode(FrameKind::Report, b"report");
    let end = encode(FrameKind::End, b"end");
    let script = "read -r job; read -r hello <<<\"$job\"; echo \"$job\" >&2; cat /opt/ocsweep/agent/report; read -r after; echo \"$after\" >&2; \
                  cat /opt/ocsweep/agent/end";
    let spec = bench.case(script, &[("report", &report), ("end", &end)]).await;
    let mut running = bench.engine.start_case(&spec, br#"{"job":1}"#, &bench.shutdown).await.unwrap();
    let frame = running.next_frame().await.unwrap().unwrap();
    assert_eq!((frame.kind, frame.payload.as_slice()), (FrameKind::Report, b"report".as_slice()));

    let [container] = bench.containers().try_into().unwrap();
    let labels = inspect(&container)["Config"]["Labels"].as_object().unwrap().clone();
    let value = |key: &str| labels[key].as_str().unwrap().to_owned();
    let mut keys: Vec<&String> = labels.keys().collect();
    keys.sort_unstable();
    assert_eq!(keys, ["ocsweep.attempt", "ocsweep.case", "ocsweep.executor", "ocsweep.expires", "ocsweep.sweep"]);
    assert_eq!((value("ocsweep.sweep"), value("ocsweep.case"), value("ocsweep.attempt")), ("test".into(), "load-0123".into(), "3".into()));
    let expires = UNIX_EPOCH + Duration::from_secs(value("ocsweep.expires").parse().unwrap());
    assert!(expires > SystemTime::now() + spec.deadline);

    running.send(After::Done).await.unwrap();
    assert_eq!(frames(&mut running).await, [(FrameKind::End, "end".to_owned())]);
    let end = running.finish().await.unwrap();
    assert!(end.complete);
    assert_eq!((end.exit_code, end.oom_killed, end.agent_log.text.as_str()), (None, false, "{\"job\":1}\n\"done\"\n"));
    println!("{:?}", end.phases);
    bench.end().await;
}

#[tokio::test]
async fn docker_an_agent_that_dies_is_seen() {
    let Some(bench) = Bench::new().await else { return };
    let spec = bench.case("read -r job; echo why >&2; exit 3", &[]).await;
    let mut running = bench.engine.start_case(&spec, b"{}", &bench.shutdown).await.unwrap();
    assert_eq!(frames(&mut running).await, []);
    let end = running.finish().await.unwrap();
    assert_eq!((end.exit_code, end.oom_killed, end.complete, end.agent_log.text.as_str()), (Some(3), false, false, "why\n"));
    bench.end().await;
}

#[tokio::test]
async fn docker_the_memory_limit_of_a_case_is_seen() {
    let Some(bench) = Bench::new().await else { return };
    let spec = bench.case("exec tail /dev/zero", &[]).await;
    let mut running = bench.engine.start_case(&spec, b"{}", &bench.shutdown).await.unwrap();
    assert_eq!(frames(&mut running).await, []);
    let end = running.finish().await.unwrap();
    assert_eq!((end.exit_code, end.oom_killed), (Some(137), true));
    bench.end().await;
}

#[tokio::test]
async fn docker_a_case_ends_at_its_outer_deadline() {
    let Some(bench) = Bench::new().await else { return };
    let mut spec = bench.case(HANG, &[]).await;
    spec.deadline = Duration::from_secs(1);
    let mut running = bench.engine.start_case(&spec, b"{}", &bench.shutdown).await.unwrap();
    let error = running.next_frame().await.unwrap_err();
    assert_eq!((error.kind(), error.reason()), (Kind::Deadline(spec.deadline), Reason::StreamIncomplete));
    running.abort().await.unwrap();
    assert!(bench.containers().is_empty());
    bench.end().await;
}

#[tokio::test]
async fn docker_a_warm_container_waits_for_its_job_and_its_deadline_counts_from_there() {
    let Some(bench) = Bench::new().await else { return };
    let end = encode(FrameKind::End, b"end");
    let mut spec = bench.case("read -r job; echo \"$job\" >&2; cat /opt/ocsweep/agent/end", &[("end", &end)]).await;
    spec.deadline = Duration::from_secs(2);
    let waiting = bench.engine.warm(&spec, &bench.shutdown).await.unwrap();
    let [container] = bench.containers().try_into().unwrap();
    assert_eq!(inspect(&container)["State"]["Running"], true);
    // What is shown is that time passes and nothing happens.
    tokio::time::sleep(spec.deadline + Duration::from_millis(200)).await;
    assert_eq!(inspect(&container)["State"]["Running"], true);
    let mut running = waiting.give(b"{}").await.unwrap();
    assert_eq!(frames(&mut running).await, [(FrameKind::End, "end".to_owned())]);
    assert_eq!(running.finish().await.unwrap().agent_log.text, "{}\n");
    bench.end().await;
}

#[tokio::test]
async fn docker_a_warm_container_whose_case_is_given_up_goes_and_takes_no_job() {
    let Some(bench) = Bench::new().await else { return };
    let spec = bench.case(HANG, &[]).await;
    drop(bench.engine.warm(&spec, &bench.shutdown).await.unwrap());
    let waiting = bench.engine.warm(&spec, &bench.shutdown).await.unwrap();
    bench.shutdown.cancel();
    assert_eq!(waiting.give(b"{}").await.unwrap_err().kind(), Kind::Cancelled);
    bench.end().await;
}

#[tokio::test]
async fn docker_a_cancelled_or_dropped_case_leaves_nothing() {
    let Some(bench) = Bench::new().await else { return };
    let spec = bench.case(HANG, &[]).await;
    drop(bench.engine.start_case(&spec, b"{}", &bench.shutdown).await.unwrap());
    let mut running = bench.engine.start_case(&spec, b"{}", &bench.shutdown).await.unwrap();
    let began = Instant::now();
    bench.shutdown.cancel();
    assert_eq!(running.next_frame().await.unwrap_err().kind(), Kind::Cancelled);
    drop(running);
    assert!(bench.engine.shutdown(Duration::from_secs(5)).await.is_empty());
    assert!(began.elapsed() < Duration::from_secs(5));
    let error = bench.engine.start_case(&spec, b"{}", &bench.shutdown).await.unwrap_err();
    assert_eq!((error.kind(), error.reason()), (Kind::Cancelled, Reason::Cancelled));
    bench.end().await;
}

#[tokio::test]
async fn docker_a_start_given_up_at_any_moment_leaves_nothing() {
    let Some(bench) = Bench::new().await else { return };
    let spec = bench.case(HANG, &[]).await;
    // The engine goes on creating a container whose creator has gone: at the first look it may not be there yet.
    for millis in [1, 3, 6, 10, 15, 25, 50, 100, 200, 400] {
        drop(tokio::time::timeout(Duration::from_millis(millis), bench.engine.start_case(&spec, b"{}", &bench.shutdown)).await);
    }
    bench.end().await;
}

#[tokio::test]
async fn docker_a_damaged_stream_is_no_evidence() {
    let Some(bench) = Bench::new().await else { return };
    let spec = bench.case("echo nonsense; cat >/dev/null", &[]).await;
    let mut running = bench.engine.start_case(&spec, b"{}", &bench.shutdown).await.unwrap();
    let error = running.next_frame().await.unwrap_err();
    assert_eq!((error.kind(), error.reason()), (Kind::CorruptStream, Reason::StreamIncomplete));
    drop(running);
    bench.end().await;
}

#[tokio::test]
async fn docker_an_agent_ends_when_its_executor_is_gone() {
    let Some(bench) = Bench::new().await else { return };
    let end = encode(FrameKind::End, b"eof seen");
    let spec = bench.case("cat >/dev/null; cat /opt/ocsweep/agent/end", &[("end", &end)]).await;
    // The input must not end by itself while the executor is attached: an agent takes that for the executor's death.
    let mut running = bench.engine.start_case(&spec, b"{}", &bench.shutdown).await.unwrap();
    let early = tokio::time::timeout(Duration::from_secs(1), running.next_frame()).await;
    assert!(early.is_err(), "{early:?}");
    drop(running);
    bench.end().await;
}

#[tokio::test]
async fn docker_the_walls_of_a_case_hold() {
    let Some(bench) = Bench::new().await else { return };
    let script = r#"
        exec >&2
        read -r job
        for dir in agent host bundle; do touch /opt/ocsweep/$dir/x 2>/dev/null && echo "$dir is writable"; done
        touch /x 2>/dev/null && echo "root is writable"
        echo "net $(ls /sys/class/net)"
        grep nameserver /etc/resolv.conf
        grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status
        stat -c '%n %U %a' /run/ocsweep /sandbox/home /sandbox/tmp /sandbox/project
        touch /run/ocsweep/mine && echo "run is writable for the agent"
        touch /sandbox/home/x 2>/dev/null && echo "home is writable for the agent"
        as() { setpriv --reuid 1000 --regid 1000 --clear-groups "$@"; }
        as touch /run/ocsweep/x 2>/dev/null && echo "run is writable for the user"
        as ls /run/ocsweep 2>/dev/null && echo "run is listable for the user"
        as bash -c 'cp /bin/true /sandbox/home/t && /sandbox/home/t && echo "home runs programs"'
        as bash -c 'head -c 20000000 /dev/zero >/sandbox/tmp/full' 2>/dev/null || echo "tmp is bounded"
        as grep CapEff: /proc/self/status
        echo "$(hostname) $(ulimit -n) $(df --output=size -B1 /dev/shm | tail -1 | tr -d ' ') env $(env -u _ | grep -vE '^(PATH|HOME|HOSTNAME|PWD|SHLVL)=' | wc -l)"
        echo "cgroup $(cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || cat /sys/fs/cgroup/memory.max) $(cat /sys/fs/cgroup/pids/pids.max 2>/dev/null || cat /sys/fs/cgroup/pids.max)"
    "#;
    let mut spec = bench.case(script, &[]).await;
    spec.limits.tmp_bytes = 10 << 20;
    let mut running = bench.engine.start_case(&spec, b"{}", &bench.shutdown).await.unwrap();
    assert_eq!(frames(&mut running).await, []);
    let end = running.finish().await.unwrap();
    let expected = [
        "net lo",
        "nameserver 127.0.0.1",
        // CHOWN, DAC_READ_SEARCH, KILL, SETGID, SETUID.
        "CapEff:\t00000000000000e5",
        "CapBnd:\t00000000000000e5",
        "NoNewPrivs:\t1",
        "Seccomp:\t2",
        "/run/ocsweep root 711",
        "/sandbox/home sandbox 755",
        "/sandbox/tmp sandbox 755",
        "/sandbox/project sandbox 755",
        "run is writable for the agent",
        "home runs programs",
        "tmp is bounded",
        "CapEff:\t0000000000000000",
        "sandbox 4096 16777216 env 0",
        "cgroup 67108864 512",
    ];
    let found: Vec<&str> = end.agent_log.text.lines().map(str::trim_end).collect();
    assert_eq!(found, expected);
    bench.end().await;
}

#[tokio::test]
async fn docker_a_volume_that_vanished_is_noticed_before_the_start() {
    let Some(bench) = Bench::new().await else { return };
    let spec = bench.case("exit 0", &[]).await;
    // Until the helpers of the fills are gone the volumes are in use.
    assert!(bench.engine.shutdown(Duration::from_secs(10)).await.is_empty());
    docker(&["volume", "rm", spec.bundle.as_str()]);
    let error = bench.engine.start_case(&spec, b"{}", &bench.shutdown).await.unwrap_err();
    assert_eq!((error.kind(), error.reason(), error.is_retryable()), (Kind::VolumeLost, Reason::Docker, true));
    assert!(bench.engine.shutdown(Duration::from_secs(10)).await.is_empty());
    // The engine made up an empty volume under the old name: it must not pass for the contents, and the reaper finds it.
    let again = bench.case("exit 0", &[]).await;
    assert_ne!(again.bundle, spec.bundle);
    assert!(bench.engine.reap().await.unwrap().volumes >= 1);
    assert_eq!(docker(&["volume", "ls", "-q", "--filter", &format!("name={}", spec.bundle)]), "");
    bench.end().await;
}
