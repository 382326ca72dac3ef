//! What an account's own messages were, for who hears from its platform of them; and what people entered into their forms.
//!
//! An entry is a notice to the message's agent and a row of the audit, in one transaction. The audit has who it was and how
//! many fields there were: what they wrote goes with the message, when its retention is over.

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use serde_json::json;

use super::{notices, receipt, reconcile::message_of, row::MessageRow, transition::TransitionError};
use crate::{
    audit,
    message::form::{Entry, Taken},
    store::{StoreError, now_ms},
};

/// Entries into the forms of one message, at most.
const MAX_ENTRIES: i64 = 1_000;
/// Of them, those of one person.
const MAX_ENTRIES_BY_ONE: i64 = 20;
/// Bytes of all entries into the forms of one message.
const MAX_ENTRY_BYTES: i64 = 2 * 1024 * 1024;

/// Looks through all messages: for once in the life of a hub.
const NEWEST: &str = "SELECT parts.wire FROM messages JOIN parts ON parts.message = messages.seq
    WHERE messages.action = ?1 AND messages.channel = ?2 AND messages.account = ?3 AND messages.state = 'sent'
        AND NOT EXISTS (SELECT 1 FROM audit WHERE seq >= messages.ended_seq AND event = ?4)
    ORDER BY messages.ended_seq DESC, parts.idx LIMIT 1";

const REQUEST: &str = "SELECT parts.wire FROM parts JOIN messages ON messages.seq = parts.message
    WHERE parts.key = ? AND messages.channel = ? AND messages.account = ?";

/// What is done to a message has its id, too; what made it was first.
const MADE: &str = "SELECT parts.wire FROM parts JOIN messages ON messages.seq = parts.message
    WHERE parts.platform_id = ? AND messages.channel = ? AND messages.account = ? AND messages.address = ?
    ORDER BY messages.seq LIMIT 1";

/// What was entered into the forms of a message: how often, how often by this person, and how many bytes.
const SO_FAR: &str = "SELECT count(*), count(*) FILTER (WHERE entry ->> '$.by' = ?2), coalesce(sum(length(CAST(entry AS BLOB))), 0)
    FROM inbox WHERE message = ?1 AND entry IS NOT NULL";

/// The request of the newest message with this action that an account has sent. What a restored backup brought back is past:
/// somebody may have done otherwise since.
pub fn newest_sent(
    db: &Connection,
    (channel, account): (&str, &str),
    action: &str,
) -> Result<Option<String>, StoreError> {
    Ok(db
        .prepare(NEWEST)?
        .query_row(params![action, channel, account, audit::Event::HubRestored], |row| row.get(0))
        .optional()?)
}

/// The request of a part, if it is this account's.
pub fn request(
    db: &Connection,
    (channel, account): (&str, &str),
    key: &str,
) -> Result<Option<String>, StoreError> {
    let mut found = db.prepare_cached(REQUEST)?;
    Ok(found.query_row(params![key, channel, account], |row| row.get(0)).optional()?)
}

/// The request that made a message which an account has sent to this address, by the platform's id of it.
pub fn made(
    db: &Connection,
    (channel, account): (&str, &str),
    address: &str,
    id: &str,
) -> Result<Option<String>, StoreError> {
    let mut found = db.prepare_cached(MADE)?;
    Ok(found.query_row(params![id, channel, account, address], |row| row.get(0)).optional()?)
}

