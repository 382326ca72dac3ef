//! The connection to Home Assistant's broker, for as long as the hub runs.
//!
//! The broker says by the hub's will that it is away, however it went. What is said while it is there: [`serving`](super::serving).

use std::{collections::HashMap, time::Duration};

use gatepost_link::{decision::PublicKey, topic};
use rumqttc::{ClientError, LastWill, QoS};
use tokio::{
    sync::{Notify, mpsc, watch},
    time::{Instant, sleep},
};

use super::{
    Settings,
    commands::{MAX_WAITING, Refusals},
    serving::Serving,
    topics::Topics,
};
use crate::{
    companion::{connection::Connection, register::Companions},
    events::Events,
    message::call::MAX_TEXT,
    pipeline::current::Current,
    store::StoreError,
    updates::{Updates, hub::asking::Asking},
};

/// Between attempts to reach a broker that is away: at first, and at the most.
const RECONNECT: Duration = Duration::from_secs(1);
const MAX_RECONNECT: Duration = Duration::from_secs(60);
/// Between two questions to the platforms whether they are ready. A failed message has them asked at once.
const ASK_PLATFORMS: Duration = Duration::from_mins(10);
/// Packets that may be on their way to the broker: what is said of as many companions as there can be, and a burst of events.
const MAX_IN_FLIGHT: usize = 1024;
/// How long a connection must have lasted for the next attempt to follow soon: a broker may take every connection, and break each.
const LASTS: Duration = Duration::from_mins(1);
/// The largest MQTT packet: the longest notification, and much room to see what is too large instead of breaking off.
const MAX_PACKET_BYTES: usize = 16 * MAX_TEXT;

/// What of the hub this is about.
#[derive(Clone)]
pub struct Hub {
    /// Its key.
    pub key: PublicKey,
    /// Its configuration, and its queue.
    pub current: Current,
    /// What happens.
    pub events: Events,
    /// The companions.
    pub companions: Companions,
    /// Their firmware.
    pub updates: Updates,
    /// The hub's own.
    pub asking: Asking,
}

/// Why a connection is not used any more.
pub(super) enum Ends {
    /// The broker is away, or of no use; why, if that is known.
    Away(Option<&'static str>),
    /// The configuration has another section.
    Replaced,
}

impl From<ClientError> for Ends {
    fn from(_: ClientError) -> Self {
        Self::Away(None)
    }
}

impl From<StoreError> for Ends {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "cannot look what Home Assistant is to be told");
        Self::Away(Some("the hub cannot use its database"))
    }
}

impl Hub {
    /// Tells Home Assistant for as long as the hub runs; nothing wakes it where the configuration names no broker.
    pub async fn run(self) {
        let mut replaced = self.current.replacements();
        let (mut pause, mut known) = (RECONNECT, Known::default());
        loop {
            let settings = replaced.borrow_and_update().0.home_assistant.clone();
            let Some(settings) = settings else {
                // The sender lives as long as `current`.
                let _ = replaced.changed().await;
                continue;
            };
            match self.connect(&settings, &mut known).await {
                None => (pause, known) = (RECONNECT, Known::default()),
                Some(why) => {
                    if known.away(why) {
                        pause = RECONNECT;
                    }
                    tokio::select! {
                        () = sleep(pause) => {}
                        _ = replaced.changed() => {}
                    }
                    pause = (2 * pause).min(MAX_RECONNECT);
                }
            }
        }
    }

