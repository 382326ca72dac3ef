//! Discord's Gateway: a connection that is kept open, over which the bot's status is set, and over which it hears what people
//! do with its forms.
//!
//! An account has one where its settings say so. It is opened when the hub runs, not when the account is: who checks a
//! configuration must not be seen online. What breaks is opened anew and goes on where it was, unless Discord says that nothing
//! will change by itself; how often a session begins is counted by Discord, and whoever begins too many loses the bot's token
//! (<https://docs.discord.com/developers/events/gateway#identifying>): so all of it goes slowly.
//!
//! - [`payload`]: what is said over it;
//! - [`socket`]: the WebSocket beneath;
//! - [`session`]: one connection, from its first word to its end;
//! - [`rate_limiter`]: how much is sent;
//! - here: what an adapter sees of it, and what follows an end.

#[cfg(test)]
pub(in crate::channels) mod mock;
mod payload;
mod rate_limiter;
mod session;
mod socket;
#[cfg(test)]
mod tests;

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use reqwest::Method;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Instant, sleep, sleep_until, timeout},
};

pub(super) use self::payload::{Presence, Status};
use self::{
    session::{End, Line},
    socket::Socket,
};
use super::client::Client;
use crate::{
    channels::{Failure, discord::forms::Interaction, hub_handle::HubHandle},
    random,
};

/// The longest text beside a status, in characters: what Discord's own programs take of a custom status, which there is no
/// page about.
pub(super) const MAX_TEXT: usize = 128;

/// How long a change of status waits for a connection, and for its place in it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Changes of status that may wait. They come one after the other; more only where whoever asked has given up.
const ORDERS: usize = 4;

/// Presses and filled-in forms that may wait, and that are answered at once. Of more than that Discord tells the person that
/// nothing came of it.
const WAITING: usize = 64;
const AT_ONCE: usize = 8;

/// A connection that lasted this long was a good one: what follows it is no repetition.
const GOOD: Duration = Duration::from_mins(10);

/// How fast things are tried again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tempo {
    /// After the first failure; it doubles.
    pub(super) first: Duration,
    /// At most.
    pub(super) longest: Duration,
    /// Between two beginnings of a session: "per 5 seconds" one, where there is no more than one shard
    /// (<https://docs.discord.com/developers/events/gateway#rate-limiting>).
    pub(super) identify: Duration,
}

impl Tempo {
    /// Where every session ends at once, that is less than 300 of them a day, and where each lasts for [`GOOD`] less than 150:
    /// far from the thousand that Discord allows, of which another program of the same bot may need some.
    pub(super) const USUAL: Self = Self {
        first: Duration::from_secs(1),
        longest: Duration::from_mins(5),
        identify: Duration::from_secs(5),
    };
}

/// How the connection stands.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Standing {
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
struct Order {
    presence: Presence,
    done: oneshot::Sender<Result<(), Failure>>,
}

/// An account's connection.
pub(super) struct Gateway {
    account: String,
    tempo: Tempo,
    standing: watch::Sender<Standing>,
    /// Whether the hub stops. Only an open connection listens to it.
    leaving: watch::Sender<bool>,
    orders: mpsc::Sender<Order>,
    /// Whether what people do with forms goes to an address of the application's, and not over this connection.
    elsewhere: AtomicBool,
    /// Taken by whoever keeps the connection.
    ordered: Mutex<Option<mpsc::Receiver<Order>>>,
}

impl Gateway {
    /// One that nobody has asked for yet.
    pub(super) fn new(account: &str, tempo: Tempo) -> Self {
        let (orders, ordered) = mpsc::channel(ORDERS);
        Self {
            account: account.to_owned(),
            tempo,
            standing: watch::Sender::new(Standing::Idle),
            leaving: watch::Sender::new(false),
            orders,
            elsewhere: AtomicBool::new(false),
            ordered: Mutex::new(Some(ordered)),
        }
    }