/// Writes down what somebody entered into a form of an account's part, once under this id.
pub fn entered(
    tx: &Transaction<'_>,
    (channel, account): (&str, &str),
    key: &str,
    id: &str,
    entry: &Entry,
) -> Result<Taken, TransitionError> {
    let nobodys = || StoreError::from(rusqlite::Error::QueryReturnedNoRows);
    let seq = message_of(tx, key)?.ok_or_else(nobodys)?;
    let message = MessageRow::get(tx, seq)?;
    if (message.channel.as_str(), message.account.as_str()) != (channel, account) {
        return Err(nobodys().into());
    }
    if tx.prepare_cached("SELECT 1 FROM inbox WHERE entry_id = ?")?.exists([id])? {
        return Ok(Taken::Before);
    }
    let what = serde_json::to_string(entry).expect("an entry is plain data");
    let (all, by_one, bytes) =
        tx.prepare_cached(SO_FAR)?.query_row(params![message.id, entry.by], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
        })?;
    let more = i64::try_from(what.len()).unwrap_or(i64::MAX);
    if all >= MAX_ENTRIES || by_one >= MAX_ENTRIES_BY_ONE || bytes.saturating_add(more) > MAX_ENTRY_BYTES {
        return Ok(Taken::Full);
    }
    let (agent, name) = (message.agent.clone(), message.id.clone());
    let told = serde_json::to_string(&receipt(tx, message)?).expect("a receipt is plain data");
    let notice = notices::insert(tx, &agent, &name, &told, now_ms(), Some((&what, id)))?;
    let detail = json!({"notice": notice, "by": entry.by, "fields": entry.values.len()});
    let actor = format!("platform:{channel}:{account}");
    audit::append(
        tx,
        &audit::Entry { actor: &actor, event: audit::Event::FormEntered, message: Some(&name), detail },
    )?;
    Ok(Taken::Now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        outbox::{
            Outbox,
            accept::Accepted,
            new_message::NewMessage,
            transition::{self, NewPart},
        },
        store::Store,
    };

    const KEY: &str = "00112233445566778899aabbccddeeff";

    /// An outbox with one message, and the account that it goes from.
    async fn outbox() -> (tempfile::TempDir, Outbox, i64, (String, String)) {
        let directory = tempfile::tempdir().unwrap();
        let outbox = Outbox::new(Store::open(directory.path()).unwrap());
        let Accepted::New(seq) = outbox.accept(NewMessage::example("Hello")).await.unwrap() else { panic!() };
        let part = NewPart { key: KEY.into(), shown: "x".into(), request: r#"{"a":1}"#.into(), route: None };
        let stored = outbox.change(seq, move |tx| transition::store_parts(tx, seq, &[part]));
        stored.await.unwrap();
        let message = outbox.get(seq).await.unwrap();
        (directory, outbox, seq, (message.channel, message.account))
    }

    fn entry() -> Entry {
        let values = [("what".to_owned(), "It broke".to_owned())].into();
        Entry { form: "Report".into(), by: "99".into(), name: "Ann".into(), message: None, values }
    }

    #[tokio::test]
    async fn an_entry_is_told_once_and_only_of_the_accounts_own_part() {
        let (_directory, outbox, seq, (channel, account)) = outbox().await;
        let of = |channel: &str, account: &str| {
            outbox.store().look(|db| request(db, (channel, account), KEY)).unwrap()
        };
        assert_eq!(of(&channel, &account).as_deref(), Some(r#"{"a":1}"#));
        assert_eq!(of(&channel, "another"), None);
        let enter = async |id: &'static str, of: (String, String)| {
            outbox.change(seq, move |tx| entered(tx, (&of.0, &of.1), KEY, id, &entry())).await
        };
        let own = (channel.clone(), account.clone());
        assert_eq!(enter("a:1", own.clone()).await.unwrap(), Taken::Now);
        assert_eq!(enter("a:1", own.clone()).await.unwrap(), Taken::Before);
        assert_eq!(enter("a:2", own).await.unwrap(), Taken::Now);
        assert!(enter("a:3", (channel, "another".into())).await.is_err());
        let message = outbox.get(seq).await.unwrap();
        let notices = outbox.notices(&message.agent, 0, 10).await.unwrap();
        assert_eq!(notices.len(), 2);
        assert_eq!(notices[0].entry, Some(entry()));
        assert_eq!(notices[0].receipt["id"], message.id);
        assert_eq!(outbox.store().look(crate::audit::first_broken).unwrap(), None);
    }

    fn of(by: i64, text: &str) -> Entry {
        Entry { by: by.to_string(), values: [("what".to_owned(), text.to_owned())].into(), ..entry() }
    }

    #[tokio::test]
    async fn a_message_takes_so_many_entries_and_no_more() {
        let (_directory, outbox, seq, (channel, account)) = outbox().await;
        let last = outbox.change(seq, move |tx| {
            let enter = |n: i64| entered(tx, (&channel, &account), KEY, &n.to_string(), &of(n, "It broke"));
            for n in 0..MAX_ENTRIES {
                assert_eq!(enter(n)?, Taken::Now);
            }
            Ok((enter(MAX_ENTRIES)?, enter(0)?))
        });
        assert_eq!(last.await.unwrap(), (Taken::Full, Taken::Before));
    }

    #[tokio::test]
    async fn one_person_does_not_fill_a_form_and_long_entries_fill_it_sooner() {
        let (_directory, outbox, seq, (channel, account)) = outbox().await;
        let own = (channel, account);
        let outcome = outbox.change(seq, move |tx| {
            let mut n = 0;
            let mut enter = |entry: &Entry| {
                n += 1;
                entered(tx, (&own.0, &own.1), KEY, &n.to_string(), entry)
            };
            for _ in 0..MAX_ENTRIES_BY_ONE {
                assert_eq!(enter(&of(1, "me"))?, Taken::Now);
            }
            assert_eq!((enter(&of(1, "me"))?, enter(&of(2, "you"))?), (Taken::Full, Taken::Now));
            let long = "ü".repeat(20_000);
            let taken = (3..200).take_while(|by| enter(&of(*by, &long)).unwrap() == Taken::Now).count();
            Ok(taken)
        });
        let taken = outcome.await.unwrap();
        assert!((40..60).contains(&taken), "{taken} of 40 KB each");
    }

    #[tokio::test]
    async fn what_a_restored_backup_brought_back_is_not_the_newest() {
        let (_directory, outbox, seq, (channel, account)) = outbox().await;
        let newest = |outbox: &Outbox| {
            outbox.store().look(|db| newest_sent(db, (&channel, &account), "send")).unwrap()
        };
        let sql =
            "UPDATE messages SET state = 'sent', ended_seq = (SELECT max(seq) FROM audit) WHERE seq = ?";
        let sent = outbox.store().write(move |tx| Ok::<_, StoreError>(tx.execute(sql, [seq])?));
        assert_eq!(sent.await.unwrap(), 1);
        assert!(newest(&outbox).is_some());
        let restored =
            outbox.store().write(|tx| Ok::<_, StoreError>(tx.execute("UPDATE hub SET restored = 1", [])?));
        restored.await.unwrap();
        outbox.settle_restored().await.unwrap();
        assert_eq!(newest(&outbox), None);
    }
}
