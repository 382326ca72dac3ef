use gatepost_link::decision::Verdict;

use super::*;
use crate::{
    approval::{
        Terms, registry,
        testing::{Fixture, HUB, public},
    },
    audit,
    message::{
        refusal::Code,
        state::{Actor, Event},
    },
    outbox::{
        retention::Purge,
        transition::{self, Change},
    },
    store::now_ms,
};

impl Fixture {
    /// With a companion that approved the first message and denied the second; a third one waits.
    async fn new() -> Self {
        let mut fixture = Self::with(&[(9, "shelf")], Terms::default()).await;
        fixture.hold("first").await;
        fixture.decide(Verdict::Approve, 3).await;
        fixture.hold("second").await;
        fixture.decide(Verdict::Deny, 4).await;
        fixture.hold("third").await;
        fixture
    }

    /// With two companions that both approved the first message; the second waits for one of them.
    async fn of_two() -> Self {
        let terms = Terms { quorum: 2, ..Terms::default() };
        let mut fixture = Self::with(&[(8, "hall"), (9, "shelf")], terms).await;
        for (seq, text) in (1..).zip(["first", "second"]) {
            fixture.hold(text).await;
            fixture.decide_as(8, seq, Verdict::Approve, 10 + u64::try_from(seq).unwrap()).await.unwrap();
        }
        fixture.decide_as(9, 1, Verdict::Approve, 3).await.unwrap();
        fixture
    }

    async fn decide(&self, verdict: Verdict, counter: u64) {
        let seq = self.approvals.waiting().await.unwrap().remove(0).message;
        self.decide_as(9, seq, verdict, counter).await.unwrap();
    }

    async fn report(&self) -> Report {
        self.outbox.store().read(|db| prove(db, HUB, 0)).await.unwrap()
    }

    async fn faults(&self) -> Vec<Fault> {
        self.report().await.faults
    }

    /// Purges every row but one that comes after them; up to which.
    async fn purge(&self) -> i64 {
        self.write(|tx| {
            let last = audit::newest(tx)?;
            let entry = audit::Entry {
                actor: "hub",
                event: audit::Event::ClockSettled,
                message: None,
                detail: Value::Null,
            };
            audit::append(tx, &entry)?;
            tx.execute("DELETE FROM audit WHERE seq <= ?", [last])?;
            Ok(last)
        })
        .await
    }

    /// The row of the decision on a message.
    async fn row(&self, index: usize) -> i64 {
        let id = self.messages[index].clone();
        self.write(move |tx| {
            let sql = "SELECT seq FROM audit WHERE message = ? AND actor = 'companion:shelf'";
            Ok(tx.query_row(sql, [id], |row| row.get(0))?)
        })
        .await
    }
}

#[tokio::test]
async fn untouched_decisions_and_documents_are_proven() {
    let fixture = Fixture::new().await;
    let expected = Report { decisions: 2, documents: 3, documents_gone: 0, faults: vec![] };
    assert_eq!(fixture.report().await, expected);
    let other = fixture.outbox.store().read(|db| prove(db, PublicKey([2; 32]), 0)).await.unwrap();
    assert_eq!((other.decisions, other.faults.len()), (0, 2), "they were not given to another hub");
}

#[tokio::test]
async fn a_decision_that_was_changed_in_the_audit_is_not_its_devices_own() {
    for (what, sql) in [
        (
            "verdict",
            "UPDATE audit SET detail = replace(detail, '\"event\":\"deny\"', '\"event\":\"approve\"')",
        ),
        (
            "document",
            "UPDATE audit SET detail = json_set(detail, '$.facts.document', printf('%064d', 0)) WHERE actor = 'companion:shelf' AND event = 'message.denied'",
        ),
        (
            "session",
            "UPDATE audit SET detail = json_set(detail, '$.facts.session', printf('%064d', 0)) WHERE actor = 'companion:shelf' AND event = 'message.denied'",
        ),
        (
            "counter",
            "UPDATE audit SET detail = json_set(detail, '$.facts.counter', 2) WHERE actor = 'companion:shelf' AND event = 'message.denied'",
        ),
        (
            "signature",
            "UPDATE audit SET detail = json_set(detail, '$.facts.signature', printf('%0128d', 0)) WHERE actor = 'companion:shelf' AND event = 'message.denied'",
        ),
    ] {
        let fixture = Fixture::new().await;
        fixture.tamper(sql).await;
        let (row, message, device) =
            (fixture.row(1).await, fixture.messages[1].clone(), to_hex(&public(9).0));
        let signature = Fault::Signature { row, message: message.clone(), device: device.clone() };
        // A lower counter leaves the registered one behind, without a row.
        let ahead = (what == "counter").then_some(Fault::Ahead { device });
        let exchanged = Fault::Exchanged { row, message, what };
        let expected: Vec<Fault> = [Some(signature), ahead, Some(exchanged)].into_iter().flatten().collect();
        assert_eq!(fixture.faults().await, expected, "{what}");
    }
}

