//! Several devices for one message: the approvals that came before there were enough.
//!
//! How many it takes is written down when a message is held, and stands. Each approval that is not the last one is a row
//! of its own, committed before its device is told, so that no crash between two loses one. A device counts once, and only
//! as long as it may decide. The one that completes the number is stored with the approval itself, as where one is enough.

use gatepost_link::{RequestId, decision::PublicKey, envelope::VERSION};
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use serde_json::json;

use crate::{
    audit::{self, Entry},
    message::target::Target,
    random::to_hex,
    store::{StoreError, now_ms},
};

/// What the detail of an approval's row says of one that is not the last, and of one that was taken back: beside the words of
/// [`crate::message::state::Event`], and stored like them.
pub(super) const VOTE: &str = "vote";
pub(super) const WITHDRAW: &str = "withdraw";

/// How far a message has come with those who decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The request by which people are asked.
    pub request: RequestId,
    /// How many must approve it.
    pub quorum: u32,
    /// What those are called who have, in their order; software and passkeys are marked.
    pub by: Vec<String>,
    /// Where the other messages go that are on the same card.
    pub together: Vec<String>,
}

/// What there is to store of an approval that is not the last.
pub(super) struct Vote {
    pub(super) request: RequestId,
    /// Whose it is: a device's key, or what stands for a passkey.
    pub(super) device: [u8; 32],
    pub(super) counter: i64,
    pub(super) session: Vec<u8>,
    pub(super) signature: Vec<u8>,
}

/// Whose decisions count, beside those of devices with buttons of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Who {
    /// Programs.
    pub(super) software: bool,
    /// Passkeys.
    pub(super) web: bool,
}

/// How a request stands with one of those who decide.
pub(super) struct Votes {
    /// Approvals of other companions that may still decide.
    pub(super) companions: u32,
    /// The same of passkeys.
    pub(super) passkeys: u32,
    /// The counter of its own approval, if it gave one.
    pub(super) own: Option<i64>,
}

impl Votes {
    /// Approvals of others.
    pub(super) const fn others(&self) -> u32 {
        self.companions + self.passkeys
    }
}

/// How a request stands with the one that has this key.
pub(super) fn votes(
    tx: &Transaction<'_>,
    request: RequestId,
    key: [u8; 32],
    who: Who,
) -> Result<Votes, StoreError> {
    let companions = "SELECT count(*) FROM votes JOIN devices ON key = device
        WHERE request = ? AND device <> ? AND revoked_at IS NULL AND (? OR NOT software) AND version >= ?";
    let passkeys = "SELECT count(*) FROM votes JOIN passkeys ON id = device JOIN tokens ON hash = token
        WHERE request = ? AND device <> ? AND ? AND removed_at IS NULL AND role = 'operator' AND revoked_at IS NULL";
    let companions =
        tx.query_row(companions, params![request.0, key, who.software, VERSION], |row| row.get(0))?;
    let passkeys = tx.query_row(passkeys, params![request.0, key, who.web], |row| row.get(0))?;
    let own = "SELECT counter FROM votes WHERE request = ? AND device = ?";
    let own = tx.query_row(own, params![request.0, key], |row| row.get(0)).optional()?;
    Ok(Votes { companions, passkeys, own })
}

/// Stores an approval that is not the last.
pub(super) fn store(tx: &Transaction<'_>, vote: &Vote) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO votes (request, device, at, counter, session, signature) VALUES (?, ?, ?, ?, ?, ?)",
        params![vote.request.0, vote.device, now_ms(), vote.counter, vote.session, vote.signature],
    )?;
    Ok(())
}

