//! Containers: the only door to the container engine. Starts cases and commands in containers that are cut off and bounded, keeps cached
//! volumes, and removes whatever is left.
//!
//! It must never decide what to run or what a result means, and no type of the client library leaves it.

mod archive;
mod capture;
mod case;
mod copy;
mod engine;
mod error;
mod gc;
mod guard;
pub mod image;
mod labels;
mod plain;
mod presence;
mod reap;
mod spec;
mod volume;

pub use archive::Archive;
pub(crate) use capture::Capture;
pub use capture::Captured;
pub use case::{CaseEnd, Phases, Running, Waiting};
pub use engine::{ConnectOptions, Engine, EngineInfo, ImageId};
pub use error::{ContainerError, Kind, Operation};
pub use gc::CachedVolume;
pub use labels::Claim;
pub use plain::{PlainEnd, PlainExit};
pub use reap::Reaped;
pub use spec::{CaseSpec, FileMount, PlainSpec, TmpfsMount, VolumeMount};
pub use volume::{CacheKind, Contents, ScratchVolume, VolumeName};
