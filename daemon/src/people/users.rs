//! Everybody who wrote to an agent, and what was granted to them. All of it is rows; nobody is let in by being listed here.

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use serde::Serialize;

use super::People;
use crate::{clock::Time, policy::Scope, store::StoreError};

/// Somebody who wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct User {
    /// Their id, such as `tg:123456`.
    pub id: String,
    /// What they call themselves.
    pub name: Option<String>,
    /// What was granted to them; nothing while the configuration alone decides.
    pub granted: Option<Scope>,
    /// Who granted it.
    pub granted_by: Option<String>,
    /// When they first wrote (RFC 3339).
    #[schema(value_type = String)]
    pub first_at: Time,
    /// When they last wrote (RFC 3339).
    #[schema(value_type = String)]
    pub last_at: Time,
}

/// Writes down that somebody wrote.
///
/// # Errors
/// The database.
pub fn seen(tx: &Transaction<'_>, id: &str, name: Option<&str>, now: i64) -> Result<(), StoreError> {
    tx.prepare_cached(
        "INSERT INTO users (id, name, first_at, last_at) VALUES (?1, ?2, ?3, ?3)
         ON CONFLICT DO UPDATE SET name = coalesce(excluded.name, name), last_at = excluded.last_at",
    )?
    .execute(params![id, name, now])?;
    Ok(())
}

/// Whether somebody of this id wrote.
///
/// # Errors
/// The database.
pub fn has_written(db: &Connection, id: &str) -> Result<bool, StoreError> {
    Ok(db.prepare_cached("SELECT 1 FROM users WHERE id = ?")?.exists([id])?)
}

/// What was granted to somebody.
///
/// # Errors
/// The database.
pub fn granted(db: &Connection, id: &str) -> Result<Option<Scope>, StoreError> {
    let mut look = db.prepare_cached("SELECT scope FROM grants WHERE user = ?")?;
    Ok(look.query_row([id], |row| row.get(0)).optional()?)
}

/// How far somebody is trusted now, by the configuration or else by what a person granted; nothing if nobody has said.
///
/// # Errors
/// The database.
pub fn trusted(db: &Connection, people: &People, id: &str) -> Result<Option<Scope>, StoreError> {
    match people.get(id) {
        Some(person) => Ok(Some(person.scope)),
        None => granted(db, id),
    }
}

/// How far somebody with all these ids is trusted now: as far as the best known of them, and not at all if one was shut out; nothing if
/// nobody has said of any.
///
/// # Errors
/// The database.
pub fn trusted_by_any(
    db: &Connection,
    people: &People,
    ids: impl IntoIterator<Item = impl AsRef<str>>,
) -> Result<Option<Scope>, StoreError> {
    let mut best = None;
    for id in ids {
        match trusted(db, people, id.as_ref())? {
            Some(Scope::Blocked) => return Ok(Some(Scope::Blocked)),
            said => best = best.max(said),
        }
    }
    Ok(best)
}

/// Grants a scope to somebody, in place of the one before; `Unknown` takes back what was granted.
///
/// # Errors
/// The database.
pub fn grant(tx: &Transaction<'_>, id: &str, scope: Scope, by: &str, now: i64) -> Result<(), StoreError> {
    if scope == Scope::Unknown {
        tx.execute("DELETE FROM grants WHERE user = ?", [id])?;
        return Ok(());
    }
    tx.execute(
        "INSERT OR REPLACE INTO grants (user, scope, by, at) VALUES (?, ?, ?, ?)",
        params![id, scope, by, now],
    )?;
    Ok(())
}

/// Those who wrote last, and all to whom something was granted.
///
/// # Errors
/// The database.
pub fn list(db: &Connection, limit: u32) -> Result<Vec<User>, StoreError> {
    let mut rows = db.prepare_cached(
        "SELECT coalesce(users.id, grants.user), name, scope, by, coalesce(first_at, grants.at),
             coalesce(last_at, grants.at) AS last
         FROM users FULL JOIN grants ON grants.user = users.id ORDER BY last DESC LIMIT ?",
    )?;
    let rows = rows.query_map([limit], |row| {
        Ok(User {
            id: row.get(0)?,
            name: row.get(1)?,
            granted: row.get(2)?,
            granted_by: row.get(3)?,
            first_at: Time(row.get(4)?),
            last_at: Time(row.get(5)?),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
