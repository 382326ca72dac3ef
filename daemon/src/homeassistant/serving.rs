//! What is said on one connection to Home Assistant's broker, and what is heard there.
//!
//! Everything that is retained is said when it is another than what was said last on this connection, and at no other time: a hub in which
//! nothing happens says nothing.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use rumqttc::{AsyncClient, ClientError, Packet, Publish, QoS, SubscribeReasonCode};
use tokio::{
    sync::{broadcast, mpsc},
    time::{Instant, sleep, sleep_until},
};

use super::{
    Settings,
    commands::{Command, Refusals},
    discovery::{self, About},
    runner::{Ends, Hub, Known, Platforms},
    state::{self, Figures, Told},
    topics::{Heard, Topics},
};
use crate::{
    companion::{connection::Connection, register::Listed},
    store::now_ms,
};

/// What happens within this after a change is said together with it.
const GATHER: Duration = Duration::from_millis(100);
/// Between two looks while nothing tells of a change: at what only a look can tell, and while an update is under way.
const LOOK: Duration = Duration::from_secs(60);
/// How often all is said again: who may write at the broker may have said something else in the hub's place.
const REPEAT: Duration = Duration::from_mins(10);
const LOOK_AT_UPDATE: Duration = Duration::from_secs(5);
/// Events that are said of one look; of a longer burst the last.
const MAX_EVENTS: usize = 64;
/// For so long, in milliseconds, a companion that was revoked is taken away at each connection: the broker may have been away then. Home
/// Assistant warns of one that it does not know, and is not to do so for years.
const FORGET_FOR_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// A connection, and what was said on it.
pub(super) struct Serving<'a> {
    pub(super) hub: &'a Hub,
    pub(super) settings: &'a Settings,
    pub(super) topics: Topics,
    pub(super) commands: mpsc::Sender<Command>,
    pub(super) platforms: &'a Platforms,
    pub(super) refusals: Refusals,
    /// What is retained, by its topic.
    pub(super) said: HashMap<String, String>,
    /// The short names of companions, by their names.
    pub(super) companions: HashMap<String, String>,
    /// The number of the last event that was said.
    pub(super) read_to: i64,
    /// An update is.
    pub(super) under_way: bool,
}

