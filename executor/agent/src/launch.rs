//! The launcher of process isolation: namespaces, a private root and limits around a program that becomes PID 1, without any engine.
//!
//! Two steps, because a PID namespace holds only children: the outer process leaves the machine's namespaces, the inner one, PID 1 already,
//! builds the root, gives up what it does not need and becomes the program. Either both are there or the program never runs: what the
//! kernel refuses is an error, never a weaker sandbox. It runs before the runtime and must stay single-threaded.

use std::fmt::Display;
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

use ocsweep_proto::agent::paths;
use ocsweep_proto::launch::{ARGUMENT, FAILED, Launch, PREFIX};
use rustix::process::Signal;
use rustix::thread::UnshareFlags;

mod network;
mod privileges;
mod root;

/// The outer process's child, PID 1 of the new namespace.
const INNER: &str = "launch-inner";
/// Writes the map of a user namespace from outside it.
const MAP: &str = "launch-map";
/// 128 and the signal, as a shell says it.
const SIGNALLED: i32 = 128;

pub(crate) fn is_argument(word: &str) -> bool {
    [ARGUMENT, INNER, MAP].contains(&word)
}

/// What could not be done, in one line.
#[derive(Debug)]
pub(crate) struct Refused(String);

pub(crate) fn refused<E: Display>(what: impl Display) -> impl FnOnce(E) -> Refused {
    move |error| Refused(format!("{what}: {error}"))
}

/// `main` of all three processes.
pub(crate) fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let (word, rest) = (args.next().unwrap_or_default(), args.next().unwrap_or_default());
    let done = match word.as_str() {
        MAP => map(&rest).map(|()| ExitCode::SUCCESS),
        _ => serde_json::from_str(&rest)
            .map_err(refused("the launcher's order makes no sense"))
            .and_then(|launch: Launch| if word == INNER { inner(&launch) } else { outer(&launch, &rest) }),
    };
    done.unwrap_or_else(|Refused(text)| {
        let _ = writeln!(io::stderr(), "{PREFIX}{text}");
        ExitCode::from(FAILED)
    })
}

fn die_with_parent() -> Result<(), Refused> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(refused("the end of the parent cannot be noticed"))
}

fn outer(launch: &Launch, order: &str) -> Result<ExitCode, Refused> {
    die_with_parent()?;
    let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().cast_unsigned());
    if parent != Some(launch.parent) {
        return Err(Refused("the process that wanted this is gone".to_owned()));
    }
    for cgroup in &launch.cgroups {
        let file = Path::new(&cgroup.directory).join("cgroup.procs");
        std::fs::write(&file, "0").map_err(refused(format_args!("cannot enter the control group {}", cgroup.directory)))?;
    }
    leave(launch)?;
    let mut child = Command::new("/proc/self/exe").args([INNER, order]).spawn().map_err(refused("cannot start PID 1"))?;
    let status = child.wait().map_err(refused("cannot wait for PID 1"))?;
    let code = status.code().or_else(|| Some(SIGNALLED + status.signal()?)).and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(FAILED)))
}

/// Leaves the machine's namespaces. Root leaves its user namespace only where it may; anybody else gets the others by leaving that one.
fn leave(launch: &Launch) -> Result<(), Refused> {
    let mut flags = UnshareFlags::NEWNS | UnshareFlags::NEWPID | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS;
    if !launch.network {
        flags |= UnshareFlags::NEWNET;
    }
    if rustix::process::geteuid().is_root() {
        let helper = mapper(launch.host_uid)?;
        if unshare(flags | UnshareFlags::NEWUSER).is_ok() {
            return mapped(helper);
        }
        // Without its word it writes nothing.
        dismissed(helper);
        return unshare(flags).map_err(unavailable);
    }
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    unshare(flags | UnshareFlags::NEWUSER).map_err(unavailable)?;
    // Without this the kernel takes no map of groups from an ordinary user.
    let own =
        [("setgroups", "deny".to_owned()), ("uid_map", format!("{} {uid} 1", paths::UID)), ("gid_map", format!("{} {gid} 1", paths::UID))];
    for (file, text) in own {
        std::fs::write(format!("/proc/self/{file}"), text).map_err(refused(format_args!("cannot write {file} of the user namespace")))?;
    }
    privileges::keep_over_exec()
}

#[expect(deprecated, reason = "the successor is unsafe for the sake of one flag, which is not used here; this process has one thread")]
fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    rustix::thread::unshare(flags)
}

fn unavailable(error: rustix::io::Errno) -> Refused {
    Refused(format!("the kernel gives no new namespaces (user, mount, pid, network, ipc, uts): {error}"))
}

/// Started before the user namespace is left: only a process outside of it may map more than one id.
fn mapper(host_uid: u32) -> Result<Child, Refused> {
    let order = format!("{} {host_uid}", std::process::id());
    let mut command = Command::new("/proc/self/exe");
    command.args([MAP, &order]).stdin(Stdio::piped()).stdout(Stdio::null());
    command.spawn().map_err(refused("cannot start the writer of the user map"))
}

fn mapped(mut helper: Child) -> Result<(), Refused> {
    let told = helper.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(b"go"));
    told.map_err(refused("cannot reach the writer of the user map"))?;
    let status = helper.wait().map_err(refused("cannot wait for the writer of the user map"))?;
    if status.success() { Ok(()) } else { Err(Refused("the user namespace has no map".to_owned())) }
}

fn dismissed(mut helper: Child) {
    drop(helper.stdin.take());
    let _ = helper.wait();
}

/// Root stays root, with no power outside the new namespace; the sandbox's user becomes an id that the machine does not use.
fn map(order: &str) -> Result<(), Refused> {
    let mut word = String::new();
    io::stdin().read_to_string(&mut word).map_err(refused("cannot read"))?;
    if word != "go" {
        return Ok(());
    }
    let (pid, host_uid) = order.split_once(' ').ok_or_else(|| Refused("no process to map".to_owned()))?;
    for file in ["uid_map", "gid_map"] {
        let text = format!("0 0 1\n{} {host_uid} 1\n", paths::UID);
        std::fs::write(format!("/proc/{pid}/{file}"), text).map_err(refused(format_args!("cannot write {file} of the user namespace")))?;
    }
    Ok(())
}

fn inner(launch: &Launch) -> Result<ExitCode, Refused> {
    die_with_parent()?;
    // Away from the terminal, which a plugin could type into, and from its signals.
    rustix::process::setsid().map_err(refused("cannot leave the session"))?;
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    rustix::system::sethostname(b"sandbox").map_err(refused("cannot name the host"))?;
    root::enter(launch)?;
    if !launch.network {
        network::loopback()?;
    }
    privileges::limit(launch)?;
    let is_root = rustix::process::geteuid().is_root();
    privileges::give_up(launch.as_user, is_root)?;
    let (program, arguments) = launch.argv.split_first().ok_or_else(|| Refused("there is no program".to_owned()))?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(&launch.env).current_dir(&launch.workdir);
    if launch.as_user && is_root {
        command.uid(paths::UID).gid(paths::UID);
    }
    Err(Refused(format!("cannot run {program}: {}", command.exec())))
}
