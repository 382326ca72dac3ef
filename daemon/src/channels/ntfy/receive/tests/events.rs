//! Lines, read without asking anybody.

use serde_json::{Value, json};

use crate::channels::{
    ntfy::receive::event::{Draft, Line, read},
    received::{AuthorKind, DropReason, Event, Received},
};

fn said(value: &Value) -> Result<Draft, (DropReason, String)> {
    match read(value.to_string().as_bytes(), &["kitchen".to_owned(), "garden".to_owned()]) {
        Line::Said(draft) => Ok(*draft),
        Line::Dropped(dropped) => Err((dropped.reason, dropped.what)),
        other => panic!("{other:?}"),
    }
}

fn message(more: Value) -> Value {
    let mut message = json!({
        "id": "hwQ2YpKdmgab", "time": 1_790_000_000, "expires": 1_790_043_200, "event": "message", "topic": "kitchen",
        "message": "Disk full",
    });
    more.as_object().unwrap().iter().for_each(|(name, value)| message[name] = value.clone());
    message
}

fn text(more: Value) -> String {
    said(&message(more)).unwrap().received.event.words().unwrap().text.clone()
}

#[test]
fn a_message_is_a_strangers_in_its_topic() {
    let Draft { time, received, .. } = said(&message(json!({}))).unwrap();
    let Received { key, conversation, author, message_id, said_at, mentions_me, event } = received;
    assert_eq!((key.as_str(), message_id.as_deref()), ("kitchen:hwQ2YpKdmgab", Some("hwQ2YpKdmgab")));
    assert_eq!(
        (conversation.address.as_str(), conversation.direct, conversation.thread),
        ("kitchen", false, None)
    );
    assert_eq!((author.kind, author.unverified, author.id.as_str()), (AuthorKind::Person, true, "kitchen"));
    assert_eq!((time, said_at, mentions_me), (Some(1_790_000_000), Some(1_790_000_000_000), false));
    assert_eq!(event.words().unwrap().text, "Disk full");
}

#[test]
fn what_a_person_is_shown_beside_the_text_is_told_a_line_each() {
    let all = json!({
        "title": "Backup", "priority": 5, "tags": ["warning", "skull"], "click": "https://example.org/run/7",
        "icon": "https://example.org/icon.png", "actions": [{"action": "view", "label": "Open"}],
    });
    let shown = "Backup\nDisk full\npriority: 5 of 5\ntags: warning, skull\nlink: https://example.org/run/7";
    assert_eq!(text(all), shown);
    assert_eq!(text(json!({"title": "Disk", "priority": 3})), "Disk full", "the title is in the text");
    assert_eq!(text(json!({"title": "Only", "message": " "})), "Only");
    for odd in
        [json!({"priority": 9}), json!({"priority": "high"}), json!({"tags": "warning"}), json!({"title": 5})]
    {
        assert_eq!(text(odd), "Disk full");
    }
}

#[test]
fn an_update_is_a_message_and_a_removal_names_its_sequence() {
    let update = said(&message(json!({"id": "second", "sequence_id": "download-7"}))).unwrap().received;
    assert_eq!((update.message_id.as_deref(), update.key.as_str()), (Some("download-7"), "kitchen:second"));
    let removal = json!({"event": "message_delete", "sequence_id": "download-7", "message": null});
    let removal = said(&message(removal)).unwrap().received;
    assert_eq!((removal.event, removal.message_id.as_deref()), (Event::Delete, Some("download-7")));
    assert!(removal.author.unverified);
}

