//! What was written between the position and the timeline of an answer that is `limited`.
//!
//! The homeserver tells the newest lines of a room and a token before them; the others are read backwards from there until the old
//! position (<https://spec.matrix.org/v1.18/client-server-api/#syncing>), and handed over in their order. That is at most some
//! thousand lines: of a room that went on for weeks without the account, the oldest are left out, and the log says so.

use std::time::Duration;

use super::{Receiving, answer::Page, event::RoomEvent, questions::Trouble};
use crate::channels::{matrix::client::Client, received::Dropped};

/// How many lines are read at most.
const MAX_EVENTS: usize = 5_000;
/// How many pages: one may be empty or have less than was asked for.
const MAX_PAGES: usize = 200;

/// How often a page is asked for again. The pages before it are kept meanwhile: if each trouble began the gap anew, a homeserver that
/// answers only so many questions a minute would never show a long one.
const TRIES: u32 = 5;
/// If the homeserver wants a longer pause, the gap begins anew after it.
const MAX_PAUSE: Duration = Duration::from_mins(2);

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
    pub(super) receiving: &'a Receiving,
    /// The account's own id.
    pub(super) me: &'a str,
}

impl Reader<'_> {
    /// A page, after some patience.
    async fn page(&self, room: &str, from: &str, since: &str) -> Result<Option<Page>, Trouble> {
        let mut tries = 0;
        loop {
            let trouble = match self.client.page(room, from, since).await {
                Err(trouble) if tries < TRIES => trouble,
                answer => return answer,
            };
            let pause = match trouble {
                Trouble::Wait(_, after) if after <= MAX_PAUSE => after.max(self.receiving.pause(0)),
                Trouble::Broken(_) => self.receiving.pause(tries),
                other => return Err(other),
            };
            tokio::time::sleep(pause).await;
            tries += 1;
        }
    }
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
        let Some(page) = reader.page(room, &from, since).await? else { return Ok(None) };
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
    let account = &reader.receiving.account;
    tracing::warn!(
        account,
        room,
        "the oldest of the messages that came meanwhile are left out: there are too many"
    );
    gap.events.reverse();
    Ok(Some(gap))
}
