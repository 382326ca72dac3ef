//! Notifications of Meta's, and what the account asks Meta for because of them.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use gatepost_link::Digest;
use ring::hmac;
use serde_json::{Value, json};

use crate::{
    channels::{
        Receiver as _,
        callback::CallbackRefused,
        kit::http::base::Base,
        received::{Author, Dropped, Event, Received, not_used, unreadable},
        testing::{
            http::{Mock, Reply, body, http},
            hub::HubMock,
            sample::Files,
        },
        whatsapp::{CallbackEndpoint, WhatsApp, graph::Graph, receive::cloud},
    },
    message::target::Target,
    random::to_hex,
    settings::secret::Secret,
};

const NUMBER: &str = "106540352242922";
const OWN: &str = "+49 151 12345678";
const ANNA: &str = "4915112345679";
const USER: &str = "DE.13491208655302741918";

/// A notification of these messages, from Anna.
fn told(messages: Value) -> Value {
    let metadata = json!({"display_phone_number": OWN, "phone_number_id": NUMBER});
    let contacts = json!([{"profile": {"name": " Anna "}, "wa_id": ANNA, "user_id": USER}]);
    let value = json!({"messaging_product": "whatsapp", "metadata": metadata, "contacts": contacts, "messages": messages});
    json!({"object": "whatsapp_business_account", "entry": [{"id": "1", "changes": [{"field": "messages", "value": value}]}]})
}

/// A message of Anna's, who has a number and a user's id.
fn one(id: &str, more: Value) -> Value {
    let mut message = json!({"from": ANNA, "from_user_id": USER, "id": id, "timestamp": "1749416383"});
    more.as_object().unwrap().iter().for_each(|(name, value)| message[name] = value.clone());
    message
}

fn read(body: &Value) -> (Vec<Received>, Vec<Dropped>) {
    cloud::read(body.to_string().as_bytes(), NUMBER)
}

fn event(more: Value) -> Received {
    let (mut received, dropped) = read(&told(json!([one("wamid.1", more)])));
    assert_eq!(dropped, []);
    received.remove(0).bounded().unwrap()
}

fn text(received: &Received) -> &str {
    &received.event.words().unwrap().text
}

#[test]
fn a_text_is_from_the_lasting_id_of_a_person_and_answered_to_their_number() {
    let context = json!({"from": "4915112345678", "id": "wamid.own", "forwarded": true});
    let received = event(json!({"type": "text", "text": {"body": "Is it green?"}, "context": context}));
    let author = Author {
        id: USER.into(),
        same_as: vec![format!("+{ANNA}")],
        name: Some("Anna".into()),
        ..Author::default()
    };
    assert_eq!(received.author, author);
    assert_eq!((received.conversation.address.as_str(), received.conversation.direct), (ANNA, true));
    assert_eq!((received.key.as_str(), received.message_id.as_deref()), ("wamid.1", Some("wamid.1")));
    assert_eq!((received.said_at, received.mentions_me), (Some(1_749_416_383_000), false));
    let words = received.event.words().unwrap();
    let reply = words.reply_to.as_ref().unwrap();
    assert!(words.text == "Is it green?" && words.forwarded);
    assert_eq!(
        (reply.id.as_str(), reply.mine, reply.author.as_deref()),
        ("wamid.own", true, Some("+4915112345678"))
    );
}

#[test]
fn somebody_who_hides_their_number_is_their_id_and_somebody_without_one_their_number() {
    let hidden = json!({"from_user_id": "US.7", "id": "wamid.1", "type": "text", "text": {"body": "x"}});
    let (received, _) = read(&told(json!([hidden])));
    assert_eq!((received[0].author.id.as_str(), received[0].conversation.address.as_str()), ("US.7", "US.7"));
    assert_eq!(received[0].author.name, None, "the contact is somebody else");
    // Brazil's optional digit is the same person's with and without it.
    let known = json!({"from": "551187654321", "id": "wamid.1", "type": "text", "text": {"body": "x"}});
    let (received, _) = read(&told(json!([known])));
    assert_eq!(received[0].author.id, "+5511987654321");
    assert_eq!(
        (received[0].conversation.address.as_str(), received[0].author.same_as.len()),
        ("5511987654321", 0)
    );
    // Text of strangers is no id.
    let (_, dropped) =
        read(&told(json!([{"from": "Anna", "from_user_id": "x y", "id": "wamid.1", "type": "text"}])));
    assert_eq!(dropped, [unreadable("text")]);
}

