//! Runs the built `ocsweep` with a clean environment and keeps what came out. It must not wait for a time to pass, and must not retry.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The program under test.
pub(crate) const OCSWEEP: &str = env!("CARGO_BIN_EXE_ocsweep");

/// What the program may see of this environment: where things are, and how the machine reaches engine and registry.
fn passes(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    ["PATH", "HOME", "XDG_CACHE_HOME", "NODE_EXTRA_CA_CERTS", "NO_PROXY", "no_proxy"].contains(&name)
        || ["npm_config_", "docker_", "ssl_cert_"].iter().any(|prefix| lower.starts_with(prefix))
        || lower.ends_with("_proxy")
}

/// A call of the program that can still be changed.
pub(crate) struct Call {
    command: Command,
    /// Where the program puts temporary files; must be empty afterwards.
    temp: tempfile::TempDir,
}

/// A call that came back.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

/// A call that runs.
pub(crate) struct Running {
    child: Child,
    started: Instant,
    temp: tempfile::TempDir,
}

/// `ocsweep ARGS` in a directory.
pub(crate) fn ocsweep(cwd: &Path, args: &[&str]) -> Call {
    through(Command::new(OCSWEEP), cwd, args)
}

/// As [`ocsweep`], started by another program whose last argument is the program's path, for example `setpriv`.
pub(crate) fn through(mut command: Command, cwd: &Path, args: &[&str]) -> Call {
    let temp = tempfile::tempdir().expect("a temporary directory");
    command.args(args).current_dir(cwd).env_clear();
    command.envs(std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(passes)));
    command.env("TMPDIR", temp.path()).env("LANG", "C.UTF-8").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Call { command, temp }
}

impl Call {
    pub(crate) fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.command.env(name, value.into());
        self
    }

    /// Uses the stand-in for opencode.
    pub(crate) fn fake(self) -> Self {
        let fake = fake_opencode();
        self.env("OPENCODE_BIN", fake)
    }

    pub(crate) fn start(mut self) -> Running {
        let child = self.command.spawn().expect("ocsweep starts");
        Running { child, started: Instant::now(), temp: self.temp }
    }

    pub(crate) fn run(self) -> Ended {
        self.start().wait()
    }
}

impl Running {
    /// Sends a signal by its name, as a person's shell would.
    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status().expect("kill runs");
        assert!(status.success(), "kill -s {name} failed");
    }

    pub(crate) fn wait(self) -> Ended {
        let Output { status, stdout, stderr } = self.child.wait_with_output().expect("ocsweep ends");
        let took = self.started.elapsed();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
        let ended = Ended { code: status.code(), stdout: text(stdout), stderr: text(stderr), took };
        let left: Vec<_> = std::fs::read_dir(self.temp.path()).expect("TMPDIR").map(|entry| entry.expect("an entry").file_name()).collect();
        assert!(left.is_empty(), "temporary files are left behind: {left:?}\n{}", ended.describe());
        ended
    }
}

impl Ended {
    pub(crate) fn describe(&self) -> String {
        format!("exit {:?} after {:?}\n--- stdout\n{}\n--- stderr\n{}", self.code, self.took, self.stdout, self.stderr)
    }

    /// Fails with everything that is known unless the exit code is this one.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert!(self.code == Some(code), "expected exit {code}, got {}", self.describe());
        self
    }

    /// Fails unless standard error holds every text.
    #[track_caller]
    pub(crate) fn says(self, texts: &[&str]) -> Self {
        for text in texts {
            assert!(self.stderr.contains(text), "standard error lacks {text:?}: {}", self.describe());
        }
        self
    }

    /// A usage error: exit 2, these texts on standard error, nothing on standard output.
    #[track_caller]
    pub(crate) fn refused(self, texts: &[&str]) -> Self {
        let ended = self.expect(2).says(texts);
        assert_eq!(ended.stdout, "", "a refusal is no data");
        assert!(!ended.stderr.contains("panicked"), "{}", ended.describe());
        ended
    }
}

/// The stand-in for opencode, as `make fake` builds it.
fn fake_opencode() -> PathBuf {
    let target = Path::new(OCSWEEP).ancestors().nth(2).expect("a target directory");
    let fake = target.join("fake-opencode");
    assert!(fake.exists(), "{} is missing: run `make fake`", fake.display());
    fake
}

/// A file of JSON.
#[track_caller]
pub(crate) fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
