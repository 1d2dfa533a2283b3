//! Runs the steps of a preparation in containers over one scratch volume, and reads back what they made.
//!
//! The containers have a network, because steps install things, and nothing else of this machine: no secret, no token, no directory.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use ocsweep_proto::agent::paths;
use ocsweep_proto::limits::Limits;
use ocsweep_proto::verdict::{Fault, Reason};
use tar::{EntryType, Header};
use tokio_util::sync::CancellationToken;

use super::{Failed, Preparer, write_spooled};
use crate::case::describe;
use crate::container::{Archive, Claim, FileMount, Kind, PlainExit, PlainSpec, TmpfsMount, VolumeMount, image};
use crate::isolation::Scratch;
use crate::registry::Settings;
use crate::subject::bundle::{self, BundleCaps, BundleOptions};
use crate::subject::steps::{InputContent, InputFile, PrepareSteps, Step, StepEnd, StepKind, environment, log_tail};
use crate::subject::{Bundle, BundleError};

/// Where the scratch volume is in a prepare container.
const MOUNT: &str = "/prepare";
/// The later bundle's root in the volume.
const TREE: &str = "tree";
/// HOME in the volume: what a package manager caches does not belong into memory.
const HOME: &str = "home";
const TMP: &str = "tmp";
const CERTIFICATES: &str = "/ocsweep-certificates.pem";
const MIB: u64 = 1024 * 1024;
/// Compilers and bundlers need more than a host.
const MEMORY_BYTES: u64 = 4096 * MIB;
const PIDS: u64 = 2048;
const OUTPUT_BYTES: u64 = MIB;
const TAIL_LINES: usize = 30;
const TAIL_BYTES: usize = 4000;
/// Beside the steps' own time: copying in and out.
const COPYING: Duration = Duration::from_secs(1200);
/// A tar archive of a bundle has headers too.
const ARCHIVE_FACTOR: u64 = 2;

/// One preparation.
pub(super) struct Preparation<'a> {
    pub(super) claim: Claim,
    pub(super) limits: &'a Limits,
    pub(super) settings: Option<&'a Settings>,
    pub(super) shutdown: &'a CancellationToken,
}

impl Preparer {
    /// Runs the steps over `base` and gives what lies in the tree afterwards.
    pub(super) async fn run_steps(
        &self,
        preparation: &Preparation<'_>,
        base: Option<&Bundle>,
        steps: &PrepareSteps,
    ) -> Result<Bundle, Failed> {
        let deadline = Duration::from_millis(preparation.limits.prepare_ms);
        let lifetime = deadline.saturating_add(COPYING);
        let volume = self.engine.scratch(&preparation.claim, lifetime, paths::UID).await?;
        let spool = self.spool_directory()?;
        let archive = tree_archive(base, &steps.files, &spool).map_err(|error| spool_error(&error))?;
        self.engine.upload(volume.name(), Archive::read(archive)).await?;
        let certificates = self.certificates(preparation, &spool)?;
        let began = Instant::now();
        for step in &steps.steps {
            let left = deadline.saturating_sub(began.elapsed());
            self.run_step(preparation, &volume, step, certificates.as_ref().map(tempfile::NamedTempFile::path), left).await?;
        }
        self.read_back(&volume, steps, &spool).await
    }

    async fn run_step(
        &self,
        preparation: &Preparation<'_>,
        volume: &Scratch,
        step: &Step,
        certificates: Option<&Path>,
        deadline: Duration,
    ) -> Result<(), Failed> {
        let home = format!("{MOUNT}/{HOME}");
        let bundle = certificates.map(|_| CERTIFICATES);
        let settings = preparation.settings.cloned().unwrap_or_default();
        let mut env = environment::variables(&self.env, &settings, &home, bundle);
        env.insert("TMPDIR".to_owned(), format!("{MOUNT}/{TMP}"));
        let files = certificates.map(|path| FileMount { source: path.to_owned(), target: CERTIFICATES.to_owned() });
        let spec = PlainSpec {
            image: image::prepare(),
            claim: preparation.claim.clone(),
            argv: step.argv.clone(),
            env,
            volumes: vec![VolumeMount { volume: volume.name().clone(), target: MOUNT.to_owned(), read_only: false }],
            files: files.into_iter().collect(),
            // The image's /tmp is a link to this.
            tmpfs: vec![TmpfsMount { target: paths::TMP.to_owned(), bytes: 256 * MIB }],
            network: true,
            uid: paths::UID,
            workdir: format!("{MOUNT}/{TREE}/{}", step.directory).trim_end_matches('/').to_owned(),
            memory_bytes: MEMORY_BYTES.max(preparation.limits.memory_bytes),
            pids: PIDS,
            nofile: preparation.limits.nofile,
            output_bytes: OUTPUT_BYTES,
            deadline,
        };
        let end = self.engine.run_plain(&spec, preparation.shutdown).await?;
        let how = match end.exit {
            PlainExit::Code(code) => StepEnd::of_engine(code),
            PlainExit::Timeout => StepEnd::TimedOut(preparation.limits.prepare_ms),
            PlainExit::OutOfMemory => StepEnd::Signal(9),
        };
        match step.failure(&how, &end.output.text) {
            None => Ok(()),
            Some(failure) => Err(Failed {
                reason: failure.reason,
                text: failure.failures.join("\n"),
                log: log_tail(&end.output.text, TAIL_LINES, TAIL_BYTES),
            }),
        }
    }

