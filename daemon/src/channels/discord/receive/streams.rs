//! How far an account has read: the session of its Gateway, and the last message of each conversation, by which a gap is filled
//! when the session is lost.

use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use crate::channels::{
    discord::gateway::{Gateway, Session},
    hub_handle::HubHandle,
    received::{MAX_POSITION_BYTES, Position},
};

const SESSION: &str = "session";
const CONVERSATIONS: &str = "conversations";

/// So many conversations are known, those where something was said last: 41 bytes each at most, in one position.
const MOST: usize = 96;

/// The streams.
#[derive(Debug, Default)]
pub(super) struct Streams {
    session: Option<Stored>,
    /// A conversation's channel, and the last message there; what was said last is last.
    conversations: Vec<(u64, u64)>,
    moved: bool,
}

/// A session, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Stored {
    #[serde(flatten)]
    session: Session,
    bot: String,
    /// What was heard in it: with another configuration another one begins.
    #[serde(default)]
    intents: Option<u64>,
}

impl Streams {
    /// Those of an earlier start, once the hub can say.
    pub(super) async fn read(hub: &dyn HubHandle, gateway: &Gateway) -> Self {
        let mut failures = 0;
        loop {
            match (hub.position(SESSION).await, hub.position(CONVERSATIONS).await) {
                (Ok(session), Ok(conversations)) => {
                    let session = session.and_then(|session| serde_json::from_str(&session).ok());
                    let conversations = parse(&conversations.unwrap_or_default());
                    return Self { session, conversations, moved: false };
                }
                _ => sleep(gateway.tempo.pause(failures)).await,
            }
            failures += 1;
        }
    }

    /// The session, if it can go on with these intents, and the bot's id.
    pub(super) fn session(&self, intents: u64) -> Option<(Session, String)> {
        let stored = self.session.clone().filter(|stored| stored.intents == Some(intents))?;
        Some((stored.session, stored.bot))
    }

    /// It was read up to here.
    pub(super) fn at(&mut self, session: Session, bot: String) {
        (self.session, self.moved) = (Some(Stored { session, bot, intents: None }), true);
    }

    /// This was said in a conversation.
    pub(super) fn said(&mut self, channel: u64, message: u64) {
        let known = self.conversations.iter().position(|(known, _)| *known == channel);
        let before = known.map_or(0, |known| self.conversations.remove(known).1);
        if self.conversations.len() >= MOST {
            self.conversations.remove(0);
        }
        self.conversations.push((channel, before.max(message)));
        self.moved = true;
    }

    /// Nothing can be asked there any more.
    pub(super) fn forget(&mut self, channel: u64) {
        self.conversations.retain(|(known, _)| *known != channel);
        self.moved = true;
    }

    /// The conversations that are known, and the last message of each.
    pub(super) fn conversations(&self) -> Vec<(u64, u64)> {
        self.conversations.clone()
    }

    pub(super) fn have_moved(&self) -> bool {
        self.moved
    }

    /// Where it goes on, with what was heard in this session.
    pub(super) fn positions(&self, intents: u64) -> Vec<Position> {
        let session =
            self.session.clone().map(|stored| Stored { intents: stored.intents.or(Some(intents)), ..stored });
        let session = session.and_then(|session| serde_json::to_string(&session).ok());
        let conversations: Vec<String> =
            self.conversations.iter().map(|(channel, message)| format!("{channel}:{message}")).collect();
        let position = |stream: &str, value: String| Position { stream: stream.into(), value };
        let positions = [
            session.map(|session| position(SESSION, session)),
            Some(position(CONVERSATIONS, conversations.join(" "))),
        ];
        positions
            .into_iter()
            .flatten()
            .filter(|position| position.value.len() <= MAX_POSITION_BYTES)
            .collect()
    }

    /// They are on disk; the number up to which the session is.
    pub(super) fn are_written(&mut self) -> Option<u64> {
        self.moved = false;
        self.session.as_ref().map(|stored| stored.session.seq)
    }
}

fn parse(text: &str) -> Vec<(u64, u64)> {
    let pair = |pair: &str| {
        let (channel, message) = pair.split_once(':')?;
        Some((channel.parse().ok()?, message.parse().ok()?))
    };
    text.split(' ').filter_map(pair).take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widest_positions_fit_and_are_read_as_they_were_written() {
        let mut streams = Streams::default();
        for n in 0..200 {
            streams.said(u64::MAX - n, u64::MAX);
        }
        // What came late takes nothing back.
        streams.said(u64::MAX - 199, 5);
        let session = Session { id: "s".repeat(64), url: "wss://gateway.discord.gg".into(), seq: u64::MAX };
        streams.at(session.clone(), "1".repeat(20));
        let positions = streams.positions(7);
        assert_eq!(positions.len(), 2);
        assert_eq!(parse(&positions[1].value), streams.conversations());
        assert_eq!(streams.conversations().len(), MOST);
        assert_eq!(streams.conversations().last(), Some(&(u64::MAX - 199, u64::MAX)));
        let read = Streams { session: serde_json::from_str(&positions[0].value).ok(), ..Streams::default() };
        assert_eq!(read.session(7), Some((session, "1".repeat(20))));
        assert_eq!(read.session(8), None, "another configuration hears something else");
    }

    #[test]
    fn what_is_no_position_is_none() {
        for text in ["", " ", "a:b", "1", "1:", "-1:5", "99999999999999999999:1", "\u{1F9D9}:1 :: 1:2:3"] {
            assert_eq!(parse(text), [], "{text}");
        }
        assert_eq!(parse("x 1:2"), [(1, 2)]);
    }
}
