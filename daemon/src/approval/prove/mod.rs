//! Proving the decisions: each is its device's own, and about exactly what is stored.
//!
//! The audit's chain ([`crate::audit::verify`]) says that no row was changed. This asks what the rows stand on: whether a
//! registered device or passkey signed each decision, over this document, with a counter that rose; whether what lies beside the
//! audit still says the same; and whether a message's stored parts are what its document shows. Who can write the
//! database, and even the hub's own key, can make neither a device's signature nor another text under it.
//!
//! Retention takes messages with their documents long before the audit's rows. Of those the signature is checked, which
//! needs the document's hash only, and the report says how many they were.

pub mod all;
pub mod answer;
mod decision;
mod fault;
#[cfg(test)]
mod tests;
mod votes;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use gatepost_link::{Digest, RequestId, decision::PublicKey, document::Document};
use rusqlite::{Connection, OptionalExtension as _};
use serde::Serialize;
use serde_json::Value;

pub use self::fault::Fault;
use self::{
    decision::{APPROVALS, Decision, Stored},
    votes::Votes,
};
use super::{
    document,
    passkeys::{self, assertion::PublicKey as PublicKeyOfPasskey},
    quorum::{VOTE, WITHDRAW},
};
use crate::{
    audit::{
        self,
        Event::{DeviceAdded, DeviceRevoked, PasskeyAdded, PasskeyRemoved},
        checkpoint::from_hex,
    },
    message::state::Event,
    outbox::row::{MessageRow, PartRow},
    policy::Deciders,
    random::to_hex,
    store::StoreError,
};

/// Faults that are listed.
const LISTED: usize = 50;

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Decisions in the audit that are their devices' own.
    pub decisions: u64,
    /// Approval documents that are what is stored.
    pub documents: u64,
    /// Decisions whose message and document went with their retention, or were purged.
    pub documents_gone: u64,
    /// What does not fit, at most 50.
    #[serde(skip)]
    pub faults: Vec<Fault>,
}

/// Rows that this is about. What is not JSON any more, the chain names.
const ROWS: &str = "SELECT seq, actor, event, message, detail FROM audit
    WHERE json_valid(detail) AND (event IN (?, ?, ?, ?) OR detail ->> '$.event' IN (?, ?, ?, ?, ?, ?))
    ORDER BY seq";

/// Checks every decision in the audit and every approval document beside it. `purged_to`: up to which row the audit was
/// purged, as a good checkpoint says.
pub fn prove(db: &Connection, hub: PublicKey, purged_to: i64) -> Result<Report, StoreError> {
    let mut proof = Proof { db, hub, purged_to, ..Proof::over(db)? };
    proof.follow_audit()?;
    proof.compare_approvals()?;
    proof.count_messages()?;
    proof.report.faults.truncate(LISTED);
    Ok(proof.report)
}

struct Proof<'a> {
    db: &'a Connection,
    hub: PublicKey,
    purged_to: i64,
    /// Registered counters, of devices and of passkeys.
    devices: BTreeMap<[u8; 32], i64>,
    /// Registered keys of passkeys.
    passkeys: BTreeMap<[u8; 32], PublicKeyOfPasskey>,
    /// Devices and passkeys that the audit saw added.
    added: BTreeSet<[u8; 32]>,
    /// The counter of each device's last decision.
    counters: BTreeMap<[u8; 32], i64>,
    /// Devices that gave an approval which was not the last. Who approves such a message again raises the counter without a row.
    voted: BTreeSet<[u8; 32]>,
    /// Devices that the audit saw revoked.
    revoked: BTreeSet<[u8; 32]>,
    /// Where each message was last held, and on what.
    held: BTreeMap<String, Held>,
    votes: HashMap<RequestId, Votes>,
    /// A decision that is about several messages has a row for each.
    decided: HashMap<RequestId, Vec<Decided>>,
    /// Requests whose stored approvals were compared, and how many they are.
    compared: HashMap<RequestId, u64>,
    report: Report,
}

/// A row in which a message was held.
struct Held {
    row: i64,
    /// The document, if the row says so.
    document: Option<Digest>,
    /// How many must approve.
    quorum: u64,
    /// Who decides.
    by: Deciders,
    /// The document was written for a message before it.
    follows: bool,
}

/// A decision in the audit.
struct Decided {
    row: i64,
    message: String,
    decision: Decision,
}

