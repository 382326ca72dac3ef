//! Two addresses of one person or place are one to everything that judges, queues or recognises a message.

mod later;
mod named;

use std::{collections::BTreeMap, sync::Arc};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{
    admission::dry_run::DryRun,
    agents::{self, Role},
    channels::{
        identity::Spelling,
        testing::contract::identities::{Pair, pairs, unidentified},
    },
    sessions::{self, Inbound},
};

/// A pipeline with one account, for an agent with these lists. Nothing is dispatched.
pub(super) struct Fixture {
    pub(super) pipeline: Pipeline,
    pub(super) _directory: tempfile::TempDir,
}

pub(super) fn list(entries: &[&str]) -> Allowlist {
    Allowlist::parse(entries.iter().map(|entry| (*entry).to_owned())).unwrap()
}

pub(super) fn rules(allow: &[&str], hold: &[&str], cross_context: CrossContext) -> AgentRules {
    AgentRules {
        rights: Rights { allow: list(allow), hold: list(hold), cross_context, ..Rights::default() },
        ..AgentRules::default()
    }
}

impl Fixture {
    pub(super) fn with(channel: &str, account: Arc<dyn Adapter>, rules: AgentRules) -> Self {
        let directory = tempfile::tempdir().unwrap();
        crate::hub::install_tls_provider();
        let outbox =
            Outbox::new(Store::open(directory.path()).unwrap()).deduplicating(Duration::from_secs(30));
        Self { pipeline: pipeline(outbox, channel, account, rules), _directory: directory }
    }

    pub(super) async fn look(&self, call: &Value) -> Result<DryRun, Refusal> {
        self.pipeline.dry_run("a", Call::parse(call, &crate::channels::registry::NAMES).unwrap()).await
    }

    pub(super) async fn submit(&self, call: &Value) -> Result<Receipt, Refusal> {
        let call = Call::parse(call, &crate::channels::registry::NAMES).unwrap();
        self.pipeline.submit("a", call, Idempotency::NONE).await
    }
}

pub(super) fn pipeline(
    outbox: Outbox,
    channel: &str,
    account: Arc<dyn Adapter>,
    rules: AgentRules,
) -> Pipeline {
    let mut accounts = Accounts::default();
    accounts.add((channel, "home"), account, OnUnknown::default(), Fingerprint::default());
    pipeline_of(outbox, accounts, rules)
}

pub(super) fn pipeline_of(outbox: Outbox, accounts: Accounts, mut rules: AgentRules) -> Pipeline {
    rules.rights.allow = crate::hub::spelt(rules.rights.allow, &accounts).unwrap();
    rules.rights.hold = crate::hub::held(crate::hub::spelt(rules.rights.hold, &accounts).unwrap(), &accounts);
    Pipeline::new(shared(outbox, accounts, BTreeMap::from([("a".to_owned(), rules)])))
}

pub(super) fn to(channel: &str, address: &str) -> Value {
    json!({"to": format!("{channel}:{address}"), "message": "Hello"})
}

/// For each pair of addresses that are one, with an account of its own whose platform answers once.
async fn for_each_pair(check: impl AsyncFn(Pair)) {
    let mut seen = 0;
    for pair in pairs() {
        seen += 1;
        check(pair).await;
    }
    assert!(seen > 30, "{seen} pairs");
}

/// Whether an address is a name, which may be another's tomorrow. Then no list takes it.
fn is_in_no_list(channel: &str, address: &str, account: &Arc<dyn Adapter>) -> bool {
    if !account.is_name(&account.resolve(address).unwrap()) {
        return false;
    }
    let mut accounts = Accounts::default();
    accounts.add((channel, "home"), account.clone(), OnUnknown::default(), Fingerprint::default());
    let (entry, why) = crate::hub::spelt(list(&[&format!("{channel}:{address}")]), &accounts).unwrap_err();
    assert!(entry.starts_with(channel) && why.ends_with("write the id"), "{entry}: {why}");
    true
}

#[tokio::test]
async fn a_hold_on_one_address_holds_every_other_address_of_the_same_person() {
    for_each_pair(async |Pair { channel, addresses: [one, other], account, .. }| {
        if is_in_no_list(channel, other, &account) {
            return;
        }
        let (any, held) = (format!("{channel}:*"), format!("{channel}:{other}"));
        let fixture = Fixture::with(channel, account, rules(&[&any], &[&held], CrossContext::Allow));
        let looked = fixture.look(&to(channel, one)).await.unwrap();
        assert_eq!(looked.verdict, "hold", "{held} does not hold {one}: {looked:?}");
    })
    .await;
}

#[tokio::test]
async fn what_is_allowed_by_one_address_is_allowed_by_every_other_and_nothing_else_is() {
    for_each_pair(async |Pair { channel, addresses: [one, other], account, .. }| {
        if is_in_no_list(channel, other, &account) {
            return;
        }
        let allowed = format!("{channel}:{other}");
        let fixture = Fixture::with(channel, account, rules(&[&allowed], &[], CrossContext::Allow));
        let looked = fixture.look(&to(channel, one)).await.unwrap();
        assert_eq!(looked.verdict, "allow", "{allowed} does not allow {one}: {looked:?}");
    })
    .await;
}

