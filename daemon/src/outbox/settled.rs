//! When a clock that nobody vouched for is set: what was promised meanwhile keeps its length.
//!
//! A message that came in while the board believed in the past would otherwise be over at the moment when it hears the
//! time. What is from before the boot keeps its deadline: for that, the time really has passed.

use rusqlite::params;
use serde_json::json;

use super::{Outbox, queries::SHIFT};
use crate::{
    audit::{self, Entry, Event},
    store::StoreError,
};

impl Outbox {
    /// Settles the clock if it can be settled now.
    pub async fn settle_clock(&self) -> Result<(), StoreError> {
        let Some((since, clock, step)) = self.store.clock_to_settle() else { return Ok(()) };
        self.store
            .write(move |tx| {
                if step > 0 {
                    tx.execute(
                        "UPDATE approvals SET deadline = deadline + ?1 WHERE decided_at IS NULL
                         AND (SELECT accepted_at FROM messages WHERE seq = approvals.message) >= ?2",
                        params![step, since],
                    )?;
                    tx.execute(
                        "UPDATE approvals SET card_at = card_at + ?1 WHERE card_at >= ?2",
                        params![step, since],
                    )?;
                    tx.execute(SHIFT, params![step, since])?;
                    tx.execute(
                        "UPDATE pauses SET at = at + ?1, until = until + ?1 WHERE at >= ?2",
                        params![step, since],
                    )?;
                    tx.execute(
                        "UPDATE contexts SET expires_at = expires_at + ?1
                         WHERE (SELECT at FROM inbound WHERE seq = contexts.inbound) >= ?2",
                        params![step, since],
                    )?;
                }
                let detail = json!({"forward_ms": step});
                audit::append(tx, &Entry { actor: "hub", event: Event::ClockSettled, message: None, detail })
            })
            .await?;
        self.store.settle_clock(clock);
        tracing::info!(forward_ms = step, "the clock is settled");
        self.store.keep_time().await
    }
}
