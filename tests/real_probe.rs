//! The probe's own tests, run by the real host's runtime in a container: every `*.test.mjs` beside the probe modules.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test may panic, and says when it is skipped")]

use std::path::Path;
use std::process::Command;

use ocsweep_executor::binary::{self, Arch, BinaryCache, Platform};
use ocsweep_executor::container::image;
use ocsweep_executor::registry::{Environment, Registry};
use ocsweep_proto::axes::Flavour;

#[path = "support/parts.rs"]
mod support;

use support::engine;

/// Also made to fail when a module of the probe does not parse: a fault of ours would otherwise look like the plugin's.
#[test]
fn real_probe_modules_behave_in_the_hosts_own_runtime() {
    if !engine::is_there() {
        return;
    }
    let host = host_binary();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("executor/probe");
    for (line, at_least) in [("v1", 4), ("v2", 2)] {
        // As the agent lays them out: the modules of v2 beside those of v1.
        let probe = tempfile::tempdir().unwrap();
        support::directory::copy(&source.join("v1"), probe.path());
        support::directory::copy(&source.join("v2"), probe.path());
        let mut tests: Vec<String> = std::fs::read_dir(source.join(line).join("tests"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        tests.retain(|name| name.ends_with(".test.mjs"));
        tests.sort();
        assert!(tests.len() >= at_least, "{tests:?}");
        run_all(&host, probe.path(), &tests);
    }
}

fn run_all(host: &Path, probe: &Path, tests: &[String]) {
    for test in tests {
        let output = Command::new("docker")
            .args([
                "run",
                "--rm",
                "--network",
                "none",
                "--read-only",
                "--tmpfs",
                "/sandbox/tmp:exec",
                "--tmpfs",
                "/run",
                "-e",
                "BUN_BE_BUN=1",
            ])
            .args(["-v", &format!("{}:/opt/ocsweep/host:ro", host.display()), "-v", &format!("{}:/probe:ro", probe.display())])
            .args([&image::run(), "/opt/ocsweep/host/opencode", &format!("/probe/tests/{test}")])
            .output()
            .unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let last = out.trim_end().lines().last().unwrap_or_default();
        assert!(output.status.success() && last.starts_with("ok "), "{test}: {}\n{out}\n{err}", output.status);
    }
}

/// The directory of the cached binary.
fn host_binary() -> std::path::PathBuf {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let env = Environment::of_process();
        let cache = BinaryCache::of_user(&env).unwrap();
        let version = binary::exact("1.18.33").unwrap();
        let platform = Platform { arch: Arch::parse(std::env::consts::ARCH).unwrap(), flavour: Flavour::Glibc };
        let binary = match cache.cached(&version, platform).await.unwrap() {
            Some(binary) => binary,
            None => cache.fetch(&Registry::discover(&env, Path::new(".")).await.unwrap(), &version, platform).await.unwrap(),
        };
        binary.path.parent().unwrap().to_owned()
    })
}
