//! What answers in its own conversation: it is said at once, whatever waits for approval, and answers only what is there.

use super::{
    identities::{Fixture, rules, to},
    *,
};
use crate::{
    channels::testing::contract,
    sessions::{self, Inbound},
};

fn account(channel: &str) -> Arc<dyn Adapter> {
    contract::accounts().find(|(name, ..)| name == channel).unwrap().2
}

/// The context of a turn in `kitchen`, which this message began.
async fn turn(fixture: &Fixture, channel: &str, platform_id: Option<&str>) -> String {
    let inbound = Inbound {
        agent: "a".into(),
        channel: channel.into(),
        account: "home".into(),
        peer: "kitchen".into(),
        thread: None,
        session: "main".into(),
        sender: None,
        platform_id: platform_id.map(Into::into),
        text: "Is the oven on?".into(),
    };
    let store = fixture.pipeline.outbox().store();
    sessions::receive(store, inbound, i64::MAX, "bridge:b").await.unwrap().context
}

#[tokio::test]
async fn a_reply_is_not_swallowed_by_the_same_words_that_wait_for_approval() {
    let fixture = Fixture::with("local", account("local"), rules(&["local:*"], &[], CrossContext::Hold));
    let held = fixture.submit(&to("local", "kitchen")).await.unwrap();
    assert_eq!(held.state, State::Held);
    let mut reply = to("local", "kitchen");
    reply["context"] = json!(turn(&fixture, "local", None).await);
    let is = |receipt: &Receipt| (receipt.id.clone(), receipt.state, receipt.deduplicated);
    let said = fixture.submit(&reply).await.unwrap();
    assert_eq!((said.state, said.deduplicated), (State::Ready, false));
    // Each of the two again is what it was.
    let again = fixture.submit(&reply).await.unwrap();
    assert_eq!(is(&again), (said.id, State::Ready, true));
    let again = fixture.submit(&to("local", "kitchen")).await.unwrap();
    assert_eq!(is(&again), (held.id, State::Held, true));
}

#[tokio::test]
async fn a_webhook_answers_only_what_the_hub_knows_to_be_in_the_conversation() {
    let fixture =
        Fixture::with("webhook", account("webhook"), rules(&["webhook:*"], &[], CrossContext::Allow));
    let context = turn(&fixture, "webhook", Some("m7")).await;
    let answer = |place: &str, message: &str| {
        let mut call = to("webhook", place);
        call["replyTo"] = json!(message);
        call["context"] = json!(context);
        call
    };
    assert_eq!(fixture.look(&answer("kitchen", "m7")).await.unwrap().verdict, "allow");
    for (place, message) in [("kitchen", "m8"), ("cellar", "m7")] {
        let refused = fixture.look(&answer(place, message)).await.unwrap_err();
        assert_eq!(refused.reason, Some("message_elsewhere"), "{message} in {place}");
        let refused = fixture.submit(&answer(place, message)).await.unwrap_err();
        assert_eq!(refused.reason, Some("message_elsewhere"), "{message} in {place}");
    }
}