#[test]
fn each_type_says_what_it_is() {
    let place = json!({"latitude": 52.5, "longitude": 13.25, "name": "Home", "address": "Street 1"});
    assert_eq!(
        text(&event(json!({"type": "location", "location": place}))),
        "location: 52.5, 13.25\nHome\nStreet 1"
    );
    let contacts = json!([{"name": {"formatted_name": "Bob"}, "phones": [{"phone": "+1 555"}]}, {"name": {"formatted_name": "Eve"}}]);
    assert_eq!(
        text(&event(json!({"type": "contacts", "contacts": contacts}))),
        "contact: Bob, +1 555\ncontact: Eve"
    );
    let order = json!({"text": "Please", "product_items": [{"product_retailer_id": "tea", "quantity": 2, "item_price": 3.5, "currency": "EUR"}]});
    assert_eq!(text(&event(json!({"type": "order", "order": order}))), "Please\nordered: 2 x: tea, 3.5 EUR");
    let reaction = event(json!({"type": "reaction", "reaction": {"message_id": "wamid.own", "emoji": "👍"}}));
    assert_eq!(reaction.message_id.as_deref(), Some("wamid.own"));
    assert_eq!(reaction.event, Event::Reaction { emoji: "👍".into(), removed: false });
    let back = event(json!({"type": "reaction", "reaction": {"message_id": "wamid.own"}}));
    assert!(matches!(back.event, Event::Reaction { removed: true, .. }));
    let edit =
        json!({"original_message_id": "wamid.0", "message": {"type": "text", "text": {"body": "Two"}}});
    let edit = event(json!({"type": "edit", "edit": edit}));
    assert!(matches!(&edit.event, Event::Edit(words) if words.text == "Two"));
    assert_eq!((edit.key.as_str(), edit.message_id.as_deref()), ("wamid.1", Some("wamid.0")));
    let revoked = event(json!({"type": "revoke", "revoke": {"original_message_id": "wamid.0"}}));
    assert_eq!((revoked.event, revoked.message_id.as_deref()), (Event::Delete, Some("wamid.0")));
}

#[test]
fn a_press_is_the_buttons_data_and_a_form_what_was_entered() {
    let context = json!({"from": "4915112345678", "id": "wamid.own"});
    for (interactive, data) in [
        (json!({"type": "button_reply", "button_reply": {"id": "y", "title": "Yes"}}), "y"),
        (json!({"type": "list_reply", "list_reply": {"id": "2", "title": "Two", "description": "x"}}), "2"),
    ] {
        let pressed = event(json!({"type": "interactive", "interactive": interactive, "context": context}));
        assert_eq!(pressed.event, Event::Press { data: data.into() });
        assert_eq!((pressed.message_id.as_deref(), pressed.mentions_me), (Some("wamid.own"), true));
    }
    let quick =
        event(json!({"type": "button", "button": {"payload": "stop", "text": "Stop"}, "context": context}));
    assert_eq!(quick.event, Event::Press { data: "stop".into() });
    let answers = json!({"flow_token": "t", "day": "Monday", "guests": 2}).to_string();
    let form =
        json!({"type": "nfm_reply", "nfm_reply": {"name": "flow", "body": "Sent", "response_json": answers}});
    let Event::Entry(entry) =
        event(json!({"type": "interactive", "interactive": form, "context": context})).event
    else {
        panic!()
    };
    assert_eq!((entry.form.as_str(), entry.by.as_str(), entry.name.as_str()), ("flow", USER, "Anna"));
    assert_eq!(entry.message.as_deref(), Some("wamid.own"));
    let values: Vec<_> = entry.values.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(values, ["day=Monday", "guests=2"]);
}

