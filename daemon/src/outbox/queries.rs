//! What the outbox asks of the database all the time, as SQL. Each is answered from an index, which a test holds them to: rows
//! that have ended stay for a month.

macro_rules! columns {
    () => {
        "SELECT seq, id, agent, state, action, channel, account, address, thread, reply_to, silent, origin, text, \
         accepted_at, deadline, due_at, attempts, code, reason, ended_at, hooked_at, written, ended_seq, \
         best_effort, resend, attachments, deed, known_as, touched, written_as, unidentified, history, account_is, session \
         FROM messages "
    };
}

pub(super) const BY_ID: &str = concat!(columns!(), "WHERE id = ?");
pub(super) const BY_SEQ: &str = concat!(columns!(), "WHERE seq = ?");
pub(super) const BY_KEY: &str = concat!(columns!(), "WHERE agent = ? AND idempotency_key = ?");
/// The condition of the index `messages_lanes`. SQLite uses an index with a condition only where that stands word for word.
macro_rules! released {
    () => {
        "state IN ('ready', 'sending')"
    };
}
/// All that is under way, from the two indexes of it and nothing else: what waits to be released, and what stands in a lane.
macro_rules! live {
    () => {
        concat!(
            "(SELECT seq, state, channel FROM messages INDEXED BY messages_waiting \
             WHERE state IN ('accepted', 'held') \
             UNION ALL SELECT seq, state, channel FROM messages INDEXED BY messages_lanes WHERE ",
            released!(),
            ")"
        )
    };
}

pub(super) const LIVE: &str = concat!("SELECT seq FROM ", live!(), " ORDER BY seq");
pub(super) const LIVE_IN_STATE: &str =
    concat!(columns!(), "WHERE seq IN (SELECT seq FROM ", live!(), " WHERE state = ?) ORDER BY seq");

/// From the index alone, in its order. With min(), SQLite takes the other columns from the row that has it
/// (<https://www.sqlite.org/lang_select.html#bareagg>).
pub(super) const HEADS: &str = concat!(
    "SELECT channel, account, address, seq, accepted_at, due_at, deadline, min(released) \
     FROM messages INDEXED BY messages_lanes WHERE ",
    released!(),
    " GROUP BY channel, account, address"
);
pub(super) const HEAD_OF: &str = concat!(
    "SELECT channel, account, address, seq, accepted_at, due_at, deadline \
     FROM messages INDEXED BY messages_lanes WHERE ",
    released!(),
    " AND channel = ? AND account = ? AND address = ? ORDER BY released LIMIT 1"
);
pub(super) const LANE_OF: &str = "SELECT channel, account, address, state FROM messages WHERE seq = ?";
/// Put back for an account that stands for somebody else now.
pub(super) const OTHERS: &str = concat!(
    "SELECT seq FROM messages WHERE ",
    released!(),
    " AND channel = ? AND account = ? AND state = 'ready' AND due_at > ? AND account_is <> ?"
);
pub(super) const QUEUED: &str =
    concat!("SELECT count(*) FROM ", live!(), " WHERE state IN ('accepted', 'ready', 'sending')");
/// Accounts whose platform takes nothing for a while; a conversation's own pause is none of its account's.
pub(super) const PAUSED: &str =
    "SELECT count(*) FROM (SELECT DISTINCT channel, account FROM pauses WHERE address = '' AND until > ?)";
pub(crate) const DEPTHS: &str = concat!(
    "SELECT channel, state, count(*) FROM ",
    live!(),
    " GROUP BY state, channel ORDER BY channel, state"
);
/// By state: how many, and the oldest of them.
pub(super) const LIVE_COUNTS: &str =
    concat!("SELECT state, count(*), min(seq) FROM ", live!(), " GROUP BY state");
/// What ended since a time, the latest first, and whether people were asked about it.
pub(super) const ENDED_SINCE: &str = "SELECT ended_at, state, accepted_at, EXISTS (SELECT 1 FROM approvals WHERE message = seq) \
     FROM messages INDEXED BY messages_ended WHERE ended_at IS NOT NULL AND ended_at >= ?1 ORDER BY ended_at DESC LIMIT ?2";
