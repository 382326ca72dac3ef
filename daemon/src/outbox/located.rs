//! Where a message is, by what the hub has sent and heard itself.
//!
//! The receipt of a new message says where it went, and an inbound one where it came from. What was done to a message proves
//! nothing: its receipt has the id of the message that its agent named.

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::{message::target::Target, policy::Location, store::StoreError};

/// The part of a new message; Telegram's album has the ids of all its pictures, with commas between them. With `?4`, only in
/// this conversation.
pub(super) const SENT: &str =
    "SELECT messages.thread, messages.deed ->> '$.do', messages.deed ->> '$.message'
    FROM parts JOIN messages ON messages.seq = parts.message
    WHERE (parts.platform_id = ?1 OR (parts.platform_id > ?1 || ',' AND parts.platform_id < ?1 || '-'))
        AND messages.channel = ?2 AND messages.account = ?3 AND (?4 IS NULL OR messages.address = ?4)
        AND coalesce(messages.deed ->> '$.do', 'send') IN ('send', 'poll', 'thread')
    ORDER BY messages.seq DESC LIMIT 1";

pub(super) const HEARD: &str = "SELECT thread FROM inbound
    WHERE platform_id = ?1 AND channel = ?2 AND account = ?3 AND (?4 IS NULL OR peer = ?4)
    ORDER BY seq DESC LIMIT 1";

/// A message that an account has sent or heard, by any of these names.
pub struct Recorded<'a> {
    /// The account.
    pub account: &'a str,
    /// The conversation that it is looked for in.
    pub target: &'a Target,
    /// What it may be called.
    pub names: &'a [String],
    /// Whether an answer is a thread there.
    pub answers_are_threads: bool,
}

