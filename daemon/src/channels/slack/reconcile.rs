//! Whether a message arrived whose answer was lost.
//!
//! A message carries its part's key in its metadata. Its conversation, or its thread, is read back from the time at which
//! the key was made, newest first and page by page; a key that stands on no page did not arrive. What makes that certain:
//! every page was read, to the end; what was read begins [`EARLIER`] before the key's own time; and Slack lists a message
//! as soon as it has it. Where a page cannot be read, or there are more than [`PAGES`] of them, nothing is certain and the
//! message stays unknown.

use std::time::Duration;

use serde_json::Value;

use super::{
    client::{Client, EVENT},
    request::Request,
    target::is_person,
};
use crate::channels::{Failure, PartKey, RateHints};

/// For a hub whose clock was fast when the key was made.
const EARLIER: Duration = Duration::from_hours(1);

/// Messages of a page: as many as Slack gives to an app that it limits most
/// (<https://docs.slack.dev/reference/methods/conversations.history>), and no more than a bounded answer holds.
const PAGE: &str = "15";

/// How many are read at most: 450 messages.
const PAGES: usize = 30;

/// The id of the message that has the key; none if there is none.
pub(super) async fn find(
    client: &Client,
    request: &Request,
    key: &PartKey,
    hints: &mut RateHints,
) -> Result<Option<String>, Failure> {
    let Some(channel) = request.text("channel") else {
        return Err(Failure::Permanent("the stored request names no conversation".into()));
    };
    let asked = async {
        let channel =
            if is_person(channel) { client.direct(channel, hints).await? } else { channel.to_owned() };
        look(client, request, &channel, key, hints).await
    };
    // A refusal to tell is no refusal of the message.
    asked.await.map_err(|failure| match failure {
        Failure::Permanent(why) => {
            Failure::Unknown(format!("it may have arrived, and Slack does not let the hub look: {why}"))
        }
        failure => failure,
    })
}

async fn look(
    client: &Client,
    request: &Request,
    channel: &str,
    key: &PartKey,
    hints: &mut RateHints,
) -> Result<Option<String>, Failure> {
    let since = since(key);
    let mut cursor = String::new();
    for _ in 0..PAGES {
        let mut arguments =
            vec![("channel", channel), ("include_all_metadata", "true"), ("limit", PAGE), ("oldest", &since)];
        let method = match request.text("thread_ts") {
            Some(thread) => {
                arguments.push(("ts", thread));
                "conversations.replies"
            }
            None => "conversations.history",
        };
        if !cursor.is_empty() {
            arguments.push(("cursor", &cursor));
        }
        let page = client.question(method, &arguments, hints).await?;
        let Some(messages) = page["messages"].as_array() else {
            return Err(Failure::Unknown("Slack's list of messages has none and does not say so".into()));
        };
        if let Some(ts) =
            messages.iter().find(|message| has(message, key)).and_then(|found| found["ts"].as_str())
        {
            return Ok(Some(ts.to_owned()));
        }
        match page["response_metadata"]["next_cursor"].as_str().filter(|next| !next.is_empty()) {
            Some(next) => cursor = next.to_owned(),
            None if page["has_more"] == true => {
                return Err(Failure::Unknown(
                    "Slack has more messages and does not say how to read on".into(),
                ));
            }
            None => return Ok(None),
        }
    }
    Err(Failure::Unknown("it may have arrived: too much was written there since to look through".into()))
}

fn has(message: &Value, key: &PartKey) -> bool {
    let metadata = &message["metadata"];
    metadata["event_type"] == EVENT && metadata["event_payload"]["key"] == key.0.as_str()
}

/// When a key was made, as Slack counts: a key is a UUID of version 7, which begins with its time in milliseconds (RFC
/// 9562, 5.7). For any other, everything is read.
fn since(key: &PartKey) -> String {
    let made = key
        .0
        .get(..12)
        .filter(|_| key.0.as_bytes().get(12) == Some(&b'7'))
        .and_then(|time| u64::from_str_radix(time, 16).ok())
        .map_or(0, |milliseconds| (milliseconds / 1000).saturating_sub(EARLIER.as_secs()));
    format!("{made}.000000")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_says_since_when_to_look() {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        let since_of =
            |key: &str| since(&PartKey(key.into())).strip_suffix(".000000").unwrap().parse::<u64>().unwrap();
        let since = since_of(&uuid::Uuid::now_v7().simple().to_string());
        assert!((now - 3605..=now - 3595).contains(&since), "{since} {now}");
        assert_eq!((since_of("00112233445566778899aabbccddeeff"), since_of("short")), (0, 0));
    }
}
