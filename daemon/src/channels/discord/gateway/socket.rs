//! The WebSocket under the Gateway: opened by the hub's one HTTP client, and bounded.
//!
//! The client makes the connection, its TLS and its first request, as it does for everything else; from the answer "101"
//! on, the connection is a WebSocket's (RFC 6455). What comes over it is text, at most so much of it at once, and
//! everything that is done takes so long at most.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use futures_util::{SinkExt as _, StreamExt as _};
use reqwest::{
    StatusCode, Upgraded, Url, Version,
    header::{
        CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE, USER_AGENT,
    },
};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use serde_json::Value;
use tokio::time::timeout;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message,
        protocol::{CloseFrame, Role, WebSocketConfig, frame::coding::CloseCode},
    },
};

use super::payload::Event;
use crate::{
    cause::innermost,
    channels::discord::client::{AGENT, Client},
    random,
};

/// How long it may take until a connection is open, and an event written.
const PATIENCE: Duration = Duration::from_secs(20);

/// The longest event that is read, in bytes. Without intents the longest is the first one, which names the bot's servers: two
/// and a half thousand at most for one connection (<https://docs.discord.com/developers/events/gateway#sharding>).
const MAX_EVENT: usize = 1024 * 1024;

/// Any but 1000 and 1001, which would end the session
/// (<https://docs.discord.com/developers/events/gateway#initiating-a-disconnect>).
pub(super) const COMING_BACK: u16 = 4000;

/// It ends the session, and the bot is shown offline at once and not when Discord misses a heartbeat (the same page). No session
/// outlives the hub: the next start begins one of its own.
pub(super) const LEAVING: u16 = 1000;

/// An open connection.
pub(super) struct Socket(WebSocketStream<Upgraded>);

/// What is heard over it.
#[derive(Debug)]
pub(super) enum Heard {
    /// An event.
    Event(Event),
    /// It is closed, with a code and words where Discord gives them.
    Closed(Option<(u16, String)>),
    /// It broke, or what came is no event.
    Broken(String),
}

impl Socket {
    /// Opens one at the address that Discord gave.
    pub(super) async fn open(client: &Client, address: &str) -> Result<Self, String> {
        let (url, key) = (at(client, address)?, STANDARD.encode(random::bytes::<16>()));
        let request = client
            .http
            .client
            .get(url)
            .version(Version::HTTP_11)
            .header(USER_AGENT, AGENT)
            .header(CONNECTION, "Upgrade")
            .header(UPGRADE, "websocket")
            .header(SEC_WEBSOCKET_VERSION, "13")
            .header(SEC_WEBSOCKET_KEY, &key)
            .timeout(PATIENCE);
        let failed = |error: reqwest::Error| {
            let error = error.without_url();
            client.http.words(&format!("cannot connect to Discord's Gateway: {}", innermost(&error)))
        };
        let opened = async {
            let response = request.send().await.map_err(failed)?;
            let (status, accepted) = (response.status(), response.headers().get(SEC_WEBSOCKET_ACCEPT));
            let is_ours = accepted.is_some_and(|accepted| accepted.as_bytes() == accepting(&key).as_bytes());
            if status != StatusCode::SWITCHING_PROTOCOLS || !is_ours {
                return Err(format!("Discord's Gateway answered {} and opens no WebSocket", status.as_u16()));
            }
            response.upgrade().await.map_err(failed)
        };
        let late = |_| "Discord's Gateway does not answer".to_owned();
        let stream = timeout(PATIENCE, opened).await.map_err(late)??;
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_EVENT))
            .max_frame_size(Some(MAX_EVENT))
            .read_buffer_size(16 * 1024)
            .write_buffer_size(0)
            .max_write_buffer_size(64 * 1024);
        Ok(Self(WebSocketStream::from_raw_socket(stream, Role::Client, Some(config)).await))
    }

    /// Sends an event; when this returns it has left.
    pub(super) async fn send(&mut self, event: &Value) -> Result<(), String> {
        let sent = timeout(PATIENCE, self.0.send(Message::text(event.to_string()))).await;
        match sent {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(format!("the connection broke: {}", innermost(&error))),
            Err(_) => Err("Discord's Gateway takes nothing more".into()),
        }
    }

    /// What comes next. May be dropped at any time without losing anything.
    pub(super) async fn hear(&mut self) -> Heard {
        loop {
            return match self.0.next().await {
                Some(Ok(Message::Text(text))) => match serde_json::from_str(&text) {
                    Ok(event) => Heard::Event(event),
                    Err(_) => Heard::Broken("Discord's Gateway sent what is no event".into()),
                },
                Some(Ok(Message::Close(frame))) => {
                    Heard::Closed(frame.map(|frame| (frame.code.into(), frame.reason.to_string())))
                }
                Some(Ok(Message::Binary(_))) => {
                    Heard::Broken("Discord's Gateway sent what is no text".into())
                }
                // They are answered beneath.
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
                Some(Err(error)) => Heard::Broken(format!("the connection broke: {}", innermost(&error))),
                None => Heard::Closed(None),
            };
        }
    }

    /// Closes it, to come back or not.
    pub(super) async fn close(mut self, code: u16) {
        let frame = CloseFrame { code: CloseCode::from(code), reason: "".into() };
        // Whoever does not listen any more need not be told.
        let _ = timeout(Duration::from_secs(1), self.0.close(Some(frame))).await;
    }
}

/// The address behind which a WebSocket is, as HTTP has it. Without TLS only where the account's own requests are without.
fn at(client: &Client, address: &str) -> Result<Url, String> {
    let no_address = || "Discord says no address of its Gateway that can be used; check base_url".to_owned();
    let mut url = Url::parse(address).map_err(|_| no_address())?;
    let scheme = match url.scheme() {
        "wss" => "https",
        "ws" if client.base.is_plain() => "http",
        _ => return Err(no_address()),
    };
    url.set_scheme(scheme).map_err(|()| no_address())?;
    // <https://docs.discord.com/developers/events/gateway#connecting>.
    url.query_pairs_mut().clear().append_pair("v", "10").append_pair("encoding", "json");
    Ok(url)
}

/// What a server says to a key (RFC 6455 §4.2.2): that it is one for WebSockets. Nothing is secured by it.
pub(super) fn accepting(key: &str) -> String {
    let text = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        channels::{kit::http::base::Base, testing::http::http},
        settings::secret::Secret,
    };

    #[test]
    fn a_server_says_to_a_key_what_the_standard_says() {
        // RFC 6455 §1.3.
        assert_eq!(accepting("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

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
