//! What can go wrong between an executor and its container engine: a kind, the operation and its object, the engine's own words.
//!
//! Nothing here says anything about a plugin: every kind is the infrastructure's fault.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use bollard::errors::Error as EngineError;
use ocsweep_proto::verdict::Reason;

/// A failed operation of the container engine.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation}{}: {kind}", object(.subject))]
pub struct ContainerError {
    kind: Kind,
    operation: Operation,
    /// What was operated on: a container, volume, image or address.
    subject: String,
    #[source]
    source: Option<Box<dyn StdError + Send + Sync>>,
}

fn object(subject: &str) -> String {
    if subject.is_empty() { String::new() } else { format!(" {subject}") }
}

/// Why an operation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// No engine answers.
    NotRunning,
    /// The engine's socket may not be used.
    Permission,
    /// The engine's address makes no sense.
    BadAddress,
    /// The engine did not answer in time.
    Timeout(Duration),
    /// The connection ended in the middle of an answer.
    ConnectionLost,
    /// The engine's answer could not be understood.
    Protocol,
    /// The engine refused.
    Refused,
    /// The object does not exist.
    NotFound,
    /// The object is in use, or has another state than needed.
    Conflict,
    /// The image does not exist on the engine.
    ImageMissing,
    /// A cached volume disappeared or lost its contents' proof between its check and its use.
    VolumeLost,
    /// The engine's disk is full.
    DiskFull,
    /// The machine has no memory left.
    HostMemory,
    /// Process isolation: the machine did not do what an isolated process needs.
    NotIsolated,
    /// The contents to upload could not be read, or the contents to download could not be written.
    LocalIo,
    /// More bytes than allowed, in all.
    TooLarge(u64),
    /// The case's evidence stream cannot be decoded.
    CorruptStream,
    /// The case did not end within its outer deadline.
    Deadline(Duration),
    /// Somebody asked to stop.
    Cancelled,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRunning => f.write_str("no Docker engine answers"),
            Self::Permission => f.write_str("no permission to use the Docker socket"),
            Self::BadAddress => f.write_str("the address of the Docker engine cannot be used"),
            Self::Timeout(limit) => write!(f, "no answer within {} s", limit.as_secs()),
            Self::ConnectionLost => f.write_str("the connection to the Docker engine was lost"),
            Self::Protocol => f.write_str("the answer of the Docker engine makes no sense"),
            Self::Refused => f.write_str("the Docker engine refused"),
            Self::NotFound => f.write_str("it does not exist"),
            Self::Conflict => f.write_str("it is in use"),
            Self::ImageMissing => f.write_str("the image does not exist"),
            Self::VolumeLost => f.write_str("a cached volume was removed meanwhile"),
            Self::DiskFull => f.write_str("the disk of the Docker engine is full"),
            Self::HostMemory => f.write_str("the machine is out of memory"),
            Self::NotIsolated => f.write_str("this machine could not isolate a process"),
            Self::LocalIo => f.write_str("reading or writing on this machine failed"),
            Self::TooLarge(limit) => write!(f, "more than {limit} bytes"),
            Self::CorruptStream => f.write_str("the evidence stream cannot be decoded"),
            Self::Deadline(limit) => write!(f, "not finished within {} s", limit.as_secs()),
            Self::Cancelled => f.write_str("cancelled"),
        }
    }
}

