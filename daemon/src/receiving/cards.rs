//! Requests for access are asked about on the companions, as any held message is: one to `hub:let-in/CODE`.
//!
//! A request is a row before there is a card, and the card's idempotency key is the request's code: whatever crashes, a request
//! has one card, and is found again at the next start. An approval is done by its delivery
//! ([`crate::delivery::actions`]); a denial, and what waited with a request that is answered, are looked after here. Who answers in
//! the shell first withdraws the card. A card that expires leaves its request to the shell: no answer is no.

use std::{collections::BTreeSet, time::Duration};

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use tokio::{sync::broadcast::error::RecvError, time::sleep};

use super::question::question;
use crate::{
    admission::submit::Idempotency,
    approval,
    delivery::actions::{ACCOUNT, LET_IN},
    message::{
        action::Action,
        call::Call,
        refusal::Code,
        state::{Actor, Event},
        target::HUB,
    },
    outbox::transition::{self, Change, TransitionError},
    people::requests::{self, Request},
    pipeline::{Pipeline, RECOVER, current::Current},
    policy::Scope,
    store::{StoreError, now_ms},
};

/// Between two looks, if nothing happens: a request ends by itself after a day.
const REST: Duration = Duration::from_mins(10);
/// After a card could not be put, before trying again: the queue or the disk had no room.
const AGAIN: Duration = Duration::from_secs(30);
/// The most requests that are looked at together: more than are asked in a day.
pub(super) const MOST: u32 = 100;

/// Requests with their cards: joined by the card's own key, for a crash may have kept it from its request.
macro_rules! cards {
    () => {
        "access_requests JOIN messages
         ON messages.agent = 'hub' AND idempotency_key = 'access-' || access_requests.code"
    };
}

impl Current {
    /// Puts requests on cards, and settles what was answered on them, for as long as the hub runs.
    pub async fn keep_cards(self) {
        let mut replaced = self.replacements();
        let (mut asking, mut changes) = {
            let pipeline = self.pipeline();
            (pipeline.0.asking.listen(), pipeline.outbox().changes())
        };
        loop {
            asking.mark_unchanged();
            replaced.mark_unchanged();
            let (cards, wait) = match self.pipeline().look_after_cards().await {
                Ok(seen) => seen,
                Err(error) => {
                    tracing::error!(%error, "cannot look after requests for access");
                    (BTreeSet::new(), RECOVER)
                }
            };
            let until = sleep(wait);
            tokio::pin!(until);
            loop {
                tokio::select! {
                    _ = asking.changed() => break,
                    // The configuration may say of somebody now who they are. The sender lives as long as `self`.
                    _ = replaced.changed() => break,
                    () = &mut until => break,
                    change = changes.recv() => match change {
                        Ok(seq) if cards.contains(&seq) => break,
                        Err(RecvError::Lagged(_)) => break,
                        Ok(_) => {}
                        // The hub is stopping.
                        Err(RecvError::Closed) => return,
                    },
                }
            }
        }
    }
}

impl Pipeline {
    /// One look: the cards that are out, and how long until the next one.
    async fn look_after_cards(&self) -> Result<(BTreeSet<i64>, Duration), TransitionError> {
        let store = self.outbox().store().clone();
        // Looked up before anything is settled: one that is answered meanwhile is looked at again when its message has ended.
        let mut cards = store.read(open_cards).await?;
        let mut wait = if self.settle_cards().await? { REST } else { AGAIN };
        for (request, words) in store.read(unasked).await? {
            if !self.put_card(&request, &words).await? {
                wait = AGAIN;
            }
        }
        cards.extend(store.read(open_cards).await?);
        Ok((cards, wait))
    }

    /// Puts a request on a card; whether there is one now.
    async fn put_card(&self, request: &Request, words: &str) -> Result<bool, StoreError> {
        let name = Idempotency { key: Some(format!("access-{}", request.code)), fingerprint: [0; 32] };
        let receipt = match self.submit(HUB, call(request, words, now_ms()), name).await {
            Ok(receipt) => receipt,
            Err(refusal) => {
                tracing::warn!(
                    code = request.code,
                    why = refusal.error,
                    "a request for access has no card yet"
                );
                return Ok(false);
            }
        };
        let code = request.code.clone();
        let shown = move |tx: &Transaction<'_>| requests::shown_by(tx, &code, &receipt.id.0);
        self.outbox().store().write(shown).await?;
        Ok(true)
    }

    /// Settles what was answered, each request by itself: one that cannot be settled keeps no other from it. Whether all are.
    async fn settle_cards(&self) -> Result<bool, TransitionError> {
        let store = self.outbox().store().clone();
        if store.read(|db| is_over(db, now_ms())).await? {
            store.write(|tx| requests::expire(tx, now_ms())).await?;
        }
        let mut all = true;
        let pipeline = self.clone();
        let found = move |db: &Connection| {
            let mut codes = to_settle(db)?;
            codes.extend(pipeline.said_since(db)?);
            Ok::<_, StoreError>(codes)
        };
        for code in store.read(found).await? {
            let (pipeline, of) = (self.clone(), code.clone());
            let settled: Result<_, TransitionError> =
                store.write(move |tx| pipeline.settle_request(tx, &of, HUB)).await;
            match settled {
                Ok(settled) => self.tell_settled([settled]),
                Err(error) => {
                    tracing::error!(%error, code, "cannot settle a request for access");
                    all = false;
                }
            }
        }
        Ok(all)
    }

    /// Tells of requests that were settled: whether that woke an agent, and the message that changed, of each.
    pub(super) fn tell_settled(&self, settled: impl IntoIterator<Item = (bool, Option<i64>)>) {
        for (woken, changed) in settled {
            changed.into_iter().for_each(|seq| self.outbox().changed(seq));
            if woken {
                self.0.wake.tell();
            }
        }
    }

