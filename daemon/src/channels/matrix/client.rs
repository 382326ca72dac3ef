//! The few requests that sending takes; what their answers mean [`answer`](super::answer) says.
//!
//! Whether an event arrived is known only from an answer of the homeserver itself. A request that found nobody is
//! [`Failure::Retry`]; one that may have been heard and brought no such answer is [`Failure::Unknown`]. The token is in
//! one header and nowhere else, not even in an error that the server worded.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use reqwest::{
    Method, StatusCode,
    header::{CONTENT_LENGTH, CONTENT_TYPE},
};
use serde_json::{Map, Value};

use super::answer::{refusal, sent, uploaded, verdict};
use crate::{
    channels::{
        Failure, Located, PartKey, RateHints,
        kit::{
            http::{Answer, Http, Silence, base::Base, token::Token},
            removals::Removals,
        },
    },
    files::kept::Checked,
};

/// How long a room is believed to be unencrypted. Encryption is switched on once in a room's life and never off
/// (<https://spec.matrix.org/v1.18/client-server-api/#mroomencryption>), so "encrypted" ends the matter and only "not
/// encrypted" can become wrong; a minute spares a burst of parts one request each.
const BELIEVE_PLAIN: Duration = Duration::from_secs(60);

/// How many rooms are remembered at most.
const MAX_ROOMS: usize = 2048;

/// An account on a homeserver.
pub(super) struct Client {
    pub(super) http: Http,
    pub(super) homeserver: Base,
    /// Rooms that were not encrypted, and when that was.
    plain: Mutex<HashMap<String, Instant>>,
    pub(super) removals: Removals,
}

impl Client {
    /// An account that authenticates with a token.
    pub(super) fn new(http: reqwest::Client, homeserver: Base, token: impl Into<Token>) -> Self {
        let http = Http::new(http, "the homeserver", token);
        Self { http, homeserver, plain: Mutex::default(), removals: Removals::default() }
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
        hints: &mut RateHints,
    ) -> Result<String, Failure> {
        let path = ["rooms", room, "send", kind, &key.0];
        let answer = self.ask(Method::PUT, &path, Some(content), hints).await?;
        sent(&self.http.reader(), &answer).map_err(|verdict| self.http.settle(verdict, hints))
    }

    /// Puts a file into the homeserver's media repository, and returns its address there.
    ///
    /// <https://spec.matrix.org/v1.18/client-server-api/#post_matrixmediav3upload>
    pub(super) async fn upload(
        &self,
        name: &str,
        kind: &str,
        file: Checked,
        hints: &mut RateHints,
    ) -> Result<String, Failure> {
        let mut url = self.homeserver.at(&["_matrix", "media", "v3", "upload"]);
        url.query_pairs_mut().append_pair("filename", name);
        let longest = Http::longest(file.size);
        let request = self
            .http
            .client
            .request(Method::POST, url)
            .bearer_auth(self.http.token().expose())
            .header(CONTENT_TYPE, kind)
            .header(CONTENT_LENGTH, file.size)
            .body(Http::body(file));
        // It is in no room, whether it arrived or not.
        let answer = self.http.ask_within(request, longest, hints).await.map_err(Silence::harmless)?;
        uploaded(&self.http.reader(), &answer).map_err(|verdict| self.http.settle(verdict.harmless(), hints))
    }

    /// Fails unless the room is known to be without encryption.
    ///
    /// <https://spec.matrix.org/v1.18/client-server-api/#get_matrixclientv3roomsroomidstateeventtypestatekey>
    pub(super) async fn refuse_encrypted(&self, room: &str, hints: &mut RateHints) -> Result<(), Failure> {
        if self.believed_plain(room) {
            return Ok(());
        }
        let asked = self.ask(Method::GET, &["rooms", room, "state", "m.room.encryption"], None, hints).await;
        let answer = asked.map_err(Silence::harmless)?;
        if answer.status.is_success() {
            return Err(Failure::Permanent(
                "the room is encrypted, which this hub cannot do yet: use a room without encryption".into(),
            ));
        }
        if answer.status == StatusCode::NOT_FOUND && refusal(&answer).errcode == "M_NOT_FOUND" {
            self.remember_plain(room);
            return Ok(());
        }
        Err(self.classify(&answer, hints).harmless())
    }

    /// Whether an event is in a room, and in which thread of it.
    ///
    /// <https://spec.matrix.org/v1.18/client-server-api/#get_matrixclientv3roomsroomideventeventid>
    pub(super) async fn locate(&self, room: &str, event: &str) -> Result<Located, Failure> {
        let hints = &mut RateHints::default();
        let asked = self.ask(Method::GET, &["rooms", room, "event", event], None, hints).await;
        let answer = asked.map_err(Silence::harmless)?;
        if answer.status == StatusCode::NOT_FOUND && refusal(&answer).errcode == "M_NOT_FOUND" {
            return Ok(Located::Elsewhere);
        }
        if !answer.status.is_success() {
            return Err(self.classify(&answer, hints).harmless());
        }
        // #mthread: what is beside the text is never encrypted.
        let relates = &answer.body["content"]["m.relates_to"];
        let root = relates["event_id"].as_str().filter(|_| relates["rel_type"] == "m.thread");
        Ok(Located::Here { thread: root.map(str::to_owned) })
    }

    /// The account and its device, or why it cannot send.
    ///
    /// <https://spec.matrix.org/v1.18/client-server-api/#get_matrixclientv3accountwhoami>
    pub(super) async fn who_am_i(&self) -> Result<String, String> {
        let hints = &mut RateHints::default();
        let answer = match self.ask(Method::GET, &["account", "whoami"], None, hints).await {
            Ok(answer) => answer,
            Err(Silence::NotSent(why) | Silence::Lost(why)) => return Err(why),
        };
        if !answer.status.is_success() {
            return Err(self.classify(&answer, hints).to_string());
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

    /// A question at another version of the interface: the path says which.
    pub(super) async fn asked_at(&self, path: &[&str], hints: &mut RateHints) -> Result<Value, Failure> {
        let path: Vec<&str> = ["_matrix", "client"].iter().chain(path).copied().collect();
        let url = self.homeserver.at(&path);
        let request = self.http.client.get(url).bearer_auth(self.http.token().expose());
        let answer = self.http.ask(request, hints).await.map_err(Silence::harmless)?;
        if answer.status.is_success() {
            Ok(answer.body)
        } else {
            Err(self.classify(&answer, hints).harmless())
        }
    }

    pub(super) async fn ask(
        &self,
        method: Method,
        path: &[&str],
        body: Option<&Map<String, Value>>,
        hints: &mut RateHints,
    ) -> Result<Answer, Silence> {
        let path: Vec<&str> = ["_matrix", "client", "v3"].iter().chain(path).copied().collect();
        let url = self.homeserver.at(&path);
        let mut request = self.http.client.request(method, url).bearer_auth(self.http.token().expose());
        if let Some(body) = body {
            request = request.json(body);
        }
        self.http.ask(request, hints).await
    }

    pub(super) fn classify(&self, answer: &Answer, hints: &mut RateHints) -> Failure {
        self.http.settle(verdict(&self.http.reader(), answer), hints)
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
