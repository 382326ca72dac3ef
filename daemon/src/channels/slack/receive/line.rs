//! One connection, from its greeting to its end.
//!
//! Slack greets; then it hands out events, and pings. Whoever hears nothing for a while, not even an answer to a ping of
//! their own, is on a dead line and hangs up.

use std::sync::atomic::Ordering;

use serde_json::json;
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval},
};

use super::{
    Listener,
    envelope::{self, Came},
    reception::{Ack, Told},
};
use crate::channels::{
    kit::websocket::{Heard, WebSocket},
    slack::client::Me,
};

/// Acknowledgements that wait to be sent.
const ACKS: usize = 512;

/// What ends a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// It broke, or Slack closed it.
    Broken(String),
    /// Slack has asked for another one, which took its place.
    Replaced,
    /// Another one would end in the same way: somebody must do something.
    Refused(String),
    /// The hub stops.
    Left,
}

/// What one connection knows.
struct Line<'a> {
    listener: &'a Listener,
    me: &'a Me,
    told: mpsc::Sender<Told>,
    /// Whoever is told this opens another one.
    renew: mpsc::Sender<()>,
    acks: mpsc::Sender<String>,
    greeted: bool,
    /// Since when another one is asked for.
    retiring: Option<Instant>,
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        if self.greeted {
            self.listener.up.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Listener {
    /// Holds a connection for as long as it lasts.
    pub(super) async fn hold(
        &self,
        mut socket: WebSocket,
        me: &Me,
        told: mpsc::Sender<Told>,
        renew: mpsc::Sender<()>,
    ) -> End {
        let (acks, acked) = mpsc::channel(ACKS);
        let mut line = Line { listener: self, me, told, renew, acks, greeted: false, retiring: None };
        // As long as this is there, whoever leaves waits.
        let mut leaving = self.leaving.subscribe();
        let end = tokio::select! {
            end = line.converse(&mut socket, acked) => end,
            _ = leaving.wait_for(|&leaving| leaving) => End::Left,
        };
        drop(line);
        // RFC 6455 §7.4.1: it has done what it was for.
        socket.close(1000).await;
        end
    }
}

impl Line<'_> {
    async fn converse(&mut self, socket: &mut WebSocket, mut acked: mpsc::Receiver<String>) -> End {
        let tempo = self.listener.tempo;
        let mut beat = interval(tempo.ping);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heard_at = Instant::now();
        loop {
            tokio::select! {
                heard = socket.hear() => {
                    heard_at = Instant::now();
                    if let Some(end) = self.take(heard) {
                        return end;
                    }
                }
                Some(id) = acked.recv() => {
                    // <https://docs.slack.dev/apis/events-api/using-socket-mode#acknowledge>.
                    if let Err(why) = socket.send(json!({ "envelope_id": id }).to_string()).await {
                        return self.ended(why);
                    }
                }
                _ = beat.tick() => {
                    if heard_at.elapsed() > tempo.silence {
                        return self.ended("Slack says nothing any more".into());
                    }
                    if self.retiring.is_some_and(|since| since.elapsed() > tempo.linger) {
                        return End::Replaced;
                    }
                    if let Err(why) = socket.ping().await {
                        return self.ended(why);
                    }
                }
            }
        }
    }

    /// What is heard, and the end if it is one.
    fn take(&mut self, heard: Heard) -> Option<End> {
        let text = match heard {
            Heard::Text(text) => text,
            Heard::Sign => return None,
            Heard::Closed(None) => return Some(self.ended("Slack hung up".into())),
            Heard::Closed(Some((code, said))) => {
                return Some(self.ended(format!("Slack closed the connection with {code}: {said}")));
            }
            Heard::TooLong => return Some(self.ended("Slack says more at once than is read".into())),
            Heard::Broken(why) => return Some(self.ended(why)),
        };
        match envelope::read(&text, self.me) {
            Came::Hello(connections) => self.is_greeted(connections),
            Came::Disconnect(reason) => return self.is_asked_to_leave(&reason),
            Came::Event(id, content) => {
                let ack = id.map(|id| Ack { id, to: self.acks.clone() });
                if self.told.try_send(Told::Event(content, ack)).is_err() {
                    // Nothing is acknowledged, so it comes again; if there is no room then either, its conversation is asked.
                    self.listener.overflowed.store(true, Ordering::Relaxed);
                }
            }
        }
        None
    }

    fn is_greeted(&mut self, connections: Option<u64>) {
        if std::mem::replace(&mut self.greeted, true) {
            return;
        }
        let ours = self.listener.up.fetch_add(1, Ordering::Relaxed) + 1;
        self.listener.standing.receives();
        if connections.is_some_and(|all| all > ours as u64) {
            // Slack gives each event to one of them. One of the hub's own that was cut off may be counted for a while.
            tracing::info!(
                account = self.listener.account,
                connections,
                "the app has other connections to Slack: another program of it would take some of the events"
            );
        }
        if ours == 1 && self.told.try_send(Told::Gap).is_err() {
            self.listener.overflowed.store(true, Ordering::Relaxed);
        }
    }

    /// <https://docs.slack.dev/apis/events-api/using-socket-mode#disconnect>.
    fn is_asked_to_leave(&mut self, reason: &str) -> Option<End> {
        match reason {
            "link_disabled" => Some(End::Refused(
                "Socket Mode is switched off: switch it on in the app's settings at Slack".into(),
            )),
            "too_many_websockets" => Some(End::Refused(
                "the app has as many connections to Slack as it may have: end the other programs that use its app-level token"
                    .into(),
            )),
            // "warning" some seconds before the end, and "refresh_requested"; any other that there may be ends it as well.
            _ => {
                self.retiring.get_or_insert_with(Instant::now);
                // It has been asked for already, where there is no room.
                let _ = self.renew.try_send(());
                None
            }
        }
    }

    fn ended(&self, why: String) -> End {
        if self.retiring.is_some() {
            return End::Replaced;
        }
        End::Broken(self.listener.app.words(&why))
    }
}
