//! Everybody who wrote to an agent, and what was granted to them. All of it is rows; nobody is let in by being listed here.

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use serde::Serialize;

use super::{People, Person};
use crate::{clock::Time, policy::Scope, store::StoreError};

/// Somebody who wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct User {
    /// Their id, such as `tg:123456`.
    pub id: String,
    /// Other ids of theirs, as the platform last told them.
    pub same_as: Vec<String>,
    /// What they call themselves.
    pub name: Option<String>,
    /// What was granted to them by any of their ids; nothing while the configuration alone decides.
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

/// Writes down that somebody wrote, by this id and others that the platform told with it.
///
/// # Errors
/// The database.
pub fn seen(
    tx: &Transaction<'_>,
    id: &str,
    same_as: &[String],
    name: Option<&str>,
    now: i64,
) -> Result<(), StoreError> {
    // What was told once stays: a platform may leave a number out of the next message.
    let same_as = (!same_as.is_empty()).then(|| serde_json::to_string(same_as).unwrap_or_default());
    tx.prepare_cached(
        "INSERT INTO users (id, name, first_at, last_at, same_as) VALUES (?1, ?2, ?3, ?3, ?4)
         ON CONFLICT DO UPDATE SET name = coalesce(excluded.name, name), last_at = excluded.last_at,
             same_as = coalesce(excluded.same_as, same_as)",
    )?
    .execute(params![id, name, now, same_as])?;
    Ok(())
}

fn ids(json: Option<String>) -> Vec<String> {
    json.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default()
}

/// Who somebody is in the configuration, by this id or another one that they came with.
///
/// # Errors
/// The database.
pub fn person<'a>(db: &Connection, people: &'a People, id: &str) -> Result<Option<&'a Person>, StoreError> {
    if let Some(person) = people.get(id) {
        return Ok(Some(person));
    }
    let mut look = db.prepare_cached("SELECT same_as FROM users WHERE id = ?")?;
    let same_as = look.query_row([id], |row| row.get(0)).optional()?.flatten();
    Ok(ids(same_as).iter().find_map(|id| people.get(id)))
}

/// How far somebody is trusted of whom two things are said, by two of their ids: who is shut out by one is shut out.
pub fn both(one: Option<Scope>, other: Option<Scope>) -> Option<Scope> {
    match [one, other].contains(&Some(Scope::Blocked)) {
        true => Some(Scope::Blocked),
        false => one.max(other),
    }
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
             coalesce(last_at, grants.at) AS last, same_as
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
            same_as: ids(row.get(6)?),
        })
    })?;
    let mut users = rows.collect::<Result<Vec<_>, _>>()?;
    for user in &mut users {
        for id in &user.same_as {
            user.granted = both(user.granted, granted(db, id)?);
        }
    }
    Ok(users)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    #[tokio::test]
    async fn somebody_is_known_by_every_id_that_they_came_with() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let (uuid, number) = ("signal:aaaaaaaa-0000-4000-8000-000000000000", "phone:+4915112345678");
        let ann = Person { name: "ann".into(), scope: Scope::Owner };
        let people = People::new([(ann, vec![number.to_owned()])]).unwrap();
        let read = store.write(move |tx| {
            seen(tx, uuid, &[], None, 1)?;
            let before = person(tx, &people, uuid)?.is_some();
            seen(tx, uuid, &[number.to_owned()], Some("Ann"), 2)?;
            // Without her number the next time.
            seen(tx, uuid, &[], None, 3)?;
            let name = person(tx, &people, uuid)?.map(|person| person.name.clone());
            let listed = list(tx, 10)?;
            grant(tx, number, Scope::Blocked, "test", 4)?;
            let shut_out = list(tx, 10)?.into_iter().find(|user| user.id == uuid);
            Ok::<_, StoreError>((before, name, listed, shut_out))
        });
        let (before, name, listed, shut_out) = read.await.unwrap();
        assert_eq!((before, name.as_deref()), (false, Some("ann")));
        assert_eq!((listed.len(), listed[0].same_as.as_slice()), (1, &[number.to_owned()][..]));
        assert_eq!(shut_out.unwrap().granted, Some(Scope::Blocked));
        assert_eq!(both(Some(Scope::Owner), Some(Scope::Known)), Some(Scope::Owner));
    }
}
