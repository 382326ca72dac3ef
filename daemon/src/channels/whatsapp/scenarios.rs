//! Tests of whole scenarios with both ways to WhatsApp, which follow a script.

use super::{CLOUD, EVOLUTION, Graph, HYBRID, Instance, Settings, Template, WhatsApp, profile::KEYS};
use crate::channels::testing::sample::AsJson as _;
use crate::{
    channels::{
        Adapter, Attempt, Failure, OutgoingPart, Receiver as _, Redelivery, Sender,
        kit::http::base::Base,
        testing::{
            http::{Mock, Reply, body, http},
            sample::{Files, key, op, outgoing, part},
        },
    },
    message::{
        action::Action,
        operation::{Button, Extras, Operation, Poll, Press},
    },
    settings::secret::Secret,
};
use serde_json::{Value, json};
use std::time::Duration;

macro_rules! refusal {
    ($status:literal, $code:literal) => {
        Reply::Says(
            $status,
            "",
            concat!(
                r#"{"error":{"message":"(#"#,
                $code,
                r#") graph_secret","type":"OAuthException","code":"#,
                $code,
                r#","error_data":{"messaging_product":"whatsapp","details":"its details"},"fbtrace_id":"x"}}"#
            ),
        )
    };
}

mod cloud;
mod evolution;

const ANNA: &str = "4915112345679";
const GROUP: &str = "120363012345678901@g.us";

const SENT: Reply = Reply::Says(
    200,
    "",
    r#"{"messaging_product":"whatsapp","contacts":[{"input":"4915112345679","wa_id":"4915112345679"}],"messages":[{"id":"wamid.1"}]}"#,
);

const MADE: Reply = Reply::Says(
    201,
    "",
    r#"{"key":{"remoteJid":"4915112345679@s.whatsapp.net","fromMe":true,"id":"3EB0AA"},"status":"PENDING"}"#,
);

fn base(port: u16) -> Base {
    Base::parse("url", &format!("http://127.0.0.1:{port}")).unwrap()
}

fn graph(port: u16) -> Graph {
    Graph::new(http(), base(port), "106540352242922".into(), Secret::from("graph_secret"))
}

fn instance(port: u16) -> Instance {
    Instance::hasty(http(), base(port), "home".into(), Secret::from("evo_secret"))
}

fn cloud(port: u16, files: &Files) -> WhatsApp {
    WhatsApp {
        graph: Some(graph(port)),
        instance: None,
        kept: files.kept(),
        previews: false,
        template: None,
        endpoint: None,
        webhook: None,
        hearing: None,
        listener: None,
    }
}

fn evolution(port: u16, files: &Files) -> WhatsApp {
    WhatsApp { graph: None, instance: Some(instance(port)), ..cloud(port, files) }
}

fn hybrid(graph_port: u16, instance_port: u16, files: &Files) -> WhatsApp {
    WhatsApp { instance: Some(instance(instance_port)), ..cloud(graph_port, files) }
}

