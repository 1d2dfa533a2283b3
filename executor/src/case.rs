//! One attempt of a case, from its job to its row and its evidence: volumes, container, frames, judgement.
//!
//! It must never look at another case, and a fault of the machine must never leave here as a plugin's failure.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ocsweep_proto::agent::{After, Preflight};
use ocsweep_proto::axes::Line;
use ocsweep_proto::digest::{Builder, Digest};
use ocsweep_proto::job::{CaseWork, Host};
use ocsweep_proto::redact::Secrets;
use ocsweep_proto::row::CaseRow;
use ocsweep_proto::verdict::{Reason, Verdict};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;

use crate::container::{CacheKind, CaseSpec, Claim, ContainerError, Contents, Kind, Operation, VolumeName};
use crate::evidence::RawEvidence;
use crate::images::Images;
use crate::isolation::{Isolation, Waiting};
use crate::preflight::PreflightCache;
use crate::record::{self, EvidenceFile};
use crate::stream::Collected;
use crate::{judge, line};

/// Between the agent's own deadlines and the end of the container: start, preflight's cleaning, collection, transfer.
const MARGIN: Duration = Duration::from_secs(120);

/// A file of this machine that cases need, by digest.
#[derive(Debug, Clone)]
pub struct LocalFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its digest.
    pub digest: Digest,
    /// Its size.
    pub bytes: u64,
}

/// Runs cases in one isolation.
#[derive(Debug)]
pub struct CaseRunner {
    /// Where they run.
    pub engine: Isolation,
    /// Images; process isolation has none.
    pub images: Images,
    /// How many cases run at once. Who waits for one of these has its place made already.
    pub slots: Arc<Semaphore>,
    /// The agent.
    pub agent: LocalFile,
    /// Host binaries, by digest.
    pub hosts: BTreeMap<Digest, LocalFile>,
    /// What earlier preflights learned.
    pub preflights: PreflightCache,
    /// Values that no file may show.
    pub secrets: Secrets,
    /// Keep every workspace.
    pub keep: bool,
}

/// What came of an attempt.
#[derive(Debug)]
pub struct CaseRun {
    /// The row, scrubbed.
    pub row: CaseRow,
    /// The evidence, scrubbed.
    pub files: Vec<EvidenceFile>,
    /// The module is a TUI plugin only.
    pub tui_only: bool,
}

impl CaseRunner {
    /// Runs an attempt. It always ends with a row; what went wrong on the way is the row's reason.
    pub async fn run(&self, claim: Claim, work: &CaseWork, shutdown: &CancellationToken) -> CaseRun {
        let started = Instant::now();
        let mut run = match self.attempt(claim, work, shutdown).await {
            Ok(run) => run,
            Err(error) => self.without_evidence(work, error.reason(), describe(&error)),
        };
        // Others had the slot while it waited, which is not its own time.
        let waited = run.row.phases.get("warm").copied().unwrap_or_default();
        run.row.duration_ms = millis(started.elapsed()).saturating_sub(waited);
        self.secrets.scrub_row(&mut run.row);
        run
    }

    /// The row that every attempt starts with.
    pub(crate) fn blank(&self, work: &CaseWork) -> CaseRow {
        let mut row = CaseRow::blank(work.id.as_str(), work.tier, &work.host.requested, work.variant.as_str());
        row.resolved = Some(work.host.resolved.clone());
        row.line = Some(work.host.line);
        row.jit = Some(work.jit);
        row.isolation = Some(self.engine.word());
        row.digests.subject = Some(work.subject.digest.to_string());
        row.digests.binary = Some(work.host.digest.to_string());
        row.digests.scenario = work.scenario_digest().ok().map(|digest| digest.to_string());
        row.digests.image = self.images.known(&work.overlay);
        row.digests.agent = Some(self.agent.digest.to_string());
        row
    }

    fn without_evidence(&self, work: &CaseWork, reason: Reason, failure: String) -> CaseRun {
        let mut row = self.blank(work).ended(Some(reason));
        row.failures.push(failure);
        CaseRun { row, files: Vec::new(), tui_only: false }
    }

