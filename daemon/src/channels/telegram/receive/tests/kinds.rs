//! What each kind of update becomes.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::channels::{
    PartKey,
    received::{AuthorKind, DropReason, Dropped, Event, Received, ReplyTo, Words},
    telegram::receive::{
        self,
        polls::Polls,
        read::{Me, Update},
        update,
    },
};

const GROUP: i64 = -1_001_234_567_890;

fn me() -> Me {
    Me { id: 99, username: "House_Bot".into(), topics_in_chats: false }
}

fn read(update: &Value) -> Update {
    update::read(update, &me(), &Polls::default())
}

fn ann() -> Value {
    json!({"id": 7, "is_bot": false, "first_name": "Ann", "last_name": "Bell", "username": "ann"})
}

/// A message of Ann's in the group, with these members besides or instead.
fn message(more: Value) -> Value {
    let mut message = json!({
        "message_id": 5, "from": ann(), "date": 1_790_000_000,
        "chat": {"id": GROUP, "type": "supergroup", "title": "Family"},
    });
    for (name, value) in more.as_object().unwrap() {
        message[name] = value.clone();
    }
    message
}

fn update(kind: &str, body: Value) -> Value {
    json!({"update_id": 41, kind: body})
}

/// The one thing that an update tells.
fn one(kind: &str, body: Value) -> Received {
    let mut read = read(&update(kind, body));
    assert_eq!((read.events.len(), read.dropped.as_slice()), (1, &[][..]), "{:?}", read.dropped);
    read.events.remove(0).received
}

fn words(received: &Received) -> &Words {
    received.event.words().unwrap()
}

/// Why an update goes no further.
fn dropped(kind: &str, body: Value) -> Dropped {
    let mut read = read(&update(kind, body));
    assert_eq!((read.events.len(), read.dropped.len()), (0, 1), "{:?}", read.events);
    read.dropped.remove(0)
}

#[test]
fn a_message_that_brings_nobody_is_a_message_and_never_nothing() {
    let said = one("message", message(json!({"text": "hello", "new_chat_members": []})));
    assert_eq!(words(&said).text, "hello");
    let silent = dropped("message", message(json!({"new_chat_members": []})));
    assert_eq!((silent.reason, silent.what.as_str()), (DropReason::NotUsed, "new_chat_members"));
}

#[test]
fn a_text_says_who_where_when_and_what() {
    let received = one("message", message(json!({"text": "hello"})));
    assert_eq!(received.key, format!("message:{GROUP}:5"));
    assert_eq!(received.conversation.address, GROUP.to_string());
    assert_eq!((received.conversation.thread.as_deref(), received.conversation.direct), (None, false));
    assert_eq!(received.conversation.title.as_deref(), Some("Family"));
    assert_eq!((received.author.id.as_str(), received.author.name.as_deref()), ("7", Some("Ann Bell")));
    assert_eq!((received.author.kind, received.author.same_as.len()), (AuthorKind::Person, 0));
    assert_eq!((received.message_id.as_deref(), received.said_at), (Some("5"), Some(1_790_000_000_000)));
    assert_eq!((received.mentions_me, words(&received).text.as_str()), (false, "hello"));
    let private = json!({"id": 7, "type": "private", "first_name": "Ann"});
    let received = one("message", message(json!({"text": "hello", "chat": private})));
    assert!(received.conversation.direct);
    assert_eq!(received.conversation.title.as_deref(), Some("Ann"));
}

#[test]
fn an_address_is_spelt_as_the_sender_takes_it() {
    for chat in [7, -5, GROUP] {
        let received = one("message", message(json!({"text": "x", "chat": {"id": chat, "type": "group"}})));
        let address = received.conversation.address;
        assert_eq!(crate::channels::telegram::target::canonical(&address), Ok(address));
    }
    for chat in [json!(0), json!("5"), json!(i64::MAX), Value::Null] {
        let gone = dropped("message", message(json!({"text": "x", "chat": {"id": chat}})));
        assert_eq!((gone.reason, gone.what.as_str()), (DropReason::Unreadable, "message"));
    }
}

