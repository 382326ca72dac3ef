//! A bare loop over SQLite: the rows that a hub wrote, written once more and nothing else.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use gatepost::store::Store;
use rusqlite::{Connection, params_from_iter, types::Value};

use super::Outcome;

/// Rows that belong to one message: its own, its parts', its audit's. Each with the number of its table.
type Rows = Vec<(usize, Vec<Value>)>;

/// A table, and the messages that its rows belong to.
const TABLES: [(&str, &str); 3] = [
    ("messages", "SELECT messages.*, messages.seq AS owner FROM messages ORDER BY seq"),
    ("parts", "SELECT parts.*, parts.message AS owner FROM parts ORDER BY rowid"),
    (
        "audit",
        "SELECT audit.*, messages.seq AS owner FROM audit JOIN messages ON messages.id = audit.message ORDER BY audit.seq",
    ),
];

/// What a hub wrote for the messages in its database, each message's rows together.
pub(super) fn rows(data_dir: &Path) -> Outcome<Vec<Rows>> {
    let db = Connection::open(data_dir.join("gatepost.db"))?;
    let mut messages: Vec<Rows> = vec![];
    for (table, (_, sql)) in TABLES.iter().enumerate() {
        let mut statement = db.prepare(sql)?;
        let columns = statement.column_count() - 1;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let values: Vec<Value> = (0..columns).map(|column| row.get(column)).collect::<Result<_, _>>()?;
            let owner: usize = row.get::<_, i64>(columns)?.try_into()?;
            if messages.len() < owner {
                messages.resize_with(owner, Vec::new);
            }
            messages[owner - 1].push((table, values));
        }
    }
    messages.retain(|rows| !rows.is_empty());
    Ok(messages)
}

/// Writes all of them, `batch` messages a commit; the time of each commit with its rows. The rows' tables, indexes and triggers
/// are the hub's.
pub(super) fn write(messages: &[Rows], batch: f64) -> Outcome<Vec<Duration>> {
    let folder = tempfile::tempdir()?;
    Store::open(folder.path())?.close();
    let db = Connection::open(folder.path().join("gatepost.db"))?;
    db.pragma_update(None, "journal_mode", "wal")?;
    db.pragma_update(None, "synchronous", "full")?;
    db.pragma_update(None, "foreign_keys", false)?;
    let mut inserts = vec![];
    for (table, _) in TABLES {
        let columns = db.prepare(&format!("SELECT * FROM {table}"))?.column_count();
        let marks = vec!["?"; columns].join(", ");
        inserts.push(db.prepare(&format!("INSERT INTO {table} VALUES ({marks})"))?);
    }
    let (mut times, mut written) = (vec![], 0);
    while written < messages.len() {
        // A batch of 12.5 is one of 12 and one of 13.
        let end = (((times.len() + 1) as f64 * batch) as usize).clamp(written + 1, messages.len());
        let began = Instant::now();
        db.execute_batch("BEGIN IMMEDIATE")?;
        for (table, values) in messages[written..end].iter().flatten() {
            inserts[*table].execute(params_from_iter(values))?;
        }
        db.execute_batch("COMMIT")?;
        times.push(began.elapsed());
        written = end;
    }
    Ok(times)
}