    /// The certificates that this machine trusts, as a file that a container may read.
    fn certificates(&self, preparation: &Preparation<'_>, spool: &Path) -> Result<Option<tempfile::NamedTempFile>, Failed> {
        let settings = preparation.settings.cloned().unwrap_or_default();
        let Some(text) = environment::certificates(&self.env, &settings) else { return Ok(None) };
        let write = || {
            let mut file = tempfile::NamedTempFile::new_in(spool)?;
            file.write_all(text.as_bytes())?;
            file.as_file().set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
            Ok(file)
        };
        write().map(Some).map_err(|error: std::io::Error| spool_error(&error))
    }

    async fn read_back(&self, volume: &Scratch, steps: &PrepareSteps, spool: &Path) -> Result<Bundle, Failed> {
        let file = tempfile::tempfile_in(spool).map_err(|error| spool_error(&error))?;
        let mut into = tokio::fs::File::from_std(file);
        let cap = BundleCaps::default().bytes.saturating_mul(ARCHIVE_FACTOR);
        self.engine.download(volume.name(), TREE, cap, &mut into).await.map_err(|error| match error.kind() {
            // What the steps did to their own tree is theirs, not the engine's.
            Kind::NotFound => Failed::new(last_reason(steps), "the steps removed the directory in which they ran."),
            Kind::TooLarge(_) => Failed::new(last_reason(steps), format!("the steps left more than {cap} bytes in their tree.")),
            _ => error.into(),
        })?;
        let options = BundleOptions {
            directory: steps.directory.clone(),
            exclude: steps.exclude.clone(),
            scripts_were_skipped: steps.scripts_were_skipped,
            ..BundleOptions::default()
        };
        let (mut file, spool) = (into.into_std().await, spool.to_owned());
        let scanned = tokio::task::spawn_blocking(move || {
            file.seek(SeekFrom::Start(0)).map_err(|source| BundleError::Archive { source })?;
            bundle::scan_tar(std::io::BufReader::new(file), TREE, &spool, &options)
        });
        let scanned = scanned.await.map_err(|error| Failed::new(Reason::Docker, format!("reading the prepared tree failed: {error}.")))?;
        scanned.map_err(|error| {
            let own = error.reason().fault() == Fault::Infrastructure;
            Failed::new(if own { error.reason() } else { last_reason(steps) }, describe(&error))
        })
    }
}

/// What the tree is like after the last step is that step's doing.
fn last_reason(steps: &PrepareSteps) -> Reason {
    match steps.steps.last().map(|step| step.kind) {
        Some(StepKind::Build) => Reason::BuildFailed,
        Some(StepKind::Install) | None => Reason::InstallFailed,
    }
}

/// Everything that a preparation starts with, owned by the user of the container.
fn tree_archive(base: Option<&Bundle>, files: &[InputFile], spool: &Path) -> std::io::Result<File> {
    let mut builder = tar::Builder::new(std::io::BufWriter::new(tempfile::tempfile_in(spool)?));
    for directory in [TREE, HOME, TMP] {
        builder.append_data(&mut header(EntryType::Directory, 0o755, 0), directory, std::io::empty())?;
    }
    if let Some(bundle) = base {
        let mut archive = tar::Archive::new(std::io::BufReader::new(write_spooled(bundle, spool)?));
        for entry in archive.entries()? {
            let entry = entry?;
            let mut own = header(entry.header().entry_type(), entry.header().mode()?, entry.size());
            let path = Path::new(TREE).join(entry.path()?);
            match entry.link_name()? {
                Some(target) => builder.append_link(&mut own, path, target)?,
                None => builder.append_data(&mut own, path, entry)?,
            }
        }
    }
    for file in files {
        let path = Path::new(TREE).join(&file.path);
        match &file.content {
            InputContent::Bytes(bytes) => {
                builder.append_data(&mut header(EntryType::Regular, 0o644, bytes.len() as u64), path, bytes.as_slice())?
            }
            InputContent::File(source) => {
                let source = File::open(source)?;
                let bytes = source.metadata()?.len();
                builder.append_data(&mut header(EntryType::Regular, 0o644, bytes), path, source.take(bytes))?;
            }
        }
    }
    let mut file = builder.into_inner()?.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

/// What a step may change belongs to its user.
fn header(kind: EntryType, mode: u32, bytes: u64) -> Header {
    bundle::header(kind, mode, bytes, paths::UID)
}

fn spool_error(error: &std::io::Error) -> Failed {
    Failed::of_disk("spool the subject", error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_belongs_to_the_user_of_the_container() {
        let spool = tempfile::tempdir().unwrap();
        let files = [InputFile { path: "package.json".to_owned(), content: InputContent::Bytes(b"{}".to_vec()) }];
        let file = tree_archive(None, &files, spool.path()).unwrap();
        let mut archive = tar::Archive::new(file);
        let mut seen = Vec::new();
        for entry in archive.entries().unwrap() {
            let entry = entry.unwrap();
            assert_eq!(entry.header().uid().unwrap(), u64::from(paths::UID));
            seen.push(entry.path().unwrap().display().to_string());
        }
        assert_eq!(seen, ["tree", "home", "tmp", "tree/package.json"]);
    }
}
