//! The hub's connection to the broker, and the loop that joins companions' sessions and approvals.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use gatepost_link::{
    RequestId,
    decision::PublicKey,
    frame::{MAX_FRAME, Withdrawal},
    topic::{self, Topics},
};
use rumqttc::{AsyncClient, Event, EventLoop, MqttOptions, Packet, Publish, QoS};
use tokio::{sync::broadcast::error::RecvError, task::JoinHandle};

use super::{
    broker::Address,
    session::{Asked, Session},
};
use crate::{
    approval::{Approvals, Waiting, decide::Outcome, device::Device},
    message::state::State,
    outbox::Outbox,
    store::{StoreError, now_ms},
};

/// Between attempts to reach a broker that is away.
const RECONNECT: Duration = Duration::from_secs(1);
/// MQTT's keep-alive.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// The running link. Stops when dropped.
pub struct Link(JoinHandle<()>);

impl Drop for Link {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Starts serving these companions at the broker.
pub fn start(
    address: &Address,
    hub: PublicKey,
    devices: Vec<Device>,
    approvals: Approvals,
    outbox: Outbox,
) -> Link {
    let mut options =
        MqttOptions::new(format!("gatepost-hub-{}", topic::name(hub)), &address.host, address.port);
    options.set_keep_alive(KEEP_ALIVE);
    options.set_max_packet_size(2 * MAX_FRAME, 2 * MAX_FRAME);
    if let Some((user, password)) = &address.login {
        options.set_credentials(user, password.expose());
    }
    let (client, events) = AsyncClient::new(options, 64);
    let companions = devices
        .into_iter()
        .map(|device| {
            let topics = Topics::new(hub, device.key);
            let session = Session::new(hub, device.key);
            (topics.up.as_str().to_owned(), Companion { device, topics, session })
        })
        .collect();
    let serving = Serving { client, companions, approvals, outbox };
    Link(tokio::spawn(serving.run(events)))
}

struct Companion {
    device: Device,
    topics: Topics,
    session: Session,
}

struct Serving {
    client: AsyncClient,
    companions: HashMap<String, Companion>,
    approvals: Approvals,
    outbox: Outbox,
}

impl Serving {
    async fn run(mut self, mut events: EventLoop) {
        let mut changes = self.outbox.changes();
        loop {
            tokio::select! {
                event = events.poll() => match event {
                    Ok(Event::Incoming(Packet::ConnAck(_))) => self.subscribe(),
                    Ok(Event::Incoming(Packet::Publish(publish))) => self.received(&publish).await,
                    Ok(_) => {}
                    Err(error) => {
                        tracing::warn!(%error, "the MQTT broker is away");
                        tokio::time::sleep(RECONNECT).await;
                    }
                },
                change = changes.recv() => match change {
                    // Missed changes make no difference: what waits is read anew.
                    Ok(_) | Err(RecvError::Lagged(_)) => {
                        while changes.try_recv().is_ok() {}
                        self.update().await;
                    }
                    Err(RecvError::Closed) => return,
                },
            }
        }
    }

    /// Never waits: the queue it fills is emptied by the loop that calls it.
    fn subscribe(&mut self) {
        for companion in self.companions.values_mut() {
            for topic in [&companion.topics.up, &companion.topics.presence] {
                if let Err(error) = self.client.try_subscribe(topic.as_str(), QoS::AtLeastOnce) {
                    tracing::warn!(%error, "cannot subscribe at the MQTT broker");
                }
            }
            // A companion that stayed connected while the hub was away knows of no reason for a hello.
            companion.session.greet();
        }
        self.flush();
    }

    async fn received(&mut self, publish: &Publish) {
        let Some(companion) = self.companions.get_mut(&publish.topic) else {
            tracing::debug!(topic = publish.topic, online = publish.payload == "1", "presence");
            return;
        };
        let name = companion.device.name.clone();
        let result = match companion.session.received(Instant::now(), &publish.payload) {
            Ok(Asked::Nothing) => Ok(()),
            Ok(Asked::Begun) => {
                tracing::info!(companion = name, "a companion is here");
                self.update().await;
                return;
            }
            Ok(Asked::Decide(session, decision)) => {
                let taken = self.approvals.decide(companion.device.key, session, decision).await;
                match taken {
                    Ok(Outcome::Consumed) => companion.session.consumed(decision.request),
                    Ok(Outcome::Over(state)) => {
                        companion.session.withdraw(decision.request, withdrawal(state));
                    }
                    Err(error) => {
                        tracing::warn!(companion = name, %error, "a decision was rejected");
                        companion.session.rejected(decision.request);
                    }
                }
                Ok(())
            }
            Ok(Asked::CannotShow(request, reason)) => {
                tracing::warn!(companion = name, %request, ?reason, "a companion cannot show a request");
                Ok(())
            }
            Err(error) => Err(error),
        };
        if let Err(error) = result {
            tracing::warn!(companion = name, %error, "a frame was refused");
        }
        self.flush();
    }

    /// Tells every companion what waits now.
    async fn update(&mut self) {
        match self.facts().await {
            Ok((waiting, over, (queued, sent))) => {
                let now = now_ms();
                for companion in self.companions.values_mut() {
                    companion.session.update(now, &waiting, |request| {
                        over.get(&request).copied().unwrap_or(Withdrawal::DecidedElsewhere)
                    });
                    let held = u16::try_from(waiting.len()).unwrap_or(u16::MAX);
                    companion.session.status(held, queued, sent);
                }
            }
            Err(error) => tracing::error!(%error, "cannot read what waits"),
        }
        self.flush();
    }

    async fn facts(&self) -> Result<(Vec<Waiting>, HashMap<RequestId, Withdrawal>, (u16, u32)), StoreError> {
        let waiting = self.approvals.waiting().await?;
        let mut over = HashMap::new();
        for request in self.companions.values().flat_map(|companion| companion.session.offered()) {
            if let Some(state) = self.approvals.state_of(request).await? {
                over.insert(request, withdrawal(state));
            }
        }
        Ok((waiting, over, self.outbox.totals().await?))
    }

    fn flush(&mut self) {
        for companion in self.companions.values_mut() {
            while let Some(frame) = companion.session.next_frame() {
                let topic = companion.topics.down.as_str();
                // The client's own queue is bounded; a frame it has no room for is asked for again by the companion.
                if let Err(error) = self.client.try_publish(topic, QoS::AtLeastOnce, false, frame) {
                    tracing::warn!(%error, "cannot publish at the MQTT broker");
                }
            }
        }
    }
}

/// What a companion is told of a request whose message is in this state.
fn withdrawal(state: State) -> Withdrawal {
    match state {
        State::Cancelled => Withdrawal::Cancelled,
        State::Expired | State::Held => Withdrawal::Expired,
        _ => Withdrawal::DecidedElsewhere,
    }
}
