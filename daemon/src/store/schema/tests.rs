//! What the migrations make of rows that are there.

use super::*;

/// The migrations before the one that lets one request be about several messages.
fn before_shared_requests() -> usize {
    MIGRATIONS.iter().position(|sql| sql.contains("CREATE TABLE votes_kept")).expect("the migration")
}

#[test]
fn requests_and_their_votes_are_kept_when_one_request_may_be_about_several_messages() {
    let mut db = Connection::open_in_memory().unwrap();
    db.pragma_update(None, "foreign_keys", true).unwrap();
    let before = before_shared_requests();
    MIGRATIONS[..before].iter().for_each(|migration| db.execute_batch(migration).unwrap());
    db.pragma_update(None, "user_version", u32::try_from(before).unwrap()).unwrap();
    let message = "INSERT INTO messages (id, agent, state, action, channel, account, address, silent, text, fingerprint,
            accepted_at, deadline, due_at) VALUES (?1, 'a', 'held', 'send', 'local', 'home', 'ann', 0, 'x', x'00', 5, 9, 5)";
    for id in ["m1", "m2"] {
        db.execute(message, [id]).unwrap();
    }
    db.execute_batch(
        "INSERT INTO approvals (request, message, document, deadline, quorum, card_at) VALUES (x'01', 1, x'd1', 9, 2, 5);
        INSERT INTO approvals (request, message, document, deadline, why) VALUES (x'02', 2, x'd2', 9, 'later');
        INSERT INTO votes VALUES (x'01', x'0a', 6, 1, x'05', x'51'), (x'01', x'0b', 7, 2, x'05', x'52');",
    )
    .unwrap();
    let cards = |db: &Connection| -> (u32, u32) {
        db.query_row("SELECT put, deferred FROM cards", [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
    };
    let counted = cards(&db);

    Schema::OWN.migrate(&mut db).unwrap();
    let kept = "SELECT count(*) FROM approvals JOIN votes USING (request)
        WHERE message = 1 AND document = x'd1' AND quorum = 2 AND card_at = 5 AND votes.signature IN (x'51', x'52')";
    let count = |db: &Connection, sql: &str| db.query_row(sql, [], |row| row.get::<_, u32>(0)).unwrap();
    assert_eq!(count(&db, kept), 2);
    assert_eq!(count(&db, "SELECT count(*) FROM approvals WHERE message = 2 AND why = 'later'"), 1);
    assert_eq!(count(&db, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    // What was counted before is not counted anew, and votes go with the last message of their request.
    assert_eq!(cards(&db), counted);
    db.execute(message, ["m3"]).unwrap();
    db.execute(
        "INSERT INTO approvals (request, message, document, deadline) VALUES (x'01', 3, x'd1', 9)",
        [],
    )
    .unwrap();
    db.execute("DELETE FROM approvals WHERE message = 1", []).unwrap();
    assert_eq!(count(&db, "SELECT count(*) FROM votes"), 2);
    db.execute("DELETE FROM approvals WHERE message = 3", []).unwrap();
    assert_eq!(count(&db, "SELECT count(*) FROM votes"), 0);
}

#[test]
fn a_pause_of_before_its_platform_was_kept_with_it_goes_on_holding() {
    let mut db = Connection::open_in_memory().unwrap();
    let before = MIGRATIONS.iter().position(|sql| sql.contains("pauses_kept")).expect("the migration");
    MIGRATIONS[..before].iter().for_each(|migration| db.execute_batch(migration).unwrap());
    db.pragma_update(None, "user_version", u32::try_from(before).unwrap()).unwrap();
    let until = crate::store::now_ms() + 60_000;
    db.execute(
        "INSERT INTO pauses (channel, account, address, at, until) VALUES ('c', 'home', '', 5, ?)",
        [until],
    )
    .unwrap();

    Schema::OWN.migrate(&mut db).unwrap();
    let pauses = crate::outbox::pauses::Pauses::read(&db).unwrap();
    for who in [None, Some(crate::channels::fingerprint::Fingerprint([1; 32]))] {
        assert_eq!(pauses.of_account("c", "home", who).map(|pause| pause.until), Some(until), "{who:?}");
    }
}

/// A row as its columns and what is in them, by name.
fn rows(db: &Connection, table: &str) -> Vec<Vec<(String, String)>> {
    let mut all = db.prepare(&format!("SELECT * FROM {table} ORDER BY seq")).unwrap();
    let names: Vec<String> = all.column_names().map(str::to_owned).collect();
    let all = all.query_map([], |row| {
        let mut row: Vec<_> = names
            .iter()
            .map(|name| Ok((name.clone(), format!("{:?}", row.get_ref(&**name)?))))
            .collect::<rusqlite::Result<_>>()?;
        row.sort();
        Ok(row)
    });
    all.unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn tables_that_were_made_anew_have_every_column_of_every_row_and_no_number_comes_twice() {
    let mut db = Connection::open_in_memory().unwrap();
    db.pragma_update(None, "foreign_keys", true).unwrap();
    let before = MIGRATIONS.iter().position(|sql| sql.contains("messages_new")).expect("the migration");
    MIGRATIONS[..before].iter().for_each(|migration| db.execute_batch(migration).unwrap());
    db.pragma_update(None, "user_version", u32::try_from(before).unwrap()).unwrap();
    // Each column has something of its own, as its type wants it.
    for (table, numbers) in [("messages", 1..=4), ("inbox", 1..=3), ("local", 1..=2)] {
        let columns = "SELECT name, type FROM pragma_table_info(?) WHERE name <> 'seq'";
        let columns: Vec<(String, String)> = db
            .prepare(columns)
            .and_then(|mut all| all.query_map([table], |row| Ok((row.get(0)?, row.get(1)?)))?.collect())
            .unwrap();
        for number in numbers {
            let value = |(name, kind): &(String, String)| match (name.as_str(), kind.as_str()) {
                ("state", _) => "'ready'".to_owned(),
                ("deed", _) => "NULL".to_owned(),
                (_, "INTEGER") => format!("{number}{}", name.len()),
                (_, "BLOB") => format!("CAST('{name} {number}' AS BLOB)"),
                _ => format!("'{name} {number}'"),
            };
            let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
            let values: Vec<String> = columns.iter().map(value).collect();
            let insert = format!("INSERT INTO {table} ({}) VALUES ({})", names.join(", "), values.join(", "));
            db.execute(&insert, []).unwrap();
        }
    }
    db.execute_batch(
        "UPDATE messages SET state = 'sent' WHERE seq IN (1, 4);
        INSERT INTO parts (message, idx, key, state, shown, wire) VALUES (2, 0, 'k', 'planned', 'x', '{}');
        DELETE FROM messages WHERE seq = 4; DELETE FROM inbox WHERE seq = 3;",
    )
    .unwrap();
    let counted = |db: &Connection| -> (u32, u32, u32) {
        let sql = "SELECT messages, bytes, (SELECT sum(n) FROM totals WHERE channel <> '') FROM depth";
        db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap()
    };
    let (kept, was) = (["messages", "inbox", "local"].map(|table| rows(&db, table)), counted(&db));

    Schema::OWN.migrate(&mut db).unwrap();
    assert_eq!(["messages", "inbox", "local"].map(|table| rows(&db, table)), kept);
    assert_eq!(counted(&db), was);
    let count = |db: &Connection, sql: &str| db.query_row(sql, [], |row| row.get::<_, u32>(0)).unwrap();
    assert_eq!(count(&db, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    assert_eq!(count(&db, "PRAGMA foreign_keys"), 1, "they are looked at again");
    assert!(db.execute("DELETE FROM messages WHERE seq = 2", []).is_err(), "its part refers to it");
    let last = "SELECT n FROM totals WHERE channel = '' AND state = ?";
    let last = |db: &Connection, what| db.query_row(last, [what], |row| row.get::<_, u32>(0)).unwrap();
    assert_eq!((last(&db, "last_message"), last(&db, "last_notice")), (4, 3));

    // What is counted from now on: one more under way, another text, an end, and back.
    db.execute_batch("DELETE FROM parts; UPDATE messages SET text = 'longer' WHERE seq = 2;").unwrap();
    let text = u32::try_from("longer".len()).unwrap();
    let [one, two] =
        [2, 3].map(|seq| count(&db, &format!("SELECT octet_length(text) FROM messages WHERE seq = {seq}")));
    assert_eq!((one, counted(&db)), (text, (2, one + two, was.2)));
    db.execute("UPDATE messages SET state = 'failed' WHERE seq = 2", []).unwrap();
    assert_eq!(counted(&db), (1, two, was.2 + 1));
    db.execute("UPDATE messages SET state = 'ready' WHERE seq = 2", []).unwrap();
    assert_eq!(counted(&db), (2, one + two, was.2 + 1));
}
