//! Somebody at the broker who is not the companion, but has its password; and somebody who has its keys as well.
//!
//! The design trusts the broker with nothing, so a test of it has to lie like one.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use anyhow::{Context as _, Result};
use ed25519_dalek::SigningKey;
use gatepost::random;
use gatepost_companion::{
    Bond, Keys, Millis,
    session::{HubSession, Received},
};
use gatepost_link::{
    decision::{Decision, PublicKey},
    envelope::{MAX_FRAME, VERSION},
    frame::{self, Up},
    seal::Random,
    session::{Ends, SessionHash},
    topic::Topics,
};
use rumqttc::{AsyncClient, Event, EventLoop, MqttOptions, Packet, QoS};
use tokio::task::JoinHandle;

use super::eventually;

/// A connection to the broker on `port` of this machine, and what it has said and been told.
struct Transport {
    client: AsyncClient,
    task: JoinHandle<()>,
}

impl Drop for Transport {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Transport {
    fn connect(port: u16, login: (&str, &str)) -> (AsyncClient, EventLoop) {
        let mut options = MqttOptions::new(random::hex::<8>(), "127.0.0.1", port);
        options.set_credentials(login.0, login.1);
        // Room for all that somebody has to say at once.
        AsyncClient::new(options, 2_048)
    }

    fn publish(&self, topic: &str, payload: &[u8]) -> Result<()> {
        self.client.try_publish(topic, QoS::AtLeastOnce, false, payload).context("speaking up")
    }
}

/// What was said where, in its order.
type Said = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// Hears everything between a hub and a companion, and may say anything to either.
pub struct Eavesdropper {
    transport: Transport,
    topics: Topics,
    heard: Said,
}

impl Eavesdropper {
    /// Connects to the broker on `port` of this machine and listens to both directions.
    ///
    /// # Errors
    /// The broker did not let it.
    pub fn listen(port: u16, login: (&str, &str), hub: PublicKey, device: PublicKey) -> Result<Self> {
        let (client, mut events) = Transport::connect(port, login);
        let topics = Topics::new(hub, device);
        for topic in [&topics.up, &topics.down] {
            client.try_subscribe(topic.as_str(), QoS::AtLeastOnce)?;
        }
        let heard = Said::default();
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
        let transport = Transport { client, task };
        eventually("the broker lets somebody listen", || Ok((*lock(&granted) == 2).then_some(())))?;
        Ok(Self { transport, topics, heard })
    }

    /// Says something to the hub in the companion's name.
    ///
    /// # Errors
    /// The client's queue is full.
    pub fn say_up(&self, payload: &[u8]) -> Result<()> {
        self.transport.publish(&self.topics.up, payload)
    }

    /// Says something to the companion in the hub's name.
    ///
    /// # Errors
    /// The client's queue is full.
    pub fn say_down(&self, payload: &[u8]) -> Result<()> {
        self.transport.publish(&self.topics.down, payload)
    }

    /// All that was said to the hub, by anybody.
    pub fn up(&self) -> Vec<Vec<u8>> {
        self.on(&self.topics.up)
    }

    /// All that was said to the companion, by anybody.
    pub fn down(&self) -> Vec<Vec<u8>> {
        self.on(&self.topics.down)
    }

    fn on(&self, topic: &str) -> Vec<Vec<u8>> {
        lock(&self.heard).iter().filter(|(on, _)| on == topic).map(|(_, payload)| payload.clone()).collect()
    }
}

/// The operating system's randomness.
pub(super) struct System;

impl Random for System {
    fn fill(&mut self, bytes: &mut [u8]) {
        bytes.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&random::bytes::<8>()[..chunk.len()]));
    }
}

/// Has a companion's keys, and opens a session with them: a clone, or a thief.
pub struct Impostor {
    transport: Transport,
    topics: Topics,
    state: Arc<Mutex<State>>,
}

struct State {
    device_session: HubSession,
    version: u8,
    start: Instant,
    session: Option<SessionHash>,
    frames: Vec<Vec<u8>>,
}

impl Impostor {
    /// Connects to the broker on `port` of this machine and opens a session.
    ///
    /// # Errors
    /// The broker did not let it, or the hub answered nothing.
    pub fn connect(port: u16, bond: &Bond, keys: &Keys) -> Result<Self> {
        Self::speaking(VERSION, port, bond, keys)
    }