#[test]
fn a_file_is_what_whatsapp_takes_it_as() {
    let files = Files::new();
    let (cloud, evolution) = (cloud(1, &files), evolution(1, &files));
    let (captioned, bare) = (part("See"), part(""));
    for (kind, caption, on_cloud, on_evolution) in [
        ("image/png", true, "image", "image"),
        ("video/mp4", false, "video", "video"),
        ("audio/mpeg", false, "audio", "audio"),
        ("audio/mpeg", true, "document", "document"),
        ("application/pdf", true, "document", "document"),
    ] {
        let file = [files.add("a b.bin", kind, b"x")];
        let text = if caption { &captioned } else { &bare };
        let outgoing = OutgoingPart { files: &file, ..outgoing(ANNA, text) };
        let message = cloud.composed(&outgoing)["message"].clone();
        assert_eq!(message["type"], on_cloud, "{kind}");
        let object = &message[on_cloud];
        assert_eq!(object["id"], file[0].reference());
        assert_eq!(object["caption"], if caption { json!("See") } else { Value::Null });
        assert_eq!(object["filename"].is_string(), on_cloud == "document");
        let request = evolution.composed(&outgoing);
        assert_eq!(request["path"], "message/sendMedia");
        assert_eq!(request["body"]["mediatype"], on_evolution, "{kind}");
    }
    let (long, file) = (part(&"x".repeat(1025)), [files.add("a.txt", "text/plain", b"x")]);
    let request = cloud.composed(&OutgoingPart { files: &file, ..outgoing(ANNA, &long) });
    assert!(request["refused"].is_string(), "no caption is cut: {request}");
    let mut voice = files.add("v.ogg", "audio/ogg", b"x");
    voice.voice = true;
    let voice = [voice];
    let outgoing = OutgoingPart { files: &voice, ..outgoing(ANNA, &bare) };
    assert_eq!(
        cloud.composed(&outgoing)["message"]["audio"],
        json!({"id": voice[0].reference(), "voice": true})
    );
    assert_eq!(
        evolution.composed(&outgoing),
        json!({"way": "evolution", "path": "message/sendWhatsAppAudio", "body": {"number": ANNA, "audio": voice[0].reference()}})
    );
    let mut large = files.add("a.png", "image/png", b"x");
    large.size = 6 * 1024 * 1024;
    let large = [large];
    assert_eq!(cloud.composed(&OutgoingPart { files: &large, ..outgoing })["message"]["type"], "document");
}

#[test]
fn a_file_that_the_cloud_api_takes_as_nothing_is_refused_before_anybody_is_asked() {
    let files = Files::new();
    let bare = part("");
    for kind in ["image/gif", "image/webp", "text/csv", "application/zip", "application/json", "audio/wav"] {
        let file = [files.add("a.bin", kind, b"x")];
        let outgoing = OutgoingPart { files: &file, ..outgoing(ANNA, &bare) };
        let whatsapp = cloud(1, &files);
        let why = whatsapp.refusal(&whatsapp.composed(&outgoing)).unwrap_or_default();
        assert!(why.contains(kind) && why.contains("send a link"), "{kind}: {why:?}");
        // By the other way it goes.
        for whatsapp in [evolution(1, &files), hybrid(1, 1, &files)] {
            let request = whatsapp.composed(&outgoing);
            assert_eq!((&request["way"], whatsapp.refusal(&request)), (&json!("evolution"), None), "{kind}");
        }
    }
    let file = [files.add("a.pdf", "application/pdf", b"x")];
    let request = hybrid(1, 1, &files).composed(&OutgoingPart { files: &file, ..outgoing(ANNA, &bare) });
    assert_eq!(request["way"], "cloud");
}

#[test]
fn two_buttons_that_are_alike_are_refused_before_anybody_is_asked() {
    let (files, text) = (Files::new(), part("Tea?"));
    let button = |text: &str, data: &str| Button { text: text.into(), press: Press::Data(data.into()) };
    let refusal = |one: Button, other: Button| {
        let extras = Extras { buttons: vec![vec![one], vec![other]], ..Extras::default() };
        let whatsapp = cloud(1, &files);
        whatsapp.refusal(&whatsapp.composed(&OutgoingPart { extras: &extras, ..outgoing(ANNA, &text) }))
    };
    assert_eq!(refusal(button("Yes", "y"), button("No", "n")), None);
    assert!(refusal(button("Yes", "y"), button("No", "y")).unwrap().contains("\"y\""));
    assert!(refusal(button("Yes", "y"), button("Yes", "n")).unwrap().contains("\"Yes\""));
}

