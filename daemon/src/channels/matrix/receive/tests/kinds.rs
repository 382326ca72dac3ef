//! Each kind of event, read without a connection.

use serde_json::{Value, json};

use super::super::read;
use crate::channels::received::{AuthorKind, Batch, DropReason, Dropped, Event, Received};

const ME: &str = "@hub:hub.test";

/// An answer with these events in one room.
pub(super) fn answer(events: &Value) -> Value {
    json!({"next_batch": "s2", "rooms": {"join": {"!r:hub.test": {
        "summary": {"m.joined_member_count": 2, "m.invited_member_count": 0},
        "state": {"events": [
            {"type": "m.room.name", "state_key": "", "sender": "@ada:hub.test", "event_id": "$n", "content": {"name": "Kitchen"}},
            {"type": "m.room.member", "state_key": "@ada:hub.test", "sender": "@ada:hub.test", "event_id": "$m",
             "content": {"membership": "join", "displayname": "Ada"}},
        ]},
        "timeline": {"limited": false, "prev_batch": "p1", "events": events},
    }}}})
}

/// An event of a person's.
pub(super) fn event(id: &str, kind: &str, content: Value) -> Value {
    json!({"type": kind, "event_id": id, "sender": "@ada:hub.test", "origin_server_ts": 1_000, "content": content})
}

pub(super) fn text(id: &str, body: &str) -> Value {
    event(id, "m.room.message", json!({"msgtype": "m.text", "body": body}))
}

/// The same event of somebody else.
fn by(user: &str, mut event: Value) -> Value {
    event["sender"] = user.into();
    event
}

fn heard(events: Value) -> Batch {
    read(answer(&events).to_string().as_bytes(), ME).unwrap()
}

/// The last thing that was received.
fn last(events: Value) -> Received {
    heard(events).received.pop().unwrap()
}

fn relation(kind: &str, to: &str) -> Value {
    json!({"rel_type": kind, "event_id": to})
}

#[test]
fn a_text_is_its_authors_words_in_its_room() {
    let batch = heard(json!([text("$1", "Is the oven on?")]));
    let one = &batch.received[0];
    assert_eq!((one.key.as_str(), one.message_id.as_deref(), one.said_at), ("$1", Some("$1"), Some(1_000)));
    assert_eq!((one.conversation.address.as_str(), one.conversation.direct), ("!r:hub.test", true));
    assert_eq!(one.conversation.title.as_deref(), Some("Kitchen"));
    assert_eq!((one.author.id.as_str(), one.author.name.as_deref()), ("@ada:hub.test", Some("Ada")));
    assert_eq!((one.author.kind, one.mentions_me), (AuthorKind::Person, false));
    assert_eq!(one.event.words().unwrap().text, "Is the oven on?");
    assert_eq!((batch.positions[0].stream.as_str(), batch.positions[0].value.as_str()), ("sync", "s2"));
}

#[test]
fn own_words_and_those_of_programs_are_marked() {
    let own = last(json!([by(ME, text("$1", "No."))]));
    assert_eq!(own.author.kind, AuthorKind::Myself);
    let notice = event("$1", "m.room.message", json!({"msgtype": "m.notice", "body": "Build 7 failed"}));
    assert_eq!(last(json!([notice])).author.kind, AuthorKind::Program);
}

#[test]
fn a_mention_is_what_the_platform_marks_and_no_name_in_a_text() {
    let mentioning = |mentions: Value| {
        let content = json!({"msgtype": "m.text", "body": "@hub:hub.test, hub!", "m.mentions": mentions});
        last(json!([event("$1", "m.room.message", content)])).mentions_me
    };
    assert!(mentioning(json!({"user_ids": ["@bob:hub.test", ME]})));
    for none in [
        json!({}),
        json!({"room": true}),
        json!({"user_ids": ["@hub:other.test"]}),
        json!({"user_ids": ME}),
        json!(1),
    ] {
        assert!(!mentioning(none.clone()), "{none}");
    }
}

#[test]
fn an_answer_to_the_account_means_it_and_one_that_only_falls_back_is_none() {
    let own = by(ME, text("$0", "Shall I?"));
    let reply = |relates: Value| {
        let content = json!({"msgtype": "m.text", "body": "Yes", "m.relates_to": relates});
        last(json!([own, event("$1", "m.room.message", content)]))
    };
    let plain = reply(json!({"m.in_reply_to": {"event_id": "$0"}}));
    let answered = plain.event.words().unwrap().reply_to.clone().unwrap();
    assert_eq!(
        (answered.id.as_str(), answered.mine, answered.text.as_deref()),
        ("$0", true, Some("Shall I?"))
    );
    assert!(plain.mentions_me && plain.conversation.thread.is_none());

    let mut thread = json!({"rel_type": "m.thread", "event_id": "$root", "is_falling_back": true,
        "m.in_reply_to": {"event_id": "$0"}});
    let inside = reply(thread.clone());
    assert_eq!(inside.conversation.thread.as_deref(), Some("$root"));
    assert!(!inside.mentions_me && inside.event.words().unwrap().reply_to.is_none());
    thread["is_falling_back"] = json!(false);
    let answering = reply(thread);
    assert!(answering.mentions_me && answering.event.words().unwrap().reply_to.is_some());
}