    /// The same, as firmware that speaks this version of the link.
    ///
    /// # Errors
    /// The broker did not let it, or the hub answered nothing.
    pub fn speaking(version: u8, port: u16, bond: &Bond, keys: &Keys) -> Result<Self> {
        let device = PublicKey(SigningKey::from_bytes(&keys.sign).verifying_key().to_bytes());
        let topics = Topics::new(bond.hub, device);
        let (client, mut events) = Transport::connect(port, (&bond.user, &bond.password));
        client.try_subscribe(topics.down.as_str(), QoS::AtLeastOnce)?;
        let ends = Ends { version, ..Ends::new(bond.hub, device) };
        let device_session = HubSession::new(ends, keys.seal.clone(), bond.seal);
        let state =
            State { device_session, version, start: Instant::now(), session: None, frames: Vec::new() };
        let state = Arc::new(Mutex::new(state));
        let (shared, speaker, up) = (Arc::clone(&state), client.clone(), topics.up.clone());
        let task = tokio::spawn(async move {
            while let Ok(event) = events.poll().await {
                // Locked until it is said: what a test says next comes after it.
                let mut state = lock(&shared);
                let said = match event {
                    Event::Incoming(Packet::SubAck(_)) => state.begin(),
                    Event::Incoming(Packet::Publish(publish)) => state.hear(&publish.payload),
                    _ => None,
                };
                if let Some(payload) = said {
                    // A queue that is full is the test's to notice.
                    let _ = speaker.try_publish(up.as_str(), QoS::AtLeastOnce, false, payload);
                }
            }
        });
        let impostor = Self { transport: Transport { client, task }, topics, state };
        eventually("the hub opens a session", || {
            let again = lock(&impostor.state).open();
            again.iter().try_for_each(|payload| impostor.transport.publish(&impostor.topics.up, payload))?;
            Ok(impostor.session().ok())
        })?;
        Ok(impostor)
    }

    /// Its session.
    ///
    /// # Errors
    /// There is none.
    pub fn session(&self) -> Result<SessionHash> {
        lock(&self.state).session.context("there is no session")
    }

    /// Says something in its session.
    ///
    /// # Errors
    /// There is none, or the client's queue is full.
    pub fn say(&self, up: &Up) -> Result<()> {
        let payload = lock(&self.state).device_session.seal(up).context("there is no session")?;
        self.transport.publish(&self.topics.up, &payload)
    }

    /// Says that this was decided.
    ///
    /// # Errors
    /// There is no session, or the client's queue is full.
    pub fn say_decision(&self, decision: Decision) -> Result<()> {
        self.say(&Up::Decision(decision))
    }

    /// Its session's frames so far, each as somebody makes of it what is wanted.
    pub fn heard<T>(&self, wanted: impl Fn(frame::Down<'_>) -> Option<T>) -> Vec<T> {
        let state = lock(&self.state);
        state.frames.iter().filter_map(|bytes| frame::decode(bytes).ok().and_then(&wanted)).collect()
    }

    /// How many frames of its session were of this kind.
    pub fn frames(&self, wanted: impl Fn(&frame::Down<'_>) -> bool) -> usize {
        let state = lock(&self.state);
        state.frames.iter().filter(|bytes| frame::decode(bytes).is_ok_and(|frame| wanted(&frame))).count()
    }
}

impl State {
    fn now(&self) -> Millis {
        Millis(u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    fn begin(&mut self) -> Option<Vec<u8>> {
        self.device_session.connected(self.now(), &mut System);
        self.open()
    }

    /// Asks for a session, if it is time to.
    fn open(&mut self) -> Option<Vec<u8>> {
        self.device_session.handshake_message(self.now()).map(|payload| payload.to_vec())
    }

    fn hear(&mut self, payload: &[u8]) -> Option<Vec<u8>> {
        let (now, mut plain) = (self.now(), [0; MAX_FRAME]);
        match self.device_session.received(now, payload, self.version, &mut plain, &mut System) {
            Received::Opened(session) => {
                self.session = Some(session);
                self.device_session.seal(&Up::Ready).map(|payload| payload.to_vec())
            }
            Received::Frame(text) => {
                self.frames.push(text.to_vec());
                None
            }
            // It does not fight for its session.
            Received::Lost => {
                self.session = None;
                None
            }
            Received::Duplicate | Received::Ignored => None,
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