#[test]
fn a_file_of_the_server_is_fetched_by_its_name_there_and_one_elsewhere_is_named_alone() {
    let file = |url: &str, expires: Value| {
        let attachment =
            json!({"name": "cat.jpg", "type": "image/jpeg", "size": 12, "expires": expires, "url": url});
        said(&message(json!({ "attachment": attachment }))).unwrap()
    };
    let own = file("https://ntfy.example.org/file/Kd81mSkeoPA2.jpg", json!(1_790_010_000)).file.unwrap();
    assert_eq!((own.file.as_str(), own.name.as_str(), own.size), ("Kd81mSkeoPA2.jpg", "cat.jpg", Some(12)));
    let elsewhere = [
        ("http://192.168.1.1/admin/reboot", json!(null)),
        ("http://192.168.1.1/file/a.jpg", json!(null)),
        ("http://192.168.1.1/admin/a.jpg", json!(1_790_010_000)),
        ("http://h/file/..", json!(1)),
        ("http://h/file/a?b=c", json!(1)),
        ("http://h/file/", json!(1)),
        ("file", json!(1)),
    ];
    for (url, expires) in elsewhere {
        let draft = file(url, expires);
        assert_eq!(draft.file, None, "{url}");
        let words = draft.received.event.words().unwrap().text.clone();
        assert_eq!(words, format!("Disk full\nfile, not fetched: {url}"));
    }
    let alone =
        json!({"message": "", "attachment": {"url": "https://h/file/a.jpg", "expires": 1, "name": ""}});
    assert_eq!(said(&message(alone)).unwrap().file.unwrap().name, "a.jpg");
}

#[test]
fn what_is_no_message_is_counted_by_its_kind() {
    use DropReason::{NotUsed, Unreadable};
    for (line, reason, what) in [
        (json!(5), Unreadable, "line"),
        (json!({}), Unreadable, "line"),
        (json!({"event": 5}), Unreadable, "line"),
        (json!({"event": "message"}), NotUsed, "message without words"),
        (json!({"event": "poll_request"}), NotUsed, "poll_request"),
        (json!({"event": "message_clear"}), NotUsed, "message_clear"),
        (json!({"event": "e\n".repeat(100)}), NotUsed, &*"e".repeat(40)),
        (message(json!({"message": null})), NotUsed, "message without words"),
        (message(json!({"encoding": "base64"})), NotUsed, "message in base64"),
        (message(json!({"id": ""})), Unreadable, "message"),
        (message(json!({"id": 5})), Unreadable, "message"),
        (message(json!({"topic": "cellar"})), Unreadable, "message"),
        (message(json!({"topic": null})), Unreadable, "message"),
        (json!({"event": "message_delete", "topic": "kitchen"}), Unreadable, "delete"),
    ] {
        assert_eq!(said(&line), Err((reason, what.to_owned())), "{line}");
    }
    for bytes in [&b"<html>"[..], b"\xff\xfe", b"{\"event\":", &b"[".repeat(100_000)] {
        let Line::Dropped(dropped) = read(bytes, &[]) else { panic!("{bytes:?}") };
        assert_eq!((dropped.reason, dropped.what.as_str()), (Unreadable, "line"));
    }
}

#[test]
fn no_time_breaks_anything() {
    for (time, said_at) in [
        (json!(null), None),
        (json!("now"), None),
        (json!(i64::MAX), Some(i64::MAX)),
        (json!(-5), Some(-5000)),
    ] {
        assert_eq!(said(&message(json!({ "time": time }))).unwrap().received.said_at, said_at);
    }
}

#[test]
fn the_account_knows_what_it_published_by_topic_title_and_text() {
    let draft = said(&message(json!({"title": "Disk full"}))).unwrap();
    let request = |topic: &str, title: &str, message: &str| {
        draft.is_of(&json!({"topic": topic, "title": title, "message": message, "priority": 3}))
    };
    assert!(request("kitchen", "Disk full", "Disk full\n"));
    for (topic, title, message) in
        [("garden", "Disk full", "Disk full"), ("kitchen", "", "Disk full"), ("kitchen", "Disk full", "Disk")]
    {
        assert!(!request(topic, title, message));
    }
    assert!(!draft.is_of(&json!({"topic": "kitchen"})));
}
