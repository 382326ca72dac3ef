//! Activities, read without asking anybody.

use serde_json::{Value, json};

use super::{
    super::activity::{self, Draft},
    in_channel, message,
};
use crate::channels::received::{AuthorKind, DropReason, Event, MAX_FILES, Received, Words};

fn drafts(activity: &Value) -> Vec<Draft> {
    activity::read(activity, "app-1").unwrap()
}

fn received(activity: &Value) -> Received {
    let mut drafts = drafts(activity);
    assert_eq!(drafts.len(), 1, "{drafts:?}");
    drafts.remove(0).received.bounded().unwrap()
}

fn words(activity: &Value) -> Words {
    received(activity).event.words().unwrap().clone()
}

fn dropped(activity: &Value) -> (DropReason, String) {
    let dropped = activity::read(activity, "app-1").unwrap_err();
    (dropped.reason, dropped.what)
}

#[test]
fn a_message_is_its_authors_in_the_conversation_that_the_bot_answers_in() {
    let Received { key, conversation, author, message_id, said_at, mentions_me, event } =
        received(&message(json!({})));
    assert_eq!((key.as_str(), message_id.as_deref()), ("a:1abcdef#:1700000000001", Some("1700000000001")));
    assert_eq!((conversation.address.as_str(), conversation.direct), ("a:1abcdef", true));
    assert_eq!((conversation.thread, conversation.title), (None, None));
    assert_eq!(
        (author.id.as_str(), author.name.as_deref(), author.kind),
        ("29:1ann", Some("Ann Lee"), AuthorKind::Person)
    );
    assert_eq!(author.same_as, ["0de69e5e-2da8-4cf2-821f-5e6585b2c65b"]);
    assert_eq!((said_at, mentions_me), (Some(1_772_366_400_500), false));
    assert_eq!(event, Event::Message(Words { text: "Is the oven on?".into(), ..Words::default() }));
}

#[test]
fn in_a_channel_a_post_is_a_thread_with_its_title_and_a_call_is_typed() {
    let heard = received(&in_channel(json!({})));
    assert_eq!(heard.conversation.address, "19:abc@thread.tacv2");
    assert_eq!(heard.conversation.thread.as_deref(), Some("1700000000000"));
    assert_eq!(heard.conversation.title.as_deref(), Some("House / Kitchen"));
    assert!(heard.mentions_me && !heard.conversation.direct);
    assert_eq!(heard.event.words().unwrap().text, "is the oven on?");
    // The message with which a conversation begins, as some clients tell it.
    let root = json!({"conversation": {"id": "19:abc@thread.tacv2", "conversationType": "channel"}});
    let root = &drafts(&in_channel(root))[0];
    assert_eq!(root.received.conversation.thread.as_deref(), Some("1700000000001"));
    assert_eq!(root.root, None, "it answers nobody");
    assert_eq!(drafts(&in_channel(json!({})))[0].root.as_deref(), Some("1700000000000"));

    // A name in the text is no call, and a call of somebody else is a name.
    let others = json!({
        "text": "<at>Gatepost</at> said <at>Ann</at> &lt;Gatepost&gt;&nbsp;&amp; co",
        "entities": [
            {"type": "mention", "text": "<at>Gatepost</at>", "mentioned": {"id": "29:other", "name": "Gatepost"}},
            {"type": "mention", "text": "<at>Ann</at>", "mentioned": {"id": "29:1ann"}},
        ],
    });
    let heard = received(&in_channel(others));
    assert!(!heard.mentions_me);
    assert_eq!(heard.event.words().unwrap().text, "@Gatepost said @Ann <Gatepost> & co");
}

