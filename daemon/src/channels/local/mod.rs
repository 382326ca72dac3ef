//! `local`: the hub's own inbox.
//!
//! It needs no account anywhere, so it is the channel of a first run; what arrives is a row in the hub's database, read
//! with `gatepost local read`. The row is written with the end of its part, in one transaction: there is neither without the
//! other, and nothing to be delivered twice. A file that arrives stays among the hub's files, under its hash, as long as its row.

#[cfg(test)]
pub(super) mod contract;
pub(super) mod profile;

use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use serde::{Deserialize, Serialize};
use serde_json::json;

use self::profile::CAPABILITIES;
use super::{
    Adapter, Attempt, Capabilities, Delivered, Failure, IdScope, NotReady, OutgoingPart, PartKey, RateHints,
    Receiver, Redelivery, Refused, Sender, TargetError,
    account::{OpenError, Opening},
    identity::Spelling,
    kit::http::Decode,
};
use crate::{
    clock::Time,
    files::kept::Kept,
    message::attachment::Attachment,
    render::Flavour,
    store::{Store, StoreError, now_ms},
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    limit: Option<usize>,
}

/// The request that a part becomes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Request {
    address: String,
    thread: Option<String>,
    reply_to: Option<String>,
    text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attachment: Option<Attachment>,
}

struct Local {
    account: String,
    limit: Option<usize>,
    store: Store,
}

/// What arrives, once it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    account: String,
    key: String,
    request: Request,
}

impl Row {
    /// Writes it down. Returns its id.
    ///
    /// # Errors
    /// The database.
    pub fn write(&self, tx: &Transaction<'_>) -> Result<String, StoreError> {
        let Self { account, key, request } = self;
        let mut insert = tx.prepare_cached(
            "INSERT INTO local (account, address, thread, reply_to, part_key, text, at, attachment, digest)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?;
        let seq = insert.insert(params![
            account,
            request.address,
            request.thread,
            request.reply_to,
            key,
            request.text,
            now_ms(),
            request.attachment.as_ref().map(|file| json!(file).to_string()),
            request.attachment.as_ref().map(|file| file.sha256.0),
        ])?;
        Ok(id_of(seq))
    }
}

/// The id of what arrived in a row.
fn id_of(seq: i64) -> String {
    format!("local:{seq}")
}

/// Something that arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Arrived {
    /// Its number; ask for those after the last one read.
    pub seq: i64,
    /// The account.
    pub account: String,
    /// For whom.
    pub address: String,
    /// In which thread.
    pub thread: Option<String>,
    /// What it says.
    pub text: String,
    /// The file that came with it, or that it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attachment: Option<Attachment>,
    /// When (RFC 3339).
    #[schema(value_type = String)]
    pub at: Time,
}

/// A person's id: whatever the program that reports them calls them.
pub(in crate::channels) fn person_id(written: &str) -> Result<String, &'static str> {
    Ok(written.to_owned())
}

/// Nobody is asked, so there is no answer.
pub(in crate::channels) const DECODERS: &[(&str, Decode)] = &[];

/// Opens an account.
pub fn open(opening: Opening<'_>) -> Result<Arc<dyn Adapter>, OpenError> {
    let settings: Settings = opening.settings.try_into()?;
    if settings.limit.is_some_and(|limit| limit < 100) {
        return Err(OpenError::Invalid("limit must be at least 100 characters".into()));
    }
    Ok(Arc::new(Local { account: opening.account.into(), limit: settings.limit, store: opening.store }))
}

/// What arrived for `address`, or for anybody, after number `after`, oldest first, at most `limit`.
pub async fn read(
    store: &Store,
    address: Option<String>,
    after: i64,
    limit: u32,
) -> Result<Vec<Arrived>, StoreError> {
    store.read(move |db| arrived(db, "ORDER BY seq LIMIT ?3", address.as_deref(), after, limit)).await
}

