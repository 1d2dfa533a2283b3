//! Asks a host binary for its version, in a container: the binary of `OPENCODE_BIN` is anybody's program.

use std::collections::BTreeMap;
use std::time::Duration;

use ocsweep_proto::agent::paths;
use ocsweep_proto::axes::VersionWord;
use ocsweep_proto::ids::{CaseId, SweepId};
use ocsweep_proto::job::{Host, Overlay};
use ocsweep_proto::verdict::Reason;
use tokio_util::sync::CancellationToken;

use crate::binary::version_matches;
use crate::case::{CaseRunner, describe};
use crate::container::{Claim, PlainExit, PlainSpec, TmpfsMount, VolumeMount};

const DEADLINE: Duration = Duration::from_secs(60);
const MIB: u64 = 1024 * 1024;

/// Why a binary is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfit {
    /// It is another program, or of another version: a mistake of whoever set `OPENCODE_BIN`.
    Other(String),
    /// The machine could not ask it.
    Unasked(Reason, String),
}

/// Checks that the binary is of the version that was asked for, in the image of a variant that runs it.
///
/// # Errors
/// See [`Unfit`].
pub async fn check_version(cases: &CaseRunner, host: &Host, word: &VersionWord, overlay: &Overlay) -> Result<(), Unfit> {
    let output = ask(cases, host, overlay).await?;
    if version_matches(&output, word) {
        return Ok(());
    }
    let said = output.trim().lines().next().unwrap_or("nothing").to_owned();
    Err(Unfit::Other(format!(
        "error: OPENCODE_BIN is not opencode {word}: its --version says {said:?}\nhint: unset OPENCODE_BIN, or choose its version with --opencode"
    )))
}

async fn ask(cases: &CaseRunner, host: &Host, overlay: &Overlay) -> Result<String, Unfit> {
    let engine = |error: crate::container::ContainerError| Unfit::Unasked(error.reason(), describe(&error));
    let invalid = |error: ocsweep_proto::ids::IdError| Unfit::Unasked(Reason::Docker, describe(&error));
    let claim = Claim { sweep: SweepId::new("version-check").map_err(invalid)?, case: CaseId::prepare(host.digest.as_str()), attempt: 1 };
    let volume = cases.host_volume(host).await.map_err(engine)?;
    let spec = PlainSpec {
        image: cases.images.of(&cases.engine, overlay).await.map_err(engine)?,
        claim,
        argv: vec![paths::HOST.to_owned(), "--version".to_owned()],
        env: BTreeMap::from([("HOME".to_owned(), paths::HOME.to_owned()), ("TMPDIR".to_owned(), paths::TMP.to_owned())]),
        volumes: vec![VolumeMount { volume, target: paths::HOST_DIR.to_owned(), read_only: true }],
        files: Vec::new(),
        tmpfs: [paths::HOME, paths::TMP].map(|target| TmpfsMount { target: target.to_owned(), bytes: 64 * MIB }).to_vec(),
        network: false,
        uid: paths::UID,
        workdir: "/".to_owned(),
        memory_bytes: 1024 * MIB,
        pids: 256,
        nofile: 4096,
        output_bytes: 64 * 1024,
        deadline: DEADLINE,
    };
    let end = cases.engine.run_plain(&spec, &CancellationToken::new()).await.map_err(engine)?;
    match end.exit {
        PlainExit::Code(0) => Ok(end.output.text),
        other => Err(Unfit::Other(format!("error: OPENCODE_BIN does not answer --version ({other:?}): {}", end.output.text.trim()))),
    }
}