/// What was tried. Reads well after "cannot".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Reaching the engine.
    Connect,
    /// Asking for an image.
    InspectImage,
    /// Creating a container.
    CreateContainer,
    /// Attaching to a container's streams.
    Attach,
    /// Starting a container.
    Start,
    /// Reading a container's output.
    ReadOutput,
    /// Writing to a container's input.
    WriteInput,
    /// Waiting for a container's end.
    Wait,
    /// Asking how a container ended.
    InspectContainer,
    /// Removing a container.
    RemoveContainer,
    /// Listing containers.
    ListContainers,
    /// Creating a volume.
    CreateVolume,
    /// Asking for a volume.
    InspectVolume,
    /// Removing a volume.
    RemoveVolume,
    /// Listing volumes.
    ListVolumes,
    /// Copying into a volume.
    Upload,
    /// Copying out of a volume.
    Download,
    /// Keeping this executor's own state files.
    KeepState,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "reach the Docker engine at",
            Self::InspectImage => "use the image",
            Self::CreateContainer => "create the container",
            Self::Attach => "attach to the container",
            Self::Start => "start the container",
            Self::ReadOutput => "read the output of the container",
            Self::WriteInput => "write to the container",
            Self::Wait => "wait for the container",
            Self::InspectContainer => "inspect the container",
            Self::RemoveContainer => "remove the container",
            Self::ListContainers => "list containers",
            Self::CreateVolume => "create the volume",
            Self::InspectVolume => "inspect the volume",
            Self::RemoveVolume => "remove the volume",
            Self::ListVolumes => "list volumes",
            Self::Upload => "copy into the volume",
            Self::Download => "copy out of the volume",
            Self::KeepState => "keep state in",
        })
    }
}

impl ContainerError {
    pub(crate) fn new(kind: Kind, operation: Operation, subject: impl Into<String>) -> Self {
        Self { kind, operation, subject: subject.into(), source: None }
    }

    pub(crate) fn caused_by(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    pub(crate) fn from_engine(operation: Operation, subject: &str, error: EngineError) -> Self {
        Self::new(classify(operation, &error), operation, subject).caused_by(error)
    }

    /// The client library reports an exit code that is not zero as an error.
    pub(crate) fn exit_code(&self) -> Option<i64> {
        match self.source.as_ref()?.downcast_ref::<EngineError>()? {
            EngineError::DockerContainerWaitError { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Why.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What was tried.
    #[must_use]
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// The reason of a row that ends with this error.
    #[must_use]
    pub fn reason(&self) -> Reason {
        match self.kind {
            Kind::ImageMissing => Reason::Image,
            Kind::DiskFull => Reason::DiskFullHost,
            Kind::HostMemory => Reason::OomHost,
            Kind::CorruptStream | Kind::Deadline(_) => Reason::StreamIncomplete,
            Kind::Cancelled => Reason::Cancelled,
            Kind::LocalIo | Kind::NotIsolated if self.is_local_disk_full() => Reason::DiskFullHost,
            Kind::NotRunning
            | Kind::Permission
            | Kind::BadAddress
            | Kind::Timeout(_)
            | Kind::ConnectionLost
            | Kind::Protocol
            | Kind::Refused
            | Kind::NotFound
            | Kind::Conflict
            | Kind::VolumeLost
            | Kind::TooLarge(_)
            | Kind::NotIsolated
            | Kind::LocalIo => Reason::Docker,
        }
    }

    /// Another attempt can end otherwise without anybody changing the machine.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self.kind {
            // An engine that restarts is away for seconds.
            Kind::NotRunning
            | Kind::Timeout(_)
            | Kind::ConnectionLost
            | Kind::Conflict
            | Kind::VolumeLost
            | Kind::HostMemory
            | Kind::CorruptStream
            | Kind::Deadline(_)
            | Kind::Refused => true,
            Kind::Permission
            | Kind::BadAddress
            | Kind::Protocol
            | Kind::NotFound
            | Kind::ImageMissing
            | Kind::DiskFull
            | Kind::NotIsolated
            | Kind::LocalIo
            | Kind::TooLarge(_)
            | Kind::Cancelled => false,
        }
    }

    /// What a person can do.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self.kind {
            Kind::NotRunning => Some("start the Docker engine: run \"make setup\", or \"systemctl start docker\""),
            Kind::Permission => Some("run as root, or add your user to the group \"docker\" and log in again"),
            Kind::BadAddress => Some("DOCKER_HOST must be unix:///path/to/socket or tcp://host:port"),
            Kind::ImageMissing => Some("run \"make setup\""),
            Kind::DiskFull => Some("free disk space, for example with \"ocsweep gc\""),
            _ => None,
        }
    }

    fn is_local_disk_full(&self) -> bool {
        let io = self.source.as_ref().and_then(|source| source.downcast_ref::<std::io::Error>());
        io.is_some_and(|error| error.kind() == std::io::ErrorKind::StorageFull)
    }
}

