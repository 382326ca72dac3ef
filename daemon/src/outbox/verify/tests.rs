use ed25519_dalek::SigningKey;

use super::*;
use crate::{
    audit::checkpoint::Signer,
    message::{
        refusal::Code,
        state::{Actor, Event},
    },
    outbox::{
        Outbox,
        accept::Accepted,
        new_message::NewMessage,
        restored,
        transition::{self, Change, NewPart},
    },
    store::Store,
};

struct Fixture {
    _directory: tempfile::TempDir,
    outbox: Outbox,
    ids: Vec<String>,
}

impl Fixture {
    /// Four messages: sent; rewritten by a hook and ready; refused; unknown, readmitted, and not judged yet.
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let signer = Signer::new(SigningKey::from_bytes(&[7; 32]));
        store.write(move |tx| signer.begin(tx)).await.unwrap().unwrap();
        let mut fixture = Self { _directory: directory, outbox: Outbox::new(store), ids: vec![] };
        let sent = fixture.outbox.accept_released(NewMessage::example("sent"), parts("sent")).await.unwrap();
        let Accepted::New(sent) = sent else { panic!() };
        fixture.ids.push(sent.id);
        fixture.change(sent.seq, &[Event::Take]).await;
        fixture.arrive(sent.seq, &[0, 1]).await;
        fixture.change(sent.seq, &[Event::Confirm]).await;
        let hooked = fixture.accept("hooked").await;
        let change = move |tx: &rusqlite::Transaction<'_>| {
            transition::store_hooked(tx, hooked, Some("said better"), &["polite".into()])?;
            transition::store_parts(tx, hooked, &parts("said better"))
        };
        fixture.outbox.change(hooked, change).await.unwrap();
        fixture.change(hooked, &[Event::Allow]).await;
        let refused = fixture.accept("refused").await;
        fixture.change(refused, &[Event::Refuse]).await;
        let again = fixture.accept("again").await;
        fixture
            .outbox
            .change(again, move |tx| transition::store_parts(tx, again, &parts("once")))
            .await
            .unwrap();
        fixture.change(again, &[Event::Restore]).await;
        fixture.outbox.change(again, move |tx| restored::readmit(tx, again, "operator")).await.unwrap();
        fixture
            .outbox
            .change(again, move |tx| transition::store_parts(tx, again, &parts("twice")))
            .await
            .unwrap();
        fixture
    }

    async fn accept(&mut self, text: &str) -> i64 {
        let accepted =
            self.outbox.accept_and(NewMessage::example(text), |_, row| Ok((row.seq, row.id))).await;
        let Accepted::New((seq, id)) = accepted.unwrap() else { panic!("it is new") };
        self.ids.push(id);
        seq
    }

    async fn change(&self, seq: i64, events: &[Event]) {
        for &event in events {
            let change = Change { actor: Actor::Hub, ..Change::hub(event, None) }.code(Code::ExecutionFailed);
            self.outbox.change(seq, move |tx| transition::apply(tx, seq, &change)).await.unwrap();
        }
    }

    /// Parts of a message have arrived.
    async fn arrive(&self, seq: i64, parts: &'static [u32]) {
        let arrived = self.outbox.change(seq, move |tx| {
            for &index in parts {
                let id = format!("id {index}");
                transition::settle_part(tx, seq, index, PartState::Confirmed, Some(&id), None)?;
            }
            Ok(())
        });
        arrived.await.unwrap();
    }

    async fn report(&self) -> Report {
        self.outbox.store().read(|db| verify(db, 0)).await.unwrap()
    }

    async fn tamper(&self, sql: &'static str) {
        self.outbox.store().write(move |tx| Ok::<_, StoreError>(tx.execute_batch(sql)?)).await.unwrap();
    }

    /// The number of the last row of a message with this event.
    async fn row(&self, message: usize, event: &'static str) -> i64 {
        let (id, sql) =
            (self.ids[message].clone(), "SELECT max(seq) FROM audit WHERE message = ? AND event = ?");
        let read = self
            .outbox
            .store()
            .read(move |db| Ok::<_, StoreError>(db.query_row(sql, (id, event), |row| row.get(0))?));
        read.await.unwrap()
    }
}

fn parts(text: &str) -> Vec<NewPart> {
    let part = |n: u32| NewPart {
        key: format!("{text} {n}"),
        shown: format!("{text} {n}"),
        request: format!("{{\"text\":\"{text} {n}\"}}"),
        route: None,
    };
    vec![part(1), part(2)]
}

#[tokio::test]
async fn untouched_messages_are_those_of_the_audit() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.report().await, Report { messages: 4, unhashed: 0, faults: vec![] });
}

