//! Ids that an earlier hub stored in another spelling: brought to the one that is compared, when a hub starts.
//!
//! What was granted to two spellings of one person is theirs as one, and the least of it holds: who was shut out stays so.

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use super::{id::of_stored, users};
use crate::{policy::Scope, store::StoreError};

/// Brings the ids of grants, users and requests to their one spelling.
///
/// # Errors
/// The database.
pub fn respell(tx: &Transaction<'_>) -> Result<(), StoreError> {
    for (old, id) in others(tx, "SELECT user FROM grants")? {
        grant(tx, &old, &id)?;
    }
    for (old, id) in others(tx, "SELECT id FROM users")? {
        tx.execute(
            "INSERT INTO users (id, name, first_at, last_at, same_as) SELECT ?1, name, first_at, last_at, same_as FROM users WHERE id = ?2
             ON CONFLICT DO UPDATE SET name = coalesce(name, excluded.name), first_at = min(first_at, excluded.first_at),
                 last_at = max(last_at, excluded.last_at), same_as = coalesce(same_as, excluded.same_as)",
            [&id, &old],
        )?;
        tx.execute("DELETE FROM users WHERE id = ?", [&old])?;
    }
    for (old, id) in others(tx, "SELECT DISTINCT subject FROM access_requests WHERE what = 'person'")? {
        tx.execute(
            "UPDATE access_requests SET subject = ? WHERE what = 'person' AND subject = ?",
            [&id, &old],
        )?;
    }
    Ok(())
}

/// The ids that have another spelling, each with it.
fn others(db: &Connection, sql: &str) -> Result<Vec<(String, String)>, StoreError> {
    let mut rows = db.prepare(sql)?;
    let ids = rows.query_map([], |row| row.get::<_, String>(0))?;
    let mut found = Vec::new();
    for old in ids {
        let old = old?;
        let id = of_stored(&old);
        if id != old {
            found.push((old, id));
        }
    }
    Ok(found)
}

fn grant(tx: &Transaction<'_>, old: &str, id: &str) -> Result<(), StoreError> {
    let mut look = tx.prepare_cached("SELECT scope, by, at FROM grants WHERE user = ?")?;
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, Scope>(0)?, row.get::<_, String>(1)?, row.get(2)?));
    let found: Option<(Scope, String, i64)> = look.query_row([old], read).optional()?;
    let Some((scope, by, at)) = found else { return Ok(()) };
    tx.execute("DELETE FROM grants WHERE user = ?", [old])?;
    if users::granted(tx, id)?.is_none_or(|other| scope < other) {
        tracing::info!(id, old, %scope, "an id was stored in another spelling");
        tx.execute(
            "INSERT OR REPLACE INTO grants (user, scope, by, at) VALUES (?, ?, ?, ?)",
            params![id, scope, by, at],
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    #[tokio::test]
    async fn who_was_shut_out_by_another_spelling_stays_so() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let written = store.write(|tx| {
            for (id, scope) in [
                ("whatsapp:4915112345678", Scope::Blocked),
                ("phone:+4915112345678", Scope::Known),
                ("signal:ABCDEF01-0000-4000-8000-000000000000", Scope::Blocked),
                ("tg: 5", Scope::Owner),
                ("telegram:@eve", Scope::Known),
            ] {
                users::grant(tx, id, scope, "test", 1)?;
            }
            users::seen(tx, "email:Ann@Example.org", &[], Some("Ann"), 1)?;
            users::seen(tx, "email:ann@example.org", &[], None, 3)?;
            respell(tx)?;
            respell(tx)
        });
        written.await.unwrap();
        let read = store.read(|db| users::list(db, 10)).await.unwrap();
        let mut read: Vec<_> = read.iter().map(|user| (user.id.as_str(), user.granted)).collect();
        read.sort_unstable();
        assert_eq!(
            read,
            [
                ("email:ann@example.org", None),
                ("phone:+4915112345678", Some(Scope::Blocked)),
                ("signal:abcdef01-0000-4000-8000-000000000000", Some(Scope::Blocked)),
                ("telegram:@eve", Some(Scope::Known)),
                ("tg:5", Some(Scope::Owner)),
            ]
        );
    }
}
