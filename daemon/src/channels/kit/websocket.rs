//! A WebSocket to a platform: opened by the hub's one HTTP client, and bounded.
//!
//! The client makes the connection, its TLS and its first request, as it does for everything else; from the answer "101"
//! on, the connection is a WebSocket's (RFC 6455). What comes over it is text, at most so much of it at once, and
//! everything that is done takes so long at most.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use futures_util::{SinkExt as _, StreamExt as _};
use reqwest::{
    RequestBuilder, StatusCode, Upgraded, Url, Version,
    header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE},
};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use tokio::time::timeout;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Error, Message, Utf8Bytes,
        error::CapacityError,
        protocol::{CloseFrame, Role, WebSocketConfig, frame::coding::CloseCode},
    },
};

use super::http::Http;
use crate::{cause::innermost, random};

/// How long it may take until a connection is open, and a text written.
const PATIENCE: Duration = Duration::from_secs(20);

/// An open connection.
pub struct WebSocket {
    stream: WebSocketStream<Upgraded>,
    /// Who is at the other end, for people: `Discord's Gateway`.
    peer: &'static str,
}

/// What is heard over it.
#[derive(Debug)]
pub enum Heard {
    /// A text, as it came: it is copied nowhere.
    Text(Utf8Bytes),
    /// A text that is longer than any that is read. Nothing more comes over this connection.
    TooLong,
    /// Nothing but that somebody is there: a ping, or the answer to one.
    Sign,
    /// It is closed, with a code and words where the platform gives them.
    Closed(Option<(u16, String)>),
    /// It broke, or what came is no text.
    Broken(String),
}

impl WebSocket {
    /// Opens one by this request, over which no text comes that is longer than `most` bytes.
    ///
    /// # Errors
    /// The platform opens none; in words.
    pub async fn open(
        http: &Http,
        request: RequestBuilder,
        peer: &'static str,
        most: usize,
    ) -> Result<Self, String> {
        let key = STANDARD.encode(random::bytes::<16>());
        let request = request
            .version(Version::HTTP_11)
            .header(CONNECTION, "Upgrade")
            .header(UPGRADE, "websocket")
            .header(SEC_WEBSOCKET_VERSION, "13")
            .header(SEC_WEBSOCKET_KEY, &key)
            .timeout(PATIENCE);
        let failed = |error: reqwest::Error| {
            let error = error.without_url();
            http.words(&format!("cannot connect to {peer}: {}", innermost(&error)))
        };
        let opened = async {
            let response = request.send().await.map_err(failed)?;
            let (status, accepted) = (response.status(), response.headers().get(SEC_WEBSOCKET_ACCEPT));
            let is_ours = accepted.is_some_and(|accepted| accepted.as_bytes() == accepting(&key).as_bytes());
            if status != StatusCode::SWITCHING_PROTOCOLS || !is_ours {
                return Err(format!("{peer} answered {} and opens no WebSocket", status.as_u16()));
            }
            response.upgrade().await.map_err(failed)
        };
        let late = |_| format!("{peer} does not answer");
        let stream = timeout(PATIENCE, opened).await.map_err(late)??;
        let config = WebSocketConfig::default()
            .max_message_size(Some(most))
            .max_frame_size(Some(most))
            .read_buffer_size(16 * 1024)
            .write_buffer_size(0)
            .max_write_buffer_size(64 * 1024);
        Ok(Self { stream: WebSocketStream::from_raw_socket(stream, Role::Client, Some(config)).await, peer })
    }

    /// Sends a text; when this returns it has left.
    ///
    /// # Errors
    /// The connection broke.
    pub async fn send(&mut self, text: String) -> Result<(), String> {
        self.say(Message::text(text)).await
    }

    /// Asks whether somebody is there.
    ///
    /// # Errors
    /// The connection broke.
    pub async fn ping(&mut self) -> Result<(), String> {
        self.say(Message::Ping(bytes::Bytes::new())).await
    }

    async fn say(&mut self, message: Message) -> Result<(), String> {
        match timeout(PATIENCE, self.stream.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(format!("the connection broke: {}", innermost(&error))),
            Err(_) => Err(format!("{} takes nothing more", self.peer)),
        }
    }

    /// What comes next. May be dropped at any time without losing anything. Pings are answered beneath.
    pub async fn hear(&mut self) -> Heard {
        match self.stream.next().await {
            Some(Ok(Message::Text(text))) => Heard::Text(text),
            Some(Ok(Message::Close(frame))) => {
                Heard::Closed(frame.map(|frame| (frame.code.into(), frame.reason.to_string())))
            }
            Some(Ok(Message::Binary(_))) => Heard::Broken(format!("{} sent what is no text", self.peer)),
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => Heard::Sign,
            Some(Err(Error::Capacity(CapacityError::MessageTooLong { .. }))) => Heard::TooLong,
            Some(Err(error)) => Heard::Broken(format!("the connection broke: {}", innermost(&error))),
            None => Heard::Closed(None),
        }
    }

    /// Closes it with a code.
    pub async fn close(mut self, code: u16) {
        let frame = CloseFrame { code: CloseCode::from(code), reason: "".into() };
        // Whoever does not listen any more need not be told.
        let _ = timeout(Duration::from_secs(1), self.stream.close(Some(frame))).await;
    }
}

/// The address behind which a WebSocket is, as HTTP has it; none without TLS, but where that `may_be_plain`.
pub fn address(text: &str, may_be_plain: bool) -> Option<Url> {
    let mut url = Url::parse(text).ok()?;
    let scheme = match url.scheme() {
        "wss" => "https",
        "ws" if may_be_plain => "http",
        _ => return None,
    };
    url.set_scheme(scheme).ok().map(|()| url)
}

/// What a server says to a key (RFC 6455 §4.2.2): that it is one for WebSockets. Nothing is secured by it.
pub fn accepting(key: &str) -> String {
    let text = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_says_to_a_key_what_the_standard_says() {
        // RFC 6455 §1.3.
        assert_eq!(accepting("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn without_tls_it_goes_only_where_that_is_allowed() {
        let at = |text, plain| address(text, plain).map(|url| url.to_string());
        assert_eq!(at("wss://a.test/link/?ticket=1", false).unwrap(), "https://a.test/link/?ticket=1");
        assert_eq!(at("ws://127.0.0.1:1", true).unwrap(), "http://127.0.0.1:1/");
        for other in ["ws://a.test", "https://a.test", "a.test", ""] {
            assert_eq!(at(other, false), None, "{other}");
        }
    }
}