#[tokio::test]
async fn two_addresses_of_one_person_have_one_lane_and_the_same_message_to_both_is_one() {
    for_each_pair(async |Pair { channel, identity, addresses: [one, other], account, stage }| {
        let any = format!("{channel}:*");
        let fixture = Fixture::with(channel, account, rules(&[&any], &[], CrossContext::Allow));
        let first = fixture.submit(&to(channel, one)).await.unwrap();
        let second = fixture.submit(&to(channel, other)).await.unwrap();
        assert_eq!(first.to, format!("{channel}:{identity}"), "{one}");
        assert_eq!((second.id, second.deduplicated), (first.id, true), "{one} and {other}");
        // The platform was asked once for each address, and the answer kept.
        let asked = stage.heard().len();
        fixture.look(&to(channel, one)).await.unwrap();
        fixture.look(&to(channel, other)).await.unwrap();
        assert_eq!(stage.heard().len(), asked);
    })
    .await;
}

#[tokio::test]
async fn the_own_conversation_is_known_by_every_address_of_it() {
    for_each_pair(async |Pair { channel, addresses: [one, other], account, .. }| {
        let any = format!("{channel}:*");
        let fixture = Fixture::with(channel, account, rules(&[&any], &[], CrossContext::Deny));
        let (_, adapter) = fixture.pipeline.accounts().pick(channel, None).unwrap();
        let inbound = Inbound {
            agent: "a".into(),
            channel: channel.into(),
            account: "home".into(),
            // As a hub of before had it.
            peer: adapter.resolve(one).unwrap(),
            thread: None,
            session: "main".into(),
            sender: None,
            platform_id: None,
            text: "Hello?".into(),
        };
        let store = fixture.pipeline.outbox().store();
        let context = sessions::receive(store, inbound, i64::MAX, "bridge:b").await.unwrap().context;
        let mut call = to(channel, other);
        call["context"] = json!(context);
        let looked = fixture.look(&call).await.unwrap();
        assert_eq!(looked.verdict, "allow", "{other} is not where {one} wrote from: {looked:?}");
    })
    .await;
}

#[tokio::test]
async fn while_a_platform_is_away_whom_nobody_can_identify_is_held_where_an_entry_holds_anybody() {
    let mut seen = 0;
    for (channel, address, account, _stage) in unidentified() {
        seen += 1;
        let (any, somebody) = (format!("{channel}:*"), holdable(channel));
        let fixture =
            Fixture::with(channel, account.clone(), rules(&[&any], &[&somebody], CrossContext::Allow));
        match fixture.look(&to(channel, address)).await {
            Ok(looked) => assert_eq!(looked.verdict, "hold", "{address}: {looked:?}"),
            // What only stands for an address leads nowhere.
            Err(refusal) => assert_eq!(refusal.reason, Some("no_identity"), "{address}: {refusal}"),
        }
        let fixture = Fixture::with(channel, account, rules(&[&somebody], &[], CrossContext::Allow));
        match fixture.look(&to(channel, address)).await {
            Ok(looked) => assert_eq!(looked.verdict, "deny", "{address}: {looked:?}"),
            Err(refusal) => assert_eq!(refusal.reason, Some("no_identity"), "{address}: {refusal}"),
        }
    }
    assert!(seen >= 6, "{seen} addresses");
}

/// Somebody else on this channel, who is known by the spelling.
fn holdable(channel: &str) -> String {
    let address = match channel {
        "matrix" => "!other:hub.test",
        "telegram" => "-1009999999999",
        "discord" => "@99",
        "slack" => "U0999999999",
        "googlechat" => "spaces/OTHER",
        "signal" => "cccccccc-0000-4000-8000-00000000000c",
        other => panic!("name somebody on {other}"),
    };
    format!("{channel}:{address}")
}

#[tokio::test]
async fn an_entry_that_nobody_can_identify_holds_everybody_on_its_channel() {
    for (channel, address, account, _stage) in unidentified() {
        let (any, held, somebody) =
            (format!("{channel}:*"), format!("{channel}:{address}"), holdable(channel));
        if is_in_no_list(channel, address, &account) {
            continue;
        }
        let fixture = Fixture::with(channel, account, rules(&[&any], &[&held], CrossContext::Allow));
        let (_, other) = somebody.split_once(':').unwrap();
        let looked = fixture.look(&to(channel, other)).await.unwrap();
        assert_eq!(looked.verdict, "hold", "{held} is nobody, and {somebody} may be it: {looked:?}");
    }
}

