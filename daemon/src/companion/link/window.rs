//! What a window for pairing has to do with the link: people's orders, what a device says, its login, the audit.

use std::time::Instant;

use gatepost_link::topic::{PAIRING_FILTER, PairingTopics};
use rumqttc::{AsyncClient, ClientError, Publish, QoS};
use serde_json::json;

use super::Serving;
use crate::{
    approval::{device, registry},
    audit::Event,
    companion::pairing::{Order, PairError, Window},
};

impl Serving {
    /// Does what a person at the hub wants.
    pub(super) async fn order(&mut self, client: &AsyncClient, order: Order) -> Result<(), ClientError> {
        let now = Instant::now();
        match order {
            Order::Open(reply) if self.window.is_some() => drop(reply.send(Err(PairError::Busy))),
            Order::Open(reply) => {
                client.try_subscribe(PAIRING_FILTER, QoS::AtLeastOnce)?;
                if let Some(logins) = &self.logins {
                    logins.pairing(true);
                }
                let (keys, own) = ((self.hub, self.secret.clone()), self.logins.is_some());
                self.window = Some(Window::open(now, keys, self.approvals.takes_programs(), own, reply));
            }
            Order::Answer { code, same, name, reply } => {
                let shown = self.window.as_mut().and_then(|window| Some((window.shows(code)?, window)));
                let Some((device, window)) = shown else {
                    drop(reply.send(Err(PairError::Unknown)));
                    return Ok(());
                };
                if !same {
                    window.answer(reply);
                    window.end(PairError::Refused);
                    return Ok(());
                }
                match registry::vacant(self.outbox.store(), device, name).await {
                    Ok(name) => window.give(now, name, reply),
                    Err(error) => {
                        window.answer(reply);
                        window.end(error.into());
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes a message of a device that is being paired.
    pub(super) async fn pair(&mut self, publish: &Publish) {
        let attempt = PairingTopics::attempt(&publish.topic);
        let Some((attempt, window)) = attempt.zip(self.window.as_mut()) else { return };
        let Some(device) = window.received(Instant::now(), attempt, &publish.payload) else { return };
        let registered = device::register(self.outbox.store(), device.clone()).await;
        // Before the device is told: it connects at once with its new login.
        if registered.is_ok() {
            self.refresh_logins().await;
            self.changed.notify_one();
        }
        if let Some(window) = &mut self.window {
            window.registered(registered.map(|()| device));
        }
    }

    async fn refresh_logins(&self) {
        let Some(logins) = &self.logins else { return };
        match self.approvals.devices().await {
            Ok(devices) => logins.set(self.hub, &devices),
            Err(error) => tracing::error!(%error, "cannot read which companions may decide"),
        }
    }

    /// Closes the window, and writes a failure into the audit.
    pub(super) async fn shut_window(&mut self) {
        let Some(window) = self.window.take() else { return };
        if let Some(logins) = &self.logins {
            logins.pairing(false);
        }
        if let Some(why) = window.failed() {
            self.write(Event::PairingFailed, json!({"why": why})).await;
        }
    }
}

/// Returns when a window has something to do; never without one.
pub(super) async fn window_turns(window: Option<&mut Window>) {
    match window {
        Some(window) => {
            let next = window.next_tick().into();
            tokio::select! {
                () = tokio::time::sleep_until(next) => {}
                () = window.left() => {}
            }
        }
        None => std::future::pending().await,
    }
}
