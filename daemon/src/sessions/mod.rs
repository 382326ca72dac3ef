//! Contexts: the proof that a turn came from a conversation.
//!
//! When somebody writes to an agent, a bridge (or the `local` inbox) records it here and gets a token for the agent's
//! turn. The token is random and only its hash is kept, so an agent can neither make one nor change what it says; it
//! belongs to one agent and expires. Whatever the agent then sends is judged against it.

pub mod place;
pub mod transcript;

use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};
use serde_json::json;

use crate::{
    agents,
    audit::{self, Entry, Event},
    message::target::Target,
    people::People,
    plain_text::one_line,
    policy::{LeastTrusted, Origin, Scope},
    store::{Store, StoreError, now_ms},
    turns::trust,
};

/// A message that somebody wrote to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inbound {
    /// The agent that it is for.
    pub agent: String,
    /// The channel.
    pub channel: String,
    /// The hub's account there.
    pub account: String,
    /// The conversation.
    pub peer: String,
    /// The thread in it.
    pub thread: Option<String>,
    /// The agent's session.
    pub session: String,
    /// Who wrote it.
    pub sender: Option<String>,
    /// The platform's id of it.
    pub platform_id: Option<String>,
    /// What it says.
    pub text: String,
}

/// Why a context does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ContextError {
    /// Nobody issued it.
    #[error("this context was not issued by the hub")]
    Unknown,
    /// It was issued to another agent.
    #[error("this context belongs to another agent")]
    Foreign,
    /// It was valid once.
    #[error("this context has expired")]
    Expired,
}

/// The context of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issued {
    /// The token.
    pub context: String,
    /// Whether the agent was told of the message before, by the platform's id of it.
    pub duplicate: bool,
}

/// Records an inbound message and issues the context of the turn that it starts, valid until `expires_at`. One that the platform named
/// before is found, and not recorded twice.
pub async fn receive(
    store: &Store,
    inbound: Inbound,
    expires_at: i64,
    by: &str,
) -> Result<Issued, StoreError> {
    let token = format!("gpc_{}", crate::random::hex::<32>());
    let (hash, by) = (agents::hash(&token), by.to_owned());
    let duplicate = store
        .write(move |tx| {
            let now = now_ms();
            let before = before(tx, &inbound)?;
            let row = match before {
                Some(row) => row,
                None => record(tx, &inbound, now)?,
            };
            tx.execute(
                "INSERT INTO contexts (hash, inbound, agent, session, expires_at) VALUES (?, ?, ?, ?, ?)",
                params![hash, row, inbound.agent, inbound.session, expires_at],
            )?;
            // Kept past its end for a while, so that a late answer is told "expired" and not "unknown".
            tx.execute("DELETE FROM contexts WHERE expires_at < ?", [now - 7 * 86_400_000])?;
            let detail = json!({
                "agent": inbound.agent, "channel": inbound.channel, "account": inbound.account,
                "peer": inbound.peer, "thread": inbound.thread,
            });
            audit::append(tx, &Entry { actor: &by, event: Event::ContextIssued, message: None, detail })?;
            Ok::<_, StoreError>(before.is_some())
        })
        .await?;
    Ok(Issued { context: token, duplicate })
}

/// The row of a message that the platform named before, if this agent was told of it.
fn before(tx: &Transaction<'_>, inbound: &Inbound) -> Result<Option<i64>, StoreError> {
    let Some(id) = &inbound.platform_id else { return Ok(None) };
    let mut look = tx.prepare_cached(
        "SELECT seq FROM inbound WHERE platform_id = ? AND channel = ? AND account = ? AND peer = ?
             AND EXISTS (SELECT 1 FROM contexts WHERE contexts.inbound = inbound.seq AND contexts.agent = ?)
         ORDER BY seq DESC LIMIT 1",
    )?;
    let Inbound { channel, account, peer, agent, .. } = inbound;
    Ok(look.query_row([id, channel, account, peer, agent], |row| row.get(0)).optional()?)
}

fn record(tx: &Transaction<'_>, inbound: &Inbound, now: i64) -> Result<i64, StoreError> {
    tx.execute(
        "INSERT INTO inbound (channel, account, peer, thread, sender, platform_id, text, at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            inbound.channel,
            inbound.account,
            inbound.peer,
            inbound.thread,
            inbound.sender,
            inbound.platform_id,
            inbound.text,
            now
        ],
    )?;
    Ok(tx.last_insert_rowid())
}