/// Rows are numbered in the order of acceptance, so the lowest number is the oldest.
pub(crate) const OLDEST: &str = concat!(
    "SELECT accepted_at FROM messages WHERE seq = (SELECT min(seq) FROM ",
    live!(),
    " WHERE state = ?)"
);
pub(super) const SHIFT: &str = concat!(
    "UPDATE messages SET accepted_at = accepted_at + ?1, deadline = deadline + ?1, due_at = due_at + ?1 \
     WHERE seq IN (SELECT seq FROM ",
    live!(),
    ") AND accepted_at >= ?2"
);
/// A retried message has no end any more, so the end alone says that it is over.
pub(super) const ENDED: &str = "SELECT seq, id FROM messages WHERE ended_at IS NOT NULL AND ended_at < ?1 \
     AND (?2 IS NULL OR state = ?2) AND (?3 IS NULL OR id = ?3) ORDER BY ended_at, seq LIMIT ?4";
pub(super) const SAID: &str = concat!(
    columns!(),
    "WHERE agent = ?1 AND ended_seq > ?2 AND (?3 IS NULL OR coalesce(session, origin ->> '$.session') = ?3) \
     AND EXISTS (SELECT 1 FROM parts WHERE parts.message = messages.seq AND parts.state = 'confirmed') \
     ORDER BY ended_seq LIMIT ?4"
);
/// From the newest back.
pub(super) const NEWEST: &str = concat!(columns!(), "ORDER BY seq DESC LIMIT ?");
/// What a search looks at, from the newest back.
macro_rules! looked_at {
    () => {
        "SELECT seq, state, agent, channel, id, address, thread, known_as, text FROM messages "
    };
}

pub(super) const FOUND: &str = concat!(looked_at!(), "WHERE seq < ? ORDER BY seq DESC");
pub(super) const FOUND_OF_AGENT: &str =
    concat!(looked_at!(), "WHERE seq < ?1 AND agent = ?2 ORDER BY seq DESC");
pub(super) const FOUND_LIVE: &str =
    concat!(looked_at!(), "WHERE seq IN (SELECT seq FROM ", live!(), ") AND seq < ? ORDER BY seq DESC");
pub(super) const ALL: &str = concat!(columns!(), "WHERE ?2 IS NULL OR state = ?2 ORDER BY seq DESC LIMIT ?3");
pub(super) const OF_AGENT: &str =
    concat!(columns!(), "WHERE agent = ?1 AND (?2 IS NULL OR state = ?2) ORDER BY seq DESC LIMIT ?3");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Store, StoreError};

    /// What has ended stays for a month, so a full scan costs more every day.
    #[tokio::test]
    async fn what_is_asked_all_the_time_is_answered_from_an_index() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        for sql in [
            BY_ID,
            BY_SEQ,
            BY_KEY,
            super::super::accept::OTHER_CALL,
            ENDED,
            LIVE,
            LIVE_IN_STATE,
            HEADS,
            HEAD_OF,
            LANE_OF,
            OTHERS,
            QUEUED,
            DEPTHS,
            OLDEST,
            OF_AGENT,
            LIVE_COUNTS,
            ENDED_SINCE,
            FOUND,
            FOUND_OF_AGENT,
            FOUND_LIVE,
            SAID,
            super::super::located::SENT,
            super::super::located::HEARD,
            super::super::edits::FIRST,
            super::super::edits::NEWEST,
            super::super::edits::QUOTE,
            super::super::pauses::OF_LANE,
            crate::approval::WAITING,
            crate::approval::cards::LATER,
            crate::approval::cards::HAD,
        ] {
            let plan: Vec<String> = store
                .read(move |db| {
                    let mut rows = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
                    let count = rows.parameter_count();
                    let rows =
                        rows.query_map(rusqlite::params_from_iter(vec![""; count]), |row| row.get(3))?;
                    Ok::<_, StoreError>(rows.collect::<Result<_, _>>()?)
                })
                .await
                .unwrap();
            let scans = |line: &&String| {
                line.starts_with("SCAN") && !line.contains("USING") && !line.contains("SCAN (subquery")
            };
            assert_eq!(plan.iter().find(scans), None, "{sql}\n{plan:#?}");
        }
    }
}
