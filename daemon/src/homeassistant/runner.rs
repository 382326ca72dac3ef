//! The connection to Home Assistant's broker, for as long as the hub runs.
//!
//! The broker says by the hub's will that it is away, however it went. What is said while it is there: [`serving`](super::serving).

use std::{collections::HashMap, time::Duration};

use gatepost_link::{decision::PublicKey, topic};
use rumqttc::{ClientError, LastWill, QoS};
use tokio::{
    sync::{Notify, mpsc, watch},
    time::sleep,
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
/// The largest MQTT packet: the longest notification, and room to see what is too large instead of breaking off.
const MAX_PACKET_BYTES: usize = 2 * MAX_TEXT;

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
                    // It was there until now.
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
pub(super) struct Known(Option<Result<(), String>>);

impl Known {
    pub(super) fn here(&mut self) {
        if self.0 != Some(Ok(())) {
            tracing::info!("Home Assistant's broker is here");
            self.0 = Some(Ok(()));
        }
    }

    /// Whether it was there before.
    fn away(&mut self, why: String) -> bool {
        let before = self.0.replace(Err(why.clone()));
        if before.as_ref().and_then(|before| before.as_ref().err()) != Some(&why) {
            tracing::warn!(why, "Home Assistant's broker is away");
        }
        before == Some(Ok(()))
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
