//! Reaching the engine, and images.

use std::time::{Duration, Instant};

use ocsweep_executor::container::{ConnectOptions, Engine, Kind, image};
use ocsweep_proto::verdict::Reason;
use tokio::net::UnixListener;

use super::support::{Bench, docker, plain};

#[tokio::test]
async fn docker_no_engine_is_a_clear_error_at_once() {
    let state = tempfile::tempdir().unwrap();
    let options = ConnectOptions { executor: None, state: state.path().join("s"), deadline: Duration::from_secs(5) };
    let socket = state.path().join("nothing.sock");
    let cases = [
        (format!("unix://{}", socket.display()), Kind::NotRunning, Some("start the Docker engine")),
        ("tcp://127.0.0.1:1".to_owned(), Kind::NotRunning, Some("start the Docker engine")),
        ("ssh://somewhere".to_owned(), Kind::BadAddress, Some("DOCKER_HOST must be")),
    ];
    for (address, kind, hint) in cases {
        let began = Instant::now();
        let error = Engine::connect_to(&address, &options).await.unwrap_err();
        assert!(began.elapsed() < Duration::from_secs(5));
        assert_eq!((error.kind(), error.reason()), (kind, Reason::Docker), "{address}: {error}");
        assert!(error.to_string().contains(&address), "{error}");
        assert!(error.hint().unwrap_or_default().starts_with(hint.unwrap_or_default()), "{:?}", error.hint());
    }
}

#[tokio::test]
async fn docker_a_silent_engine_is_given_up() {
    let state = tempfile::tempdir().unwrap();
    let socket = state.path().join("silent.sock");
    let _listener = UnixListener::bind(&socket).unwrap();
    let options = ConnectOptions { executor: None, state: state.path().join("s"), deadline: Duration::from_millis(300) };
    let error = Engine::connect_to(&format!("unix://{}", socket.display()), &options).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Timeout(Duration::from_millis(300)));
}

#[tokio::test]
async fn docker_images_are_there_or_named() {
    let Some(bench) = Bench::new().await else { return };
    for name in [image::run(), image::prepare()] {
        let id = bench.engine.image(&name).await.unwrap();
        assert_eq!(id.0, docker(&["image", "inspect", "--format", "{{.Id}}", &name]));
    }
    assert!(!bench.engine.info().await.unwrap().version.is_empty());
    let missing = "ocsweep/run:0000";
    let error = bench.engine.image(missing).await.unwrap_err();
    assert_eq!((error.kind(), error.reason(), error.hint()), (Kind::ImageMissing, Reason::Image, Some("run \"make setup\"")));
    let mut spec = plain("true");
    spec.image = missing.to_owned();
    let error = bench.engine.run_plain(&spec, &bench.shutdown).await.unwrap_err();
    assert_eq!(error.kind(), Kind::ImageMissing);
    assert!(error.to_string().contains(missing), "{error}");
    bench.end().await;
}