#[tokio::test]
async fn a_file_is_uploaded_first_to_the_one_and_stands_in_the_request_to_the_other() {
    let files = Files::new();
    let file = [files.add("a b.txt", "text/plain", b"hello")];
    let text = part("See");
    let mock = Mock::start(&[Reply::Says(200, "", r#"{"id":"4490709327384033"}"#), SENT]);
    let whatsapp = cloud(mock.port, &files);
    let request = whatsapp.composed(&OutgoingPart { files: &file, ..outgoing(ANNA, &text) });
    assert_eq!(whatsapp.delivered(&request, &key()).await.unwrap(), "wamid.1");
    let heard = mock.heard();
    assert!(heard[0].starts_with("POST /106540352242922/media HTTP/1.1\r\n"), "{}", heard[0]);
    for piece in [
        "name=\"messaging_product\"\r\n\r\nwhatsapp\r\n",
        "name=\"file\"; filename=\"a b.txt\"\r\nContent-Type: text/plain\r\n\r\nhello\r\n",
    ] {
        assert!(heard[0].contains(piece), "{piece} in {}", heard[0]);
    }
    let sent = body(&heard[1]);
    assert_eq!(sent["document"], json!({"id": "4490709327384033", "filename": "a b.txt", "caption": "See"}));
    assert!(sent["file"].is_null());

    let mock = Mock::start(&[MADE]);
    let whatsapp = evolution(mock.port, &files);
    let answer = OutgoingPart { reply_to: Some("3EB0FF"), ..outgoing(ANNA, &text) };
    let request = whatsapp.composed(&OutgoingPart { files: &file, ..answer });
    assert_eq!(whatsapp.delivered(&request, &key()).await.unwrap(), "3EB0AA");
    let heard = mock.heard().remove(0);
    assert!(heard.starts_with("POST /message/sendMedia/home HTTP/1.1\r\n"), "{heard}");
    for piece in [
        "name=\"number\"\r\n\r\n4915112345679\r\n",
        "name=\"mediatype\"\r\n\r\ndocument\r\n",
        "name=\"fileName\"\r\n\r\na b.txt\r\n",
        "name=\"caption\"\r\n\r\nSee\r\n",
        "name=\"quoted[key][id]\"\r\n\r\n3EB0FF\r\n",
        "name=\"file\"; filename=\"a b.txt\"\r\nContent-Type: text/plain\r\n\r\nhello\r\n",
    ] {
        assert!(heard.contains(piece), "{piece} in {heard}");
    }
    assert!(!heard.contains("attachment:"), "{heard}");
    files.clear();
    let gone = whatsapp.delivered(&request, &key()).await.unwrap_err();
    assert!(matches!(&gone, Failure::Permanent(why) if why.contains("any more")), "{gone:?}");
}

#[tokio::test]
async fn reactions_go_by_the_way_that_their_message_came_and_may_go_twice() {
    let files = Files::new();
    let react =
        |message: &str, remove| Operation::React { message: message.into(), emoji: "👍".into(), remove };
    let mock = Mock::start(&[SENT]);
    let both = hybrid(mock.port, 1, &files);
    let request = both.composed_operation(&op(ANNA, &react("wamid.5", true), None)).unwrap();
    assert_eq!(request["message"]["reaction"], json!({"message_id": "wamid.5", "emoji": ""}));
    assert!(matches!(both.redelivery_of(&request), Redelivery::Keyed(_)));
    assert_eq!(both.delivered(&request, &key()).await.unwrap(), "wamid.5");

    let mock = Mock::start(&[MADE]);
    let both = hybrid(1, mock.port, &files);
    let request = both.composed_operation(&op(GROUP, &react("+4915112345670/3EB0BB", false), None)).unwrap();
    let expected = json!({
        "key": {"id": "3EB0BB", "remoteJid": GROUP, "fromMe": false, "participant": "4915112345670@s.whatsapp.net"},
        "reaction": "👍",
    });
    assert_eq!(request, json!({"way": "evolution", "path": "message/sendReaction", "body": expected}));
    assert_eq!(both.delivered(&request, &key()).await.unwrap(), "3EB0BB");
    assert!(mock.heard()[0].starts_with("POST /message/sendReaction/home "));
    // A message of the other way is nobody's.
    let request = cloud(1, &files).composed_operation(&op(ANNA, &react("3EB0BB", false), None)).unwrap();
    assert!(request["refused"].is_string(), "{request}");
}

#[tokio::test]
async fn hybrid_takes_the_second_way_while_the_first_is_not_ready_and_never_changes_what_is_stored() {
    let files = Files::new();
    let gone = Mock::start(&[refusal!(401, "190"), refusal!(401, "190"), refusal!(400, "131026")]);
    let other =
        Mock::start(&[Reply::Says(200, "", r#"{"instance":{"instanceName":"home","state":"open"}}"#), MADE]);
    let whatsapp = hybrid(gone.port, other.port, &files);
    let text = part("Hello");
    let stored = whatsapp.composed(&outgoing(ANNA, &text));
    assert_eq!(stored["way"], "cloud");
    assert!(whatsapp.check_ready().await.unwrap().contains("Cloud API is not ready"));
    assert_eq!(whatsapp.composed(&outgoing(ANNA, &text))["way"], "evolution");
    // Buttons are the first way's, groups the second's.
    let buttons = vec![vec![Button { text: "Yes".into(), press: Press::Data("y".into()) }]];
    let extras = Extras { buttons, ..Extras::default() };
    let pressed = whatsapp.composed(&OutgoingPart { extras: &extras, ..outgoing(ANNA, &text) });
    assert!(pressed["way"] == "cloud" && pressed.get("otherwise").is_none(), "{pressed}");
    // The stored one still goes where it was to go, and by the way that is stored beside it where nothing can go there.
    let read = serde_json::from_value(stored.clone()).unwrap();
    assert_eq!(Sender::route(&whatsapp, &read), Some("by the Cloud API, or else the Evolution API"));
    assert_eq!(whatsapp.redelivery_of(&stored), Redelivery::Look);
    whatsapp.delivered(&stored, &key()).await.unwrap();
    assert_eq!((gone.heard().len(), other.heard().len()), (2, 2));
    let sent = body(&other.heard()[1]);
    assert_eq!(sent["text"], "Hello", "{sent}");
    // What is refused for its own sake goes by no other way.
    assert!(matches!(whatsapp.delivered(&stored, &key()).await, Err(Failure::Permanent(_))));
    assert_eq!((gone.heard().len(), other.heard().len()), (3, 2));
    let ready = hybrid(1, 1, &files);
    assert_eq!(ready.composed(&outgoing(GROUP, &text))["way"], "evolution");
    assert_eq!(ready.composed(&outgoing(ANNA, &text))["way"], "cloud");
    let failure = ready.delivered(&ready.composed(&outgoing(ANNA, &text)), &key()).await.unwrap_err();
    assert!(matches!(failure, Failure::Retry(_)), "{failure:?}");
    assert_eq!(ready.composed(&outgoing(ANNA, &text))["way"], "evolution", "nobody was there");
}

#[tokio::test]
async fn hybrid_returns_to_the_first_way_when_a_message_of_the_second_finds_it_ready() {
    const CONNECTED: Reply = Reply::Says(200, "", r#"{"status":"CONNECTED"}"#);
    const BLOCKED: Reply = Reply::Says(
        200,
        "",
        r#"{"status":"CONNECTED","health_status":{"can_send_message":"BLOCKED","entities":[]}}"#,
    );
    let (files, text) = (Files::new(), part("Hello"));
    let every = |port, again| Graph::asked_every(graph(port), again);
    let send = async |whatsapp: &WhatsApp| {
        let request = whatsapp.composed(&outgoing(ANNA, &text));
        let _ = whatsapp.delivered(&request, &key()).await;
        request["way"].as_str().unwrap().to_owned()
    };
    // Its token is refused, and once more; the account is blocked; then all is well again.
    let first = Mock::start(&[refusal!(401, "190"), refusal!(401, "190"), BLOCKED, BLOCKED, CONNECTED, SENT]);
    let second = Mock::start(&[MADE, MADE, MADE, MADE]);
    let mut whatsapp = hybrid(first.port, second.port, &files);
    whatsapp.graph = Some(every(first.port, Duration::ZERO));
    for way in ["cloud", "evolution", "evolution", "cloud"] {
        assert_eq!(send(&whatsapp).await, way);
    }
    let asked: Vec<_> = first.heard().iter().filter(|heard| heard.starts_with("GET")).cloned().collect();
    assert_eq!(asked.len(), 4, "{asked:?}");
    assert!(asked[0].contains("health_status"), "{asked:?}");
    assert_eq!(second.heard().len(), 3, "the first one found out, and went on by it");

    // Within a minute nobody asks again.
    let first = Mock::start(&[refusal!(401, "190"), refusal!(401, "190"), refusal!(401, "190"), CONNECTED]);
    let second = Mock::start(&[MADE, MADE, MADE, MADE]);
    let whatsapp = hybrid(first.port, second.port, &files);
    for way in ["cloud", "evolution", "evolution", "evolution"] {
        assert_eq!(send(&whatsapp).await, way);
    }
    assert_eq!((first.heard().len(), second.heard().len()), (3, 4));
}

#[tokio::test]
async fn readiness_is_said_in_words() {
    let files = &Files::new();
    let ready = |script| async move {
        cloud(Mock::start(script).port, files).check_ready().await.map_err(|why| why.0)
    };
    const NUMBER: Reply =
        Reply::Says(200, "", r#"{"display_phone_number":"+49 151","status":"CONNECTED","id":"1"}"#);
    assert_eq!(ready(&[NUMBER]).await.unwrap(), "+49 151");
    let said = ready(&[Reply::Says(200, "", r#"{"display_phone_number":"+49","status":"BANNED"}"#)]).await;
    assert!(said.unwrap_err().starts_with("phone banned"));
    let said = ready(&[Reply::Says(
        200,
        "",
        r#"{"status":"CONNECTED","health_status":{"can_send_message":"BLOCKED"}}"#,
    )]);
    assert!(said.await.unwrap_err().starts_with("phone blocked"));
    assert!(ready(&[refusal!(401, "190")]).await.unwrap_err().contains("replace the token"));
    let ready = |script| async move {
        evolution(Mock::start(script).port, files).check_ready().await.map_err(|why| why.0)
    };
    let said =
        ready(&[Reply::Says(200, "", r#"{"instance":{"instanceName":"home","state":"close"}}"#)]).await;
    assert!(said.unwrap_err().starts_with("phone disconnected"));
    assert!(ready(&[Reply::Says(200, "", "{}")]).await.unwrap_err().contains("check evolution_url"));
}

#[test]
fn each_kind_of_account_has_what_its_way_has() {
    let files = Files::new();
    assert!(CLOUD.buttons.is_some() && CLOUD.polls.is_none() && !CLOUD.does(Action::Delete));
    assert!(EVOLUTION.buttons.is_none() && EVOLUTION.polls.is_some() && EVOLUTION.does(Action::Delete));
    assert!(HYBRID.buttons.is_some() && HYBRID.polls.is_some() && HYBRID.does(Action::Delete));
    let (one, other) = (cloud(1, &files), evolution(1, &files));
    assert!(one.resolve(GROUP).is_err() && other.resolve(GROUP).is_ok());
    assert_eq!((one.flavour().limit, other.flavour().limit), (Some(4096), Some(4000)));
    for operation in [Operation::Edit { message: "1".into() }, Operation::Pin { message: "1".into() }] {
        assert_eq!(one.composed_operation(&op(ANNA, &operation, None)), None);
        assert_eq!(other.composed_operation(&op(ANNA, &operation, None)), None);
    }
    assert_eq!(
        one.composed_operation(&op(ANNA, &Operation::Delete { message: "wamid.1".into() }, None)),
        None
    );
}

#[test]
fn documented_defaults_are_the_defaults_and_other_kinds_are_refused() {
    let all = KEYS.iter().map(|key| format!("{} = {}\n", key.name, key.value)).collect::<String>();
    let all: Settings = toml::from_str(&all).unwrap();
    assert_eq!(all.graph_url, super::default_graph());
    assert!(!all.previews);
    assert!(toml::from_str::<Settings>("kind = \"pigeon\"").is_err());
}
