//! What people do where the app is, which Google Chat publishes to a topic of Cloud Pub/Sub, from which the hub pulls
//! (<https://developers.google.com/workspace/chat/quickstart/pub-sub>). So nothing at home need be reachable.
//!
//! What is pulled is told again until it is acknowledged, which it is once its row is on disk; a subscription keeps it for seven days. It
//! may come several times and in any order; each has a name by which the hub knows it. A pull waits until something comes, for about
//! ninety seconds, so an idle hub seldom wakes.
//!
//! - [`event`]: an event as what somebody did, read without asking anybody; [`answers`]: presses, choices and what was entered;
//! - [`pull`]: the requests to Pub/Sub; [`files`]: files, fetched at once; [`listen`]: the loop over all of it.

mod answers;
mod event;
mod files;
mod listen;
mod pull;
#[cfg(test)]
mod tests;

pub(super) use self::{
    listen::{Listener, Tempo},
    pull::Subscription,
};
use crate::channels::received::{Dropped, Received};

/// What an event tells, for tests with any bytes: what an account would hand over, without its files.
pub fn read(bytes: &[u8]) -> Result<Vec<Received>, Dropped> {
    Ok(event::read(bytes)?.into_iter().map(|draft| draft.received).collect())
}
