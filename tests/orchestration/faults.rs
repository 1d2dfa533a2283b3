//! The machine is at fault: no engine, no image, no registry. A run ends in bounded time with a code and a sentence that name the fault, and
//! never with a verdict on the plugin.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use crate::support::engine;
use crate::support::project::Project;
use crate::support::run::{Ended, OCSWEEP, ocsweep, through};

#[track_caller]
fn all_rows_blame(project: &Project, ended: &Ended, reason: &str) {
    for row in project.rows() {
        let got = (row["verdict"].as_str().unwrap_or_default(), row["reason"].as_str().unwrap_or_default());
        let expected = if row["id"] == "load" { ("indeterminate", reason) } else { ("skipped", "tier-1-indeterminate") };
        assert_eq!(got, expected, "{row:#}\n{}", ended.describe());
    }
}

#[test]
fn an_engine_that_is_not_there_is_nobodys_fault_and_exits_3() {
    let project = Project::new().scenario("a", "");
    let ended = project.call(&[]).env("DOCKER_HOST", "unix:///nonexistent/docker.sock").run().expect(3).says(&["Docker"]);
    assert!(ended.took < Duration::from_secs(60), "{:?}", ended.took);
    assert_eq!(project.rows().len(), 2);
    all_rows_blame(&project, &ended, "docker");
}

/// An engine that knows no image and answers everything else.
struct EmptyEngine {
    directory: tempfile::TempDir,
}

impl EmptyEngine {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("d.sock")).unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                std::thread::spawn(move || answer(stream.unwrap()));
            }
        });
        Self { directory }
    }

    fn address(&self) -> String {
        format!("unix://{}/d.sock", self.directory.path().display())
    }
}

fn answer(mut stream: UnixStream) {
    let mut request = Vec::new();
    let mut chunk = [0; 4096];
    while !request.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
        match stream.read(&mut chunk) {
            Ok(0) | Err(_) => return,
            Ok(count) => request.extend_from_slice(&chunk[..count]),
        }
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let target = request.split(' ').nth(1).unwrap_or_default().to_owned();
    let (status, body) = match target.split('?').next().unwrap_or_default() {
        path if path.ends_with("/_ping") => ("200 OK", "\"OK\"".to_owned()),
        path if path.ends_with("/version") => {
            ("200 OK", r#"{"Version":"20.10.0","ApiVersion":"1.41","MinAPIVersion":"1.12","Os":"linux","Arch":"amd64"}"#.to_owned())
        }
        path if path.ends_with("/info") => ("200 OK", r#"{"NCPU":2,"Architecture":"x86_64","OSType":"linux"}"#.to_owned()),
        path if path.ends_with("/containers/json") => ("200 OK", "[]".to_owned()),
        path if path.ends_with("/volumes") && request.starts_with("GET") => ("200 OK", r#"{"Volumes":[],"Warnings":[]}"#.to_owned()),
        path if path.contains("/images/") || path.contains("/containers/create") => {
            ("404 Not Found", r#"{"message":"No such image: ocsweep/run:0"}"#.to_owned())
        }
        _ => ("404 Not Found", r#"{"message":"not here"}"#.to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\napi-version: 1.41\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
}

#[test]
fn an_image_that_is_missing_is_named_with_the_way_to_get_it() {
    let project = Project::new().scenario("a", "");
    let engine = EmptyEngine::start();
    let ended = project.call(&[]).env("DOCKER_HOST", engine.address()).run().expect(3).says(&["image"]);
    assert!(ended.took < Duration::from_secs(60), "{:?}", ended.took);
    assert!(ended.stderr.contains("make setup") || ended.stderr.contains("doctor"), "{}", ended.describe());
    all_rows_blame(&project, &ended, "image");
}

#[test]
fn a_version_that_was_never_published_is_a_clear_error() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new();
    ocsweep(project.path(), &["run", "--opencode", "1.18.99999"]).run().refused(&["1.18.99999"]);
}

#[test]
fn a_binary_of_another_version_is_refused() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new();
    project.run(&["--opencode", "1.2.3"]).refused(&["OPENCODE_BIN", "1.2.3"]);
    project.file("text", "no program");
    let text = project.path().join("text").to_string_lossy().into_owned();
    for wrong in ["/nonexistent/opencode", "/tmp", &text] {
        project.call(&[]).env("OPENCODE_BIN", wrong).run().refused(&["OPENCODE_BIN", wrong]);
    }
    std::fs::set_permissions(&text, std::fs::Permissions::from_mode(0o755)).unwrap();
    project.call(&[]).env("OPENCODE_BIN", &text).run().refused(&["OPENCODE_BIN", "--version"]);
}

/// The first write of evidence that does not fit anywhere: a file system of a few pages instead of the output folder.
#[test]
fn a_full_disk_is_the_machines_fault() {
    if !engine::is_there() {
        return;
    }
    let project = Project::new().scenario("a", "");
    std::fs::create_dir_all(project.out()).unwrap();
    let mut command = std::process::Command::new("unshare");
    let script = "mount -t tmpfs -o size=16k tmpfs .opencode-ci/out && exec \"$@\"";
    command.args(["-m", "sh", "-c", script, "sh", OCSWEEP]);
    let ended = through(command, project.path(), &["run"]).fake().run();
    let ended = ended.expect(3).says(&["disk-full-host", "the disk is full"]);
    assert!(ended.took < Duration::from_secs(120), "{:?}", ended.took);
    assert!(!ended.stderr.contains("panicked"), "{}", ended.describe());
    assert!(!ended.stderr.contains('\u{1b}'), "a pipe is no terminal: {}", ended.describe());
    let counts = ended.stderr.lines().filter_map(|line| line.strip_prefix('[')?.split_once(']')?.0.split_once('/'));
    let counts: Vec<(u32, u32)> = counts.filter_map(|(done, of)| Some((done.parse().ok()?, of.parse().ok()?))).collect();
    assert!(!counts.is_empty() && counts.iter().all(|(done, of)| done <= of), "an attempt is no case: {}", ended.describe());
}
