//! Keeps the connection: what follows an end, and when a session may begin.

use std::time::Duration;

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use reqwest::Method;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until, timeout},
};

use super::{
    handle::{Gateway, Standing},
    interactions::Interaction,
    session::{End, Line},
    socket::Socket,
    told::Ear,
};
use crate::channels::{
    Failure,
    discord::{client::Client, presence::Presence},
    hub_handle::HubHandle,
    kit::{
        pause::ordered,
        rest::{kind_by, rest},
    },
};

/// How long Discord may take to say where its Gateway is.
const PATIENCE: Duration = Duration::from_secs(10);

/// Presses and filled-in forms that may wait, and that are answered at once. Of more than that Discord tells the person that
/// nothing came of it.
const WAITING: usize = 64;
const AT_ONCE: usize = 8;

/// A connection that lasted this long was a good one: what follows it is no repetition.
const GOOD: Duration = Duration::from_mins(10);

/// A day, over which sessions are counted.
const LONGEST_RESET: Duration = Duration::from_hours(24);

impl Gateway {
    /// Keeps the connection, until nothing would change any more.
    pub(in super::super) async fn keep(
        &self,
        client: &Client,
        hub: &dyn HubHandle,
        presence: Option<Presence>,
        ear: Option<Ear>,
    ) {
        let Some(orders) = self.taken() else {
            return;
        };
        let (pressed, interactions) = mpsc::channel(WAITING);
        let line = Line::new(self, client, orders, pressed, presence, ear);
        // What people do is answered beside the connection, which meanwhile must not miss a beat.
        tokio::join!(self.connected(client, hub, line), answer(interactions, client, hub));
    }

    async fn connected(&self, client: &Client, hub: &dyn HubHandle, mut line: Line<'_>) {
        let (mut failures, mut identified) = (0, None::<Instant>);
        self.stands(Standing::Away("it is being opened".into()));
        loop {
            let begun = Instant::now();
            let end = match line.session() {
                Some(session) => match Socket::open(client, &session.url).await {
                    Ok(socket) => line.converse(socket).await,
                    // With the session goes what was said meanwhile: it may be the network.
                    Err(why) if line.receives() => End::Broken(why),
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
                    hub.rest(self.tempo.longest).await;
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
                End::Broken(why) => {
                    if line.leads_nowhere() {
                        line.forget();
                    }
                    (why, Duration::ZERO)
                }
            };
            if begun.elapsed() > GOOD {
                failures = 0;
            }
            tracing::info!(account = self.account, why, "the connection to Discord's Gateway ended");
            self.stands(Standing::Away(why));
            rest(hub, kind_by(at_least), at_least.max(self.tempo.pause(failures))).await;
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
            Ok(Err(Failure::Wait { after, why })) => {
                let (after, why) = ordered(after, why);
                return Err(End::Wait(why, after));
            }
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
