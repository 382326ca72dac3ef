//! A BlueBubbles server that hands over rows of every kind, such as are and such as are none.

use anyhow::{Result, ensure};
use gatepost_tests::{
    hub::SpawnedHub,
    hub::secret,
    mocks::bluebubbles::{
        self,
        mac::{Mac, OWN},
    },
};
use serde_json::{Value, json};

use super::{
    hostile::{
        Becomes::{self, Drop, Message},
        LEFT_OUT, became, good,
    },
    killed::has_begun,
};

const ANN: &str = "+4915112345679";
const CHAT: &str = "any;-;+4915112345679";

/// What a server can hand over, the conversation in which it stands, and what becomes of it.
fn hostile() -> Vec<(&'static str, Value, Becomes)> {
    let said = |text: &str| json!({ "text": text });
    let with = |text: &str, name: &str, value: Value| json!({ "text": text, name: value });
    let handle = |address: Value| json!({"address": address, "service": "iMessage"});
    vec![
        // Sizes. What is longer than 32,000 signs loses its end, and so its last word; what is longer than is read is none.
        (CHAT, said(&format!("{} long", "x".repeat(31_000))), Message("long")),
        (CHAT, said(&"many ".repeat(150_000)), Message(LEFT_OUT)),
        (CHAT, said(&"huge ".repeat(500_000)), Drop("unreadable", "message")),
        (CHAT, with("subject", "subject", json!("y".repeat(30_000))), Message("subject")),
        (CHAT, with("x", "guid", json!("g".repeat(5_000))), Drop("unreadable", "message")),
        // Kinds.
        (CHAT, json!({}), Drop("not_used", "message without words")),
        (CHAT, with("", "balloonBundleId", json!("b".repeat(500))), Drop("not_used", BALLOON)),
        (CHAT, with("x", "itemType", json!(4)), Drop("not_used", "item type 4")),
        (CHAT, with("x", "itemType", json!(i64::MAX)), Drop("not_used", "item type 9223372036854775807")),
        (
            CHAT,
            json!({"itemType": 1, "groupActionType": 0, "otherHandle": 99}),
            Drop("unreadable", "participant"),
        ),
        (CHAT, json!({"itemType": 1, "groupActionType": 7}), Drop("not_used", "group action 7")),
        (CHAT, with("x", "associatedMessageType", json!("sticker")), Drop("not_used", "associated message")),
        (CHAT, with("x", "associatedMessageType", json!(2001)), Drop("unreadable", "reaction")),
        // People who are nobody, or the account itself.
        (CHAT, with("x", "handle", json!(null)), Drop("unreadable", "handle")),
        (CHAT, with("x", "handle", handle(json!(5))), Drop("unreadable", "handle")),
        (CHAT, with("x", "handle", handle(json!("iMessage;+;chat1"))), Drop("unreadable", "handle")),
        (CHAT, with("own", "isFromMe", json!(true)), Drop("own_words", "message")),
        (CHAT, with("echo", "handle", handle(json!(OWN))), Drop("own_words", "message")),
        // Conversations that are none.
        ("", said("x"), Drop("unreadable", "conversation")),
        ("iMessage;-;", said("x"), Drop("unreadable", "conversation")),
        ("FaceTime;-;+4915112345679", said("x"), Drop("unreadable", "conversation")),
        // Times. What says that it is of before the account is left out, and nobody's time moves the place.
        (CHAT, with("x", "dateCreated", json!(1)), Drop("not_used", "of before the account")),
        (CHAT, with("later", "dateCreated", json!(9_000_000_000_000_i64)), Message("later")),
        (CHAT, with("timeless", "dateCreated", json!("soon")), Message("timeless")),
        // Types.
        (CHAT, with("files", "attachments", json!([5, {"guid": 5}, {"guid": ""}])), Message("files")),
        (CHAT, with("origin", "threadOriginatorGuid", json!("o".repeat(5_000))), Message("origin")),
        (CHAT, with("numbers", "dateEdited", json!(-1)), Message("numbers")),
    ]
}

/// Sixty signs of it.
const BALLOON: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

#[test]
fn whatever_a_bluebubbles_server_hands_over_is_told_or_counted_and_the_next_message_comes() -> Result<()> {
    let ((server, mac), secrets) = (bluebubbles::start_with()?, tempfile::tempdir()?);
    let webhook = secret(secrets.path(), "webhook", "hush")?;
    let account = bluebubbles::account(&server, secrets.path())?.replace("imessage.mac", "imessage.home");
    let hub = SpawnedHub::start(&format!(
        "[agents.engineer]\nallow = []\n[people.ann]\nids = [\"imessage:{ANN}\"]\nscope = \"owner\"\n\
         [routes.engineer]\nfrom = [\"imessage:*\"]\nagent = \"engineer\"\nengage = \"pattern\"\npattern = \".\"\n\
         {account}receive = true\nwebhook_secret = {webhook}\n"
    ))?;
    has_begun(&hub, "imessage")?;
    let mut becomes = Vec::new();
    for (number, (chat, members, becomes_this)) in hostile().into_iter().enumerate() {
        mac.gets(chat, ANN, members);
        mac.writes(CHAT, ANN, &good(number));
        becomes.push(becomes_this);
    }
    let ((name, proof), body) = Mac::webhook("hush", "new-message");
    let answer = hub.anybody(None).raw("POST", "/v1/platform/imessage/home", &[(name, &proof)], &body)?;
    ensure!(answer.status == 200, "{answer:?}");
    became(&hub, "imessage", &becomes)
}
