//! Messages as an Evolution API keeps them, and its notifications.

use serde_json::{Value, json};

use crate::channels::{
    received::{AuthorKind, Dropped, Event, Received, not_used, unreadable},
    whatsapp::receive::evolution,
};

const OWN: &str = "4915112345678";
const GROUP: &str = "120363012345678901@g.us";
const LID: &str = "175105850253361@lid";

fn read(records: &Value) -> (Vec<Received>, Vec<Dropped>) {
    let body = json!({"messages": {"total": 1, "pages": 1, "currentPage": 1, "records": records}});
    evolution::read(body.to_string().as_bytes(), "home", OWN)
}

/// What Anna's message tells, with something else in its key and beside it.
fn all(key: Value, message: Value, more: Value) -> Vec<Received> {
    let mut record = json!({
        "key": {"id": "3EB0AA", "remoteJid": "4915112345679@s.whatsapp.net", "fromMe": false},
        "pushName": "Anna", "messageTimestamp": 1_749_416_383, "message": message, "MessageUpdate": [],
    });
    key.as_object().unwrap().iter().for_each(|(name, value)| record["key"][name] = value.clone());
    more.as_object().unwrap().iter().for_each(|(name, value)| record[name] = value.clone());
    let (received, dropped) = read(&json!([record]));
    assert_eq!(dropped, []);
    received.into_iter().map(|received| received.bounded().unwrap()).collect()
}

fn one(key: Value, message: Value) -> Received {
    all(key, message, json!({})).remove(0)
}

fn says(message: Value) -> String {
    one(json!({}), message).event.words().unwrap().text.clone()
}

#[test]
fn a_text_is_from_its_number_with_a_name_that_nobody_is_known_by() {
    let received = one(json!({}), json!({"conversation": "Is it green?", "messageContextInfo": {}}));
    assert_eq!(
        (received.author.id.as_str(), received.author.name.as_deref()),
        ("+4915112345679", Some("Anna"))
    );
    assert_eq!(
        (received.conversation.address.as_str(), received.conversation.direct),
        ("4915112345679", true)
    );
    assert_eq!(received.key, "4915112345679:3EB0AA");
    assert_eq!(received.message_id.as_deref(), Some("4915112345679/3EB0AA"));
    assert_eq!(received.said_at, Some(1_749_416_383_000));
}

#[test]
fn a_hidden_number_is_taken_from_the_other_name_and_else_the_hidden_id_is_who_it_is() {
    let told = json!({"remoteJid": LID, "remoteJidAlt": "4915112345679@s.whatsapp.net"});
    let received = one(told, json!({"conversation": "x"}));
    assert_eq!(
        (received.author.id.as_str(), received.author.same_as),
        ("+4915112345679", vec![LID.to_owned()])
    );
    assert_eq!(received.conversation.address, "4915112345679");
    // What it is not taken from.
    let hidden = json!({"remoteJid": LID, "senderPn": "4915112345670@s.whatsapp.net"});
    let received = one(hidden, json!({"conversation": "x"}));
    assert_eq!((received.author.id.as_str(), received.conversation.address.as_str()), (LID, LID));
    assert_eq!(received.message_id.as_deref(), Some(format!("{LID}/3EB0AA").as_str()));
}

