//! The case `bun-test`: a project's own test files, run by bun in a container of its own, without network.
//!
//! bun is the one of the preparation's image, which has it from its npm package. It must never run a test on the machine, and what a test
//! writes goes with its container.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ocsweep_proto::agent::paths;
use ocsweep_proto::axes;
use ocsweep_proto::job::{BunTests, CaseWork};
use ocsweep_proto::verdict::Reason;
use tokio_util::sync::CancellationToken;

use crate::case::{CaseRun, CaseRunner, millis};
use crate::container::{CacheKind, Claim, ContainerError, Contents, PlainSpec, TmpfsMount, VolumeMount, image};
use crate::judge::bun::{self, Ran};
use crate::record::EvidenceFile;

/// Tests write where they lie, so they get a copy. What is installed stays where it is: it is large, and nobody writes there.
const RUN: &str = r#"set -eu
source=$1 directory=$2; shift 2
cd "$source"
tar -cf - --exclude=node_modules . | tar -xf - -C "$PROJECT" || exit 97
find . -name node_modules -prune -printf '%P\n' | while IFS= read -r modules; do ln -s "$source/$modules" "$PROJECT/$modules"; done
cd "$PROJECT/$directory"
exec bun test "$@""#;

impl CaseRunner {
    pub(crate) async fn bun_test(
        &self,
        claim: Claim,
        work: &CaseWork,
        tests: &BunTests,
        shutdown: &CancellationToken,
    ) -> Result<CaseRun, ContainerError> {
        if self.engine.word() == axes::Isolation::Process {
            let row = self
                .blank(work)
                .skipped(Reason::NotApplicable, "bun tests need the image for preparations, which process isolation does not have");
            return Ok(CaseRun { row, files: Vec::new(), tui_only: false });
        }
        let began = Instant::now();
        let bundle = Contents { kind: CacheKind::Bundle, digest: work.subject.digest.clone(), bytes: 0 };
        let missing = || Err(std::io::Error::new(std::io::ErrorKind::NotFound, "the bundle has not been prepared on this machine"));
        let bundle = self.engine.ensure_volume(&bundle, missing).await?;
        let host = self.host_volume(&work.host).await?;
        let spec = spec(claim, work, tests, [(bundle, paths::BUNDLE), (host, paths::HOST_DIR)]);
        let volumes_ms = millis(began.elapsed());
        let end = self.engine.run_plain(&spec, shutdown).await?;
        let ran = Ran { exit: end.exit, output: &end.output.text, dropped: end.output.dropped };
        let mut row = bun::judge(work, &ran).apply(self.blank(work));
        row.digests.image = self.engine.image(&image::prepare()).await.ok();
        row.digests.agent = None;
        row.phases.extend([("volumes".to_owned(), volumes_ms), ("run".to_owned(), end.ms)]);
        let output = EvidenceFile { name: "stdout.log", bytes: self.secrets.scrub_bytes(end.output.text.as_bytes()) };
        Ok(CaseRun { row, files: vec![output], tui_only: false })
    }
}

fn spec<const N: usize>(claim: Claim, work: &CaseWork, tests: &BunTests, volumes: [(crate::container::VolumeName, &str); N]) -> PlainSpec {
    let limits = &work.limits;
    // A directory that begins with a dot is left out unless its files are named, and a name alone would be a filter.
    let files = tests.files.iter().map(|file| format!("./{file}"));
    let shell = ["/bin/bash", "-c", RUN, "bun-test", paths::BUNDLE, &tests.directory].map(str::to_owned);
    let tmpfs = [(paths::HOME, limits.home_bytes), (paths::TMP, limits.tmp_bytes), (paths::PROJECT, limits.project_bytes)];
    PlainSpec {
        image: image::prepare(),
        claim,
        argv: shell.into_iter().chain(files).collect(),
        env: env(work),
        volumes: volumes.map(|(volume, target)| VolumeMount { volume, target: target.to_owned(), read_only: true }).to_vec(),
        files: Vec::new(),
        tmpfs: tmpfs.map(|(target, bytes)| TmpfsMount { target: target.to_owned(), bytes }).to_vec(),
        network: false,
        uid: paths::UID,
        workdir: "/".to_owned(),
        memory_bytes: limits.memory_bytes,
        pids: limits.pids,
        nofile: limits.nofile,
        output_bytes: limits.stream_bytes,
        deadline: Duration::from_millis(bun::bound_ms(work)),
    }
}

/// An allow-list, as for a host.
fn env(work: &CaseWork) -> BTreeMap<String, String> {
    let own = [
        ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned()),
        ("HOME", paths::HOME.to_owned()),
        ("TMPDIR", paths::TMP.to_owned()),
        ("PROJECT", paths::PROJECT.to_owned()),
        ("XDG_CONFIG_HOME", format!("{}/config", paths::XDG)),
        ("XDG_DATA_HOME", format!("{}/data", paths::XDG)),
        ("XDG_CACHE_HOME", format!("{}/cache", paths::XDG)),
        ("XDG_STATE_HOME", format!("{}/state", paths::XDG)),
        ("OPENCODE_BIN", paths::HOST.to_owned()),
        ("GIT_CONFIG_GLOBAL", "/dev/null".to_owned()),
        ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
        ("TERM", "dumb".to_owned()),
        ("NO_COLOR", "1".to_owned()),
        ("LANG", "C.UTF-8".to_owned()),
        ("TZ", "UTC".to_owned()),
    ];
    let mut env = work.overlay.env.clone();
    env.extend(own.into_iter().map(|(name, value)| (name.to_owned(), value)));
    env
}