#[tokio::test]
async fn whose_address_it_is_is_asked_once_a_day_and_an_older_answer_allows_nothing() {
    let mut asked = pairs().filter(|pair| pair.channel == "slack" && pair.addresses[0].starts_with('D'));
    let Pair { addresses: [one, other], account, stage, .. } = asked.next().unwrap();
    let allowed = format!("slack:{other}");
    let fixture = Fixture::with("slack", account, rules(&[&allowed], &[], CrossContext::Allow));
    let verdict = async || fixture.look(&to("slack", one)).await.unwrap().verdict;
    assert_eq!(verdict().await, "allow");
    let age = async |hours: i64| {
        let sql = "UPDATE identities SET asked_at = asked_at - ?";
        let aged = fixture.pipeline.outbox().store().write(move |tx| {
            tx.execute(sql, [hours * 3_600_000])?;
            Ok::<_, crate::store::StoreError>(())
        });
        aged.await.unwrap();
    };
    // The script is over: the platform refuses to answer, and what it said half a day ago stands.
    age(13).await;
    assert_eq!((verdict().await, stage.heard().len()), ("allow", 1));
    age(13).await;
    assert_eq!(verdict().await, "deny");
    // It goes on in the order of that person's messages, and is shown as not known.
    let any = rules(&["slack:*"], &["slack:U0999999999"], CrossContext::Allow);
    let (_, account) = fixture.pipeline.accounts().pick("slack", None).unwrap();
    let outbox = fixture.pipeline.outbox().clone();
    let later = pipeline(outbox, "slack", account.clone(), any);
    let call = Call::parse(&to("slack", one), &["slack"]).unwrap();
    let held = later.submit("a", call, Idempotency::NONE).await.unwrap();
    assert_eq!((held.state, held.to), (State::Held, format!("slack:{other}")));
    assert_eq!(held.written_as.as_deref(), Some(one));
    let document = later.approvals().waiting().await.unwrap().remove(0).document;
    let document = gatepost_link::document::Document::decode(&document).unwrap();
    assert_eq!(document.address, other);
    assert!(document.options.iter().any(|line| *line == format!("written as {one}")), "{document:?}");
    assert!(document.options.iter().any(|line| line.starts_with("nobody knows whose")), "{document:?}");
}

#[tokio::test]
async fn a_broadcast_by_two_addresses_of_one_person_is_refused_and_the_same_words_to_both_are_sent_once() {
    let platform = Arc::new(Platform::default());
    let fixture = Fixture::with("local", platform, rules(&["local:*"], &[], CrossContext::Allow));
    let call = json!({"action": "broadcast", "targets": ["local:ann", "local:also-ann"], "message": "x"});
    let calls = Call::parse_all(&call, &["local"]).unwrap();
    let refusal = fixture.pipeline.refuse_twice("a", &calls).await.unwrap_err();
    assert!(refusal.error.contains("also-ann"), "{refusal}");
    let one = fixture.submit(&to("local", "ann")).await.unwrap();
    let same = fixture.submit(&to("local", "also-ann")).await.unwrap();
    assert_eq!((one.id, true), (same.id, same.deduplicated));
}

proptest! {
    /// However a number is written, it is one identity on each of the channels that know people by numbers.
    #[test]
    fn a_number_is_one_identity_however_it_is_written(
        country in prop::sample::select(vec!["49", "1", "52", "54", "55", "44"]),
        digits in "[1-9][0-9]{9}",
        cuts in prop::collection::vec((1usize..10, prop::sample::select(vec![" ", "-", " (", ") "])), 0..4),
    ) {
        let plain = format!("+{country}{digits}");
        let mut written = plain.clone();
        for (at, sign) in cuts {
            written.insert_str(at + 1, sign);
        }
        // That 0 stands for one that is dialled within a country: such a spelling is no number.
        prop_assume!(!written.replace([' ', '-'], "").contains("(0)"));
        for (channel, account) in numbered() {
            let who = |address: &str| adapter_says(account.as_ref(), address);
            prop_assert_eq!(who(&plain), who(&written), "{} {} {}", channel, plain, written);
        }
    }
}

/// Accounts on the channels that know people by numbers.
fn numbered() -> impl Iterator<Item = (&'static str, Arc<dyn Adapter>)> {
    static ACCOUNTS: std::sync::LazyLock<Vec<(&'static str, Arc<dyn Adapter>)>> =
        std::sync::LazyLock::new(|| {
            let mut found: Vec<(&'static str, Arc<dyn Adapter>)> = Vec::new();
            for Pair { channel, account, .. } in pairs() {
                let numbers = ["signal", "whatsapp", "imessage"].contains(&channel);
                if numbers && !found.iter().any(|(known, _)| *known == channel) {
                    found.push((channel, account));
                }
            }
            found
        });
    ACCOUNTS.iter().cloned()
}

fn adapter_says(account: &dyn Adapter, address: &str) -> (String, Spelling) {
    let spelt = account.resolve(address).unwrap();
    let spelling = account.identity(&spelt);
    match &spelling {
        Spelling::Known(_) => (String::new(), spelling),
        // One question.
        Spelling::Ask | Spelling::LookUp => (spelt, spelling),
    }
}