impl<'a> Proof<'a> {
    fn over(db: &'a Connection) -> Result<Self, StoreError> {
        let mut devices = db.prepare("SELECT key, counter FROM devices")?;
        let devices = devices.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut devices: BTreeMap<_, _> = devices.collect::<Result<_, _>>()?;
        let passkeys = passkeys::registered(db)?;
        devices.extend(passkeys.iter().map(|(id, (counter, _))| (*id, *counter)));
        Ok(Self {
            db,
            hub: PublicKey([0; 32]),
            purged_to: 0,
            devices,
            passkeys: passkeys.into_iter().map(|(id, (_, key))| (id, key)).collect(),
            added: BTreeSet::new(),
            counters: BTreeMap::new(),
            voted: BTreeSet::new(),
            revoked: BTreeSet::new(),
            held: BTreeMap::new(),
            votes: HashMap::new(),
            decided: HashMap::new(),
            compared: HashMap::new(),
            report: Report::default(),
        })
    }

    fn fault(&mut self, fault: Fault) {
        if self.report.faults.len() < LISTED {
            self.report.faults.push(fault);
        }
    }

    fn follow_audit(&mut self) -> Result<(), StoreError> {
        let mut rows = self.db.prepare(ROWS)?;
        let words = [Event::Hold, Event::Readmit, Event::Approve, Event::Deny].map(Event::word);
        let others = [DeviceAdded, DeviceRevoked, PasskeyAdded, PasskeyRemoved].map(audit::Event::word);
        let words = others.into_iter().chain([VOTE, WITHDRAW]).chain(words);
        let mut rows = rows.query(rusqlite::params_from_iter(words))?;
        while let Some(row) = rows.next()? {
            let (seq, event): (i64, String) = (row.get(0)?, row.get(2)?);
            let message: Option<String> = row.get(3)?;
            let detail: Value = serde_json::from_str(&row.get::<_, String>(4)?).unwrap_or_default();
            let device = || detail["key"].as_str().and_then(from_hex::<32>);
            let event = audit::Event::from_word(&event);
            let is_of_device =
                matches!(event, Some(DeviceAdded | DeviceRevoked | PasskeyAdded | PasskeyRemoved));
            let Some(message) = message.filter(|_| !is_of_device) else {
                match event {
                    Some(DeviceAdded) => self.added.extend(device()),
                    Some(PasskeyAdded) => self.compare_passkey(device(), &detail),
                    _ => self.revoked.extend(device()),
                }
                continue;
            };
            let fact = |name: &str| detail["facts"][name].as_str();
            let word = detail["event"].as_str();
            match (word, word.and_then(Event::from_word)) {
                (_, Some(Event::Hold)) => {
                    let document = fact("document").and_then(from_hex).map(Digest);
                    let quorum = detail["facts"]["quorum"].as_u64().unwrap_or(1);
                    let by = fact("decided_by").map_or(Some(Deciders::Any), Deciders::from_word);
                    let by = by.unwrap_or(Deciders::Both);
                    let follows = fact("on_card_of").is_some();
                    self.held.insert(message, Held { row: seq, document, quorum, by, follows });
                }
                // It began anew, and its document with it.
                (_, Some(Event::Readmit)) => drop(self.held.remove(&message)),
                (Some(WITHDRAW), _) => {
                    self.withdraw(fact("request").and_then(from_hex), fact("device").and_then(from_hex));
                }
                _ => match Decision::recorded(&detail) {
                    Some(decision) if word == Some(VOTE) => self.vote(decision, seq, message),
                    Some(decision) => self.judge(decision, seq, message),
                    None => self.fault(Fault::Unsigned { row: seq, message }),
                },
            }
        }
        let counters = std::mem::take(&mut self.counters);
        for (key, registered) in self.devices.clone() {
            let last = counters.get(&key).copied().unwrap_or_default();
            if registered < last {
                self.fault(Fault::SetBack { device: to_hex(&key) });
            // A passkey signs people in too, of which the audit has no counter.
            } else if registered > last
                && self.purged_to == 0
                && !self.voted.contains(&key)
                && !self.passkeys.contains_key(&key)
            {
                self.fault(Fault::Ahead { device: to_hex(&key) });
            }
        }
        Ok(())
    }

    /// Compares the key of a passkey with the one that it was added with: by another one, anybody could sign.
    fn compare_passkey(&mut self, id: Option<[u8; 32]>, detail: &Value) {
        let Some(id) = id else { return };
        self.added.insert(id);
        let text = |name: &str| detail[name].as_str().unwrap_or_default();
        let is_same = self.passkeys.get(&id).is_none_or(|key| {
            to_hex(&key.spki) == text("public_key")
                && key.rp_id == text("rp_id")
                && detail["algorithm"].as_i64() == Some(key.algorithm)
        });
        if !is_same {
            self.fault(Fault::KeyExchanged { passkey: to_hex(&id) });
        }
    }