    async fn attempt(&self, claim: Claim, work: &CaseWork, shutdown: &CancellationToken) -> Result<CaseRun, ContainerError> {
        if let Some(tests) = &work.bun {
            return self.bun_test(claim, work, tests, shutdown).await;
        }
        if let Some(text) = not_resolved(work) {
            return Ok(self.without_evidence(work, Reason::NotResolved, text));
        }
        let began = Instant::now();
        let spec = self.spec(claim, work).await?;
        let volumes_ms = millis(began.elapsed());
        let (waiting, _slot, warm_ms) = self.warm_until_free(&spec, shutdown).await?;
        // Only now, because a case that has just ended may have learned what the module exports.
        let key = (work.subject.digest.clone(), import_conditions(work, &spec.image));
        let json = match agent_job(work, self.preflights.get(&key)) {
            Ok(json) => json,
            Err(text) => return Ok(self.without_evidence(work, Reason::BadMessage, text)),
        };
        let mut collected = Collected::default();
        let mut running = waiting.give(&json).await?;
        while let Some(frame) = running.next_frame().await? {
            if collected.take(frame) {
                running.send(self.after(work, &mut collected)).await?;
            }
        }
        let end = running.finish().await?;
        collected.end(&end);
        if let Some(preflight) = &collected.raw.report.preflight {
            self.preflights.put(key, preflight.clone());
        }
        let mut run = self.judged(work, collected);
        let phases = [
            ("volumes", volumes_ms),
            ("create", end.phases.create_ms),
            ("attach", end.phases.attach_ms),
            ("queue", end.phases.queue_ms),
            ("start", end.phases.start_ms),
            ("warm", warm_ms),
            ("give", end.phases.give_ms),
            ("run", end.phases.run_ms),
            ("end", end.phases.end_ms),
        ];
        run.row.phases.extend(phases.map(|(name, ms)| (name.to_owned(), ms)));
        Ok(run)
    }

    /// The case's place, made while others run, and the right to use it with how long that took.
    async fn warm_until_free(
        &self,
        spec: &CaseSpec,
        shutdown: &CancellationToken,
    ) -> Result<(Waiting, SemaphorePermit<'_>, u64), ContainerError> {
        let waiting = self.engine.warm(spec, shutdown).await?;
        let began = Instant::now();
        // One that would wait beyond its labels' end, where another executor may remove it, is made again when it is needed.
        if let Ok(slot) = tokio::time::timeout(spec.deadline, self.slot(spec, shutdown)).await {
            return Ok((waiting, slot?, millis(began.elapsed())));
        }
        drop(waiting);
        let slot = self.slot(spec, shutdown).await?;
        let warm_ms = millis(began.elapsed());
        Ok((self.engine.warm(spec, shutdown).await?, slot, warm_ms))
    }

