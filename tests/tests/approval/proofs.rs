//! What `gatepost audit verify` says of decisions and approval documents, over what a hub and its companion left.

use std::{ffi::OsStr, path::Path, sync::Arc};

use anyhow::{Result, ensure};
use gatepost::random::to_hex;
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    hub::{
        SpawnedHub, TestHub, agents,
        client::text,
        database,
        program::{Ended, gatepost},
    },
    main_job::CONFIG,
};
use rusqlite::Connection;
use serde_json::json;

fn verify(database: &Path, key: &str, rest: &[&str]) -> Result<Ended> {
    let mut arguments: Vec<&OsStr> = vec!["audit".as_ref(), "verify".as_ref(), "--database".as_ref()];
    arguments.push(database.as_os_str());
    arguments.extend(["--key", key].into_iter().chain(rest.iter().copied()).map(AsRef::<OsStr>::as_ref));
    gatepost(&arguments, b"", &[])
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_and_documents_are_verified_and_whatever_was_touched_is_named() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    let mut ids = vec![];
    for (message, verdict, end) in
        [("The first.", Verdict::Approve, "sent"), ("The second.", Verdict::Deny, "denied")]
    {
        let held = agent.send(&json!({"to": "local:team", "message": message}))?;
        fixture.decide(verdict).await?;
        agent.ended(text(&held, "id"), end)?;
        ids.push(text(&held, "id").to_owned());
    }
    let (key, device) = (to_hex(&fixture.hub()?.key().0), to_hex(&fixture.device().0));
    let database = fixture.data_dir().join("gatepost.db");
    fixture.stop().await;

    let whole = verify(&database, &key, &["--json"])?.json()?;
    ensure!(whole["ok"] == true && whole["faults"] == json!([]), "{whole}");
    ensure!(whole["decisions"] == 2 && whole["documents"] == 2 && whole["documents_gone"] == 0, "{whole}");
    let said = verify(&database, &key, &[])?;
    ensure!(said.stdout.contains("2 decisions are their devices' own"), "{said:?}");

    let (sent, denied) = (&ids[0], &ids[1]);
    let copy = fixture.folder().path().join("copy.db");
    for (sql, named) in [
        (
            "UPDATE approvals SET verdict = 'approve'".to_owned(),
            format!("the verdict stored with the decision on message {denied} is not the one in row"),
        ),
        (
            "UPDATE audit SET detail = replace(detail, '\"event\":\"deny\"', '\"event\":\"approve\"')"
                .to_owned(),
            format!("device {device} did not sign this decision on message {denied}"),
        ),
        (
            "UPDATE parts SET shown = 'Something else.' WHERE message = 1".to_owned(),
            format!("message {sent}: the text of part 1 is not what its approval document shows"),
        ),
        (
            "UPDATE devices SET counter = 1".to_owned(),
            format!("the registered counter of device {device} was set back"),
        ),
        (
            "DELETE FROM parts WHERE message = 1; DELETE FROM approvals WHERE message = 1;
             DELETE FROM messages WHERE seq = 1"
                .to_owned(),
            "a message is gone, and no purge took it".to_owned(),
        ),
    ] {
        std::fs::copy(&database, &copy)?;
        Connection::open(&copy)?.execute_batch(&sql)?;
        let verified = verify(&copy, &key, &[])?;
        ensure!(verified.status == 1 && verified.stdout.contains(&named), "{named}: {verified:?}");
        let verified = verify(&copy, &key, &["--json"])?;
        ensure!(verified.status == 1 && verified.stdout.contains("\"ok\":false"), "{verified:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_audit_that_was_emptied_or_cut_and_messages_that_were_altered_are_named() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    let mut ids = vec![];
    for message in ["The first.", "The second."] {
        let held = agent.send(&json!({"to": "local:team", "message": message}))?;
        fixture.decide(Verdict::Approve).await?;
        agent.ended(text(&held, "id"), "sent")?;
        ids.push(text(&held, "id").to_owned());
    }
    let key = to_hex(&fixture.hub()?.key().0);
    let database = fixture.data_dir().join("gatepost.db");
    fixture.stop().await;
    let whole = verify(&database, &key, &["--json"])?.json()?;
    ensure!(whole["ok"] == true && whole["messages"] == 2 && whole["unhashed"] == 0, "{whole}");

    // Whoever does this has no key, and has removed the checkpoint beside the database as well.
    let (first, second) = (&ids[0], &ids[1]);
    let from = |event: &str| {
        let row = format!("(SELECT seq FROM audit WHERE message = '{second}' AND event = '{event}')");
        format!("DELETE FROM checkpoints WHERE seq >= {row}; DELETE FROM audit WHERE seq >= {row}")
    };
    let copy = fixture.folder().path().join("copy.db");
    for (sql, named) in [
        (
            "DELETE FROM audit; DELETE FROM checkpoints".to_owned(),
            format!(
                "2 messages are stored of whose acceptance the audit has no row, the first of them {first}"
            ),
        ),
        (
            from("message.accepted"),
            format!("message {second} is stored, and the audit has no row of its acceptance"),
        ),
        (from("message.sent"), format!("message {second} is stored as sent, and by row")),
        (
            from("message.held"),
            format!("message {second} is stored as decided, and the audit knows of no decision"),
        ),
        (
            "UPDATE messages SET text = 'Forged.' WHERE seq = 2".to_owned(),
            format!("message {second}: its text, target or files are not what row"),
        ),
        (
            "UPDATE messages SET state = 'denied' WHERE seq = 1".to_owned(),
            format!("message {first} is stored as denied, and by row"),
        ),
        (
            "DELETE FROM checkpoints WHERE seq = (SELECT min(seq) FROM checkpoints)".to_owned(),
            "the beginning is missing".to_owned(),
        ),
    ] {
        std::fs::copy(&database, &copy)?;
        Connection::open(&copy)?.execute_batch(&sql)?;
        let verified = verify(&copy, &key, &[])?;
        ensure!(verified.status == 1 && verified.stdout.contains(&named), "{named}: {verified:?}");
    }
    Ok(())
}

#[test]
fn a_database_of_an_older_gatepost_is_verified_and_what_it_cannot_prove_is_said() -> Result<()> {
    let mut hub = SpawnedHub::at_rest(Arc::new(tempfile::tempdir()?), &agents(""))?;
    drop(database::old(&hub.data_dir())?);
    let remark = "4 of them carry no hash of what was accepted";
    let before = hub.cli(&["audit", "verify"])?;
    ensure!(before.status == 0 && before.stdout.contains(remark), "{before:?}");
    hub.run()?;
    let courier = hub.agent("courier")?;
    let sent = courier.send_and_wait(&json!({"to": "local:team", "message": "Of now."}))?;
    hub.terminate()?;
    let after = hub.cli(&["audit", "verify"])?;
    ensure!(after.status == 0 && after.stdout.contains(remark), "{after:?}");
    ensure!(after.stdout.contains("5 messages are stored"), "{after:?}");

    let path = hub.data_dir().join("gatepost.db");
    let whole = std::fs::read(&path)?;
    for (sql, named) in [
        (
            "UPDATE messages SET state = 'failed' WHERE seq = 2".to_owned(),
            "is stored as failed, and by row 11 it is sent".to_owned(),
        ),
        (
            "UPDATE messages SET text = 'Forged.' WHERE seq = 5".to_owned(),
            format!("message {}: its text, target or files are not what row", text(&sent, "id")),
        ),
        (
            "UPDATE audit SET detail = json_remove(detail, '$.content') WHERE event = 'message.accepted'"
                .to_owned(),
            format!("has no hash of message {}", text(&sent, "id")),
        ),
        ("UPDATE hub SET hashed_after = 1000".to_owned(), "the beginning is missing".to_owned()),
    ] {
        Connection::open(&path)?.execute_batch(&sql)?;
        let verified = hub.cli(&["audit", "verify"])?;
        ensure!(verified.status == 1 && verified.stdout.contains(&named), "{named}: {verified:?}");
        std::fs::write(&path, &whole)?;
    }
    Ok(())
}

/// The columns of a table, each with a statement that changes it in all rows.
fn alterations(db: &Connection, table: &str) -> Result<Vec<String>> {
    let mut columns = db.prepare("SELECT name, type FROM pragma_table_info(?)")?;
    let columns = columns.query_map([table], |row| {
        let (name, kind): (String, String) = (row.get(0)?, row.get(1)?);
        let value = match kind.as_str() {
            "TEXT" => format!("coalesce({name}, '') || seq_of_row"),
            "BLOB" => "x'01'".to_owned(),
            _ => format!("coalesce({name}, 0) / 2 + 1000 + seq_of_row"),
        };
        Ok(format!("UPDATE {table} SET {name} = {}", value.replace("seq_of_row", "rowid")))
    })?;
    Ok(columns.collect::<Result<_, _>>()?)
}

#[test]
fn no_column_of_a_message_that_was_sent_is_altered_unseen() -> Result<()> {
    let mut hub = SpawnedHub::start(&agents("limit = 100"))?;
    let courier = hub.agent("courier")?;
    let long = "One sentence of a message that takes more than a part. ".repeat(5);
    courier.send_and_wait(&json!({"to": "local:team", "message": long}))?;
    hub.terminate()?;
    let path = hub.data_dir().join("gatepost.db");
    let whole = std::fs::read(&path)?;
    hub.cli(&["audit", "verify"])?.well()?;
    for table in ["messages", "parts"] {
        for sql in alterations(&Connection::open(&path)?, table)? {
            let db = Connection::open(&path)?;
            db.execute_batch(&format!("PRAGMA foreign_keys = OFF; {sql}"))?;
            drop(db);
            let verified = hub.cli(&["audit", "verify"])?;
            ensure!(verified.status == 1 && verified.stdout.contains("message "), "{sql}: {verified:?}");
            std::fs::write(&path, &whole)?;
        }
    }
    Ok(())
}

#[test]
fn a_database_of_before_ends_were_hashed_is_whole_and_what_its_rows_say_is_compared() -> Result<()> {
    const SQL: &str = include_str!("../../fixtures/schema-24.sql");
    const KEY: &str = "9ddf53b437435a1492bd8e5ca56abb02b3b7c17ee4897adf239bcd8712f5edc9";
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("gatepost.db");
    Connection::open(&path)?.execute_batch(SQL)?;
    let before = verify(&path, KEY, &[])?;
    ensure!(before.status == 0 && before.stdout.contains("3 messages are stored"), "{before:?}");
    // With the columns of now, its rows stay as they were.
    drop(gatepost::store::Store::open(folder.path())?);
    let version: u32 = Connection::open(&path)?.pragma_query_value(None, "user_version", |row| row.get(0))?;
    ensure!(version > 24, "schema {version}");
    let after = verify(&path, KEY, &[])?;
    ensure!(after.status == 0 && !after.stdout.contains("no hash"), "{after:?}");
    for (sql, named) in [
        (
            "UPDATE messages SET history = NULL WHERE seq = 2",
            "its history is not what the audit says up to row 11",
        ),
        ("UPDATE parts SET state = 'planned' WHERE message = 2 AND idx = 2", "are not those of row 14"),
        ("UPDATE parts SET platform_id = 'local:9' WHERE message = 1", "are not those of row 6"),
        ("UPDATE messages SET reason = 'else' WHERE seq = 1", "its code or its reason is not that of row 6"),
        ("UPDATE messages SET text = 'else' WHERE seq = 1", "its text, target or files are not what row 3"),
    ] {
        let copy = folder.path().join("copy.db");
        std::fs::copy(&path, &copy)?;
        Connection::open(&copy)?.execute_batch(sql)?;
        let verified = verify(&copy, KEY, &[])?;
        ensure!(verified.status == 1 && verified.stdout.contains(named), "{sql}: {verified:?}");
    }
    Ok(())
}