/// The newest that arrived after number `after`, at most `last` of it, oldest first.
pub async fn newest(
    store: &Store,
    address: Option<String>,
    after: i64,
    last: u32,
) -> Result<Vec<Arrived>, StoreError> {
    let newest = store
        .read(move |db| arrived(db, "ORDER BY seq DESC LIMIT ?3", address.as_deref(), after, last))
        .await;
    newest.map(|mut newest| {
        newest.reverse();
        newest
    })
}

fn arrived(
    db: &Connection,
    order: &str,
    address: Option<&str>,
    after: i64,
    limit: u32,
) -> Result<Vec<Arrived>, StoreError> {
    let mut rows = db.prepare_cached(&format!(
        "SELECT seq, account, address, thread, text, at, attachment FROM local
         WHERE (?1 IS NULL OR address = ?1) AND seq > ?2 {order}"
    ))?;
    let rows = rows.query_map(params![address, after, limit], |row| {
        Ok(Arrived {
            seq: row.get(0)?,
            account: row.get(1)?,
            address: row.get(2)?,
            thread: row.get(3)?,
            text: row.get(4)?,
            at: Time(row.get(5)?),
            attachment: attachment(row.get_ref(6)?.as_str_or_null()?)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn attachment(text: Option<&str>) -> rusqlite::Result<Option<Attachment>> {
    text.map(serde_json::from_str).transpose().map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(6, rusqlite::types::Type::Text, Box::new(error))
    })
}

#[async_trait]
impl Adapter for Local {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn flavour(&self) -> Flavour {
        Flavour { limit: self.limit, ..profile::FORMAT.flavour }
    }

    fn resolve(&self, address: &str) -> Result<String, TargetError> {
        let named = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        let is_one = (1..=64).contains(&address.len()) && address.bytes().all(named);
        is_one.then(|| address.to_owned()).ok_or_else(|| TargetError::of(&CAPABILITIES, address))
    }

    fn identity(&self, address: &str) -> Spelling {
        Spelling::known(address)
    }

    fn scope(&self, _: &str) -> IdScope {
        // It is written down beside the address, and looked up by nobody.
        IdScope::Conversation
    }

    async fn check_ready(&self) -> Result<String, NotReady> {
        Ok("the hub's own inbox".into())
    }
}

#[async_trait]
impl Sender for Local {
    type Request = Request;

    fn compose(&self, outgoing: &OutgoingPart<'_>) -> Result<Request, Refused> {
        Ok(Request {
            address: outgoing.address.into(),
            thread: outgoing.thread.map(Into::into),
            reply_to: outgoing.reply_to.map(Into::into),
            text: outgoing.part.text.clone(),
            attachment: outgoing.files.first().cloned(),
        })
    }

    async fn deliver(
        &self,
        request: &Request,
        key: &PartKey,
        _: &mut RateHints,
    ) -> Result<Delivered, Failure> {
        if let Some(file) = &request.attachment {
            let kept = Kept::of(&self.store).open(&file.sha256).await;
            kept.map_err(|error| Failure::Permanent(error.to_string()))?;
        }
        let row = Row { account: self.account.clone(), key: key.0.clone(), request: request.clone() };
        Ok(Delivered { row: Some(row), ..Delivered::default() })
    }

    fn redelivery(&self, _: &Request) -> Redelivery {
        Redelivery::Ask
    }

    /// By its key: a program from before wrote the row, and then the end of its part. No index has the keys, for this is looked for after a
    /// crash alone.
    async fn find(
        &self,
        _: &Request,
        attempt: &Attempt<'_>,
        _: &mut RateHints,
    ) -> Result<Option<String>, Failure> {
        let key = attempt.key.0.clone();
        let found = self.store.read(move |db| {
            let sql = "SELECT seq FROM local WHERE part_key = ?";
            Ok::<_, StoreError>(db.query_row(sql, [key], |row| row.get(0)).optional()?)
        });
        let found = found.await.map_err(|error| Failure::Retry(error.to_string()))?;
        Ok(found.map(id_of))
    }
}

impl Receiver for Local {}