    /// Checks a decision that ended a hold.
    fn judge(&mut self, decision: Decision, row: i64, message: String) {
        let before = self.decided.get(&decision.request).into_iter().flatten();
        if !before.into_iter().any(|before| before.decision == decision) {
            self.weigh(&decision, row, &message);
        }
        if self.held.get(&message).is_some_and(|held| !held.by.take(decision.how.is_of_passkey())) {
            self.fault(Fault::Kind { row, message: message.clone() });
        } else if decision.is_approval() {
            self.enough(&decision, row, &message);
        }
        self.decided.entry(decision.request).or_default().push(Decided { row, message, decision });
    }

    /// Checks one decision by itself, and against those of its device before it.
    fn weigh(&mut self, decision: &Decision, row: i64, message: &str) {
        let message = message.to_owned();
        let device = to_hex(&decision.device);
        let before = self.counters.get(&decision.device).copied();
        // Whose registration was purged is in the table alone.
        let added = self.added.contains(&decision.device) || self.purged_to > 0;
        if !self.devices.contains_key(&decision.device) || !added {
            self.fault(Fault::Stranger { row, message, device });
        } else if self.revoked.contains(&decision.device) {
            self.fault(Fault::Revoked { row, message, device });
        } else if !decision.is_signed_for(self.hub, self.passkeys.get(&decision.device)) {
            self.fault(Fault::Signature { row, message, device });
        } else if before.is_some_and(|before| !decision.follows(before)) {
            self.fault(Fault::Counter { row, message, device });
        } else {
            self.report.decisions += 1;
        }
        let highest = before.map_or(decision.counter, |before| before.max(decision.counter));
        self.counters.insert(decision.device, highest);
    }

    fn compare_approvals(&mut self) -> Result<(), StoreError> {
        let mut rows = self.db.prepare(APPROVALS)?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            let stored = Stored::read(row)?;
            let message = &stored.message;
            let recorded = stored.request.and_then(|request| self.take_decided(request, &stored));
            let last = recorded.as_ref().map(|decided| decided.row);
            match recorded {
                Some(Decided { row, message: of, decision }) => {
                    let other = (of != *message).then_some("message");
                    for what in other.into_iter().chain(stored.differences(&decision)) {
                        self.fault(Fault::Exchanged { row, message: of.clone(), what });
                    }
                }
                None if stored.is_decided() => match stored.decision() {
                    // Its row was purged, and it proves itself.
                    Some(decision) if self.is_purged(&stored)? && self.is_genuine(&decision) => {
                        self.report.decisions += 1;
                    }
                    _ => self.fault(Fault::Unrecorded { message: message.clone() }),
                },
                None if stored.is_released() => self.fault(Fault::Unasked { message: message.clone() }),
                None => {}
            }
            self.compare_votes(&stored, last)?;
            self.compare_document(stored)?;
        }
        self.miss_documents()
    }

    /// The decision in the audit on a message by this request; where there is none on one that is decided, one on another.
    fn take_decided(&mut self, request: RequestId, stored: &Stored) -> Option<Decided> {
        let all = self.decided.get_mut(&request)?;
        let own = all.iter().position(|decided| decided.message == stored.message);
        let decided = all.remove(own.or_else(|| stored.is_decided().then_some(0))?);
        if all.is_empty() {
            self.decided.remove(&request);
        }
        Some(decided)
    }

    /// Whether the row of its decision can have gone with a purge: one that is younger than the oldest row left cannot.
    fn is_purged(&self, stored: &Stored) -> Result<bool, StoreError> {
        let oldest: Option<i64> = self
            .db
            .query_row("SELECT at FROM audit ORDER BY seq LIMIT 1", [], |row| row.get(0))
            .optional()?;
        Ok(self.purged_to > 0
            && oldest.is_some_and(|oldest| stored.decided_at.is_some_and(|at| at <= oldest)))
    }

    fn is_genuine(&self, decision: &Decision) -> bool {
        self.devices.contains_key(&decision.device)
            && decision.is_signed_for(self.hub, self.passkeys.get(&decision.device))
    }

    /// Compares a document with the row that says that it was written, and with what is stored of its message.
    fn compare_document(&mut self, approval: Stored) -> Result<(), StoreError> {
        let Stored { seq, message, document, .. } = approval;
        let digest = Digest::of(&document);
        let held = self.held.remove(&message);
        let stored = PartRow::all(self.db, seq)
            .and_then(|parts| Ok((MessageRow::get(self.db, seq)?, parts)))
            .map_err(|error| tracing::debug!(%error, message, "a stored message cannot be read"));
        let what = match (Document::decode(&document), stored) {
            (Err(_), _) => Some("nothing that can be read".to_owned()),
            (_, Err(())) => Some("the stored message, which cannot be read,".to_owned()),
            (Ok(_), _)
                if held.as_ref().and_then(|held| held.document).is_some_and(|known| known != digest) =>
            {
                Some("the message that it was held as".to_owned())
            }
            (Ok(shown), Ok((row, parts))) => difference(&shown, &row, &parts).or_else(|| {
                let covered = document::covers(&document, &row, &parts);
                (!covered).then(|| "something of it".to_owned())
            }),
        };
        match what {
            Some(what) => self.fault(Fault::Differs { message: message.clone(), what }),
            None => self.report.documents += 1,
        }
        if let (Some(Held { row, follows: false, .. }), Ok(shown)) = (held, Document::decode(&document)) {
            let before = match row - 1 {
                0 => Some([0; 32]),
                before => {
                    let sql = "SELECT hash FROM audit WHERE seq = ?";
                    self.db.query_row(sql, [before], |row| row.get(0)).optional()?
                }
            };
            if before.is_some_and(|before| before != shown.audit_head.0) {
                self.fault(Fault::Head { row: row - 1, message });
            }
        }
        Ok(())
    }

    /// What is left: held messages and decisions of which no document is stored.
    fn miss_documents(&mut self) -> Result<(), StoreError> {
        let mut stored = self.db.prepare("SELECT 1 FROM messages WHERE id = ?")?;
        for (message, Held { row, .. }) in std::mem::take(&mut self.held) {
            if stored.exists([&message])? {
                self.fault(Fault::Undocumented { row, message });
            }
        }
        for decided in std::mem::take(&mut self.decided).into_values().flatten() {
            self.report.documents_gone += u64::from(!stored.exists([&decided.message])?);
        }
        Ok(())
    }

    /// Whether every message that was accepted is there, or went with a purge.
    fn count_messages(&mut self) -> Result<(), StoreError> {
        if self.purged_to > 0 {
            return Ok(());
        }
        let sql = "SELECT
            (SELECT count(*) FROM audit WHERE event = 'message.accepted'
                AND json_valid(detail) AND detail ->> '$.event' IS NULL)
            - (SELECT coalesce(sum(detail ->> '$.messages'), 0) FROM audit
                WHERE event = 'queue.purged' AND json_valid(detail))
            - (SELECT count(*) FROM messages)";
        let messages: i64 = self.db.query_row(sql, [], |row| row.get(0))?;
        if messages > 0 {
            self.fault(Fault::Gone { messages });
        }
        Ok(())
    }
}

