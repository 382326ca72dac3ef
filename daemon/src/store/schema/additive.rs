//! Whether a migration only adds, judged by its statements.
//!
//! What is not known to be harmless to the program before is refused. What the words in the tables mean, it cannot see.

use sha2::{Digest as _, Sha256};

use super::*;

/// How the SHA-256 of the migrations up to the line begins, without comments and spaces: they have run, and are as they are.
const BEFORE_THE_LINE: &str = "5937cb1a2d5edb99";

/// The statements of a migration, each with single spaces and without comments; a trigger is one.
fn statements(sql: &str) -> Vec<String> {
    let lines = sql.lines().map(|line| line.split("--").next().unwrap_or_default());
    let words: Vec<String> = lines.flat_map(str::split_whitespace).map(str::to_owned).collect();
    let (mut all, mut current, mut depth) = (vec![], vec![], 0_i32);
    for word in words {
        let upper = word.to_ascii_uppercase();
        depth += i32::from(upper == "BEGIN" || upper == "CASE");
        depth -= i32::from(upper.trim_end_matches(';') == "END" && depth > 0);
        let ends = word.ends_with(';') && depth == 0;
        current.push(word.trim_end_matches(if ends { ';' } else { '\0' }).to_owned());
        if ends {
            all.push(std::mem::take(&mut current).join(" "));
        }
    }
    if !current.is_empty() {
        all.push(current.join(" "));
    }
    all
}

/// What in a migration the program before could not live with.
fn breach(sql: &str) -> Option<String> {
    let mut new = vec![];
    statements(sql).into_iter().find(|statement| !is_harmless(statement, &mut new))
}

/// `new`: the tables that the same migration has made, of which the program before knows nothing.
fn is_harmless(statement: &str, new: &mut Vec<String>) -> bool {
    let spaced = statement.replace('(', " ( ").replace(')', " ) ").replace(',', " , ").to_ascii_uppercase();
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let has = |word: &str| words.contains(&word);
    let is_new = |new: &[String], table: &str| new.iter().any(|one| one == table);
    // The table after ON, of an index or a trigger; a trigger's condition may have another, later.
    let on = words.iter().position(|word| *word == "ON").and_then(|at| words.get(at + 1)).copied();
    match *words.as_slice() {
        ["CREATE", "TABLE", table, "(", ..] => {
            new.push(table.to_owned());
            lets_go(&words, new)
        }
        ["CREATE", "INDEX", ..] => on.is_some(),
        ["CREATE", "UNIQUE", "INDEX", ..] | ["CREATE", "TRIGGER", ..] => on.is_some_and(|on| is_new(new, on)),
        ["INSERT", "INTO", table, ..] => is_new(new, table),
        ["ALTER", "TABLE", _, "ADD", "COLUMN", ..] => {
            let has_default = words.windows(2).any(|two| two[0] == "DEFAULT" && two[1] != "NULL");
            !has("AS") && !has("CHECK") && (!has("NOT") || has_default) && lets_go(&words, new)
        }
        _ => false,
    }
}

/// Whether every reference to an old table lets its rows be deleted by who does not know of it.
fn lets_go(words: &[&str], new: &[String]) -> bool {
    let mut references = words.iter().enumerate().filter(|(_, word)| **word == "REFERENCES");
    references.all(|(at, _)| {
        let rest = &words[at + 1..];
        let to_new = rest.first().is_some_and(|table| new.iter().any(|one| one == table));
        let until = rest.iter().position(|word| *word == ",").unwrap_or(rest.len());
        let goes = |actions: &[&str]| {
            matches!(actions, ["ON", "DELETE", "CASCADE"]) || matches!(actions, ["DELETE", "SET", "NULL"])
        };
        to_new || rest[..until].windows(3).any(goes)
    })
}

#[test]
fn from_the_line_on_migrations_only_add() {
    for (number, sql) in (1..).zip(MIGRATIONS).skip(LINE) {
        if BREAKING.contains(&number) {
            continue;
        }
        assert_eq!(
            breach(sql),
            None,
            "migration {number}: the program before could not use the database. Write it so that it only adds, or put its \
             number into BREAKING: then no hub can be put back to the version before this one"
        );
    }
}

