//! What waits for a person, and from whom a decision is accepted.
//!
//! Messages of one call to several targets that differ in nothing else are held on one card, as far as it has room: one request,
//! one document that lists them all, one decision. Each keeps a row of its own beside it, and goes its own way from then on. One that is
//! cancelled before the decision is not sent, although the card lists it; the rest is decided as it was shown.
//!
//! A held message's approval document ([`document`]) is written in the transaction that holds it; its bytes are what a
//! companion shows, hashes and signs, and they never change. A decision ([`decide`]) is verified and consumed in one
//! transaction with the check that its device may still decide: it counts once, the first one wins, and no decision
//! means no send. Afterwards [`prove`] shows that this is what happened.
//!
//! [`device`] says who may decide, and [`registry`] what becomes of them; [`passkeys`] may decide where the configuration says so. [`presence`] who of them is here, and [`availability`] who
//! can be asked now; [`quorum`] counts where one is not enough, [`cards`] keeps an agent from asking too often, and [`mute`] from asking
//! at all for a while. [`listing`] is all of it as a person looks at it.

pub mod availability;
pub mod cards;
pub mod decide;
pub mod device;
pub mod document;
pub mod firmware;
mod heard;
mod hold;
pub mod listing;
pub mod mute;
pub mod passkeys;
pub mod presence;
pub mod prove;
pub mod quorum;
pub mod registry;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::{collections::HashSet, time::Duration};

use gatepost_link::{RequestId, decision::PublicKey};
use rusqlite::{Connection, OptionalExtension as _, Transaction};

use crate::{
    message::{
        refusal::Code,
        state::{Event, State},
    },
    outbox::{
        Outbox,
        row::{MessageRow, PartRow},
        transition::{self, Change, TransitionError},
    },
    store::{StoreError, now_ms},
};
use device::Device;
pub(crate) use document::Holding;
pub(crate) use hold::hold;
use presence::Presence;
use quorum::{Standing, Who};

/// How the audit names whoever has the key in the column `device`: a companion, or a passkey.
macro_rules! who {
    () => {
        "coalesce((SELECT 'companion:' || name FROM devices WHERE key = device), \
                  (SELECT 'web:' || name FROM passkeys WHERE id = device))"
    };
}
use who;

/// All that companions are asked now, oldest first. A request is open exactly as long as its message is held.
pub(crate) const WAITING: &str = "SELECT request, message, document, deadline, quorum FROM approvals
     WHERE decided_at IS NULL AND card_at IS NOT NULL AND decided_by <> 'web' ORDER BY message";

/// A handle on what waits. Clones share it.
#[derive(Clone)]
pub struct Approvals {
    outbox: Outbox,
    hub: PublicKey,
    who: Who,
    terms: Terms,
    presence: Presence,
}

/// On which terms people are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// How long a message waits for them.
    pub ttl: Duration,
    /// How many devices must approve it.
    pub quorum: u32,
    /// How many cards of one agent they see in an hour; 0 for as many as come.
    pub cards_per_hour: u32,
}

impl Default for Terms {
    /// Ten minutes, one is enough, and a card in three minutes.
    fn default() -> Self {
        Self { ttl: Duration::from_mins(10), quorum: 1, cards_per_hour: cards::USUAL }
    }
}

impl Terms {
    /// Until when a message waits that people are asked about from `since` on. Milliseconds since 1970.
    fn deadline(self, since: i64, message: i64) -> i64 {
        since.saturating_add(i64::try_from(self.ttl.as_millis()).unwrap_or(i64::MAX)).min(message)
    }
}

/// A request that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Its name.
    pub request: RequestId,
    /// The message.
    pub message: i64,
    /// The approval document's bytes.
    pub document: Vec<u8>,
    /// When it expires, in milliseconds since 1970.
    pub deadline: i64,
    /// Who has approved it, while more must.
    pub voted: Vec<PublicKey>,
}

