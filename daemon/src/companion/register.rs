//! The companions, as the hub's owner looks after them.
//!
//! The register ([`crate::approval::registry`]) decides; the running link is told after every change and looks itself, so
//! that a call which comes twice, or is lost, changes nothing about who is heard.

use std::sync::Arc;

use tokio::sync::{Notify, mpsc, oneshot};

use super::pairing::{Order, PairError, Shown};
use crate::{
    approval::{
        Approvals,
        availability::Unable,
        device::{self, Device},
        presence::Presence,
        registry::{self, DeviceError, Registered},
    },
    store::{Store, StoreError},
};

/// A companion, and whether it is here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// As it stands in the register.
    pub device: Registered,
    /// Whether it is connected now, as the broker says.
    pub online: bool,
    /// Why nobody can be asked at it now, if it is not revoked.
    pub unable: Option<Unable>,
}

/// A handle on the companions. Clones share it.
#[derive(Clone)]
pub struct Companions {
    approvals: Approvals,
    changed: Arc<Notify>,
    orders: mpsc::Sender<Order>,
}

/// A companion that was revoked, and what that leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revoked {
    /// As it stands in the register.
    pub device: Registered,
    /// Messages that still wait, and that it had approved: its word does not count any more.
    pub withdrawn: usize,
    /// Companions that may decide now.
    pub left: usize,
}

/// Writes down who came and went.
pub(super) async fn keep(presence: &Presence, store: &Store) {
    let unsaved = presence.take_unsaved();
    if !unsaved.is_empty()
        && let Err(error) = registry::seen(store, unsaved).await
    {
        tracing::error!(%error, "cannot write down when companions were seen");
    }
}

impl Companions {
    /// The companions whose link waits for `changed` and takes `orders`.
    pub(super) fn new(approvals: Approvals, changed: Arc<Notify>, orders: mpsc::Sender<Order>) -> Self {
        Self { approvals, changed, orders }
    }

    fn store(&self) -> &Store {
        self.approvals.outbox().store()
    }

    /// Who is here.
    pub fn presence(&self) -> &Presence {
        self.approvals.presence()
    }

    /// Writes down who came and went: the hub stops.
    pub async fn keep(&self) {
        keep(self.presence(), self.store()).await;
    }

    /// All that were ever registered: those that may decide first, then those that were revoked.
    pub async fn list(&self) -> Result<Vec<Listed>, StoreError> {
        let devices = registry::list(self.store()).await?.into_iter();
        let listed = devices.map(|mut device| {
            device.seen_at = device.seen_at.max(self.presence().seen_at(device.key));
            let unable = self.approvals.unable(&device).filter(|_| device.revoked_at.is_none());
            Listed { online: self.presence().is_online(device.key), unable, device }
        });
        Ok(listed.collect())
    }

    /// Takes one in, from now on.
    pub async fn add(&self, device: Device) -> Result<(), DeviceError> {
        device::register(self.store(), device).await?;
        self.changed.notify_one();
        Ok(())
    }

    /// Opens a window in which one can be paired, and waits for it: what to compare with what it shows.
    pub async fn pair(&self) -> Result<Shown, PairError> {
        self.order(Order::Open).await
    }

    /// Answers what was shown: whether the device shows the same number. Waits until the person there has confirmed it
    /// too, and the device is registered.
    pub async fn answer(&self, code: u32, same: bool, name: Option<String>) -> Result<Device, PairError> {
        self.order(|reply| Order::Answer { code, same, name, reply }).await
    }

    async fn order<T>(
        &self,
        order: impl FnOnce(oneshot::Sender<Result<T, PairError>>) -> Order,
    ) -> Result<T, PairError> {
        let (reply, answer) = oneshot::channel();
        self.orders.send(order(reply)).await.map_err(|_| PairError::Broken)?;
        answer.await.unwrap_or(Err(PairError::Broken))
    }

    /// Gives one another name.
    pub async fn rename(&self, which: &str, name: &str, by: &str) -> Result<Registered, DeviceError> {
        let device = registry::rename(self.store(), which, name, by).await?;
        self.changed.notify_one();
        Ok(device)
    }

    /// Takes the right to decide from one, and drops it from the link.
    pub async fn revoke(&self, which: &str, by: &str) -> Result<Revoked, DeviceError> {
        let registry::Revoked { device, withdrawn } = registry::revoke(self.store(), which, by).await?;
        self.changed.notify_one();
        for &message in &withdrawn {
            self.approvals.outbox().changed(message);
        }
        let left = self.approvals.devices().await?.len();
        Ok(Revoked { device, withdrawn: withdrawn.len(), left })
    }
}
