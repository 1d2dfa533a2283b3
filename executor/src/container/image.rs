//! Names of the images that cases and preparations run in. The set-up makes them; nothing here pulls or builds.

use ocsweep_proto::digest::Digest;

const RUN: &str = include_str!("../../images/run/Dockerfile");
const PREPARE: &str = include_str!("../../images/prepare/Dockerfile");

/// The image of a case: `ocsweep/run:<start of the digest of its recipe>`.
#[must_use]
pub fn run() -> String {
    format!("ocsweep/run:{}", Digest::of(RUN.as_bytes()).short())
}

/// The image of a preparation: the run image with node, npm and bun.
#[must_use]
pub fn prepare() -> String {
    format!("ocsweep/prepare:{}", Digest::of(PREPARE.as_bytes()).short())
}
