//! The connection to the container engine and what one process owns on it.
//!
//! Every call has a deadline. Everything that is created is registered before and removed in the background when its guard goes, so a
//! dropped future, an error or a cancelled run leaves nothing. It must never decide what to run.

use std::collections::HashSet;
use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bollard::Docker;
use bollard::errors::Error as EngineError;
use bollard::models::ContainerCreateBody;
use bollard::query_parameters::CreateContainerOptionsBuilder;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use super::error::{ContainerError, Kind, Operation};
use super::guard::{Guard, Object};
use super::presence::Presence;
use super::volume::Cache;

/// An ordinary call: milliseconds on an idle machine, seconds on a busy one.
pub(crate) const CALL: Duration = Duration::from_secs(30);
/// A container start, which is mostly runc.
pub(crate) const START: Duration = Duration::from_secs(60);
/// Copying a volume's contents.
pub(crate) const COPY: Duration = Duration::from_secs(600);
/// bollard's own bound lies above all of ours, which say what was tried.
const CLIENT_SECONDS: u64 = 3600;
const LOCAL_SOCKET: &str = "unix:///var/run/docker.sock";

/// How to connect.
#[derive(Debug, Clone)]
pub struct ConnectOptions {
    /// The executor's id, a slug. `None`: one that no other process has.
    pub executor: Option<String>,
    /// A directory of this user's for small state files, shared by all processes: who lives, when a volume was last used.
    pub state: PathBuf,
    /// The bound for the first answer.
    pub deadline: Duration,
}

/// A container engine. Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Engine {
    pub(crate) shared: Arc<Shared>,
}

/// What all clones share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) docker: Docker,
    pub(crate) presence: Presence,
    pub(crate) cache: Cache,
    /// Names of containers and volumes that this process owns right now.
    pub(crate) live: Mutex<HashSet<String>>,
    pub(crate) removals: TaskTracker,
    runtime: tokio::runtime::Handle,
    /// Starts burn CPU in the engine: more than one for each core only adds latency.
    pub(crate) starts: Semaphore,
}

/// What the engine says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineInfo {
    /// The engine's version.
    pub version: String,
    /// Its highest API version.
    pub api: String,
}

/// An image's content id, `sha256:…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageId(pub String);

impl Engine {
    /// Connects to the engine that `DOCKER_HOST` names (`unix://` or `tcp://`), else to the local socket, and agrees on an API version.
    ///
    /// Must be called inside the runtime that outlives the engine: removals run there.
    ///
    /// # Errors
    /// When no engine answers in time, or the state directory cannot be used.
    pub async fn connect(options: &ConnectOptions) -> Result<Self, ContainerError> {
        let address = std::env::var("DOCKER_HOST").ok().filter(|host| !host.is_empty());
        Self::connect_to(address.as_deref().unwrap_or(LOCAL_SOCKET), options).await
    }

    /// Connects to the engine at an address (`unix://…` or `tcp://…`).
    ///
    /// # Errors
    /// As [`Engine::connect`].
    pub async fn connect_to(address: &str, options: &ConnectOptions) -> Result<Self, ContainerError> {
        let fail = |error| ContainerError::from_engine(Operation::Connect, address, error);
        let docker = Docker::connect_with_host(address).map_err(fail)?.with_timeout(Duration::from_secs(CLIENT_SECONDS));
        let docker = within(options.deadline, Operation::Connect, address, docker.negotiate_version()).await?;
        let presence = Presence::announce(&options.state, options.executor.as_deref())?;
        let shared = Shared {
            docker,
            presence,
            cache: Cache::default(),
            live: Mutex::default(),
            removals: TaskTracker::new(),
            runtime: tokio::runtime::Handle::current(),
            starts: Semaphore::new(std::thread::available_parallelism().map_or(2, |cores| cores.get().max(2))),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The id in the labels of everything that this process creates.
    #[must_use]
    pub fn executor(&self) -> &str {
        self.shared.presence.executor()
    }

    /// The engine's versions.
    ///
    /// # Errors
    /// When the engine does not answer.
    pub async fn info(&self) -> Result<EngineInfo, ContainerError> {
        let version = within(CALL, Operation::Connect, "", self.shared.docker.version()).await?;
        Ok(EngineInfo { version: version.version.unwrap_or_default(), api: version.api_version.unwrap_or_default() })
    }

    /// The id of an image. Nothing is pulled.
    ///
    /// # Errors
    /// [`Kind::ImageMissing`] when the engine does not have it.
    pub async fn image(&self, name: &str) -> Result<ImageId, ContainerError> {
        let image = within(CALL, Operation::InspectImage, name, self.shared.docker.inspect_image(name)).await?;
        image.id.map(ImageId).ok_or_else(|| ContainerError::new(Kind::Protocol, Operation::InspectImage, name))
    }

    /// Creates a container under a name of its own. A missing image is told with its name.
    pub(crate) async fn create_container(&self, body: ContainerCreateBody) -> Result<Guard, ContainerError> {
        let mut guard = Guard::new(&self.shared, Object::Container, "ocsweep");
        let image = body.image.clone().unwrap_or_default();
        let options = CreateContainerOptionsBuilder::default().name(guard.name()).build();
        // The body of the request is kilobytes large.
        let creation = Box::pin(self.shared.docker.create_container(Some(options), body));
        let created = within(CALL, Operation::CreateContainer, guard.name(), creation).await;
        match created {
            Ok(_) => guard.confirm(),
            Err(error) if error.kind() == Kind::ImageMissing => {
                guard.keep();
                return Err(ContainerError::new(Kind::ImageMissing, Operation::InspectImage, image).caused_by(error));
            }
            Err(error) => return Err(error),
        }
        Ok(guard)
    }

    /// Waits until everything that this process has let go of is removed. Call it last; what is left after the bound is for the reaper.
    ///
    /// Returns the names that are still there.
    pub async fn shutdown(&self, bound: Duration) -> Vec<String> {
        self.shared.removals.close();
        let _ = timeout(bound, self.shared.removals.wait()).await;
        self.shared.removals.reopen();
        let mut left: Vec<String> = self.shared.lock_live().iter().cloned().collect();
        left.sort();
        if left.is_empty() {
            self.shared.presence.retire();
        } else {
            tracing::warn!(left = left.len(), "containers or volumes are left for the reaper");
        }
        left
    }
}

impl Shared {
    pub(crate) fn lock_live(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        // A set of names has no broken state that a panic could leave.
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a removal to its end, whatever happens to the caller.
    pub(crate) fn in_background(&self, removal: impl Future<Output = ()> + Send + 'static) {
        self.removals.spawn_on(removal, &self.runtime);
    }
}

/// One call of the engine with its deadline and its context.
pub(crate) async fn within<T>(
    limit: Duration,
    operation: Operation,
    subject: &str,
    call: impl Future<Output = Result<T, EngineError>>,
) -> Result<T, ContainerError> {
    match timeout(limit, call).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(ContainerError::from_engine(operation, subject, error)),
        Err(_) => Err(ContainerError::new(Kind::Timeout(limit), operation, subject)),
    }
}
