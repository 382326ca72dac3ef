//! Files that go along: refused at once, or in one request, or one after the other.

use super::*;
use crate::{
    channels::received::{Author, Conversation, Event, Received, Words},
    people::{People, Person},
    pipeline::strangers_files::AT_ONCE,
    policy::{self, Allowlist},
    receiving::account::AccountHandle,
    router::{Route, Routing, UnknownSenders},
};

fn files(files: Value) -> Value {
    let mut call = json!({"to": "one:ann", "message": "Hello", "attachments": files});
    if call["attachments"][0]["name"] == "mute" {
        call.as_object_mut().unwrap().remove("message");
    }
    call
}

#[tokio::test]
async fn files_of_strangers_have_some_places_and_those_of_people_who_are_known_as_many_as_come() {
    let (directory, one, two) = platforms();
    let fixture = Fixture::open(directory.path(), &one, &two).await;
    let ann = Person { name: "ann".into(), scope: policy::Scope::Known };
    let people = People::new([(ann, vec!["one:1".to_owned()])]).unwrap();
    let route = |from: &str, unknown| Route {
        from: Allowlist::parse([from.to_owned()]).unwrap(),
        unknown: Some(unknown),
        ..Route::granted("courier", from)
    };
    let routes =
        vec![route("one:there", UnknownSenders::Public), route("one:closed", UnknownSenders::Strict)];
    let routing = Arc::new(Routing { people, routes, ..Routing::default() });
    let pipeline = fixture.pipeline.reconfigured(|shared| shared.routing = routing);
    let hub = AccountHandle::of(&Current::new(pipeline), "one", "home");
    let by = |id: &str| Received {
        key: id.into(),
        conversation: Conversation { address: "there".into(), ..Conversation::default() },
        author: Author { id: id.into(), ..Author::default() },
        message_id: None,
        said_at: None,
        mentions_me: false,
        event: Event::Message(Words::default()),
    };
    let mut strangers = Vec::new();
    for n in 0..AT_ONCE {
        strangers.push(hub.place_for_files(&by(&format!("stranger-{n}"))).await.unwrap());
    }
    assert!(hub.place_for_files(&by("stranger")).await.is_none());
    for _ in 0..2 * AT_ONCE {
        strangers.push(hub.place_for_files(&by("1")).await.expect("somebody known waits for strangers"));
    }
    strangers.clear();
    assert!(hub.place_for_files(&by("stranger")).await.is_some());
    // Where nobody reads what a stranger writes, their files are for nobody.
    for address in ["closed", "elsewhere"] {
        for (who, is_read) in [("stranger", false), ("1", true)] {
            let mut one = by(who);
            one.conversation.address = address.into();
            assert_eq!(hub.place_for_files(&one).await.is_some(), is_read, "{who} {address}");
        }
    }
    fixture.close().await;
}

#[tokio::test]
async fn a_channel_without_files_refuses_them_at_the_door_and_one_with_files_what_is_too_large_for_it() {
    let (_directory, _, fixture) = Fixture::of(Platform::default()).await;
    let refused = hand_in(&fixture, files(json!([{"base64": "aGk="}]))).await.unwrap_err();
    assert_eq!((refused.reason, refused.error.as_str()), (Some("not_supported"), "test has no files"));
    assert!(refused.hint.contains("link"), "{}", refused.hint);
    fixture.close().await;

    let (_directory, _, fixture) = Fixture::of(captioning()).await;
    for sizes in [&[12][..], &[9, 9]] {
        let large = sizes.iter().map(|n| json!({"base64": "eHh4".repeat(n / 3)})).collect();
        let refused = hand_in(&fixture, files(large)).await.unwrap_err();
        assert_eq!((refused.code.word(), refused.reason), ("too_large", Some("files")), "{sizes:?}");
    }
    let listed = fixture.pipeline.outbox().list(crate::outbox::Filter { limit: 9, ..Default::default() });
    assert!(listed.await.unwrap().is_empty());
    fixture.close().await;
}

#[tokio::test]
async fn files_follow_the_text_each_with_its_caption_or_behind_one_that_is_too_long_for_it() {
    let (_directory, one, fixture) = Fixture::of(captioning()).await;
    let long = "word ".repeat(30);
    let call = files(json!([
        {"base64": "eA==", "name": "a", "caption": "*A*"},
        {"base64": "eA==", "name": "b", "caption": long},
        {"base64": "eA==", "name": "c"},
    ]));
    let receipt = hand_in(&fixture, call).await.unwrap();
    let seq = fixture.pipeline.outbox().find(&receipt.id.0).await.unwrap().unwrap().seq;
    assert_eq!(fixture.end(seq).await.state, State::Sent);
    let heard = one.heard("ann");
    assert_eq!(heard[..2], ["[courier] Hello", "A<a>"]);
    assert_eq!(heard[2..heard.len() - 2].join(" "), long.trim());
    assert!(heard.len() > 5, "{heard:?}");
    assert_eq!(heard[heard.len() - 2..], ["<b>", "<c>"]);
    fixture.close().await;
}

#[tokio::test]
async fn what_is_shown_together_goes_in_one_request_but_for_what_has_words_of_its_own() {
    let (_directory, one, fixture) = Fixture::of(captioning()).await;
    let file = |name: &str| json!({"base64": "eA==", "name": name});
    let mut list: Vec<Value> = (1..=5).map(|n| file(&format!("picture{n}"))).collect();
    list[0]["caption"] = json!("A");
    list.extend([file("other"), file("picture6"), file("picture7")]);
    list[6]["caption"] = json!("B");
    let receipt = hand_in(&fixture, files(json!(list))).await.unwrap();
    let seq = fixture.pipeline.outbox().find(&receipt.id.0).await.unwrap().unwrap().seq;
    assert_eq!(fixture.end(seq).await.state, State::Sent);
    let expected = [
        "[courier] Hello",
        "A<picture1><picture2><picture3>",
        "<picture4><picture5>",
        "<other>",
        "B<picture6><picture7>",
    ];
    assert_eq!(one.heard("ann"), expected);
    fixture.close().await;
}

#[tokio::test]
async fn without_a_text_whose_it_is_stands_at_the_first_file() {
    for (form, expected) in [
        (FileForm::Captioned, &["[courier]<mute>", "B<b>"][..]),
        (FileForm::Together, &["[courier]\n\nb: B<mute><b>"]),
    ] {
        let platform = Platform { files: Some(form), ..Platform::default() };
        let (_directory, one, fixture) = Fixture::of(platform).await;
        let call = files(json!([
            {"base64": "eA==", "name": "mute"}, {"base64": "eQ==", "name": "b", "caption": "B"},
        ]));
        let receipt = hand_in(&fixture, call).await.unwrap();
        let seq = fixture.pipeline.outbox().find(&receipt.id.0).await.unwrap().unwrap().seq;
        assert_eq!(fixture.end(seq).await.state, State::Sent);
        assert_eq!(one.heard("ann"), expected);
        fixture.close().await;
    }
}
