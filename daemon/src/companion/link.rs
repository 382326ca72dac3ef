//! The hub's connection to the broker, and the loop that joins companions' sessions and approvals.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use gatepost_link::{
    RequestId,
    decision::PublicKey,
    envelope::{MAX_FRAME, VERSION},
    frame::{Report, Withdrawal},
    seal::SealSecret,
    session::Ends,
    topic::{self, PAIRING_FILTER, PAIRING_PREFIX, PairingTopics, Topics},
};
use rumqttc::{AsyncClient, ClientError, Event, EventLoop, Packet, Publish, QoS, SubscribeReasonCode};
use serde_json::{Value, json};
use tokio::{
    sync::{Notify, broadcast::error::RecvError, mpsc},
    task::{AbortHandle, JoinHandle},
    time::MissedTickBehavior,
};

use super::{
    broker::Address,
    logins::Logins,
    pairing::{Order, PairError, Window},
    presence::Presence,
    register::{self, Companions},
    sealed::Fault,
    session::{Asked, Session},
    tls,
};
use crate::{
    approval::{
        Approvals, Waiting,
        decide::{DecisionError, Outcome},
        device::{self, Device},
        registry,
    },
    audit::{self, Entry},
    clock,
    message::state::State,
    outbox::{Outbox, Totals},
    random::to_hex,
    store::{StoreError, now_ms},
};

/// Between attempts to reach a broker that is away.
const RECONNECT: Duration = Duration::from_secs(1);
/// While nothing changes companions are told how the hub is this often: their clocks drift, and ours may be set.
const TELL_ANEW: Duration = Duration::from_secs(60);
/// MQTT's keep-alive.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// Orders of people that wait; they give few.
const ORDERS: usize = 4;
/// Packets that may be on their way from or to the broker; more for each companion.
const IN_FLIGHT: usize = 64;
/// The largest MQTT packet: a frame, its topic, and room to see what is too large instead of breaking off.
const MAX_PACKET: usize = 4 * MAX_FRAME;

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
    logins: Option<Logins>,
) -> Link {
    let (presence, changed) = (Presence::default(), Arc::<Notify>::default());
    let (order, orders) = mpsc::channel(ORDERS);
    let handle = Companions::new(approvals.clone(), presence.clone(), Arc::clone(&changed), order);
    if let Some(logins) = &logins {
        logins.set(&devices);
    }
    let mut serving = Serving {
        address,
        hub,
        secret,
        companions: HashMap::new(),
        outbox: approvals.outbox().clone(),
        approvals,
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
}

struct Serving {
    address: Address,
    hub: PublicKey,
    secret: SealSecret,
    companions: HashMap<String, Companion>,
    approvals: Approvals,
    outbox: Outbox,
    presence: Presence,
    /// The register has changed.
    changed: Arc<Notify>,
    logins: Option<Logins>,
    orders: mpsc::Receiver<Order>,
    /// A companion is being paired.
    window: Option<Window>,
}

/// One connection to the broker; dropping it closes the socket.
struct Connection {
    client: AsyncClient,
    /// Ends when the connection does.
    events: mpsc::Receiver<Packet>,
    pump: AbortHandle,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.pump.abort();
    }
}

/// Works the socket until it breaks. On a task of its own: what the hub does meanwhile must not interrupt it.
async fn pump(mut events: EventLoop, packets: mpsc::Sender<Packet>, broker: Address, presence: Presence) {
    loop {
        match events.poll().await {
            Ok(Event::Incoming(packet)) => {
                if packets.send(packet).await.is_err() {
                    return;
                }
            }
            Ok(Event::Outgoing(_)) => {}
            Err(error) => {
                let why = tls::explain(&error, &broker);
                // Once, and not with every attempt of a night.
                if presence.note_broker(Some(why.clone())) {
                    tracing::warn!(why, "the MQTT broker is away");
                }
                return;
            }
        }
    }
}

impl Serving {
    async fn run(mut self) {
        loop {
            let mut connection = self.connect();
            self.serve(&mut connection).await;
            drop(connection);
            // Nothing is said into the void: frames that pile up while the broker is away help nobody later.
            self.companions.values_mut().for_each(|companion| companion.session.close());
            self.presence.all_gone();
            if let Some(window) = &mut self.window {
                window.end(PairError::Broken);
            }
            self.shut_window().await;
            tokio::time::sleep(RECONNECT).await;
        }
    }

