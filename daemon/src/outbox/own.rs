//! Whether a message that a platform tells of is one of the account's own, where it tells everybody of everything.
//!
//! A platform may tell of a message before its answer to the request has come, or without that ever coming. So beside the ids that
//! are known, the requests count of which nobody knows yet under which id they arrived.

use rusqlite::{Connection, params};

use crate::store::StoreError;

/// A part that is unknown counts for so long after its message's end, in milliseconds: what is told later was said later.
const UNKNOWN_MS: i64 = 24 * 3_600_000;
/// So many requests are looked at.
const MOST: i64 = 64;

const SENT: &str = "SELECT 1 FROM parts JOIN messages ON messages.seq = parts.message
    WHERE parts.platform_id = ? AND messages.channel = ? AND messages.account = ? AND messages.address = ?";

/// The first condition is that of the index, word for word.
const OPEN: &str = "SELECT parts.wire FROM messages JOIN parts ON parts.message = messages.seq
    WHERE messages.state IN ('accepted', 'held', 'ready', 'sending') AND messages.state IN ('ready', 'sending')
        AND messages.channel = ?1 AND messages.account = ?2 AND messages.address = ?3 AND parts.state IN ('in_flight', 'unknown')
    UNION ALL
    SELECT parts.wire FROM messages JOIN parts ON parts.message = messages.seq
    WHERE messages.ended_at > ?4 AND messages.channel = ?1 AND messages.account = ?2 AND messages.address = ?3
        AND parts.state IN ('in_flight', 'unknown')
    LIMIT ?5";

/// Whether the account has sent what the platform knows by this id in this conversation.
///
/// # Errors
/// The database.
pub fn is_sent(
    db: &Connection,
    (channel, account): (&str, &str),
    address: &str,
    id: &str,
) -> Result<bool, StoreError> {
    Ok(db.prepare_cached(SENT)?.exists(params![id, channel, account, address])?)
}

/// The stored requests to this conversation that may have arrived under an id which nobody knows.
///
/// # Errors
/// The database.
pub fn open_requests(
    db: &Connection,
    (channel, account): (&str, &str),
    address: &str,
    now: i64,
) -> Result<Vec<String>, StoreError> {
    let mut look = db.prepare_cached(OPEN)?;
    let found =
        look.query_map(params![channel, account, address, now - UNKNOWN_MS, MOST], |row| row.get(0))?;
    Ok(found.collect::<Result<_, _>>()?)
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
        store::{Store, now_ms},
    };

    #[tokio::test]
    async fn a_part_is_its_accounts_by_its_id_or_its_request_until_the_id_is_known() {
        let directory = tempfile::tempdir().unwrap();
        let outbox = Outbox::new(Store::open(directory.path()).unwrap());
        let Accepted::New(seq) = outbox.accept(NewMessage::example("Hello")).await.unwrap() else { panic!() };
        let part = NewPart { key: "k".into(), shown: "x".into(), request: "{}".into(), route: None };
        outbox.change(seq, move |tx| transition::store_parts(tx, seq, &[part])).await.unwrap();
        let message = outbox.get(seq).await.unwrap();
        let becomes = async |state: &'static str,
                             ended_at: Option<i64>,
                             part: &'static str,
                             id: Option<&'static str>| {
            let written = outbox.store().write(move |tx| {
                tx.execute(
                    "UPDATE messages SET state = ?, ended_at = ? WHERE seq = ?",
                    params![state, ended_at, seq],
                )?;
                tx.execute(
                    "UPDATE parts SET state = ?, platform_id = ? WHERE message = ?",
                    params![part, id, seq],
                )?;
                Ok::<_, StoreError>(())
            });
            written.await.unwrap();
            let account = (message.channel.as_str(), message.account.as_str());
            outbox
                .store()
                .look(|db| {
                    let open = open_requests(db, account, &message.address, now_ms())?;
                    assert_eq!(
                        open_requests(db, ("ntfy", "another"), &message.address, now_ms())?,
                        Vec::<String>::new()
                    );
                    assert!(!is_sent(db, account, "elsewhere", "5")?);
                    Ok::<_, StoreError>((open.len(), is_sent(db, account, &message.address, "5")?))
                })
                .unwrap()
        };
        assert_eq!(becomes("ready", None, "planned", None).await, (0, false));
        assert_eq!(becomes("sending", None, "in_flight", None).await, (1, false));
        assert_eq!(becomes("sent", Some(now_ms()), "confirmed", Some("5")).await, (0, true));
        assert_eq!(becomes("unknown", Some(now_ms()), "unknown", None).await, (1, false));
        assert_eq!(becomes("unknown", Some(now_ms() - UNKNOWN_MS - 1), "unknown", None).await, (0, false));
    }
}
