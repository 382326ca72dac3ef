//! How the text that a heartbeat's turn returned goes to its target.
//!
//! The operator has named the target, and that is the consent: no person is asked, if the target is on the agent's allowlist and not
//! on its `hold` list. What cannot be delivered now is forgotten. Elsewhere it was kept for the next try, which found its own text
//! undelivered and stood still for 64 hours (openclaw#79258).

use std::time::Duration;

use rusqlite::{OptionalExtension as _, params};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::{
    Plan, SESSION,
    state::{self, Ended},
    target::{NO_HISTORY, Recipient},
    words::{self, Said},
};
use crate::{
    admission::{agreed::Agreed, submit::Idempotency},
    channels::registry,
    message::{
        call::Call,
        receipt::Receipt,
        refusal::Refusal,
        target::{Destination, ITSELF},
    },
    pipeline::Pipeline,
    policy::Scope,
    sessions::place::Place,
    store::StoreError,
    turns::Cause,
};

/// What became of a text.
#[derive(Debug)]
pub enum Delivery {
    /// It was handed in.
    Taken(Box<Receipt>),
    /// It is not sent, and why; that is no failure.
    Quiet(String),
    /// It was refused.
    Refused(Refusal),
}

impl Pipeline {
    /// Whether a turn of an agent's is a heartbeat.
    ///
    /// # Errors
    /// The database.
    pub fn is_heartbeat(&self, agent: &str, turn: &str) -> Result<bool, StoreError> {
        Ok(self.scope_of_heartbeat(agent, turn)?.is_some())
    }

    fn scope_of_heartbeat(&self, agent: &str, turn: &str) -> Result<Option<Scope>, StoreError> {
        self.outbox().store().look(|db| {
            let mut look =
                db.prepare_cached("SELECT scope FROM turns WHERE agent = ? AND id = ? AND cause = ?")?;
            Ok(look.query_row(params![agent, turn, Cause::Heartbeat], |row| row.get(0)).optional()?)
        })
    }

    /// Delivers the text that a heartbeat's turn returned, if it is to be shown and was not said within a day.
    ///
    /// # Errors
    /// The database.
    pub async fn deliver_heartbeat(
        &self,
        agent: &str,
        turn: &str,
        text: &str,
    ) -> Result<Delivery, StoreError> {
        let now = self.0.heartbeats.now();
        let Some(plan) = self.0.heartbeats.of(agent) else {
            return Ok(Delivery::Quiet("the heartbeat was switched off meanwhile".into()));
        };
        // Strangers' words cannot come into its session; if they ever do, they go nowhere unasked.
        if self.scope_of_heartbeat(agent, turn)? != Some(Scope::Owner) {
            return Ok(Delivery::Quiet(
                "the turn has words in it that are not the hub's or an owner's".into(),
            ));
        }
        let recipients = self.heartbeat_recipients(agent, plan)?;
        let Some(to) = recipients.recipients.first() else {
            if recipients.source == NO_HISTORY {
                tracing::info!(agent, "the text of a heartbeat is for nobody: {NO_HISTORY}");
            }
            return Ok(Delivery::Quiet(recipients.source.into()));
        };
        let account = match self.heartbeat_account(agent, to) {
            Ok(account) => account,
            Err(error) => return self.forgotten(agent, to, &error.to_string()),
        };
        let said = Said::of(text, &self.options(agent).quiet);
        let Some(text) = plan.visibility.at(to.channel(), &account).shown(&said) else {
            return Ok(Delivery::Quiet(match said {
                Said::Ok(_) => "all is well, and that is not shown".into(),
                Said::Alert(_) => "alerts are not shown there".into(),
            }));
        };
        let (target, hash) = (format!("{account}/{to}"), words::hash(&text));
        if self.outbox().store().look(|db| state::was_said(db, agent, &target, &hash, now))? {
            return Ok(Delivery::Quiet("the same was said within the last 24 hours".into()));
        }
        let ready = self.heartbeat_ready(agent, to).await?;
        if !ready.ok {
            return self.forgotten(agent, to, &ready.reason);
        }
        match self.hand_in_heartbeat(agent, plan, turn, to, &text).await {
            Ok(receipt) => {
                let (of, message) = (agent.to_owned(), receipt.id.0.clone());
                let says =
                    move |tx: &rusqlite::Transaction<'_>| state::says(tx, &of, &target, &hash, &message, now);
                self.outbox().store().write(says).await?;
                Ok(Delivery::Taken(Box::new(receipt)))
            }
            Err(refusal) => {
                self.settle_heartbeat(agent, Ended::Failed(format!("{to}: {refusal}")), now).await?;
                Ok(Delivery::Refused(refusal))
            }
        }
    }

    fn forgotten(&self, agent: &str, to: &Recipient, why: &str) -> Result<Delivery, StoreError> {
        tracing::warn!(agent, %to, why, "the text of a heartbeat cannot be delivered, and is forgotten");
        Ok(Delivery::Quiet(format!("{to} is not ready, and the text is forgotten: {why}")))
    }

    /// Hands a text in as the one message of its turn, so that a reply that is handed in again sends nothing twice.
    async fn hand_in_heartbeat(
        &self,
        agent: &str,
        plan: &Plan,
        turn: &str,
        to: &Recipient,
        text: &str,
    ) -> Result<Receipt, Refusal> {
        let named = match to {
            Recipient::Written { to, .. } => to.as_str(),
            Recipient::Found(_) => ITSELF,
        };
        let mut call = Call::parse(&json!({"to": named, "message": text}), &registry::NAMES)?;
        match to {
            Recipient::Written { account, .. } => call.account.clone_from(account),
            // As it was received: nothing of it is read as something else.
            Recipient::Found(Place { channel, account, address, thread }) => {
                (call.account, call.thread) = (Some(account.clone()), thread.clone());
                let (channel, address) = (Some(channel.clone()), address.clone());
                call.destination = Destination::Address { channel, address, thread: None, person: false };
            }
        }
        call.ttl = Some(time_to_live(plan.every));
        let fingerprint = Sha256::digest(text.as_bytes()).into();
        let idempotency = Idempotency { key: Some(format!("turn/{turn}/heartbeat")), fingerprint };
        let agreed = Agreed { session: SESSION.into(), turn: turn.into() };
        self.submit_agreed(agent, call, agreed, idempotency).await
    }
}

/// What has not arrived when the next heartbeat is due is forgotten before that.
fn time_to_live(every: Duration) -> Duration {
    every - every / 10
}
