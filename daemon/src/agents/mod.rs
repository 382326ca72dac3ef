//! Agents, bridges and operators: who speaks to the hub.
//!
//! A token is 256 random bits, shown once. The hub keeps its SHA-256: whoever reads the database cannot speak for
//! anybody. (A slow hash would add nothing: there is no dictionary of 256-bit numbers.) An operator may speak through a browser as
//! well: [`logins`].

pub mod logins;

use std::fmt;

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    audit::{self, Entry, Event},
    clock::Time,
    message::target::HUB,
    settings::is_name,
    store::{Store, StoreError, now_ms},
};

/// What a token's holder may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Sends messages and sees its own.
    Agent,
    /// Reports what people wrote, for the agents.
    Bridge,
    /// Reads the hub's figures, and nothing else.
    Monitor,
    /// Sees and steers everything.
    Operator,
}

impl Role {
    /// The word in the database and on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Bridge => "bridge",
            Self::Monitor => "monitor",
            Self::Operator => "operator",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        [Self::Agent, Self::Bridge, Self::Monitor, Self::Operator]
            .into_iter()
            .find(|role| role.word() == word)
    }
}

/// Who a valid token belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Its name; for an agent, the name of its section in the configuration.
    pub name: String,
    /// What it may do.
    pub role: Role,
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.role.word(), self.name)
    }
}

/// A token as listed: nothing that could be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = Token)]
pub struct Listed {
    /// Whose it is.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// When it was made (RFC 3339).
    #[schema(value_type = String)]
    pub created_at: Time,
}

/// Why a token cannot be made or taken away.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Not a name.
    #[error("{0:?} is not a name: use letters, digits, `-` and `_`, at most 40 of them")]
    Name(String),
    /// The hub's own.
    #[error("{0:?} is the hub's own name: give another one")]
    Reserved(String),
    /// There is one already.
    #[error("{0:?} has a token already: revoke it first (gatepost agent revoke {0})")]
    Exists(String),
    /// There is none.
    #[error("{0:?} has no token (see: gatepost agent list)")]
    Missing(String),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for AgentError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// A new secret token: `gp_` and 64 hexadecimal digits.
pub fn new_token() -> String {
    format!("gp_{}", crate::random::hex::<32>())
}

/// What is kept of a token.
pub fn hash(token: &str) -> [u8; 32] {
    gatepost_link::Digest::of(token.as_bytes()).0
}

/// Makes a token for `name`. The one time that it is seen.
pub async fn add(store: &Store, name: &str, role: Role, by: &str) -> Result<String, AgentError> {
    let token = new_token();
    register(store, name, role, &token, by).await?;
    Ok(token)
}

/// Registers a token that exists already.
pub async fn register(
    store: &Store,
    name: &str,
    role: Role,
    token: &str,
    by: &str,
) -> Result<(), AgentError> {
    if !is_name(name) {
        return Err(AgentError::Name(name.chars().take(60).collect()));
    }
    if name == HUB {
        return Err(AgentError::Reserved(name.to_owned()));
    }
    let (name, hash, by) = (name.to_owned(), hash(token), by.to_owned());
    store
        .write(move |tx| {
            if find(tx, &name)? {
                return Err(AgentError::Exists(name));
            }
            tx.execute(
                "INSERT INTO tokens (hash, name, role, created_at) VALUES (?, ?, ?, ?)",
                params![hash, name, role.word(), now_ms()],
            )?;
            let detail = json!({"name": name, "role": role});
            audit::append(tx, &Entry { actor: &by, event: Event::TokenAdded, message: None, detail })?;
            Ok(())
        })
        .await
}

/// Takes the token of `name` away, at once, and with it the logins that began by its right.
pub async fn revoke(store: &Store, name: &str, by: &str) -> Result<(), AgentError> {
    let (name, by) = (name.to_owned(), by.to_owned());
    store
        .write(move |tx| {
            revoke_in(tx, &name, &by)?;
            Ok(logins::end_revoked(tx, &name, &by)?)
        })
        .await
}

/// Takes the token away within a transaction, of a database that may be of an earlier program. Its logins stand no longer, for each is
/// looked up together with its token.
pub fn revoke_in(tx: &Transaction<'_>, name: &str, by: &str) -> Result<(), AgentError> {
    let revoked = tx.execute(
        "UPDATE tokens SET revoked_at = ? WHERE name = ? AND revoked_at IS NULL",
        params![now_ms(), name],
    )?;
    if revoked == 0 {
        return Err(AgentError::Missing(name.to_owned()));
    }
    let detail = json!({"name": name});
    audit::append(tx, &Entry { actor: by, event: Event::TokenRevoked, message: None, detail })?;
    Ok(())
}