#[tokio::test]
async fn a_decision_without_a_signature_is_named() {
    let fixture = Fixture::new().await;
    fixture
        .tamper("UPDATE audit SET detail = json_remove(detail, '$.facts') WHERE event = 'message.denied'")
        .await;
    let (row, message) = (fixture.row(1).await, fixture.messages[1].clone());
    let unsigned = Fault::Unsigned { row, message: message.clone() };
    let ahead = Fault::Ahead { device: to_hex(&public(9).0) };
    assert_eq!(fixture.faults().await, [unsigned, ahead, Fault::Unrecorded { message }]);
}

#[tokio::test]
async fn a_decision_of_a_device_that_nobody_registered_is_named() {
    let fixture = Fixture::new().await;
    fixture.tamper("UPDATE devices SET key = zeroblob(32)").await;
    let faults = fixture.faults().await;
    let stranger = |row, message: &String| Fault::Stranger {
        row,
        message: message.clone(),
        device: to_hex(&public(9).0),
    };
    let expected = [
        stranger(fixture.row(0).await, &fixture.messages[0]),
        stranger(fixture.row(1).await, &fixture.messages[1]),
        Fault::Ahead { device: to_hex(&[0; 32]) },
    ];
    assert_eq!(faults, expected);

    // A key that is put into the table alone, and signs: nobody at the shell has added it.
    let fixture = Fixture::new().await;
    fixture.tamper("DELETE FROM audit WHERE event = 'device.added'").await;
    assert_eq!(fixture.faults().await.len(), 2);
    let purged = fixture.outbox.store().read(|db| prove(db, HUB, 1)).await.unwrap();
    assert_eq!(purged.faults, [], "a year later that row is purged");
}

#[tokio::test]
async fn a_counter_that_does_not_rise_or_was_set_back_is_named_with_its_device() {
    let fixture = Fixture::new().await;
    let device = to_hex(&public(9).0);
    fixture.tamper("UPDATE devices SET counter = 3").await;
    assert_eq!(fixture.faults().await, [Fault::SetBack { device: device.clone() }]);
    // What it decided since is gone, with its rows. A year later those were purged.
    fixture.tamper("UPDATE devices SET counter = 99").await;
    assert_eq!(fixture.faults().await, [Fault::Ahead { device: device.clone() }]);
    let purged = fixture.outbox.store().read(|db| prove(db, HUB, 1)).await.unwrap();
    assert!(!purged.faults.contains(&Fault::Ahead { device: device.clone() }), "{purged:?}");
    fixture.tamper("UPDATE devices SET counter = 3").await;
    // Genuine, and taken a second time.
    fixture.decide(Verdict::Approve, 4).await;
    let (row, message) = (fixture.row(2).await, fixture.messages[2].clone());
    assert_eq!(fixture.faults().await, [Fault::Counter { row, message, device }]);
}