    /// Sets the bot's status; its id.
    pub(super) async fn set(&self, presence: Presence) -> Result<String, Failure> {
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
    pub(super) fn trouble(&self) -> Option<String> {
        match &*self.standing.borrow() {
            Standing::Idle | Standing::Up(_) => None,
            Standing::Away(why) => Some(format!("{NOT_UP}: {why}")),
            Standing::Refused(why) => Some(format!("no status can be set and no form opened: {why}")),
        }
    }

    /// Whether Discord sends what people do with forms elsewhere, in words.
    pub(super) fn endpoint(&self) -> Option<String> {
        self.elsewhere.load(Ordering::Relaxed).then(|| ELSEWHERE.to_owned())
    }

    /// Why no form can be opened, as far as is known.
    pub(super) fn without_forms(&self) -> Option<String> {
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
    pub(super) async fn look_for_endpoint(&self, client: &Client) {
        let asked = client.question(client.request(Method::GET, &["applications", "@me"])).await;
        if let Ok(application) = asked {
            let url = application["interactions_endpoint_url"].as_str().unwrap_or_default();
            self.elsewhere.store(!url.is_empty(), Ordering::Relaxed);
        }
    }

    /// Ends the session, if a connection is open, and returns when Discord was told. One that opens later ends
    /// at once.
    pub(super) async fn leave(&self) {
        self.leaving.send_replace(true);
        self.leaving.closed().await;
    }

    /// Keeps the connection, until nothing would change any more.
    pub(super) async fn keep(&self, client: &Client, hub: &dyn HubHandle, presence: Option<Presence>) {
        let Some(orders) = self.ordered.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return;
        };
        let (pressed, interactions) = mpsc::channel(WAITING);
        let line = Line::new(self, client, orders, pressed, presence);
        // What people do is answered beside the connection, which meanwhile must not miss a beat.
        tokio::join!(self.connected(client, line), answer(interactions, client, hub));
    }

    async fn connected(&self, client: &Client, mut line: Line<'_>) {
        let (mut failures, mut identified) = (0, None::<Instant>);
        self.stands(Standing::Away("it is being opened".into()));
        loop {
            let begun = Instant::now();
            let end = match line.session() {
                Some(session) => match Socket::open(client, &session.url).await {
                    Ok(socket) => line.converse(socket).await,
                    // "Or the reconnect fails" (<https://docs.discord.com/developers/events/gateway#handling-a-disconnect>).
                    Err(why) => End::Over(why),
                },
                None => match self.address(client, &mut identified).await {
                    Ok(address) => match Socket::open(client, &address).await {
                        Ok(socket) => line.converse(socket).await,
                        Err(why) => End::Broken(why),
                    },
                    Err(end) => end,
                },
            };
            let (why, at_least) = match end {
                End::Final(why) => {
                    tracing::error!(account = self.account, why, "Discord's Gateway is closed to this bot");
                    self.stands(Standing::Refused(why));
                    line.refuse().await;
                    return;
                }
                End::Refused(why) => {
                    tracing::warn!(account = self.account, why, "Discord's Gateway refuses the bot for now");
                    self.stands(Standing::Refused(why));
                    line.forget();
                    sleep(self.tempo.longest).await;
                    continue;
                }
                End::Left => {
                    self.stands(Standing::Away("the hub stops".into()));
                    line.refuse().await;
                    return;
                }
                End::Wait(why, after) => (why, after),
                End::Over(why) => {
                    line.forget();
                    (why, Duration::ZERO)
                }
                End::Broken(why) => (why, Duration::ZERO),
            };
            if begun.elapsed() > GOOD {
                failures = 0;
            }
            tracing::info!(account = self.account, why, "the connection to Discord's Gateway ended");
            self.stands(Standing::Away(why));
            sleep(at_least.max(self.pause(failures))).await;
            failures += 1;
        }
    }

    /// Where a session begins, when one may.
    ///
    /// <https://docs.discord.com/developers/events/gateway#get-gateway-bot>
    async fn address(&self, client: &Client, identified: &mut Option<Instant>) -> Result<String, End> {
        if let Some(before) = *identified {
            sleep_until(before + self.tempo.identify).await;
        }
        let asked =
            timeout(PATIENCE, client.question(client.request(Method::GET, &["gateway", "bot"]))).await;
        let answer = match asked {
            Ok(Ok(answer)) => answer,
            Ok(Err(Failure::Wait { after, why })) => return Err(End::Wait(why, after)),
            // The token, or what stands between.
            Ok(Err(Failure::Permanent(why))) => return Err(End::Refused(why)),
            Ok(Err(failure)) => return Err(End::Broken(failure.to_string())),
            Err(_) => return Err(End::Broken("Discord does not say where its Gateway is".into())),
        };
        let limit = &answer["session_start_limit"];
        if limit["remaining"].as_u64() == Some(0) {
            let after = Duration::from_millis(limit["reset_after"].as_u64().unwrap_or(0)).min(LONGEST_RESET);
            return Err(End::Wait("the bot has begun as many sessions as Discord lets it".into(), after));
        }
        *identified = Some(Instant::now());
        self.look_for_endpoint(client).await;
        match answer["url"].as_str() {
            Some(url) => Ok(url.to_owned()),
            None => Err(End::Broken("Discord does not say where its Gateway is; check base_url".into())),
        }
    }

    /// How long to wait after so many failures: somewhere between the half of it and all, so that not everybody comes back
    /// at once.
    fn pause(&self, failures: u32) -> Duration {
        let whole = self.tempo.first.saturating_mul(1 << failures.min(16)).min(self.tempo.longest);
        whole.mul_f64(0.5 + chance() / 2.0)
    }

    fn stands(&self, standing: Standing) {
        self.standing.send_replace(standing);
    }
}

/// Answers what people do, some of it at once.
async fn answer(mut waiting: mpsc::Receiver<Interaction>, client: &Client, hub: &dyn HubHandle) {
    let mut answers = FuturesUnordered::new();
    loop {
        tokio::select! {
            one = waiting.recv(), if answers.len() < AT_ONCE => match one {
                Some(one) => answers.push(one.answer(client, hub)),
                None => break,
            },
            Some(()) = answers.next() => {}
        }
    }
    while answers.next().await.is_some() {}
}

const ELSEWHERE: &str = "no form can be opened: the application has an Interactions Endpoint URL, and Discord sends what people press there; clear it in the developer portal";

const NOT_UP: &str = "the connection to Discord's Gateway is not open";

/// A day, over which sessions are counted.
const LONGEST_RESET: Duration = Duration::from_hours(24);

/// From zero to one.
fn chance() -> f64 {
    f64::from(u32::from_le_bytes(random::bytes())) / f64::from(u32::MAX)
}
