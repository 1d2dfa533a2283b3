//! Ownership of containers and volumes: a guard knows the name before the object exists, and removes the object when it goes.
//!
//! A drop never blocks: the removal runs as a task that the engine owns and `Engine::shutdown` waits for.

use std::sync::Arc;
use std::time::Duration;

use bollard::query_parameters::{RemoveContainerOptionsBuilder, RemoveVolumeOptionsBuilder};
use tokio::time::sleep;

use super::engine::{CALL, Shared, within};
use super::error::{ContainerError, Kind, Operation};
use super::labels;

/// Pauses before each try. A volume is busy until its container is gone, and a create whose answer never came may still happen.
const PAUSES: [Duration; 7] = [
    Duration::ZERO,
    Duration::from_millis(100),
    Duration::from_millis(300),
    Duration::from_millis(600),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
];

/// After a pause of this length a create whose answer never came is not going to happen any more.
const CREATION: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Object {
    Container,
    Volume,
}

/// A container or volume that this process must remove.
#[derive(Debug)]
pub(crate) struct Guard {
    shared: Arc<Shared>,
    object: Object,
    name: String,
    // The engine has confirmed that the object exists.
    exists: bool,
    armed: bool,
}

impl Guard {
    /// Registers a name that nobody else has.
    pub(crate) fn new(shared: &Arc<Shared>, object: Object, prefix: &str) -> Self {
        let name = format!("{prefix}-{}", labels::nonce());
        shared.lock_live().insert(name.clone());
        Self { shared: Arc::clone(shared), object, name, exists: false, armed: true }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The engine has answered that the object exists.
    pub(crate) fn confirm(&mut self) {
        self.exists = true;
    }

    /// Gives the object up: it stays.
    pub(crate) fn keep(mut self) {
        self.armed = false;
        self.shared.lock_live().remove(&self.name);
    }

    /// Removes the object and waits for it. The removal goes on when the caller stops waiting.
    pub(crate) async fn remove(mut self) -> Result<(), ContainerError> {
        self.armed = false;
        let removal = remove_for_sure(Arc::clone(&self.shared), self.object, self.name.clone(), self.exists);
        let (sender, receiver) = tokio::sync::oneshot::channel();
        self.shared.in_background(async move {
            // Nobody waits any more: the removal itself has logged what is worth it.
            let _ = sender.send(removal.await);
        });
        let gone = || ContainerError::new(Kind::Cancelled, self.object.removal(), self.name.clone());
        receiver.await.map_err(|_| gone())?
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.armed {
            let removal = remove_for_sure(Arc::clone(&self.shared), self.object, self.name.clone(), self.exists);
            self.shared.in_background(async move {
                let _ = removal.await;
            });
        }
    }
}

impl Object {
    fn removal(self) -> Operation {
        match self {
            Self::Container => Operation::RemoveContainer,
            Self::Volume => Operation::RemoveVolume,
        }
    }
}

async fn remove_for_sure(shared: Arc<Shared>, object: Object, name: String, exists: bool) -> Result<(), ContainerError> {
    let mut last = Ok(());
    for pause in PAUSES {
        sleep(pause).await;
        last = remove(&shared, object, &name).await;
        match &last {
            Ok(()) => break,
            Err(error) if error.kind() == Kind::NotFound => {
                last = Ok(());
                if exists || pause >= CREATION {
                    break;
                }
            }
            Err(_) => {}
        }
    }
    if let Err(error) = &last {
        tracing::warn!(name, %error, "cannot remove, left for the reaper");
    } else {
        shared.lock_live().remove(&name);
    }
    last
}

/// One try. A running container is killed, with everything in it.
pub(crate) async fn remove(shared: &Shared, object: Object, name: &str) -> Result<(), ContainerError> {
    match object {
        Object::Container => {
            let options = RemoveContainerOptionsBuilder::default().force(true).v(true).build();
            within(CALL, object.removal(), name, shared.docker.remove_container(name, Some(options))).await
        }
        Object::Volume => {
            let options = RemoveVolumeOptionsBuilder::default().build();
            within(CALL, object.removal(), name, shared.docker.remove_volume(name, Some(options))).await
        }
    }
}