#[tokio::test]
async fn whatever_is_exchanged_beside_the_audit_is_named() {
    for (what, sql) in [
        ("verdict", "UPDATE approvals SET verdict = 'approve' WHERE verdict = 'deny'"),
        ("device", "UPDATE approvals SET device = zeroblob(32) WHERE verdict = 'deny'"),
        ("counter", "UPDATE approvals SET counter = 99 WHERE verdict = 'deny'"),
        ("session", "UPDATE approvals SET session = NULL WHERE verdict = 'deny'"),
        ("signature", "UPDATE approvals SET signature = x'00' WHERE verdict = 'deny'"),
    ] {
        let fixture = Fixture::new().await;
        fixture.tamper(sql).await;
        let (row, message) = (fixture.row(1).await, fixture.messages[1].clone());
        assert_eq!(fixture.faults().await, [Fault::Exchanged { row, message, what }]);
    }
}

#[tokio::test]
async fn an_approval_that_nobody_gave_is_named_whether_it_is_pretended_or_not() {
    let fixture = Fixture::new().await;
    let message = fixture.messages[2].clone();
    fixture.tamper("UPDATE approvals SET verdict = 'approve', decided_at = 1 WHERE verdict IS NULL").await;
    assert_eq!(fixture.faults().await, [Fault::Unrecorded { message: message.clone() }]);
    let fixture = Fixture::new().await;
    fixture.tamper("UPDATE messages SET state = 'sent' WHERE state = 'held'").await;
    assert_eq!(fixture.faults().await, [Fault::Unasked { message: fixture.messages[2].clone() }]);
}

#[tokio::test]
async fn a_decision_whose_row_was_purged_proves_itself_or_is_named() {
    let fixture = Fixture::new().await;
    let last = fixture.purge().await;
    let prove_purged = async || fixture.outbox.store().read(move |db| prove(db, HUB, last)).await.unwrap();
    let expected = Report { decisions: 2, documents: 3, documents_gone: 0, faults: vec![] };
    assert_eq!(prove_purged().await, expected);
    fixture.tamper("UPDATE approvals SET verdict = 'approve' WHERE verdict = 'deny'").await;
    let message = fixture.messages[1].clone();
    assert_eq!(prove_purged().await.faults, [Fault::Unrecorded { message }]);
    fixture
        .tamper(
            "UPDATE approvals SET verdict = 'deny' WHERE message = 2; UPDATE devices SET key = zeroblob(32)",
        )
        .await;
    assert_eq!(prove_purged().await.faults.len(), 2, "nobody knows the device");
}

#[tokio::test]
async fn a_decision_that_is_younger_than_the_purge_has_its_row() {
    let fixture = Fixture::new().await;
    let last = fixture.purge().await;
    fixture.tamper("UPDATE audit SET at = at - 60000").await;
    let faults = fixture.outbox.store().read(move |db| prove(db, HUB, last)).await.unwrap().faults;
    let expected = [0, 1].map(|n| Fault::Unrecorded { message: fixture.messages[n].clone() });
    assert_eq!(faults, expected);
}

#[tokio::test]
async fn a_message_that_is_not_what_was_shown_is_named_with_what_differs() {
    for (what, sql) in [
        ("the text of part 2", "UPDATE parts SET shown = 'else' WHERE message = 1 AND idx = 1"),
        ("the request of part 1", "UPDATE parts SET wire = '{}' WHERE message = 1 AND idx = 0"),
        ("its number of parts", "DELETE FROM parts WHERE message = 1 AND idx = 1"),
        ("its address", "UPDATE messages SET address = 'bob' WHERE seq = 1"),
        ("its agent", "UPDATE messages SET agent = 'b' WHERE seq = 1"),
        (
            "its files",
            "UPDATE messages SET attachments = json_array(json_object('sha256', printf('%064d', 0), 'name', 'a.txt',
                'kind', 'text/plain', 'size', 1)) WHERE seq = 1",
        ),
        ("its thread", "UPDATE messages SET thread = 't' WHERE seq = 1"),
        ("its option silent", "UPDATE messages SET silent = 1 WHERE seq = 1"),
        (
            "the stored message, which cannot be read,",
            "UPDATE messages SET origin = 'nonsense' WHERE seq = 1",
        ),
    ] {
        let fixture = Fixture::new().await;
        fixture.tamper(sql).await;
        let message = fixture.messages[0].clone();
        assert_eq!(fixture.faults().await, [Fault::Differs { message, what: what.into() }]);
    }
}

