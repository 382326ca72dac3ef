//! Somebody at the broker who is not the companion, but has its password.
//!
//! The design trusts the broker with nothing, so a test of it has to lie like one.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use gatepost_link::{
    decision::{Decision, PublicKey},
    frame::{self, Down, MAX_FRAME, Offer, Up},
    topic::Topics,
};
use rumqttc::{AsyncClient, Event, MqttOptions, Packet, QoS};
use tokio::task::JoinHandle;

use super::eventually;

type Heard = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// Hears everything between a hub and a companion, and may speak as the companion.
pub struct Eavesdropper {
    client: AsyncClient,
    topics: Topics,
    heard: Heard,
    task: JoinHandle<()>,
}

impl Eavesdropper {
    /// Connects to the broker on `port` of this machine and listens to both directions.
    ///
    /// # Errors
    /// The broker did not let it.
    pub fn listen(port: u16, login: (&str, &str), hub: PublicKey, device: PublicKey) -> Result<Self> {
        let mut options = MqttOptions::new("eavesdropper", "127.0.0.1", port);
        options.set_credentials(login.0, login.1);
        let (client, mut events) = AsyncClient::new(options, 64);
        let topics = Topics::new(hub, device);
        for topic in [&topics.up, &topics.down] {
            client.try_subscribe(topic.as_str(), QoS::AtLeastOnce)?;
        }
        let heard = Heard::default();
        let granted = Arc::new(Mutex::new(0));
        let (into, count) = (Arc::clone(&heard), Arc::clone(&granted));
        let task = tokio::spawn(async move {
            while let Ok(event) = events.poll().await {
                match event {
                    Event::Incoming(Packet::SubAck(_)) => *lock(&count) += 1,
                    Event::Incoming(Packet::Publish(publish)) => {
                        lock(&into).push((publish.topic, publish.payload.to_vec()));
                    }
                    _ => {}
                }
            }
        });
        eventually("the broker lets somebody listen", || Ok((*lock(&granted) == 2).then_some(())))?;
        Ok(Self { client, topics, heard, task })
    }

    /// Says something in the companion's name.
    ///
    /// # Errors
    /// The client's queue is full.
    pub fn say(&self, frame: &[u8]) -> Result<()> {
        self.client
            .try_publish(self.topics.up.as_str(), QoS::AtLeastOnce, false, frame)
            .context("speaking up")
    }

    /// Says that this was decided, in the companion's name.
    ///
    /// # Errors
    /// The client's queue is full.
    pub fn say_decision(&self, decision: Decision) -> Result<()> {
        let mut buffer = [0; MAX_FRAME];
        let bytes = frame::encode(&Up::Decision(decision), &mut buffer)
            .map_err(|error| anyhow::anyhow!("{error}"))?;
        self.say(bytes)
    }

    /// The last decision that the companion gave.
    ///
    /// # Errors
    /// None was heard.
    pub fn decision(&self) -> Result<Decision> {
        self.last(&self.topics.up, "a decision", |bytes| match frame::decode(bytes) {
            Ok(Up::Decision(decision)) => Some(decision),
            _ => None,
        })
    }

    /// The last offer that the hub made.
    ///
    /// # Errors
    /// None was heard.
    pub fn offer(&self) -> Result<Offer> {
        self.last(&self.topics.down, "an offer", offer)
    }

    /// How many offers the hub made.
    pub fn offers(&self) -> usize {
        lock(&self.heard)
            .iter()
            .filter(|(topic, bytes)| *topic == *self.topics.down && offer(bytes).is_some())
            .count()
    }

    /// How many frames the hub sent.
    pub fn frames_from_the_hub(&self) -> usize {
        lock(&self.heard).iter().filter(|(topic, _)| *topic == *self.topics.down).count()
    }

    fn last<T>(&self, topic: &str, what: &str, read: impl Fn(&[u8]) -> Option<T>) -> Result<T> {
        eventually(what, || {
            let heard = lock(&self.heard);
            Ok(heard.iter().rev().filter(|(on, _)| on == topic).find_map(|(_, bytes)| read(bytes)))
        })
    }
}

impl Drop for Eavesdropper {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn offer(bytes: &[u8]) -> Option<Offer> {
    match frame::decode(bytes) {
        Ok(Down::Offer(offer)) => Some(offer),
        _ => None,
    }
}

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
