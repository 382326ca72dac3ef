//! What receiving asks the homeserver, and what its refusals mean for the connection.

use std::time::Duration;

use reqwest::{Method, StatusCode, Url};
use serde_json::{Map, Value, json};

use super::{
    answer::{Page, SyncAnswer},
    event::RoomEvent,
    known::Fact,
};
use crate::{
    channels::{
        Failure, RateHints,
        kit::http::{Answer, Silence},
        matrix::{answer::refusal, client::Client},
    },
    random,
};

/// How long the homeserver may keep a question while nobody writes.
const POLL: Duration = Duration::from_secs(30);
/// How much longer its answer may take: a silent connection is noticed after this.
const GRACE: Duration = Duration::from_secs(30);
/// How long the first answer may take, which tells of every room.
const FIRST: Duration = Duration::from_mins(2);
/// The longest answer that is read, in bytes: 50 events of 64 KiB in each of five rooms.
const MAX_ANSWER: usize = 16 * 1024 * 1024;
/// How many events of a room one answer has at most; the others are fetched ([`Client::page`]).
pub(super) const LINES: usize = 50;
/// How many events a page of the past has.
const PAGE: &str = "100";

/// Why nothing is heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The token is refused, and there is no other.
    Refused(String),
    /// The homeserver said when to come back.
    Wait(String, Duration),
    /// It is tried again.
    Broken(String),
    /// The homeserver does not know the position.
    Anew(String),
    /// The answer is longer than what is read.
    TooLong,
    /// The hub cannot write down what it is told.
    Hub,
}

/// An answer: yes with its body, or no.
enum Said {
    Yes(String),
    No(Answer),
}

impl Client {
    /// What is new since a position; without one, how things stand.
    ///
    /// <https://spec.matrix.org/v1.18/client-server-api/#get_matrixclientv3sync>
    pub(super) async fn sync(
        &self,
        since: Option<&str>,
        lines: usize,
        me: &str,
    ) -> Result<SyncAnswer, Trouble> {
        let mut url = self.homeserver.at(&["_matrix", "client", "v3", "sync"]);
        // Nobody is shown as online for being listened for.
        url.query_pairs_mut().append_pair("set_presence", "offline").append_pair("filter", &filter(lines));
        let longest = match since {
            Some(since) => {
                let timeout = POLL.as_millis().to_string();
                url.query_pairs_mut().append_pair("since", since).append_pair("timeout", &timeout);
                POLL + GRACE
            }
            None => {
                url.query_pairs_mut().append_pair("timeout", &another_timeout());
                FIRST
            }
        };
        match self.long_answer(url, longest).await? {
            Said::Yes(json) => SyncAnswer::read(&json, me).ok_or_else(|| {
                Trouble::Broken("the homeserver's answer says nothing of where to go on".into())
            }),
            Said::No(answer) => Err(self.sync_refused(&answer, since.is_some())),
        }
    }

    /// Synapse and Dendrite refuse a position that they do not know with these codes, and for ever.
    fn sync_refused(&self, answer: &Answer, with_position: bool) -> Trouble {
        let code = refusal(answer).errcode;
        let unknown = ["M_UNKNOWN", "M_INVALID_PARAM"].contains(&code.as_str());
        if answer.status == StatusCode::BAD_REQUEST && with_position && unknown {
            return Trouble::Anew(self.classify(answer, &mut RateHints::default()).to_string());
        }
        self.trouble(answer)
    }

    /// A page of a room's past, backwards from `from` to `to`; nothing where the homeserver shows none.
    ///
    /// <https://spec.matrix.org/v1.18/client-server-api/#get_matrixclientv3roomsroomidmessages>
    pub(super) async fn page(&self, room: &str, from: &str, to: &str) -> Result<Option<Page>, Trouble> {
        let mut url = self.homeserver.at(&["_matrix", "client", "v3", "rooms", room, "messages"]);
        let filter = json!({"lazy_load_members": true, "include_redundant_members": true}).to_string();
        url.query_pairs_mut().extend_pairs([
            ("dir", "b"),
            ("from", from),
            ("to", to),
            ("limit", PAGE),
            ("filter", &filter),
        ]);
        match self.long_answer(url, POLL + GRACE).await? {
            Said::Yes(json) => Ok(Page::read(&json)),
            Said::No(answer) if is_hidden(&answer) => Ok(None),
            Said::No(answer) => Err(self.trouble(&answer)),
        }
    }

    /// What an event is that others refer to; nothing where the homeserver does not show it.
    ///
    /// <https://spec.matrix.org/v1.18/client-server-api/#get_matrixclientv3roomsroomideventeventid>
    pub(super) async fn fact(&self, room: &str, event: &str) -> Result<Option<Fact>, Trouble> {
        let answer = self.question(Method::GET, &["rooms", room, "event", event], None).await?;
        match answer.status.is_success() {
            true => Ok(RoomEvent::parse(&answer.body.to_string()).ok().map(|event| Fact::of(&event))),
            false if is_hidden(&answer) => Ok(None),
            false => Err(self.trouble(&answer)),
        }
    }