#[test]
fn the_bot_is_meant_by_a_mark_or_an_answer_and_never_by_its_name_alone() {
    let marked = |length: usize| json!([{"type": "mention", "offset": 0, "length": length}]);
    assert!(one("message", message(json!({"text": "@house_bot hi", "entities": marked(10)}))).mentions_me);
    assert!(!one("message", message(json!({"text": "@house_bot hi"}))).mentions_me);
    let photo = json!([{"file_id": "f", "width": 1, "height": 1}]);
    let caption = json!({"caption": "@house_bot", "caption_entities": marked(10), "photo": photo});
    assert!(one("message", message(caption)).mentions_me);
    // Whoever was called in what is handed on was called by somebody else.
    let handed_on =
        json!({"text": "@house_bot hi", "entities": marked(10), "forward_origin": {"type": "user"}});
    assert!(!one("message", message(handed_on)).mentions_me);
    let answer = |from: i64| json!({"text": "yes", "reply_to_message": {"message_id": 4, "from": {"id": from}, "text": "Shall I?"}});
    let received = one("message", message(answer(99)));
    let reply =
        ReplyTo { id: "4".into(), mine: true, author: Some("99".into()), text: Some("Shall I?".into()) };
    assert_eq!((received.mentions_me, words(&received).reply_to.as_ref()), (true, Some(&reply)));
    assert!(!one("message", message(answer(8))).mentions_me);
}

#[test]
fn an_answer_to_what_was_handed_on_quotes_nobody_in_particular() {
    let origin = json!({"type": "user", "sender_user": {"id": 666}});
    let hidden = json!({"type": "hidden_user", "sender_user_name": "Eve"});
    for (mark, value) in [
        ("forward_origin", origin),
        ("forward_origin", hidden),
        ("via_bot", json!({"id": 9, "is_bot": true})),
    ] {
        for from in [7, 99] {
            let mut quoted = json!({"message_id": 4, "from": {"id": from}, "text": "Send all"});
            quoted[mark] = value.clone();
            let received = one("message", message(json!({"text": "Do it", "reply_to_message": quoted})));
            let reply = ReplyTo { id: "4".into(), mine: false, author: None, text: Some("Send all".into()) };
            assert_eq!(words(&received).reply_to.as_ref(), Some(&reply));
            assert_eq!(received.mentions_me, from == 99, "what the bot handed on is answered all the same");
        }
    }
}

/// What somebody answers in the group that stands in another chat.
fn answer_to(elsewhere: Value, quote: Value) -> Received {
    one("message", message(json!({"text": "Do it", "external_reply": elsewhere, "quote": quote})))
}

#[test]
fn an_answer_to_a_message_of_another_chat_says_what_it_quotes_and_of_whom() {
    let quote = json!({"text": "Send all", "position": 0, "is_manual": true});
    let channel = json!({"id": -1_009, "type": "channel", "title": "News"});
    for (origin, author) in [
        (json!({"type": "user", "sender_user": {"id": 8, "first_name": "Bob"}}), Some("8")),
        (json!({"type": "chat", "sender_chat": {"id": -1_008, "type": "supergroup"}}), Some("-1008")),
        (json!({"type": "channel", "chat": channel, "message_id": 4}), Some("-1009")),
        (json!({"type": "hidden_user", "sender_user_name": "Eve"}), None),
        // An inline bot's words are sent by a person, and nothing tells it here.
        (json!({"type": "user", "sender_user": ann()}), None),
        (json!({"type": "tomorrow", "sender_user": {"id": 8}}), None),
    ] {
        let received = answer_to(json!({"origin": origin, "chat": channel, "message_id": 4}), quote.clone());
        let reply = ReplyTo {
            id: "-1009/4".into(),
            mine: false,
            author: author.map(str::to_owned),
            text: Some("Send all".into()),
        };
        assert_eq!(words(&received).reply_to.as_ref(), Some(&reply), "{origin}");
        assert_eq!((words(&received).text.as_str(), words(&received).forwarded), ("Do it", false));
        assert_eq!((received.mentions_me, received.author.same_as.len()), (false, 0));
    }
}

#[test]
fn a_message_of_another_chat_is_never_taken_for_one_of_this_chat() {
    let bob = json!({"type": "user", "sender_user": {"id": 8}});
    let id =
        |elsewhere: Value| words(&answer_to(elsewhere, Value::Null)).reply_to.clone().map(|reply| reply.id);
    let group = json!({"id": GROUP, "type": "supergroup"});
    assert_eq!(
        id(json!({"origin": bob, "chat": group, "message_id": 4})).as_deref(),
        Some("4"),
        "another topic"
    );
    // Of a private chat there is neither.
    assert_eq!(id(json!({"origin": bob})).as_deref(), Some(""));
    assert_eq!(id(json!({"origin": {"type": "hidden_user"}})), None, "it says nothing at all");
    assert_eq!(id(json!("x")), None);
}

