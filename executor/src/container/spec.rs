//! What a container may do: pure functions from a specification to the engine's configuration. Every protection of the machine against a
//! hostile plugin is one line here with one line in the tests.
//!
//! It must never talk to the engine.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::time::Duration;

use bollard::models::{ContainerCreateBody, HostConfig, HostConfigLogConfig, Mount, MountType, MountVolumeOptions, ResourcesUlimits};
use ocsweep_proto::agent::paths;
use ocsweep_proto::limits::Limits;

use super::labels::Claim;
use super::volume::VolumeName;

const MIB: u64 = 1024 * 1024;
/// The agent's own files: probe modules, the observer, seeds.
const RUN_BYTES: u64 = 16 * MIB;
/// Shared memory: nothing that a case needs. It counts in the container's memory.
const SHM_BYTES: u64 = 16 * MIB;
/// The largest file of a plain container: as much as a whole bundle may hold.
const LARGEST_FILE_BYTES: u64 = 2048 * MIB;
/// What the agent keeps of root's powers. It lacks `DAC_OVERRIDE` on purpose: it cannot write into the user's directories.
const AGENT_CAPABILITIES: [&str; 5] = ["SETUID", "SETGID", "KILL", "CHOWN", "DAC_READ_SEARCH"];

/// A case container.
#[derive(Debug, Clone)]
pub struct CaseSpec {
    /// Image id or name.
    pub image: String,
    /// The case.
    pub claim: Claim,
    /// Volume with the agent.
    pub agent: VolumeName,
    /// Volume with the host binary.
    pub host: VolumeName,
    /// Volume with the subject.
    pub bundle: VolumeName,
    /// Limits.
    pub limits: Limits,
    /// The whole life of the container; must be longer than the agent's own deadlines.
    pub deadline: Duration,
}

/// A container that runs one command and whose output is kept: a version check, an installation, a build.
#[derive(Debug, Clone)]
pub struct PlainSpec {
    /// Image id or name.
    pub image: String,
    /// The case or preparation that it belongs to.
    pub claim: Claim,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Environment, added to the image's.
    pub env: BTreeMap<String, String>,
    /// Volumes.
    pub volumes: Vec<VolumeMount>,
    /// Single files of this machine, read-only.
    pub files: Vec<FileMount>,
    /// Memory file systems, owned by `uid`.
    pub tmpfs: Vec<TmpfsMount>,
    /// The engine's default network; without it none at all.
    pub network: bool,
    /// User and group.
    pub uid: u32,
    /// Working directory.
    pub workdir: String,
    /// Memory, swap and tmpfs included, in bytes.
    pub memory_bytes: u64,
    /// Processes and threads.
    pub pids: u64,
    /// Open files of one process.
    pub nofile: u64,
    /// Bytes kept of the output.
    pub output_bytes: u64,
    /// The whole life of the container.
    pub deadline: Duration,
}

/// A volume in a plain container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeMount {
    /// The volume.
    pub volume: VolumeName,
    /// Absolute path in the container.
    pub target: String,
    /// No writing.
    pub read_only: bool,
}

/// A file of this machine in a plain container, read-only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMount {
    /// Absolute path on this machine.
    pub source: PathBuf,
    /// Absolute path in the container.
    pub target: String,
}

/// A memory file system in a plain container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TmpfsMount {
    /// Absolute path in the container. The image should not have it: an existing directory lends its mode.
    pub target: String,
    /// Size.
    pub bytes: u64,
}

type Labels = HashMap<String, String>;

pub(crate) fn case_container(spec: &CaseSpec, labels: Labels) -> ContainerCreateBody {
    let limits = &spec.limits;
    let user_tmpfs = |bytes| tmpfs_options(bytes, paths::UID);
    let host = HostConfig {
        network_mode: Some("none".to_owned()),
        dns: Some(vec!["127.0.0.1".to_owned()]),
        cap_add: Some(AGENT_CAPABILITIES.map(str::to_owned).to_vec()),
        tmpfs: Some(HashMap::from([
            (paths::RUN.to_owned(), format!("rw,nosuid,nodev,noexec,size={RUN_BYTES},mode=0711")),
            (paths::HOME.to_owned(), user_tmpfs(limits.home_bytes)),
            (paths::TMP.to_owned(), user_tmpfs(limits.tmp_bytes)),
            (paths::PROJECT.to_owned(), user_tmpfs(limits.project_bytes)),
        ])),
        mounts: Some(vec![
            volume_mount(&spec.agent, paths::AGENT_DIR, true, &labels),
            volume_mount(&spec.host, paths::HOST_DIR, true, &labels),
            volume_mount(&spec.bundle, paths::BUNDLE, true, &labels),
        ]),
        ..hardened(limits.memory_bytes, limits.pids, limits.nofile)
    };
    ContainerCreateBody {
        image: Some(spec.image.clone()),
        entrypoint: Some(vec![paths::AGENT.to_owned()]),
        user: Some("0:0".to_owned()),
        working_dir: Some("/".to_owned()),
        // The agent reads the job and stays alive only while its executor is attached.
        open_stdin: Some(true),
        stdin_once: Some(true),
        attach_stdin: Some(true),
        ..observed(labels, host)
    }
}

