//! The few requests that sending takes, and what their answers mean.
//!
//! Whether an event arrived is known only from an answer of the homeserver itself. A request that found nobody is
//! [`Failure::Retry`]; one that may have been heard and brought no such answer is [`Failure::Unknown`]. The token is in
//! one header and nowhere else, not even in an error that the server worded.

use std::{
    collections::HashMap,
    error::Error,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use reqwest::{Method, Response, StatusCode, Url, header::RETRY_AFTER};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    channels::{
        Failure, PartKey,
        limits::{Pause, Scope},
    },
    settings::secret::Secret,
};

/// For a whole request, from the connection to the end of the answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The longest answer that is read, in bytes. The ones that matter have a few hundred.
const MAX_ANSWER: usize = 64 * 1024;

/// The longest words of a server that are passed on, in characters.
const MAX_WORDS: usize = 300;

/// How long a room is believed to be unencrypted. Encryption is switched on once in a room's life and never off
/// (<https://spec.matrix.org/v1.18/client-server-api/#mroomencryption>), so "encrypted" ends the matter and only "not
/// encrypted" can become wrong; a minute spares a burst of parts one request each.
const BELIEVE_PLAIN: Duration = Duration::from_secs(60);

/// How many rooms are remembered at most.
const MAX_ROOMS: usize = 2048;

/// An account on a homeserver.
pub(super) struct Client {
    http: reqwest::Client,
    homeserver: Url,
    token: Secret,
    /// Rooms that were not encrypted, and when that was.
    plain: Mutex<HashMap<String, Instant>>,
    /// What the homeserver asked for since somebody last looked.
    pauses: Mutex<Vec<Pause>>,
}

/// What came back.
struct Answer {
    status: StatusCode,
    /// As the header has it.
    retry_after: Option<Duration>,
    body: Value,
}

/// Why nothing came back.
enum Silence {
    /// No connection: the request was not sent.
    NotSent(String),
    /// It may have been sent.
    Lost(String),
}

/// <https://spec.matrix.org/v1.18/client-server-api/#standard-error-response>
#[derive(Deserialize, Default)]
#[serde(default)]
struct Refusal {
    errcode: String,
    error: String,
    retry_after_ms: Option<u64>,
}

impl Client {
    /// An account that authenticates with a token.
    pub(super) fn new(http: reqwest::Client, homeserver: Url, token: Secret) -> Self {
        Self { http, homeserver, token, plain: Mutex::default(), pauses: Mutex::default() }
    }

