//! What a caller is told of a message, now or at its end.

use std::{collections::HashMap, time::Duration};

use rusqlite::Connection;
use tokio::time::Instant;

use super::Pipeline;
use crate::{
    message::receipt::{Asked, Receipt},
    store::StoreError,
};

/// The longest that a caller can wait for a message's end.
pub const MAX_WAIT: Duration = Duration::from_secs(600);

impl Pipeline {
    /// What a caller is told of a message now.
    pub async fn receipt(&self, seq: i64) -> Result<Receipt, StoreError> {
        self.0.approvals.explain(self.0.outbox.receipt(seq).await?)
    }

    /// Who can be asked now about each of these messages, by its id; without those that are not held.
    pub async fn asked_about(&self, ids: Vec<String>) -> Result<HashMap<String, Asked>, StoreError> {
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let pipeline = self.clone();
        let look = move |db: &Connection| {
            let mut all = HashMap::with_capacity(ids.len());
            for id in ids {
                if let Some(asked) = pipeline.0.approvals.asked_about(db, &id)? {
                    all.insert(id, asked);
                }
            }
            Ok(all)
        };
        self.0.outbox.store().read(look).await
    }

    /// Waits for a message's end, at most `wait`; the receipt says how far it has come by then.
    pub async fn wait(&self, seq: i64, wait: Duration) -> Result<Receipt, StoreError> {
        let mut changes = self.0.outbox.changes();
        let until = Instant::now() + wait.min(MAX_WAIT);
        loop {
            let receipt = self.receipt(seq).await?;
            if receipt.state.is_final() || Instant::now() >= until {
                return Ok(receipt);
            }
            // A missed change makes no difference: the row is read anew.
            let changed = async { while changes.recv().await.is_ok_and(|changed| changed != seq) {} };
            let _ = tokio::time::timeout_at(until, changed).await;
        }
    }
}
