//! Several messages on one card.

use gatepost_link::{
    decision::Verdict::{Approve, Deny},
    document::{Document, MAX_TARGETS},
};

use super::{
    Terms,
    decide::Outcome,
    prove::prove,
    testing::{Fixture, HUB},
};
use crate::message::state::{Actor, Event, State};

const DEVICES: [(u8, &str); 2] = [(7, "hall"), (8, "kitchen")];

async fn fixture(quorum: u32) -> Fixture {
    Fixture::with(&DEVICES, Terms { quorum, ..Terms::default() }).await
}

async fn faults(fixture: &Fixture) -> (u64, u64) {
    let report = fixture.outbox.store().read(|db| prove(db, HUB, 0)).await.unwrap();
    assert_eq!(report.faults, []);
    (report.decisions, report.documents)
}

async fn states(fixture: &Fixture, messages: &[i64]) -> Vec<State> {
    let mut states = vec![];
    for seq in messages {
        states.push(fixture.state(*seq).await);
    }
    states
}

#[tokio::test]
async fn messages_that_differ_in_their_target_alone_are_one_request_and_end_by_one_decision() {
    for (verdict, state) in [(Approve, State::Ready), (Deny, State::Denied)] {
        let mut fixture = fixture(1).await;
        let held = fixture.hold_together(&["ann", "bob", "carol"], "Tea?").await;
        let waiting = fixture.approvals.waiting().await.unwrap();
        assert_eq!(waiting.len(), 1);
        let document = Document::decode(&waiting[0].document).unwrap();
        let listed: Vec<&str> = document.targets().map(|target| target.address).collect();
        assert_eq!(listed, ["ann", "bob", "carol"]);
        assert_eq!(fixture.decide_as(7, held[1], verdict, 1).await.unwrap(), Outcome::Consumed);
        assert_eq!(states(&fixture, &held).await, [state; 3]);
        // The same decision again, its answer was lost; and one that comes too late.
        assert_eq!(fixture.decide_as(7, held[2], verdict, 1).await.unwrap(), Outcome::Consumed);
        assert_eq!(fixture.decide_as(8, held[0], Deny, 1).await.unwrap(), Outcome::Over(state));
        assert_eq!(faults(&fixture).await, (1, 3));
        for seq in held {
            let released = matches!(fixture.approvals.release(seq).await.unwrap(), super::Released::Parts(_));
            assert_eq!(released, verdict == Approve);
        }
    }
}

#[tokio::test]
async fn what_is_shown_otherwise_has_a_card_of_its_own_and_so_has_what_no_list_has_room_for() {
    let mut fixture = fixture(1).await;
    fixture.hold_together(&["ann", "bob"], "Tea?").await;
    fixture.hold_together(&["carol"], "Coffee?").await;
    assert_eq!(fixture.approvals.waiting().await.unwrap().len(), 2);
    let many: Vec<String> = (0..=MAX_TARGETS).map(|n| format!("peer-{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    fixture.hold_together(&many, "Water?").await;
    // A target is in no list whose address has something to be said about it.
    fixture.hold_together(&["written:dora", "written:emil"], "Milk?").await;
    let waiting = fixture.approvals.waiting().await.unwrap();
    let listed = |bytes: &[u8]| Document::decode(bytes).unwrap().targets().count();
    let listed: Vec<usize> = waiting.iter().map(|waiting| listed(&waiting.document)).collect();
    assert_eq!(listed, [2, 1, MAX_TARGETS, 1, 1, 1]);
    // Long addresses fill a document sooner.
    let long: Vec<String> = (0..MAX_TARGETS).map(|n| format!("{n}-{}", "x".repeat(900))).collect();
    let long: Vec<&str> = long.iter().map(String::as_str).collect();
    let held = fixture.hold_together(&long, "Wine?").await;
    assert_eq!(states(&fixture, &held).await, [State::Held; MAX_TARGETS]);
    let waiting = fixture.approvals.waiting().await.unwrap();
    assert_eq!(waiting.len(), listed.len() + 2, "eight of them fit on each");
    assert_eq!(faults(&fixture).await.1, 6 + MAX_TARGETS as u64 + 16);
}

#[tokio::test]
async fn one_that_is_cancelled_is_not_sent_and_the_others_are_decided_as_they_were_shown() {
    let mut fixture = fixture(2).await;
    let held = fixture.hold_together(&["ann", "bob", "carol"], "Tea?").await;
    fixture.decide_as(7, held[0], Approve, 1).await.unwrap();
    fixture.end(held[0], Event::Cancel, Actor::Operator).await;
    let waiting = fixture.approvals.waiting().await.unwrap();
    assert_eq!((waiting.len(), waiting[0].voted.len()), (1, 1));
    fixture.decide_as(8, held[0], Approve, 1).await.unwrap();
    assert_eq!(states(&fixture, &held).await, [State::Cancelled, State::Ready, State::Ready]);
    assert_eq!(faults(&fixture).await, (2, 3));
    let standing = fixture.approvals.standing(held[1]).await.unwrap().unwrap();
    assert_eq!((standing.by.len(), standing.together.len()), (2, 2));
}

#[tokio::test]
async fn a_card_counts_once_however_many_messages_are_on_it_and_comes_for_all_of_them() {
    let terms = Terms { cards_per_hour: 1, ..Terms::default() };
    let mut fixture = Fixture::with(&DEVICES, terms).await;
    let first = fixture.hold_together(&["ann", "bob"], "Tea?").await;
    let later = fixture.hold_together(&["ann", "bob", "carol"], "Coffee?").await;
    assert_eq!(fixture.approvals.waiting().await.unwrap().len(), 1);
    fixture.tamper("UPDATE approvals SET card_at = card_at - 3600000").await;
    fixture.decide_as(7, first[0], Approve, 1).await.unwrap();
    fixture.approvals.look_after().await.unwrap();
    let waiting = fixture.approvals.waiting().await.unwrap();
    assert_eq!(waiting.len(), 1);
    for seq in &later {
        let row = fixture.outbox.get(*seq).await.unwrap();
        assert_eq!((row.reason.as_deref(), row.code), (Some("it crosses"), None));
    }
    let put = fixture.write(|tx| {
        Ok(tx.query_row("SELECT put, deferred FROM cards", [], |row| {
            Ok((row.get::<_, u32>(0)?, row.get::<_, u32>(1)?))
        })?)
    });
    assert_eq!(put.await, (2, 1));
    assert_eq!(faults(&fixture).await, (1, 5));
}

#[tokio::test]
async fn a_request_at_a_further_target_that_is_not_the_approved_one_is_not_sent_and_is_named() {
    let mut fixture = fixture(1).await;
    let held = fixture.hold_together(&["ann", "bob"], "Tea?").await;
    fixture.decide_as(7, held[0], Approve, 1).await.unwrap();
    fixture.tamper("UPDATE parts SET wire = replace(wire, 'bob', 'eve') WHERE message = 2").await;
    assert_eq!(fixture.approvals.release(held[1]).await.unwrap(), super::Released::Changed);
    let report = fixture.outbox.store().read(|db| prove(db, HUB, 0)).await.unwrap();
    assert_eq!(report.faults.len(), 1, "{:?}", report.faults);
    fixture.tamper("UPDATE messages SET address = 'eve' WHERE seq = 1").await;
    assert_eq!(fixture.approvals.release(held[0]).await.unwrap(), super::Released::Changed);
}