#[test]
fn what_a_message_quotes_is_an_answer_and_no_text() {
    let entity = json!({
        "text": "<quoted messageId=\"1699\"/> yes",
        "entities": [{"type": "quotedReply", "quotedReply": {
            "messageId": "1699", "senderId": "28:app-1", "senderName": "Gatepost", "preview": "On?", "validatedMessageReference": true,
        }}],
    });
    let said = words(&message(entity.clone()));
    let reply = said.reply_to.unwrap();
    assert_eq!((said.text.as_str(), reply.id.as_str(), reply.mine), ("yes", "1699", true));
    assert_eq!((reply.author.as_deref(), reply.text.as_deref()), (Some("28:app-1"), Some("On?")));
    for (member, value, is_answer) in
        [("isReplyDeleted", json!(true), true), ("validatedMessageReference", json!(false), false)]
    {
        let mut entity = entity.clone();
        entity["entities"][0]["quotedReply"][member] = value;
        let reply = words(&message(entity)).reply_to;
        assert_eq!(reply.is_some(), is_answer, "{member}");
        assert!(reply.is_none_or(|reply| reply.text.is_none()), "what is gone is not quoted");
    }
    let page = "<div><blockquote itemscope itemtype=\"http://schema.skype.com/Reply\" itemid=\"1698\"><strong itemprop=\"mri\" \
                itemid=\"8:orgid:x\">Bob</strong><p itemprop=\"preview\">Who is?</p></blockquote>\
                <p><span itemtype=\"http://schema.skype.com/Mention\" itemid=\"0\">Gatepost</span>&nbsp;I am</p></div>";
    let html = json!({"attachments": [{"contentType": "text/html", "content": page}], "text": "Bob\nWho is?\n\n<at>Gatepost</at> I am"});
    let said = words(&in_channel(html));
    let reply = said.reply_to.unwrap();
    assert_eq!((said.text.as_str(), reply.id.as_str(), reply.mine), ("I am", "1698", false));
    assert_eq!(reply.text.as_deref(), Some("Who is?"));
}

#[test]
fn what_is_handed_on_stands_apart_and_is_marked_as_forwarded() {
    let block = "<blockquote itemscope itemtype=\"http://schema.skype.com/Forward\" itemid=\"16\">\
                 <strong itemprop=\"mri\" itemid=\"8:orgid:eve\">Eve</strong><p itemprop=\"preview\">Wire it</p></blockquote>";
    for (own, says) in [("<p>See below</p>", "See below\n\n> Wire it"), ("", "Wire it")] {
        let page = json!([{"contentType": "text/html", "content": format!("{own}{block}")}]);
        let said = words(&message(json!({"text": "See below Wire it", "attachments": page})));
        assert_eq!((said.text.as_str(), said.forwarded, said.reply_to), (says, true, None));
    }
    let reference = json!([{"contentType": "forwardedMessageReference", "content": "{}"}]);
    assert!(words(&message(json!({"text": "Wire it", "attachments": reference}))).forwarded);
    assert!(!words(&message(json!({"text": "Wire it"}))).forwarded);
}

#[test]
fn only_the_authors_own_words_call_the_bot() {
    let call = r#"<span itemscope itemtype="http://schema.skype.com/Mention" itemid="0">Gatepost</span>"#;
    let quote = |words: &str| {
        format!(
            r#"<blockquote itemscope itemtype="http://schema.skype.com/Reply" itemid="1698"><strong itemprop="mri" itemid="8:orgid:x">Bob</strong><p itemprop="preview">{words}</p></blockquote>"#
        )
    };
    let forward = format!(
        r#"<blockquote itemscope itemtype="http://schema.skype.com/Forward" itemid="16"><p itemprop="preview">{call} wire it</p></blockquote>"#
    );
    for (page, is_called) in [
        (format!("{}<p>I am</p>", quote(&format!("{call} who is?"))), false),
        (format!("{}<p>{call} I am</p>", quote(&format!("{call} who is?"))), true),
        (format!("{}<p>{call} I am</p>", quote("who is?")), true),
        (format!("{forward}<p>No.</p>"), false),
        (format!("{forward}<p>{call} no.</p>"), true),
        (format!("<p>{call} I am</p>"), true),
    ] {
        let html = json!({"attachments": [{"contentType": "text/html", "content": page}], "text": "<at>Gatepost</at> I am"});
        assert_eq!(received(&in_channel(html)).mentions_me, is_called, "{page}");
    }
    // As newer clients quote.
    for (text, is_called) in [
        ("<quoted messageId=\"1699\"/> yes", false),
        ("<quoted messageId=\"1699\"/> <at>Gatepost</at> yes", true),
    ] {
        let entities = json!([
            {"type": "quotedReply", "quotedReply": {"messageId": "1699", "senderId": "29:1", "preview": "Gatepost?"}},
            {"type": "mention", "text": "<at>Gatepost</at>", "mentioned": {"id": "28:app-1", "name": "Gatepost"}},
        ]);
        let said = received(&in_channel(json!({"text": text, "entities": entities})));
        assert_eq!(said.mentions_me, is_called, "{text}");
    }
}

