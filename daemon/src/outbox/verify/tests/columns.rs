//! Every column of messages and parts is altered in turn. They are listed from the schema: a new one fails here until it is
//! hashed, compared, or named below with the reason why it cannot be.

use rusqlite::Connection;

use super::*;
use crate::outbox::outcome::{self, Outcome};

/// Columns of a message under way in which nothing is seen, and why. At its end, all of them are in a hash.
const UNSEEN_UNDER_WAY: [(&str, &str, &str); 14] = [
    ("messages", "accepted_at", MOVES),
    ("messages", "deadline", MOVES),
    ("messages", "due_at", "every attempt sets it anew, without a row"),
    ("messages", "attempts", "an attempt that is put off counts after its row"),
    ("messages", "hooked_at", "the row of the hooks has a time of its own"),
    ("messages", "released", "its place in its lane: the next release gives it another"),
    ("messages", "ended_seq", "it is read of an end alone"),
    ("parts", "state", PROGRESS),
    ("parts", "first_sent_at", PROGRESS),
    ("parts", "platform_id", PROGRESS),
    ("parts", "error", PROGRESS),
    ("parts", "position", PROGRESS),
    ("parts", "questions", PROGRESS),
    ("parts", "recipients", PROGRESS),
];
const MOVES: &str = "it moves with a clock that is set";
const PROGRESS: &str = "how far a part has come is written down before and after each request, without a row";

impl Fixture {
    /// One more message: nobody knew whether its second part arrived, an operator has said that it did, and it was sent.
    async fn settled(&mut self) -> i64 {
        let seq = self.accept("settled").await;
        self.outbox.change(seq, move |tx| transition::store_parts(tx, seq, &parts("settled"))).await.unwrap();
        self.change(seq, &[Event::Allow, Event::Take]).await;
        self.arrive(seq, &[0]).await;
        let lost = move |tx: &rusqlite::Transaction<'_>| {
            transition::settle_part(tx, seq, 1, PartState::Unknown, None, Some("no answer"))
        };
        self.outbox.change(seq, lost).await.unwrap();
        self.change(seq, &[Event::Lose]).await;
        let (reason, by) = ("Ann has seen it".to_owned(), "operator:operator".to_owned());
        let outcome = Outcome { part: None, arrived: true, reason, by };
        self.outbox.change(seq, move |tx| outcome::settle(tx, seq, &outcome)).await.unwrap().unwrap();
        seq
    }

    /// What is found in a copy with this change.
    async fn altered(&self, sql: &str) -> Vec<Fault> {
        let directory = tempfile::tempdir().unwrap();
        let copy = directory.path().join("copy.db");
        let into = copy.to_str().unwrap().to_owned();
        let copied =
            self.outbox.store().read(move |db| Ok::<_, StoreError>(db.execute("VACUUM INTO ?", [into])?));
        copied.await.unwrap();
        let copy = Connection::open(copy).unwrap();
        copy.execute_batch(&format!("PRAGMA foreign_keys = OFF; {sql}")).unwrap();
        assert_ne!(copy.changes(), 0, "{sql}");
        verify(&copy, 0).unwrap().faults
    }

    /// The columns of a table, each with a change of it.
    async fn columns(&self, table: &'static str) -> Vec<(String, String)> {
        let read = move |db: &Connection| {
            let mut columns = db.prepare("SELECT name, type FROM pragma_table_info(?)")?;
            let columns = columns.query_map([table], |row| {
                let (name, kind): (String, String) = (row.get(0)?, row.get(1)?);
                let value = match kind.as_str() {
                    "TEXT" => format!("coalesce({name}, '') || '1'"),
                    "INTEGER" => format!("coalesce({name}, 0) % 1000000 + 1000"),
                    "BLOB" => "x'01'".to_owned(),
                    other => panic!("{name} is {other}: say how it is altered"),
                };
                let alter = format!("UPDATE {table} SET {name} = {value}");
                Ok((name, alter))
            })?;
            Ok::<_, StoreError>(columns.collect::<Result<Vec<_>, _>>()?)
        };
        let columns = self.outbox.store().read(read).await.unwrap();
        assert!(columns.len() > 10, "{columns:?}");
        columns
    }
}

const TABLES: [(&str, &str); 2] = [("messages", "seq"), ("parts", "message")];