#[tokio::test]
async fn a_document_that_was_exchanged_is_named_decided_or_not() {
    // The second message's document in the place of the third's, which nobody has signed yet.
    let fixture = Fixture::new().await;
    let document = "UPDATE approvals SET document = (SELECT document FROM approvals WHERE message = 2) WHERE message = 3";
    fixture.tamper(document).await;
    let message = fixture.messages[2].clone();
    let what = "the message that it was held as".to_owned();
    let faults = fixture.faults().await;
    assert_eq!(faults[0], Fault::Differs { message: message.clone(), what });
    assert!(matches!(&faults[1], Fault::Head { message: other, .. } if *other == message), "{faults:?}");

    let fixture = Fixture::new().await;
    fixture.tamper("UPDATE approvals SET document = x'00' WHERE message = 1").await;
    let message = fixture.messages[0].clone();
    let row = fixture.row(0).await;
    let expected = [
        Fault::Exchanged { row, message: message.clone(), what: "document" },
        Fault::Differs { message, what: "nothing that can be read".into() },
    ];
    assert_eq!(fixture.faults().await, expected);
}

#[tokio::test]
async fn an_audit_that_was_written_anew_is_not_the_one_that_a_document_vouches_for() {
    let fixture = Fixture::new().await;
    // With the hub's key a whole chain could be computed anew, and signed. What the companion signed stays.
    fixture.tamper("UPDATE audit SET hash = zeroblob(32) WHERE seq = 2").await;
    let message = fixture.messages[0].clone();
    assert_eq!(fixture.faults().await, [Fault::Head { row: 2, message }]);
}

#[tokio::test]
async fn a_document_that_is_gone_while_its_message_is_there_is_named() {
    let fixture = Fixture::new().await;
    fixture.tamper("DELETE FROM approvals WHERE message = 3").await;
    let message = fixture.messages[2].clone();
    let faults = fixture.faults().await;
    assert!(
        matches!(&faults[..], [Fault::Undocumented { message: gone, .. }] if *gone == message),
        "{faults:?}"
    );
}

#[tokio::test]
async fn what_went_with_its_retention_is_said_and_what_went_otherwise_is_a_fault() {
    let fixture = Fixture::new().await;
    let id = Some(fixture.messages[1].clone());
    let purge = Purge { before: now_ms() + 1, state: None, id, by: "operator".into() };
    assert_eq!(fixture.outbox.purge(purge).await.unwrap(), 1);
    let expected = Report { decisions: 2, documents: 2, documents_gone: 1, faults: vec![] };
    assert_eq!(fixture.report().await, expected);
    fixture
        .tamper("DELETE FROM parts WHERE message = 1; DELETE FROM approvals WHERE message = 1; DELETE FROM messages WHERE seq = 1")
        .await;
    assert_eq!(fixture.faults().await, [Fault::Gone { messages: 1 }]);
}

#[tokio::test]
async fn a_message_that_was_taken_back_while_it_was_held_is_no_fault() {
    let fixture = Fixture::new().await;
    let seq = 3;
    let cancelled = fixture.outbox.change(seq, move |tx| {
        let change = Change {
            event: Event::Cancel,
            actor: Actor::Operator,
            by: "operator",
            code: Some(Code::Cancelled),
            reason: None,
            facts: None,
        };
        transition::apply(tx, seq, &change)
    });
    cancelled.await.unwrap();
    let broken = fixture.outbox.store().read(audit::first_broken).await.unwrap();
    assert_eq!((fixture.faults().await, broken), (vec![], None));
}

#[tokio::test]
async fn every_approval_of_a_quorum_is_proven() {
    let fixture = Fixture::of_two().await;
    let expected = Report { decisions: 3, documents: 2, documents_gone: 0, faults: vec![] };
    assert_eq!(fixture.report().await, expected);
    registry::revoke(fixture.outbox.store(), "hall", "operator").await.unwrap();
    assert_eq!(fixture.report().await, expected, "what it said before stands in the audit");
}

