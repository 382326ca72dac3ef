//! Somebody who hears everything at a broker, and may say anything there.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use gatepost::random;
use rumqttc::{AsyncClient, Event, MqttOptions, Packet, QoS};
use tokio::task::JoinHandle;

use super::Mosquitto;
use crate::hub::eventually;

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Where.
    pub topic: String,
    /// What.
    pub payload: String,
    /// Whether it was kept from before.
    pub retained: bool,
}

/// A connection that hears everything.
pub struct Overheard {
    client: AsyncClient,
    said: Arc<Mutex<Vec<Said>>>,
    task: JoinHandle<()>,
}

impl Drop for Overheard {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Overheard {
    /// Listens at this broker, with the login of Home Assistant, which may hear and say all.
    ///
    /// # Errors
    /// The broker did not let it.
    pub fn at(broker: &Mosquitto) -> Result<Self> {
        let login = broker.home_assistant_credentials();
        let mut options = MqttOptions::new(random::hex::<8>(), "127.0.0.1", broker.port());
        options.set_credentials(login.username, login.password);
        let (client, mut events) = AsyncClient::new(options, 64);
        client.try_subscribe("#", QoS::AtLeastOnce)?;
        let (said, granted) = (Arc::<Mutex<Vec<Said>>>::default(), Arc::new(Mutex::new(false)));
        let (into, grant) = (Arc::clone(&said), Arc::clone(&granted));
        let task = tokio::spawn(async move {
            while let Ok(event) = events.poll().await {
                match event {
                    Event::Incoming(Packet::SubAck(_)) => {
                        *grant.lock().unwrap_or_else(PoisonError::into_inner) = true
                    }
                    Event::Incoming(Packet::Publish(publish)) => {
                        let payload = String::from_utf8_lossy(&publish.payload).into_owned();
                        let one = Said { topic: publish.topic, payload, retained: publish.retain };
                        into.lock().unwrap_or_else(PoisonError::into_inner).push(one);
                    }
                    _ => {}
                }
            }
        });
        let listens = Self { client, said, task };
        eventually("the broker lets somebody listen", || {
            Ok(granted.lock().unwrap_or_else(PoisonError::into_inner).then_some(()))
        })?;
        Ok(listens)
    }

    /// All that was said so far.
    pub fn all(&self) -> Vec<Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What was said last in a topic that ends so, once it is as wanted.
    ///
    /// # Errors
    /// It was not said.
    pub fn last(&self, end: &str, wanted: impl Fn(&str) -> bool) -> Result<Said> {
        eventually(end, || {
            let last = self.all().into_iter().rev().find(|one| one.topic.ends_with(end));
            Ok(last.filter(|one| wanted(&one.payload)))
        })
        .with_context(|| format!("{:?}", self.all()))
    }

    /// Says something.
    ///
    /// # Errors
    /// The client's queue is full.
    pub fn say(&self, topic: &str, payload: &[u8], retained: bool) -> Result<()> {
        Ok(self.client.try_publish(topic, QoS::AtLeastOnce, retained, payload)?)
    }
}
