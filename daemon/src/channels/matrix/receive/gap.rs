//! What was written between the position and the timeline of an answer that is `limited`.
//!
//! The homeserver tells the newest lines of a room and a token before them; the others are read backwards from there until the old
//! position (<https://spec.matrix.org/v1.18/client-server-api/#syncing>), and handed over in their order. That is at most some
//! thousand lines: of a room that went on for weeks without the account, the oldest are left out, and the log says so.

use super::{event::RoomEvent, questions::Trouble};
use crate::channels::{matrix::client::Client, received::Dropped};

/// How many lines are read at most.
const MAX_EVENTS: usize = 5_000;
/// How many pages: one may be empty or have less than was asked for.
const MAX_PAGES: usize = 200;

/// What is before a timeline.
#[derive(Debug, Default)]
pub(super) struct Gap {
    /// Oldest first.
    pub(super) events: Vec<Result<RoomEvent, Dropped>>,
    /// Who wrote them.
    pub(super) state: Vec<RoomEvent>,
}

/// Who reads it.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) client: &'a Client,
    /// The account, for the log.
    pub(super) account: &'a str,
    /// The account's own id.
    pub(super) me: &'a str,
}

/// Reads it; nothing where the homeserver does not show it. What was written before the account came into the room is not asked for.
pub(super) async fn before(
    reader: Reader<'_>,
    room: &str,
    mut from: String,
    since: &str,
    there: bool,
) -> Result<Option<Gap>, Trouble> {
    let mut gap = Gap::default();
    for _ in 0..MAX_PAGES {
        let Some(page) = reader.client.page(room, &from, since).await? else { return Ok(None) };
        let joined = page.events.iter().flatten().any(|event| event.brings(reader.me, there));
        let over = page.events.is_empty() || joined;
        gap.events.extend(page.events);
        gap.state.extend(page.state);
        match page.end.filter(|end| *end != from && !over) {
            Some(_) if gap.events.len() >= MAX_EVENTS => break,
            Some(end) => from = end,
            None => {
                gap.events.reverse();
                return Ok(Some(gap));
            }
        }
    }
    let account = reader.account;
    tracing::warn!(
        account,
        room,
        "the oldest of the messages that came meanwhile are left out: there are too many"
    );
    gap.events.reverse();
    Ok(Some(gap))
}
