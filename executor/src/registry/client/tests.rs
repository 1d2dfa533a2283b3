//! The client against a server that misbehaves.

use std::io::Write as _;

use ocsweep_proto::verdict::Reason;
use serde_json::json;

use super::super::testing::{Reply, TestServer, sri};
use super::*;

fn files_in(dir: &Path) -> usize {
    std::fs::read_dir(dir).unwrap().count()
}

async fn download(server: &TestServer) -> (Result<Tarball, RegistryError>, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let client = server.client();
    let release = client.lookup("@s/pkg", Some("1.0.0")).await.unwrap();
    (client.download(&release, dir.path()).await, dir)
}

async fn published() -> TestServer {
    let server = TestServer::start().await;
    server.publish("@s/pkg", &["1.0.0", "1.1.0"], &json!({}), b"tarball bytes");
    server
}

#[tokio::test]
async fn a_scoped_package_arrives() {
    let server = published().await;
    assert_eq!(server.client().lookup("@s/pkg", None).await.unwrap().version, "1.1.0");
    let (tarball, dir) = download(&server).await;
    let tarball = tarball.unwrap();
    assert_eq!(std::fs::read(&tarball.file).unwrap(), b"tarball bytes");
    assert_eq!(tarball.bytes, 13);
    assert_eq!(files_in(dir.path()), 1);
    drop(tarball);
    assert_eq!(files_in(dir.path()), 0);
    assert_eq!(server.count("/@s%2fpkg"), 2);
}

#[tokio::test]
async fn what_is_missing_is_the_subjects_fault_and_is_asked_for_once() {
    let server = published().await;
    let error = server.client().packument("nothing").await.unwrap_err();
    assert!(matches!(&error, RegistryError::NotFound { package, .. } if package == "nothing"), "{error}");
    assert_eq!(error.reason(), Reason::PackageNotFound);
    assert_eq!(server.count("/nothing"), 1);
    let error = server.client().lookup("@s/pkg", Some("9.0.0")).await.unwrap_err();
    assert_eq!(error.to_string(), "package @s/pkg has no version 9.0.0 (nearest: 1.1.0, 1.0.0)");
}

#[tokio::test]
async fn a_server_error_is_tried_three_times() {
    let server = published().await;
    server.route("/down", &[Reply::Status(503)]);
    let error = server.client().packument("down").await.unwrap_err();
    assert!(matches!(error, RegistryError::Server { status: 503, .. }), "{error}");
    assert_eq!(error.reason(), Reason::Registry);
    assert_eq!(server.count("/down"), 3);
    let body = Reply::Body(br#"{"name":"shaky","versions":{}}"#.to_vec());
    server.route("/shaky", &[Reply::Status(500), Reply::Closed, body]);
    assert_eq!(server.client().packument("shaky").await.unwrap().name, "shaky");
    server.route("/forbidden", &[Reply::Status(403)]);
    assert_eq!(server.client().packument("forbidden").await.unwrap_err().reason(), Reason::Registry);
    assert_eq!(server.count("/forbidden"), 1);
}

#[tokio::test]
async fn no_server_and_silence_are_unreachable() {
    let server = TestServer::start().await;
    server.route("/slow", &[Reply::Stalled]);
    let client = server.client();
    let error = client.packument("slow").await.unwrap_err();
    assert!(matches!(&error, RegistryError::Unreachable { problem, .. } if problem == "no answer in time"), "{error}");
    drop(server);
    let error = client.packument("x").await.unwrap_err();
    assert!(matches!(&error, RegistryError::Unreachable { problem, .. } if problem == "no connection"), "{error}");
    assert_eq!(error.reason(), Reason::Registry);
    assert!(error.hint().unwrap().contains("NODE_EXTRA_CA_CERTS"));
}

#[tokio::test]
async fn wrong_bytes_never_become_a_tarball() {
    let server = published().await;
    server.route("/files/@s-pkg.tgz", &[Reply::Body(b"tarball bytez".to_vec())]);
    let (result, dir) = download(&server).await;
    let error = result.unwrap_err();
    assert!(matches!(error, RegistryError::Integrity { .. }), "{error}");
    assert!(error.to_string().contains(&sri(b"tarball bytes")), "{error}");
    assert_eq!(files_in(dir.path()), 0);
}

#[tokio::test]
async fn a_truncated_body_is_no_tarball_and_is_tried_again() {
    let server = published().await;
    server.route("/files/@s-pkg.tgz", &[Reply::Truncated(b"tarball bytes".to_vec())]);
    let (result, dir) = download(&server).await;
    assert!(matches!(result, Err(RegistryError::Unreachable { .. })));
    assert_eq!(server.count("/files/@s-pkg.tgz"), 3);
    assert_eq!(files_in(dir.path()), 0);
    server.route("/files/@s-pkg.tgz", &[Reply::Truncated(b"tar".to_vec()), Reply::Body(b"tarball bytes".to_vec())]);
    assert!(download(&server).await.0.is_ok());
}

#[tokio::test]
async fn sizes_are_bounded_before_and_after_unpacking() {
    let server = published().await;
    server.route("/files/@s-pkg.tgz", &[Reply::Body(vec![0; 3_000_001])]);
    assert!(matches!(download(&server).await.0, Err(RegistryError::Malformed { .. })));
    server.route("/big", &[Reply::Body(vec![b' '; 100_001])]);
    let error = server.client().packument("big").await.unwrap_err();
    assert!(error.to_string().ends_with("it is larger than 100000 bytes"), "{error}");
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    bomb.write_all(&vec![b' '; 10_000_000]).unwrap();
    server.route("/bomb", &[Reply::Gzip(bomb.finish().unwrap())]);
    let error = server.client().packument("bomb").await.unwrap_err();
    assert!(error.to_string().ends_with("it is larger than 100000 bytes"), "{error}");
}

#[tokio::test]
async fn other_answers_are_malformed() {
    let server = TestServer::start().await;
    server.route("/html", &[Reply::Body(b"<html>".to_vec())]);
    server.route("/loop", &[Reply::Redirect("/loop".to_owned())]);
    server.route("/file", &[Reply::Redirect("file:///etc/passwd".to_owned())]);
    for name in ["html", "loop", "file"] {
        let error = server.client().packument(name).await.unwrap_err();
        assert!(matches!(error, RegistryError::Malformed { .. }), "{name}: {error}");
    }
    assert!(matches!(server.client().packument("../up").await, Err(RegistryError::BadName { .. })));
}

#[tokio::test]
async fn a_token_stays_with_its_host_also_after_a_redirect() {
    let (home, other) = (TestServer::start().await, TestServer::start().await);
    other.route("/moved", &[Reply::Body(br#"{"name":"x","versions":{}}"#.to_vec())]);
    home.route("/x", &[Reply::Redirect(format!("{}moved", other.url))]);
    let place = format!("{}:_authToken", home.url.trim_start_matches("http:"));
    home.client_with(&[(&place, "s3cret")]).packument("x").await.unwrap();
    assert_eq!(home.seen()[0].authorization.as_deref(), Some("Bearer s3cret"));
    assert_eq!(other.seen()[0].authorization, None);
}

#[tokio::test]
async fn a_mirror_serves_tarballs_whose_address_is_not_reached() {
    let server = published().await;
    let dir = tempfile::tempdir().unwrap();
    let client = server.client();
    let mut release = client.lookup("@s/pkg", None).await.unwrap();
    release.tarball = "http://localhost:1/files/@s-pkg.tgz".to_owned();
    assert!(client.download(&release, dir.path()).await.is_ok());
}
