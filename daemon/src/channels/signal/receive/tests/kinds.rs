//! Events as signal-cli writes them (the records in <https://github.com/AsamK/signal-cli/tree/master/src/main/java/org/asamk/signal/json>), and
//! what becomes of each.

use serde_json::{Value, json};

use super::super::{
    envelope::{Draft, Me, read},
    names::Names,
};
use crate::channels::received::{AuthorKind, DropReason, Dropped, Event, ReplyTo, Words};

pub(super) const NUMBER: &str = "+4915112345678";
pub(super) const SELF: &str = "aaaaaaaa-0000-4000-8000-00000000000a";
pub(super) const ANNA: &str = "bbbbbbbb-0000-4000-8000-00000000000b";
const BOB: &str = "cccccccc-0000-4000-8000-00000000000c";
pub(super) const GROUP: &str = "Pmpi+EfPWmsxiomLe9Nx2XF9HOE483p6iKiFj65iMwI=";

pub(super) fn me() -> Me {
    Me { number: NUMBER.into(), uuid: Some(SELF.into()) }
}

/// An envelope of Anna's with this content.
pub(super) fn envelope(at: i64, content: &Value) -> Value {
    let mut envelope = json!({
        "source": "+4915112345679", "sourceNumber": "+4915112345679", "sourceUuid": ANNA, "sourceName": "Anna", "sourceDevice": 1,
        "timestamp": at, "serverReceivedTimestamp": at + 40, "serverDeliveredTimestamp": at + 50,
    });
    for (name, value) in content.as_object().unwrap() {
        envelope[name] = value.clone();
    }
    json!({"account": NUMBER, "envelope": envelope})
}

/// A message of Anna's with these members.
pub(super) fn data(at: i64, more: &Value) -> Value {
    let mut data = json!({"timestamp": at, "message": null, "expiresInSeconds": 0, "isExpirationUpdate": false, "viewOnce": false});
    for (name, value) in more.as_object().unwrap() {
        data[name] = value.clone();
    }
    data
}

pub(super) fn message(at: i64, more: &Value) -> Value {
    envelope(at, &json!({"dataMessage": data(at, more)}))
}

fn group() -> Value {
    json!({"groupId": GROUP, "groupName": "House", "revision": 3, "type": "DELIVER"})
}

fn told(event: &Value) -> Result<Draft, Dropped> {
    read(event, &me(), &Names::default())
}

fn words(event: &Value) -> Words {
    let read = told(event).unwrap().received.bounded().unwrap();
    read.event.words().expect("words").clone()
}

fn not_used(what: &str) -> Dropped {
    Dropped { reason: DropReason::NotUsed, what: what.into() }
}

#[test]
fn a_message_to_the_account_is_direct_and_names_who_wrote_it_by_their_own_id() {
    let read = told(&message(1_700_000_000_000, &json!({"message": "Hello"}))).unwrap();
    let Draft { received, files, revision: None } = read else { panic!("a new message") };
    assert_eq!(received.key, format!("message:{ANNA}:{ANNA}:1700000000000"));
    assert_eq!((received.conversation.address.as_str(), received.conversation.direct), (ANNA, true));
    assert_eq!(
        (received.author.id.as_str(), received.author.same_as),
        (ANNA, vec!["+4915112345679".to_owned()])
    );
    assert_eq!((received.author.name.as_deref(), received.author.kind), (Some("Anna"), AuthorKind::Person));
    assert_eq!(received.message_id, Some(format!("{ANNA}/1700000000000")));
    assert_eq!(received.said_at, Some(1_700_000_000_040), "by Signal's clock");
    assert_eq!(received.event, Event::Message(Words { text: "Hello".into(), ..Words::default() }));
    assert!(!received.mentions_me && files.is_empty());
    // A sender's clock may say anything.
    let mut early = message(1, &json!({"message": "Hello"}));
    early["envelope"]["serverReceivedTimestamp"] = json!(0);
    assert_eq!(told(&early).unwrap().received.said_at, Some(1));
}