impl Approvals {
    /// The approvals of the hub with this key. `software`: whether a program's decision counts.
    pub fn new(outbox: Outbox, hub: PublicKey, software: bool) -> Self {
        let who = Who { software, web: false };
        Self { outbox, hub, who, terms: Terms::default(), presence: Presence::default() }
    }

    /// The same, where passkeys decide too if `web`.
    pub fn by_passkeys(mut self, web: bool) -> Self {
        self.who.web = web;
        self
    }

    /// The same on these terms.
    pub fn on(self, terms: Terms) -> Self {
        Self { terms, ..self }
    }

    /// On which terms people are asked.
    pub fn terms(&self) -> Terms {
        self.terms
    }

    /// The hub's public key, by which its own signatures are known.
    pub fn hub(&self) -> PublicKey {
        self.hub
    }

    /// Which companions are here.
    pub fn presence(&self) -> &Presence {
        &self.presence
    }

    /// The queue that they are about.
    pub(crate) fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    /// Whether a program's decision counts.
    pub fn takes_programs(&self) -> bool {
        self.who.software
    }

    /// Whether a passkey's decision counts.
    pub fn takes_passkeys(&self) -> bool {
        self.who.web
    }

    /// The devices whose decisions count.
    pub async fn devices(&self) -> Result<Vec<Device>, StoreError> {
        device::accepted(self.outbox.store(), self.who.software).await
    }

    /// All that waits for companions, oldest first.
    pub async fn waiting(&self) -> Result<Vec<Waiting>, StoreError> {
        self.outbox
            .store()
            .read(|db| {
                let mut rows = db.prepare_cached(WAITING)?;
                let mut rows = rows.query([])?;
                let (mut waiting, mut seen) = (vec![], HashSet::new());
                while let Some(row) = rows.next()? {
                    let (request, quorum): (_, u32) = (RequestId(row.get(0)?), row.get(4)?);
                    // Of several messages on one card, the first.
                    if !seen.insert(request) {
                        continue;
                    }
                    let voted = if quorum > 1 { quorum::voted(db, request)? } else { vec![] };
                    let (message, document, deadline) = (row.get(1)?, row.get(2)?, row.get(3)?);
                    waiting.push(Waiting { request, message, document, deadline, voted });
                }
                Ok(waiting)
            })
            .await
    }

    /// How a message stands with those who decide; nothing, if it was never held.
    pub async fn standing(&self, message: i64) -> Result<Option<Standing>, StoreError> {
        self.outbox.store().look(|db| quorum::standing(db, message))
    }

    /// The state of the message that a request is about; of several, that of one that was not cancelled.
    pub async fn state_of(&self, request: RequestId) -> Result<Option<State>, StoreError> {
        self.outbox
            .store()
            .read(move |db| {
                Ok(db
                    .query_row(
                        "SELECT state FROM messages JOIN approvals ON message = seq WHERE request = ?
                         ORDER BY state = 'cancelled', seq LIMIT 1",
                        [request.0],
                        |row| row.get(0),
                    )
                    .optional()?)
            })
            .await
    }

    /// Ends every hold whose deadline has passed, and puts the cards that have waited for their hour; says when there is
    /// something to do again.
    pub async fn look_after(&self) -> Result<Option<i64>, TransitionError> {
        let expires = self.expire().await?;
        Ok(expires.into_iter().chain(self.put_cards().await?).min())
    }

    async fn put_cards(&self) -> Result<Option<i64>, TransitionError> {
        let (terms, now) = (self.terms, now_ms());
        let due = self.outbox.store().read(move |db| cards::due(db, terms, now)).await?;
        if due.now.is_empty() {
            return Ok(due.next);
        }
        let messages: Vec<i64> = due.now.iter().map(|later| later.message).collect();
        let put = self.outbox.store().write(move |tx| {
            due.now
                .iter()
                .try_for_each(|later| cards::put(tx, later, terms, now))
                .map_err(TransitionError::from)
        });
        put.await?;
        // What was put expires in its turn: the change makes whoever waits look again.
        messages.into_iter().for_each(|message| self.outbox.changed(message));
        Ok(due.next)
    }