/// Where the latest message of a conversation stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Latest {
    /// The thread in it.
    pub thread: Option<String>,
    /// The platform's id of it.
    pub platform_id: Option<String>,
    /// Whether it was heard in the session that was asked for.
    pub own: bool,
    /// Its number: a later one is greater.
    pub seq: i64,
}

/// Whose latest message is looked for, and where.
#[derive(Debug, Clone)]
pub struct Heard {
    /// Who was told of it.
    pub agent: String,
    /// In this session, or, where it heard nothing there, in any.
    pub session: Option<String>,
    /// By this account.
    pub account: String,
    /// From this conversation.
    pub place: Target,
    /// Whether it must be in exactly the thread of `place`, or outside of all.
    pub within_thread: bool,
}

impl Heard {
    /// The latest one.
    ///
    /// # Errors
    /// The database.
    pub async fn latest(self, store: &Store) -> Result<Option<Latest>, StoreError> {
        store
            .read(move |db| {
                let mut look = db.prepare_cached(LATEST)?;
                let mut of = |session: Option<&str>| {
                    let Target { channel, address, thread } = &self.place;
                    let one = params![
                        channel,
                        self.account,
                        address,
                        self.agent,
                        session,
                        self.within_thread,
                        thread
                    ];
                    look.query_row(one, |row| {
                        Ok(Latest {
                            thread: row.get(0)?,
                            platform_id: row.get(1)?,
                            own: session.is_some(),
                            seq: row.get(2)?,
                        })
                    })
                    .optional()
                };
                let own = match &self.session {
                    Some(session) => of(Some(session))?,
                    None => None,
                };
                Ok(match own {
                    Some(own) => Some(own),
                    None => of(None)?,
                })
            })
            .await
    }
}

const LATEST: &str = "SELECT thread, platform_id, seq FROM inbound
     WHERE channel = ?1 AND account = ?2 AND peer = ?3 AND kind <> 'task' AND (NOT ?6 OR thread IS ?7)
         AND EXISTS (SELECT 1 FROM contexts WHERE contexts.inbound = inbound.seq AND contexts.agent = ?4
             AND (?5 IS NULL OR contexts.session = ?5))
     ORDER BY seq DESC LIMIT 1";

/// The account by which an agent's session last heard something on a channel.
pub fn latest_account(
    store: &Store,
    agent: &str,
    session: &str,
    channel: &str,
) -> Result<Option<String>, StoreError> {
    store.look(|db| {
        let sql = "SELECT account FROM inbound WHERE channel = ?1 AND EXISTS (SELECT 1 FROM contexts
                WHERE contexts.inbound = inbound.seq AND contexts.agent = ?2 AND contexts.session = ?3)
             ORDER BY seq DESC LIMIT 1";
        Ok(db.prepare_cached(sql)?.query_row([channel, agent, session], |row| row.get(0)).optional()?)
    })
}

/// The conversation that a context stands for, if it is this agent's and still valid.
pub async fn origin(
    store: &Store,
    agent: &str,
    token: &str,
) -> Result<Result<Origin, ContextError>, StoreError> {
    let hash = agents::hash(token);
    let found = store
        .read(move |db| {
            Ok::<_, StoreError>(
                db.query_row(
                    "SELECT contexts.agent, expires_at, inbound.channel, inbound.account, peer, inbound.thread,
                         contexts.session, turns.id, coalesce(turns.scope, inbound.scope), turns.seq
                     FROM contexts JOIN inbound ON inbound.seq = contexts.inbound
                     LEFT JOIN turns ON turns.seq = contexts.turn WHERE hash = ?",
                    [hash],
                    |row| {
                        let place =
                            Target { channel: row.get(2)?, address: row.get(4)?, thread: row.get(5)? };
                        let origin = Origin {
                            account: row.get(3)?,
                            place,
                            session: Some(row.get(6)?),
                            turn: row.get(7)?,
                            scope: row.get(8)?,
                            because: because(db, row.get(9)?)?,
                        };
                        Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, origin))
                    },
                )
                .optional()?,
            )
        })
        .await?;
    Ok(match found {
        None => Err(ContextError::Unknown),
        Some((owner, ..)) if owner != agent => Err(ContextError::Foreign),
        Some((_, expires_at, _)) if expires_at <= now_ms() => Err(ContextError::Expired),
        Some((.., origin)) => Ok(origin),
    })
}

