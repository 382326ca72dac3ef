//! However an identity is written, it is judged, queued and recognised as one; what nobody can identify is held.
//!
//! With identities and spellings that are made for each way of each channel, all pairs of them, through the pipeline. Inputs are
//! the same in every run.

use proptest::{
    strategy::{Strategy, ValueTree as _},
    test_runner::TestRunner,
};

use super::{
    identities::{pipeline, rules, to},
    *,
};
use crate::{
    channels::contract::spellings::{Written, disguise, written},
    delivery::dry_run::DryRun,
    message::refusal::Refusal,
};

/// Identities, or addresses, for each way.
const CASES: usize = 12;
/// Forms of one identity that are compared, each with each.
const FORMS: usize = 5;

/// The hub of one case, with other rules for each question.
struct Hub {
    outbox: Outbox,
    channel: &'static str,
    account: Arc<dyn Adapter>,
    _directory: tempfile::TempDir,
}

impl Hub {
    fn of(written: &Written) -> Self {
        let directory = tempfile::tempdir().unwrap();
        crate::hub::install_tls_provider();
        let outbox =
            Outbox::new(Store::open(directory.path()).unwrap()).deduplicating(Duration::from_secs(30));
        Self { outbox, channel: written.channel, account: written.account.clone(), _directory: directory }
    }

    fn with(&self, allow: &str, hold: Option<&str>) -> Pipeline {
        let entry = |address: &str| format!("{}:{address}", self.channel);
        let hold: Vec<String> = hold.into_iter().map(entry).collect();
        let hold: Vec<&str> = hold.iter().map(String::as_str).collect();
        pipeline(
            self.outbox.clone(),
            self.channel,
            self.account.clone(),
            rules(&[&entry(allow)], &hold, Crossing::Allow),
        )
    }

    fn call(&self, address: &str) -> Call {
        Call::parse(&to(self.channel, address), &crate::channels::registry::NAMES).unwrap()
    }

    async fn look(&self, pipeline: &Pipeline, address: &str) -> Result<DryRun, Refusal> {
        let call = to(self.channel, address);
        match Call::parse(&call, &crate::channels::registry::NAMES) {
            Ok(call) => pipeline.dry_run("a", call).await,
            Err(refusal) => Err(refusal),
        }
    }
}

fn made<S: Strategy>(runner: &mut TestRunner, strategy: &S) -> S::Value {
    strategy.new_tree(runner).unwrap().current()
}

#[tokio::test]
async fn any_two_spellings_of_one_identity_have_one_verdict_one_lane_and_are_one_message() {
    let mut runner = TestRunner::deterministic();
    let mut pairs = 0;
    for way in written() {
        let hub = Hub::of(&way);
        for _ in 0..CASES {
            let spelt = made(&mut runner, &way.spelt);
            let picked = |forms: &[String], runner: &mut TestRunner| {
                let most = forms.len().min(FORMS);
                made(runner, &proptest::sample::subsequence(forms.to_vec(), most))
            };
            let (same, held) = (picked(&spelt.same, &mut runner), picked(&spelt.held, &mut runner));
            let open = hub.with("*", None);
            let first = open.submit("a", hub.call(&same[0]), Idempotency::NONE).await.unwrap();
            for one in &same {
                let again = open.submit("a", hub.call(one), Idempotency::NONE).await;
                let again = again.unwrap_or_else(|refusal| panic!("{}: {one}: {refusal}", way.name));
                let found = (&again.id, again.deduplicated, &again.to);
                assert_eq!(found, (&first.id, true, &first.to), "{}: {} and {one}", way.name, same[0]);
                for other in &same {
                    pairs += 1;
                    let looked = hub.look(&hub.with("*", Some(one)), other).await.unwrap();
                    assert_eq!(looked.verdict, "hold", "{}: {one} does not hold {other}", way.name);
                    let looked = hub.look(&hub.with(one, None), other).await.unwrap();
                    assert_eq!(looked.verdict, "allow", "{}: {one} does not allow {other}", way.name);
                }
                for other in &held {
                    pairs += 2;
                    for (entry, address) in [(one, other), (other, one)] {
                        let looked = hub.look(&hub.with("*", Some(entry)), address).await.unwrap();
                        assert_eq!(looked.verdict, "hold", "{}: {entry} does not hold {address}", way.name);
                        if let Ok(looked) = hub.look(&hub.with(entry, None), address).await {
                            assert_eq!(looked.verdict, "deny", "{}: {entry} allows {address}", way.name);
                        }
                    }
                }
            }
        }
    }
    assert!(pairs > 2_000, "{pairs} pairs");
}

#[tokio::test]
async fn whom_nobody_can_identify_is_held_where_an_entry_holds_anybody_and_allowed_by_no_other() {
    let mut runner = TestRunner::deterministic();
    let mut seen = 0;
    for way in written() {
        let Some(unknown) = &way.unknown else { continue };
        let hub = Hub::of(&way);
        for _ in 0..CASES {
            let somebody = made(&mut runner, &way.spelt).same.remove(0);
            let address = made(&mut runner, unknown);
            match hub.look(&hub.with("*", Some(&somebody)), &address).await {
                Ok(looked) => assert_eq!(looked.verdict, "hold", "{}: {address}", way.name),
                Err(refusal) => {
                    assert_eq!(refusal.reason, Some("no_identity"), "{}: {address}: {refusal}", way.name)
                }
            }
            if let Ok(looked) = hub.look(&hub.with(&somebody, None), &address).await {
                assert_eq!(looked.verdict, "deny", "{}: {somebody} allows {address}", way.name);
            }
            seen += 1;
        }
    }
    assert!(seen >= 8 * CASES, "{seen} addresses");
}

#[tokio::test]
async fn a_disguised_address_is_refused_or_held_with_the_one_that_it_hides() {
    let mut runner = TestRunner::deterministic();
    for way in written() {
        let hub = Hub::of(&way);
        for _ in 0..4 * CASES {
            let held = made(&mut runner, &way.spelt).same.remove(0);
            let disguised = made(&mut runner, &disguise()).of(&held);
            let looked = hub.look(&hub.with("*", Some(&held)), &disguised).await;
            if let Ok(looked) = looked {
                assert_eq!(looked.verdict, "hold", "{}: {disguised} with a hold on {held}", way.name);
            }
        }
    }
}