#[tokio::test]
async fn a_content_that_was_changed_is_named_whatever_it_was() {
    for sql in [
        "UPDATE messages SET text = 'forged' WHERE seq = 1",
        "UPDATE messages SET address = 'eve' WHERE seq = 1",
        "UPDATE messages SET agent = 'b' WHERE seq = 1",
        "UPDATE messages SET thread = '' WHERE seq = 1",
        "UPDATE messages SET silent = 1 WHERE seq = 1",
        "UPDATE messages SET attachments = '[]' WHERE seq = 1",
        "UPDATE messages SET deed = '{}' WHERE seq = 1",
    ] {
        let fixture = Fixture::new().await;
        fixture.tamper(sql).await;
        let (message, row) = (fixture.ids[0].clone(), fixture.row(0, "message.accepted").await);
        assert_eq!(fixture.report().await.faults, [Fault::Content { message, row }], "{sql}");
    }
    // What hooks made of it counts from their row on, and what its agent wrote as well.
    for sql in [
        "UPDATE messages SET text = 'hooked' WHERE seq = 2",
        "UPDATE messages SET written = 'said worse' WHERE seq = 2",
    ] {
        let fixture = Fixture::new().await;
        fixture.tamper(sql).await;
        let (message, row) = (fixture.ids[1].clone(), fixture.row(1, "message.hooked").await);
        assert_eq!(fixture.report().await.faults, [Fault::Content { message, row }], "{sql}");
    }
}

#[tokio::test]
async fn requests_that_are_not_those_that_were_released_or_sent_are_named() {
    for (sql, message, event) in [
        ("UPDATE parts SET wire = '{}' WHERE message = 1 AND idx = 1", 0, "message.sent"),
        ("UPDATE parts SET shown = 'forged' WHERE message = 1 AND idx = 0", 0, "message.sent"),
        ("DELETE FROM parts WHERE message = 1 AND idx = 1", 0, "message.sent"),
        ("UPDATE parts SET wire = '{}' WHERE message = 2 AND idx = 1", 1, "message.ready"),
        (
            "INSERT INTO parts (message, idx, key, state, shown, wire) VALUES (3, 0, 'k', 'confirmed', '', '{}')",
            2,
            "message.failed",
        ),
    ] {
        let fixture = Fixture::new().await;
        fixture.tamper(sql).await;
        let (id, row) = (fixture.ids[message].clone(), fixture.row(message, event).await);
        assert_eq!(fixture.report().await.faults, [Fault::Parts { message: id, row }], "{sql}");
    }
}

#[tokio::test]
async fn a_state_that_nothing_led_to_is_named() {
    let fixture = Fixture::new().await;
    fixture.tamper("UPDATE messages SET state = 'denied' WHERE seq = 1").await;
    let row = fixture.row(0, "message.sent").await;
    let expected = Fault::State {
        message: fixture.ids[0].clone(),
        stored: "denied".into(),
        row,
        recorded: "sent".into(),
    };
    assert_eq!(fixture.report().await.faults, [expected]);
}

#[tokio::test]
async fn messages_without_their_rows_are_named_unless_a_purge_can_have_taken_those() {
    let fixture = Fixture::new().await;
    fixture.tamper("DELETE FROM audit WHERE message = (SELECT id FROM messages WHERE seq = 3)").await;
    let first = fixture.ids[2].clone();
    assert_eq!(fixture.report().await.faults, [Fault::Unaccepted { messages: 1, first: first.clone() }]);
    // Of a later message there is a row, so no purge went past this one.
    let purged = |to: i64| fixture.outbox.store().read(move |db| verify(db, to));
    let row = fixture.row(0, "message.accepted").await;
    let rest = purged(row).await.unwrap().faults;
    assert_eq!(rest, [Fault::Unaccepted { messages: 1, first }]);

    // From the front, as a purge goes.
    let fixture = Fixture::new().await;
    let row = fixture.row(0, "message.sent").await;
    fixture
        .tamper("DELETE FROM audit WHERE seq <= (SELECT max(seq) FROM audit WHERE event = 'message.sent')")
        .await;
    let purged = fixture.outbox.store().read(move |db| verify(db, row)).await.unwrap();
    assert_eq!((purged.faults, purged.unhashed), (vec![], 1));

    // All of it.
    fixture.tamper("DELETE FROM audit").await;
    for purged_to in [0, row] {
        let all = fixture.outbox.store().read(move |db| verify(db, purged_to)).await.unwrap();
        let first = fixture.ids[0].clone();
        assert_eq!(all.faults, [Fault::Unaccepted { messages: 4, first }], "purged to {purged_to}");
    }
}

#[tokio::test]
async fn a_row_whose_hash_was_taken_out_is_no_old_one() {
    for (path, message, event) in [
        ("$.content", 0, "message.accepted"),
        ("$.content", 1, "message.hooked"),
        ("$.parts", 2, "message.failed"),
    ] {
        let fixture = Fixture::new().await;
        let row = fixture.row(message, event).await;
        let strip = "UPDATE audit SET detail = json_remove(detail, ?) WHERE seq = ?";
        let stripped =
            fixture.outbox.store().write(move |tx| Ok::<_, StoreError>(tx.execute(strip, (path, row))?));
        stripped.await.unwrap();
        let faults = fixture.report().await.faults;
        let expected = Fault::Unhashed { row, message: fixture.ids[message].clone() };
        assert!(faults.contains(&expected), "{event}: {faults:?}");
        // In a database of an older program it would be one.
        fixture.tamper("UPDATE hub SET hashed_after = 1000").await;
        let report = fixture.report().await;
        assert!(!report.faults.contains(&expected), "{event}: {report:?}");
    }
}

mod columns;
