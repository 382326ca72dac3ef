//! What was said in a gap: each conversation and thread that is known is asked what came after its last message.
//!
//! What was changed meanwhile is told by what it says now, as far back as is looked. What people did otherwise, such as reactions,
//! nobody tells any more; nor what was said in threads that are not known.

use serde_json::Value;
use tokio::time::sleep;

use super::{
    Tempo,
    draft::{Draft, Ts},
    known::Spot,
    message,
};
use crate::channels::{
    Failure, RateHints,
    received::Dropped,
    slack::client::{Client, Me},
};

/// Messages of one answer. Slack gives up to 999, and an answer is bounded
/// (<https://docs.slack.dev/reference/methods/conversations.history>).
const A_PAGE: usize = 60;
/// Messages of one conversation: what is more than so many behind is left, oldest first.
const MOST: usize = 1000;
/// So often one page is asked for.
const TRIES: u32 = 6;
/// Slack tells what it could not deliver for five minutes, so what comes first need not have been said first. What was read before
/// is known by its key.
pub(super) const EARLIER_MS: i64 = 6 * 60 * 1000;

/// What came of asking one place.
pub(super) struct Filled {
    pub(super) spot: Spot,
    pub(super) gap: u64,
    /// What was said, oldest first, and what of it goes no further.
    pub(super) read: Vec<Result<Draft, Dropped>>,
    /// Why that is not all.
    pub(super) missed: Option<Missed>,
}

/// Why not all of a gap is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Missed {
    /// Slack does not let the account read there.
    Refused(String),
    /// It cannot be asked now.
    Away(String),
    /// More was said than is read.
    More,
}

/// Asks one place.
pub(super) async fn fill(
    client: &Client,
    me: &Me,
    tempo: Tempo,
    (spot, last, gap): (Spot, Ts, u64),
) -> Filled {
    let oldest = Ts(last.0.saturating_sub(EARLIER_MS.unsigned_abs() * 1000)).to_string();
    let (mut found, mut cursor, mut limit, mut missed) = (Vec::new(), String::new(), A_PAGE, None);
    loop {
        let page = match page(client, tempo, &spot, &oldest, &cursor, &mut limit).await {
            Ok(page) => page,
            Err(Failure::Permanent(why)) => {
                missed = Some(Missed::Refused(why));
                break;
            }
            Err(failure) => {
                missed = Some(Missed::Away(failure.to_string()));
                break;
            }
        };
        for one in page["messages"].as_array().into_iter().flatten() {
            let Some(ts) = Ts::of(&one["ts"]) else { continue };
            // The first of a thread's answers is the message that it is a thread of.
            if spot.thread == Some(ts) {
                continue;
            }
            found.push((ts, message::written(spot.channel.clone(), one, me)));
            // What was not heard before is told by these words alone.
            if let Some(edited) = message::edited_at(one).filter(|edited| ts <= last && *edited > last) {
                found.push((edited, message::edited(spot.channel.clone(), one, me)));
            }
        }
        cursor = page["response_metadata"]["next_cursor"].as_str().unwrap_or_default().to_owned();
        if cursor.is_empty() {
            break;
        }
        if found.len() >= MOST {
            missed = Some(Missed::More);
            break;
        }
    }
    found.sort_by_key(|(ts, _)| *ts);
    Filled { spot, gap, read: found.into_iter().map(|(_, read)| read).collect(), missed }
}

/// One page of what was said, newest or oldest first.
async fn page(
    client: &Client,
    tempo: Tempo,
    spot: &Spot,
    oldest: &str,
    cursor: &str,
    limit: &mut usize,
) -> Result<Value, Failure> {
    let thread = spot.thread.map(|thread| thread.to_string());
    let mut failures = 0;
    loop {
        let size = limit.to_string();
        let mut arguments = vec![("channel", spot.channel.as_str()), ("oldest", oldest), ("limit", &size)];
        let method = match &thread {
            Some(thread) => {
                arguments.push(("ts", thread));
                "conversations.replies"
            }
            None => "conversations.history",
        };
        if !cursor.is_empty() {
            arguments.push(("cursor", cursor));
        }
        let failure = match client.question(method, &arguments, &mut RateHints::default()).await {
            Ok(page) if page["messages"].is_array() => return Ok(page),
            Ok(_) => Failure::Retry("Slack's answer is no list of messages".into()),
            Err(failure @ Failure::Permanent(_)) => return Err(failure),
            Err(failure) => failure,
        };
        failures += 1;
        if failures >= TRIES {
            return Err(failure);
        }
        let pause = tempo.pause(failures);
        match failure {
            Failure::Wait { after, .. } => sleep(after.clamp(pause, tempo.refused.max(pause))).await,
            _ => {
                // It may be too long to be read.
                *limit = (*limit / 4).max(1);
                sleep(pause).await;
            }
        }
    }
}
