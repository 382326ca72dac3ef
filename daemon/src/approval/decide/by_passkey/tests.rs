use gatepost_link::decision::Verdict::{Approve, Deny};

use super::*;
use crate::{
    agents::{self, Role},
    approval::{
        Terms,
        passkeys::{
            assertion::Unsigned,
            testing::{Authenticator, SEEN, sites},
        },
        prove::{Fault, prove},
        registry,
        testing::{Fixture, HUB},
    },
};

/// A hub with a device that is called hall, and passkeys that are called phone and laptop.
struct Stage {
    fixture: Fixture,
    phone: Authenticator,
    laptop: Authenticator,
}

impl Stage {
    async fn on(terms: Terms) -> Self {
        let mut fixture = Fixture::with(&[(7, "hall")], terms).await;
        fixture.approvals = fixture.approvals.by_passkeys(true);
        let (phone, laptop) = (Authenticator::new(1), Authenticator::new(2));
        let store = fixture.outbox.store();
        let token = agents::hash(&agents::add(store, "me", Role::Operator, "operator:me").await.unwrap());
        for (key, name) in [(&phone, "phone"), (&laptop, "laptop")] {
            passkeys::add(store, key.new_passkey(name, token), "operator:me").await.unwrap();
        }
        Self { fixture, phone, laptop }
    }

    async fn new() -> Self {
        Self::on(Terms::default()).await
    }

    /// What `key` signs about the message numbered `seq`.
    async fn signed(&self, key: &Authenticator, seq: i64, verdict: Verdict, counter: u32) -> Signed {
        let sql = "SELECT request, document FROM approvals WHERE message = ?";
        let found = move |tx: &Transaction<'_>| {
            Ok(tx.query_row(sql, [seq], |row| Ok((row.get::<_, [u8; 16]>(0)?, row.get::<_, Vec<u8>>(1)?)))?)
        };
        let (request, document) = self.fixture.write(found).await;
        let (request, document, nonce) = (RequestId(request), Digest::of(&document), [9; NONCE]);
        let passkey = passkeys::id(&key.credential);
        let statement = Statement { hub: HUB, passkey, request, document, verdict, nonce };
        let (credential, assertion) = (key.credential.clone(), key.sign(&statement.challenge(), counter));
        Signed { request, document, verdict, nonce, credential, assertion }
    }

    async fn give(&self, signed: Signed) -> Result<Counted, DecisionError> {
        self.fixture.approvals.decide_by_passkey(signed, sites()).await
    }

    async fn decide(
        &self,
        key: &Authenticator,
        seq: i64,
        verdict: Verdict,
        counter: u32,
    ) -> Result<Counted, DecisionError> {
        self.give(self.signed(key, seq, verdict, counter).await).await
    }

    async fn faults(&self) -> (u64, Vec<Fault>) {
        let report = self.fixture.outbox.store().read(|db| prove(db, HUB, 0)).await.unwrap();
        (report.decisions, report.faults)
    }
}

#[tokio::test]
async fn a_passkey_lets_a_message_go_or_not_and_the_audit_proves_it() {
    let mut stage = Stage::new().await;
    let (yes, no) = (stage.fixture.hold("first").await, stage.fixture.hold("second").await);
    let counted = stage.decide(&stage.phone, yes, Approve, 0).await.unwrap();
    assert_eq!(counted, Counted { approvals: 1, quorum: 1, state: State::Ready });
    let counted = stage.decide(&stage.phone, no, Deny, 0).await.unwrap();
    assert_eq!((counted.approvals, counted.state), (0, State::Denied));
    let told = stage.fixture.audit("message.ready").await;
    assert_eq!((told[0].0.as_str(), told[0].1["event"].as_str()), ("web:phone", Some("approve")));
    assert_eq!(stage.fixture.audit("message.denied").await[0].0, "web:phone");
    let decided = stage.fixture.outbox.store().read(move |db| crate::approval::decided_by(db, yes)).await;
    assert_eq!(decided.unwrap().as_deref(), Some("web:phone"));
    assert_eq!(stage.faults().await, (2, vec![]));
    // What is over is over, for whoever comes late.
    for verdict in [Approve, Deny] {
        let late = stage.decide(&stage.laptop, yes, verdict, 0).await;
        assert!(matches!(late, Err(DecisionError::Over(State::Ready))), "{late:?}");
    }
    let seq = stage.fixture.hold("third").await;
    stage.fixture.decide_as(7, seq, Approve, 1).await.unwrap();
    assert!(matches!(stage.decide(&stage.phone, seq, Deny, 0).await, Err(DecisionError::Over(State::Ready))));
}