#[test]
fn a_group_has_its_participants_and_means_the_account_by_a_mention_alone() {
    let key =
        json!({"remoteJid": GROUP, "participant": LID, "participantAlt": "4915112345679@s.whatsapp.net"});
    let plain = one(key.clone(), json!({"conversation": "Nobody is meant"}));
    assert_eq!((plain.conversation.address.as_str(), plain.conversation.direct), (GROUP, false));
    assert_eq!((plain.author.id.as_str(), plain.mentions_me), ("+4915112345679", false));
    assert_eq!(
        plain.message_id.as_deref(),
        Some(format!("{LID}/3EB0AA").as_str()),
        "as the group names them"
    );
    for (mentioned, is_me) in
        [(format!("{OWN}@s.whatsapp.net"), true), ("4915112345670@s.whatsapp.net".into(), false)]
    {
        let context = json!({"mentionedJid": [mentioned]});
        let text = json!({"extendedTextMessage": {"text": "@x you are", "contextInfo": context}});
        assert_eq!(one(key.clone(), text).mentions_me, is_me);
        // Some versions put it beside the message.
        let beside = all(key.clone(), json!({"conversation": "@x"}), json!({"contextInfo": context}));
        assert_eq!(beside[0].mentions_me, is_me);
        // Who hands it on calls nobody.
        let context = json!({"mentionedJid": context["mentionedJid"], "isForwarded": true});
        let text = json!({"extendedTextMessage": {"text": "@x you are", "contextInfo": context}});
        assert!(!one(key.clone(), text).mentions_me);
    }
    // Its own hidden id there is known once it wrote there itself.
    let own = json!({"key": {"id": "3EB0FF", "remoteJid": GROUP, "fromMe": true, "participant": "99999999@lid"}, "message": {"conversation": "x"}});
    let hers = json!({"key": {"id": "3EB0AA", "remoteJid": GROUP, "fromMe": false, "participant": LID},
        "message": {"extendedTextMessage": {"text": "@x", "contextInfo": {"mentionedJid": ["99999999@lid"]}}}});
    let (received, _) = read(&json!([own, hers]));
    assert_eq!(
        (received[0].author.kind, received[0].message_id.as_deref()),
        (AuthorKind::Myself, Some("3EB0FF"))
    );
    assert!(!received[0].mentions_me && received[1].mentions_me);
}

#[test]
fn a_quote_says_whose_words_it_repeats() {
    let quoted = json!({"conversation": "Tea?"});
    let of = |participant: &str| {
        let context = json!({"stanzaId": "3EB0FF", "participant": participant, "quotedMessage": quoted, "isForwarded": true});
        let received =
            one(json!({}), json!({"extendedTextMessage": {"text": "Yes", "contextInfo": context}}));
        let words = received.event.words().unwrap().clone();
        assert!(words.forwarded && words.text == "Yes");
        words.reply_to.unwrap()
    };
    let own = of(&format!("{OWN}@s.whatsapp.net"));
    assert_eq!((own.id.as_str(), own.mine, own.text.as_deref()), ("3EB0FF", true, Some("Tea?")));
    let hers = of("4915112345679@s.whatsapp.net");
    assert_eq!((hers.id.as_str(), hers.mine), ("4915112345679/3EB0FF", false));
    assert_eq!(hers.author.as_deref(), Some("+4915112345679"));
}

#[test]
fn what_is_quoted_from_elsewhere_or_was_handed_on_is_not_the_accounts_words() {
    let of = |participant: &str, quoted: Value| {
        let context = json!({"stanzaId": "3EB0FF", "participant": participant, "remoteJid": GROUP, "quotedMessage": quoted});
        let text = json!({"extendedTextMessage": {"text": "Do it", "contextInfo": context}});
        one(json!({}), text).event.words().unwrap().reply_to.clone().unwrap()
    };
    // "Reply privately": between two stands what a third wrote in a group.
    for (eve, author) in
        [("4917666666666@s.whatsapp.net", "+4917666666666"), ("99999999@lid", "99999999@lid")]
    {
        let reply = of(eve, json!({"conversation": "Send all"}));
        assert_eq!((reply.mine, reply.author.as_deref()), (false, Some(author)));
    }
    let forward = json!({"extendedTextMessage": {"text": "Send all", "contextInfo": {"isForwarded": true}}});
    for by in ["4915112345679@s.whatsapp.net".to_owned(), format!("{OWN}@s.whatsapp.net")] {
        let reply = of(&by, forward.clone());
        assert_eq!((reply.mine, reply.author, reply.text.as_deref()), (false, None, Some("Send all")));
    }
}