#[test]
fn what_ran_in_the_field_stays_as_it_is() {
    let all: Vec<String> = MIGRATIONS[..LINE].iter().map(|sql| statements(sql).join(";")).collect();
    let hash = crate::random::to_hex(&Sha256::digest(all.join("\n")));
    assert_eq!(
        &hash[..16],
        BEFORE_THE_LINE,
        "an old migration was changed: those who have run it never see that"
    );
}

#[test]
fn the_line_is_within_the_migrations_and_so_is_what_breaks() {
    let newest = Schema::OWN.newest();
    // Equal from a release until the first migration after it.
    assert!(MIGRATIONS.len() > LINE && RELEASED <= newest, "{RELEASED} of {newest}");
    assert!(BREAKING.contains(&u32::try_from(LINE).unwrap()), "nobody goes back behind the line");
    assert!(BREAKING.is_sorted() && BREAKING.iter().all(|&number| number <= newest), "{BREAKING:?}");
    let oldest = RELEASED.min(newest - 1);
    assert!((oldest..newest).contains(&Schema::OWN.oldest()) || BREAKING.contains(&newest));
}

#[test]
fn what_the_program_before_could_not_live_with_is_found() {
    for harmful in [
        "DROP TABLE messages",
        "DROP INDEX messages_live",
        "DROP TRIGGER votes_gone",
        "ALTER TABLE messages RENAME TO outbox",
        "ALTER TABLE messages RENAME COLUMN text TO words",
        "ALTER TABLE messages DROP COLUMN code",
        "ALTER TABLE messages ADD COLUMN n INTEGER NOT NULL",
        "ALTER TABLE messages ADD COLUMN n INTEGER NOT NULL DEFAULT NULL",
        "ALTER TABLE messages ADD COLUMN n INTEGER CHECK (n > 0)",
        "ALTER TABLE messages ADD COLUMN n TEXT AS (text ->> '$.n')",
        "ALTER TABLE messages ADD COLUMN n INTEGER REFERENCES turns (seq)",
        "UPDATE messages SET state = 'gone'",
        "DELETE FROM messages",
        "REPLACE INTO hub (id, epoch) VALUES (1, 0)",
        "INSERT INTO hub (id, epoch) VALUES (1, 0)",
        "INSERT OR REPLACE INTO hub (id, epoch) VALUES (1, 0)",
        "CREATE UNIQUE INDEX once ON messages (text)",
        "CREATE TABLE kept AS SELECT * FROM messages",
        "CREATE TABLE kept (message INTEGER NOT NULL REFERENCES messages (seq)) STRICT",
        "CREATE TABLE kept (message INTEGER REFERENCES messages (seq), turn INTEGER REFERENCES turns (seq) ON DELETE CASCADE)",
        "CREATE TRIGGER gone AFTER DELETE ON messages BEGIN DELETE FROM parts; END",
        "PRAGMA foreign_keys = OFF",
        "create table kept (n integer);\n-- And then.\ndrop table kept",
    ] {
        assert!(breach(harmful).is_some(), "{harmful}");
    }
}

#[test]
fn what_only_adds_is_let_through() {
    let sql = "
        -- A comment; with a semicolon.
        CREATE TABLE rooms (
            seq INTEGER PRIMARY KEY, -- its number
            message INTEGER NOT NULL REFERENCES messages (seq) ON DELETE CASCADE,
            turn INTEGER REFERENCES turns (seq) ON DELETE SET NULL
        ) STRICT;
        CREATE TABLE doors (room INTEGER NOT NULL REFERENCES rooms (seq)) STRICT;
        CREATE UNIQUE INDEX doors_room ON doors (room);
        CREATE INDEX messages_text ON messages (text) WHERE text IS NOT NULL;
        CREATE TRIGGER rooms_gone AFTER DELETE ON rooms
            BEGIN DELETE FROM doors WHERE room = old.seq; UPDATE doors SET room = 1; END;
        INSERT INTO rooms (seq, message) SELECT seq, seq FROM messages;
        ALTER TABLE messages ADD COLUMN room INTEGER;
        ALTER TABLE messages ADD COLUMN n INTEGER NOT NULL DEFAULT 0;";
    assert_eq!(statements(sql).len(), 8);
    assert_eq!(breach(sql), None);
}