/// The first thing in which a stored message is not the one in its document.
fn difference(shown: &Document<'_>, message: &MessageRow, parts: &[PartRow]) -> Option<String> {
    let origin = message.origin.as_ref().map(|origin| origin.place.to_string());
    // Of a message that it does not list, what differs from the first that it does.
    let index = document::listed_as(shown, message).unwrap_or(0);
    let target = shown.targets().nth(index)?;
    let fields = [
        ("agent", shown.agent == message.agent),
        ("origin", shown.origin == origin.as_deref()),
        ("action", shown.action == message.action),
        ("channel", target.channel == message.channel),
        ("account", target.account == message.account),
        ("address", target.address == message.address),
        ("spelling", document::whose(message).iter().all(|line| shown.options.contains(&line.as_str()))),
        ("name", target.known_as == message.known_as.as_deref()),
        ("thread", target.thread == message.thread.as_deref()),
        ("reply id", shown.reply_to == message.reply_to.as_deref()),
        ("option silent", shown.options.contains(&"silent") == message.silent),
        ("files", shown.attachments.iter().cloned().eq(message.attachments.iter().map(document::listed))),
        ("number of parts", shown.parts.len() == parts.len()),
    ];
    if let Some((what, _)) = fields.into_iter().find(|(_, same)| !same) {
        return Some(format!("its {what}"));
    }
    let differing = shown.parts.iter().zip(parts).enumerate().find_map(|(number, (shown, stored))| {
        let what = match (shown.text == stored.shown, shown.wire == Digest::of(stored.request.as_bytes())) {
            (false, _) => "text",
            // Of a further target it is known of all requests together.
            (true, false) if index == 0 => "request",
            (true, _) => return None,
        };
        Some(format!("the {what} of part {}", number + 1))
    });
    differing.or_else(|| {
        (!document::has_requests(shown, index, parts)).then(|| "the request of some part".to_owned())
    })
}