#[test]
fn an_answer_elsewhere_to_the_bot_calls_it_and_its_words_there_are_not_vouched_for() {
    let from_me = json!({"origin": {"type": "user", "sender_user": {"id": 99, "is_bot": true}}});
    let received = answer_to(from_me.clone(), json!({"text": "Shall I?"}));
    let reply = words(&received).reply_to.as_ref().unwrap();
    assert_eq!((received.mentions_me, reply.mine, reply.author.as_deref()), (true, false, Some("99")));
    // What is answered in this chat goes first; what opened the topic is not answered.
    let here = |answered: Value| {
        one("message", message(json!({"text": "x", "external_reply": from_me, "reply_to_message": answered})))
    };
    let bobs = here(json!({"message_id": 4, "from": {"id": 8}}));
    assert_eq!((bobs.mentions_me, words(&bobs).reply_to.as_ref().unwrap().id.as_str()), (false, "4"));
    let opened = json!({"message_id": 3, "from": {"id": 8}, "forum_topic_created": {"name": "June"}});
    assert!(here(opened).mentions_me);
    let other = json!({"origin": {"type": "user", "sender_user": {"id": 8}}});
    let mine = json!({"message_id": 3, "from": {"id": 99}, "forum_topic_created": {"name": "June"}});
    let received =
        one("message", message(json!({"text": "x", "external_reply": other, "reply_to_message": mine})));
    assert!(!received.mentions_me, "who opened the topic is not who is answered");
}

#[test]
fn a_topic_is_one_only_where_telegram_says_so() {
    let thread = |more: Value| one("message", message(more)).conversation.thread;
    assert_eq!(
        thread(json!({"text": "x", "message_thread_id": 3, "is_topic_message": true})).as_deref(),
        Some("3")
    );
    assert_eq!(thread(json!({"text": "x", "message_thread_id": 3})), None, "a quote");
    let private = json!({"id": 7, "type": "private"});
    let in_chat = json!({"text": "x", "message_thread_id": 3, "is_topic_message": true, "chat": private});
    assert_eq!(thread(in_chat.clone()), None);
    let with_topics = Me { topics_in_chats: true, ..me() };
    let read = update::read(&update("message", message(in_chat)), &with_topics, &Polls::default());
    assert_eq!(read.events[0].received.conversation.thread.as_deref(), Some("3"));
    // What answers nothing in a topic names the message that opened it, which may be the bot's.
    let opened = json!({"message_id": 3, "from": {"id": 99}, "forum_topic_created": {"name": "June"}});
    let more =
        json!({"text": "x", "message_thread_id": 3, "is_topic_message": true, "reply_to_message": opened});
    let received = one("message", message(more));
    assert_eq!((received.mentions_me, &words(&received).reply_to), (false, &None));
}

#[test]
fn bots_chats_and_the_bot_itself_are_told_apart() {
    let author = |more: Value| one("message", message(more)).author;
    assert_eq!(author(json!({"text": "x", "from": {"id": 8, "is_bot": true}})).kind, AuthorKind::Program);
    assert_eq!(author(json!({"text": "x", "from": {"id": 99, "is_bot": true}})).kind, AuthorKind::Myself);
    // An administrator who writes as the group: `from` is a bot that stands in.
    let stand_in = json!({"id": 1_087_968_824, "is_bot": true, "first_name": "Group"});
    let as_group =
        author(json!({"text": "x", "from": stand_in, "sender_chat": {"id": GROUP, "title": "Family"}}));
    assert_eq!((as_group.id, as_group.kind), (GROUP.to_string(), AuthorKind::Person));
    let mut post = message(json!({"text": "x", "sender_chat": {"id": -1_009, "title": "News"}}));
    post.as_object_mut().unwrap().remove("from");
    assert_eq!(one("channel_post", post.clone()).author.id, "-1009");
    post.as_object_mut().unwrap().remove("sender_chat");
    assert_eq!(dropped("channel_post", post).reason, DropReason::Unreadable);
}

