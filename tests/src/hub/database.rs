//! What a hub wrote down, read behind its back.

use std::{fs, path::Path};

use anyhow::{Context as _, Result, ensure};
use ed25519_dalek::SigningKey;
use gatepost::audit::{
    self, Entry, Event,
    checkpoint::{Signer, from_hex},
};
use gatepost_link::{
    Digest, RequestId,
    decision::{Decision as SignedDecision, PublicKey, SignatureBytes, Statement, Verdict},
    session::SessionHash,
};
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

/// A line of the audit.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Who.
    pub actor: String,
    /// What.
    pub event: String,
    /// To which message.
    pub message: Option<String>,
    /// The facts.
    pub detail: Value,
}

/// A stored part.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Its name for good.
    pub key: String,
    /// What a person was shown.
    pub shown: String,
    /// The stored request.
    pub request: String,
}

/// A stored approval.
#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    /// Its request.
    pub request: RequestId,
    /// The document's bytes.
    pub document: Vec<u8>,
    decision: Option<Decision>,
}

#[derive(Debug, Clone, PartialEq)]
struct Decision {
    verdict: String,
    device: [u8; 32],
    counter: i64,
    session: [u8; 32],
    signature: [u8; 64],
}

/// Opens the database of the hub with this data directory, to read.
///
/// # Errors
/// SQLite's.
pub fn open(data_dir: &Path) -> Result<Connection> {
    Ok(Connection::open_with_flags(data_dir.join("gatepost.db"), OpenFlags::SQLITE_OPEN_READ_ONLY)?)
}

/// Every page of a database is read, and every index held against its table.
///
/// # Errors
/// Something does not fit.
pub fn is_whole(db: &Connection) -> Result<()> {
    let report: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    ensure!(report == "ok", "{report}");
    Ok(())
}

/// The schema that [`old`] has: the last one whose audit has no hashes of messages.
pub const OLD_SCHEMA: u32 = 18;

/// Makes the data directory of a hub of schema [`OLD_SCHEMA`]: four messages that were sent, a moment ago.
///
/// # Errors
/// The file system's, SQLite's.
pub fn old(data_dir: &Path) -> Result<Connection> {
    const SQL: &str = include_str!("../../fixtures/schema-18.sql");
    fs::create_dir_all(data_dir)?;
    let mut db = Connection::open(data_dir.join("gatepost.db"))?;
    db.execute_batch(SQL)?;
    let key =
        SQL.lines().find_map(|line| line.strip_prefix("-- Its hub's signing key: ")).context("a key")?;
    let key = from_hex::<32>(key).context("a key of 32 bytes")?;
    // What is past its retention goes, so all of it happens anew, now.
    let lines = audit(&db)?;
    let tx = db.transaction()?;
    tx.execute_batch("DELETE FROM audit")?;
    for Line { actor, event, message, detail } in lines {
        let event = Event::from_word(&event).context("a word of the audit")?;
        audit::append(&tx, &Entry { actor: &actor, event, message: message.as_deref(), detail })?;
    }
    tx.execute_batch(
        "CREATE TEMP TABLE later AS SELECT (SELECT max(at) FROM audit) - (SELECT max(ended_at) FROM messages) AS ms;
         UPDATE messages SET accepted_at = accepted_at + ms, deadline = deadline + ms, due_at = due_at + ms,
            ended_at = ended_at + ms FROM later;
         DROP TABLE later",
    )?;
    Signer::new(SigningKey::from_bytes(&key)).checkpoint(&tx)?;
    tx.commit()?;
    db.pragma_update(None, "journal_mode", "wal")?;
    fs::write(data_dir.join("epoch"), "1\n")?;
    fs::write(data_dir.join("hub.key"), key)?;
    Ok(db)
}

/// The audit, oldest line first.
///
/// # Errors
/// SQLite's.
pub fn audit(db: &Connection) -> Result<Vec<Line>> {
    let mut lines = db.prepare("SELECT actor, event, message, detail FROM audit ORDER BY seq")?;
    let lines = lines.query_map([], |row| {
        let detail: String = row.get(3)?;
        Ok(Line {
            actor: row.get(0)?,
            event: row.get(1)?,
            message: row.get(2)?,
            detail: serde_json::from_str(&detail).unwrap_or(Value::String(detail)),
        })
    })?;
    Ok(lines.collect::<Result<_, _>>()?)
}

/// The stored parts of a message, in order.
///
/// # Errors
/// SQLite's.
pub fn parts(db: &Connection, id: &str) -> Result<Vec<Part>> {
    let mut parts = db.prepare(
        "SELECT key, shown, wire FROM parts JOIN messages ON seq = message WHERE id = ? ORDER BY idx",
    )?;
    let parts = parts
        .query_map([id], |row| Ok(Part { key: row.get(0)?, shown: row.get(1)?, request: row.get(2)? }))?;
    Ok(parts.collect::<Result<_, _>>()?)
}

/// The stored approval of a message that was held.
///
/// # Errors
/// SQLite's; there is none.
pub fn approval(db: &Connection, id: &str) -> Result<Approval> {
    let sql = "SELECT request, document, verdict, device, counter, approvals.session, signature
               FROM approvals JOIN messages ON seq = message WHERE id = ?";
    Ok(db.query_row(sql, [id], |row| {
        let decided: Option<[u8; 64]> = row.get(6)?;
        let decision = match decided {
            None => None,
            Some(signature) => Some(Decision {
                verdict: row.get(2)?,
                device: row.get(3)?,
                counter: row.get(4)?,
                session: row.get(5)?,
                signature,
            }),
        };
        Ok(Approval { request: RequestId(row.get(0)?), document: row.get(1)?, decision })
    })?)
}

impl Approval {
    /// The decision as its device gave it, and the session in which it did.
    ///
    /// # Errors
    /// Nobody has decided.
    pub fn given(&self) -> Result<(SignedDecision, SessionHash)> {
        let decision = self.decision.as_ref().context("nobody has decided")?;
        let given = SignedDecision {
            request: self.request,
            verdict: if decision.verdict == "approve" { Verdict::Approve } else { Verdict::Deny },
            counter: u64::try_from(decision.counter)?,
            signature: SignatureBytes(decision.signature),
        };
        Ok((given, SessionHash(decision.session)))
    }

    /// Whether the stored decision is `verdict`, signed by `device` for `hub` over the stored document.
    pub fn is_signed(&self, hub: PublicKey, device: PublicKey, verdict: Verdict) -> bool {
        let Some(decision) = &self.decision else { return false };
        let word = match verdict {
            Verdict::Approve => "approve",
            Verdict::Deny => "deny",
        };
        let statement = Statement {
            hub,
            device,
            request: self.request,
            document: Digest::of(&self.document),
            verdict,
            counter: u64::try_from(decision.counter).unwrap_or(0),
            session: SessionHash(decision.session),
        };
        decision.verdict == word
            && decision.device == device.0
            && statement.verify(&SignatureBytes(decision.signature))
    }
}