#[test]
fn a_message_in_a_group_is_at_the_group_and_calls_the_account_by_a_mention_or_an_answer() {
    let text = "\u{fffc} and \u{1f600}\u{fffc}: tea?";
    let mentions = json!([
        {"name": "x", "number": null, "uuid": BOB, "start": 8, "length": 1},
        {"name": NUMBER, "number": NUMBER, "uuid": SELF, "start": 0, "length": 1},
    ]);
    let event = message(5, &json!({"message": text, "mentions": mentions, "groupInfo": group()}));
    let received = told(&event).unwrap().received;
    assert!(received.mentions_me && !received.conversation.direct);
    assert_eq!(received.conversation.address, format!("group:{GROUP}"));
    assert_eq!(words(&event).text, format!("@{NUMBER} and \u{1f600}@{BOB}: tea?"));
    // By its number alone, for who knows no more; and somebody else is not it.
    for (mention, called) in [(json!({"number": NUMBER, "uuid": null}), true), (json!({"uuid": BOB}), false)]
    {
        let mut mention = mention;
        (mention["start"], mention["length"]) = (json!(0), json!(1));
        let event = message(5, &json!({"message": "\u{fffc}", "mentions": [mention], "groupInfo": group()}));
        assert_eq!(told(&event).unwrap().received.mentions_me, called);
    }
    let quote = json!({"id": 4, "author": NUMBER, "authorNumber": NUMBER, "authorUuid": SELF, "text": "Tea or \u{fffc}?",
        "mentions": [{"uuid": BOB, "start": 7, "length": 1}], "attachments": []});
    let event = message(6, &json!({"message": "Tea.", "quote": quote, "groupInfo": group()}));
    assert!(told(&event).unwrap().received.mentions_me);
    let expected = ReplyTo {
        id: "4".into(),
        mine: true,
        author: Some(SELF.into()),
        text: Some(format!("Tea or @{BOB}?")),
    };
    assert_eq!(words(&event).reply_to, Some(expected));
    let quote = json!({"id": 4, "authorNumber": null, "authorUuid": BOB, "text": null});
    let reply = words(&message(6, &json!({"message": "Tea.", "quote": quote}))).reply_to.unwrap();
    assert_eq!((reply.id, reply.mine, reply.text), (format!("{BOB}/4"), false, None));
}

#[test]
fn mentions_in_wrong_places_change_nothing() {
    let mention = |start: Value, length: Value| json!({"uuid": BOB, "start": start, "length": length});
    for (mentions, text) in [
        (json!([mention(json!(9), json!(1))]), "\u{1f600}x".to_owned()),
        (json!([mention(json!(1), json!(1))]), "\u{1f600}x".to_owned()),
        (json!([mention(json!(-1), json!(1)), mention(json!(0), json!("x"))]), "\u{1f600}x".to_owned()),
        (
            json!([mention(json!(0), json!(u64::MAX)), mention(json!(0), json!(0))]),
            format!("@{BOB}@{BOB}\u{1f600}x"),
        ),
        (json!({}), "\u{1f600}x".to_owned()),
    ] {
        assert_eq!(
            words(&message(5, &json!({"message": "\u{1f600}x", "mentions": mentions}))).text,
            text,
            "{mentions}"
        );
    }
}

