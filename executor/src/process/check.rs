//! Whether this machine can isolate processes: one is isolated, and says what it sees.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use super::{Shared, failed};
use crate::container::{ContainerError, Operation, PlainExit};

const PATIENCE: Duration = Duration::from_secs(30);
const OUTPUT_BYTES: u64 = 64 * 1024;
const MEMORY_BYTES: u64 = 256 * 1024 * 1024;
const PIDS: u64 = 64;
/// Namespaces that must be new.
const REQUIRED: [&str; 5] = ["mnt", "pid", "net", "ipc", "uts"];
/// What the host and the agent call.
const TOOLS: [&str; 3] = ["bash", "git", "rg"];
/// Prints what the isolated process sees.
const SCRIPT: &str = "for n in user mnt pid net ipc uts; do echo \"ns $n $(readlink /proc/self/ns/$n)\"; done
for t in bash git rg; do command -v $t >/dev/null 2>&1 && echo \"tool $t\"; done; echo seen";

/// Process isolation is not possible here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// What is missing.
    pub text: String,
    /// How to get it.
    pub hint: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Missing {}

impl Missing {
    pub(super) fn state(state: &Path, error: &std::io::Error) -> Self {
        Self {
            text: format!("cannot keep state in {}: {error}", state.display()),
            hint: "set XDG_CACHE_HOME to a directory that you may write".to_owned(),
        }
    }

    fn kernel(error: &ContainerError) -> Self {
        let hint = "as an ordinary user: sysctl user.max_user_namespaces must not be 0, kernel.unprivileged_userns_clone (Debian) must be 1, \
            kernel.apparmor_restrict_unprivileged_userns (Ubuntu) must be 0; in a container: it needs CAP_SYS_ADMIN and an unmasked /proc; \
            or use --isolation docker";
        Self { text: format!("process isolation is not possible on this machine: {}", crate::case::describe(error)), hint: hint.to_owned() }
    }

    fn tools(tools: &[&str]) -> Self {
        Self {
            text: format!("process isolation needs {} below /usr, where the isolated process can see it", tools.join(" and ")),
            hint: format!("install {} with the system's package manager", tools.join(" and ")),
        }
    }
}

/// What the isolated process saw.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// It has a user namespace of its own.
    pub(super) has_user: bool,
}

pub(super) async fn check(shared: &Shared) -> Result<Seen, Missing> {
    let output = isolated(shared).await.map_err(|error| Missing::kernel(&error))?;
    let namespaces: BTreeMap<&str, &str> = output.lines().filter_map(|line| line.strip_prefix("ns ")?.split_once(' ')).collect();
    let is_new = |name: &str| {
        let own = std::fs::read_link(format!("/proc/self/ns/{name}")).unwrap_or_default();
        namespaces.get(name).is_some_and(|seen| !seen.is_empty() && Path::new(seen) != own)
    };
    let shared_ones: Vec<&str> = REQUIRED.into_iter().filter(|name| !is_new(name)).collect();
    if !shared_ones.is_empty() {
        let error = failed(Operation::Start, "", format!("the {} namespace is the machine's", shared_ones.join(", ")));
        return Err(Missing::kernel(&error));
    }
    let missing: Vec<&str> = TOOLS.into_iter().filter(|tool| !output.lines().any(|line| line == format!("tool {tool}"))).collect();
    if !missing.is_empty() {
        return Err(Missing::tools(&missing));
    }
    Ok(Seen { has_user: is_new("user") })
}

async fn isolated(shared: &Shared) -> Result<String, ContainerError> {
    let mut launch = shared.launch().map_err(|error| failed(Operation::CreateContainer, "", error))?;
    launch.argv = ["/bin/sh", "-c", SCRIPT].map(str::to_owned).to_vec();
    launch.env = BTreeMap::from([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())]);
    launch.as_user = true;
    launch.nofile = 1024;
    let end = shared.start(launch, MEMORY_BYTES, PIDS, Stdio::null())?.capture(OUTPUT_BYTES, PATIENCE).await?;
    if end.exit != PlainExit::Code(0) || !end.output.text.ends_with("seen\n") {
        return Err(failed(
            Operation::Start,
            "",
            format!("the first isolated process ended with {:?}: {}", end.exit, end.output.text.trim()),
        ));
    }
    Ok(end.output.text)
}

/// What is not enforced here.
pub(super) fn notes(seen: &Seen, has_cgroups: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if !has_cgroups {
        notes.push("process isolation without a writable control group: memory is not limited and not measured, processes are limited for each user only.".to_owned());
    }
    let is_root = rustix::process::geteuid().is_root();
    if is_root && !seen.has_user {
        notes.push(
            "process isolation without a user namespace: the agent is the machine's root, the plugin the machine's user 1000.".to_owned(),
        );
    }
    if !is_root {
        notes.push("process isolation without root: plugin and agent share one user id, so the plugin could disturb the recording of its own case.".to_owned());
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_missing_has_a_note() {
        let whole = Seen { has_user: true };
        let own = usize::from(!rustix::process::geteuid().is_root());
        assert_eq!(notes(&whole, true).len(), own);
        assert!(notes(&whole, false)[0].contains("memory is not limited"));
    }
}