#[test]
fn an_edit_is_believed_of_who_wrote_the_message_alone() {
    let edit = |original: &Value, sender: &str| {
        let content = json!({"msgtype": "m.text", "body": "* new", "m.relates_to": relation("m.replace", "$0"),
            "m.new_content": {"msgtype": "m.text", "body": "new"}});
        heard(json!([original, by(sender, event("$1", "m.room.message", content))]))
    };
    let mut edited = edit(&text("$0", "old"), "@ada:hub.test");
    let edited = edited.received.pop().unwrap();
    assert_eq!((edited.key.as_str(), edited.message_id.as_deref()), ("$1", Some("$0")));
    assert!(matches!(&edited.event, Event::Edit(words) if words.text == "new"), "{edited:?}");
    for (original, sender) in [
        (text("$0", "old"), "@mallory:hub.test"),
        (text("$elsewhere", "old"), "@ada:hub.test"),
        (
            event(
                "$0",
                "m.reaction",
                json!({"m.relates_to": {"rel_type": "m.annotation", "event_id": "$x", "key": "a"}}),
            ),
            "@ada:hub.test",
        ),
    ] {
        let batch = edit(&original, sender);
        assert!(batch.received.iter().all(|one| !matches!(one.event, Event::Edit(_))), "{original} {sender}");
        assert_eq!(
            batch.dropped.last().map(|one| one.reason),
            Some(DropReason::NotUsed),
            "{original} {sender}"
        );
    }
}

#[test]
fn what_is_redacted_is_deleted_or_taken_back() {
    let reaction = event(
        "$2",
        "m.reaction",
        json!({"m.relates_to": {"rel_type": "m.annotation", "event_id": "$0", "key": "👍"}}),
    );
    let redaction = |of: &str| {
        let mut event = event("$3", "m.room.redaction", json!({"redacts": of}));
        event["redacts"] = of.into();
        event
    };
    let all = |gone: &str| last(json!([text("$0", "x"), reaction, redaction(gone)]));
    let reacted = last(json!([text("$0", "x"), reaction]));
    assert_eq!(reacted.event, Event::Reaction { emoji: "👍".into(), removed: false });
    assert_eq!((reacted.key.as_str(), reacted.message_id.as_deref()), ("$2", Some("$0")));
    let deleted = all("$0");
    assert_eq!((&deleted.event, deleted.message_id.as_deref()), (&Event::Delete, Some("$0")));
    let taken_back = all("$2");
    assert_eq!(taken_back.event, Event::Reaction { emoji: "👍".into(), removed: true });
    assert_eq!((taken_back.key.as_str(), taken_back.message_id.as_deref()), ("$3", Some("$0")));
    // Until room version 11 it stands beside the content.
    let mut old = redaction("$0");
    old["content"] = json!({});
    assert_eq!(last(json!([text("$0", "x"), old])).event, Event::Delete);
    assert_eq!(
        heard(json!([event("$3", "m.room.redaction", json!({}))])).dropped[0].reason,
        DropReason::Unreadable
    );
}

#[test]
fn an_answer_to_an_own_poll_is_in_its_words_and_one_to_anothers_is_not_told() {
    let poll = json!({"org.matrix.msc3381.poll.start": {
        "question": {"org.matrix.msc1767.text": "Tea?"}, "answers": [
            {"id": "0", "org.matrix.msc1767.text": "Yes"}, {"id": "1", "org.matrix.msc1767.text": "No"}]}});
    let start = event("$0", "org.matrix.msc3381.poll.start", poll);
    let vote = event(
        "$1",
        "org.matrix.msc3381.poll.response",
        json!({"m.relates_to": relation("m.reference", "$0"),
        "org.matrix.msc3381.poll.response": {"answers": ["1", "7", 3]}}),
    );
    let voted = last(json!([by(ME, start.clone()), vote]));
    assert_eq!(voted.event, Event::Vote { options: vec!["No".into()] });
    assert_eq!((voted.message_id.as_deref(), voted.mentions_me), (Some("$0"), true));
    let gone = event("$2", "m.room.redaction", json!({"redacts": "$1"}));
    assert_eq!(last(json!([by(ME, start.clone()), vote, gone])).event, Event::Vote { options: Vec::new() });
    let stable = event(
        "$1",
        "m.poll.response",
        json!({"m.relates_to": relation("m.reference", "$0"), "m.selections": ["0"]}),
    );
    assert_eq!(
        last(json!([by(ME, start.clone()), stable])).event,
        Event::Vote { options: vec!["Yes".into()] }
    );
    let mut others = heard(json!([start, vote]));
    assert_eq!(others.dropped[0].what, "org.matrix.msc3381.poll.response");
    assert_eq!(others.received.pop().unwrap().event.words().unwrap().text, "Tea?\n- Yes\n- No");
}

