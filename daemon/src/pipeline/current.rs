//! Which configuration holds now.
//!
//! A [`Pipeline`] has one configuration for as long as it lives. Whoever takes a call, or a message from the queue, asks
//! here for the pipeline of that moment and keeps it until the call or the attempt has ended: nothing is judged by one
//! configuration and sent by another. Replacing it is one step, so that there is no moment with half of each.

use std::sync::Arc;

use tokio::sync::watch;

use super::Pipeline;

/// The pipeline with the configuration that holds now. Clones share it.
#[derive(Clone)]
pub struct Current(Arc<Shared>);

struct Shared {
    pipeline: watch::Sender<Pipeline>,
    stops: watch::Sender<bool>,
}

impl Current {
    /// Begins with this one.
    pub fn new(pipeline: Pipeline) -> Self {
        Self(Arc::new(Shared { pipeline: watch::Sender::new(pipeline), stops: watch::Sender::new(false) }))
    }

    /// The pipeline of this moment.
    pub fn pipeline(&self) -> Pipeline {
        self.0.pipeline.borrow().clone()
    }

    /// From here on this one holds. What was begun with another ends with that.
    pub fn replace(&self, pipeline: Pipeline) {
        self.0.pipeline.send_replace(pipeline);
    }

    /// Who waits at this is told of every configuration from here on.
    pub(crate) fn replacements(&self) -> watch::Receiver<Pipeline> {
        self.0.pipeline.subscribe()
    }

    /// Waits until another configuration holds.
    pub async fn changed(&self) {
        // It ends with the sender, which `self` keeps.
        let _ = self.0.pipeline.subscribe().changed().await;
    }

    /// From here on the hub stops: nobody waits any longer for what comes slowly from outside.
    pub fn stop(&self) {
        self.0.stops.send_replace(true);
    }

    /// Waits until the hub stops.
    pub async fn stops(&self) {
        // As above.
        let _ = self.0.stops.subscribe().wait_for(|stops| *stops).await;
    }
}
