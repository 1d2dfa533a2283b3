//! What a dead executor leaves. Its death is played by a lock that nobody holds.

use std::io::Cursor;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ocsweep_executor::container::{Archive, CacheKind, Engine, image};

use super::support::{Bench, contents, docker, options};

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn create(executor: &str, expires: SystemTime, run: bool) -> String {
    let (executor, expires) = (format!("ocsweep.executor={executor}"), format!("ocsweep.expires={}", seconds(expires)));
    let image = image::run();
    let common = ["--label", &executor, "--label", &expires, &image, "tail", "-f", "/dev/null"];
    let verb: &[&str] = if run { &["run", "-d", "--network", "none"] } else { &["create"] };
    docker(&[verb, &common].concat())
}

fn exists(container: &str) -> bool {
    !docker(&["ps", "-aq", "--no-trunc", "--filter", &format!("id={container}")]).is_empty()
}

#[tokio::test]
async fn docker_the_dead_are_reaped_and_the_living_are_not() {
    let Some(bench) = Bench::new().await else { return };
    let (future, past) = (SystemTime::now() + Duration::from_secs(600), SystemTime::now() - Duration::from_secs(5));
    let living = Engine::connect(&options(&bench.state)).await.unwrap();
    let dead = format!("dead-{}", bench.engine.executor());
    std::fs::write(bench.state.path().join("executors").join(format!("{dead}.lock")), "").unwrap();

    let gone = [create(&dead, future, true), create(&dead, future, false), create(bench.engine.executor(), future, false)];
    let overdue = create(&format!("far-{}", bench.engine.executor()), past, false);
    let stay = [create(living.executor(), future, false), create(&format!("far-{}", bench.engine.executor()), future, false)];
    let scratch = docker(&["volume", "create", "--label", &format!("ocsweep.executor={dead}")]);

    let reaped = bench.engine.reap().await.unwrap();
    let verdicts: Vec<bool> = gone.iter().chain([&overdue]).chain(&stay).map(|container| exists(container)).collect();
    for container in &stay {
        docker(&["rm", "-f", container]);
    }
    assert_eq!(verdicts, [false, false, false, false, true, true]);
    assert!(reaped.containers >= 4 && reaped.volumes >= 1 && reaped.failed == 0, "{reaped:?}");
    assert_eq!(docker(&["volume", "ls", "-q", "--filter", &format!("name={scratch}")]), "");
    assert!(!bench.state.path().join("executors").join(format!("{dead}.lock")).exists(), "the dead is forgotten");
    bench.end().await;
}

#[tokio::test]
async fn docker_a_reaper_spares_what_its_own_process_runs() {
    let Some(bench) = Bench::new().await else { return };
    let spec = bench.case("cat >/dev/null", &[]).await;
    let running = bench.engine.start_case(&spec, b"{}", &bench.shutdown).await.unwrap();
    bench.engine.reap().await.unwrap();
    assert_eq!(bench.containers().len(), 1);
    running.abort().await.unwrap();
    bench.end().await;
}

#[tokio::test]
async fn docker_an_incomplete_volume_of_the_dead_is_reaped_a_complete_one_stays() {
    let Some(bench) = Bench::new().await else { return };
    let (wanted, bytes) = contents(CacheKind::Agent, &[("a", bench.engine.executor().as_bytes())]);
    bench.engine.ensure_volume(&wanted, || Ok(Archive::read(Cursor::new(bytes.clone())))).await.unwrap();
    let incomplete = |filler: &str, created: SystemTime| {
        let labels =
            ["ocsweep.cache=agent".to_owned(), format!("ocsweep.filler={filler}"), format!("ocsweep.created={}", seconds(created))];
        let arguments: Vec<&str> =
            ["volume", "create"].into_iter().chain(labels.iter().flat_map(|label| ["--label", label.as_str()])).collect();
        docker(&arguments)
    };
    let (now, hours_ago) = (SystemTime::now(), SystemTime::now() - Duration::from_secs(7200));
    let living = Engine::connect(&options(&bench.state)).await.unwrap();
    let far = format!("far-{}", bench.engine.executor());
    let volumes = [
        (incomplete(bench.engine.executor(), now), false),
        (incomplete(living.executor(), now), true),
        (incomplete(&far, now), true),
        (incomplete(&far, hours_ago), false),
    ];
    bench.engine.reap().await.unwrap();
    let left = docker(&["volume", "ls", "-q"]);
    let found: Vec<bool> = volumes.iter().map(|(name, _)| left.contains(name.as_str())).collect();
    for (name, stays) in &volumes {
        if *stays {
            docker(&["volume", "rm", name]);
        }
    }
    assert_eq!(found, volumes.iter().map(|(_, stays)| *stays).collect::<Vec<_>>());
    assert!(bench.engine.cache_volumes().await.unwrap().iter().any(|cached| cached.digest == wanted.digest));
    bench.end().await;
}
