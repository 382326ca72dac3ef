//! All that is checked of an audit, together: its chain, the decisions and documents in it, and the messages that are stored beside it.

use gatepost_link::decision::PublicKey;
use rusqlite::Connection;

use super::{Report, prove};
use crate::{
    audit::{
        checkpoint::Checkpoint,
        verify::{self, verify_watched},
    },
    outbox,
    store::StoreError,
};

/// What was found.
#[derive(Debug)]
pub struct Checked {
    /// Of the chain.
    pub chain: verify::Report,
    /// Of decisions and documents.
    pub proof: Report,
    /// Of messages.
    pub stored: outbox::verify::Report,
}

/// Checks all of it. `kept`: the checkpoint beside the database; `watch` is told how many rows of the chain were read, and may end it.
///
/// # Errors
/// The database, or what `watch` says.
pub fn check(
    db: &Connection,
    hub: PublicKey,
    kept: Option<Checkpoint>,
    watch: &mut dyn FnMut(u64) -> Result<(), StoreError>,
) -> Result<Checked, StoreError> {
    let chain = verify_watched(db, &hub.0, kept, watch)?;
    watch(chain.rows)?;
    let proof = prove(db, hub, chain.purged_to)?;
    watch(chain.rows)?;
    let stored = outbox::verify::verify(db, chain.purged_to)?;
    Ok(Checked { chain, proof, stored })
}

impl Checked {
    /// What does not fit, as sentences.
    pub fn faults(&self) -> impl Iterator<Item = String> {
        let chain = self.chain.faults.iter().map(ToString::to_string);
        let proof = self.proof.faults.iter().map(ToString::to_string);
        chain.chain(proof).chain(self.stored.faults.iter().map(ToString::to_string))
    }
}