pub(crate) fn plain_container(spec: &PlainSpec, labels: Labels) -> ContainerCreateBody {
    let volumes = spec.volumes.iter().map(|mount| volume_mount(&mount.volume, &mount.target, mount.read_only, &labels));
    let files = spec.files.iter().map(|mount| Mount {
        typ: Some(MountType::BIND),
        source: Some(mount.source.display().to_string()),
        target: Some(mount.target.clone()),
        read_only: Some(true),
        ..Mount::default()
    });
    let limits = hardened(spec.memory_bytes, spec.pids, spec.nofile);
    // A step writes to a volume, which has no size limit here: at least no single file can fill the disk.
    let ulimits = limits.ulimits.clone().into_iter().flatten().chain([ulimit("fsize", LARGEST_FILE_BYTES)]).collect();
    let host = HostConfig {
        ulimits: Some(ulimits),
        network_mode: Some(if spec.network { "bridge" } else { "none" }.to_owned()),
        tmpfs: Some(spec.tmpfs.iter().map(|mount| (mount.target.clone(), tmpfs_options(mount.bytes, spec.uid))).collect()),
        mounts: Some(volumes.chain(files).collect()),
        ..limits
    };
    ContainerCreateBody {
        image: Some(spec.image.clone()),
        entrypoint: Some(spec.argv.clone()),
        env: Some(spec.env.iter().map(|(name, value)| format!("{name}={value}")).collect()),
        user: Some(format!("{0}:{0}", spec.uid)),
        working_dir: Some(spec.workdir.clone()),
        ..observed(labels, host)
    }
}

/// A container that is created to copy through and never started.
pub(crate) fn helper_container(image: &str, volume: &VolumeName, target: &str, read_only: bool, labels: Labels) -> ContainerCreateBody {
    let host = HostConfig {
        network_mode: Some("none".to_owned()),
        mounts: Some(vec![volume_mount(volume, target, read_only, &labels)]),
        ..hardened(64 * MIB, 16, 64)
    };
    ContainerCreateBody {
        image: Some(image.to_owned()),
        // Should anybody start it, it ends at once.
        entrypoint: Some(vec!["/bin/false".to_owned()]),
        // The engine copies only into containers whose root could be written.
        ..observed(labels, HostConfig { readonly_rootfs: Some(read_only), ..host })
    }
}

/// What holds for every container, whatever runs in it. Default seccomp stays on because nothing turns it off.
fn hardened(memory_bytes: u64, pids: u64, nofile: u64) -> HostConfig {
    HostConfig {
        readonly_rootfs: Some(true),
        cap_drop: Some(vec!["ALL".to_owned()]),
        security_opt: Some(vec!["no-new-privileges:true".to_owned()]),
        privileged: Some(false),
        pids_limit: Some(number(pids)),
        memory: Some(number(memory_bytes)),
        // The same number means no swap.
        memory_swap: Some(number(memory_bytes)),
        ulimits: Some(vec![ulimit("nofile", nofile), ulimit("core", 0)]),
        shm_size: Some(number(SHM_BYTES)),
        ipc_mode: Some("private".to_owned()),
        init: Some(false),
        log_config: Some(HostConfigLogConfig { typ: Some("none".to_owned()), config: None }),
        ..HostConfig::default()
    }
}

fn observed(labels: Labels, host: HostConfig) -> ContainerCreateBody {
    ContainerCreateBody {
        hostname: Some("sandbox".to_owned()),
        labels: Some(labels),
        tty: Some(false),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        host_config: Some(host),
        ..ContainerCreateBody::default()
    }
}

/// The engine silently makes a volume that does not exist. The owner's labels on it show that it was made up, and let the reaper find it.
fn volume_mount(volume: &VolumeName, target: &str, read_only: bool, labels: &Labels) -> Mount {
    Mount {
        typ: Some(MountType::VOLUME),
        source: Some(volume.as_str().to_owned()),
        target: Some(target.to_owned()),
        read_only: Some(read_only),
        volume_options: Some(MountVolumeOptions { no_copy: Some(true), labels: Some(labels.clone()), ..MountVolumeOptions::default() }),
        ..Mount::default()
    }
}

/// Docker's default for tmpfs is noexec; plugins install and run programs in their home.
fn tmpfs_options(bytes: u64, uid: u32) -> String {
    format!("rw,nosuid,nodev,exec,size={bytes},uid={uid},gid={uid},mode=0755")
}

fn ulimit(name: &str, value: u64) -> ResourcesUlimits {
    ResourcesUlimits { name: Some(name.to_owned()), soft: Some(number(value)), hard: Some(number(value)) }
}

fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