    /// The account's own id.
    ///
    /// <https://spec.matrix.org/v1.18/client-server-api/#get_matrixclientv3accountwhoami>
    pub(super) async fn own_id(&self) -> Result<String, Trouble> {
        let answer = self.question(Method::GET, &["account", "whoami"], None).await?;
        if !answer.status.is_success() {
            return Err(self.trouble(&answer));
        }
        let me = answer.body["user_id"].as_str().map(str::to_owned);
        me.ok_or_else(|| Trouble::Broken("the homeserver does not say whose token this is".into()))
    }

    /// Goes into a room that the account is invited to; in words, why that did not work.
    ///
    /// <https://spec.matrix.org/v1.18/client-server-api/#post_matrixclientv3roomsroomidjoin>
    pub(super) async fn enter(&self, room: &str) -> Result<(), String> {
        let answer = self.question(Method::POST, &["rooms", room, "join"], Some(&Map::new())).await;
        match answer {
            Ok(answer) if answer.status.is_success() => Ok(()),
            Ok(answer) => Err(self.classify(&answer, &mut RateHints::default()).to_string()),
            Err(trouble) => Err(trouble.to_string()),
        }
    }

    async fn question(
        &self,
        method: Method,
        path: &[&str],
        body: Option<&Map<String, Value>>,
    ) -> Result<Answer, Trouble> {
        let asked = self.ask(method, path, body, &mut RateHints::default()).await;
        asked.map_err(|(Silence::NotSent(why) | Silence::Lost(why))| Trouble::Broken(why))
    }

    /// A question whose answer may be longer than those to a message that is sent.
    async fn long_answer(&self, url: Url, longest: Duration) -> Result<Said, Trouble> {
        let request = self.http.client.get(url).bearer_auth(self.http.token().expose()).timeout(longest);
        let broken = |error| Trouble::Broken(format!("no answer from the homeserver: {}", self.cause(error)));
        let mut response = request.send().await.map_err(broken)?;
        let status = response.status();
        let after = response.headers().get("retry-after").and_then(|after| after.to_str().ok()?.parse().ok());
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(broken)? {
            if body.len() + chunk.len() > MAX_ANSWER {
                return Err(Trouble::TooLong);
            }
            body.extend_from_slice(&chunk);
        }
        if status == StatusCode::OK {
            let text =
                |error: std::string::FromUtf8Error| String::from_utf8_lossy(error.as_bytes()).into_owned();
            return Ok(Said::Yes(String::from_utf8(body).unwrap_or_else(text)));
        }
        let no = Answer { status, retry_after: after.map(Duration::from_secs), body: Value::Null };
        Ok(Said::No(Answer { body: serde_json::from_slice(&body).unwrap_or_default(), ..no }))
    }

    /// What it means for the connection that the homeserver says no.
    fn trouble(&self, answer: &Answer) -> Trouble {
        match self.classify(answer, &mut RateHints::default()) {
            Failure::Wait { after, why } => Trouble::Wait(why, after),
            Failure::Permanent(why) if answer.status == StatusCode::UNAUTHORIZED => Trouble::Refused(why),
            other => Trouble::Broken(other.to_string()),
        }
    }
}

/// Whether the homeserver has nothing to show there, now or later: the account may not see it, or it is gone.
fn is_hidden(answer: &Answer) -> bool {
    matches!(answer.status.as_u16(), 400 | 403 | 404 | 410)
}

/// Milliseconds, other ones each time. Synapse answers the same question for two minutes with what it has said before
/// (`sync_response_cache_duration`; the time is part of the key, the account is not kept waiting without a position:
/// `_wait_for_sync_for_user`, synapse/handlers/sync.py). A position or a count of members so old would be wrong after a restart.
fn another_timeout() -> String {
    (1 + u16::from_le_bytes(random::bytes()) % 1_000).to_string()
}

/// What is asked for: of each room the newest lines, who wrote them and who has read them, and nothing of anybody's presence or settings
/// (<https://spec.matrix.org/v1.18/client-server-api/#filtering>). Members are told each time, for the account remembers none.
fn filter(lines: usize) -> String {
    let nothing = json!({"types": []});
    let filter = json!({
        "presence": nothing,
        "account_data": nothing,
        "room": {
            "account_data": nothing,
            "ephemeral": {"types": ["m.receipt"]},
            "state": {
                "lazy_load_members": true,
                "include_redundant_members": true,
                "types": ["m.room.member", "m.room.name", "m.room.canonical_alias"],
            },
            "timeline": {"limit": lines, "lazy_load_members": true, "include_redundant_members": true},
        },
    });
    filter.to_string()
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(why) | Self::Wait(why, _) | Self::Broken(why) | Self::Anew(why) => f.write_str(why),
            Self::TooLong => f.write_str("the homeserver's answer is too long"),
            Self::Hub => f.write_str("the hub cannot use its database"),
        }
    }
}
