//! What people do at Slack, as Socket Mode tells it: read, written down, and only then acknowledged
//! (<https://docs.slack.dev/apis/events-api/using-socket-mode>).
//!
//! Slack waits three seconds for an acknowledgement, and then tells the event again: at once, after a minute, after five. Such
//! a repetition may be the only copy of what came while no connection was open, so none is left out for its age; by their keys
//! the router knows those that came before. A connection must always be heard, and a hub whose disk is full may keep an
//! event waiting: so connections hand over and go on, and one task reads in order. What it has no room for is not
//! acknowledged; what Slack gives up meanwhile is asked for, conversation by conversation.
//!
//! - [`envelope`]: what comes over a connection; [`reader`]: what it brings, as a [`draft`], by what stands in it alone:
//!   [`message`] and those that are [`shared`] in it, [`press`], and their text, [`mrkdwn`];
//! - [`directory`]: what people and conversations are called; [`files`]: files, fetched at once;
//! - [`known`]: how far each conversation is read; [`backlog`]: what was said in a gap; [`held`]: what waits for that;
//! - [`reception`]: the task that reads; [`connection`]: connections, and what follows the end of one; [`line`]: one of them.

mod backlog;
mod connection;
mod directory;
mod draft;
mod envelope;
mod files;
mod held;
mod known;
mod line;
mod message;
mod mrkdwn;
mod press;
pub mod reader;
mod reception;
mod shared;
#[cfg(test)]
mod tests;

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize},
    },
    time::Duration,
};

use tokio::sync::{mpsc, watch};

use self::{directory::Directory, known::Known, reception::Reception};
use super::client::Client;
use crate::channels::{
    Failure,
    hub_handle::HubHandle,
    kit::{
        http::{Http, token::Token},
        pause::{ordered, pause},
        rest::rest,
        standing::Standing,
    },
    receiver::Hearing,
};

/// Events that wait to be read.
const WAITING: usize = 64;

/// How fast things go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tempo {
    /// After the first failure; it doubles.
    pub(super) first: Duration,
    /// At most.
    pub(super) longest: Duration,
    /// Where somebody has to do something.
    pub(super) refused: Duration,
    /// Between two questions whether Slack is there.
    pub(super) ping: Duration,
    /// A connection over which nothing was heard for so long is a dead one.
    pub(super) silence: Duration,
    /// So long a connection is heard after Slack has asked for another one, if it does not close it itself.
    pub(super) linger: Duration,
    /// Between two times that all conversations are asked.
    pub(super) between: Duration,
    /// So long something new waits for what was said before it.
    pub(super) patience: Duration,
}

impl Tempo {
    /// Slack counts how often a connection is asked for: a few times a minute is allowed
    /// (<https://docs.slack.dev/reference/methods/apps.connections.open>, tier 1).
    pub(super) const USUAL: Self = Self {
        first: Duration::from_secs(2),
        longest: Duration::from_mins(1),
        refused: Duration::from_mins(5),
        ping: Duration::from_secs(5),
        silence: Duration::from_secs(20),
        linger: Duration::from_secs(30),
        between: Duration::from_secs(30),
        patience: Duration::from_secs(20),
    };

    /// How long to wait after so many failures.
    fn pause(&self, failures: u32) -> Duration {
        pause(self.first, self.longest, failures)
    }
}

/// What keeps an account receiving.
pub(super) struct Listener {
    account: String,
    /// With the app-level token, which opens connections and does nothing else.
    app: Http,
    tempo: Tempo,
    standing: Standing,
    directory: Directory,
    /// What was said in a gap and cannot be read, in words.
    missed: Mutex<Option<String>>,
    /// Whether there was no room for an event since the conversations were asked last.
    overflowed: AtomicBool,
    /// Connections that are open.
    up: AtomicUsize,
    /// Whether the hub stops.
    leaving: watch::Sender<bool>,
}

impl Listener {
    pub(super) fn new(account: &str, http: reqwest::Client, token: impl Into<Token>, tempo: Tempo) -> Self {
        Self {
            account: account.to_owned(),
            app: Http::new(http, "Slack", token),
            tempo,
            standing: Standing::new("Slack", account),
            directory: Directory::default(),
            missed: Mutex::default(),
            overflowed: AtomicBool::new(false),
            up: AtomicUsize::new(0),
            leaving: watch::Sender::new(false),
        }
    }

    /// What there is to say of it to who asks whether the account is ready.
    pub(super) fn trouble(&self) -> Vec<String> {
        let missed = self.missed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.standing.trouble().into_iter().chain(missed).collect()
    }

    /// How the account hears.
    pub(super) fn hearing(&self) -> Hearing {
        let missed = self.missed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Hearing { ready, standing } = self.standing.hearing("receives");
        Hearing {
            ready,
            standing: missed.into_iter().fold(standing, |said, missed| format!("{said}; {missed}")),
        }
    }

    /// Receives for as long as the hub runs.
    pub(super) async fn listen(&self, client: &Client, hub: &dyn HubHandle) {
        let mut failures = 0;
        let me = loop {
            match client.me().await {
                Ok(me) => break me,
                Err(failure) => {
                    let why = failure.to_string();
                    let (kind, (pause, why)) = match &failure {
                        Failure::Permanent(_) => ("refused", (self.tempo.refused, why)),
                        Failure::Wait { after, .. } => {
                            ("limited", ordered((*after).max(self.tempo.first), why))
                        }
                        _ => ("away", (self.tempo.pause(failures), why)),
                    };
                    self.standing.away(kind, why);
                    rest(hub, kind, pause).await;
                    failures += 1;
                }
            }
        };
        let known = Known::read(hub, self.tempo).await;
        let (told, waiting) = mpsc::channel(WAITING);
        let reception = Reception::new(self, client, hub, &me, known);
        tokio::join!(self.connected(client, hub, &me, told), reception.run(waiting));
    }

    /// Closes what is open, and opens nothing more.
    pub(super) async fn leave(&self) {
        self.leaving.send_replace(true);
        self.leaving.closed().await;
    }
}