    /// What the homeserver asked for since the last call.
    pub(super) fn pauses(&self) -> Vec<Pause> {
        std::mem::take(&mut self.pauses.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts an event into a room, under the part's key, and returns the event's id.
    ///
    /// <https://spec.matrix.org/v1.18/client-server-api/#put_matrixclientv3roomsroomidsendeventtypetxnid>
    pub(super) async fn send(
        &self,
        room: &str,
        kind: &str,
        key: &PartKey,
        content: &Map<String, Value>,
    ) -> Result<String, Failure> {
        let path = ["rooms", room, "send", kind, &key.0];
        let answer = match self.ask(Method::PUT, &path, Some(content)).await {
            Ok(answer) => answer,
            Err(Silence::NotSent(why)) => return Err(Failure::Retry(why)),
            Err(Silence::Lost(why)) => return Err(Failure::Unknown(why)),
        };
        if !answer.status.is_success() {
            return Err(self.judge(&answer));
        }
        match answer.body["event_id"].as_str() {
            Some(id) => Ok(id.to_owned()),
            None => Err(Failure::Unknown("the homeserver said yes, but not as which event".into())),
        }
    }

    /// Fails unless the room is known to be without encryption.
    ///
    /// <https://spec.matrix.org/v1.18/client-server-api/#get_matrixclientv3roomsroomidstateeventtypestatekey>
    pub(super) async fn refuse_encrypted(&self, room: &str) -> Result<(), Failure> {
        if self.believed_plain(room) {
            return Ok(());
        }
        let answer = match self.ask(Method::GET, &["rooms", room, "state", "m.room.encryption"], None).await {
            Ok(answer) => answer,
            Err(Silence::NotSent(why) | Silence::Lost(why)) => return Err(Failure::Retry(why)),
        };
        if answer.status.is_success() {
            return Err(Failure::Permanent(
                "the room is encrypted, which this hub cannot do yet: use a room without encryption".into(),
            ));
        }
        if answer.status == StatusCode::NOT_FOUND && answer.refusal().errcode == "M_NOT_FOUND" {
            self.remember_plain(room);
            return Ok(());
        }
        Err(match self.judge(&answer) {
            // It was only a question.
            Failure::Unknown(why) => Failure::Retry(why),
            failure => failure,
        })
    }

    /// The account and its device, or why it cannot send.
    ///
    /// <https://spec.matrix.org/v1.18/client-server-api/#get_matrixclientv3accountwhoami>
    pub(super) async fn who_am_i(&self) -> Result<String, String> {
        let answer = match self.ask(Method::GET, &["account", "whoami"], None).await {
            Ok(answer) => answer,
            Err(Silence::NotSent(why) | Silence::Lost(why)) => return Err(why),
        };
        if !answer.status.is_success() {
            return Err(self.judge(&answer).to_string());
        }
        match (answer.body["user_id"].as_str(), answer.body["device_id"].as_str()) {
            (Some(user), Some(device)) => Ok(format!("{user}, device {device}")),
            (Some(user), None) => Err(format!(
                "the token of {user} belongs to no device, so the homeserver would not recognise a message that is \
                 sent again: get one by logging in"
            )),
            (None, _) => Err("the homeserver does not say whose token this is".into()),
        }
    }

    async fn ask(
        &self,
        method: Method,
        path: &[&str],
        body: Option<&Map<String, Value>>,
    ) -> Result<Answer, Silence> {
        let mut url = self.homeserver.clone();
        url.path_segments_mut()
            .expect("an http URL has a path: it was checked when the account was opened")
            .pop_if_empty()
            .extend(["_matrix", "client", "v3"])
            .extend(path);
        let mut request = self.http.request(method, url).bearer_auth(self.token.expose()).timeout(TIMEOUT);
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.map_err(|error| self.silence(&error))?;
        let status = response.status();
        let retry_after = response
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| retry_after(value, SystemTime::now()));
        // An answer that says no has said so, whatever becomes of its words.
        let body = match (read(response).await, status.is_success()) {
            (Ok(bytes), true) => serde_json::from_slice(&bytes)
                .map_err(|_| Silence::Lost("the homeserver's answer is no JSON".into()))?,
            (Ok(bytes), false) => serde_json::from_slice(&bytes).unwrap_or_default(),
            (Err(why), true) => return Err(Silence::Lost(self.words(&why))),
            (Err(_), false) => Value::Null,
        };
        Ok(Answer { status, retry_after, body })
    }

    fn silence(&self, error: &reqwest::Error) -> Silence {
        let cause = self.words(&innermost(error).to_string());
        if error.is_connect() || error.is_builder() {
            Silence::NotSent(format!("cannot connect to the homeserver: {cause}"))
        } else {
            Silence::Lost(format!("no answer from the homeserver: {cause}"))
        }
    }

    /// What an answer other than yes means for the event.
    fn judge(&self, answer: &Answer) -> Failure {
        let refusal = answer.refusal();
        let status = answer.status.as_u16();
        let words = match (refusal.errcode.as_str(), refusal.error.as_str()) {
            ("", _) => answer.status.to_string(),
            (code, "") => code.to_owned(),
            (code, error) => format!("{code}: {error}"),
        };
        let said = format!("the homeserver answered {status}, {}", self.words(&words));
        match status {
            // #rate-limiting: the header since v1.10, the member before; servers send either or both.
            429 => match answer.retry_after.max(refusal.retry_after_ms.map(Duration::from_millis)) {
                Some(after) => {
                    // A homeserver counts a user's messages over all rooms (Synapse: rc_message, "per user").
                    let pause = Pause { scope: Scope::Account, lasts: after };
                    self.pauses.lock().unwrap_or_else(PoisonError::into_inner).push(pause);
                    Failure::Wait { after, why: said }
                }
                None => Failure::Retry(said),
            },
            408 | 500 | 503 => Failure::Retry(said),
            // A gateway speaks, and it does not know what the homeserver did.
            501..=599 => Failure::Unknown(said),
            401 => Failure::Permanent(format!("{said}; log in anew and replace the token")),
            300..=399 => Failure::Permanent(format!("{said}; set homeserver to the address it points to")),
            400..=499 if refusal.errcode.is_empty() => {
                Failure::Permanent(format!("{said}, which is not how one speaks; check homeserver"))
            }
            400..=499 => Failure::Permanent(said),
            _ => Failure::Unknown(said),
        }
    }

    /// Words from outside, on one line, bounded, without the token.
    fn words(&self, text: &str) -> String {
        let text = text.replace(self.token.expose(), "***").replace(char::is_control, " ");
        match text.char_indices().nth(MAX_WORDS) {
            Some((at, _)) => format!("{}…", &text[..at]),
            None => text,
        }
    }

    fn believed_plain(&self, room: &str) -> bool {
        let rooms = self.plain.lock().unwrap_or_else(PoisonError::into_inner);
        rooms.get(room).is_some_and(|seen| seen.elapsed() < BELIEVE_PLAIN)
    }

    fn remember_plain(&self, room: &str) {
        let mut rooms = self.plain.lock().unwrap_or_else(PoisonError::into_inner);
        if rooms.len() >= MAX_ROOMS {
            rooms.retain(|_, seen| seen.elapsed() < BELIEVE_PLAIN);
        }
        if rooms.len() < MAX_ROOMS {
            rooms.insert(room.to_owned(), Instant::now());
        }
    }
}

impl Answer {
    fn refusal(&self) -> Refusal {
        Refusal::deserialize(&self.body).unwrap_or_default()
    }
}

/// The body, as far as it may go.
async fn read(mut response: Response) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| innermost(&error).to_string())? {
        if body.len() + chunk.len() > MAX_ANSWER {
            return Err("the homeserver's answer is too long".into());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Seconds, or a date: RFC 9110 §10.2.3.
fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    if let Ok(seconds) = value.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::parse(value.trim()).ok()?;
    Some(SystemTime::from(date.timestamp()).duration_since(now).unwrap_or_default())
}

/// The cause at the bottom, which is the one that says something; the ones above repeat the URL.
fn innermost<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_to_come_back_at_is_understood() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_445_412_400);
        let date = |text| retry_after(text, now);
        assert_eq!(date("Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::from_secs(80)));
        assert_eq!(date("Wed, 21 Oct 2009 07:28:00 GMT"), Some(Duration::ZERO));
        assert_eq!(date("120"), Some(Duration::from_secs(120)));
        assert_eq!(date("soon"), None);
        assert_eq!(date("-1"), None);
    }
}