    /// Ends every hold whose deadline has passed; says when the next one will.
    async fn expire(&self) -> Result<Option<i64>, TransitionError> {
        let now = now_ms();
        let deadlines: Vec<(i64, i64)> = self
            .outbox
            .store()
            .read(|db| {
                let mut rows =
                    db.prepare_cached("SELECT message, deadline FROM approvals WHERE decided_at IS NULL")?;
                let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
                Ok::<_, StoreError>(rows.collect::<Result<_, _>>()?)
            })
            .await?;
        let (due, later): (Vec<_>, Vec<_>) =
            deadlines.into_iter().partition(|(_, deadline)| *deadline <= now);
        for (seq, _) in due {
            let approvals = self.clone();
            let expired = self.outbox.change(seq, move |tx| approvals.end(tx, seq)).await;
            match expired {
                // Somebody decided between the look and the write.
                Err(TransitionError::Illegal(_)) => {}
                other => other?,
            }
        }
        Ok(later.into_iter().map(|(_, deadline)| deadline).min())
    }

    /// Ends a hold whose deadline has passed; its reason says whether anybody could be asked at the end.
    fn end(&self, tx: &Transaction<'_>, seq: i64) -> Result<(), TransitionError> {
        let sql = "SELECT card_at IS NOT NULL, id, agent FROM approvals JOIN messages ON seq = message WHERE message = ?";
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let (carded, id, agent): (bool, String, String) = tx.prepare_cached(sql)?.query_row([seq], read)?;
        let problem = self.asked_about(tx, &id)?.and_then(|asked| asked.problem);
        let why = match (carded, problem) {
            (true, Some(problem)) => format!("nobody decided in time: {problem}"),
            (true, None) => "nobody decided in time".into(),
            (false, _) if mute::until(tx, &agent, now_ms())?.is_some() => {
                "nobody was asked in time, because its agent was muted".into()
            }
            (false, _) => "nobody was asked in time, because its agent had asked too often".into(),
        };
        let change = Change::hub(Event::Expire, Some(&why)).code(Code::Expired);
        transition::apply(tx, seq, &change)?;
        Ok(())
    }

    /// Whether a message's stored parts are the ones that were approved. A message that was never held has none.
    pub async fn release(&self, seq: i64) -> Result<Released, StoreError> {
        self.outbox.store().look(|db| release(db, &MessageRow::get(db, seq)?))
    }
}

/// Whether people were asked about a message. If it is ready then, they have approved it.
pub(crate) fn was_held(db: &Connection, seq: i64) -> Result<bool, StoreError> {
    Ok(db.prepare_cached("SELECT 1 FROM approvals WHERE message = ?")?.exists([seq])?)
}

/// Who approved or denied a message, as the audit names them; nothing, if nobody has.
pub(crate) fn decided_by(db: &Connection, seq: i64) -> Result<Option<String>, StoreError> {
    let sql = concat!("SELECT ", who!(), " FROM approvals WHERE message = ? AND decided_at IS NOT NULL");
    Ok(db.prepare_cached(sql)?.query_row([seq], |row| row.get(0)).optional()?.flatten())
}

/// Whether a message's stored parts are the ones that were approved. A message that was never held has none.
pub(crate) fn release(db: &Connection, message: &MessageRow) -> Result<Released, StoreError> {
    let approved: Option<(Vec<u8>, Option<String>)> = db
        .prepare_cached("SELECT document, verdict FROM approvals WHERE message = ?")?
        .query_row([message.seq], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let parts = PartRow::all(db, message.seq)?;
    let released = approved.is_none_or(|(document, verdict)| {
        verdict.as_deref() == Some("approve") && document::covers(&document, message, &parts)
    });
    Ok(if released { Released::Parts(parts) } else { Released::Changed })
}

/// What may be sent of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Released {
    /// These parts, exactly as approved, or of a message that needed no approval.
    Parts(Vec<PartRow>),
    /// Nothing: the stored requests are not the ones that were approved.
    Changed,
}
