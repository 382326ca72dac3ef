//! A message that a request names is of the conversation that the request names, or the hub must prove that it is.
//!
//! Each channel says how its platform looks for a message. What it says is held against its own requests: who says that a
//! message is looked for in one conversation alone names that conversation in every request, and the thread, if it is looked
//! for in the thread.

use serde_json::Value;

use super::{
    Case, Contract, Ends, Scene, all,
    claims::{nowhere, operations},
    stage::Stage,
};
use crate::channels::testing::sample::AsJson as _;
use crate::channels::{
    Adapter, IdScope, Located, OperationRequest, OutgoingPart,
    testing::sample::{op, outgoing, part},
};

const THREAD: &str = "1700000000123456789";

/// Every request of a channel that names its message, if it has any.
fn requests(contract: &Contract, adapter: &dyn Adapter, thread: Option<&str>) -> Vec<Value> {
    let (can, text) = (adapter.capabilities(), part("New"));
    let answered =
        OutgoingPart { reply_to: Some(contract.message), thread, ..outgoing(contract.address, &text) };
    let mut requests: Vec<Value> = can.replies.then(|| adapter.composed(&answered)).into_iter().collect();
    for operation in operations(contract)
        .iter()
        .filter(|operation| operation.message().is_some() && can.does(operation.action()))
    {
        requests.extend(adapter.composed_operation(&OperationRequest {
            thread,
            ..op(contract.address, operation, Some(&text))
        }));
    }
    requests
}

#[test]
fn who_looks_for_a_message_in_one_conversation_names_that_in_every_request() {
    let mut held = 0;
    for contract in all() {
        let adapter = nowhere(contract);
        // Adapters that know what a thread's id looks like refuse all others.
        let thread = match contract.channel {
            "email" => "<1700000000123456789@hub.test>",
            "slack" => "1700000000.000100",
            _ => THREAD,
        };
        let thread = adapter.capabilities().threads.then_some(thread);
        let scope = adapter.scope(contract.message);
        for request in requests(contract, adapter.as_ref(), thread) {
            let what = format!("{} looks in {scope:?}: {request}", contract.name());
            let names = |what: &str| request.to_string().contains(what);
            match scope {
                IdScope::Account => continue,
                IdScope::Conversation => assert!(names(contract.address), "{what}"),
                IdScope::Thread => assert!(names(contract.address) && names(THREAD), "{what}"),
            }
            held += 1;
        }
    }
    assert!(held > 20, "{held} requests");
}

/// A channel whose ids lead anywhere, and that cannot be asked, says so: there only what the hub sent or heard can be named.
#[tokio::test]
async fn a_platform_that_can_be_asked_says_where_a_message_is_and_where_it_is_not() {
    for contract in all() {
        for case in [Case::Located, Case::Missing] {
            let what = format!("{}, {case:?}", contract.name());
            let (script, ends) = match (contract.scene)(case) {
                Scene::Plays(script, ends) => (script, ends),
                Scene::Never(why) => {
                    let told = nowhere(contract).locate(contract.address, contract.message).await;
                    assert_eq!(told, Ok(Located::Unknown), "{what}: {why}");
                    continue;
                }
            };
            let adapter = Stage::set(script).open(contract);
            let told = adapter.locate(contract.address, contract.message).await;
            let expected = match (case, ends) {
                (Case::Located, Ends::Sent("")) => Located::Here { thread: None },
                (Case::Located, Ends::Sent(thread)) => Located::Here { thread: Some(thread.into()) },
                (Case::Missing, _) => Located::Elsewhere,
                (_, ends) => panic!("{what}: {ends:?}"),
            };
            assert_eq!(told, Ok(expected), "{what}");
        }
    }
}

/// A platform that is away says nothing about where a message is.
#[tokio::test]
async fn who_cannot_be_asked_now_says_neither() {
    for contract in all() {
        let told = nowhere(contract).locate(contract.address, contract.message).await;
        assert!(matches!(told, Err(_) | Ok(Located::Unknown)), "{}: {told:?}", contract.name());
    }
}

#[test]
fn what_was_sent_is_found_under_the_name_that_its_receipt_has() {
    for contract in all() {
        let names = nowhere(contract).recorded_as(contract.address, contract.message);
        let same = |name: &String| name.ends_with(contract.message);
        assert!(names.iter().any(same), "{}: {names:?}", contract.name());
    }
}