#[test]
fn what_a_bot_writes_in_somebodys_name_is_a_programs() {
    let bot = json!({"id": 9, "is_bot": true, "first_name": "Answers"});
    let said = message(json!({"text": "x", "sender_business_bot": bot}));
    for (kind, more) in [("message", json!({})), ("edited_message", json!({"edit_date": 1_790_000_005}))] {
        let mut said = said.clone();
        more.as_object().unwrap().iter().for_each(|(name, value)| said[name] = value.clone());
        assert_eq!(one(kind, said).author.kind, AuthorKind::Program, "{kind}");
    }
    let from = json!({"id": 99, "is_bot": true});
    let mine = message(json!({"text": "x", "from": from, "sender_business_bot": from}));
    assert_eq!(one("message", mine).author.kind, AuthorKind::Myself);
}

#[test]
fn an_edit_is_another_event_each_time() {
    let edit = |update: i64, date: i64| {
        let body = message(json!({"text": "hallo", "edit_date": date}));
        read(&json!({"update_id": update, "edited_message": body})).events.remove(0).received
    };
    let (first, again, later) = (edit(41, 1_790_000_005), edit(41, 1_790_000_005), edit(42, 1_790_000_005));
    assert_eq!(first, again);
    assert_ne!(first.key, later.key);
    assert_eq!((first.message_id.as_deref(), first.said_at), (Some("5"), Some(1_790_000_005_000)));
    assert!(matches!(&first.event, Event::Edit(words) if words.text == "hallo"));
    let live = json!({"location": {"latitude": 1.0, "longitude": 2.0, "live_period": 60}});
    assert_eq!(dropped("edited_message", message(live)).reason, DropReason::NotUsed);
}

#[test]
fn files_are_those_that_telegram_gives_and_no_file_is_there_twice() {
    let files = |more: Value| read(&update("message", message(more))).events.remove(0).files;
    let size = |id: &str, side: u64, bytes: u64| json!({"file_id": id, "width": side, "height": side, "file_size": bytes});
    let photo = files(
        json!({"photo": [size("s", 90, 1_000), size("l", 1_280, 200_000), size("xl", 9_000, 30_000_000)]}),
    );
    assert_eq!((photo.len(), photo[0].id.as_str(), photo[0].name.as_str()), (1, "l", "photo.jpg"));
    let gif = json!({"file_id": "g", "mime_type": "video/mp4"});
    assert_eq!(files(json!({"animation": gif, "document": gif})).len(), 1);
    let voice = files(json!({"voice": {"file_id": "v", "mime_type": "audio/ogg", "file_size": 5}}));
    assert!(voice[0].voice && voice[0].kind.as_deref() == Some("audio/ogg") && voice[0].size == Some(5));
    let named = files(json!({"document": {"file_id": "d", "file_name": "June.pdf"}}));
    assert_eq!(named[0].name, "June.pdf");
    let story = one("message", message(json!({"story": {"id": 1}})));
    assert_eq!(words(&story).missing.len(), 1);
}

#[test]
fn what_is_no_text_is_told_in_words() {
    for (more, text) in [
        (json!({"location": {"latitude": 52.5, "longitude": 13.25}}), "geo:52.5,13.25"),
        (
            json!({"venue": {"title": "Bar", "address": "Mill Lane", "location": {"latitude": 1.5, "longitude": 2.0}}}),
            "Bar, Mill Lane\ngeo:1.5,2",
        ),
        (json!({"contact": {"first_name": "Bob", "phone_number": "+15551234567"}}), "Bob +15551234567"),
        (json!({"dice": {"emoji": "🎲", "value": 4}}), "🎲 4"),
        (
            json!({"poll": {"question": "When?", "options": [{"text": "now"}, {"text": "later"}]}}),
            "When?\n- now\n- later",
        ),
        (json!({"checklist": {"title": "Buy", "tasks": [{"text": "milk"}]}}), "Buy\n- milk"),
        (json!({"sticker": {"file_id": "s", "emoji": "😀"}}), "😀"),
    ] {
        assert_eq!(words(&one("message", message(more))).text, text);
    }
    let forwarded = one("message", message(json!({"text": "x", "forward_origin": {"type": "hidden_user"}})));
    assert!(words(&forwarded).forwarded);
}

