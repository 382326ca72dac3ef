//! Proving the approvals that came before there were enough: each is its device's own, each is where the audit says, and no
//! message went with fewer than it was held for.

use std::collections::BTreeMap;

use gatepost_link::{Digest, RequestId};
use rusqlite::Row;

use super::{
    Decided, Fault, Proof,
    decision::{Decision, How, Stored, exactly},
};
use crate::{policy::Deciders, random::to_hex, store::StoreError};

/// Approvals of a request in the audit, by their device, less those that were taken back.
pub(super) type Votes = BTreeMap<[u8; 32], Decided>;

/// What [`Vote`] reads.
pub(super) const STORED: &str =
    "SELECT device, counter, session, signature FROM votes WHERE request = ? ORDER BY device";

/// A stored approval. Somebody may have put anything there.
pub(super) struct Vote {
    device: Option<[u8; 32]>,
    counter: i64,
    session: Vec<u8>,
    signature: Vec<u8>,
}

impl Vote {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let device = exactly(row, 0)?;
        Ok(Self { device, counter: row.get(1)?, session: row.get(2)?, signature: row.get(3)? })
    }

    pub(super) fn decision(&self, request: RequestId, document: &[u8]) -> Option<Decision> {
        let (counter, document) = (self.counter, Digest::of(document));
        let how = How::stored(&self.session, &self.signature)?;
        Some(Decision::approval(request, document, self.device?, counter, how))
    }
}

impl Proof<'_> {
    /// An approval in the audit that was not the last.
    pub(super) fn vote(&mut self, decision: Decision, row: i64, message: String) {
        self.weigh(&decision, row, &message);
        self.voted.insert(decision.device);
        let votes = self.votes.entry(decision.request).or_default();
        votes.insert(decision.device, Decided { row, message, decision });
    }

    /// An approval was taken back with its device's right to give it.
    pub(super) fn withdraw(&mut self, request: Option<[u8; 16]>, device: Option<[u8; 32]>) {
        if let (Some(request), Some(device)) = (request, device)
            && let Some(votes) = self.votes.get_mut(&RequestId(request))
        {
            votes.remove(&device);
        }
    }

    /// Whether the approval in this row came after enough others.
    pub(super) fn enough(&mut self, decision: &Decision, row: i64, message: &str) {
        // Whose hold was purged is asked again by what is stored.
        let Some(of) = self.held.get(message).map(|held| held.quorum) else { return };
        let by = self.held.get(message).map_or(Deciders::Any, |held| held.by);
        let others = self.votes.get(&decision.request).into_iter().flatten();
        let others = others.filter(|(device, _)| **device != decision.device);
        let all: Vec<bool> = others
            .map(|(_, vote)| vote.decision.how.is_of_passkey())
            .chain([decision.how.is_of_passkey()])
            .collect();
        let votes = all.len() as u64;
        if !by.have(all.contains(&false), all.contains(&true)) {
            self.fault(Fault::Kind { message: message.to_owned(), row });
        } else if votes < of {
            self.fault(Fault::Quorum { message: message.to_owned(), row, votes, of });
        }
    }

    /// Compares the stored approvals of a request with those in the audit.
    pub(super) fn compare_votes(&mut self, stored: &Stored, last: Option<i64>) -> Result<(), StoreError> {
        let Some(request) = stored.request else { return Ok(()) };
        let mut rows = self.db.prepare(STORED)?;
        let rows: Vec<Vote> = rows.query_map([request.0], Vote::read)?.collect::<Result<_, _>>()?;
        let message = &stored.message;
        if let Some(votes) = self.compared.get(&request).copied() {
            let votes = votes + u64::from(stored.is_decided());
            self.compare_quorum(stored, votes, last);
            return Ok(());
        }
        let mut recorded = self.votes.remove(&request).unwrap_or_default();
        let mut votes = u64::from(stored.is_decided());
        for vote in rows {
            let known = vote.device.and_then(|device| recorded.remove(&device));
            match (known, vote.decision(request, &stored.document)) {
                (Some(Decided { row, decision, .. }), Some(vote)) => {
                    for what in vote.differences(&decision) {
                        self.fault(Fault::Exchanged { row, message: message.clone(), what });
                    }
                    votes += 1;
                }
                // Its row was purged, and it proves itself.
                (None, Some(vote)) if self.purged_to > 0 && self.is_genuine(&vote) => {
                    self.report.decisions += 1;
                    votes += 1;
                }
                _ => {
                    let device = vote.device.map(|device| to_hex(&device)).unwrap_or_default();
                    self.fault(Fault::Counted { message: message.clone(), device });
                }
            }
        }
        for Decided { row, .. } in recorded.into_values() {
            self.fault(Fault::Uncounted { row, message: message.clone() });
        }
        self.compared.insert(request, votes - u64::from(stored.is_decided()));
        self.compare_quorum(stored, votes, last);
        Ok(())
    }

    fn compare_quorum(&mut self, stored: &Stored, votes: u64, last: Option<i64>) {
        let message = &stored.message;
        let held = self.held.get(message);
        if let Some(held) = held.filter(|held| held.quorum != stored.quorum) {
            let (row, what) = (held.row, "number of approvals that it takes");
            self.fault(Fault::Exchanged { row, message: message.clone(), what });
        } else if held.is_none() && stored.is_approved() && votes < stored.quorum {
            let (row, of) = (last.unwrap_or(self.purged_to), stored.quorum);
            self.fault(Fault::Quorum { message: message.clone(), row, votes, of });
        }
    }
}
