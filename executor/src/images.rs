//! The images that cases run in: the executor's own, and those that variants name. Each name is looked up once.
//!
//! It must never pull an image, and a name that is not there is told, not replaced.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ocsweep_proto::job::Overlay;

use crate::container::ContainerError;
use crate::isolation::Isolation;

/// Content ids of images.
#[derive(Debug, Default)]
pub struct Images {
    own: Option<String>,
    named: Mutex<BTreeMap<String, String>>,
}

impl Images {
    /// `own` is the content id of the executor's image; process isolation has none.
    #[must_use]
    pub fn new(own: Option<String>) -> Self {
        Self { own, named: Mutex::default() }
    }

    /// The image's content id as far as it is known.
    #[must_use]
    pub fn known(&self, overlay: &Overlay) -> Option<String> {
        match &overlay.image {
            Some(name) => self.lock().get(name).cloned(),
            None => self.own.clone(),
        }
    }

    /// The content id of the image that a case runs in; empty where there are no images.
    ///
    /// # Errors
    /// When the engine does not have the image.
    pub async fn of(&self, engine: &Isolation, overlay: &Overlay) -> Result<String, ContainerError> {
        if let Some(id) = self.known(overlay) {
            return Ok(id);
        }
        let Some(name) = &overlay.image else { return Ok(String::new()) };
        let id = engine.image(name).await?;
        self.lock().insert(name.clone(), id.clone());
        Ok(id)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.named.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