    fn connect(&self) -> Connection {
        let name = format!("gatepost-hub-{}", topic::name(self.hub));
        let mut options = self.address.options(name);
        options.set_keep_alive(KEEP_ALIVE);
        options.set_max_packet_size(MAX_PACKET, MAX_PACKET);
        let capacity = IN_FLIGHT + 16 * self.companions.len();
        let (client, events) = AsyncClient::new(options, capacity);
        let (packets, received) = mpsc::channel(IN_FLIGHT);
        let pump = pump(events, packets, self.address.clone(), self.presence.clone());
        Connection { client, events: received, pump: tokio::spawn(pump).abort_handle() }
    }

    /// Serves the companions on a connection until that breaks.
    async fn serve(&mut self, connection: &mut Connection) {
        let mut changes = self.outbox.changes();
        let changed = Arc::clone(&self.changed);
        let mut anew = tokio::time::interval(TELL_ANEW);
        anew.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                packet = connection.events.recv() => match packet {
                    None => return,
                    Some(Packet::ConnAck(_)) => {
                        // With nobody to hear, nothing is subscribed that could be refused.
                        if self.companions.is_empty() {
                            self.broker_is(None);
                        }
                        if let Err(error) = self.subscribe(&connection.client) {
                            tracing::warn!(%error, "cannot subscribe at the MQTT broker");
                            return;
                        }
                    }
                    Some(Packet::SubAck(ack))
                        if ack.return_codes.contains(&SubscribeReasonCode::Failure) =>
                    {
                        self.broker_is(Some("the broker refuses the hub's subscription: check its access rules"));
                        return;
                    }
                    Some(Packet::SubAck(_)) => self.broker_is(None),
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
                Some(order) = self.orders.recv() => {
                    if let Err(error) = self.order(&connection.client, order).await {
                        tracing::warn!(%error, "the MQTT broker takes no more requests");
                        return;
                    }
                }
                () = window_turns(self.window.as_ref()) => {
                    if let Some(window) = &mut self.window {
                        window.tick(Instant::now());
                    }
                }
                _ = anew.tick() => {
                    self.update().await;
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

    /// Does what a person at the hub wants.
    async fn order(&mut self, client: &AsyncClient, order: Order) -> Result<(), ClientError> {
        let now = Instant::now();
        match order {
            Order::Open(asked) if self.window.is_some() => drop(asked.send(Err(PairError::Busy))),
            Order::Open(asked) => {
                client.try_subscribe(PAIRING_FILTER, QoS::AtLeastOnce)?;
                if let Some(logins) = &self.logins {
                    logins.pairing(true);
                }
                let (keys, own) = ((self.hub, self.secret.clone()), self.logins.is_some());
                self.window = Some(Window::open(now, keys, self.approvals.takes_programs(), own, asked));
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

    /// Takes what a device says that is being paired.
    async fn pair(&mut self, publish: &Publish) {
        let attempt = PairingTopics::attempt(&publish.topic);
        let Some((attempt, window)) = attempt.zip(self.window.as_mut()) else { return };
        let Some(device) = window.received(Instant::now(), attempt, &publish.payload) else { return };
        let registered = device::register(self.outbox.store(), device.clone()).await;
        // Before the device is told: it comes at once.
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
            Ok(devices) => logins.set(&devices),
            Err(error) => tracing::error!(%error, "cannot read which companions may decide"),
        }
    }

    /// Nobody is paired any more; what went wrong is written down.
    async fn shut_window(&mut self) {
        let Some(window) = self.window.take() else { return };
        if let Some(logins) = &self.logins {
            logins.pairing(false);
        }
        if let Some(why) = window.failed() {
            self.write("pairing.failed", json!({"why": why})).await;
        }
    }

    /// The broker is here, or of no use for this reason. Said once, and not with every attempt of a night.
    fn broker_is(&self, away: Option<&str>) {
        match (self.presence.note_broker(away.map(str::to_owned)), away) {
            (true, None) => tracing::info!("the MQTT broker is here"),
            (true, Some(why)) => tracing::warn!(why, "the MQTT broker is away"),
            (false, _) => {}
        }
    }

    /// Brings the link up to date with the register: hears who is new, and nobody who is revoked.
    async fn look_up(&mut self, client: &AsyncClient) -> Result<(), ClientError> {
        let devices = match self.approvals.devices().await {
            Ok(devices) => devices,
            Err(error) => {
                // Whoever is revoked decides nothing meanwhile: that is asked with every decision.
                tracing::error!(%error, "cannot read which companions may decide; looking again");
                tokio::time::sleep(RECONNECT).await;
                self.changed.notify_one();
                return Ok(());
            }
        };
        if let Some(logins) = &self.logins {
            logins.set(&devices);
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
                client.try_subscribe(companion.topics.up.as_str(), QoS::AtLeastOnce)?;
                client.try_subscribe(companion.topics.presence.as_str(), QoS::AtLeastOnce)?;
            }
        }
        Ok(())
    }

    /// Takes a companion in, or its new name.
    fn welcome(&mut self, device: Device) -> &mut Companion {
        self.presence.expect(device.key);
        let topics = Topics::new(self.hub, device.key);
        let ends = Ends { hub: self.hub, device: device.key };
        let session = || Session::new(ends, self.secret.clone(), device.seal, device.version);
        let companion = self.companions.entry(topics.up.as_str().to_owned()).or_insert_with(|| Companion {
            session: session(),
            device: device.clone(),
            topics,
        });
        if companion.device.seal != device.seal {
            // Paired anew.
            companion.session = session();
        }
        companion.device = device;
        companion
    }

    fn subscribe(&mut self, client: &AsyncClient) -> Result<(), ClientError> {
        for companion in self.companions.values_mut() {
            client.try_subscribe(companion.topics.up.as_str(), QoS::AtLeastOnce)?;
            client.try_subscribe(companion.topics.presence.as_str(), QoS::AtLeastOnce)?;
            // A companion that stayed connected while the hub was away knows of no reason for a new session.
            companion.session.greet(Instant::now());
        }
        Ok(())
    }

    async fn received(&mut self, publish: &Publish) {
        if publish.topic.starts_with(PAIRING_PREFIX) {
            return self.pair(publish).await;
        }
        let Some(companion) = self.companions.get_mut(&publish.topic) else {
            let online = publish.payload == "1";
            tracing::debug!(topic = publish.topic, online, "presence");
            let here = |companion: &&mut Companion| companion.topics.presence.as_str() == publish.topic;
            if let Some(companion) = self.companions.values_mut().find(here) {
                self.presence.note(companion.device.key, online);
            }
            return;
        };
        let name = companion.device.name.clone();
        match companion.session.received(Instant::now(), &publish.payload) {
            Ok(Asked::Nothing) => {}
            Ok(Asked::Begun) => {
                tracing::info!(companion = name, "a companion is here");
                self.presence.note(companion.device.key, true);
                if companion.device.version < VERSION {
                    companion.device.version = VERSION;
                    let noted = device::spoke(self.outbox.store(), companion.device.key, VERSION).await;
                    if let Err(error) = noted {
                        tracing::error!(companion = name, %error, "cannot note which version a companion speaks");
                    }
                }
                // It may not have heard that its word counts, and is not asked again.
                match self.approvals.waiting().await {
                    Ok(waiting) => {
                        let voted = |waiting: &&Waiting| waiting.voted.contains(&companion.device.key);
                        let voted: Vec<RequestId> =
                            waiting.iter().filter(voted).map(|waiting| waiting.request).collect();
                        voted.into_iter().for_each(|request| companion.session.consumed(request));
                    }
                    Err(error) => tracing::error!(%error, "cannot read what waits"),
                }
                self.update().await;
            }
            Ok(Asked::Decide(session, decision)) => {
                let taken = self.approvals.decide(companion.device.key, session, decision).await;
                match taken {
                    Ok(Outcome::Consumed) => companion.session.consumed(decision.request),
                    Ok(Outcome::Over(state)) => {
                        companion.session.withdraw(decision.request, withdrawal(state));
                    }
                    // The hub's own trouble says nothing about the decision; the companion sends it again.
                    Err(DecisionError::Transition(error)) => {
                        tracing::error!(companion = name, %error, "a decision could not be written down");
                    }
                    Err(error) => {
                        tracing::warn!(companion = name, %error, "a decision was rejected");
                        companion.session.rejected(decision.request);
                        self.update().await;
                    }
                }
            }
            Ok(Asked::CannotShow(request, reason)) => {
                tracing::warn!(companion = name, %request, ?reason, "a companion cannot show a request");
            }
            Err(fault) => {
                tracing::warn!(companion = name, %fault, "a payload was refused");
                let device = companion.device.key;
                self.note(name, device, fault).await;
            }
        }
    }

    /// Writes down what was refused in a companion's name.
    async fn note(&self, name: String, device: PublicKey, fault: Fault) {
        let event = match fault {
            Fault::Cloned => "device.cloned",
            Fault::Frame(_) | Fault::Forged | Fault::Replayed | Fault::Gap => "link.refused",
        };
        let detail = json!({"device": to_hex(&device.0), "name": name, "why": fault.to_string()});
        self.write(event, detail).await;
    }

    async fn write(&self, event: &'static str, detail: Value) {
        let written = self
            .outbox
            .store()
            .write(move |tx| audit::append(tx, &Entry { actor: "hub", event, message: None, detail }))
            .await;
        if let Err(error) = written {
            tracing::error!(%error, event, "the audit could not be written");
        }
    }

    /// Tells every companion what waits now.
    async fn update(&mut self) {
        if self.companions.is_empty() {
            return;
        }
        match self.facts().await {
            Ok((waiting, over, totals)) => {
                let now = now_ms();
                let report = self.report(waiting.len(), totals);
                for companion in self.companions.values_mut() {
                    let asked = asked_of(companion.device.key, &waiting);
                    companion.session.update(now, &asked, |request| {
                        over.get(&request).copied().unwrap_or(Withdrawal::DecidedElsewhere)
                    });
                    companion.session.status(report);
                }
            }
            Err(error) => tracing::error!(%error, "cannot read what waits"),
        }
    }

    /// What an idle companion shows. The time of day not while it waits to be set.
    fn report(&self, held: usize, totals: Totals) -> Report {
        let age = totals.arrivals.last.map(|last| last.elapsed().as_secs());
        let clock_s = self.outbox.store().unsettled_since().is_none().then(clock::local_s);
        Report {
            held: u16::try_from(held).unwrap_or(u16::MAX),
            queued: totals.queued,
            sent: totals.arrivals.count,
            last_s: age.map(|seconds| u32::try_from(seconds).unwrap_or(u32::MAX)),
            clock_s,
        }
    }

    async fn facts(&self) -> Result<(Vec<Waiting>, HashMap<RequestId, Withdrawal>, Totals), StoreError> {
        let waiting = self.approvals.waiting().await?;
        let mut over = HashMap::new();
        for request in self.companions.values().flat_map(|companion| companion.session.offered()) {
            if let Some(state) = self.approvals.state_of(request).await? {
                over.insert(request, withdrawal(state));
            }
        }
        Ok((waiting, over, self.outbox.totals().await?))
    }

    /// An offer is made once in a session, so a frame for which there is no room ends the connection, and with it
    /// every session.
    fn flush(&mut self, client: &AsyncClient) -> Result<(), ClientError> {
        while let Some((attempt, payload)) = self.window.as_mut().and_then(Window::next_payload) {
            let topics = PairingTopics::new(attempt);
            client.try_publish(topics.down.as_str(), QoS::AtLeastOnce, false, payload)?;
        }
        for companion in self.companions.values_mut() {
            while let Some(payload) = companion.session.next_payload() {
                client.try_publish(companion.topics.down.as_str(), QoS::AtLeastOnce, false, payload)?;
            }
        }
        Ok(())
    }
}

/// Returns when a window has something to do; never without one.
async fn window_turns(window: Option<&Window>) {
    match window {
        Some(window) => tokio::time::sleep_until(window.next_tick().into()).await,
        None => std::future::pending().await,
    }
}

/// What waits for the word of this companion: not that which it has given already.
fn asked_of(device: PublicKey, waiting: &[Waiting]) -> Cow<'_, [Waiting]> {
    match waiting.iter().any(|waiting| waiting.voted.contains(&device)) {
        false => Cow::Borrowed(waiting),
        true => waiting.iter().filter(|waiting| !waiting.voted.contains(&device)).cloned().collect(),
    }
}

/// Lets go of a companion that may not decide any more: it is told to forget the hub, then nothing more is heard of it.
fn dismiss(mut companion: Companion, client: &AsyncClient) -> Result<(), ClientError> {
    tracing::info!(companion = companion.device.name, "a companion may not decide any more");
    companion.session.revoke();
    // What it is told last belongs here.
    while let Some(payload) = companion.session.next_payload() {
        client.try_publish(companion.topics.down.as_str(), QoS::AtLeastOnce, false, payload)?;
    }
    client.try_unsubscribe(companion.topics.up.as_str())?;
    client.try_unsubscribe(companion.topics.presence.as_str())
}

/// What a companion is told of a request whose message is in this state.
fn withdrawal(state: State) -> Withdrawal {
    match state {
        State::Cancelled => Withdrawal::Cancelled,
        State::Expired | State::Held => Withdrawal::Expired,
        _ => Withdrawal::DecidedElsewhere,
    }
}