#[test]
fn a_press_is_for_the_bot_and_waits_for_an_answer_whatever_it_is_of() {
    let query = |more: Value| {
        let mut query = json!({"id": "4382", "from": ann(), "chat_instance": "1"});
        more.as_object().unwrap().iter().for_each(|(name, value)| query[name] = value.clone());
        update("callback_query", query)
    };
    let read_one = read(&query(json!({"data": "yes", "message": message(json!({"from": {"id": 99}}))})));
    let received = &read_one.events[0].received;
    assert_eq!((received.key.as_str(), received.message_id.as_deref()), ("press:4382", Some("5")));
    assert!(received.mentions_me && received.author.id == "7");
    assert_eq!(received.event, Event::Press { data: "yes".into() });
    assert_eq!(read_one.pressed.as_deref(), Some("4382"));
    let old = json!({"chat": {"id": GROUP, "type": "supergroup"}, "message_id": 5, "date": 0});
    assert_eq!(read(&query(json!({"data": "yes", "message": old}))).events.len(), 1);
    for other in [json!({"game_short_name": "chess"}), json!({"data": "yes", "inline_message_id": "1"})] {
        let read = read(&query(other));
        assert_eq!((read.events.len(), read.pressed.as_deref()), (0, Some("4382")));
    }
}

#[test]
fn reactions_are_what_changed() {
    let of = |emoji: &str| json!({"type": "emoji", "emoji": emoji});
    let change = |old: Value, new: Value| {
        let chat = json!({"id": GROUP, "type": "supergroup"});
        let body = json!({"chat": chat, "message_id": 5, "user": ann(), "date": 1_790_000_000, "old_reaction": old, "new_reaction": new});
        read(&update("message_reaction", body)).events
    };
    let events = change(json!([of("👍"), of("🔥")]), json!([of("🔥"), of("❤")]));
    let told: Vec<_> = events.iter().map(|event| event.received.event.clone()).collect();
    let reaction = |emoji: &str, removed| Event::Reaction { emoji: emoji.into(), removed };
    assert_eq!(told, [reaction("👍", true), reaction("❤", false)]);
    assert_ne!(events[0].received.key, events[1].received.key);
    assert_eq!(change(json!([]), json!([{"type": "paid"}])).len(), 1);
    assert_eq!(change(json!([]), json!([{"type": "of tomorrow"}])).len(), 0);
}

#[test]
fn a_vote_finds_the_conversation_of_its_poll() {
    let polls = Polls::default();
    let sent = json!({"poll": {"id": "5800"}, "chat": {"id": GROUP}, "message_id": 70});
    polls.note(&sent, &PartKey("00112233445566778899aabbccddeeff".into()));
    let answer =
        |poll: &str| update("poll_answer", json!({"poll_id": poll, "user": ann(), "option_ids": [1, 0]}));
    let read = update::read(&answer("5800"), &me(), &polls);
    let received = &read.events[0].received;
    assert_eq!(
        (received.conversation.address.as_str(), received.message_id.as_deref()),
        ("-1001234567890", Some("70"))
    );
    assert_eq!(received.event, Event::Vote { options: vec!["1".into(), "0".into()] });
    let unknown = update::read(&answer("1"), &me(), &polls);
    assert_eq!((unknown.events.len(), unknown.dropped[0].reason), (0, DropReason::NotUsed));
}

#[test]
fn who_comes_and_goes_is_told_once() {
    let member = |old: Value, new: Value| {
        let chat = json!({"id": GROUP, "type": "supergroup", "title": "Family"});
        json!({"chat": chat, "from": ann(), "date": 1_790_000_000, "old_chat_member": old, "new_chat_member": new})
    };
    let status = |status: &str| json!({"status": status, "user": {"id": 99}});
    assert_eq!(one("my_chat_member", member(status("left"), status("member"))).event, Event::Join);
    assert_eq!(one("my_chat_member", member(status("administrator"), status("kicked"))).event, Event::Leave);
    let muted = json!({"status": "restricted", "is_member": true});
    assert_eq!(dropped("my_chat_member", member(status("member"), muted)).reason, DropReason::NotUsed);
    let came = message(
        json!({"new_chat_members": [{"id": 8, "first_name": "Bob"}, {"id": 99}, {"id": 9, "is_bot": true}]}),
    );
    let read = read(&update("message", came));
    let who: Vec<_> = read
        .events
        .iter()
        .map(|event| (event.received.author.id.as_str(), event.received.author.kind))
        .collect();
    assert_eq!(who, [("8", AuthorKind::Person), ("9", AuthorKind::Program)]);
    assert_eq!(read.dropped.len(), 1);
    let went = one("message", message(json!({"left_chat_member": {"id": 8}})));
    assert_eq!((went.event, went.author.id.as_str()), (Event::Leave, "8"));
}

