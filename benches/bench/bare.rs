//! The bare loops, and `ocsweep run` beside them: the same binary, image, limits, plugin and model, two at a time.
//!
//! *Tuned* is what somebody would write who knows everything that ocsweep knows: the reduced JIT, no title request, an empty models file, no
//! default plugins. *Naive* is the plain way: as the host is shipped, only spared the minutes that it waits for a network. Both have no probe,
//! keep no evidence and judge nothing but that the answer came; both start a container for each case, as ocsweep does.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::cost::{Spent, spent};

const VERSION: &str = "1.18.33";
const PARALLEL: usize = 2;

/// The script of one bare case, as PID 1 of its container.
const SCRIPT: &str = r#"set -eu
/bench/stub & stub=$!
mkdir -p "$XDG_CONFIG_HOME/opencode/node_modules" "$XDG_DATA_HOME" "$XDG_CACHE_HOME" "$XDG_STATE_HOME"
cp /bench/config/* "$XDG_CONFIG_HOME/opencode/"
cd /sandbox/project; git init -q; echo '# Project' >README.md
printf 'Reply with ok.' | /bench/opencode run --auto --format json --print-logs --log-level INFO "$@" >/sandbox/tmp/out 2>/sandbox/tmp/err
kill $stub
grep -q '"text":"ok"' /sandbox/tmp/out
"#;

/// What every side needs.
pub(crate) struct Bench {
    cases: usize,
    folder: tempfile::TempDir,
    image: String,
    host: PathBuf,
}

impl Bench {
    pub(crate) fn new(cases: usize) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        };
        file("plugin/index.js", "export default async () => ({});\n");
        file("plugin/package.json", r#"{"name": "bench", "main": "./index.js"}"#);
        let variants: String = (0..cases).map(|n| format!("  - {{name: v{n}, env: {{BENCH_CASE: \"{n}\"}}}}\n")).collect();
        file("plugin/.opencode-ci/config.yaml", &format!("opencode:\n  versions: [\"{VERSION}\"]\nvariants:\n{variants}"));
        let dependencies = format!(r#"{{"@opencode-ai/plugin": "{VERSION}"}}"#);
        file("config/package.json", &format!(r#"{{"dependencies": {dependencies}}}"#));
        file(
            "config/package-lock.json",
            &format!(
                r#"{{"name": "opencode", "lockfileVersion": 3, "requires": true, "packages": {{"": {{"dependencies": {dependencies}}}}}}}"#
            ),
        );
        file("config/opencode.json", &config());
        file("models.json", "{}");
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        std::fs::copy(root.join("target/bench-stub"), folder.path().join("stub")).expect("target/bench-stub: run `make fake` first");
        readable(folder.path());
        let bench = Self { cases, folder, image: ocsweep_executor::container::image::run(), host: PathBuf::new() };
        bench.ocsweep(1);
        let host = host_binary();
        Self { host, ..bench }
    }

    /// `ocsweep run`, one case for each variant.
    pub(crate) fn ocsweep(&self, warm: usize) -> Spent {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ocsweep"));
        command.args(["run", "--tier", "load", "--quiet"]).current_dir(self.folder.path().join("plugin"));
        command.env("OCSWEEP_WARM", warm.to_string()).env_remove("OPENCODE_BIN");
        spent(|| {
            let output = command.output().expect("ocsweep runs");
            assert!(output.status.success(), "{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        })
    }

    /// A bare loop.
    pub(crate) fn bare(&self, tuned: bool) -> Spent {
        spent(|| {
            std::thread::scope(|scope| {
                for worker in 0..PARALLEL {
                    scope.spawn(move || (worker..self.cases).step_by(PARALLEL).for_each(|_| self.bare_case(tuned)));
                }
            });
        })
    }

    fn bare_case(&self, tuned: bool) {
        let at = |name: &str| self.folder.path().join(name).display().to_string();
        let mut command = Command::new("docker");
        command.args(["run", "--rm", "--network", "none", "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]);
        command.args(["--user", "1000:1000", "--memory", "1536m", "--memory-swap", "1536m", "--pids-limit", "512", "--log-driver", "none"]);
        for (path, size) in [("home", 128), ("tmp", 128), ("project", 256)] {
            command.args(["--tmpfs", &format!("/sandbox/{path}:exec,uid=1000,gid=1000,size={size}m")]);
        }
        let mounts = [(at("stub"), "stub"), (at("config"), "config"), (at("plugin"), "plugin"), (at("models.json"), "models.json")];
        for (source, target) in
            mounts.iter().map(|(source, target)| (source.as_str(), *target)).chain([(self.host.to_str().expect("a path"), "opencode")])
        {
            command.args(["-v", &format!("{source}:/bench/{target}:ro")]);
        }
        for (name, value) in env(tuned) {
            command.args(["-e", &format!("{name}={value}")]);
        }
        command.args(["--entrypoint", "/bin/bash", &self.image, "-c", SCRIPT, "bare"]);
        if tuned {
            command.args(["--title", "bare"]);
        }
        let output = command.stdin(Stdio::null()).output().expect("docker runs");
        assert!(output.status.success(), "the bare loop's case failed: {}", String::from_utf8_lossy(&output.stderr));
    }
}

fn env(tuned: bool) -> Vec<(&'static str, &'static str)> {
    let mut env = vec![
        ("HOME", "/sandbox/home"),
        ("TMPDIR", "/sandbox/tmp"),
        ("PWD", "/sandbox/project"),
        ("XDG_CONFIG_HOME", "/sandbox/home/xdg/config"),
        ("XDG_DATA_HOME", "/sandbox/home/xdg/data"),
        ("XDG_CACHE_HOME", "/sandbox/home/xdg/cache"),
        ("XDG_STATE_HOME", "/sandbox/home/xdg/state"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
    ];
    if tuned {
        env.extend([
            ("OPENCODE_MODELS_PATH", "/bench/models.json"),
            ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
            ("BUN_JSC_useDFGJIT", "0"),
            ("BUN_JSC_numberOfGCMarkers", "1"),
            ("BUN_JSC_useConcurrentGC", "0"),
        ]);
    }
    env
}

fn config() -> String {
    r#"{
  "model": "stub/m1",
  "small_model": "stub/m1",
  "autoupdate": false,
  "share": "disabled",
  "provider": {"stub": {
    "npm": "@ai-sdk/openai-compatible",
    "name": "Stub",
    "options": {"baseURL": "http://127.0.0.1:41789/v1", "apiKey": "stub"},
    "models": {"m1": {"name": "M1", "limit": {"context": 128000, "output": 4096}}}
  }},
  "plugin": ["file:///bench/plugin/index.js"]
}
"#
    .to_owned()
}

/// Another user reads it in the container.
fn readable(folder: &Path) {
    let status = Command::new("chmod").args(["-R", "a+rX"]).arg(folder).status().expect("chmod runs");
    assert!(status.success());
}

/// The binary that `ocsweep run` has just fetched or found.
fn host_binary() -> PathBuf {
    use ocsweep_executor::binary::{self, Arch, BinaryCache, Platform};
    use ocsweep_executor::registry::Environment;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let cache = BinaryCache::of_user(&Environment::of_process()).expect("a cache");
        let platform = Platform { arch: Arch::parse(std::env::consts::ARCH).expect("an architecture"), flavour: Default::default() };
        let cached = cache.cached(&binary::exact(VERSION).expect("a version"), platform).await.expect("a readable cache");
        cached.expect("ocsweep fetched it").path
    })
}