/// The engine tells several causes apart only by its text, so the few texts that matter are known here and nowhere else.
fn classify(operation: Operation, error: &EngineError) -> Kind {
    match error {
        EngineError::DockerResponseServerError { status_code, message } => classify_answer(operation, *status_code, message),
        EngineError::SocketNotFoundError(_) => Kind::NotRunning,
        EngineError::UnsupportedURISchemeError { .. } | EngineError::URLParseError { .. } | EngineError::InvalidURIError { .. } => {
            Kind::BadAddress
        }
        EngineError::JsonDataError { .. } | EngineError::JsonSerdeError { .. } | EngineError::APIVersionParseError {} => Kind::Protocol,
        EngineError::HyperLegacyError { err } if err.is_connect() => match io_kind(err) {
            Some(std::io::ErrorKind::PermissionDenied) => Kind::Permission,
            _ => Kind::NotRunning,
        },
        _ => Kind::ConnectionLost,
    }
}

fn classify_answer(operation: Operation, status: u16, message: &str) -> Kind {
    let text = message.to_lowercase();
    if text.contains("no space left on device") {
        return Kind::DiskFull;
    }
    if text.contains("cannot allocate memory") {
        return Kind::HostMemory;
    }
    match (status, operation) {
        (404, Operation::InspectImage) => Kind::ImageMissing,
        (404, Operation::CreateContainer) if text.contains("no such image") => Kind::ImageMissing,
        (404, _) => Kind::NotFound,
        (409, _) => Kind::Conflict,
        _ => Kind::Refused,
    }
}

fn io_kind(error: &(dyn StdError + 'static)) -> Option<std::io::ErrorKind> {
    let mut current = Some(error);
    while let Some(cause) = current {
        if let Some(io) = cause.downcast_ref::<std::io::Error>() {
            return Some(io.kind());
        }
        current = cause.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(operation: Operation, status: u16, message: &str) -> ContainerError {
        let error = EngineError::DockerResponseServerError { status_code: status, message: message.to_owned() };
        ContainerError::from_engine(operation, "x", error)
    }

    #[test]
    fn answers_become_reasons() {
        let table = [
            (Operation::InspectImage, 404, "No such image: a:b", Kind::ImageMissing, Reason::Image),
            (Operation::CreateContainer, 404, "No such image: a:b", Kind::ImageMissing, Reason::Image),
            (Operation::CreateContainer, 404, "no such network", Kind::NotFound, Reason::Docker),
            (Operation::RemoveVolume, 409, "volume is in use", Kind::Conflict, Reason::Docker),
            (Operation::Upload, 500, "write /x: No space left on device", Kind::DiskFull, Reason::DiskFullHost),
            (Operation::Start, 500, "fork/exec: cannot allocate memory", Kind::HostMemory, Reason::OomHost),
            (Operation::Start, 500, "OCI runtime create failed", Kind::Refused, Reason::Docker),
        ];
        for (operation, status, message, kind, reason) in table {
            let error = answer(operation, status, message);
            assert_eq!((error.kind(), error.reason()), (kind, reason), "{message}");
        }
    }

    #[test]
    fn every_reason_is_the_infrastructures() {
        let kinds = [
            Kind::NotRunning,
            Kind::Timeout(Duration::from_secs(1)),
            Kind::CorruptStream,
            Kind::Cancelled,
            Kind::TooLarge(1),
            Kind::LocalIo,
        ];
        for kind in kinds {
            let reason = ContainerError::new(kind, Operation::Start, "x").reason();
            assert_eq!(reason.fault(), ocsweep_proto::verdict::Fault::Infrastructure, "{kind:?}");
        }
    }

    #[test]
    fn a_full_local_disk_is_told_apart() {
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        let error = ContainerError::new(Kind::LocalIo, Operation::Download, "v").caused_by(full);
        assert_eq!(error.reason(), Reason::DiskFullHost);
    }

    #[test]
    fn the_message_names_what_was_tried() {
        let error = ContainerError::new(Kind::ImageMissing, Operation::InspectImage, "ocsweep/run:1");
        assert_eq!(error.to_string(), "cannot use the image ocsweep/run:1: the image does not exist");
        assert_eq!(error.hint(), Some("run \"make setup\""));
    }
}
