//! However an identity is written, it is judged, queued and recognised as one; what nobody can identify is held.
//!
//! With identities and spellings that are made for each way of each channel, through the pipeline. `CASES` says how many for each;
//! what fails is made smaller, and its seed is written down.

use std::{collections::BTreeSet, fmt::Debug};

use proptest::{
    collection::vec,
    prelude::*,
    sample::Index,
    test_runner::{TestCaseError, TestRunner},
};

use super::{
    identities::{pipeline, rules, to},
    *,
};
use crate::{
    admission::dry_run::DryRun,
    channels::testing::contract::spellings::{Written, disguise, written},
    message::refusal::Refusal,
};

/// Identities, or addresses, for each way: what takes some seconds.
const CASES: u32 = 32;

/// Checks cases of one way; the name is that of the test.
fn for_all<T: Debug>(
    way: &Written,
    name: &'static str,
    cases: &impl Strategy<Value = T>,
    check: impl AsyncFn(T) -> Result<(), TestCaseError>,
) {
    let config = ProptestConfig {
        cases: std::env::var("CASES").map_or(CASES, |cases| cases.parse().unwrap()),
        source_file: Some(file!()),
        test_name: Some(name),
        ..ProptestConfig::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let checked = TestRunner::new(config).run(cases, |case| runtime.block_on(check(case)));
    if let Err(error) = checked {
        panic!("{}: {error}", way.name);
    }
}

/// The verdict on an address, or why there is none.
fn verdict(looked: &Result<DryRun, Refusal>) -> &str {
    match looked {
        Ok(looked) => looked.verdict,
        Err(refusal) => refusal.reason.unwrap_or("refused"),
    }
}

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
            rules(&[&entry(allow)], &hold, CrossContext::Allow),
        )
    }

    /// A message with this text to an address, the channel's name with these letters large.
    async fn submit(&self, address: &str, large: &[bool], text: &str) -> Result<Receipt, TestCaseError> {
        let outgoing = |(large, outgoing): (&bool, char)| match large {
            true => outgoing.to_ascii_uppercase(),
            false => outgoing,
        };
        let channel: String = large.iter().cycle().zip(self.channel.chars()).map(outgoing).collect();
        let call = json!({"to": format!("{channel}:{address}"), "message": text});
        let refused = |refusal| TestCaseError::fail(format!("{call}: {refusal}"));
        let call = Call::parse(&call, &crate::channels::registry::NAMES).map_err(refused)?;
        self.with("*", None).submit("a", call, Idempotency::NONE).await.map_err(refused)
    }

    /// The lane that a message waits in.
    async fn lane(&self, receipt: &Receipt) -> (String, String, String) {
        let (id, sql) = (receipt.id.clone(), "SELECT channel, account, address FROM messages WHERE id = ?");
        let lane = move |db: &rusqlite::Connection| {
            Ok::<_, crate::store::StoreError>(
                db.query_row(sql, [id.to_string()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?,
            )
        };
        self.outbox.store().read(lane).await.unwrap()
    }

    async fn look(&self, pipeline: &Pipeline, address: &str) -> Result<DryRun, Refusal> {
        let call = to(self.channel, address);
        match Call::parse(&call, &crate::channels::registry::NAMES) {
            Ok(call) => pipeline.dry_run("a", call).await,
            Err(refusal) => Err(refusal),
        }
    }
}

#[test]
fn any_two_spellings_of_one_identity_have_one_verdict_one_lane_and_are_one_message() {
    let mut channels = BTreeSet::new();
    for way in written() {
        channels.insert(way.channel);
        let hub = Hub::of(&way);
        let cases = (&way.spelt, any::<[Index; 4]>(), vec(any::<bool>(), 1..4));
        for_all(&way, "spellings::same", &cases, async |(spelt, [one, other, held, of], large)| {
            let (one, other) = (one.get(&spelt.same), other.get(&spelt.same));
            let first = hub.submit(one, &[false], "Hello").await?;
            let again = hub.submit(other, &large, "Hello").await?;
            prop_assert_eq!((&again.id, again.deduplicated, &again.to), (&first.id, true, &first.to));
            let another = hub.submit(other, &large, "Are you there?").await?;
            prop_assert_ne!(&another.id, &first.id);
            prop_assert_eq!(hub.lane(&another).await, hub.lane(&first).await);
            for (allow, hold, wanted) in
                [("*", None, "allow"), ("*", Some(one.as_str()), "hold"), (one.as_str(), None, "allow")]
            {
                let looked = hub.look(&hub.with(allow, hold), other).await;
                prop_assert_eq!(verdict(&looked), wanted, "allow {}, hold {:?}: {}", allow, hold, other);
            }
            if spelt.held.is_empty() {
                return Ok(());
            }
            // Whoever may be the same person is held with it, and allowed by no entry for it.
            let (held, of) = (held.get(&spelt.held), of.get(&spelt.same));
            for (entry, address) in [(of, held), (held, of)] {
                let looked = hub.look(&hub.with("*", Some(entry)), address).await;
                prop_assert_eq!(verdict(&looked), "hold", "{} does not hold {}", entry, address);
                let looked = hub.look(&hub.with(entry, None), address).await;
                prop_assert_ne!(verdict(&looked), "allow", "{} allows {}", entry, address);
                prop_assert_ne!(verdict(&looked), "hold", "{} lets {} wait", entry, address);
            }
            Ok(())
        });
    }
    let all: BTreeSet<&str> = crate::channels::registry::NAMES.iter().copied().collect();
    assert_eq!(channels, all);
}

#[test]
fn whom_nobody_can_identify_is_held_where_an_entry_holds_anybody_and_allowed_by_no_other() {
    let mut ways = 0;
    for way in written() {
        let Some(unknown) = &way.unknown else { continue };
        ways += 1;
        let hub = Hub::of(&way);
        let cases = (&way.spelt, unknown, any::<Index>());
        for_all(&way, "spellings::unknown", &cases, async |(spelt, address, of)| {
            let somebody = of.get(&spelt.same);
            let looked = hub.look(&hub.with("*", Some(somebody)), &address).await;
            prop_assert!(["hold", "no_identity"].contains(&verdict(&looked)), "{}: {:?}", address, looked);
            if let Ok(looked) = hub.look(&hub.with(somebody, None), &address).await {
                prop_assert_eq!(looked.verdict, "deny", "{} allows {}", somebody, address);
            }
            Ok(())
        });
    }
    assert!(ways >= 8, "{ways} ways");
}

#[test]
fn a_disguised_address_is_refused_or_held_with_the_one_that_it_hides() {
    for way in written() {
        let hub = Hub::of(&way);
        let cases = (&way.spelt, any::<Index>(), vec(disguise(), 4));
        for_all(&way, "spellings::disguised", &cases, async |(spelt, of, disguises)| {
            let held = of.get(&spelt.same);
            for disguised in disguises.iter().map(|disguise| disguise.of(held)) {
                if let Ok(looked) = hub.look(&hub.with("*", Some(held)), &disguised).await {
                    prop_assert_eq!(looked.verdict, "hold", "{} with a hold on {}", disguised, held);
                }
            }
            Ok(())
        });
    }
}
