//! A bare loop over SQLite: the rows that a hub wrote, written once more and nothing else.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use gatepost::store::Store;
use rusqlite::{Connection, params_from_iter, types::Value};
use tempfile::TempDir;

use super::Outcome;

/// Rows that belong to one message: its own, its parts', its audit's. Each with the number of its table.
pub(super) type Rows = Vec<(usize, Vec<Value>)>;

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

/// An empty database with the hub's tables, indexes and triggers, and nothing between it and its writer.
pub(super) struct Bare {
    db: Connection,
    inserts: [String; TABLES.len()],
    _folder: TempDir,
}

impl Bare {
    pub(super) fn open() -> Outcome<Self> {
        let folder = tempfile::tempdir()?;
        Store::open(folder.path())?.close();
        let db = Connection::open(folder.path().join("gatepost.db"))?;
        db.pragma_update(None, "journal_mode", "wal")?;
        db.pragma_update(None, "synchronous", "full")?;
        // As long a log as the hub's: 4 MB, in pages of its database.
        let page: i64 = db.pragma_query_value(None, "page_size", |row| row.get(0))?;
        db.pragma_update(None, "wal_autocheckpoint", 4 * 1024 * 1024 / page)?;
        db.pragma_update(None, "foreign_keys", false)?;
        let mut inserts = TABLES.map(|(table, _)| table.to_owned());
        for insert in &mut inserts {
            let columns = db.prepare(&format!("SELECT * FROM {insert}"))?.column_count();
            *insert = format!("INSERT INTO {insert} VALUES ({})", vec!["?"; columns].join(", "));
        }
        Ok(Self { db, inserts, _folder: folder })
    }

    /// Writes these messages in one commit; how long that took.
    pub(super) fn commit(&self, messages: &[Rows]) -> Outcome<Duration> {
        let began = Instant::now();
        self.db.execute_batch("BEGIN IMMEDIATE")?;
        for (table, values) in messages.iter().flatten() {
            self.db.prepare_cached(&self.inserts[*table])?.execute(params_from_iter(values))?;
        }
        self.db.execute_batch("COMMIT")?;
        Ok(began.elapsed())
    }
}

/// Writes all of them, `batch` messages a commit; how long that took.
pub(super) fn write(messages: &[Rows], batch: f64) -> Outcome<Duration> {
    let (bare, mut time, mut commits, mut written) = (Bare::open()?, Duration::ZERO, 0, 0);
    while written < messages.len() {
        commits += 1;
        // A batch of 12.5 is one of 12 and one of 13.
        let end = ((f64::from(commits) * batch) as usize).clamp(written + 1, messages.len());
        time += bare.commit(&messages[written..end])?;
        written = end;
    }
    Ok(time)
}