/// All valid tokens' holders.
pub async fn list(store: &Store) -> Result<Vec<Listed>, AgentError> {
    store
        .read(|db| {
            let mut rows = db.prepare(
                "SELECT name, role, created_at FROM tokens WHERE revoked_at IS NULL ORDER BY name",
            )?;
            let rows = rows.query_map([], |row| {
                Ok(Listed { name: row.get(0)?, role: role(row, 1)?, created_at: Time(row.get(2)?) })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
}

/// Whether some agent of this name has a token.
pub async fn has_token(store: &Store, name: &str) -> Result<bool, AgentError> {
    let all = list(store).await?;
    Ok(all.iter().any(|token| token.name == name && token.role == Role::Agent))
}

/// Whose token this is.
pub async fn recognise(store: &Store, token: &str) -> Result<Option<Caller>, StoreError> {
    // Looked up by hash: how long it takes says nothing about any token.
    store.look(|db| {
        // A release before the hub had a name of its own may have given it away.
        let sql = "SELECT name, role FROM tokens WHERE hash = ? AND revoked_at IS NULL AND name <> ?";
        let mut found = db.prepare_cached(sql)?;
        let caller = |row: &rusqlite::Row<'_>| Ok(Caller { name: row.get(0)?, role: role(row, 1)? });
        Ok(found.query_row(params![hash(token), HUB], caller).optional()?)
    })
}

/// Whether this holder's name still has a valid token for this role.
pub async fn stands(store: &Store, caller: &Caller) -> Result<bool, StoreError> {
    store.look(|db| {
        let sql = "SELECT 1 FROM tokens WHERE name = ? AND role = ? AND revoked_at IS NULL";
        Ok(db.prepare_cached(sql)?.exists([caller.name.as_str(), caller.role.word()])?)
    })
}

/// Whether an agent had a token and has none any more, or has another one than at `since`, in milliseconds since 1970: what a
/// stolen token handed in does not go by the one that came in its place. An agent that never had one (the shell) speaks by
/// another's.
pub fn is_revoked(db: &Connection, agent: &str, since: i64) -> Result<bool, StoreError> {
    let sql = "SELECT count(*) > 0 AND (count(revoked_at) = count(*) OR max(revoked_at) > ?)
        FROM tokens WHERE name = ? AND role = 'agent'";
    let revoked: Option<bool> = db.prepare_cached(sql)?.query_row(params![since, agent], |row| row.get(0))?;
    Ok(revoked.unwrap_or(false))
}

fn find(tx: &Transaction<'_>, name: &str) -> Result<bool, rusqlite::Error> {
    exists(tx, "SELECT 1 FROM tokens WHERE name = ? AND revoked_at IS NULL", name)
}

fn exists(db: &Connection, sql: &str, name: &str) -> Result<bool, rusqlite::Error> {
    db.prepare(sql)?.exists([name])
}

fn role(row: &rusqlite::Row<'_>, column: usize) -> Result<Role, rusqlite::Error> {
    Role::from_word(row.get_ref(column)?.as_str()?)
        .ok_or_else(|| rusqlite::Error::InvalidColumnType(column, "role".into(), rusqlite::types::Type::Text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_token_is_recognised_until_it_is_revoked_and_its_text_is_never_kept() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let token = add(&store, "engineer", Role::Agent, "operator").await.unwrap();
        assert_eq!(token.len(), 3 + 64);
        let caller = recognise(&store, &token).await.unwrap().unwrap();
        assert_eq!(caller.to_string(), "agent:engineer");
        assert!(matches!(add(&store, "engineer", Role::Agent, "operator").await, Err(AgentError::Exists(_))));

        for entry in std::fs::read_dir(directory.path()).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            let hex = &token.as_bytes()[3..];
            assert!(!bytes.windows(hex.len()).any(|window| window == hex));
        }

        assert!(stands(&store, &caller).await.unwrap());
        assert!(["engineer", "shell"].iter().all(|name| !store.look(|db| is_revoked(db, name, 0)).unwrap()));
        revoke(&store, "engineer", "operator").await.unwrap();
        assert!(!stands(&store, &caller).await.unwrap());
        assert!(store.look(|db| is_revoked(db, "engineer", 0)).unwrap());
        assert_eq!(recognise(&store, &token).await.unwrap(), None);
        assert!(matches!(revoke(&store, "engineer", "operator").await, Err(AgentError::Missing(_))));
        assert!(list(&store).await.unwrap().is_empty());
    }
}