#[test]
fn what_is_nobodys_words_is_dropped_by_its_kind() {
    let of = |message: Value| read(&told(json!([message]))).1;
    assert_eq!(of(one("wamid.1", json!({"type": "unsupported"}))), [not_used("unsupported")]);
    assert_eq!(of(json!({"type": "system", "id": "wamid.1"})), [not_used("system")]);
    assert_eq!(of(one("wamid.1", json!({"type": "text", "group_id": "g"}))), [not_used("group message")]);
    assert_eq!(of(one("wamid.1", json!({"type": "text", "text": {}}))), [not_used("text without words")]);
    assert_eq!(of(one("wamid.1", json!({"type": "reaction"}))), [unreadable("reaction")]);
    assert_eq!(of(one("", json!({"type": "text", "text": {"body": "x"}}))), [unreadable("text")]);
    let mut another = told(json!([one("wamid.1", json!({"type": "text", "text": {"body": "x"}}))]));
    another["entry"][0]["changes"][0]["value"]["metadata"]["phone_number_id"] = json!("1");
    assert_eq!(read(&another), (vec![], vec![not_used("another number")]));
    another["entry"][0]["changes"][0]["field"] = json!("history");
    assert_eq!(read(&another).1, [not_used("history")]);
    for nothing in [
        json!(null),
        json!([]),
        json!({"entry": 5}),
        json!({"entry": [{"changes": [{"value": {"messages": {}}}]}]}),
    ] {
        assert_eq!(read(&nothing), (vec![], vec![]), "{nothing}");
    }
}

fn account(port: u16, files: &Files) -> WhatsApp {
    let url = Base::parse("url", &format!("http://127.0.0.1:{port}")).unwrap();
    WhatsApp {
        graph: Some(Graph::new(http(), url, NUMBER.into(), Secret::from("graph_secret"))),
        instance: None,
        kept: files.kept(),
        previews: false,
        template: None,
        endpoint: Some(CallbackEndpoint {
            app: Secret::from("app_secret").into(),
            verify: Secret::from("verify_token").into(),
        }),
        webhook: None,
        hearing: Some(cloud::Hearing::default()),
        listener: None,
    }
}

fn signed(body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, b"app_secret");
    format!("sha256={}", to_hex(hmac::sign(&key, body).as_ref()))
}

async fn notify(whatsapp: &WhatsApp, body: &Value, hub: &HubMock) -> Result<(), CallbackRefused> {
    let body = body.to_string().into_bytes();
    whatsapp.read_callback(&signed(&body), &body, hub).await.map(drop)
}

fn place() -> Target {
    serde_json::from_value(json!({"channel": "whatsapp", "address": ANNA})).unwrap()
}

#[tokio::test]
async fn a_notification_is_taken_only_if_it_is_signed_and_once_it_is_on_disk() {
    let (files, hub) = (Files::new(), HubMock::default());
    let whatsapp = account(1, &files);
    let body = told(json!([one("wamid.1", json!({"type": "text", "text": {"body": "x"}}))]));
    let bytes = body.to_string().into_bytes();
    for forged in [signed(b"another"), "sha256=00".into(), String::new()] {
        let refused = whatsapp.read_callback(&forged, &bytes, &hub).await;
        assert_eq!(refused.unwrap_err(), CallbackRefused::Signature, "{forged}");
    }
    hub.fail(1);
    assert_eq!(notify(&whatsapp, &body, &hub).await, Err(CallbackRefused::Unwritten));
    assert_eq!(hub.received(0).await, []);
    notify(&whatsapp, &body, &hub).await.unwrap();
    assert_eq!(hub.received(1).await.len(), 1);
    assert!(whatsapp.hearing.as_ref().unwrap().standing().contains("the last at"));
    // An account that does not receive looks at statuses alone.
    let deaf = WhatsApp { hearing: None, ..account(1, &files) };
    notify(&deaf, &body, &hub).await.unwrap();
    assert_eq!(hub.received(0).await.len(), 1);
}