    /// Settles a request, if it was answered: on its card, or `by` what somebody has said of whom it is about. Whether that woke an agent,
    /// and the message that changed.
    pub(super) fn settle_request(
        &self,
        tx: &Transaction<'_>,
        code: &str,
        by: &str,
    ) -> Result<(bool, Option<i64>), TransitionError> {
        let now = now_ms();
        let Some(open) = requests::get(tx, code)? else { return Ok((false, None)) };
        let denied: Option<i64> =
            tx.prepare_cached(DENIED_BY)?.query_row([code], |row| row.get(0)).optional()?;
        if let Some(scope) = self.trusted_since(tx, &open)?.filter(|_| open.decided.is_none()) {
            requests::settle(tx, code, scope > Scope::Blocked, by, now)?;
        } else if let Some(card) = denied {
            let by = approval::decided_by(tx, card)?.unwrap_or_else(|| HUB.into());
            requests::decide(tx, code, false, &by, now)?;
        }
        let request = requests::get(tx, code)?.filter(|request| request.decided.is_some());
        let Some(request) = request else { return Ok((false, None)) };
        Ok((self.let_go(tx, &request, now)?, withdraw(tx, code, by)?))
    }
}

const DENIED: &str =
    concat!("SELECT access_requests.code FROM ", cards!(), " WHERE decided IS NULL AND state = 'denied'");
const DENIED_BY: &str = concat!(
    "SELECT messages.seq FROM ",
    cards!(),
    " WHERE access_requests.code = ? AND decided IS NULL AND state = 'denied'"
);
const WAITS: &str = "SELECT DISTINCT code FROM inbound JOIN access_requests ON code = inbound.request
    WHERE inbound.request IS NOT NULL AND decided IS NOT NULL";
const LEFT_OVER: &str = concat!(
    "SELECT access_requests.code FROM ",
    cards!(),
    " WHERE decided IS NOT NULL AND state IN ('accepted', 'held', 'ready')"
);
const OPEN: &str = concat!("SELECT messages.seq FROM ", cards!(), " WHERE decided IS NULL");
const PRESSED: &str = concat!(
    "SELECT 1 FROM ",
    cards!(),
    " JOIN approvals ON approvals.message = messages.seq
     WHERE access_requests.code = ? AND decided IS NULL
         AND (state = 'denied' OR state IN ('ready', 'sending') AND verdict = 'approve')"
);
const ASKING: &str = concat!(
    "SELECT messages.seq FROM ",
    cards!(),
    " WHERE access_requests.code = ? AND state IN ('accepted', 'held', 'ready')"
);

fn rows<T>(
    db: &Connection,
    sql: &str,
    read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, StoreError> {
    Ok(db.prepare_cached(sql)?.query_map([], read)?.collect::<Result<_, _>>()?)
}

/// The requests that were answered, and of which something is left.
fn to_settle(db: &Connection) -> Result<BTreeSet<String>, StoreError> {
    let mut codes = BTreeSet::new();
    for sql in [DENIED, WAITS, LEFT_OVER] {
        codes.extend(rows(db, sql, |row| row.get(0))?);
    }
    Ok(codes)
}

/// Whether nobody answered a request in time, and nothing says so yet.
fn is_over(db: &Connection, now: i64) -> Result<bool, StoreError> {
    let expired = "SELECT 1 FROM access_requests WHERE decided IS NULL AND expires_at <= ?";
    Ok(db.prepare_cached(expired)?.exists([now])?)
}

/// Requests without a card, with the first words that wait with each.
fn unasked(db: &Connection) -> Result<Vec<(Request, String)>, StoreError> {
    let mut found = vec![];
    for request in requests::list(db, true, now_ms(), MOST)? {
        if request.message.is_none() {
            let sql = "SELECT text FROM inbound WHERE request = ? ORDER BY seq LIMIT 1";
            let words = db.prepare_cached(sql)?.query_row([&request.code], |row| row.get(0)).optional()?;
            found.push((request, words.unwrap_or_default()));
        }
    }
    Ok(found)
}

fn open_cards(db: &Connection) -> Result<BTreeSet<i64>, StoreError> {
    Ok(rows(db, OPEN, |row| row.get(0))?.into_iter().collect())
}

/// Whether a request is answered by what was pressed on its card, though nothing says so yet.
pub(super) fn is_pressed(db: &Connection, code: &str) -> Result<bool, StoreError> {
    Ok(db.prepare_cached(PRESSED)?.exists([code])?)
}

/// Withdraws the card of a request that was answered elsewhere; its message.
pub(super) fn withdraw(tx: &Transaction<'_>, code: &str, by: &str) -> Result<Option<i64>, TransitionError> {
    let card: Option<i64> =
        tx.prepare_cached(ASKING)?.query_row(params![code], |row| row.get(0)).optional()?;
    if let Some(seq) = card {
        let change = Change {
            event: Event::Cancel,
            actor: Actor::Agent,
            by,
            code: Some(Code::Cancelled),
            reason: Some("the request was answered without this card"),
            facts: None,
        };
        transition::apply(tx, seq, &change)?;
    }
    Ok(card)
}

/// What the hub asks for.
fn call(request: &Request, words: &str, now: i64) -> Call {
    let left = u64::try_from(request.expires_at.0 - now).unwrap_or_default();
    let address = format!("{LET_IN}/{}", request.code);
    let call = Call::to_hub(Action::Send, (HUB, ACCOUNT, &address), question(request, words));
    Call { ttl: Some(Duration::from_millis(left)), ..call }
}

#[cfg(test)]
mod tests;
