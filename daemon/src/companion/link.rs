//! The hub's link to its companions: the loop that joins the broker, their sessions and approvals.
//!
//! - [`received`]: what comes from companions;
//! - [`window`]: what pairing has to do with it;
//! - [`telling`]: what companions are told without being asked;
//! - [`firmware`]: what they are told of releases.

mod firmware;
mod received;
mod telling;
mod window;

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use gatepost_link::{
    decision::PublicKey,
    envelope::MAX_FRAME,
    seal::SealSecret,
    session::Ends,
    topic::{self, PAIRING_FILTER, PairingTopics, Topics},
};
use rumqttc::{AsyncClient, ClientError, Packet, QoS, SubscribeReasonCode};
use tokio::{
    sync::{Notify, broadcast::error::RecvError, mpsc},
    task::JoinHandle,
    time::MissedTickBehavior,
};

use window::window_turns;

use super::{
    broker::Address,
    connection::Connection,
    logins::Logins,
    pairing::{Order, PairError, Window},
    register::{self, Companions},
    session::Session,
};
use crate::{
    approval::{Approvals, device::Device, presence::Presence},
    outbox::Outbox,
    updates::Updates,
};

/// Between attempts to reach a broker that is away.
const RECONNECT_INTERVAL: Duration = Duration::from_secs(1);
/// While nothing changes companions are told how the hub is this often: their clocks drift, and ours may be set.
const TELL_INTERVAL: Duration = Duration::from_secs(60);
/// Packets that may be on their way to the broker; more for each companion.
const MAX_IN_FLIGHT: usize = 64;
/// The largest MQTT packet: a frame, its topic, and room to see what is too large instead of breaking off.
const MAX_PACKET_BYTES: usize = 4 * MAX_FRAME;
/// Orders of people that wait; they give few.
const MAX_ORDERS: usize = 4;

/// The running link. Stops when dropped.
pub struct Link {
    serving: JoinHandle<()>,
    companions: Companions,
}

