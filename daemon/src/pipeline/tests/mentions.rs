//! Whom a text calls, from the call to what a person approves.

use super::*;
use crate::{
    channels::testing::contract::spellings::written,
    pipeline::tests::identities::{Fixture as Dry, rules},
};

/// What becomes of a text on a channel, or why nothing does.
async fn look(channel: &str, to: &str, more: Value) -> Result<String, Refusal> {
    let way = written().find(|way| way.channel == channel && !way.name.contains("webhook")).unwrap();
    let any = format!("{channel}:*");
    let dry = Dry::with(channel, way.account, rules(&[&any], &[], CrossContext::Allow));
    let mut call = json!({"to": format!("{channel}:{to}")});
    call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let looked = dry.look(&call).await?;
    assert!(looked.ok, "{looked:?}");
    Ok(looked.parts.iter().map(|part| format!("{}|{}", part.shown, part.request)).collect())
}

#[tokio::test]
async fn an_approver_reads_whom_a_text_calls_by_id() {
    for (channel, to, id) in [
        ("slack", "C012AB3CD", "U012AB3CD"),
        ("discord", "@42", "99"),
        ("matrix", "!room:hub.test", "@ann:hub.test"),
        ("telegram", "-1001234567890", "99"),
        ("googlechat", "spaces/AAAA", "users/7"),
    ] {
        let text = format!("[Ann](mention:{id}), look, @everyone");
        let seen = look(channel, to, json!({"message": text})).await.unwrap();
        let (shown, request) = seen.split_once('|').unwrap();
        assert!(shown.ends_with(&format!("\n[notifies] {id}")), "{channel}: {shown}");
        assert!(request.contains(id), "{channel}: {request}");
        let bare = look(channel, to, json!({"message": "Ann, look, @everyone"})).await.unwrap();
        assert!(!bare.contains("[notifies]"), "{channel}: {bare}");
    }
    let edit =
        json!({"action": "edit", "messageId": "1700000000.000100", "message": "[Ann](mention:U012AB3CD)?"});
    let seen = look("slack", "C012AB3CD", edit).await.unwrap();
    assert!(seen.contains("<@U012AB3CD>?\n[notifies] U012AB3CD|"), "{seen}");
    // A reference that hides the scheme is the same link.
    let seen = look("slack", "C012AB3CD", json!({"message": "[Ann](men&#116;ion:U012AB3CD)"})).await.unwrap();
    assert!(seen.contains("[notifies] U012AB3CD"), "{seen}");
}

#[tokio::test]
async fn what_names_no_person_is_refused_and_so_is_a_mention_where_there_are_none() {
    for (channel, to, id) in [
        ("slack", "C012AB3CD", "everyone"),
        ("slack", "C012AB3CD", "C012AB3CD"),
        ("slack", "C012AB3CD", "!channel"),
        ("slack", "C012AB3CD", ""),
        ("discord", "@42", "@99"),
        ("discord", "@42", "&99"),
        ("matrix", "!room:hub.test", "@room"),
        ("matrix", "!room:hub.test", "!room:hub.test"),
        ("telegram", "-1001234567890", "-1001234567890"),
        ("googlechat", "spaces/AAAA", "users/all"),
    ] {
        let text = json!({"message": format!("[Ann](mention:{id})")});
        let refusal = look(channel, to, text).await.unwrap_err();
        assert_eq!(refusal.reason, Some("bad_mention"), "{channel}: {id}: {refusal:?}");
    }
    let refusal =
        look("signal", "+4915112345678", json!({"message": "[Ann](mention:42)"})).await.unwrap_err();
    assert_eq!((refusal.reason, refusal.error.as_str()), (Some("not_supported"), "signal has no mentions"));
    let many: String = (1..=11).map(|id| format!("[A](mention:{id}) ")).collect();
    let refusal = look("telegram", "-1001234567890", json!({"message": many})).await.unwrap_err();
    assert_eq!(refusal.reason, Some("over_the_bound"), "{refusal:?}");
    let caption = json!([{"base64": "aGk=", "name": "a.txt", "caption": "[Ann](mention:everyone)"}]);
    let refusal = look("slack", "C012AB3CD", json!({"message": "x", "attachments": caption})).await;
    assert_eq!(refusal.unwrap_err().reason, Some("bad_mention"));
}