#[tokio::test]
async fn a_message_that_went_with_fewer_approvals_than_it_was_held_for_is_named() {
    let fixture = Fixture::of_two().await;
    let (row, message) = (fixture.row(0).await, fixture.messages[0].clone());
    // As if the hub had counted one for two: the other one's row was never written.
    fixture
        .tamper(
            "DELETE FROM votes WHERE request = (SELECT request FROM approvals WHERE message = 1);
             DELETE FROM audit WHERE event = 'decision.counted' AND seq < 6",
        )
        .await;
    assert_eq!(fixture.faults().await, [Fault::Quorum { row, message: message.clone(), votes: 1, of: 2 }]);

    // The number itself is in the chain.
    let fixture = Fixture::of_two().await;
    fixture.tamper("UPDATE approvals SET quorum = 1 WHERE message = 2").await;
    let message = fixture.messages[1].clone();
    let faults = fixture.faults().await;
    assert!(
        matches!(&faults[..], [Fault::Exchanged { message: of, what: "number of approvals that it takes", .. }] if *of == message),
        "{faults:?}"
    );
}

#[tokio::test]
async fn an_approval_that_was_exchanged_added_or_removed_is_named() {
    for (what, sql) in [
        ("counter", "UPDATE votes SET counter = 99 WHERE counter = 12"),
        ("session", "UPDATE votes SET session = zeroblob(32) WHERE counter = 12"),
        ("signature", "UPDATE votes SET signature = zeroblob(64) WHERE counter = 12"),
    ] {
        let fixture = Fixture::of_two().await;
        fixture.tamper(sql).await;
        let faults = fixture.faults().await;
        assert!(
            matches!(&faults[..], [Fault::Exchanged { what: named, .. }] if *named == what),
            "{faults:?}"
        );
    }
    let fixture = Fixture::of_two().await;
    let message = fixture.messages[1].clone();
    fixture
        .tamper("INSERT INTO votes SELECT request, zeroblob(32), at, counter, session, signature FROM votes WHERE counter = 12")
        .await;
    let device = "0".repeat(64);
    assert_eq!(fixture.faults().await, [Fault::Counted { message: message.clone(), device }]);
    fixture.tamper("DELETE FROM votes WHERE counter = 12").await;
    let faults = fixture.faults().await;
    assert!(
        matches!(&faults[..], [Fault::Uncounted { message: of, .. }, ..] | [.., Fault::Uncounted { message: of, .. }] if *of == message),
        "{faults:?}"
    );
}

#[tokio::test]
async fn approvals_whose_rows_were_purged_prove_themselves_or_are_named() {
    let fixture = Fixture::of_two().await;
    let last = fixture.purge().await;
    let prove_purged = async || fixture.outbox.store().read(move |db| prove(db, HUB, last)).await.unwrap();
    let expected = Report { decisions: 3, documents: 2, documents_gone: 0, faults: vec![] };
    assert_eq!(prove_purged().await, expected);
    fixture.tamper("DELETE FROM votes WHERE counter = 11").await;
    let message = fixture.messages[0].clone();
    assert_eq!(prove_purged().await.faults, [Fault::Quorum { row: last, message, votes: 1, of: 2 }]);
}

#[tokio::test]
async fn a_decision_of_a_device_that_was_revoked_by_then_is_named() {
    let mut fixture = Fixture::new().await;
    fixture.hold("fourth").await;
    registry::revoke(fixture.outbox.store(), "shelf", "operator").await.unwrap();
    // As if the hub had forgotten.
    fixture.tamper("UPDATE devices SET revoked_at = NULL").await;
    fixture.decide(Verdict::Approve, 5).await;
    let (row, message, device) = (fixture.row(2).await, fixture.messages[2].clone(), to_hex(&public(9).0));
    assert_eq!(fixture.faults().await, [Fault::Revoked { row, message, device }]);
}

#[test]
fn faults_are_said_in_sentences() {
    let said = Fault::Differs { message: "m1".into(), what: "the text of part 2".into() }.to_string();
    assert_eq!(said, "message m1: the text of part 2 is not what its approval document shows");
    assert_eq!(Fault::Gone { messages: 1 }.to_string(), "a message is gone, and no purge took it");
}
