//! Limits and powers of the program: what it may use up, and what it may do as root of its own namespace.
//!
//! Nothing may be given here that the program's caller does not have already.

use ocsweep_proto::launch::Launch;
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::{Refused, refused};

/// The agent's, as in a container.
const AGENT: CapabilitySet = CapabilitySet::SETUID
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::CHOWN)
    .union(CapabilitySet::DAC_READ_SEARCH);
/// Enough to become the user; they go with it.
const CHANGE_USER: CapabilitySet = CapabilitySet::SETUID.union(CapabilitySet::SETGID);

/// Lets the next program have the capabilities of a new user namespace although its user is not root there.
pub(super) fn keep_over_exec() -> Result<(), Refused> {
    let mut sets = rustix::thread::capabilities(None).map_err(refused("cannot read the capabilities"))?;
    sets.inheritable = sets.permitted;
    rustix::thread::set_capabilities(None, sets).map_err(refused("cannot keep the capabilities of the user namespace"))?;
    for capability in each(sets.permitted) {
        rustix::thread::configure_capability_in_ambient_set(capability, true)
            .map_err(refused("cannot keep the capabilities of the user namespace"))?;
    }
    Ok(())
}

pub(super) fn limit(launch: &Launch) -> Result<(), Refused> {
    let limits = [
        (Resource::Core, Some(0)),
        (Resource::Nofile, Some(launch.nofile)),
        (Resource::Nproc, launch.nproc),
        (Resource::Fsize, launch.fsize),
    ];
    for (resource, value) in limits {
        let Some(value) = value else { continue };
        // An ordinary user may not go above the own hard limit; being held to that one is enough.
        let hard = rustix::process::getrlimit(resource).maximum;
        let value = hard.map_or(value, |hard| hard.min(value));
        setrlimit(resource, Rlimit { current: Some(value), maximum: Some(value) })
            .map_err(refused(format_args!("cannot limit {resource:?}")))?;
    }
    Ok(())
}

/// Drops everything but what the program needs. A program whose user is not root loses all capabilities by being started.
pub(super) fn give_up(as_user: bool, is_root: bool) -> Result<(), Refused> {
    let kept = match (is_root, as_user) {
        (true, true) => CHANGE_USER,
        (true, false) => AGENT,
        (false, _) => CapabilitySet::empty(),
    };
    let bounding = if as_user { CapabilitySet::empty() } else { kept };
    rustix::thread::clear_ambient_capability_set().map_err(refused("cannot clear the ambient capabilities"))?;
    for capability in each(CapabilitySet::all().difference(bounding)) {
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            // A kernel that is older than this list.
            Ok(()) | Err(rustix::io::Errno::INVAL) => {}
            Err(error) => return Err(refused("cannot drop a capability")(error)),
        }
    }
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    rustix::thread::set_capabilities(None, sets).map_err(refused("cannot drop the capabilities"))?;
    rustix::thread::set_no_new_privs(true).map_err(refused("cannot forbid new privileges"))
}

/// One set for each capability.
fn each(set: CapabilitySet) -> impl Iterator<Item = CapabilitySet> {
    (0..u64::BITS).map(|bit| CapabilitySet::from_bits_truncate(1 << bit)).filter(move |one| !one.is_empty() && set.contains(*one))
}
