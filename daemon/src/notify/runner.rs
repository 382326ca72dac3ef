//! Tells the person for as long as the hub runs.

use std::time::Duration;

use rusqlite::Connection;
use tokio::time::sleep;

use super::{
    Notify, Show, Waiting, book,
    plan::{self, Step},
    words,
};
use crate::{
    admission::{agreed::Agreed, submit::Idempotency},
    channels::registry,
    message::{
        call::Call,
        refusal::Refusal,
        state::Actor,
        target::{Destination, HUB},
    },
    pipeline::{Pipeline, current::Current},
    random::to_hex,
    store::{StoreError, now_ms},
};

/// What happens within this after a change is looked at together with it: the messages of one turn come together.
const GATHER: Duration = Duration::from_secs(1);
/// The longest time between two looks while something waits: a card may come before people without a change of a message.
const LOOK: Duration = Duration::from_secs(60);

/// The hub's session in which it tells.
const SESSION: &str = "notify";

/// Tells the person for as long as the hub runs; nothing wakes it where the configuration names nobody.
pub async fn run(current: Current) {
    let mut replaced = current.replacements();
    let mut changes = current.pipeline().outbox().changes();
    loop {
        let pipeline = replaced.borrow_and_update().clone();
        let Some(notify) = pipeline.0.notify.clone() else {
            // The sender lives as long as `current`.
            let _ = replaced.changed().await;
            continue;
        };
        let wait = pipeline.tell(&notify).await.unwrap_or_else(|error| {
            tracing::error!(%error, "cannot look after what the person is to be told");
            LOOK
        });
        tokio::select! {
            () = sleep(wait) => {}
            _ = replaced.changed() => {}
            // Also that some were missed is a change.
            _ = changes.recv() => {
                sleep(GATHER).await;
                changes = changes.resubscribe();
            }
        }
    }
}

impl Pipeline {
    /// Tells what is to be told now; how long nothing is, unless something changes.
    async fn tell(&self, notify: &Notify) -> Result<Duration, StoreError> {
        let store = self.outbox().store();
        let with_texts = notify.show == Show::Text;
        let look = move |db: &Connection| {
            Ok::<_, StoreError>((book::waiting(db, with_texts)?, book::told(db)?, book::unsent(db)?))
        };
        let (waiting, told, unsent) = store.read(look).await?;
        let now = now_ms();
        if waiting.is_empty() {
            self.withdraw(unsent).await;
            return Ok(LOOK);
        }
        let these = match plan::step(&waiting, &told, &notify.hours, now) {
            Step::Rest => return Ok(LOOK),
            Step::Wait(at) => {
                return Ok(Duration::from_millis(u64::try_from(at - now).unwrap_or_default()).min(LOOK));
            }
            Step::Tell(these) => these,
        };
        let these: Vec<Waiting> = these.into_iter().map(|at| waiting[at].clone()).collect();
        let urgent = these.iter().any(|one| told.requests.contains_key(&one.request));
        let text = words::text(notify, waiting.len(), &these, urgent);
        let longest = these.iter().map(|one| one.deadline).max().unwrap_or(now);
        let ttl = Duration::from_millis(u64::try_from(longest - now).unwrap_or_default());
        // The new one says what they said, and more.
        self.withdraw(unsent).await;
        for target in &notify.targets {
            // Of what was handed in before a crash, and not written down: once.
            let key = format!("notify {} {} {target}", to_hex(&these[0].request), told.last);
            if let Err(refusal) = self.notification(target, &text, ttl, key).await {
                tracing::warn!(%target, %refusal, "the person cannot be told there that something waits");
            }
        }
        store.write(move |tx| book::write(tx, &these, now)).await?;
        Ok(LOOK)
    }

    /// Takes back what has not left yet; what is leaving goes on.
    async fn withdraw(&self, unsent: Vec<i64>) {
        for seq in unsent {
            if let Err(refusal) = self.cancel(seq, Actor::Agent, HUB).await {
                tracing::debug!(seq, %refusal, "a notification is on its way already");
            }
        }
    }

    async fn notification(
        &self,
        target: &Destination,
        text: &str,
        ttl: Duration,
        key: String,
    ) -> Result<(), Refusal> {
        let call = serde_json::json!({"to": target.to_string(), "message": text});
        let call = Call { ttl: Some(ttl), ..Call::parse(&call, &registry::NAMES)? };
        let agreed = Agreed { session: SESSION.into(), turn: key.clone() };
        self.submit_agreed(HUB, call, agreed, Idempotency { key: Some(key), fingerprint: [0; 32] })
            .await
            .map(drop)
    }
}
