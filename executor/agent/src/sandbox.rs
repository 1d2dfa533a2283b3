//! The places of a case: the agent's own tmpfs with assets and channels, written by the agent, and the user's trees, written by a child with
//! the user's ids.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use ocsweep_proto::agent::{Exit, Root, Seed, paths};
use tokio::net::unix::pipe;

use crate::assets::{ASSETS, V2_ASSETS};
use crate::capture::capture;
use crate::processes::Children;
use crate::sources;
use crate::user::{self, Order, write_seed};

/// More than the child's own bound for emptying.
const USER_PATIENCE: Duration = Duration::from_secs(40);

/// The sandbox cannot be made as it must be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SandboxError {
    #[error("cannot prepare {path}: {source}")]
    Own { path: String, source: io::Error },
    #[error("{0}")]
    Write(String),
    #[error("the child that writes the sandbox {0}")]
    Child(String),
}

fn own(path: &str) -> impl FnOnce(io::Error) -> SandboxError {
    let path = path.to_owned();
    move |source| SandboxError::Own { path, source }
}

/// Makes the agent's own directories and writes what is the same for every case. The user may enter the first one but not list it.
pub(crate) fn prepare() -> Result<(), SandboxError> {
    for (path, mode) in [(paths::RUN, 0o711), (paths::PROBE, 0o711), (paths::ASSETS, 0o755)] {
        let made =
            std::fs::create_dir(path).or_else(|error| if error.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(error) });
        made.and_then(|()| std::fs::set_permissions(path, Permissions::from_mode(mode))).map_err(own(path))?;
    }
    ASSETS.iter().chain(V2_ASSETS).try_for_each(|(name, text)| asset(name, text))
}

/// Writes an asset.
pub(crate) fn asset(name: &str, text: &str) -> Result<(), SandboxError> {
    let seed = Seed { root: Root::Assets, path: name.to_owned(), contents: Some(text.to_owned()) };
    write_seed(Path::new(paths::ASSETS), &seed).map_err(|error| SandboxError::Write(error.text()))
}

/// The channels of the probes: before the plugin, the observer, after the plugin.
pub(crate) fn channels() -> Result<[pipe::Receiver; 3], SandboxError> {
    let channel = |name: &str| {
        let path = format!("{}/{name}.fifo", paths::PROBE);
        sources::fifo(Path::new(&path)).map_err(own(&path))
    };
    Ok([channel("pre")?, channel("observer")?, channel("post")?])
}

/// Lets the user's child do something.
pub(crate) async fn as_user(children: &Children, order: &Order) -> Result<(), SandboxError> {
    let text = serde_json::to_vec(order).map_err(|error| SandboxError::Child(format!("cannot get its order: {error}")))?;
    let mut command = Command::new("/proc/self/exe");
    command.arg(user::ARGUMENT).env_clear().current_dir("/");
    let child = children.spawn(&mut command).map_err(|error| SandboxError::Child(format!("cannot be started: {error}")))?;
    let captured = capture(child, text, USER_PATIENCE).await.map_err(|error| SandboxError::Child(error.to_string()))?;
    match captured.exit {
        Some(Exit::Code(0)) => Ok(()),
        Some(Exit::Code(1)) => Err(SandboxError::Write(String::from_utf8_lossy(&captured.stderr).into_owned())),
        other => Err(SandboxError::Child(format!("ended with {other:?}"))),
    }
}

/// Writes the seeds, each by whom it belongs to.
pub(crate) async fn write(children: &Children, seeds: &[Seed], empty: bool) -> Result<(), SandboxError> {
    let (assets, user): (Vec<&Seed>, Vec<&Seed>) = seeds.iter().partition(|seed| seed.root == Root::Assets);
    for seed in assets {
        write_seed(Path::new(paths::ASSETS), seed).map_err(|error| SandboxError::Write(error.text()))?;
    }
    let seeds = user.into_iter().cloned().collect();
    as_user(children, &Order { empty, directories: Order::xdg(), git: true, seeds }).await
}