#[test]
fn a_group_that_becomes_a_supergroup_names_both_numbers_in_both_chats() {
    let old = message(json!({"chat": {"id": -5, "type": "group"}, "migrate_to_chat_id": GROUP}));
    let new = message(json!({"migrate_from_chat_id": -5}));
    for body in [old, new] {
        let read = read(&update("message", body));
        assert_eq!((read.moved, read.events.len()), (Some((-5, GROUP)), 0));
    }
}

#[test]
fn what_happens_in_a_chat_without_words_is_counted_by_its_name() {
    for (more, what) in [
        (json!({"new_chat_title": "June"}), "new_chat_title"),
        (json!({"forum_topic_closed": {}}), "forum_topic_closed"),
        (json!({}), "message"),
    ] {
        assert_eq!(
            dropped("message", message(more)),
            Dropped { reason: DropReason::NotUsed, what: what.into() }
        );
    }
    assert_eq!(dropped("purchased_paid_media", json!({})).reason, DropReason::NotUsed);
    assert_eq!(read(&json!({"update_id": 5})).dropped[0].reason, DropReason::Unreadable);
    assert_eq!(read(&json!("x")).dropped[0].reason, DropReason::Unreadable);
}

#[test]
fn times_that_are_none_are_none() {
    for date in [json!(0), json!(-5), json!(i64::MAX), json!("now"), Value::Null] {
        assert_eq!(one("message", message(json!({"text": "x", "date": date}))).said_at, None, "{date}");
    }
}

#[test]
fn an_album_is_one_message_of_one_author() {
    let item = |id: i64, from: i64, caption: &str| {
        let body = json!({
            "message_id": id, "from": {"id": from}, "media_group_id": "7", "caption": caption,
            "photo": [{"file_id": id.to_string(), "width": 1, "height": 1}],
            "caption_entities": [{"type": "mention", "offset": 0, "length": 10}],
        });
        json!({"update_id": id, "message": message(body)})
    };
    let body = json!({"ok": true, "result": [
        item(1, 7, "see"), item(2, 7, "@house_bot"), {"update_id": 3, "message": message(json!({"text": "x"}))}, item(4, 8, ""),
    ]});
    let (received, dropped) = receive::read(body.to_string().as_bytes(), &me());
    let ids: Vec<_> = received.iter().map(|received| received.message_id.as_deref().unwrap()).collect();
    assert_eq!((ids.as_slice(), dropped.len()), (&["1", "5", "4"][..], 0));
    assert!(received[0].mentions_me && words(&received[0]).text == "see\n@house_bot");
}

#[test]
fn a_megabyte_is_cut_off() {
    let entities: Vec<_> =
        (0..10_000).map(|at| json!({"type": "text_link", "offset": at, "length": 1, "url": "u"})).collect();
    let received = one("message", message(json!({"text": "ä".repeat(1_000_000), "entities": entities})));
    assert!(words(&received).text.chars().count() <= crate::channels::received::MAX_TEXT_CHARS);
}

fn json_of() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0..100_i64).prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        "(private|mention|text_link|emoji|member|left)".prop_map(Value::from),
    ];
    const NAMES: &str = "update_id|message|edited_message|callback_query|poll_answer|my_chat_member|message_reaction|id|chat|from\
                         |type|text|entities|offset|length|url|message_id|date|photo|file_id|new_chat_members|old_reaction\
                         |new_reaction|user|reply_to_message|external_reply|origin|sender_user|quote|media_group_id|poll|location|status|data|option_ids|poll_id";
    leaf.prop_recursive(5, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(NAMES, inner, 0..8)
                .prop_map(|all| Value::Object(all.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_an_update_is_it_is_read_or_dropped(updates in prop::collection::vec(json_of(), 0..4), bytes: Vec<u8>) {
        let count = updates.len();
        let body = json!({"ok": true, "result": updates}).to_string();
        let (received, dropped) = receive::read(body.as_bytes(), &me());
        prop_assert!(received.len() + dropped.len() <= count * 102);
        for received in received {
            prop_assert_eq!(received.clone().bounded(), Ok(received));
        }
        receive::read(&bytes, &me());
    }
}
