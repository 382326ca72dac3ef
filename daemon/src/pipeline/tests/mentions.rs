//! Whom a text calls, from the call to what a person approves.

use super::*;
use crate::{
    channels::testing::contract::spellings::written,
    pipeline::tests::identities::{Fixture as Dry, rules},
};

/// A group on Signal.
const GROUP: &str = "group:Pmpi+EfPWmsxiomLe9Nx2XF9HOE483p6iKiFj65iMwI=";

/// What becomes of a text on a channel, or why nothing does.
async fn look(channel: &str, to: &str, more: Value) -> Result<String, Refusal> {
    look_by(channel, if channel == "whatsapp" { "Evolution" } else { "" }, to, more).await
}

/// The same by one of the channel's ways.
async fn look_by(channel: &str, by: &str, to: &str, more: Value) -> Result<String, Refusal> {
    let is_it = |name: &str| name.contains(by) && !name.contains("webhook");
    let way = written().find(|way| way.channel == channel && is_it(&way.name)).unwrap();
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
        ("signal", GROUP, "aaaaaaaa-0000-4000-8000-00000000000b"),
        ("signal", GROUP, "+4915112345679"),
        ("teams", "19:abc@thread.tacv2", "29:1abc-_0"),
        ("teams", "19:abc@thread.tacv2", "ann.lee@example.org"),
        ("whatsapp", "120363012345678901@g.us", "4915112345679"),
        ("whatsapp", "120363012345678901@g.us", "175105850253361@lid"),
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
        ("signal", GROUP, GROUP),
        ("signal", GROUP, "u:anna.01"),
        ("signal", GROUP, "42"),
        ("teams", "19:abc@thread.tacv2", "19:abc@thread.tacv2"),
        ("teams", "19:abc@thread.tacv2", "28:app-1"),
        ("teams", "19:abc@thread.tacv2", "everyone"),
        ("whatsapp", "120363012345678901@g.us", "120363012345678901@g.us"),
        ("whatsapp", "120363012345678901@g.us", "US.1349"),
    ] {
        let text = json!({"message": format!("[Ann](mention:{id})")});
        let refusal = look(channel, to, text).await.unwrap_err();
        assert_eq!(refusal.reason, Some("bad_mention"), "{channel}: {id}: {refusal:?}");
    }
    for (channel, by, to) in
        [("imessage", "", "+4915112345678"), ("whatsapp", "the Cloud API", "+4915112345678")]
    {
        let text = json!({"message": "[Ann](mention:+4915112345679)"});
        let refusal = look_by(channel, by, to, text).await.unwrap_err();
        assert_eq!(
            (refusal.reason, refusal.error),
            (Some("not_supported"), format!("{channel} has no mentions"))
        );
    }
    // What cannot notify anybody where it goes.
    for (channel, to, text, why) in [
        ("whatsapp", "+4915112345678", "[Ann](mention:+4915112345679)", "in groups alone"),
        (
            "teams",
            "19:abc@thread.tacv2",
            "[Ann](mention:29:1) [Ann](mention:29:2)",
            "two people are called Ann",
        ),
    ] {
        let refusal = look(channel, to, json!({"message": text})).await.unwrap_err();
        assert!(refusal.error.contains(why), "{refusal:?}");
    }
    // Of two ways the one that has mentions is taken, and what it lacks beside them is not left out.
    let group = "120363012345678901@g.us";
    let call = json!({"message": "[Ann](mention:+4915112345679)?"});
    let sent = look_by("whatsapp", "both", group, call.clone()).await.unwrap();
    assert!(sent.contains(r#""mentioned":["4915112345679@s.whatsapp.net"]"#), "{sent}");
    let mut call = call;
    call["buttons"] = json!([[{"text": "Yes", "callback_data": "y"}]]);
    let refusal = look_by("whatsapp", "both", group, call).await.unwrap_err();
    assert!(refusal.error.contains("buttons go by the Cloud API"), "{refusal:?}");
    let many: String = (1..=11).map(|id| format!("[A](mention:{id}) ")).collect();
    let refusal = look("telegram", "-1001234567890", json!({"message": many})).await.unwrap_err();
    assert_eq!(refusal.reason, Some("over_the_bound"), "{refusal:?}");
    let caption = json!([{"base64": "aGk=", "name": "a.txt", "caption": "[Ann](mention:everyone)"}]);
    let refusal = look("slack", "C012AB3CD", json!({"message": "x", "attachments": caption})).await;
    assert_eq!(refusal.unwrap_err().reason, Some("bad_mention"));
}
