//! What an account's own messages were, for who hears from its platform of them; and what people entered into their forms.
//!
//! An entry is a notice to the message's agent and a row of the audit, in one transaction. The audit has who it was and how
//! many fields there were: what they wrote goes with the message, when its retention is over.

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use serde_json::json;

use super::{receipt, row::MessageRow, told::message_of, transition::TransitionError};
use crate::{
    audit,
    message::form::{Entry, Taken},
    store::{StoreError, now_ms},
};

/// Entries into the forms of one message, at most.
const MOST: i64 = 1_000;

/// What the audit calls it that somebody has entered something.
pub const ENTERED: &str = "form.entered";

/// Looks through all messages: for once in the life of a hub.
const NEWEST: &str = "SELECT parts.wire FROM messages JOIN parts ON parts.message = messages.seq
    WHERE messages.action = ? AND messages.channel = ? AND messages.account = ? AND messages.state = 'sent'
    ORDER BY messages.ended_seq DESC, parts.idx LIMIT 1";

const REQUEST: &str = "SELECT parts.wire FROM parts JOIN messages ON messages.seq = parts.message
    WHERE parts.key = ? AND messages.channel = ? AND messages.account = ?";

/// The request of the newest message with this action that an account has sent.
pub fn newest_sent(
    db: &Connection,
    (channel, account): (&str, &str),
    action: &str,
) -> Result<Option<String>, StoreError> {
    Ok(db.prepare(NEWEST)?.query_row(params![action, channel, account], |row| row.get(0)).optional()?)
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
    let so_far = "SELECT count(*) FROM inbox WHERE message = ? AND entry IS NOT NULL";
    if tx.prepare_cached(so_far)?.query_row([&message.id], |row| row.get::<_, i64>(0))? >= MOST {
        return Ok(Taken::Full);
    }
    let (agent, name) = (message.agent.clone(), message.id.clone());
    let told = serde_json::to_string(&receipt(tx, message)?).expect("a receipt is plain data");
    let what = serde_json::to_string(entry).expect("an entry is plain data");
    tx.prepare_cached(
        "INSERT INTO inbox (agent, message, notice, at, entry, entry_id) VALUES (?, ?, ?, ?, ?, ?)",
    )?
    .execute(params![agent, name, told, now_ms(), what, id])?;
    let detail = json!({"notice": tx.last_insert_rowid(), "by": entry.by, "fields": entry.values.len()});
    let actor = format!("platform:{channel}:{account}");
    audit::append(tx, &audit::Entry { actor: &actor, event: ENTERED, message: Some(&name), detail })?;
    Ok(Taken::Now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        outbox::{
            Outbox,
            accept::{Accepted, NewMessage},
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
        let part = NewPart { key: KEY.into(), shown: "x".into(), wire: r#"{"a":1}"#.into(), route: None };
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

    #[tokio::test]
    async fn a_message_takes_so_many_entries_and_no_more() {
        let (_directory, outbox, seq, (channel, account)) = outbox().await;
        let last = outbox.change(seq, move |tx| {
            let enter = |n: i64| entered(tx, (&channel, &account), KEY, &n.to_string(), &entry());
            for n in 0..MOST {
                assert_eq!(enter(n)?, Taken::Now);
            }
            Ok((enter(MOST)?, enter(0)?))
        });
        assert_eq!(last.await.unwrap(), (Taken::Full, Taken::Before));
    }
}
