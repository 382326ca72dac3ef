//! A Matrix homeserver: Synapse, the reference one.
//!
//! Loopback, SQLite, no federation. Everything here goes through the server's client-server API
//! (<https://spec.matrix.org/v1.16/client-server-api/>), as any client's requests do.

use std::{
    process::Command,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use ureq::http;

use super::{leash::Leash, ports};

/// Synapse takes about 4 s to start on a quiet machine; a busy one gets far more.
const START: Duration = Duration::from_secs(90);

/// How often a user may send.
struct MessageRate {
    per_second: &'static str,
    burst: &'static str,
}

/// A running homeserver named `hub.test`.
#[derive(Debug)]
pub struct Synapse {
    _leash: Leash,
    port: u16,
    http: ureq::Agent,
    transaction: AtomicU64,
}

/// A registered user.
#[derive(Debug, Clone)]
pub struct Account {
    /// `@name:hub.test`.
    pub user_id: String,
    /// What `Authorization: Bearer` carries.
    pub access_token: String,
}

impl Synapse {
    /// Starts a server that limits nobody.
    ///
    /// # Errors
    /// It is not installed, or did not come up; the error shows the end of its log.
    pub fn start() -> Result<Self> {
        ports::retrying(|| Self::start_with(&MessageRate { per_second: "10000", burst: "10000" }))
    }

    /// Starts a server that lets a user send two messages at once and one every two seconds, and answers the rest with
    /// status 429 and `retry_after_ms`.
    ///
    /// # Errors
    /// As [`Synapse::start`].
    pub fn start_limited() -> Result<Self> {
        ports::retrying(|| Self::start_with(&MessageRate { per_second: "0.5", burst: "2" }))
    }

    fn start_with(rate: &MessageRate) -> Result<Self> {
        let python = super::python()?;
        let dir = Leash::folder("synapse")?;
        let port = ports::free()?;
        let secret = random_base64()?;
        // The file that a server keeps its ed25519 key in: algorithm, key id, seed.
        std::fs::write(dir.path().join("signing.key"), format!("ed25519 a_test {secret}\n"))?;
        let config = dir.path().join("homeserver.yaml");
        let values = [
            ("DIR", dir.path().to_str().context("the temporary folder's path is not UTF-8")?),
            ("PORT", &port.to_string()),
            ("SECRET", &secret),
            ("MESSAGES_PER_SECOND", rate.per_second),
            ("MESSAGE_BURST", rate.burst),
        ];
        super::fill_in("synapse/homeserver.yaml", &config, &values)?;
        let server = [
            python.as_os_str(),
            "-m".as_ref(),
            "synapse.app.homeserver".as_ref(),
            "-c".as_ref(),
            config.as_ref(),
        ];
        let mut leash = Leash::start("synapse", dir, &server)?;
        let http = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(30)))
            .build()
            .new_agent();
        leash.wait_until(START, || {
            http.get(format!("http://127.0.0.1:{port}/_matrix/client/versions"))
                .call()
                .is_ok_and(|answer| answer.status().is_success())
        })?;
        Ok(Self { _leash: leash, port, http, transaction: AtomicU64::new(0) })
    }

    /// `http://127.0.0.1:PORT`, without a slash at its end.
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// One request to the client-server API: `path` follows `/_matrix/client/`. Returns status and body.
    ///
    /// # Errors
    /// No answer, or one that is not JSON. A refusal by the server is an answer.
    pub fn call(
        &self,
        method: &str,
        path: &str,
        token: Option<&str>,
        body: Option<&Value>,
    ) -> Result<(u16, Value)> {
        let mut request =
            http::Request::builder().method(method).uri(format!("{}/_matrix/client/{path}", self.base_url()));
        if let Some(token) = token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        let answer = match body {
            Some(body) => {
                self.http.run(request.header("Content-Type", "application/json").body(body.to_string())?)
            }
            None => self.http.run(request.body(())?),
        };
        let mut answer = answer.with_context(|| format!("synapse did not answer {method} {path}"))?;
        let body = answer.body_mut().read_to_string()?;
        let body = serde_json::from_str(&body)
            .with_context(|| format!("synapse answered {method} {path} with {body}"))?;
        Ok((answer.status().as_u16(), body))
    }

    fn expect(&self, method: &str, path: &str, token: Option<&str>, body: Option<&Value>) -> Result<Value> {
        let (status, answer) = self.call(method, path, token, body)?;
        ensure!(status == 200, "synapse answered {method} {path} with {status}: {answer}");
        Ok(answer)
    }

    /// Switches encryption on in a room, as a client does: for good.
    ///
    /// # Errors
    /// The server refused.
    pub fn encrypt(&self, token: &str, room: &str) -> Result<()> {
        let path = format!("v3/rooms/{room}/state/m.room.encryption");
        self.expect("PUT", &path, Some(token), Some(&json!({"algorithm": "m.megolm.v1.aes-sha2"})))?;
        Ok(())
    }

    /// Registers `@user:hub.test` and logs it in.
    ///
    /// # Errors
    /// The name is taken or not allowed.
    pub fn register(&self, user: &str, password: &str) -> Result<Account> {
        let request = json!({ "username": user, "password": password, "auth": { "type": "m.login.dummy" } });
        let answer = self.expect("POST", "v3/register", None, Some(&request))?;
        Ok(Account { user_id: text(&answer, "user_id")?, access_token: text(&answer, "access_token")? })
    }

    /// Creates a private room and returns its id.
    ///
    /// # Errors
    /// The server's refusal.
    pub fn create_room(&self, token: &str) -> Result<String> {
        text(
            &self.expect("POST", "v3/createRoom", Some(token), Some(&json!({ "preset": "private_chat" })))?,
            "room_id",
        )
    }

    /// Invites `user_id` into `room`, as the user of `token`.
    ///
    /// # Errors
    /// The server's refusal.
    pub fn invite(&self, token: &str, room: &str, user_id: &str) -> Result<()> {
        let path = format!("v3/rooms/{room}/invite");
        self.expect("POST", &path, Some(token), Some(&json!({ "user_id": user_id }))).map(drop)
    }

    /// Joins `room` as the user of `token`, who was invited.
    ///
    /// # Errors
    /// The server's refusal.
    pub fn join(&self, token: &str, room: &str) -> Result<()> {
        self.expect("POST", &format!("v3/rooms/{room}/join"), Some(token), Some(&json!({}))).map(drop)
    }

    /// Sends plain text to `room` as a person's client would, and returns the event's id.
    ///
    /// # Errors
    /// The server's refusal.
    pub fn send_text(&self, token: &str, room: &str, body: &str) -> Result<String> {
        let transaction = self.transaction.fetch_add(1, Ordering::Relaxed);
        let path = format!("v3/rooms/{room}/send/m.room.message/peer-{transaction}");
        let event = json!({ "msgtype": "m.text", "body": body });
        text(&self.expect("PUT", &path, Some(token), Some(&event))?, "event_id")
    }

    /// The bytes and the media type behind a `mxc:` address, as the user of `token` gets them.
    ///
    /// # Errors
    /// The server's refusal.
    pub fn download(&self, token: &str, address: &str) -> Result<(Vec<u8>, String)> {
        let path = address.strip_prefix("mxc://").context("not a mxc: address")?;
        let url = format!("{}/_matrix/client/v1/media/download/{path}", self.base_url());
        let mut answer = self.http.get(url).header("Authorization", format!("Bearer {token}")).call()?;
        ensure!(answer.status() == 200, "synapse answered {} to a download", answer.status());
        let kind =
            answer.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.to_owned();
        Ok((answer.body_mut().with_config().limit(64 * 1024 * 1024).read_to_vec()?, kind))
    }

    /// Every event in the timeline of `room` that the user of `token` may see, oldest first: messages
    /// (`m.room.message`) among the room's other events.
    ///
    /// # Errors
    /// The server's refusal.
    pub fn messages(&self, token: &str, room: &str) -> Result<Vec<Value>> {
        let mut events = Vec::new();
        let mut from = String::new();
        for _ in 0..1_000 {
            let path = format!("v3/rooms/{room}/messages?dir=f&limit=100{from}");
            let mut page = self.expect("GET", &path, Some(token), None)?;
            let Value::Array(chunk) = page["chunk"].take() else {
                bail!("a page of messages without `chunk`")
            };
            events.extend(chunk);
            match page["end"].as_str() {
                Some(end) => from = format!("&from={end}"),
                None => return Ok(events),
            }
        }
        bail!("{room} has more than a thousand pages of messages")
    }
}