#[tokio::test]
async fn one_message_that_cannot_be_read_is_counted_and_keeps_no_other_from_being_taken() {
    let (files, hub) = (Files::new(), HubMock::default());
    let whatsapp = account(1, &files);
    let text = |id: &str, text: &str| one(id, json!({"type": "text", "text": {"body": text}}));
    let body = told(json!([text("wamid.1", "HALF"), text("wamid.2", "DEEP"), text("wamid.3", "Tea?")]));
    let deep = "[".repeat(200) + &"]".repeat(200);
    let body = body.to_string().replace("HALF", "\\ud800").replace("\"DEEP\"", &deep);
    let take = async |body: &str| {
        whatsapp.read_callback(&signed(body.as_bytes()), body.as_bytes(), &hub).await.map(drop)
    };
    assert_eq!(take(&body).await, Ok(()));
    assert_eq!(text_of(&hub).await, ["Tea?"]);
    assert_eq!(hub.dropped(), [unreadable("message"), unreadable("message")]);
    // One that cannot be cut is counted as a whole, and acknowledged too.
    assert_eq!(take("{").await, Ok(()));
    assert_eq!(hub.dropped().last(), Some(&unreadable("notification")));
}

async fn text_of(hub: &HubMock) -> Vec<String> {
    hub.received(1).await.iter().map(|one| text(one).to_owned()).collect()
}

#[tokio::test]
async fn a_file_is_fetched_with_the_token_and_its_bytes_are_those_that_were_sent() {
    const WHERE: Reply = Reply::Says(
        200,
        "",
        r#"{"url":"http://127.0.0.1:{port}/bytes?mid=1","mime_type":"image/png","file_size":"5","id":"77"}"#,
    );
    const BYTES: Reply = Reply::Says(200, "", "hello");
    let (files, hub) = (Files::new(), HubMock::default());
    let mock = Mock::start(&[WHERE, BYTES, WHERE, BYTES, WHERE, Reply::Says(200, "", "hello, longer")]);
    let whatsapp = account(mock.port, &files);
    let image = |id: &str, of: &[u8]| {
        let sha256 = STANDARD.encode(Digest::of(of).0);
        let image = json!({"id": "77", "caption": "See", "mime_type": "image/png; x=1", "sha256": sha256});
        told(json!([one(id, json!({"type": "image", "image": image}))]))
    };
    notify(&whatsapp, &image("wamid.1", b"hello"), &hub).await.unwrap();
    notify(&whatsapp, &image("wamid.2", b"other"), &hub).await.unwrap();
    notify(&whatsapp, &image("wamid.3", b"hello"), &hub).await.unwrap();
    let received = hub.received(3).await;
    let words: Vec<_> = received.iter().map(|one| one.event.words().unwrap()).collect();
    assert!(words[0].text == "See" && words[0].files[0].kind == "image/png" && words[0].missing.is_empty());
    assert_eq!(words[1].missing, ["image: its bytes are not those that were sent"]);
    assert!(words[2].files.is_empty() && words[2].missing[0].contains("larger"), "{:?}", words[2]);
    let heard = mock.heard();
    assert!(heard[0].starts_with(&format!("GET /77?phone_number_id={NUMBER} ")), "{}", heard[0]);
    assert!(heard[1].starts_with("GET /bytes?mid=1 "), "{}", heard[1]);
    assert!(
        heard[..2].iter().all(|request| request.contains("authorization: Bearer graph_secret\r\n")),
        "{heard:?}"
    );
}

