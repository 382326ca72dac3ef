//! The way in: what an account received is written down and routed, and the agents that it wakes take their turns.
//!
//! - [`listening`]: the accounts that hear from their platforms; [`account`]: the hub as each of them sees it;
//! - [`incoming`]: what programs outside post to an account;
//! - [`gates`]: the owner's hooks, asked before anything is written;
//! - [`turns`]: agents take turns and end them;
//! - [`typing`]: what a conversation is shown meanwhile;
//! - [`access`]: a person lets somebody in, or not; [`cards`]: they are asked on a companion, by a [`question`].

pub mod access;
pub mod account;
pub mod cards;
pub mod gates;
pub mod incoming;
pub mod listening;
mod question;
pub mod turns;
mod typing;

use rusqlite::Transaction;

use crate::{
    admission::submit::no_room,
    channels::received::Batch,
    message::refusal::{Code, Refusal},
    outbox::bounds::Full,
    pipeline::{Pipeline, unavailable},
    policy::Scope,
    router::{
        UnknownSenders,
        accept::{NotWritten, Outcome, accept},
        arrival::Receiving,
        situation::Why,
    },
    store::now_ms,
};

impl Pipeline {
    /// An account of the hub's as what it receives is judged: `vouched` by whoever hands it over.
    ///
    /// # Errors
    /// There is no such account.
    pub fn receiving(
        &self,
        channel: &str,
        account: Option<&str>,
        vouched: Option<Scope>,
    ) -> Result<Receiving, crate::channels::account::NoAccount> {
        let (account, adapter) = self.0.accounts.pick(channel, account)?;
        let can = adapter.capabilities();
        let unknown = if can.personal { UnknownSenders::Strict } else { UnknownSenders::RequestApproval };
        Ok(Receiving {
            channel: channel.to_owned(),
            account: account.to_owned(),
            threads: can.threads,
            unknown,
            vouched,
        })
    }

    /// Writes down what was received, and wakes whom it wakes. When this returns, it is on disk.
    ///
    /// # Errors
    /// The disk has no room, a hook failed, or the database: nothing is written, and nothing may be acknowledged.
    pub async fn receive(&self, at: Receiving, batch: Batch) -> Result<Outcome, Refusal> {
        let store = self.outbox().store().clone();
        let room = store.space().look();
        if !room.accepts() {
            return Err(no_room(Full::Disk(room)));
        }
        self.identify_routes(&at.channel, &at.account).await.map_err(unavailable)?;
        let said = self.ask_gates(&at, &batch).await?;
        let routing = self.0.routing.clone();
        let (channel, account) = (at.channel.clone(), at.account.clone());
        let (wake, asking) = (self.0.wake.clone(), self.0.asking.clone());
        // With the commit: whoever handed it over may be gone by then, and what comes again is a repetition.
        let tell = move |outcome: &Outcome| {
            if outcome.woken {
                wake.tell();
            }
            if !outcome.asked.is_empty() {
                asking.tell();
            }
        };
        let written = move |tx: &Transaction<'_>| accept(tx, &at, batch, &said, &routing, now_ms());
        let accepted = store.write_then(written, tell).await;
        let outcome = accepted.map_err(|error| match error {
            NotWritten::NotAsked => {
                let hint = "hand it over again";
                Refusal::new(Code::ExecutionFailed, error.to_string(), hint).because("gate")
            }
            NotWritten::Store(error) => unavailable(error),
        })?;
        if outcome.dropped.iter().any(|(why, _)| *why == Why::TurnsFull) {
            tracing::warn!(channel, account, "an agent has too many turns that wait, and is not told of all");
        }
        for (why, what) in &outcome.dropped {
            tracing::debug!(channel, account, why = why.word(), what, "an event goes no further");
        }
        for code in &outcome.asked {
            tracing::info!(channel, account, code, "somebody is to be let in: gatepost people requests");
        }
        Ok(outcome)
    }
}