#[test]
fn edits_removals_reactions_and_votes_name_the_message_that_they_are_about() {
    let edited = json!({"targetSentTimestamp": 5, "dataMessage": data(9, &json!({"message": "Better",
        "attachments": [{"contentType": "image/png", "id": "a.png"}]}))});
    let read = told(&envelope(9, &json!({"editMessage": edited}))).unwrap();
    assert_eq!(read.received.key, format!("edit:{ANNA}:{ANNA}:9:5"));
    assert_eq!((read.received.message_id, read.files.len()), (Some(format!("{ANNA}/5")), 0));
    assert!(matches!(read.received.event, Event::Edit(words) if words.text == "Better"));

    let removed = told(&message(10, &json!({"remoteDelete": {"timestamp": 5}}))).unwrap().received;
    assert_eq!((removed.event, removed.message_id), (Event::Delete, Some(format!("{ANNA}/5"))));
    let by_admin = json!({"targetAuthorUuid": BOB, "targetAuthorNumber": null, "targetSentTimestamp": 4});
    let removed =
        told(&message(10, &json!({"adminDelete": by_admin, "groupInfo": group()}))).unwrap().received;
    assert_eq!((removed.event, removed.message_id), (Event::Delete, Some(format!("{BOB}/4"))));

    for (author, id, is_remove) in [(SELF, "7".to_owned(), false), (BOB, format!("{BOB}/7"), true)] {
        let reaction = json!({"emoji": "👍", "targetAuthor": author, "targetAuthorNumber": null, "targetAuthorUuid": author,
            "targetSentTimestamp": 7, "isRemove": is_remove});
        let read = told(&message(11, &json!({"reaction": reaction, "groupInfo": group()}))).unwrap().received;
        assert_eq!(read.event, Event::Reaction { emoji: "👍".into(), removed: is_remove });
        assert_eq!((read.message_id, read.mentions_me), (Some(id), false));
    }

    let vote = |author: &str| json!({"author": author, "authorNumber": null, "authorUuid": author, "targetSentTimestamp": 8, "optionIndexes": [0, 2], "voteCount": 1});
    let read = told(&message(12, &json!({"pollVote": vote(SELF)}))).unwrap().received;
    assert_eq!(read.event, Event::Vote { options: vec!["1".into(), "3".into()] });
    assert_eq!((read.message_id.as_deref(), read.mentions_me), (Some("8"), true));
    assert_eq!(
        told(&message(12, &json!({"pollVote": vote(BOB)}))),
        Err(not_used("pollVote in another's poll"))
    );
}

#[test]
fn what_is_no_text_is_told_as_one_or_as_missing() {
    let contact = json!({"name": {"nickname": null, "given": "Eve", "family": "Ott", "middle": null}, "organization": "ACME",
        "phone": [{"value": "+49301", "type": "HOME", "label": null}], "email": [{"value": "eve@a.test"}]});
    let poll = json!({"question": "When?", "allowMultiple": false, "options": ["now", "later"]});
    for (more, text) in [
        (json!({"message": "Call her", "contacts": [contact]}), "Call her\nEve Ott ACME +49301 eve@a.test"),
        (json!({"pollCreate": poll}), "When?\n- now\n- later"),
        (
            json!({"message": "https://a.test", "previews": [{"url": "https://a.test", "title": "A"}]}),
            "https://a.test",
        ),
    ] {
        assert_eq!(words(&message(5, &more)).text, text);
    }
    for (more, missing) in [
        (json!({"sticker": {"packId": "ab", "stickerId": 1}}), "a sticker"),
        (
            json!({"viewOnce": true, "attachments": [{"contentType": "image/jpeg", "id": "a.jpg"}]}),
            "viewed once",
        ),
        (json!({"payment": {"note": "rent", "receipt": "AA=="}}), "a payment"),
    ] {
        let read = told(&message(5, &more)).unwrap();
        assert!(read.files.is_empty() && words(&message(5, &more)).missing[0].contains(missing), "{more}");
    }
    let story = json!({"authorNumber": null, "authorUuid": SELF, "sentTimestamp": 3});
    let answer = words(&message(5, &json!({"message": "Nice", "storyContext": story})));
    assert_eq!(answer.reply_to.map(|reply| (reply.id, reply.mine)), Some(("3".into(), true)));
    let files = json!([{"contentType": "image/jpeg", "filename": "a b.jpg", "id": "x1.jpg", "size": 9}, {"contentType": "text/plain", "id": null}]);
    let files = told(&message(5, &json!({"attachments": files}))).unwrap().files;
    assert_eq!((files.len(), files[0].id.as_str(), files[0].name.as_deref()), (1, "x1.jpg", Some("a b.jpg")));
}