#[test]
fn who_comes_and_goes_is_told_and_a_new_name_is_not() {
    let member = |of: &str, sender: &str, membership: &str, before: Option<&str>| {
        let mut event = by(sender, event("$1", "m.room.member", json!({"membership": membership})));
        event["state_key"] = of.into();
        if let Some(before) = before {
            event["unsigned"] = json!({"prev_content": {"membership": before}});
        }
        heard(json!([event]))
    };
    let (ada, bob) = ("@ada:hub.test", "@bob:hub.test");
    assert_eq!(member(bob, bob, "join", Some("invite")).received[0].event, Event::Join);
    let kicked = member(bob, ada, "leave", Some("join"));
    assert_eq!((&kicked.received[0].event, kicked.received[0].author.id.as_str()), (&Event::Leave, bob));
    let out = member(ME, ada, "ban", Some("join"));
    assert_eq!((out.received[0].author.id.as_str(), out.received[0].mentions_me), (ada, true));
    for (membership, before) in
        [("join", "join"), ("invite", "leave"), ("leave", "invite"), ("knock", "leave")]
    {
        let batch = member(bob, bob, membership, Some(before));
        assert!(batch.received.is_empty() && batch.dropped.len() == 1, "{membership} after {before}");
    }
}

#[test]
fn what_was_written_before_the_account_came_was_said_to_others() {
    let mut joined = by(ME, event("$2", "m.room.member", json!({"membership": "join"})));
    joined["state_key"] = ME.into();
    let batch = heard(json!([text("$1", "a secret"), joined, text("$3", "Hello hub")]));
    let keys: Vec<&str> = batch.received.iter().map(|one| one.key.as_str()).collect();
    assert_eq!(keys, ["$2", "$3"]);
    assert_eq!((batch.dropped.len(), batch.dropped[0].what.as_str()), (1, "m.room.message"));
}

#[test]
fn an_invitation_is_a_join_by_who_invites() {
    let member = |of: &str, sender: &str, content: Value| json!({"type": "m.room.member", "state_key": of, "sender": sender, "content": content});
    let answer = json!({"next_batch": "s2", "rooms": {"invite": {"!new:hub.test": {"invite_state": {"events": [
        {"type": "m.room.name", "state_key": "", "sender": "@ada:hub.test", "content": {"name": "Cellar"}},
        member("@ada:hub.test", "@ada:hub.test", json!({"membership": "join", "displayname": "Ada"})),
        member(ME, "@ada:hub.test", json!({"membership": "invite", "is_direct": true})),
    ]}}, "!odd:hub.test": {"invite_state": {"events": []}}, "!forged:evil.test": {"invite_state": {"events": [
        member(ME, "@ada:hub.test", json!({"membership": "invite"})),
        member(ME, "@eve:evil.test", json!({"membership": "invite"})),
    ]}}, "!hidden:evil.test": {"invite_state": {"events": [
        member(ME, "@ada:hub.test", json!({"membership": "invite"})), {"type": 7, "sender": "@eve:evil.test"},
    ]}}}}});
    let batch = read(answer.to_string().as_bytes(), ME).unwrap();
    let [one] = &batch.received[..] else { panic!("{batch:?}") };
    assert_eq!((&one.event, one.mentions_me, one.author.id.as_str()), (&Event::Join, true, "@ada:hub.test"));
    assert_eq!(
        (one.author.name.as_deref(), one.conversation.title.as_deref()),
        (Some("Ada"), Some("Cellar"))
    );
    assert_eq!((one.conversation.address.as_str(), one.key.as_str()), ("!new:hub.test", ""));
    let unread = |dropped: &Dropped| dropped.reason == DropReason::Unreadable && dropped.what == "invitation";
    assert!(batch.dropped.len() == 3 && batch.dropped.iter().all(unread), "{:?}", batch.dropped);
}