#[test]
fn each_kind_says_what_it_is() {
    let image = json!({"caption": "See", "mimetype": "image/jpeg", "fileLength": {"low": 5, "high": 0}});
    assert_eq!(says(json!({"imageMessage": image, "mediaUrl": "x", "base64": "x"})), "See");
    let document = json!({"message": {"documentMessage": {"fileName": "plan.pdf", "caption": "The plan"}}});
    assert_eq!(says(json!({"documentWithCaptionMessage": document})), "The plan");
    assert_eq!(
        says(
            json!({"ephemeralMessage": {"message": {"viewOnceMessageV2": {"message": {"conversation": "x"}}}}})
        ),
        "x"
    );
    let place = json!({"degreesLatitude": 52.5, "degreesLongitude": 13.25, "name": "Home"});
    assert_eq!(says(json!({"locationMessage": place})), "location: 52.5, 13.25\nHome");
    let card =
        json!({"displayName": "Bob", "vcard": "BEGIN:VCARD\nTEL;type=CELL;waid=1555:+1 555\nEND:VCARD"});
    assert_eq!(says(json!({"contactMessage": card})), "contact: Bob, +1 555");
    assert_eq!(
        says(json!({"contactsArrayMessage": {"contacts": [card, card]}})),
        "contact: Bob, +1 555\ncontact: Bob, +1 555"
    );
    let poll = json!({"name": "Tea?", "options": [{"optionName": "Yes"}, {"optionName": "No"}]});
    assert_eq!(says(json!({"pollCreationMessageV3": poll})), "poll: Tea?\n- Yes\n- No");
    assert_eq!(says(json!({"listResponseMessage": {"title": "Two"}})), "Two");
    let target = json!({"id": "3EB0FF", "fromMe": true, "remoteJid": "x"});
    let reaction = one(json!({}), json!({"reactionMessage": {"key": target, "text": "👍"}}));
    assert_eq!(reaction.event, Event::Reaction { emoji: "👍".into(), removed: false });
    assert_eq!(
        (reaction.key.as_str(), reaction.message_id.as_deref()),
        ("4915112345679:3EB0AA", Some("3EB0FF"))
    );
    let target = json!({"id": "3EB0FF", "fromMe": false});
    let back = one(json!({}), json!({"reactionMessage": {"key": target, "text": ""}}));
    assert_eq!(back.event, Event::Reaction { emoji: String::new(), removed: true });
    assert_eq!(back.message_id.as_deref(), Some("4915112345679/3EB0FF"));
}

#[test]
fn a_changed_message_tells_itself_and_the_change_and_one_taken_back_that_too() {
    let edited = json!({"MessageUpdate": [{"status": "READ"}, {"status": "EDITED"}], "messageTimestamp": 1_749_416_400_123_i64});
    let both = all(json!({}), json!({"conversation": "Two"}), edited);
    let words: Vec<&str> = both.iter().map(|one| one.event.word()).collect();
    assert_eq!(words, ["message", "edit"]);
    assert_eq!(both[1].key, "edit:4915112345679:3EB0AA:1749416400");
    assert!(both.iter().all(|one| one.message_id.as_deref() == Some("4915112345679/3EB0AA")));
    assert_eq!(both[1].said_at, Some(1_749_416_400_000));
    let gone =
        all(json!({}), json!({"conversation": "One"}), json!({"MessageUpdate": [{"status": "DELETED"}]}));
    assert_eq!((gone[1].event.word(), gone[1].key.as_str()), ("delete", "delete:4915112345679:3EB0AA"));
    assert!(gone[1].author.unverified && !gone[0].author.unverified);
}

#[test]
fn nobody_vouches_for_who_wrote_an_edited_message_and_it_means_nobody() {
    let key = json!({"remoteJid": GROUP, "participant": LID});
    let context = json!({"mentionedJid": [format!("{OWN}@s.whatsapp.net")]});
    let text = json!({"extendedTextMessage": {"text": "@x you are", "contextInfo": context}});
    assert!(all(key.clone(), text.clone(), json!({"status": "READ"}))[0].mentions_me);
    let reaction = json!({"reactionMessage": {"key": {"id": "3EB0FF"}, "text": "👍"}});
    for edited in [json!({"status": "EDITED"}), json!({"MessageUpdate": [{"status": "EDITED"}]})] {
        let told = all(key.clone(), text.clone(), edited.clone());
        assert_eq!(told.len(), 2);
        assert!(told.iter().all(|one| one.author.unverified && !one.mentions_me), "{told:?}");
        assert!(all(key.clone(), reaction.clone(), edited)[0].author.unverified);
    }
}