#[test]
fn what_is_nobodys_words_is_left_out_by_its_name() {
    for (event, what) in [
        (
            envelope(
                5,
                &json!({"receiptMessage": {"when": 5, "isDelivery": true, "isRead": false, "isViewed": false, "timestamps": [4]}}),
            ),
            "receiptMessage",
        ),
        (envelope(5, &json!({"typingMessage": {"action": "STARTED", "timestamp": 5}})), "typingMessage"),
        (
            envelope(
                5,
                &json!({"syncMessage": {"sentMessage": {"destination": ANNA, "timestamp": 5, "message": "x"}}}),
            ),
            "syncMessage",
        ),
        (envelope(5, &json!({"syncMessage": {}})), "syncMessage"),
        (envelope(5, &json!({"callMessage": {"offerMessage": {"id": 1}}})), "callMessage"),
        (envelope(5, &json!({"storyMessage": {"allowsReplies": true}})), "storyMessage"),
        (envelope(5, &json!({"tomorrowMessage": {"text": "x"}})), "tomorrowMessage"),
        (envelope(5, &json!({})), "envelope without content"),
        (
            message(5, &json!({"groupInfo": {"groupId": GROUP, "revision": 4, "type": "UPDATE"}})),
            "group update",
        ),
        (message(5, &json!({"isExpirationUpdate": true, "expiresInSeconds": 60})), "expiration update"),
        (message(5, &json!({"pinMessage": {"targetSentTimestamp": 4}})), "pinMessage"),
        (message(5, &json!({})), "dataMessage without words"),
        (json!({"account": "+4915100000000", "envelope": {}}), "another account"),
    ] {
        assert_eq!(told(&event), Err(not_used(what)), "{event}");
    }
    let own = json!({"account": SELF, "envelope": {"sourceUuid": SELF.to_uppercase(), "timestamp": 5, "dataMessage": {"timestamp": 5, "message": "x"}}});
    assert_eq!(told(&own).unwrap().received.author.kind, AuthorKind::Myself);
}

#[test]
fn what_cannot_be_read_is_counted_by_its_kind() {
    let secret = json!({"account": NUMBER, "exception": {"message": "of +4930", "type": "ProtocolNoSessionException"},
        "envelope": {"sourceUuid": ANNA, "timestamp": 5}});
    let mut nobody = message(5, &json!({"message": "x"}));
    (nobody["envelope"]["sourceUuid"], nobody["envelope"]["sourceNumber"]) = (json!(null), json!("unknown"));
    let mut never = message(5, &json!({"message": "x", "timestamp": 0}));
    never["envelope"]["timestamp"] = json!(-1);
    for (event, what) in [
        (secret, "ProtocolNoSessionException"),
        (json!({"account": NUMBER, "exception": {}}), "exception"),
        (json!({"account": NUMBER}), "envelope"),
        (json!([1]), "envelope"),
        (Value::Null, "envelope"),
        (nobody, "dataMessage"),
        (never, "dataMessage"),
        (message(5, &json!({"message": "x", "groupInfo": {"groupId": "short"}})), "dataMessage"),
        (message(5, &json!({"reaction": {"emoji": 5}})), "reaction"),
        (message(5, &json!({"remoteDelete": {}})), "remoteDelete"),
        (message(5, &json!({"adminDelete": {}})), "adminDelete"),
        (message(5, &json!({"pollVote": {}})), "pollVote"),
        (envelope(5, &json!({"editMessage": {}})), "editMessage"),
    ] {
        assert_eq!(
            told(&event),
            Err(Dropped { reason: DropReason::Unreadable, what: what.into() }),
            "{event}"
        );
    }
}

#[test]
fn the_bytes_of_a_stream_are_read_without_asking_anybody() {
    let stream = format!(
        ":\nevent:receive\ndata:{}\n\nevent:receive\ndata:{{\n\n",
        message(5, &json!({"message": "Hello"}))
    );
    let (received, dropped) = super::super::read(stream.as_bytes(), &me());
    assert_eq!((received.len(), dropped.len()), (1, 1));
}
