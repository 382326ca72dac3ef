//! What comes over a connection: a greeting, a farewell, or an envelope with an event in it
//! (<https://docs.slack.dev/apis/events-api/using-socket-mode#events>).

use serde::Deserialize;
use serde_json::Value;

use super::{
    draft::{Draft, not_used, unreadable},
    reader,
};
use crate::channels::{received::Dropped, slack::client::Me};

/// The longest id of an envelope that is repeated, in bytes: Slack's are UUIDs.
const MAX_ID: usize = 128;

/// What came.
#[derive(Debug)]
pub(super) enum Came {
    /// The connection is open; so many of the app are, this one among them.
    Hello(Option<u64>),
    /// Slack will close the connection, for this reason.
    Disconnect(String),
    /// Something happened. It is acknowledged by this id, if it has one.
    Event(Option<String>, Content),
}

/// What an envelope brings.
#[derive(Debug)]
pub(super) enum Content {
    /// What people did, or why it goes no further.
    Read(Result<Vec<Draft>, Dropped>),
    /// So much happened that Slack leaves some of it out, in the minute that began then
    /// (<https://docs.slack.dev/apis/events-api/#rate-limits>).
    Limited,
}

/// The one member that is needed of what cannot be read otherwise.
#[derive(Deserialize)]
struct Id {
    envelope_id: String,
}

/// Reads a text. Whatever comes is read or left, with the reason. Nothing is left out for being a repetition.
pub(super) fn read(text: &str, me: &Me) -> Came {
    let Ok(came) = serde_json::from_str::<Value>(text) else {
        // Its members may be nested too deep; those are passed over here.
        let id = serde_json::from_str::<Id>(text).ok().map(|id| id.envelope_id);
        return Came::Event(id.filter(|id| is_id(id)), Content::Read(Err(unreadable("envelope"))));
    };
    let kind = came["type"].as_str().unwrap_or_default();
    let id = came["envelope_id"].as_str().filter(|id| is_id(id)).map(str::to_owned);
    let payload = &came["payload"];
    match kind {
        "hello" => Came::Hello(came["num_connections"].as_u64()),
        "disconnect" => Came::Disconnect(came["reason"].as_str().unwrap_or_default().into()),
        "events_api" if payload["type"] == "app_rate_limited" => Came::Event(id, Content::Limited),
        "events_api" | "interactive" if id.is_some() => {
            Came::Event(id, Content::Read(reader::read(kind, payload, me)))
        }
        "" | "events_api" | "interactive" => Came::Event(id, Content::Read(Err(unreadable("envelope")))),
        other => Came::Event(id, Content::Read(Err(not_used(other)))),
    }
}

fn is_id(id: &str) -> bool {
    (1..=MAX_ID).contains(&id.len())
}