#[test]
fn what_is_nobodys_words_is_dropped_by_its_kind() {
    let of = |remote: &str, message: Value| {
        read(&json!([{"key": {"id": "3EB0AA", "remoteJid": remote}, "message": message}])).1
    };
    let anna = "4915112345679@s.whatsapp.net";
    assert_eq!(of("status@broadcast", json!({"conversation": "x"})), [not_used("broadcast")]);
    assert_eq!(of("1@newsletter", json!({"conversation": "x"})), [not_used("newsletter")]);
    assert_eq!(of(anna, json!({"protocolMessage": {"type": 5}})), [not_used("protocolMessage")]);
    assert_eq!(of(anna, json!({"pollUpdateMessage": {}})), [not_used("pollUpdateMessage")]);
    assert_eq!(of(anna, json!({})), [not_used("message without content")]);
    assert_eq!(of(GROUP, json!({"conversation": "x"})), [unreadable("participant")]);
    assert_eq!(of("x@g.us", json!({"conversation": "x"})), [unreadable("group")]);
    assert_eq!(read(&json!([{"key": {"id": "a/b", "remoteJid": anna}}])).1, [unreadable("key")]);
    for odd in [json!(null), json!(5), json!([]), json!({"key": []})] {
        assert_eq!(read(&json!([odd])).1.len(), 1, "{odd}");
    }
}

fn told(event: &str, data: Value) -> (Vec<Received>, Vec<Dropped>) {
    let body =
        json!({"event": event, "instance": "home", "data": data, "date_time": "2026-11-27T21:00:00.000Z"});
    evolution::read(body.to_string().as_bytes(), "home", OWN)
}

#[test]
fn a_notification_alone_tells_who_came_and_left_and_what_was_taken_back() {
    let people =
        json!(["4915112345679@s.whatsapp.net", {"id": LID, "phoneNumber": "4915112345670@s.whatsapp.net"}]);
    let (came, _) =
        told("group-participants.update", json!({"id": GROUP, "participants": people, "action": "add"}));
    let who: Vec<&str> = came.iter().map(|one| one.author.id.as_str()).collect();
    assert_eq!(who, ["+4915112345679", "+4915112345670"]);
    assert!(
        came[0].event == Event::Join
            && came[0].conversation.address == GROUP
            && came[0].key.contains("21:00")
    );
    let (left, _) =
        told("GROUP_PARTICIPANTS_UPDATE", json!({"id": GROUP, "participants": people, "action": "remove"}));
    assert!(left.len() == 2 && left[1].event == Event::Leave);
    let key = json!({"id": "3EB0AA", "remoteJid": "4915112345679@s.whatsapp.net", "fromMe": false});
    for data in [key.clone(), json!({"id": "an internal one", "key": key})] {
        let (gone, _) = told("messages.delete", data);
        assert_eq!(gone[0].key, "delete:4915112345679:3EB0AA", "as its record has it");
        assert_eq!(gone[0].message_id.as_deref(), Some("4915112345679/3EB0AA"));
    }
    assert_eq!(
        told("group-participants.update", json!({"action": "promote"})).1,
        [not_used("group-participants.update")]
    );
    assert_eq!(
        told("messages.delete", json!({"remoteJid": GROUP, "id": "3EB0AA"})).1,
        [unreadable("messages.delete")]
    );
    assert_eq!(told("presence.update", json!({})).1, [not_used("presence.update")]);
    // What is kept is asked for.
    assert_eq!(told("messages.upsert", json!({})), (vec![], vec![]));
    let body = json!({"event": "messages.upsert", "instance": "another", "data": {}}).to_string();
    assert_eq!(evolution::read(body.as_bytes(), "home", OWN).1, [not_used("another instance")]);
}