fn text(answer: &Value, member: &str) -> Result<String> {
    Ok(answer[member].as_str().with_context(|| format!("no `{member}` in {answer}"))?.to_owned())
}

/// 32 random bytes in base64 without padding.
fn random_base64() -> Result<String> {
    let openssl =
        Command::new("openssl").args(["rand", "-base64", "32"]).output().context("cannot run openssl")?;
    ensure!(openssl.status.success(), "openssl failed: {}", String::from_utf8_lossy(&openssl.stderr));
    Ok(String::from_utf8(openssl.stdout)?.trim_end().trim_end_matches('=').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies(events: &[Value]) -> Vec<&str> {
        events
            .iter()
            .filter(|e| e["type"] == "m.room.message")
            .filter_map(|e| e["content"]["body"].as_str())
            .collect()
    }

    #[test]
    fn synapse_shows_an_invited_user_what_was_sent_in_its_order() {
        let synapse = Synapse::start().unwrap();
        let bot = synapse.register("bot", "a password").unwrap();
        let anna = synapse.register("anna", "another password").unwrap();
        assert_eq!(bot.user_id, "@bot:hub.test");
        let room = synapse.create_room(&bot.access_token).unwrap();
        synapse.invite(&bot.access_token, &room, &anna.user_id).unwrap();
        synapse.join(&anna.access_token, &room).unwrap();
        let sent: Vec<_> = (0..120).map(|n| format!("message {n}")).collect();
        for body in &sent {
            synapse.send_text(&bot.access_token, &room, body).unwrap();
        }
        assert_eq!(bodies(&synapse.messages(&anna.access_token, &room).unwrap()), sent);
        let (status, answer) = synapse.call("GET", "v3/account/whoami", Some("no-such-token"), None).unwrap();
        assert_eq!((status, answer["errcode"].as_str()), (401, Some("M_UNKNOWN_TOKEN")));
    }

    #[test]
    fn a_limited_synapse_says_how_long_to_wait() {
        let synapse = Synapse::start_limited().unwrap();
        let bot = synapse.register("bot", "a password").unwrap();
        let room = synapse.create_room(&bot.access_token).unwrap();
        let event = json!({ "msgtype": "m.text", "body": "again" });
        let limited = (0..10).map(|n| {
            let path = format!("v3/rooms/{room}/send/m.room.message/{n}");
            synapse.call("PUT", &path, Some(&bot.access_token), Some(&event)).unwrap()
        });
        let (_, answer) = limited.into_iter().find(|(status, _)| *status == 429).expect("the server limits");
        assert_eq!(answer["errcode"], "M_LIMIT_EXCEEDED");
        assert!(answer["retry_after_ms"].as_u64().is_some_and(|wait| wait > 0), "{answer}");
    }
}
