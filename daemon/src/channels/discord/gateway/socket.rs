//! The WebSocket under the Gateway, and the events that come over it.

use reqwest::{Url, header::USER_AGENT};
use serde_json::Value;

use super::payload::{Event, MAX_WHOLE};
use crate::channels::{
    discord::client::{AGENT, Client},
    kit::websocket::{self, WebSocket},
};

/// The longest event that is taken at all, in bytes. It stands in memory once, and of one that is longer than [`MAX_WHOLE`] only what
/// is used is read.
const MAX_EVENT: usize = 16 * 1024 * 1024;

/// Any but 1000 and 1001, which would end the session
/// (<https://docs.discord.com/developers/events/gateway#initiating-a-disconnect>).
pub(super) const COMING_BACK: u16 = 4000;

/// It ends the session, and the bot is shown offline at once and not when Discord misses a heartbeat (the same page). No session
/// outlives the hub: the next start begins one of its own.
pub(super) const LEAVING: u16 = 1000;

/// An open connection.
pub(super) struct Socket {
    stream: WebSocket,
    /// Whether an event came for which its buffer has grown: that stays as long as the connection.
    is_swollen: bool,
}

/// What is heard over it.
#[derive(Debug)]
pub(super) enum Heard {
    /// An event.
    Event(Event),
    /// It is closed, with a code and words where Discord gives them.
    Closed(Option<(u16, String)>),
    /// An event that is too long, and so the connection is over.
    TooLong,
    /// It broke, or what came is no event.
    Broken(String),
}

impl Socket {
    /// Opens one at the address that Discord gave.
    pub(super) async fn open(client: &Client, address: &str) -> Result<Self, String> {
        let request = client.http.client.get(at(client, address)?).header(USER_AGENT, AGENT);
        let stream = WebSocket::open(&client.http, request, "Discord's Gateway", MAX_EVENT).await?;
        Ok(Self { stream, is_swollen: false })
    }

    /// Sends an event; when this returns it has left.
    pub(super) async fn send(&mut self, event: &Value) -> Result<(), String> {
        self.stream.send(event.to_string()).await
    }

    /// Whether the connection is better made anew, for what it keeps in memory.
    pub(super) fn is_swollen(&self) -> bool {
        self.is_swollen
    }

    /// What comes next. May be dropped at any time without losing anything.
    pub(super) async fn hear(&mut self) -> Heard {
        loop {
            return match self.stream.hear().await {
                websocket::Heard::Text(text) => {
                    self.is_swollen |= text.len() > MAX_WHOLE;
                    match Event::read(&text) {
                        Some(event) => Heard::Event(event),
                        None => Heard::Broken("Discord's Gateway sent what is no event".into()),
                    }
                }
                websocket::Heard::TooLong => Heard::TooLong,
                // Discord has heartbeats of its own.
                websocket::Heard::Sign => continue,
                websocket::Heard::Closed(closed) => Heard::Closed(closed),
                websocket::Heard::Broken(why) => Heard::Broken(why),
            };
        }
    }

    /// Closes it, to come back or not.
    pub(super) async fn close(self, code: u16) {
        self.stream.close(code).await;
    }
}

/// The address behind which a WebSocket is, as HTTP has it. Without TLS only where the account's own requests are without.
fn at(client: &Client, address: &str) -> Result<Url, String> {
    let mut url = websocket::address(address, client.base.is_plain()).ok_or_else(|| {
        "Discord says no address of its Gateway that can be used; check base_url".to_owned()
    })?;
    // <https://docs.discord.com/developers/events/gateway#connecting>.
    url.query_pairs_mut().clear().append_pair("v", "10").append_pair("encoding", "json");
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        channels::{kit::http::base::Base, testing::http::http},
        settings::secret::Secret,
    };

    #[test]
    fn without_tls_it_goes_only_where_the_account_does() {
        let client = |base| Client::new(http(), Base::parse("base_url", base).unwrap(), Secret::from("t"));
        let at = |base, address| at(&client(base), address).map(|url| url.to_string());
        let discord = "https://discord.com/api/v10";
        assert_eq!(
            at(discord, "wss://gateway-us.discord.gg/?x=1").unwrap(),
            "https://gateway-us.discord.gg/?v=10&encoding=json"
        );
        assert_eq!(
            at("http://127.0.0.1:1", "ws://127.0.0.1:1").unwrap(),
            "http://127.0.0.1:1/?v=10&encoding=json"
        );
        for other in ["ws://gateway.discord.gg", "https://gateway.discord.gg", "gateway.discord.gg", ""] {
            assert!(at(discord, other).is_err(), "{other}");
        }
    }
}