impl Recorded<'_> {
    /// Where it is in the conversation, if it is there.
    pub fn here(&self, db: &Connection) -> Result<Option<Location>, StoreError> {
        self.look(db, Some(&self.target.address))
    }

    /// Whether it is in any conversation of the account.
    pub fn anywhere(&self, db: &Connection) -> Result<bool, StoreError> {
        Ok(self.look(db, None)?.is_some())
    }

    fn look(&self, db: &Connection, address: Option<&str>) -> Result<Option<Location>, StoreError> {
        let (mut sent, mut heard) = (db.prepare_cached(SENT)?, db.prepare_cached(HEARD)?);
        for name in self.names {
            let one = params![name, self.target.channel, self.account, address];
            let found = sent.query_row(one, |row| {
                let (thread, root): (Option<String>, Option<String>) = (row.get(0)?, row.get(2)?);
                let operation: Option<String> = row.get(1)?;
                Ok(match operation.as_deref() {
                    // It begins one, maybe at a message of another one.
                    Some("thread") if thread.is_some() || root.is_some() => Location::Unknown,
                    _ => self.in_thread(thread),
                })
            });
            if let Some(found) = found.optional()? {
                return Ok(Some(found));
            }
            if let Some(thread) = heard.query_row(one, |row| row.get(0)).optional()? {
                return Ok(Some(self.in_thread(thread)));
            }
        }
        Ok(None)
    }

    /// Where answers are threads, any message may be in one by now: that of what it answers, or its own.
    fn in_thread(&self, thread: Option<String>) -> Location {
        match thread {
            None if self.answers_are_threads => Location::Unknown,
            thread => Location::of(thread),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        message::{operation::Operation, state::PartState},
        outbox::{
            Outbox,
            accept::Accepted,
            new_message::NewMessage,
            transition::{self, NewPart},
        },
        sessions::{self, Inbound},
        store::{Store, now_ms},
    };

    struct Fixture {
        _folder: tempfile::TempDir,
        outbox: Outbox,
    }

    impl Fixture {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let outbox = Outbox::new(Store::open(folder.path()).unwrap());
            Self { _folder: folder, outbox }
        }

        /// A message that arrived as `id`.
        async fn sent(&self, new: NewMessage, id: &'static str) {
            let Accepted::New(seq) = self.outbox.accept(new).await.unwrap() else { panic!() };
            let key = crate::message::new_part_key();
            let part = NewPart { key, shown: "x".into(), request: "{}".into(), route: None };
            let arrived = self.outbox.change(seq, move |tx| {
                transition::store_parts(tx, seq, &[part])?;
                transition::settle_part(tx, seq, 0, PartState::Confirmed, Some(id), None)
            });
            arrived.await.unwrap();
        }

        async fn heard(&self, peer: &str, thread: Option<&str>, id: &str) {
            let inbound = Inbound {
                agent: "a".into(),
                channel: "local".into(),
                account: "home".into(),
                peer: peer.into(),
                thread: thread.map(Into::into),
                session: "main".into(),
                sender: None,
                platform_id: Some(id.into()),
                text: "x".into(),
            };
            sessions::receive(self.outbox.store(), inbound, now_ms() + 60_000, "bridge:b").await.unwrap();
        }

        /// In which place of `local:ann` a message is, and whether it is anywhere.
        fn at(&self, name: &str, answers_are_threads: bool) -> (Option<Location>, bool) {
            let target = Target { channel: "local".into(), address: "ann".into(), thread: None };
            let names = [name.to_owned()];
            let recorded = Recorded { account: "home", target: &target, names: &names, answers_are_threads };
            let look = |db: &Connection| Ok::<_, StoreError>((recorded.here(db)?, recorded.anywhere(db)?));
            self.outbox.store().look(look).unwrap()
        }
    }

    fn to(address: &str, thread: Option<&str>) -> NewMessage {
        let mut new = NewMessage::example(format!("{address} {thread:?}"));
        new.target.address = address.into();
        new.target.thread = thread.map(Into::into);
        new
    }

    #[tokio::test]
    async fn a_receipt_says_where_a_message_is_and_what_was_done_to_one_does_not() {
        let fixture = Fixture::new();
        fixture.sent(to("ann", Some("7")), "5").await;
        fixture.sent(to("ben", None), "6").await;
        fixture.sent(to("ann", None), "10,11,12").await;
        let edit = NewMessage {
            operation: Operation::Edit { message: "9".into() },
            action: "edit",
            ..to("ann", None)
        };
        fixture.sent(edit, "9").await;
        assert_eq!(fixture.at("5", false), (Some(Location::Thread("7".into())), true));
        assert_eq!(fixture.at("6", false), (None, true), "it is Ben's");
        assert_eq!(fixture.at("9", false), (None, false), "nobody has sent it");
        assert_eq!(fixture.at("10", false), (Some(Location::Outside), true), "the first of an album");
        assert_eq!(fixture.at("1", false), (None, false));
    }

    #[tokio::test]
    async fn where_answers_are_threads_a_message_outside_of_all_may_be_in_one_by_now() {
        let fixture = Fixture::new();
        fixture.sent(to("ann", None), "5").await;
        assert_eq!(fixture.at("5", false).0, Some(Location::Outside));
        assert_eq!(fixture.at("5", true).0, Some(Location::Unknown));
        let thread = |message: Option<&str>| NewMessage {
            operation: Operation::Thread { name: "June".into(), message: message.map(Into::into) },
            action: "thread",
            ..to("ann", None)
        };
        fixture.sent(thread(None), "6").await;
        fixture.sent(thread(Some("5")), "7").await;
        assert_eq!(fixture.at("6", false).0, Some(Location::Outside));
        assert_eq!(fixture.at("7", false).0, Some(Location::Unknown));
    }

    #[tokio::test]
    async fn what_was_heard_is_where_it_was_heard() {
        let fixture = Fixture::new();
        fixture.heard("ann", Some("7"), "5").await;
        fixture.heard("ben", None, "6").await;
        assert_eq!(fixture.at("5", true), (Some(Location::Thread("7".into())), true));
        assert_eq!(fixture.at("6", true), (None, true));
    }
}