    async fn slot(&self, spec: &CaseSpec, shutdown: &CancellationToken) -> Result<SemaphorePermit<'_>, ContainerError> {
        let stopped = |kind| ContainerError::new(kind, Operation::Start, spec.claim.case.as_str());
        let slot = shutdown.run_until_cancelled(self.slots.acquire()).await.ok_or_else(|| stopped(Kind::Cancelled))?;
        // Nobody closes the semaphore.
        slot.map_err(|error| stopped(Kind::Protocol).caused_by(error))
    }

    /// Whether the workspace is wanted: always with `--keep`, else when the case did not pass.
    fn after(&self, work: &CaseWork, collected: &mut Collected) -> After {
        // The end frame is still to come; without it the case is judged again, as incomplete.
        collected.raw.complete = true;
        let passed = judge_any(work, &collected.raw).apply(self.blank(work)).verdict == Verdict::Pass;
        collected.raw.complete = false;
        if self.keep || !passed { After::Workspace } else { After::Done }
    }

    fn judged(&self, work: &CaseWork, collected: Collected) -> CaseRun {
        let began = Instant::now();
        let Collected { raw, workspace, out_of_memory, problem, .. } = collected;
        let mut row = judge_any(work, &raw).apply(self.blank(work));
        if let Some(problem) = problem {
            row.failures.push(problem);
        }
        if !raw.complete && out_of_memory {
            // The kernel killed the agent itself: the container, not the machine, was out of memory.
            row = row.ended(Some(Reason::MemoryLimit));
            row.failures = vec![format!("the container reached its memory limit of {} bytes.", work.limits.memory_bytes)];
        }
        if work.scenario.is_none() {
            row.warnings.extend(work.subject.warnings.iter().cloned());
            row.warnings.extend(self.engine.notes().iter().cloned());
        }
        row.phases.extend(raw.report.phases.iter().map(|(name, ms)| (format!("agent-{name}"), *ms)));
        row.phases.insert("judge".to_owned(), millis(began.elapsed()));
        row.peak_memory_bytes = raw.report.peak_memory_bytes;
        let tui_only =
            work.scenario.is_none() && raw.report.preflight.as_ref().is_some_and(|preflight| judge::module_is_tui_only(work, preflight));
        match record::files(&raw, workspace, &self.secrets) {
            Ok(files) => CaseRun { row, files, tui_only },
            Err(error) => self.without_evidence(work, Reason::Store, format!("cannot write the evidence: {error}.")),
        }
    }

    async fn spec(&self, claim: Claim, work: &CaseWork) -> Result<CaseSpec, ContainerError> {
        let agent = self.file_volume(CacheKind::Agent, Some(&self.agent), &self.agent.digest, "ocsweep-agent").await?;
        let host = self.host_volume(&work.host).await?;
        let bundle = Contents { kind: CacheKind::Bundle, digest: work.subject.digest.clone(), bytes: 0 };
        let bundle = self.engine.ensure_volume(&bundle, || Err(missing("the bundle has not been prepared on this machine"))).await?;
        let image = self.images.of(&self.engine, &work.overlay).await?;
        let agent_bound = work.limits.init_ms.saturating_add(work.total_ms());
        let deadline = Duration::from_millis(agent_bound).saturating_add(MARGIN);
        Ok(CaseSpec { image, claim, agent, host, bundle, limits: work.limits.clone(), deadline })
    }

    /// The volume with a host binary.
    ///
    /// # Errors
    /// When the binary is not on this machine or the engine fails.
    pub(crate) async fn host_volume(&self, host: &Host) -> Result<VolumeName, ContainerError> {
        self.file_volume(CacheKind::Host, self.hosts.get(&host.digest), &host.digest, "opencode").await
    }

    async fn file_volume(
        &self,
        kind: CacheKind,
        file: Option<&LocalFile>,
        digest: &Digest,
        name: &str,
    ) -> Result<VolumeName, ContainerError> {
        let Some(file) = file else {
            let error = ContainerError::new(Kind::LocalIo, Operation::Upload, name);
            return Err(error.caused_by(missing("the host binary is not on this machine")));
        };
        let contents = Contents { kind, digest: digest.clone(), bytes: file.bytes };
        self.engine.ensure_file(&contents, &file.path, name).await
    }
}

/// The host's own rules do not find the entry: no container can show more. A v2 host is given a directory that names the entry itself.
fn not_resolved(work: &CaseWork) -> Option<String> {
    if work.subject.entries.tui_only || work.host.line == Line::V2 {
        return None;
    }
    work.subject.entries.server.as_ref()?.not_resolved.clone()
}

/// What an import depends on beside the bundle: the binary, and what a variant changes of the environment and the system around it.
fn import_conditions(work: &CaseWork, image: &str) -> Digest {
    let overlay = &work.overlay;
    if overlay.env.is_empty() && overlay.image.is_none() {
        return work.host.digest.clone();
    }
    let mut conditions = Builder::default();
    conditions.field(work.host.digest.as_str().as_bytes());
    conditions.field(image.as_bytes());
    for (name, value) in &overlay.env {
        conditions.field(name.as_bytes());
        conditions.field(value.as_bytes());
    }
    conditions.finish()
}

/// The agent's job as JSON, or why there is none.
fn agent_job(work: &CaseWork, preflight: Option<Preflight>) -> Result<Vec<u8>, String> {
    let job = line::agent_job(work, preflight).map_err(|error| format!("{error}."))?;
    serde_json::to_vec(&job).map_err(|error| format!("cannot write the agent's job: {error}."))
}

fn judge_any(work: &CaseWork, raw: &RawEvidence) -> judge::Judgement {
    if work.subject.entries.tui_only { judge::judge_tui(work, raw) } else { judge::judge(work, raw) }
}

fn missing(what: &str) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::NotFound, what)
}

/// An error with all its causes, as one sentence.
pub(crate) fn describe(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text.push('.');
    text
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