/// Takes the approvals of a device back whose messages still wait; the numbers of these messages.
pub(super) fn withdraw(
    tx: &Transaction<'_>,
    device: PublicKey,
    by: &str,
    reason: &str,
) -> Result<Vec<i64>, StoreError> {
    let mut rows = tx.prepare(
        "SELECT approvals.request, message, id FROM votes JOIN approvals ON approvals.request = votes.request
         JOIN messages ON seq = message WHERE votes.device = ? AND approvals.decided_at IS NULL ORDER BY message",
    )?;
    let rows = rows.query_map([device.0], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let open: Vec<([u8; 16], i64, String)> = rows.collect::<Result<_, _>>()?;
    for (request, _, id) in &open {
        // Of several messages on one card, at the first.
        if tx.execute("DELETE FROM votes WHERE request = ? AND device = ?", params![request, device.0])? == 0
        {
            continue;
        }
        let facts = json!({"request": to_hex(request), "device": to_hex(&device.0)});
        let detail = json!({"event": WITHDRAW, "reason": reason, "facts": facts});
        audit::append(
            tx,
            &Entry { actor: by, event: audit::Event::DecisionWithdrawn, message: Some(id), detail },
        )?;
    }
    Ok(open.into_iter().map(|(_, message, _)| message).collect())
}

/// How a message stands; nothing, if it was never held.
pub(super) fn standing(db: &Connection, message: i64) -> Result<Option<Standing>, StoreError> {
    let sql = "SELECT request, quorum FROM approvals WHERE message = ?";
    let found =
        db.prepare_cached(sql)?.query_row([message], |row| Ok((row.get::<_, [u8; 16]>(0)?, row.get(1)?)));
    let Some((request, quorum)) = found.optional()? else { return Ok(None) };
    // In the order in which they came; those of one millisecond by their names.
    let mut names = db.prepare_cached(
        "SELECT coalesce(
            (SELECT name || CASE software WHEN 1 THEN ' [software]' ELSE '' END FROM devices WHERE key = device),
            (SELECT name || ' [web]' FROM passkeys WHERE id = device)) AS name FROM (
            SELECT device, at FROM votes WHERE request = ?1
            UNION SELECT device, decided_at FROM approvals WHERE request = ?1 AND verdict = 'approve'
         ) WHERE name IS NOT NULL ORDER BY at, name",
    )?;
    let by = names.query_map([request], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut others = db.prepare_cached(
        "SELECT channel, address, thread FROM approvals JOIN messages ON seq = message
         WHERE request = ? AND message != ? ORDER BY message",
    )?;
    let target = |row: &rusqlite::Row<'_>| {
        Ok(Target { channel: row.get(0)?, address: row.get(1)?, thread: row.get(2)? }.to_string())
    };
    let together = others.query_map(params![request, message], target)?.collect::<Result<_, _>>()?;
    Ok(Some(Standing { request: RequestId(request), quorum, by, together }))
}