impl Serving<'_> {
    pub(super) async fn serve(&mut self, connection: &mut Connection, known: &mut Known) -> Ends {
        match self.serve_until(connection, known).await {
            Ok(never) => match never {},
            Err(ends) => ends,
        }
    }

    async fn serve_until(
        &mut self,
        connection: &mut Connection,
        known: &mut Known,
    ) -> Result<std::convert::Infallible, Ends> {
        let (hub, client) = (self.hub, connection.client.clone());
        let mut changes = hub.current.pipeline().outbox().changes();
        let mut replaced = hub.current.replacements();
        replaced.mark_changed();
        let mut presence = hub.companions.presence().changes();
        let mut not_ready = self.platforms.not_ready.subscribe();
        let mut sights = hub.updates.sights();
        let (mut connected, mut look_at) = (false, Instant::now());
        let mut repeat_at = Instant::now() + REPEAT;
        loop {
            tokio::select! {
                packet = connection.packets.recv() => match packet {
                    None => return Err(Ends::Away(None)),
                    Some(Packet::ConnAck(_)) => {
                        known.here();
                        self.read_to = hub.events.newest().await?;
                        self.subscribe(&client)?;
                        connected = true;
                        self.say_all(&client).await?;
                    }
                    Some(Packet::SubAck(ack)) if ack.return_codes.contains(&SubscribeReasonCode::Failure) => {
                        let why = "the broker refuses the hub's subscription: check its access rules";
                        return Err(Ends::Away(Some(why)));
                    }
                    Some(Packet::Publish(publish)) => self.received(&client, &publish).await?,
                    Some(_) => {}
                },
                change = changes.recv(), if connected => {
                    if matches!(change, Err(broadcast::error::RecvError::Closed)) {
                        return Err(Ends::Away(None));
                    }
                    sleep(GATHER).await;
                    changes = changes.resubscribe();
                    if self.say_events(&client).await? {
                        self.say_companions(&client).await?;
                    }
                    self.say_figures(&client).await?;
                }
                _ = not_ready.changed(), if connected => self.say_figures(&client).await?,
                _ = presence.changed(), if connected => self.say_companions(&client).await?,
                _ = sights.changed(), if connected => self.say_companions(&client).await?,
                _ = replaced.changed() => {
                    let settings = replaced.borrow_and_update().0.home_assistant.clone();
                    if !settings.is_some_and(|settings| settings.is_like(self.settings)) {
                        return Err(Ends::Replaced);
                    }
                    // Its accounts may be others.
                    self.platforms.again.notify_one();
                }
                () = sleep_until(look_at), if connected => {
                    known.look();
                    self.say_events(&client).await?;
                    if repeat_at <= Instant::now() {
                        self.said.clear();
                        self.say_all(&client).await?;
                        repeat_at = Instant::now() + REPEAT;
                    } else {
                        self.say_figures(&client).await?;
                        self.say_companions(&client).await?;
                    }
                    look_at = Instant::now() + LOOK;
                }
            }
            if self.under_way {
                look_at = look_at.min(Instant::now() + LOOK_AT_UPDATE);
            }
        }
    }

    fn subscribe(&self, client: &AsyncClient) -> Result<(), ClientError> {
        let plan = &self.settings.plan;
        let mut topics = vec![self.topics.status()];
        if !plan.notify_to.is_empty() {
            topics.push(self.topics.of_hub("notify"));
        }
        if plan.install {
            topics.push(self.topics.of_hub("update/install"));
            topics.push(self.topics.of_companion("+", "update/install"));
        }
        topics.into_iter().try_for_each(|topic| client.try_subscribe(topic, QoS::AtLeastOnce))
    }

    /// Something came from the broker. What was not subscribed comes to nothing, whoever says it.
    async fn received(&mut self, client: &AsyncClient, publish: &Publish) -> Result<(), Ends> {
        let plan = &self.settings.plan;
        let heard = match self.topics.read(&publish.topic) {
            // Retained, it is from before this connection, on which everything was said.
            Some(Heard::Status) if &*publish.payload == b"online" && !publish.retain => {
                tracing::debug!("Home Assistant has come");
                self.said.clear();
                return self.say_all(client).await;
            }
            Some(heard @ Heard::Notify) if !plan.notify_to.is_empty() => heard,
            Some(heard @ Heard::Install(_)) if plan.install => heard,
            _ => return Ok(()),
        };
        let what = if heard == Heard::Notify { "a notification" } else { "an update" };
        match Command::read(heard, &publish.payload, publish.retain) {
            Ok(command) => {
                if self.commands.try_send(command).is_err() {
                    self.refusals.say(what, "too many wait: say less at once");
                }
            }
            Err(why) => self.refusals.say(what, &why),
        }
        Ok(())
    }

    /// Says everything that is retained, and at the end that the hub is here.
    async fn say_all(&mut self, client: &AsyncClient) -> Result<(), Ends> {
        let config = discovery::hub(&self.topics, &self.settings.plan);
        self.say(client, self.topics.config(&self.topics.hub), config.to_string())?;
        self.say_companions(client).await?;
        self.say_figures(client).await?;
        Ok(self.say(client, self.topics.online(), "online".into())?)
    }

    async fn say_figures(&mut self, client: &AsyncClient) -> Result<(), Ends> {
        let store = self.hub.current.pipeline().outbox().store().clone();
        let figures = store.read(Figures::read).await?;
        let said = figures.say(&self.platforms.not_ready.borrow());
        Ok(self.say(client, self.topics.of_hub("state"), said.to_string())?)
    }

    /// Says how the companions are, and how far updates are.
    async fn say_companions(&mut self, client: &AsyncClient) -> Result<(), Ends> {
        let hub = self.hub;
        let (listed, mut views) = (hub.companions.list().await?, hub.updates.companions().await?);
        let overview = hub.updates.overview().await?;
        let now = now_ms();
        self.companions.clear();
        let update = state::hub_update(&hub.asking.view());
        self.under_way = is_under_way(&update);
        self.say(client, self.topics.of_hub("update"), update.to_string())?;
        for Listed { device, online, .. } in listed {
            let id = device.short();
            let (config, topic) = (self.topics.config(&id), self.topics.of_companion(&id, "state"));
            let update_topic = self.topics.of_companion(&id, "update");
            if let Some(at) = device.revoked_at {
                if now.saturating_sub(at) > FORGET_FOR_MS {
                    continue;
                }
                // First, so that nobody reads the others any more.
                for topic in [config, topic, update_topic] {
                    self.say(client, topic, String::new())?;
                }
                continue;
            }
            let Some(view) = views.remove(&device.key) else { continue };
            let firmware = view.firmware.as_ref();
            let about = About {
                id: &id,
                name: &device.name,
                board: firmware.map(|firmware| firmware.board.as_str()),
                version: firmware.map(|firmware| firmware.version.as_str()),
            };
            let described = discovery::companion(&self.topics, &self.settings.plan, about);
            self.say(client, config, described.to_string())?;
            self.say(client, topic, state::companion(online, device.decided_at).to_string())?;
            let update = state::firmware(&view, state::newer(&view, &overview.releases, now));
            self.under_way |= is_under_way(&update);
            self.say(client, update_topic, update.to_string())?;
            self.companions.insert(device.name, id);
        }
        Ok(())
    }

    /// Says what has happened; whether the companions may be others now.
    async fn say_events(&mut self, client: &AsyncClient) -> Result<bool, Ends> {
        let (mut told, mut companions) = (VecDeque::new(), false);
        loop {
            let page = self.hub.events.after(self.read_to).await?;
            for event in &page.events {
                companions |=
                    ["device.", "ota.", "decision."].iter().any(|noun| event.name.starts_with(noun));
                let one = state::told(event);
                companions |= one.decision.is_some();
                told.push_back(one);
                if told.len() > MAX_EVENTS {
                    told.pop_front();
                }
            }
            if page.read_to == self.read_to {
                break;
            }
            self.read_to = page.read_to;
        }
        for Told { message, decision } in told {
            if let Some(message) = message {
                if ["failed", "unknown"].iter().any(|word| message["event_type"] == *word) {
                    self.platforms.again.notify_one();
                }
                self.publish(client, self.topics.of_hub("event"), message.to_string(), false)?;
            }
            let Some((name, word)) = decision else { continue };
            if let Some(id) = self.companions.get(&name) {
                let said = serde_json::json!({"event_type": word}).to_string();
                self.publish(client, self.topics.of_companion(id, "event"), said, false)?;
            }
        }
        Ok(companions)
    }

    /// Says what is retained, if that is something else than before; an empty payload takes it away.
    fn say(&mut self, client: &AsyncClient, topic: String, payload: String) -> Result<(), ClientError> {
        if self.said.get(&topic) == Some(&payload) {
            return Ok(());
        }
        self.publish(client, topic.clone(), payload.clone(), true)?;
        self.said.insert(topic, payload);
        Ok(())
    }

    fn publish(
        &self,
        client: &AsyncClient,
        topic: String,
        payload: String,
        retain: bool,
    ) -> Result<(), ClientError> {
        client.try_publish(topic, QoS::AtLeastOnce, retain, payload)
    }
}

fn is_under_way(update: &serde_json::Value) -> bool {
    update["in_progress"] == true
}