/// The least trusted turn that an agent is at and that no owner's words alone began, as far as they are trusted now; none while it is at
/// the turn `but`, whose own trust counts then.
///
/// # Errors
/// The database.
pub fn least_trusted_at_work(
    db: &Connection,
    people: &People,
    agent: &str,
    but: Option<&str>,
) -> Result<Option<LeastTrusted>, StoreError> {
    let sql = "SELECT seq, id, scope FROM turns WHERE agent = ?1 AND state = 'leased'
             AND NOT EXISTS (SELECT 1 FROM turns WHERE id = ?2 AND agent = ?1 AND state = 'leased')
         ORDER BY seq";
    let mut turns = db.prepare_cached(sql)?;
    let turns = turns.query_map(params![agent, but], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let mut least: Option<(Scope, i64, String)> = None;
    for turn in turns.collect::<Result<Vec<(i64, String, Scope)>, _>>()? {
        let (seq, id, scope) = turn;
        let scope = trust::of_turn(db, people, seq)?.map_or(scope, |now| now.min(scope));
        if scope < least.as_ref().map_or(Scope::Owner, |least| least.0) {
            least = Some((scope, seq, id));
        }
    }
    let told = |(scope, seq, turn)| Ok(LeastTrusted { turn, scope, because: because(db, Some(seq))? });
    least.map(told).transpose()
}

/// The longest words of a person that stand on a card, in characters.
const MAX_BECAUSE_CHARS: usize = 160;

/// Whose words started a turn, and which: those of its least trusted author, on one line. Those of a task are those of the turn that
/// scheduled it.
fn because(db: &Connection, turn: Option<i64>) -> rusqlite::Result<Option<String>> {
    let Some(turn) = turn else { return Ok(None) };
    let sql = format!(
        "SELECT channel, sender, facts ->> '$.name', text, kind, facts ->> '$.because' FROM turn_items
         JOIN inbound ON inbound.seq = turn_items.inbound WHERE turn = ? AND (sender IS NOT NULL OR kind = 'task')
         ORDER BY {},
             engages DESC, seq LIMIT 1",
        Scope::RANK
    );
    let words = |row: &Row<'_>| {
        let (kind, because): (String, Option<String>) = (row.get(4)?, row.get(5)?);
        let text = quoted(&row.get::<_, String>(3)?);
        if kind == "task" {
            let why = because.map_or_else(String::new, |because| format!(", scheduled because {because}"));
            return Ok(format!("a task was due: \"{text}\"{why}"));
        }
        let (channel, sender): (String, String) = (row.get(0)?, row.get(1)?);
        let who = match row.get::<_, Option<String>>(2)? {
            Some(name) => format!("{} ({channel}:{sender})", quoted(&name)),
            None => format!("{channel}:{sender}"),
        };
        Ok(format!("{who} wrote: \"{text}\""))
    };
    db.prepare_cached(&sql)?.query_row([turn], words).optional()
}

/// Words between the quotation marks of a card.
pub(crate) fn quoted(text: &str) -> String {
    one_line(text, MAX_BECAUSE_CHARS).replace('"', "'")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inbound() -> Inbound {
        Inbound {
            agent: "engineer".into(),
            channel: "local".into(),
            account: "home".into(),
            peer: "ann".into(),
            thread: None,
            session: "main".into(),
            sender: None,
            platform_id: None,
            text: "hello".into(),
        }
    }

    #[tokio::test]
    async fn a_context_counts_for_its_agent_and_until_it_expires() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let valid = receive(&store, inbound(), now_ms() + 60_000, "bridge:b").await.unwrap().context;
        let place = origin(&store, "engineer", &valid).await.unwrap().unwrap().place;
        assert_eq!(place.to_string(), "local:ann");
        assert_eq!(origin(&store, "writer", &valid).await.unwrap(), Err(ContextError::Foreign));
        assert_eq!(origin(&store, "engineer", "gpc_00").await.unwrap(), Err(ContextError::Unknown));

        let stale = receive(&store, inbound(), now_ms() - 1, "bridge:b").await.unwrap().context;
        assert_eq!(origin(&store, "engineer", &stale).await.unwrap(), Err(ContextError::Expired));
    }
}