#[test]
fn an_edit_is_told_once_for_each_of_its_words_and_without_files() {
    let edited = |text: &str| {
        message(json!({
            "type": "messageUpdate", "text": text, "channelData": {"eventType": "editMessage"},
            "attachments": [{"contentType": "reference", "name": "a.pdf"}],
        }))
    };
    let one = received(&edited("one"));
    assert_eq!(one.event, Event::Edit(Words { text: "one".into(), ..Words::default() }));
    assert_eq!(one.message_id.as_deref(), Some("1700000000001"));
    assert_eq!(one.key, received(&edited("one")).key);
    assert_ne!(one.key, received(&edited("two")).key);
    let other = message(json!({"type": "messageUpdate", "channelData": {"eventType": "linkPreview"}}));
    assert_eq!(dropped(&other), (DropReason::NotUsed, "messageUpdate linkPreview".into()));
    let gone = message(
        json!({"type": "messageDelete", "text": null, "channelData": {"eventType": "softDeleteMessage"}}),
    );
    let gone = received(&gone);
    assert_eq!((gone.event, gone.message_id.as_deref()), (Event::Delete, Some("1700000000001")));
}

#[test]
fn a_reaction_is_one_to_the_message_that_it_names() {
    let all = drafts(&message(json!({
        "type": "messageReaction", "id": "f:1", "replyToId": "1699", "text": null,
        "reactionsAdded": [{"type": "like"}], "reactionsRemoved": [{"type": "1f440_eyes"}, {"kind": "x"}],
    })));
    let event = |n: usize| all[n].received.event.clone();
    assert_eq!(event(0), Event::Reaction { emoji: "👍".into(), removed: false });
    assert_eq!(event(1), Event::Reaction { emoji: "👀".into(), removed: true });
    assert!(all.len() == 2 && all.iter().all(|one| one.received.message_id.as_deref() == Some("1699")));
    assert_ne!(all[0].received.key, all[1].received.key);
    let none = json!({"type": "messageReaction", "replyToId": "1699"});
    assert_eq!(dropped(&message(none)), (DropReason::Unreadable, "messageReaction".into()));
}

#[test]
fn a_press_a_choice_and_what_was_entered_belong_to_the_card() {
    let pressed =
        |value: Value| received(&message(json!({"text": null, "replyToId": "1699", "value": value})));
    let press = pressed(json!({"gatepost": "again"}));
    assert_eq!(press.event, Event::Press { data: "again".into() });
    assert_eq!((press.message_id.as_deref(), press.mentions_me), (Some("1699"), true));
    assert_eq!(press.key, "a:1abcdef#:1700000000001", "it is known again by its own id");
    let vote = |answer: &str| pressed(json!({"gatepost": "poll", "answer": answer})).event;
    assert_eq!(vote("0,2"), Event::Vote { options: vec!["1".into(), "3".into()] });
    assert_eq!(vote(""), Event::Vote { options: vec![] });
    let Event::Entry(entry) = pressed(json!({"x": 1, "why": "because", "sure": true, "msteams": {}})).event
    else {
        panic!("it is an entry");
    };
    assert_eq!((entry.form.as_str(), entry.by.as_str(), entry.name.as_str()), ("card", "29:1ann", "Ann Lee"));
    assert_eq!(entry.message.as_deref(), Some("1699"));
    assert_eq!(json!(entry.values), json!({"x": "1", "why": "because", "sure": "true"}));
    let Event::Entry(entry) = pressed(json!({"gatepost": "save", "why": "x".repeat(9_000)})).event else {
        panic!("it is an entry");
    };
    assert_eq!((entry.form.as_str(), entry.values["why"].len()), ("save", 4_000));
    let nowhere = message(json!({"text": "", "value": {"gatepost": "x"}}));
    assert_eq!(dropped(&nowhere), (DropReason::Unreadable, "press".into()));
}

