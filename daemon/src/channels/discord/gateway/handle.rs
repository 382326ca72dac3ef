//! What an adapter sees of the connection: how it stands, and the status that it sets.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use reqwest::Method;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::Instant,
};

use super::tempo::Tempo;
use crate::channels::{
    Failure,
    discord::{client::Client, presence::Presence},
    receiver::Hearing,
};

/// How long a change of status waits for a connection, and for its place in it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Changes of status that may wait. They come one after the other; more only where whoever asked has given up.
const ORDERS: usize = 4;

/// How the connection stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nobody has asked for it yet.
    Idle,
    /// It is not open, for this reason, and will be tried again.
    Away(String),
    /// It is open, and the bot has this id.
    Up(String),
    /// It will not be opened before somebody does something about this.
    Refused(String),
}

/// A change of status, and who waits for it.
pub(super) struct Order {
    pub(super) presence: Presence,
    pub(super) done: oneshot::Sender<Result<(), Failure>>,
}

/// An account's connection.
pub(in super::super) struct Gateway {
    pub(in super::super) account: String,
    pub(in super::super) tempo: Tempo,
    /// What is heard.
    pub(in super::super) intents: u64,
    pub(super) standing: watch::Sender<Standing>,
    /// Whether the hub stops. Only an open connection listens to it.
    pub(super) leaving: watch::Sender<bool>,
    orders: mpsc::Sender<Order>,
    /// Whether what people do with forms goes to an address of the application's, and not over this connection.
    elsewhere: AtomicBool,
    /// Taken by whoever keeps the connection.
    pub(super) ordered: Mutex<Option<mpsc::Receiver<Order>>>,
}

impl Gateway {
    /// One that nobody has asked for yet.
    pub(in super::super) fn new(account: &str, tempo: Tempo, intents: u64) -> Self {
        let (orders, ordered) = mpsc::channel(ORDERS);
        Self {
            account: account.to_owned(),
            tempo,
            intents,
            standing: watch::Sender::new(Standing::Idle),
            leaving: watch::Sender::new(false),
            orders,
            elsewhere: AtomicBool::new(false),
            ordered: Mutex::new(Some(ordered)),
        }
    }

    /// Sets the bot's status; its id.
    pub(in super::super) async fn set(&self, presence: Presence) -> Result<String, Failure> {
        let (done, sent) = oneshot::channel();
        let until = Instant::now() + PATIENCE;
        let bot = self.up(until).await?;
        let order = Order { presence, done };
        let ordered = async {
            // The one who keeps the connection ends with the hub.
            self.orders.send(order).await.ok()?;
            sent.await.ok()
        };
        match tokio::time::timeout_at(until, ordered).await {
            Ok(Some(done)) => done.map(|()| bot),
            // Whether or not it left: it may be set again.
            Ok(None) | Err(_) => Err(Failure::Retry("the connection to Discord's Gateway broke".into())),
        }
    }

    /// Waits until the connection is open; the bot's id.
    async fn up(&self, until: Instant) -> Result<String, Failure> {
        let mut standing = self.standing.subscribe();
        let is_settled = |standing: &Standing| matches!(standing, Standing::Up(_) | Standing::Refused(_));
        let settled = tokio::time::timeout_at(until, standing.wait_for(is_settled)).await;
        let now = match settled {
            Ok(Ok(now)) => now.clone(),
            Ok(Err(_)) | Err(_) => self.standing.borrow().clone(),
        };
        match now {
            Standing::Up(bot) => Ok(bot),
            Standing::Refused(why) => Err(Failure::Permanent(why)),
            Standing::Away(why) => Err(Failure::Retry(format!("{NOT_UP}: {why}"))),
            Standing::Idle => Err(Failure::Retry(NOT_UP.into())),
        }
    }

    /// What there is to say of it to who asks whether the account is ready.
    pub(in super::super) fn trouble(&self) -> Option<String> {
        match &*self.standing.borrow() {
            Standing::Idle | Standing::Up(_) => None,
            Standing::Away(why) => Some(format!("{NOT_UP}: {why}")),
            Standing::Refused(why) => {
                let unheard = if self.intents == 0 { "" } else { "nothing is received, " };
                Some(format!("{unheard}no status can be set and no form opened: {why}"))
            }
        }
    }

    /// How the account hears, if it does: what concerns forms alone is no matter of that.
    pub(in super::super) fn hearing(&self) -> Option<Hearing> {
        (self.intents != 0).then(|| Hearing::of(self.trouble(), "receives"))
    }

    /// Whether Discord sends what people do with forms elsewhere, in words.
    pub(in super::super) fn endpoint(&self) -> Option<String> {
        self.elsewhere.load(Ordering::Relaxed).then(|| ELSEWHERE.to_owned())
    }

    /// Why no form can be opened, as far as is known.
    pub(in super::super) fn without_forms(&self) -> Option<String> {
        let refused = match &*self.standing.borrow() {
            Standing::Refused(why) => Some(format!("no form can be opened: {why}")),
            Standing::Idle | Standing::Away(_) | Standing::Up(_) => None,
        };
        refused.or_else(|| self.endpoint())
    }

    /// Asks whether the application has an Interactions Endpoint URL. Where it cannot be asked, what was known holds.
    ///
    /// <https://docs.discord.com/developers/resources/application#get-current-application>; "These two methods are mutually
    /// exclusive" (<https://docs.discord.com/developers/interactions/overview#preparing-for-interactions>).
    pub(in super::super) async fn look_for_endpoint(&self, client: &Client) {
        let asked = client.question(client.request(Method::GET, &["applications", "@me"])).await;
        if let Ok(application) = asked {
            let url = application["interactions_endpoint_url"].as_str().unwrap_or_default();
            self.elsewhere.store(!url.is_empty(), Ordering::Relaxed);
        }
    }

    /// Ends the session, if a connection is open, and returns when Discord was told. One that opens later ends
    /// at once.
    pub(in super::super) async fn leave(&self) {
        self.leaving.send_replace(true);
        self.leaving.closed().await;
    }

    /// Takes what waits for the connection: whoever has it keeps the connection, and nobody does twice.
    pub(super) fn taken(&self) -> Option<mpsc::Receiver<Order>> {
        self.ordered.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// From now on it stands so.
    pub(super) fn stands(&self, standing: Standing) {
        self.standing.send_replace(standing);
    }
}

const ELSEWHERE: &str = "no form can be opened: the application has an Interactions Endpoint URL, and Discord sends what people press there; clear it in the developer portal";

pub(super) const NOT_UP: &str = "the connection to Discord's Gateway is not open";