impl Link {
    /// The companions, for who looks after them.
    pub fn companions(&self) -> &Companions {
        &self.companions
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Starts serving these companions at the broker, for the hub with these keys. `logins` are those of the embedded one.
pub fn start(
    address: Address,
    hub: PublicKey,
    secret: SealSecret,
    devices: Vec<Device>,
    approvals: Approvals,
    updates: Updates,
    logins: Option<Logins>,
) -> Link {
    let (presence, changed) = (approvals.presence().clone(), Arc::<Notify>::default());
    let (order, orders) = mpsc::channel(MAX_ORDERS);
    let handle = Companions::new(approvals.clone(), Arc::clone(&changed), order);
    if let Some(logins) = &logins {
        logins.set(hub, &devices);
    }
    let mut serving = Serving {
        address,
        hub,
        secret,
        companions: HashMap::new(),
        outbox: approvals.outbox().clone(),
        approvals,
        updates,
        presence,
        changed,
        logins,
        orders,
        window: None,
    };
    for device in devices {
        serving.welcome(device);
    }
    Link { serving: tokio::spawn(serving.run()), companions: handle }
}

struct Companion {
    device: Device,
    topics: Topics,
    session: Session,
    firmware: firmware::Side,
}

impl Companion {
    fn listen(&self, client: &AsyncClient) -> Result<(), ClientError> {
        client.try_subscribe(self.topics.up.as_str(), QoS::AtLeastOnce)?;
        client.try_subscribe(self.topics.presence.as_str(), QoS::AtLeastOnce)
    }

    /// Hands over what is to be said to it.
    fn flush(&mut self, client: &AsyncClient) -> Result<(), ClientError> {
        self.publish(client)?;
        // All that concerns cards has gone.
        if self.firmware.say_block(&mut self.session, Instant::now()) {
            self.publish(client)?;
        }
        Ok(())
    }

    fn publish(&mut self, client: &AsyncClient) -> Result<(), ClientError> {
        while let Some(payload) = self.session.next_payload() {
            // An acknowledgement would say that the broker has it; the session numbers its frames itself.
            client.try_publish(self.topics.down.as_str(), QoS::AtMostOnce, false, payload)?;
        }
        Ok(())
    }

    /// When it has something to do without being told anything.
    fn next_tick(&self) -> Option<Instant> {
        self.session.next_tick().into_iter().chain(self.firmware.next_at()).min()
    }
}

struct Serving {
    address: Address,
    hub: PublicKey,
    secret: SealSecret,
    companions: HashMap<String, Companion>,
    approvals: Approvals,
    updates: Updates,
    outbox: Outbox,
    presence: Presence,
    /// The register has changed.
    changed: Arc<Notify>,
    logins: Option<Logins>,
    orders: mpsc::Receiver<Order>,
    /// A companion is being paired.
    window: Option<Window>,
}

impl Serving {
    async fn run(mut self) {
        loop {
            let mut options = self.address.options(format!("gatepost-hub-{}", topic::name(self.hub)));
            options.set_max_packet_size(MAX_PACKET_BYTES, MAX_PACKET_BYTES);
            let (presence, in_flight) = (self.presence.clone(), MAX_IN_FLIGHT + 16 * self.companions.len());
            let ended = Box::new(move |why| presence.broker_is(Some(why)));
            let mut connection = Connection::open(&self.address, options, in_flight, ended);
            self.serve(&mut connection).await;
            drop(connection);
            // Nothing is said into the void: frames that pile up while the broker is away help nobody later.
            for companion in self.companions.values_mut() {
                companion.session.close();
                companion.firmware = firmware::Side::default();
            }
            self.presence.all_gone();
            if let Some(window) = &mut self.window {
                window.end(PairError::Broken);
            }
            self.shut_window().await;
            tokio::time::sleep(RECONNECT_INTERVAL).await;
        }
    }

    /// Serves the companions on a connection until that breaks.
    async fn serve(&mut self, connection: &mut Connection) {
        let mut changes = self.outbox.changes();
        let (changed, updates) = (Arc::clone(&self.changed), self.updates.clone());
        let mut anew = tokio::time::interval(TELL_INTERVAL);
        anew.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let probe = self.companions.values().filter_map(Companion::next_tick).min();
            tokio::select! {
                packet = connection.packets.recv() => match packet {
                    None => return,
                    Some(Packet::ConnAck(_)) => {
                        // With nobody to hear, nothing is subscribed that could be refused.
                        if self.companions.is_empty() {
                            self.presence.broker_is(None);
                        }
                        if let Err(error) = self.subscribe(&connection.client) {
                            tracing::warn!(%error, "cannot subscribe at the MQTT broker");
                            return;
                        }
                    }
                    Some(Packet::SubAck(ack))
                        if ack.return_codes.contains(&SubscribeReasonCode::Failure) =>
                    {
                        let why = "the broker refuses the hub's subscription: check its access rules";
                        self.presence.broker_is(Some(why.into()));
                        return;
                    }
                    Some(Packet::SubAck(_)) => self.presence.broker_is(None),
                    Some(Packet::Publish(publish)) => self.received(&publish).await,
                    Some(_) => {}
                },
                change = changes.recv() => match change {
                    // Missed changes make no difference: what waits is read anew.
                    Ok(_) | Err(RecvError::Lagged(_)) => {
                        while changes.try_recv().is_ok() {}
                        self.update().await;
                    }
                    Err(RecvError::Closed) => return,
                },
                () = changed.notified() => {
                    if let Err(error) = self.look_up(&connection.client).await {
                        tracing::warn!(%error, "the MQTT broker takes no more requests");
                        return;
                    }
                    self.update().await;
                }
                () = updates.changed() => self.offer_firmware().await,
                Some(order) = self.orders.recv() => {
                    if let Err(error) = self.order(&connection.client, order).await {
                        tracing::warn!(%error, "the MQTT broker takes no more requests");
                        return;
                    }
                }
                () = window_turns(self.window.as_mut()) => {
                    if let Some(window) = &mut self.window {
                        window.tick(Instant::now());
                    }
                }
                () = sleep_until(probe) => {
                    let now = Instant::now();
                    self.companions.values_mut().for_each(|companion| companion.session.tick(now));
                }
                _ = anew.tick() => {
                    self.update().await;
                    self.offer_firmware().await;
                    register::keep(&self.presence, self.outbox.store()).await;
                }
            }
            if let Err(error) = self.flush(&connection.client) {
                tracing::warn!(%error, "the MQTT broker takes no more frames");
                return;
            }
            if self.window.as_ref().is_some_and(Window::is_over) {
                self.shut_window().await;
                if let Err(error) = connection.client.try_unsubscribe(PAIRING_FILTER) {
                    tracing::warn!(%error, "the MQTT broker takes no more requests");
                    return;
                }
            }
        }
    }

    /// Brings the link up to date with the register: hears who is new, and nobody who is revoked.
    async fn look_up(&mut self, client: &AsyncClient) -> Result<(), ClientError> {
        let devices = match self.approvals.devices().await {
            Ok(devices) => devices,
            Err(error) => {
                // Whoever is revoked decides nothing meanwhile: that is asked with every decision.
                tracing::error!(%error, "cannot read which companions may decide; looking again");
                tokio::time::sleep(RECONNECT_INTERVAL).await;
                self.changed.notify_one();
                return Ok(());
            }
        };
        if let Some(logins) = &self.logins {
            logins.set(self.hub, &devices);
        }
        let stays = |companion: &Companion| devices.iter().any(|device| device.key == companion.device.key);
        for (_, companion) in self.companions.extract_if(|_, companion| !stays(companion)) {
            self.presence.forget(companion.device.key);
            dismiss(companion, client)?;
        }
        for device in devices {
            let known = self.companions.values().any(|companion| companion.device.key == device.key);
            let companion = self.welcome(device);
            if !known {
                companion.listen(client)?;
            }
        }
        Ok(())
    }

    /// Takes a companion in, or its new name.
    fn welcome(&mut self, device: Device) -> &mut Companion {
        self.presence.expect(device.key);
        let topics = Topics::new(self.hub, device.key);
        let ends = Ends::new(self.hub, device.key);
        let companion = self.companions.entry(topics.up.as_str().to_owned()).or_insert_with(|| Companion {
            session: Session::new(ends, self.secret.clone(), device.seal, device.version),
            device: device.clone(),
            topics,
            firmware: firmware::Side::default(),
        });
        companion.device = device;
        companion
    }

    fn subscribe(&mut self, client: &AsyncClient) -> Result<(), ClientError> {
        for companion in self.companions.values_mut() {
            companion.listen(client)?;
            // A companion that stayed connected while the hub was away knows of no reason for a new session.
            companion.session.greet(Instant::now());
        }
        Ok(())
    }

    /// An offer is made once in a session, so a frame for which there is no room ends the connection, and with it
    /// every session.
    fn flush(&mut self, client: &AsyncClient) -> Result<(), ClientError> {
        while let Some((attempt, payload)) = self.window.as_mut().and_then(Window::next_payload) {
            let topics = PairingTopics::new(attempt);
            client.try_publish(topics.down.as_str(), QoS::AtMostOnce, false, payload)?;
        }
        self.companions.values_mut().try_for_each(|companion| companion.flush(client))
    }
}

/// Returns at this time; never without one.
async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

/// Lets go of a companion that may not decide any more: it is told to forget the hub, then nothing more is heard of it.
fn dismiss(mut companion: Companion, client: &AsyncClient) -> Result<(), ClientError> {
    tracing::info!(companion = companion.device.name, "a companion may not decide any more");
    companion.session.revoke();
    // What it is told last belongs here.
    companion.flush(client)?;
    client.try_unsubscribe(companion.topics.up.as_str())?;
    client.try_unsubscribe(companion.topics.presence.as_str())
}
