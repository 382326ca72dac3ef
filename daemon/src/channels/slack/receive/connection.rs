//! Connections: asked for, opened, and what follows the end of one. Where Slack asks for another one, that is opened before the
//! old one ends, so that somebody hears all the time.

use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use reqwest::header::CONTENT_TYPE;
use tokio::{sync::mpsc, time::Instant};

use super::{Listener, line::End, reception::Told};
use crate::channels::{
    Failure, RateHints,
    hub_handle::HubHandle,
    kit::{
        http::Verdict,
        pause::ordered,
        rest::rest,
        websocket::{self, WebSocket},
    },
    limits::Scope,
    slack::{
        client::{Client, Me},
        refusal::{Outcome, Refusal, decode},
    },
};

/// How long Slack may take to say where a connection begins.
const PATIENCE: Duration = Duration::from_secs(15);

/// The longest text that is read, in bytes. A message has 40,000 characters
/// (<https://docs.slack.dev/reference/methods/chat.postMessage>, `text`), which stand in it twice, and when it is changed four times.
const MAX_TEXT: usize = 2 * 1024 * 1024;

/// A connection that lasted so long was a good one: what follows it is no repetition.
const GOOD: Duration = Duration::from_secs(10);

/// Why none is open.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Trouble {
    /// It may go in a while.
    Away(String),
    /// Not before this time.
    Wait(String, Duration),
    /// Somebody must do something.
    Refused(String),
}

impl Listener {
    /// Keeps a connection open until the hub stops.
    pub(super) async fn connected(
        &self,
        client: &Client,
        hub: &dyn HubHandle,
        me: &Me,
        told: mpsc::Sender<Told>,
    ) {
        // One line is enough: whoever asks twice asks for the same.
        let (renew, mut renewed) = mpsc::channel(1);
        let mut lines = FuturesUnordered::new();
        let mut opening = Some(self.open_after(client, hub, ("away", Duration::ZERO)));
        let (mut failures, mut opened_at) = (0, Instant::now());
        loop {
            let open = async {
                match &mut opening {
                    Some(opening) => opening.await,
                    None => std::future::pending().await,
                }
            };
            let pause = tokio::select! {
                opened = open => {
                    opening = None;
                    match opened {
                        Ok(socket) => {
                            opened_at = Instant::now();
                            lines.push(self.hold(socket, me, told.clone(), renew.clone()));
                            continue;
                        }
                        Err(trouble) => self.troubled(trouble, failures, lines.is_empty()),
                    }
                }
                Some(()) = renewed.recv() => {
                    if opening.is_none() {
                        // Slack asks for it, so it is no failure; one that it asks for at once, again and again, would be.
                        if opened_at.elapsed() > self.tempo.first {
                            opening = Some(self.open_after(client, hub, ("away", Duration::ZERO)));
                            continue;
                        }
                        ("limited", self.tempo.pause(failures))
                    } else {
                        continue;
                    }
                }
                Some(end) = lines.next(), if !lines.is_empty() => {
                    let trouble = match end {
                        End::Left => return,
                        End::Refused(why) => Trouble::Refused(why),
                        End::Broken(why) => Trouble::Away(why),
                        End::Replaced => Trouble::Away("Slack has closed the connection, and another one is not open yet".into()),
                    };
                    if !lines.is_empty() || opening.is_some() {
                        continue;
                    }
                    if opened_at.elapsed() > GOOD {
                        failures = 0;
                    }
                    self.troubled(trouble, failures, true)
                }
            };
            failures += 1;
            opening = Some(self.open_after(client, hub, pause));
        }
    }

    /// Notes why nothing is open, if nothing is; the kind, and how long to wait.
    fn troubled(&self, trouble: Trouble, failures: u32, nothing_is_open: bool) -> (&'static str, Duration) {
        let pause = self.tempo.pause(failures);
        let (kind, why, pause) = match trouble {
            Trouble::Away(why) => ("away", why, pause),
            Trouble::Wait(why, after) => {
                let (after, why) = ordered(after.min(self.tempo.refused), why);
                ("limited", why, pause.max(after))
            }
            Trouble::Refused(why) => ("refused", why, self.tempo.refused),
        };
        if nothing_is_open {
            self.standing.away(kind, why);
        }
        (kind, pause)
    }

    fn open_after<'a>(
        &'a self,
        client: &'a Client,
        hub: &'a dyn HubHandle,
        (kind, pause): (&'static str, Duration),
    ) -> BoxFuture<'a, Result<WebSocket, Trouble>> {
        async move {
            rest(hub, kind, pause).await;
            let url = self.address(client).await?;
            let no_address =
                || Trouble::Away("Slack names no address that can be used; check base_url".into());
            let url = websocket::address(&url, client.base.is_plain()).ok_or_else(no_address)?;
            let request = self.app.client.get(url);
            WebSocket::open(&self.app, request, "Slack", MAX_TEXT).await.map_err(Trouble::Away)
        }
        .boxed()
    }

    /// Where one connection may begin, once (<https://docs.slack.dev/reference/methods/apps.connections.open>).
    async fn address(&self, client: &Client) -> Result<String, Trouble> {
        let hints = &mut RateHints::default();
        let request = self.app.client.post(client.base.at(&["apps.connections.open"]));
        let request = request
            .bearer_auth(self.app.token().expose())
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        let answer = match self.app.ask_within(request, PATIENCE, hints).await {
            Ok(answer) => answer,
            Err(silence) => return Err(Trouble::Away(Failure::from(silence).to_string())),
        };
        let word = Refusal::of(&answer).map(|refusal| refusal.error).unwrap_or_default();
        if word == "not_allowed_token_type" {
            let why = "app_token is no app-level token: use the one that begins with xapp-";
            return Err(Trouble::Refused(why.into()));
        }
        let failure = match decode(&self.app.reader(), &answer, Scope::Account) {
            Ok(Outcome::Yes(said)) => match said["url"].as_str() {
                Some(url) => return Ok(url.to_owned()),
                None => Failure::Retry("Slack does not say where a connection begins; check base_url".into()),
            },
            Ok(Outcome::Already) => Failure::Retry("Slack opens no connection".into()),
            Err(Verdict::Token(_)) => {
                self.app.refused(format!("app-level token rejected: Slack answered {word}"))
            }
            Err(verdict) => self.app.settle(verdict, hints),
        };
        Err(match failure {
            Failure::Permanent(why) => Trouble::Refused(why),
            Failure::Wait { after, why } => Trouble::Wait(why, after),
            failure => Trouble::Away(failure.to_string()),
        })
    }
}