#[tokio::test]
async fn of_a_message_that_has_ended_no_column_is_altered_unseen() {
    let mut fixture = Fixture::new().await;
    let seq = fixture.settled().await;
    assert_eq!(fixture.altered("UPDATE messages SET seq = seq").await, [], "untouched");
    for (table, key) in TABLES {
        for (column, alter) in fixture.columns(table).await {
            for of in [1, seq] {
                let sql = format!("{alter} WHERE {key} = {of}");
                assert_ne!(fixture.altered(&sql).await, [], "unseen: {sql}");
            }
            // What was there is not to be taken away either.
            let none =
                format!("UPDATE {table} SET {column} = NULL WHERE {key} = {seq} AND {column} IS NOT NULL");
            let not_null = "SELECT 1 FROM pragma_table_info(?) WHERE name = ? AND (\"notnull\" OR pk)";
            let (named, of) = (column.clone(), table);
            let read = move |db: &Connection| {
                let something = format!("SELECT 1 FROM {of} WHERE {key} = {seq} AND {named} IS NOT NULL");
                Ok::<_, StoreError>(
                    db.prepare(&something)?.exists([])?
                        && !db.prepare(not_null)?.exists([of, named.as_str()])?,
                )
            };
            if fixture.outbox.store().read(read).await.unwrap() {
                assert_ne!(fixture.altered(&none).await, [], "unseen: {none}");
            }
        }
    }
}

#[tokio::test]
async fn of_a_message_under_way_only_what_changes_without_a_row_is_altered_unseen() {
    let fixture = Fixture::new().await;
    for (table, key) in TABLES {
        for (column, alter) in fixture.columns(table).await {
            let sql = format!("{alter} WHERE {key} = 2");
            let seen = !fixture.altered(&sql).await.is_empty();
            let excepted = UNSEEN_UNDER_WAY
                .iter()
                .any(|&(of, name, why)| of == table && name == column && !why.is_empty());
            assert_eq!(seen, !excepted, "{sql}");
        }
    }
}

#[tokio::test]
async fn what_was_altered_in_an_end_is_named() {
    let mut fixture = Fixture::new().await;
    let seq = fixture.settled().await;
    let (id, refused) = (fixture.ids[4].clone(), fixture.ids[2].clone());
    let (sent, settled) = (fixture.row(4, "message.sent").await, fixture.row(4, "part.settled").await);
    let failed = fixture.row(2, "message.failed").await;
    let history = |row| Fault::History { message: id.clone(), row };
    let delivery = || Fault::Delivery { message: id.clone(), row: sent };
    let why = || Fault::Why { message: refused.clone(), row: failed };
    for (sql, fault) in [
        (format!("UPDATE messages SET history = NULL WHERE seq = {seq}"), history(settled)),
        (format!("UPDATE messages SET history = '[]' WHERE seq = {seq}"), history(settled)),
        (
            format!("UPDATE messages SET history = json_insert(history, '$[#]', 'x') WHERE seq = {seq}"),
            history(settled),
        ),
        (format!("UPDATE parts SET state = 'unknown' WHERE message = {seq} AND idx = 0"), delivery()),
        (format!("UPDATE parts SET platform_id = 'else' WHERE message = {seq} AND idx = 0"), delivery()),
        ("UPDATE messages SET reason = 'else' WHERE seq = 3".to_owned(), why()),
        ("UPDATE messages SET code = NULL WHERE seq = 3".to_owned(), why()),
        (
            format!("UPDATE parts SET recipients = '{{}}' WHERE message = {seq} AND idx = 0"),
            Fault::Outcome { message: id.clone(), row: sent },
        ),
    ] {
        assert_eq!(fixture.altered(&sql).await, [fault], "{sql}");
    }
}

#[tokio::test]
async fn a_part_of_which_an_operator_says_something_at_an_end_that_stays_is_hashed_anew() {
    let mut fixture = Fixture::new().await;
    let seq = fixture.accept("two uncertain").await;
    fixture.outbox.change(seq, move |tx| transition::store_parts(tx, seq, &parts("two"))).await.unwrap();
    fixture.change(seq, &[Event::Allow, Event::Take]).await;
    let lost = move |tx: &rusqlite::Transaction<'_>| {
        (0..2).try_for_each(|index| transition::settle_part(tx, seq, index, PartState::Unknown, None, None))
    };
    fixture.outbox.change(seq, lost).await.unwrap();
    fixture.change(seq, &[Event::Lose]).await;
    let (reason, by) = ("Ann has not seen it".to_owned(), "operator:operator".to_owned());
    let outcome = Outcome { part: Some(1), arrived: false, reason, by };
    fixture.outbox.change(seq, move |tx| outcome::settle(tx, seq, &outcome)).await.unwrap().unwrap();
    assert_eq!(fixture.report().await.faults, []);
    let row = fixture.row(4, "part.settled").await;
    let faults =
        fixture.altered(&format!("UPDATE parts SET state = 'confirmed' WHERE message = {seq}")).await;
    assert_eq!(faults, [Fault::Outcome { message: fixture.ids[4].clone(), row }]);
}
