//! A hub that is put back to its version from before an update, and updated once more.

use ed25519_dalek::SigningKey;
use gatepost_link::{
    Digest, RequestId,
    decision::{Statement, Verdict},
    envelope::VERSION,
    seal::SealKey,
    session::SessionHash,
};

use super::*;
use crate::{
    approval::{
        decide::Outcome,
        device::{Device, register},
        prove::prove,
    },
    audit, outbox,
    store::{Schema, StoreError, restore::fault_in},
};

const HUB: PublicKey = PublicKey([0; 32]);

/// A hub that is opened by one program after the other.
struct Hub {
    directory: tempfile::TempDir,
    one: Arc<Platform>,
    two: Arc<Platform>,
    key: SigningKey,
    decided: u64,
}

impl Hub {
    fn new() -> Self {
        let (directory, one, two) = platforms();
        Self { directory, one, two, key: SigningKey::from_bytes(&[7; 32]), decided: 0 }
    }

    fn device(&self) -> PublicKey {
        PublicKey(self.key.verifying_key().to_bytes())
    }

    async fn run_by(&self, program: Schema) -> Fixture {
        let store = Store::open_as(self.directory.path(), program).unwrap();
        Fixture::over(store, &self.one, &self.two, OnUnknown::Report).await
    }

    /// Approves what is held, and waits until it is sent.
    async fn approve(&mut self, fixture: &Fixture, seq: i64) {
        let sql = "SELECT request, document FROM approvals WHERE message = ?";
        let (request, document) = fixture
            .pipeline
            .outbox()
            .store()
            .read(move |db| {
                let columns = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?));
                Ok::<_, StoreError>(db.query_row(sql, [seq], columns)?)
            })
            .await
            .unwrap();
        self.decided += 1;
        let (device, session) = (self.device(), SessionHash([5; 32]));
        let statement = Statement {
            hub: HUB,
            device,
            request: RequestId(request),
            document: Digest::of(&document),
            verdict: Verdict::Approve,
            counter: self.decided,
            session,
        };
        let decided = fixture.pipeline.approvals().decide(device, session, statement.sign(&self.key)).await;
        assert_eq!(decided.unwrap(), Outcome::Consumed);
        assert_eq!(fixture.end(seq).await.state, State::Sent);
    }

    /// What the file says of its tables: its version, who changed them, and all of them.
    fn tables(&self) -> (u32, u32, Vec<String>) {
        let db = rusqlite::Connection::open(self.directory.path().join("gatepost.db")).unwrap();
        let number = |sql| db.query_row(sql, [], |row| row.get(0)).unwrap();
        let mut all = db.prepare("SELECT coalesce(sql, name) FROM sqlite_schema ORDER BY name").unwrap();
        let all = all.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
        (number("PRAGMA user_version"), number("SELECT of_schema FROM hub"), all)
    }

    fn is_whole(&self, messages: u64) {
        let db = rusqlite::Connection::open(self.directory.path().join("gatepost.db")).unwrap();
        assert_eq!(fault_in(&db).unwrap(), None);
        assert_eq!(audit::first_broken(&db).unwrap(), None);
        let proof = prove(&db, HUB, 0).unwrap();
        assert_eq!((proof.faults, proof.decisions), (vec![], self.decided));
        let stored = outbox::verify::verify(&db, 0).unwrap();
        assert_eq!((stored.faults, stored.messages), (vec![], messages));
    }
}

#[tokio::test]
async fn the_program_before_goes_on_where_this_one_stopped_and_this_one_after_it() {
    let mut tried = 0;
    for before in Schema::before() {
        let mut hub = Hub::new();
        let fixture = hub.run_by(Schema::OWN).await;
        let store = fixture.pipeline.outbox().store().clone();
        let (key, seal, name) = (hub.device(), SealKey([7; 32]), "hall".into());
        register(&store, Device { key, name, software: false, seal, login: None, version: VERSION })
            .await
            .unwrap();
        drop(store);
        let first = fixture.send("one:ann", "By this program.").await;
        assert_eq!(fixture.end(first).await.state, State::Sent);
        let held = fixture.send_as("asker", "one:ann", json!({"message": "Held by this program."})).await;
        fixture.close().await;
        let tables = hub.tables();

        let fixture = hub.run_by(before).await;
        let second = fixture.send("one:ann", "By the program before.").await;
        assert_eq!(fixture.end(second).await.state, State::Sent);
        hub.approve(&fixture, held).await;
        let before_it = fixture.send_as("asker", "two:bob", json!({"message": "Held by that."})).await;
        fixture.until(before_it, |row| row.state == State::Held).await;
        let copy = fixture.pipeline.outbox().store().back_up(7).await.unwrap();
        fixture.close().await;
        hub.is_whole(4);
        assert_eq!(hub.tables(), tables, "{before:?} has changed tables that are not its own");
        let of_copy = rusqlite::Connection::open(&copy).unwrap();
        let version: u32 = of_copy.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        assert_eq!(version, tables.0, "the backup keeps the newer schema");

        let fixture = hub.run_by(Schema::OWN).await;
        hub.approve(&fixture, before_it).await;
        let last = fixture.send("two:bob", "By this program again.").await;
        assert_eq!(fixture.end(last).await.state, State::Sent);
        fixture.close().await;
        hub.is_whole(5);
        assert_eq!(hub.tables(), tables);
        assert_eq!(
            hub.one.heard("ann"),
            ["By this program.", "By the program before.", "Held by this program."]
        );
        assert_eq!(hub.two.heard("bob"), ["Held by that.", "By this program again."]);
        tried += 1;
    }
    assert!(tried > 0, "no program before can use a database of this one");
}