#[tokio::test]
async fn a_hub_that_stops_while_a_file_is_fetched_is_told_the_message_again_and_has_it_whole() {
    let (files, hub) = (Files::new(), HubMock::default());
    let mock = Mock::start(&[Reply::Silent]);
    let whatsapp = account(mock.port, &files);
    let image = told(json!([one("wamid.1", json!({"type": "image", "image": {"id": "77"}}))]));
    let stops = async {
        while mock.heard().is_empty() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        hub.stop();
    };
    let ended = async { tokio::join!(notify(&whatsapp, &image, &hub), stops).0 };
    let taken = tokio::time::timeout(Duration::from_secs(5), ended).await;
    assert_eq!(taken.expect("it waits for the file"), Err(CallbackRefused::Unwritten));
    assert_eq!(hub.received(0).await, []);
    // So it is where there is no place for a stranger's file.
    let hub = HubMock::default();
    hub.is_crowded();
    assert_eq!(notify(&account(1, &files), &image, &hub).await, Err(CallbackRefused::Unwritten));
}

#[tokio::test]
async fn the_token_goes_to_no_other_host_and_a_file_that_is_not_had_is_named() {
    let (files, hub) = (Files::new(), HubMock::default());
    let foreign = Mock::start(&[Reply::Says(200, "", "caught")]);
    let answer: &'static str =
        Box::leak(format!(r#"{{"url":"http://127.0.0.1:{}/x"}}"#, foreign.port).into_boxed_str());
    const REFUSED: Reply = Reply::Says(400, "", r#"{"error":{"message":"gone graph_secret","code":100}}"#);
    let mock = Mock::start(&[Reply::Says(200, "", answer), REFUSED]);
    let whatsapp = account(mock.port, &files);
    let of = |id: &str| {
        let document = json!({"id": "77", "filename": "plan.pdf", "mime_type": "application/pdf"});
        told(json!([one(id, json!({"type": "document", "document": document}))]))
    };
    notify(&whatsapp, &of("wamid.1"), &hub).await.unwrap();
    notify(&whatsapp, &of("wamid.2"), &hub).await.unwrap();
    let missing: Vec<String> =
        hub.received(2).await.iter().map(|one| one.event.words().unwrap().missing[0].clone()).collect();
    assert_eq!(missing[0], "plan.pdf: it lies at a host that is not Meta's");
    assert!(missing[1].starts_with("plan.pdf: ") && !missing[1].contains("graph_secret"), "{missing:?}");
    assert!(foreign.heard().is_empty());
}

#[tokio::test]
async fn who_is_answered_sees_it_beneath_their_newest_message() {
    const DONE: Reply = Reply::Says(200, "", r#"{"success":true}"#);
    let (files, hub) = (Files::new(), HubMock::default());
    let mock = Mock::start(&[DONE, DONE]);
    let whatsapp = account(mock.port, &files);
    whatsapp.show_typing(&place()).await;
    assert!(mock.heard().is_empty(), "there is no message yet");
    let texts: Vec<Value> = ["wamid.1", "wamid.2"]
        .iter()
        .map(|id| one(id, json!({"type": "text", "text": {"body": "x"}})))
        .collect();
    notify(&whatsapp, &told(json!(texts)), &hub).await.unwrap();
    whatsapp.show_typing(&place()).await;
    whatsapp.mark_read(&place(), "wamid.1").await;
    let heard = mock.heard();
    assert!(heard[0].starts_with(&format!("POST /{NUMBER}/messages ")), "{}", heard[0]);
    let read = json!({"messaging_product": "whatsapp", "status": "read", "message_id": "wamid.2", "typing_indicator": {"type": "text"}});
    assert_eq!(body(&heard[0]), read);
    assert_eq!(
        body(&heard[1]),
        json!({"messaging_product": "whatsapp", "status": "read", "message_id": "wamid.1"})
    );
    assert_eq!(whatsapp.typing_lasts(), Some(cloud::TYPING));
}