    /// Connects, and serves the connection until it ends: why, unless the configuration is another.
    async fn connect(&self, settings: &Settings, known: &mut Known) -> Option<String> {
        let id = topic::name(self.key);
        let topics = Topics::new(&id, &settings.plan.prefix);
        let mut options = settings.address.options(format!("gatepost-home-{id}"));
        options.set_max_packet_size(MAX_PACKET_BYTES, MAX_PACKET_BYTES);
        options.set_last_will(LastWill::new(topics.online(), "offline", QoS::AtLeastOnce, true));
        let (tell, told) = watch::channel(None);
        let ended = Box::new(move |why| drop(tell.send(Some(why))));
        let mut connection = Connection::open(&settings.address, options, MAX_IN_FLIGHT, ended);
        let (commands, asked) = mpsc::channel(MAX_WAITING);
        let platforms = Platforms::default();
        let mut serving = Serving {
            hub: self,
            settings,
            topics,
            commands,
            platforms: &platforms,
            refusals: Refusals::new(),
            said: HashMap::new(),
            companions: HashMap::new(),
            read_to: 0,
            under_way: false,
        };
        let ends = tokio::select! {
            ends = serving.serve(&mut connection, known) => ends,
            () = self.obey(settings, asked) => Ends::Away(None),
            () = platforms.watch(&self.current) => Ends::Away(None),
        };
        let why = match ends {
            Ends::Replaced => return None,
            Ends::Away(why) => why.map(str::to_owned),
        };
        let why = why.or_else(|| told.borrow().clone());
        Some(why.unwrap_or_else(|| "the broker takes no more".into()))
    }
}

/// Whether the broker is there, as the log says: once, and not with every attempt of a night.
#[derive(Default)]
pub(super) struct Known {
    /// Since when it is there.
    here: Option<Instant>,
    /// Whether no connection has lasted since it was said to be away.
    breaks: bool,
    /// Why it was away last.
    why: Option<String>,
}

impl Known {
    pub(super) fn here(&mut self) {
        self.here = Some(Instant::now());
        if !self.breaks {
            self.say_here();
        }
    }

    /// Says that it is there again, once a connection has lasted.
    pub(super) fn look(&mut self) {
        if self.breaks && self.has_lasted() {
            self.breaks = false;
            self.say_here();
        }
    }

    fn say_here(&mut self) {
        self.why = None;
        tracing::info!("Home Assistant's broker is here");
    }

    fn has_lasted(&self) -> bool {
        self.here.is_some_and(|since| since.elapsed() >= LASTS)
    }

    /// Whether it was there for long enough that the next attempt follows soon.
    fn away(&mut self, why: String) -> bool {
        if self.why.as_ref() != Some(&why) {
            tracing::warn!(why, "Home Assistant's broker is away");
        }
        let has_lasted = self.has_lasted();
        // An attempt that reached nobody says nothing of that.
        if self.here.take().is_some() {
            self.breaks = !has_lasted;
        }
        self.why = Some(why);
        has_lasted
    }
}

/// The accounts that are not ready.
#[derive(Default)]
pub(super) struct Platforms {
    pub(super) not_ready: watch::Sender<Vec<String>>,
    /// Ask now.
    pub(super) again: Notify,
}

impl Platforms {
    /// Looks from time to time which accounts are ready.
    async fn watch(&self, current: &Current) {
        loop {
            match current.pipeline().ready(None).await {
                Ok(accounts) => {
                    let accounts = accounts.iter().filter(|one| !one.ready);
                    let names: Vec<_> =
                        accounts.map(|one| format!("{}.{}", one.channel, one.account)).collect();
                    self.not_ready.send_if_modified(|known| {
                        let differs = *known != names;
                        *known = names;
                        differs
                    });
                }
                Err(error) => tracing::error!(%error, "cannot look which channels are ready"),
            }
            tokio::select! {
                () = sleep(ASK_PLATFORMS) => {}
                () = self.again.notified() => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_broker_that_breaks_each_connection_is_said_once_and_one_that_lasts_is_tried_again_soon() {
        let mut known = Known::default();
        known.here();
        assert!(!known.away("it broke".into()) && known.breaks);
        known.here();
        assert!(known.why.is_some(), "it is not said again that it is here");
        known.look();
        assert!(known.breaks);
        tokio::time::advance(LASTS).await;
        known.look();
        assert!(!known.breaks && known.why.is_none());
        assert!(known.away("it stopped".into()), "the next attempt follows soon");
        assert!(!known.away("nobody listens".into()) && !known.breaks);
        known.here();
        assert!(known.why.is_none(), "it is said at once");
    }
}