/// Who has approved a request that still waits.
pub(super) fn voted(db: &Connection, request: RequestId) -> Result<Vec<PublicKey>, StoreError> {
    let mut rows = db.prepare_cached("SELECT device FROM votes WHERE request = ?")?;
    let rows = rows.query_map([request.0], |row| Ok(PublicKey(row.get(0)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use gatepost_link::{
        decision::Verdict::{Approve, Deny},
        envelope::VERSION,
    };

    use crate::{
        approval::{
            Terms,
            decide::{DecisionError, Outcome},
            device,
            prove::prove,
            registry,
            testing::{Fixture, HUB, public},
        },
        message::state::State,
    };

    const DEVICES: [(u8, &str); 3] = [(7, "hall"), (8, "kitchen"), (9, "shelf")];

    fn of(quorum: u32) -> Terms {
        Terms { quorum, ..Terms::default() }
    }

    async fn standing(fixture: &Fixture, seq: i64) -> (u32, Vec<String>) {
        let standing = fixture.approvals.standing(seq).await.unwrap().unwrap();
        (standing.quorum, standing.by)
    }

    async fn proven(fixture: &Fixture) -> u64 {
        let report = fixture.outbox.store().read(|db| prove(db, HUB, 0)).await.unwrap();
        assert_eq!(report.faults, []);
        report.decisions
    }

    #[tokio::test]
    async fn a_message_goes_when_the_last_of_the_quorum_approved_it_and_not_before() {
        let mut fixture = Fixture::with(&DEVICES, of(2)).await;
        let seq = fixture.hold("first").await;
        assert_eq!(fixture.decide_as(7, seq, Approve, 1).await.unwrap(), Outcome::Consumed);
        assert_eq!(
            (fixture.state(seq).await, standing(&fixture, seq).await),
            (State::Held, (2, vec!["hall".into()]))
        );
        let waiting = fixture.approvals.waiting().await.unwrap();
        assert_eq!(waiting[0].voted, [public(7)], "it is not asked again");
        assert_eq!(fixture.decide_as(9, seq, Approve, 1).await.unwrap(), Outcome::Consumed);
        assert_eq!(fixture.state(seq).await, State::Ready);
        assert_eq!(standing(&fixture, seq).await, (2, vec!["hall".into(), "shelf".into()]));
        // Who comes too late hears that it is over, and its word is no part of it.
        assert_eq!(fixture.decide_as(8, seq, Approve, 1).await.unwrap(), Outcome::Over(State::Ready));
        let counted = fixture.audit("decision.counted").await;
        assert_eq!(counted.len(), 1);
        assert_eq!((counted[0].0.as_str(), &counted[0].1["facts"]["votes"]), ("companion:hall", &1.into()));
        assert_eq!(fixture.audit("message.ready").await[0].1["facts"]["votes"], 2);
        assert_eq!(proven(&fixture).await, 2);
    }

    #[tokio::test]
    async fn a_device_counts_once_however_often_it_approves() {
        let mut fixture = Fixture::with(&DEVICES, of(2)).await;
        let seq = fixture.hold("first").await;
        for counter in [1, 1, 2, 3] {
            assert_eq!(fixture.decide_as(7, seq, Approve, counter).await.unwrap(), Outcome::Consumed);
        }
        assert_eq!((fixture.state(seq).await, standing(&fixture, seq).await.1.len()), (State::Held, 1));
        let replayed = fixture.decide_as(7, seq, Approve, 2).await;
        assert!(matches!(replayed, Err(DecisionError::Counter)), "{replayed:?}");
        assert_eq!(proven(&fixture).await, 1);
    }

    #[tokio::test]
    async fn one_that_denies_ends_it_at_once_also_against_its_own_approval() {
        let mut fixture = Fixture::with(&DEVICES, of(3)).await;
        let (first, second) = (fixture.hold("first").await, fixture.hold("second").await);
        for (n, seq) in [(7, first), (8, first), (7, second)] {
            fixture.decide_as(n, seq, Approve, u64::try_from(seq).unwrap()).await.unwrap();
        }
        fixture.decide_as(9, first, Deny, 1).await.unwrap();
        fixture.decide_as(7, second, Deny, 9).await.unwrap();
        assert_eq!((fixture.state(first).await, fixture.state(second).await), (State::Denied, State::Denied));
        assert_eq!(standing(&fixture, first).await.1, ["hall", "kitchen"]);
        assert_eq!(proven(&fixture).await, 5);
    }

    #[tokio::test]
    async fn a_revoked_devices_approval_does_not_count_where_the_message_still_waits() {
        let mut fixture = Fixture::with(&DEVICES, of(2)).await;
        let (gone, open) = (fixture.hold("first").await, fixture.hold("second").await);
        for (n, seq, counter) in [(7, gone, 1), (8, gone, 1), (7, open, 2)] {
            fixture.decide_as(n, seq, Approve, counter).await.unwrap();
        }
        let revoked = registry::revoke(fixture.outbox.store(), "hall", "operator").await.unwrap();
        assert_eq!(revoked.withdrawn, [open]);
        assert_eq!((fixture.state(gone).await, standing(&fixture, gone).await.1.len()), (State::Ready, 2));
        assert_eq!((fixture.state(open).await, standing(&fixture, open).await.1), (State::Held, vec![]));
        let refused = fixture.decide_as(7, open, Approve, 3).await;
        assert!(matches!(refused, Err(DecisionError::Device)), "{refused:?}");
        fixture.decide_as(8, open, Approve, 2).await.unwrap();
        assert_eq!(fixture.state(open).await, State::Held, "one of two");
        fixture.decide_as(9, open, Approve, 1).await.unwrap();
        assert_eq!(fixture.state(open).await, State::Ready);
        assert_eq!(fixture.audit("decision.withdrawn").await.len(), 1);
        assert_eq!(proven(&fixture).await, 5);
    }

    #[tokio::test]
    async fn what_firmware_approved_that_is_too_old_does_not_count_also_once_it_is_updated() {
        let mut fixture = Fixture::with(&DEVICES, of(2)).await;
        let (seq, gone) = (fixture.hold("first").await, fixture.hold("second").await);
        for (n, seq, counter) in [(7, gone, 1), (8, gone, 1), (7, seq, 2)] {
            fixture.decide_as(n, seq, Approve, counter).await.unwrap();
        }
        fixture.tamper("UPDATE devices SET version = 3 WHERE name = 'hall'").await;
        registry::withdraw_outdated(fixture.outbox.store()).await.unwrap();
        device::spoke(fixture.outbox.store(), public(7), VERSION).await.unwrap();
        assert_eq!(standing(&fixture, seq).await, (2, vec![]));
        assert_eq!(fixture.approvals.waiting().await.unwrap()[0].voted, [], "it is asked again");
        fixture.decide_as(8, seq, Approve, 2).await.unwrap();
        assert_eq!((fixture.state(seq).await, fixture.state(gone).await), (State::Held, State::Ready));
        fixture.decide_as(7, seq, Approve, 3).await.unwrap();
        assert_eq!(fixture.state(seq).await, State::Ready);
        let withdrawn = fixture.audit("decision.withdrawn").await;
        assert!(withdrawn.len() == 1 && withdrawn[0].0 == "hub", "{withdrawn:?}");
        assert!(withdrawn[0].1["reason"].as_str().unwrap().contains("too old"), "{withdrawn:?}");
        assert_eq!(proven(&fixture).await, 5);
    }

    #[tokio::test]
    async fn an_approval_is_not_counted_while_its_companions_firmware_is_too_old() {
        let mut fixture = Fixture::with(&DEVICES, of(2)).await;
        let seq = fixture.hold("first").await;
        fixture.decide_as(7, seq, Approve, 1).await.unwrap();
        fixture.tamper("UPDATE devices SET version = 3 WHERE name = 'hall'").await;
        fixture.decide_as(8, seq, Approve, 1).await.unwrap();
        assert_eq!(fixture.state(seq).await, State::Held);
        fixture.decide_as(9, seq, Approve, 1).await.unwrap();
        assert_eq!(fixture.state(seq).await, State::Ready);
    }

    #[tokio::test]
    async fn a_restart_between_two_approvals_loses_none_and_another_configuration_changes_none() {
        let mut fixture = Fixture::with(&DEVICES, of(2)).await;
        let seq = fixture.hold("first").await;
        fixture.decide_as(7, seq, Approve, 1).await.unwrap();
        let mut fixture = fixture.restarted(of(1)).await;
        assert_eq!(standing(&fixture, seq).await, (2, vec!["hall".into()]), "what was held for two");
        let alone = fixture.hold("second").await;
        fixture.decide_as(8, alone, Approve, 1).await.unwrap();
        assert_eq!((fixture.state(seq).await, fixture.state(alone).await), (State::Held, State::Ready));
        fixture.decide_as(8, seq, Approve, 2).await.unwrap();
        assert_eq!(fixture.state(seq).await, State::Ready);
        assert_eq!(proven(&fixture).await, 3);
    }

    #[tokio::test]
    async fn of_decisions_at_the_same_moment_each_counts_once_and_the_first_end_stands() {
        for (verdicts, ends) in [
            ([Approve, Approve, Approve], &[State::Ready][..]),
            ([Approve, Deny, Approve], &[State::Ready, State::Denied]),
        ] {
            let mut fixture = Fixture::with(&DEVICES, of(2)).await;
            let seq = fixture.hold("first").await;
            let [hall, kitchen, blobs] = [(7, verdicts[0]), (8, verdicts[1]), (9, verdicts[2])]
                .map(|(n, verdict)| fixture.decide_as(n, seq, verdict, 1));
            let (hall, kitchen, blobs) = tokio::join!(hall, kitchen, blobs);
            for outcome in [hall, kitchen, blobs] {
                assert!(matches!(outcome.unwrap(), Outcome::Consumed | Outcome::Over(_)));
            }
            let end = fixture.state(seq).await;
            assert!(ends.contains(&end), "{end}");
            proven(&fixture).await;
        }
    }
}