#[tokio::test]
async fn what_does_not_count_changes_nothing_and_is_in_the_audit_with_its_reason() {
    let mut stage = Stage::new().await;
    let (seq, other) = (stage.fixture.hold("first").await, stage.fixture.hold("second").await);
    let whole = stage.signed(&stage.phone, seq, Approve, 1).await;
    let of_other = stage.signed(&stage.phone, other, Approve, 1).await;
    let elsewhere = Authenticator { origin: "http://localhost:3000", ..Authenticator::new(3) };
    let mut refused = vec![];
    for signed in [
        Signed { verdict: Deny, ..whole.clone() },
        Signed { nonce: [8; NONCE], ..whole.clone() },
        Signed { document: of_other.document, ..whole.clone() },
        Signed { request: of_other.request, ..whole.clone() },
        Signed { request: of_other.request, document: of_other.document, ..whole.clone() },
        Signed { request: RequestId([0; 16]), ..whole.clone() },
        Signed { credential: stage.laptop.credential.clone(), ..whole.clone() },
        Signed { assertion: of_other.assertion.clone(), ..whole.clone() },
        stage.signed(&elsewhere, seq, Approve, 1).await,
    ] {
        refused.push(stage.give(signed).await.unwrap_err().to_string());
    }
    for (flags, origin) in [(1, stage.phone.origin), (4, stage.phone.origin), (SEEN, elsewhere.origin)] {
        stage.phone = Authenticator { flags, origin, ..stage.phone };
        refused.push(stage.decide(&stage.phone, seq, Approve, 1).await.unwrap_err().to_string());
    }
    let told: Vec<String> = stage
        .fixture
        .audit("decision.rejected")
        .await
        .into_iter()
        .map(|(actor, detail)| {
            assert_eq!(actor, "hub");
            assert_eq!(detail["passkey"].as_str().map(str::len), Some(64));
            detail["why"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(told, refused);
    for (index, words) in [
        (0, "something else"),
        (1, "something else"),
        (2, "another document"),
        (3, "another document"),
        (4, "something else"),
        (5, "no such request"),
        (6, "something else"),
        (8, "not known here"),
        (9, "did not check who"),
        (10, "nobody was there"),
        (11, "another address"),
    ] {
        assert!(told[index].contains(words), "{index}: {}", told[index]);
    }
    assert_eq!(
        (stage.fixture.state(seq).await, stage.fixture.state(other).await),
        (State::Held, State::Held)
    );
    assert_eq!(stage.faults().await, (0, vec![]));
    stage.give(whole).await.unwrap();
    assert_eq!(stage.fixture.state(seq).await, State::Ready);
}

#[tokio::test]
async fn a_counter_that_went_back_and_a_passkey_that_was_removed_decide_nothing() {
    let mut stage = Stage::new().await;
    let (first, second) = (stage.fixture.hold("first").await, stage.fixture.hold("second").await);
    stage.decide(&stage.phone, first, Approve, 5).await.unwrap();
    for counter in [0, 4, 5] {
        let refused = stage.decide(&stage.phone, second, Approve, counter).await;
        assert!(matches!(refused, Err(DecisionError::Unsigned(Unsigned::Counter))), "{counter}: {refused:?}");
    }
    let short = crate::random::to_hex(&passkeys::id(&stage.phone.credential)[..8]);
    passkeys::remove(stage.fixture.outbox.store(), &short, "operator:me").await.unwrap();
    let refused = stage.decide(&stage.phone, second, Approve, 6).await;
    assert!(matches!(refused, Err(DecisionError::Passkey)), "{refused:?}");
    assert_eq!(stage.fixture.state(second).await, State::Held);
    assert_eq!(stage.faults().await, (1, vec![]), "what it decided before stands");
    agents::revoke(stage.fixture.outbox.store(), "me", "operator").await.unwrap();
    let refused = stage.decide(&stage.laptop, second, Deny, 1).await;
    assert!(matches!(refused, Err(DecisionError::Passkey)), "{refused:?}");
}

#[tokio::test]
async fn where_the_configuration_does_not_say_so_no_passkey_decides() {
    let mut stage = Stage::new().await;
    let seq = stage.fixture.hold("first").await;
    stage.fixture.approvals = stage.fixture.approvals.by_passkeys(false);
    for verdict in [Approve, Deny] {
        let refused = stage.decide(&stage.phone, seq, verdict, 1).await;
        assert!(matches!(refused, Err(DecisionError::Web)), "{refused:?}");
    }
    let request = stage.signed(&stage.phone, seq, Approve, 1).await.request;
    let refused = stage.fixture.approvals.may_be_decided_by_passkey(request);
    assert!(matches!(refused, Err(DecisionError::Web)), "{refused:?}");
    assert_eq!(stage.fixture.state(seq).await, State::Held);
}

#[tokio::test]
async fn passkeys_and_devices_count_together_and_each_once() {
    let mut stage = Stage::on(Terms { quorum: 3, ..Terms::default() }).await;
    let (seq, gone) = (stage.fixture.hold("first").await, stage.fixture.hold("second").await);
    for (approvals, counter) in [(1, 1), (1, 2)] {
        let counted = stage.decide(&stage.phone, seq, Approve, counter).await.unwrap();
        assert_eq!(counted, Counted { approvals, quorum: 3, state: State::Held });
    }
    stage.fixture.decide_as(7, seq, Approve, 1).await.unwrap();
    let standing = stage.fixture.approvals.standing(seq).await.unwrap().unwrap();
    assert_eq!(standing.by.len(), 2);
    assert!(standing.by.contains(&"phone [web]".into()) && standing.by.contains(&"hall".into()));
    let counted = stage.decide(&stage.laptop, seq, Approve, 0).await.unwrap();
    assert_eq!(counted, Counted { approvals: 3, quorum: 3, state: State::Ready });
    let cards = stage.fixture.approvals.cards().await.unwrap();
    let mut by = cards.decided[0].by.clone();
    by.sort();
    assert_eq!(by, ["companion:hall", "web:laptop", "web:phone"]);
    assert_eq!(stage.faults().await, (3, vec![]));
    // Whoever is removed has not approved what still waits.
    stage.decide(&stage.phone, gone, Approve, 3).await.unwrap();
    let short = crate::random::to_hex(&passkeys::id(&stage.phone.credential)[..8]);
    let withdrawn = passkeys::remove(stage.fixture.outbox.store(), &short, "operator:me").await.unwrap();
    assert_eq!(withdrawn, [gone]);
    assert_eq!(stage.fixture.approvals.standing(gone).await.unwrap().unwrap().by, [""; 0]);
    stage.decide(&stage.laptop, gone, Approve, 0).await.unwrap();
    stage.fixture.decide_as(7, gone, Approve, 2).await.unwrap();
    assert_eq!(stage.fixture.state(gone).await, State::Held, "two of three");
    assert_eq!(stage.faults().await, (6, vec![]));
}

#[tokio::test]
async fn an_approval_of_a_passkey_does_not_count_once_passkeys_may_not_decide() {
    let mut stage = Stage::on(Terms { quorum: 2, ..Terms::default() }).await;
    let seq = stage.fixture.hold("first").await;
    stage.decide(&stage.phone, seq, Approve, 1).await.unwrap();
    stage.fixture.approvals = stage.fixture.approvals.by_passkeys(false);
    stage.fixture.decide_as(7, seq, Approve, 1).await.unwrap();
    assert_eq!(stage.fixture.state(seq).await, State::Held);
}

#[tokio::test]
async fn whatever_is_changed_of_what_a_passkey_signed_is_found() {
    for (sql, found) in [
        ("UPDATE approvals SET session = zeroblob(16)", "Exchanged"),
        ("UPDATE approvals SET signature = zeroblob(90)", "Exchanged"),
        ("UPDATE approvals SET signature = zeroblob(64)", "Exchanged"),
        ("UPDATE approvals SET verdict = 'deny'", "Exchanged"),
        ("UPDATE approvals SET device = zeroblob(32)", "Exchanged"),
        (
            "UPDATE passkeys SET public_key = (SELECT public_key FROM passkeys WHERE name = 'laptop')",
            "KeyExchanged",
        ),
        ("UPDATE passkeys SET rp_id = 'evil.example'", "KeyExchanged"),
        ("UPDATE passkeys SET counter = 0", "SetBack"),
        ("DELETE FROM passkeys", "Stranger"),
        ("DELETE FROM audit WHERE event = 'passkey.added'", "Stranger"),
        ("UPDATE audit SET detail = replace(detail, '\"verdict\"', '') WHERE event = 'message.ready'", ""),
        ("UPDATE audit SET detail = replace(detail, '\"nonce\":\"09', '\"nonce\":\"08')", "Signature"),
        (
            "UPDATE audit SET detail = replace(detail, '\"client_data\":\"7b', '\"client_data\":\"20')",
            "Signature",
        ),
    ] {
        let mut stage = Stage::new().await;
        let seq = stage.fixture.hold("first").await;
        stage.decide(&stage.phone, seq, Approve, 5).await.unwrap();
        stage.fixture.tamper(sql).await;
        let (_, faults) = stage.faults().await;
        match found {
            "" => assert_eq!(faults, [], "{sql}"),
            _ => assert!(format!("{faults:?}").contains(found), "{sql}: {faults:?}"),
        }
    }
}

#[tokio::test]
async fn its_decision_proves_itself_with_nothing_but_a_file() {
    use crate::approval::prove::answer::{Answer, NoProof, answer};
    let mut stage = Stage::on(Terms { quorum: 2, ..Terms::default() }).await;
    let seq = stage.fixture.hold("first").await;
    stage.decide(&stage.phone, seq, Approve, 1).await.unwrap();
    stage.fixture.decide_as(7, seq, Approve, 1).await.unwrap();
    let id = stage.fixture.messages[0].clone();
    let proof = stage.fixture.outbox.store().read(move |db| answer(db, HUB, &id)).await.unwrap().unwrap();
    let whole = serde_json::to_value(&proof).unwrap();
    assert_eq!(whole["form"], 2);
    let checked =
        |value: &serde_json::Value| serde_json::from_value::<Answer>(value.clone()).unwrap().check();
    let proved = checked(&whole).unwrap();
    assert_eq!((proved.verdict, proved.devices.len(), proved.passkeys.len()), (Approve, 1, 1));
    let web = whole["decisions"].as_array().unwrap().iter().position(|one| one["by"] == "phone").unwrap();
    let another =
        |text: &str| format!("{}{}", &text[..text.len() - 1], if text.ends_with('0') { "1" } else { "0" });
    for path in [
        "device",
        "session",
        "signature",
        "signed",
        "passkey/public_key",
        "passkey/client_data",
        "passkey/authenticator_data",
        "passkey/rp_id",
    ] {
        let mut changed = whole.clone();
        let field = changed.pointer_mut(&format!("/decisions/{web}/{path}")).unwrap();
        *field = another(field.as_str().unwrap()).into();
        assert!(checked(&changed).is_err(), "{path}");
    }
    let mut changed = whole.clone();
    changed["decisions"][web]["verdict"] = "deny".into();
    assert!(checked(&changed).is_err());
    changed = whole.clone();
    changed["decisions"].as_array_mut().unwrap().remove(1 - web);
    assert_eq!(checked(&changed), Err(NoProof::Quorum(1, 2)));
    // A passkey's word is none of a device's.
    changed = whole.clone();
    changed["decisions"][web].as_object_mut().unwrap().remove("passkey");
    assert!(checked(&changed).is_err());
    registry::revoke(stage.fixture.outbox.store(), "hall", "operator").await.unwrap();
}

#[tokio::test]
async fn what_is_for_companions_no_passkey_lets_go_or_ends_and_the_other_way_round() {
    let mut stage = Stage::new().await;
    stage.fixture.by = Deciders::Companion;
    let seq = stage.fixture.hold("first").await;
    let request = stage.signed(&stage.phone, seq, Approve, 1).await.request;
    assert!(matches!(
        stage.fixture.approvals.may_be_decided_by_passkey(request),
        Err(DecisionError::Kind(Deciders::Companion))
    ));
    for (verdict, counter) in [(Approve, 1), (Deny, 2)] {
        let refused = stage.decide(&stage.phone, seq, verdict, counter).await;
        assert!(matches!(refused, Err(DecisionError::Kind(Deciders::Companion))), "{refused:?}");
    }
    assert_eq!(stage.fixture.audit("decision.rejected").await.len(), 2);
    stage.fixture.decide_as(7, seq, Approve, 1).await.unwrap();
    assert_eq!(stage.fixture.state(seq).await, State::Ready);
    stage.fixture.by = Deciders::Web;
    let seq = stage.fixture.hold("second").await;
    assert_eq!(stage.fixture.approvals.waiting().await.unwrap(), [], "no companion shows it");
    for (verdict, counter) in [(Approve, 2), (Deny, 3)] {
        let refused = stage.fixture.decide_as(7, seq, verdict, counter).await;
        assert!(matches!(refused, Err(DecisionError::Kind(Deciders::Web))), "{refused:?}");
    }
    stage.decide(&stage.phone, seq, Deny, 3).await.unwrap();
    assert_eq!(stage.fixture.state(seq).await, State::Denied);
    assert_eq!(stage.faults().await, (2, vec![]));
    // A list of kinds that was exchanged is found.
    stage.fixture.tamper("UPDATE audit SET detail = replace(detail, '\"decided_by\":\"web\"', '\"decided_by\":\"companion\"')").await;
    assert!(format!("{:?}", stage.faults().await).contains("Kind"));
}

#[tokio::test]
async fn what_takes_both_goes_with_one_of_each_and_either_may_end_it() {
    let mut stage = Stage::new().await;
    stage.fixture.by = Deciders::Both;
    let (seq, other, third) = (
        stage.fixture.hold("first").await,
        stage.fixture.hold("second").await,
        stage.fixture.hold("third").await,
    );
    for (key, approvals) in [(&stage.phone, 1), (&stage.laptop, 2)] {
        let counted = stage.decide(key, seq, Approve, 1).await.unwrap();
        assert_eq!(
            counted,
            Counted { approvals, quorum: 2, state: State::Held },
            "two passkeys are no companion"
        );
    }
    stage.fixture.decide_as(7, seq, Approve, 1).await.unwrap();
    assert_eq!(stage.fixture.state(seq).await, State::Ready);
    stage.fixture.decide_as(7, other, Approve, 2).await.unwrap();
    let counted = stage.decide(&stage.phone, other, Approve, 2).await.unwrap();
    assert_eq!(counted, Counted { approvals: 2, quorum: 2, state: State::Ready });
    stage.decide(&stage.phone, third, Deny, 3).await.unwrap();
    assert_eq!(stage.fixture.state(third).await, State::Denied);
    assert_eq!(stage.faults().await, (6, vec![]));
}
