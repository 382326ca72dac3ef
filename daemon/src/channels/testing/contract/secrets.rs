//! Secrets: what is refused is said so, what is replaced is used without a restart, and none is in an error.

use super::{
    Age, Case, NEEDLE,
    deliveries::{assert_ends, scenes},
    stage::{Script, Stage},
};
use crate::channels::testing::sample::AsJson as _;
use crate::channels::{
    Failure,
    testing::sample::{key, outgoing, part},
};

#[tokio::test]
async fn a_secret_that_is_refused_is_named_and_not_shown() {
    for (contract, script, ends) in scenes(Case::Refused) {
        let stage = Stage::set(script);
        let adapter = stage.open(contract);
        let part = part("Hello");
        let ended = adapter.delivered(&adapter.composed(&outgoing(contract.address, &part)), &key()).await;
        assert_ends(&contract.name(), &ended, ends);
    }
}

#[tokio::test]
async fn a_secret_that_was_replaced_is_read_when_the_old_one_is_refused() {
    for (contract, script, ends) in scenes(Case::Replaced) {
        let name = contract.name();
        let stage = Stage::set(script);
        let adapter = stage.open(contract);
        let part = part("Hello");
        let request = adapter.composed(&outgoing(contract.address, &part));
        stage.write_secret(contract, Age::New);
        let refused = adapter.delivered(&request, &key()).await;
        assert!(matches!(refused, Err(Failure::Retry(_))), "{name}: {refused:?}");
        assert!(!format!("{refused:?}").contains(NEEDLE), "{name}: {refused:?}");
        assert_ends(&name, &adapter.delivered(&request, &key()).await, ends);
    }
}

#[tokio::test]
async fn readiness_says_as_whom_or_why_not() {
    for (contract, script, ends) in scenes(Case::Ready).chain(scenes(Case::NotReady)) {
        let stage = Stage::set(script);
        let said = stage.open(contract).check_ready().await.map_err(|not| Failure::Permanent(not.0));
        assert!(said.as_ref().is_ok_and(|said| !said.is_empty()) || said.is_err(), "{}", contract.name());
        assert_ends(&contract.name(), &said, ends);
    }
    for contract in super::all().filter(|contract| contract.secret.is_some()) {
        let stage = Stage::set(Script::Nobody);
        if let Err(why) = stage.open(contract).check_ready().await {
            assert!(!why.0.contains(NEEDLE), "{}: {why}", contract.name());
        }
    }
}
