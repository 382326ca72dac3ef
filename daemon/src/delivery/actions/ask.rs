//! One agent's message becomes a turn of another one.
//!
//! Who asks is the message's own agent: the hub's word, and no claim. The turn is as trusted as the words that began it, and never
//! more than those of somebody who was let in. What is answered in it goes back to the session that asked, as a turn there, by the
//! thread: a thread of this channel stands for one session of the asking agent. A person is told nothing by itself.
//!
//! How often agents have handed something on is carried from turn to turn, so that two of them do not answer each other for ever.

use rusqlite::{Transaction, params};
use sha2::{Digest as _, Sha256};

use super::{ACCOUNT, Undone};
use crate::{
    message::target::AGENT,
    outbox::row::MessageRow,
    policy::Scope,
    random::to_hex,
    sessions::place::{self, OpenedBy, Place},
    store::StoreError,
    turns::{
        Cause,
        open::{Opened, Opening, open},
        stored::Facts,
    },
};

/// How often agents may hand on what began in one turn: a question, its answer, and both once more.
pub const MAX_HOPS: u32 = 4;

/// The turn that a message comes from.
struct Asking {
    session: Option<String>,
    scope: Scope,
    hops: u32,
}

/// Opens the turn; the id of what its agent is told.
pub(super) fn ask(
    tx: &Transaction<'_>,
    message: &MessageRow,
    to: &str,
    text: &str,
    now: i64,
) -> Result<String, Undone> {
    let from = message.agent.as_str();
    let asking = asking(tx, message)?;
    let hops = asking.hops + 1;
    if hops > MAX_HOPS {
        return Err(Undone::Never(format!(
            "agents have handed this on {MAX_HOPS} times, and it goes no further: answer where it began"
        )));
    }
    let (place, session) = destination(tx, message, &asking, to, now)?;
    let facts = serde_json::to_string(&Facts { direct: true, ..Facts::default() }).unwrap_or_default();
    tx.prepare_cached(
        "INSERT INTO inbound (channel, account, peer, thread, sender, text, at, kind, facts, scope, said_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, 'message', ?, ?, ?)",
    )?
    .execute(params![
        AGENT,
        ACCOUNT,
        from,
        place.thread,
        from,
        text,
        now,
        facts,
        asking.scope,
        message.accepted_at
    ])?;
    let inbound = tx.last_insert_rowid();
    let opening = Opening {
        agent: to,
        session: &session,
        gather: None,
        cause: Cause::Agent,
        words: true,
        scope: asking.scope,
        place: Some(&place),
        inbound,
    };
    if open(tx, &opening, now)? == Opened::Full {
        return Err(Undone::Later(format!("{to} has too much to do")));
    }
    tx.prepare_cached(
        "UPDATE turns SET hops = ? WHERE seq = (SELECT turn FROM turn_items WHERE agent = ? AND inbound = ?)",
    )?
    .execute(params![hops, to, inbound])?;
    Ok(format!("in-{inbound}"))
}

/// What is known of the turn that a message comes from. One that names no turn comes from whichever its agent has: leaving
/// the context out neither raises its trust nor begins the count anew.
fn asking(tx: &Transaction<'_>, message: &MessageRow) -> Result<Asking, StoreError> {
    let origin = message.origin.as_ref();
    let turn = origin.and_then(|origin| origin.turn.as_deref());
    let sql = "SELECT session, scope, hops FROM turns WHERE iif(?1 IS NULL, state = 'leased', id = ?1) AND agent = ?2";
    let mut rows = tx.prepare_cached(sql)?;
    let turns = rows.query_map(params![turn, message.agent], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, Scope>(1)?, row.get::<_, u32>(2)?))
    })?;
    let turns: Vec<_> = turns.collect::<Result<_, _>>()?;
    let only = match &turns[..] {
        [(session, ..)] => Some(session.clone()),
        _ => None,
    };
    let scopes = turns.iter().map(|(_, scope, _)| *scope);
    let scopes = scopes.chain(origin.and_then(|origin| origin.scope));
    let scopes = scopes.chain(message.least_trusted.as_ref().map(|at| at.scope));
    Ok(Asking {
        session: origin.and_then(|origin| origin.session.clone()).or(only),
        scope: scopes.min().unwrap_or(Scope::Known).min(Scope::Known),
        hops: turns.iter().map(|(.., hops)| *hops).max().unwrap_or_default(),
    })
}

/// Where the other agent is told, and in which of its sessions: in the one that asked, if this is an answer.
fn destination(
    tx: &Transaction<'_>,
    message: &MessageRow,
    asking: &Asking,
    to: &str,
    now: i64,
) -> Result<(Place, String), StoreError> {
    let from = message.agent.as_str();
    let at = |with: &str, thread: &str| Place {
        channel: AGENT.into(),
        account: ACCOUNT.into(),
        address: with.to_owned(),
        thread: Some(thread.to_owned()),
    };
    let own_session = || asking.session.clone().unwrap_or_else(|| format!("{AGENT}/{ACCOUNT}:{to}"));
    let thread = message.thread.clone().unwrap_or_else(|| thread_of(from, to, &own_session()));
    let place_of_other = at(from, &thread);
    let session = match place::find(tx, to, &place_of_other)? {
        Some((session, _)) => session,
        None => format!("{AGENT}/{ACCOUNT}:{from}#{thread}"),
    };
    place::note(tx, from, &at(to, &thread), &own_session(), OpenedBy::Agent, now)?;
    place::note(tx, to, &place_of_other, &session, OpenedBy::Agent, now)?;
    Ok((place_of_other, session))
}

/// The name of a session of an agent in its conversation with another one.
fn thread_of(from: &str, to: &str, session: &str) -> String {
    let mut hash = Sha256::new_with_prefix(b"gatepost/agents/1");
    for part in [from, to, session] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let hash: [u8; 32] = hash.finalize().into();
    to_hex(&hash[..8])
}