#[test]
fn who_comes_and_goes_is_told_and_the_bot_itself_once() {
    let changed = |more: Value| {
        let mut activity =
            in_channel(json!({"type": "conversationUpdate", "id": "f:2", "text": null, "entities": []}));
        more.as_object().unwrap().iter().for_each(|(name, value)| activity[name] = value.clone());
        activity
    };
    let all = drafts(&changed(json!({
        "membersAdded": [{"id": "29:2bob", "aadObjectId": "b"}, {"id": "28:app-1"}, {"name": "nobody"}],
        "membersRemoved": [{"id": "29:3eve"}],
    })));
    let who: Vec<_> =
        all.iter().map(|one| (one.received.author.id.as_str(), one.received.event.clone())).collect();
    assert_eq!(who, [("29:2bob", Event::Join), ("29:3eve", Event::Leave)]);
    let mine = changed(
        json!({"membersAdded": [{"id": "28:app-1"}], "channelData": {"eventType": "teamMemberAdded"}}),
    );
    assert_eq!(dropped(&mine), (DropReason::NotUsed, "conversationUpdate teamMemberAdded".into()));
    let installed = |action: &str| changed(json!({"type": "installationUpdate", "action": action}));
    let added = received(&installed("add"));
    assert_eq!((added.author.id.as_str(), added.event), ("29:1ann", Event::Join));
    assert_eq!(received(&installed("remove")).event, Event::Leave);
    assert_eq!(dropped(&installed("add-upgrade")).0, DropReason::NotUsed);
}

#[test]
fn its_own_and_other_bots_words_are_marked_and_call_nobody() {
    let by = |from: Value| received(&in_channel(json!({"from": from})));
    assert_eq!(by(json!({"id": "28:app-1", "name": "Gatepost"})).author.kind, AuthorKind::Myself);
    assert!(!by(json!({"id": "28:app-1"})).mentions_me);
    for program in [json!({"id": "28:other"}), json!({"id": "x", "role": "bot"})] {
        assert_eq!(by(program.clone()).author.kind, AuthorKind::Program, "{program}");
    }
    // Another bot's id is not this one's, whatever begins alike.
    assert_eq!(by(json!({"id": "28:app-11"})).author.kind, AuthorKind::Program);
}

#[test]
fn what_is_of_no_use_is_counted_and_what_cannot_be_answered_unreadable() {
    let unreadable = |more: Value| {
        let what = dropped(&message(more.clone()));
        assert_eq!(what.0, DropReason::Unreadable, "{more}: {what:?}");
    };
    for more in [
        json!({"type": null}),
        json!({"from": null}),
        json!({"id": null}),
        json!({"id": "a b"}),
        json!({"conversation": null}),
        json!({"conversation": {"id": "29:1ann"}}),
        json!({"conversation": {"id": "19:abc@thread.tacv2;messageid="}}),
        json!({"conversation": {"id": "19:abc@thread.tacv2;messageid=1/../2"}}),
    ] {
        unreadable(more);
    }
    for (more, what) in [
        (json!({"type": "typing"}), "typing"),
        (json!({"type": "invoke", "name": "adaptiveCard/action"}), "invoke adaptiveCard/action"),
        (json!({"type": "event", "name": "x"}), "event"),
        (
            json!({"text": " ", "attachments": [{"contentType": "text/html", "content": "<p></p>"}]}),
            "message without words",
        ),
    ] {
        assert_eq!(dropped(&message(more)), (DropReason::NotUsed, what.into()));
    }
    let long = format!("x{}", "é".repeat(400));
    assert_eq!(dropped(&message(json!({"type": long}))).1.chars().count(), 60);
}

#[test]
fn files_are_as_many_as_are_kept_and_the_others_are_said_to_be_missing() {
    let file = |n: usize| {
        json!({
            "contentType": "application/vnd.microsoft.teams.file.download.info", "name": format!("{n}.txt"),
            "content": {"downloadUrl": "https://c.sharepoint.com/x?tempauth=hush", "fileType": "txt"},
        })
    };
    let mut all: Vec<Value> = (0..MAX_FILES + 2).map(file).collect();
    all.push(json!({"contentType": "reference", "name": "plan.pdf", "contentUrl": "https://c.sharepoint.com/plan.pdf"}));
    all.push(json!({"contentType": "application/vnd.microsoft.card.adaptive", "content": {}}));
    let draft = &drafts(&message(json!({"attachments": all, "text": null})))[0];
    assert_eq!(draft.files.len(), MAX_FILES);
    assert!(!format!("{draft:?}").contains("hush"));
    let missing = &draft.received.event.words().unwrap().missing;
    assert_eq!(missing.len(), 3);
    assert!(
        missing[0].starts_with("16.txt: more files") && missing[2].starts_with("plan.pdf: Teams hands"),
        "{missing:?}"
    );
}
