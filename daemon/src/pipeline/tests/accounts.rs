//! Several accounts of one channel that take different addresses: a list counts for all of them, and none is a way around it.

use super::{
    identities::{Fixture, pipeline_of, rules},
    *,
};
use crate::channels::testing::contract;

/// Two accounts of one channel, by the names that are given to their ways.
fn with_both(ways: [(&str, &Arc<dyn Adapter>); 2], channel: &str, rules: AgentRules) -> Fixture {
    let directory = tempfile::tempdir().unwrap();
    crate::hub::install_tls_provider();
    let mut accounts = Accounts::default();
    for (name, adapter) in ways {
        accounts.add((channel, name), adapter.clone(), OnUnknown::default(), Fingerprint::default());
    }
    let outbox = Outbox::new(Store::open(directory.path()).unwrap());
    Fixture { pipeline: pipeline_of(outbox, accounts, rules), _directory: directory }
}

fn from(account: &str, to: &str) -> Value {
    json!({"to": to, "accountId": account, "message": "Hello"})
}

#[tokio::test]
async fn an_entry_counts_that_any_account_of_its_channel_takes() {
    let ways: Vec<_> = contract::accounts().collect();
    let channel = |name: &str| name.split(' ').next().unwrap_or_default().to_owned();
    let mut pairs = 0;
    for (name, address, one) in &ways {
        let channel_of_it = channel(name);
        let others = ways.iter().filter(|(other, ..)| other != name && channel(other) == channel_of_it);
        for (other_name, _, other) in others {
            pairs += 1;
            let entry = format!("{channel_of_it}:{address}");
            for names in [["a", "b"], ["b", "a"]] {
                let both = [(names[0], one), (names[1], other)];
                let fixture = with_both(both, &channel_of_it, rules(&[&entry], &[], CrossContext::Allow));
                let looked = fixture.look(&from(names[0], &entry)).await.unwrap();
                assert_eq!(looked.verdict, "allow", "{name} beside {other_name}");
                let any = format!("{channel_of_it}:*");
                let fixture = with_both(both, &channel_of_it, rules(&[&any], &[&entry], CrossContext::Allow));
                // By every account that takes it.
                for account in names {
                    match fixture.look(&from(account, &entry)).await {
                        Ok(looked) => assert_eq!(looked.verdict, "hold", "{name} beside {other_name}"),
                        Err(refusal) => assert_eq!(refusal.reason, Some("bad_address"), "{refusal}"),
                    }
                }
            }
        }
    }
    assert!(pairs > 4, "{pairs} pairs");
}

#[tokio::test]
async fn a_workflow_posts_nobody_knows_where_so_it_evades_no_hold_and_none_on_it_is_evaded() {
    let of = |name: &str| contract::accounts().find(|(other, ..)| other == name).unwrap().2;
    let (workflow, bot) = (of("teams by a workflow"), of("teams by a bot"));
    let both = [("alerts", &workflow), ("work", &bot)];
    let (place, posted) = ("teams:19:abc@thread.tacv2", "teams:webhook");
    for (held, account, to, verdict) in [
        (place, "alerts", posted, "hold"),
        (posted, "work", place, "hold"),
        (posted, "alerts", posted, "hold"),
        (place, "work", place, "hold"),
        (place, "work", "teams:19:other@thread.tacv2", "allow"),
    ] {
        let fixture = with_both(both, "teams", rules(&["teams:*"], &[held], CrossContext::Allow));
        let looked = fixture.look(&from(account, to)).await.unwrap();
        assert_eq!(looked.verdict, verdict, "{held} under hold, to {to}");
    }
    // What is allowed by one name is not by the other.
    let fixture = with_both(both, "teams", rules(&[place], &[], CrossContext::Allow));
    assert_eq!(fixture.look(&from("alerts", posted)).await.unwrap().verdict, "deny");
}
