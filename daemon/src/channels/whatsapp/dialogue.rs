//! Tests of whole dialogues with both ways to WhatsApp, which follow a script.

use std::time::Duration;

use serde_json::{Value, json};

use super::{CLOUD, EVOLUTION, Graph, HYBRID, Instance, KEYS, Settings, Template, WhatsApp};
use crate::{
    channels::{
        Adapter, Failure, Letter, Redelivery,
        http::{
            base::Base,
            double::{Double, Reply, body, http},
            token::Token,
        },
        sample::{Files, act, key, letter, part},
    },
    message::{
        action::Action,
        deed::{Button, Deed, Extras, Poll, Press},
    },
    settings::secret::{Secret, SecretSource},
};

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
    Instance::new(http(), base(port), "home".into(), Secret::from("evo_secret"))
}

fn cloud(port: u16, files: &Files) -> WhatsApp {
    WhatsApp { graph: Some(graph(port)), instance: None, kept: files.kept(), previews: false, template: None }
}

fn evolution(port: u16, files: &Files) -> WhatsApp {
    WhatsApp { graph: None, instance: Some(instance(port)), ..cloud(port, files) }
}

fn hybrid(graph_port: u16, instance_port: u16, files: &Files) -> WhatsApp {
    WhatsApp { instance: Some(instance(instance_port)), ..cloud(graph_port, files) }
}

async fn by_cloud(script: &'static [Reply]) -> (Result<String, Failure>, Vec<String>) {
    let double = Double::start(script);
    let whatsapp = cloud(double.port, &Files::new());
    let part = part("Hello");
    let wire = whatsapp.compose(&letter(ANNA, &part));
    (whatsapp.deliver(&wire, &key()).await, double.heard())
}

async fn by_evolution(script: &'static [Reply]) -> (Result<String, Failure>, Vec<String>) {
    let double = Double::start(script);
    let whatsapp = evolution(double.port, &Files::new());
    let part = part("Hello");
    let wire = whatsapp.compose(&letter(ANNA, &part));
    (whatsapp.deliver(&wire, &key()).await, double.heard())
}

#[tokio::test]
async fn the_cloud_api_gets_this_text_with_the_parts_key() {
    let (sent, heard) = by_cloud(&[SENT]).await;
    assert_eq!(sent.unwrap(), "wamid.1");
    assert!(heard[0].starts_with("POST /106540352242922/messages HTTP/1.1\r\n"), "{}", heard[0]);
    assert!(heard[0].contains("authorization: Bearer graph_secret\r\n"), "{}", heard[0]);
    assert_eq!(
        body(&heard[0]),
        json!({
            "messaging_product": "whatsapp",
            "recipient_type": "individual",
            "to": ANNA,
            "type": "text",
            "text": {"body": "Hello", "preview_url": false},
            "biz_opaque_callback_data": key().0,
        })
    );
}

#[tokio::test]
async fn the_evolution_api_gets_this_text() {
    let (sent, heard) = by_evolution(&[MADE]).await;
    assert_eq!(sent.unwrap(), "3EB0AA");
    assert!(heard[0].starts_with("POST /message/sendText/home HTTP/1.1\r\n"), "{}", heard[0]);
    assert!(heard[0].contains("apikey: evo_secret\r\n"), "{}", heard[0]);
    assert_eq!(body(&heard[0]), json!({"number": ANNA, "text": "Hello", "linkPreview": false}));
}

#[test]
fn replies_buttons_and_templates_have_their_own_forms() {
    let files = Files::new();
    let template = Some(Template { name: "update".into(), language: "de".into() });
    let whatsapp = WhatsApp { template, ..cloud(1, &files) };
    let text = part("Hello\nyou");
    let reply = Letter { reply_to: Some("wamid.9/x"), ..letter(ANNA, &text) };
    let wire = whatsapp.compose(&reply);
    assert_eq!(wire["message"]["context"], json!({"message_id": "wamid.9/x"}));
    assert_eq!(
        wire["outside_window"]["template"],
        json!({
            "name": "update",
            "language": {"code": "de"},
            "components": [{"type": "body", "parameters": [{"type": "text", "text": "Hello you"}]}],
        })
    );
    let button = |text: &str, data: &str| Button { text: text.into(), press: Press::Data(data.into()) };
    let extras = Extras { buttons: vec![vec![button("Yes", "y"), button("No", "n")]], ..Extras::default() };
    let wire = whatsapp.compose(&Letter { extras: &extras, ..letter(ANNA, &text) });
    assert_eq!(
        wire,
        json!({"way": "cloud", "message": {
            "messaging_product": "whatsapp",
            "recipient_type": "individual",
            "to": ANNA,
            "type": "interactive",
            "interactive": {
                "type": "button",
                "body": {"text": "Hello\nyou"},
                "action": {"buttons": [
                    {"type": "reply", "reply": {"id": "y", "title": "Yes"}},
                    {"type": "reply", "reply": {"id": "n", "title": "No"}},
                ]},
            },
        }})
    );
    let long = part(&"x".repeat(1025));
    assert!(whatsapp.compose(&Letter { extras: &extras, ..letter(ANNA, &long) })["refused"].is_string());
    assert!(whatsapp.compose(&letter(ANNA, &long))["outside_window"].is_null(), "too long for a template");
}

#[test]
fn a_file_is_what_whatsapp_takes_it_as() {
    let files = Files::new();
    let (cloud, evolution) = (cloud(1, &files), evolution(1, &files));
    let (captioned, bare) = (part("See"), part(""));
    for (kind, caption, on_cloud, on_evolution) in [
        ("image/png", true, "image", "image"),
        ("image/gif", true, "document", "image"),
        ("video/mp4", false, "video", "video"),
        ("audio/mpeg", false, "audio", "audio"),
        ("audio/mpeg", true, "document", "document"),
        ("application/pdf", true, "document", "document"),
    ] {
        let file = [files.add("a b.bin", kind, b"x")];
        let text = if caption { &captioned } else { &bare };
        let letter = Letter { files: &file, ..letter(ANNA, text) };
        let message = cloud.compose(&letter)["message"].clone();
        assert_eq!(message["type"], on_cloud, "{kind}");
        let object = &message[on_cloud];
        assert_eq!(object["id"], file[0].reference());
        assert_eq!(object["caption"], if caption { json!("See") } else { Value::Null });
        assert_eq!(object["filename"].is_string(), on_cloud == "document");
        let wire = evolution.compose(&letter);
        assert_eq!(wire["path"], "message/sendMedia");
        assert_eq!(wire["body"]["mediatype"], on_evolution, "{kind}");
    }
    let (long, file) = (part(&"x".repeat(1025)), [files.add("a.txt", "text/plain", b"x")]);
    let wire = cloud.compose(&Letter { files: &file, ..letter(ANNA, &long) });
    assert!(wire["refused"].is_string(), "no caption is cut: {wire}");
    let mut voice = files.add("v.ogg", "audio/ogg", b"x");
    voice.voice = true;
    let voice = [voice];
    let letter = Letter { files: &voice, ..letter(ANNA, &bare) };
    assert_eq!(
        cloud.compose(&letter)["message"]["audio"],
        json!({"id": voice[0].reference(), "voice": true})
    );
    assert_eq!(
        evolution.compose(&letter),
        json!({"way": "evolution", "path": "message/sendWhatsAppAudio", "body": {"number": ANNA, "audio": voice[0].reference()}})
    );
    let mut large = files.add("a.png", "image/png", b"x");
    large.size = 6 * 1024 * 1024;
    let large = [large];
    assert_eq!(cloud.compose(&Letter { files: &large, ..letter })["message"]["type"], "document");
}

#[tokio::test]
async fn a_file_is_uploaded_first_to_the_one_and_stands_in_the_request_to_the_other() {
    let files = Files::new();
    let file = [files.add("a b.txt", "text/plain", b"hello")];
    let text = part("See");
    let double = Double::start(&[Reply::Says(200, "", r#"{"id":"4490709327384033"}"#), SENT]);
    let whatsapp = cloud(double.port, &files);
    let wire = whatsapp.compose(&Letter { files: &file, ..letter(ANNA, &text) });
    assert_eq!(whatsapp.deliver(&wire, &key()).await.unwrap(), "wamid.1");
    let heard = double.heard();
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

    let double = Double::start(&[MADE]);
    let whatsapp = evolution(double.port, &files);
    let wire = whatsapp.compose(&Letter { files: &file, ..letter(ANNA, &text) });
    assert_eq!(whatsapp.deliver(&wire, &key()).await.unwrap(), "3EB0AA");
    assert_eq!(body(&double.heard()[0])["media"], "aGVsbG8=");
    files.clear();
    let gone = whatsapp.deliver(&wire, &key()).await.unwrap_err();
    assert!(matches!(&gone, Failure::Permanent(why) if why.contains("any more")), "{gone:?}");
}

#[tokio::test]
async fn an_upload_whose_answer_was_lost_is_nowhere_and_goes_again() {
    let files = Files::new();
    let file = [files.add("a.txt", "text/plain", b"hello")];
    let text = part("");
    for script in
        [&[Reply::Close] as &'static [Reply], &[Reply::Says(502, "", "")], &[Reply::Says(200, "", "{}")]]
    {
        let whatsapp = cloud(Double::start(script).port, &files);
        let wire = whatsapp.compose(&Letter { files: &file, ..letter(ANNA, &text) });
        let failure = whatsapp.deliver(&wire, &key()).await.unwrap_err();
        assert!(matches!(failure, Failure::Retry(_)), "{failure:?}");
    }
}

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

#[tokio::test]
async fn what_the_cloud_api_refuses_its_code_says() {
    type Judged = fn(&Failure) -> bool;
    let permanent: Judged = |failure| matches!(failure, Failure::Permanent(_));
    let retry: Judged = |failure| matches!(failure, Failure::Retry(_));
    let cases: [(&'static [Reply], Judged, &str); 14] = [
        (&[refusal!(400, "131047")], permanent, "configure a template"),
        (&[refusal!(400, "131026")], permanent, "its details"),
        (&[refusal!(400, "131051")], permanent, "its details"),
        (&[refusal!(400, "131030")], permanent, "test number's list"),
        (&[refusal!(400, "100")], permanent, "its details"),
        (&[refusal!(401, "190")], permanent, "replace the token"),
        (&[refusal!(401, "0")], permanent, "replace the token"),
        (&[refusal!(403, "131031")], permanent, "its details"),
        (&[refusal!(400, "131056")], retry, "its details"),
        (&[refusal!(429, "130429")], retry, "its details"),
        (&[refusal!(400, "80007")], retry, "its details"),
        (&[refusal!(500, "131000")], retry, "its details"),
        (&[refusal!(503, "131016")], retry, "its details"),
        (&[Reply::Says(500, "", "<p>no</p>")], retry, "500"),
    ];
    for (script, judged, words) in cases {
        let failure = by_cloud(script).await.0.unwrap_err();
        assert!(judged(&failure) && failure.to_string().contains(words), "{words}: {failure:?}");
        assert!(!failure.to_string().contains("graph_secret"), "{failure:?}");
    }
    const LATER: Reply =
        Reply::Says(429, "Retry-After: 7\r\n", r#"{"error":{"message":"slower","code":130429}}"#);
    let failure = by_cloud(&[LATER]).await.0.unwrap_err();
    assert!(matches!(failure, Failure::Wait { after, .. } if after == Duration::from_secs(7)), "{failure:?}");
    for script in [
        &[Reply::Close] as &'static [Reply],
        &[Reply::Endless],
        &[Reply::Says(200, "", "<p>yes</p>")],
        &[Reply::Says(200, "", "{}")],
        &[Reply::Says(502, "", "")],
    ] {
        let failure = by_cloud(script).await.0.unwrap_err();
        assert!(matches!(failure, Failure::Unknown(_)), "{failure:?}");
    }
}

#[tokio::test]
async fn outside_the_window_the_template_that_was_approved_goes_instead() {
    let double = Double::start(&[refusal!(400, "131047"), SENT]);
    let template = Some(Template { name: "update".into(), language: "en".into() });
    let whatsapp = WhatsApp { template, ..cloud(double.port, &Files::new()) };
    let text = part("Hello");
    let wire = whatsapp.compose(&letter(ANNA, &text));
    assert_eq!(whatsapp.deliver(&wire, &key()).await.unwrap(), "wamid.1");
    let sent = body(&double.heard()[1]);
    assert_eq!((&sent["type"], &sent["biz_opaque_callback_data"]), (&json!("template"), &json!(key().0)));
}

#[tokio::test]
async fn what_the_evolution_api_refuses_its_words_say() {
    const NOBODY: Reply = Reply::Says(
        400,
        "",
        r#"{"status":400,"error":"Bad Request","response":{"message":[{"jid":"1@s.whatsapp.net","exists":false,"number":"1"}]}}"#,
    );
    const SCHEMA: Reply =
        Reply::Says(400, "", r#"{"status":400,"response":{"message":["text is not a string"]}}"#);
    const KEY: Reply =
        Reply::Says(401, "", r#"{"status":401,"response":{"message":"Unauthorized evo_secret"}}"#);
    const AWAY: Reply =
        Reply::Says(400, "", r#"{"status":400,"response":{"message":["Error: Connection Closed"]}}"#);
    const SAVED: Reply =
        Reply::Says(400, "", r#"{"status":400,"response":{"message":["PrismaClientError"]}}"#);
    const NOWHERE: Reply =
        Reply::Says(404, "", r#"{"status":404,"response":{"message":["instance \"x\" does not exist"]}}"#);
    const TROUBLE: Reply = Reply::Says(500, "", r#"{"status":500,"response":{"message":"Internal"}}"#);
    type Judged = fn(&Failure) -> bool;
    let permanent: Judged = |failure| matches!(failure, Failure::Permanent(_));
    let unknown: Judged = |failure| matches!(failure, Failure::Unknown(_));
    let retry: Judged = |failure| matches!(failure, Failure::Retry(_));
    let cases: [(&'static [Reply], Judged, &str); 9] = [
        (&[NOBODY], permanent, "not on WhatsApp"),
        (&[SCHEMA], permanent, "text is not a string"),
        (&[KEY], permanent, "replace the token"),
        (&[NOWHERE], permanent, "check evolution_url and instance"),
        (&[AWAY], retry, "phone is disconnected"),
        (&[SAVED], unknown, "Prisma"),
        (&[TROUBLE], unknown, "Internal"),
        (&[Reply::Close], unknown, "no answer"),
        (&[Reply::Says(201, "", "{}")], unknown, "not as which message"),
    ];
    for (script, judged, words) in cases {
        let failure = by_evolution(script).await.0.unwrap_err();
        assert!(judged(&failure) && failure.to_string().contains(words), "{words}: {failure:?}");
        assert!(!failure.to_string().contains("evo_secret"), "{failure:?}");
    }
}

#[tokio::test]
async fn reactions_go_by_the_way_that_their_message_came_and_may_go_twice() {
    let files = Files::new();
    let react = |message: &str, remove| Deed::React { message: message.into(), emoji: "👍".into(), remove };
    let double = Double::start(&[SENT]);
    let both = hybrid(double.port, 1, &files);
    let wire = both.act(&act(ANNA, &react("wamid.5", true), None)).unwrap();
    assert_eq!(wire["message"]["reaction"], json!({"message_id": "wamid.5", "emoji": ""}));
    assert!(matches!(both.redelivery(&wire), Redelivery::Keyed(_)));
    assert_eq!(both.deliver(&wire, &key()).await.unwrap(), "wamid.5");

    let double = Double::start(&[MADE]);
    let both = hybrid(1, double.port, &files);
    let wire = both.act(&act(GROUP, &react("+4915112345670/3EB0BB", false), None)).unwrap();
    let expected = json!({
        "key": {"id": "3EB0BB", "remoteJid": GROUP, "fromMe": false, "participant": "4915112345670@s.whatsapp.net"},
        "reaction": "👍",
    });
    assert_eq!(wire, json!({"way": "evolution", "path": "message/sendReaction", "body": expected}));
    assert_eq!(both.deliver(&wire, &key()).await.unwrap(), "3EB0BB");
    assert!(double.heard()[0].starts_with("POST /message/sendReaction/home "));
    // A message of the other way is nobody's.
    let wire = cloud(1, &files).act(&act(ANNA, &react("3EB0BB", false), None)).unwrap();
    assert!(wire["refused"].is_string(), "{wire}");
}

#[tokio::test]
async fn polls_and_removals_are_the_evolution_apis() {
    let files = Files::new();
    let double = Double::start(&[MADE, Reply::Says(201, "", r#"{"key":{"id":"3EB0CC"}}"#)]);
    let both = hybrid(1, double.port, &files);
    let poll = Poll {
        question: "Tea?".into(),
        options: vec!["Yes".into(), "No".into()],
        multiple: false,
        seconds: None,
        anonymous: None,
    };
    let wire = both.act(&act(ANNA, &Deed::Poll(poll), None)).unwrap();
    assert_eq!(
        wire["body"],
        json!({"number": ANNA, "name": "Tea?", "selectableCount": 1, "values": ["Yes", "No"]})
    );
    assert_eq!(both.redelivery(&wire), Redelivery::Never);
    assert_eq!(both.deliver(&wire, &key()).await.unwrap(), "3EB0AA");
    let delete = Deed::Delete { message: "3EB0AA".into() };
    let wire = both.act(&act(ANNA, &delete, None)).unwrap();
    assert_eq!(both.deliver(&wire, &key()).await.unwrap(), "3EB0AA");
    let heard = double.heard();
    assert!(heard[1].starts_with("DELETE /chat/deleteMessageForEveryone/home "), "{}", heard[1]);
    assert_eq!(
        body(&heard[1]),
        json!({"id": "3EB0AA", "remoteJid": "4915112345679@s.whatsapp.net", "fromMe": true})
    );
    for message in ["wamid.1", "+4915112345679/3EB0"] {
        let delete = Deed::Delete { message: message.into() };
        assert!(both.act(&act(ANNA, &delete, None)).unwrap()["refused"].is_string());
    }
}

#[tokio::test]
async fn hybrid_takes_the_second_way_while_the_first_is_not_ready_and_never_changes_what_is_stored() {
    let files = Files::new();
    let gone = Double::start(&[refusal!(401, "190"), Reply::Says(200, "", r#"{"status":"CONNECTED"}"#)]);
    let other =
        Double::start(&[Reply::Says(200, "", r#"{"instance":{"instanceName":"home","state":"open"}}"#)]);
    let whatsapp = hybrid(gone.port, other.port, &files);
    let text = part("Hello");
    let stored = whatsapp.compose(&letter(ANNA, &text));
    assert_eq!(stored["way"], "cloud");
    assert!(whatsapp.check_ready().await.unwrap().contains("Cloud API is not ready"));
    assert_eq!(whatsapp.compose(&letter(ANNA, &text))["way"], "evolution");
    // Buttons are the first way's, groups the second's.
    let buttons = vec![vec![Button { text: "Yes".into(), press: Press::Data("y".into()) }]];
    let extras = Extras { buttons, ..Extras::default() };
    assert_eq!(whatsapp.compose(&Letter { extras: &extras, ..letter(ANNA, &text) })["way"], "cloud");
    // The stored one still goes where it was to go.
    assert!(whatsapp.deliver(&stored, &key()).await.is_err());
    assert_eq!(gone.heard().len(), 2);
    assert_eq!(other.heard().len(), 1);
    let ready = hybrid(1, 1, &files);
    assert_eq!(ready.compose(&letter(GROUP, &text))["way"], "evolution");
    assert_eq!(ready.compose(&letter(ANNA, &text))["way"], "cloud");
    let failure = ready.deliver(&ready.compose(&letter(ANNA, &text)), &key()).await.unwrap_err();
    assert!(matches!(failure, Failure::Retry(_)), "{failure:?}");
    assert_eq!(ready.compose(&letter(ANNA, &text))["way"], "evolution", "nobody was there");
}

#[tokio::test]
async fn readiness_is_said_in_words() {
    let files = &Files::new();
    let ready = |script| async move {
        cloud(Double::start(script).port, files).check_ready().await.map_err(|why| why.0)
    };
    const NUMBER: Reply =
        Reply::Says(200, "", r#"{"display_phone_number":"+49 151","status":"CONNECTED","id":"1"}"#);
    assert_eq!(ready(&[NUMBER]).await.unwrap(), "+49 151");
    let said = ready(&[Reply::Says(200, "", r#"{"display_phone_number":"+49","status":"BANNED"}"#)]).await;
    assert!(said.unwrap_err().starts_with("phone banned"));
    assert!(ready(&[refusal!(401, "190")]).await.unwrap_err().contains("replace the token"));
    let ready = |script| async move {
        evolution(Double::start(script).port, files).check_ready().await.map_err(|why| why.0)
    };
    let said =
        ready(&[Reply::Says(200, "", r#"{"instance":{"instanceName":"home","state":"close"}}"#)]).await;
    assert!(said.unwrap_err().starts_with("phone disconnected"));
    assert!(ready(&[Reply::Says(200, "", "{}")]).await.unwrap_err().contains("check evolution_url"));
}

#[tokio::test]
async fn a_token_that_was_replaced_is_used_without_a_restart() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "old").unwrap();
    let double = Double::start(&[refusal!(401, "190"), SENT]);
    let token = Token::read(SecretSource::File(file.path().into())).unwrap();
    let graph = Graph::new(http(), base(double.port), "1".into(), token);
    let whatsapp = WhatsApp { graph: Some(graph), ..cloud(1, &Files::new()) };
    std::fs::write(file.path(), "new").unwrap();
    let text = part("Hello");
    let wire = whatsapp.compose(&letter(ANNA, &text));
    let failure = whatsapp.deliver(&wire, &key()).await.unwrap_err();
    assert!(matches!(failure, Failure::Retry(_)), "{failure:?}");
    whatsapp.deliver(&wire, &key()).await.unwrap();
    assert!(double.heard()[1].contains("Bearer new\r\n"));
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
    for deed in [Deed::Edit { message: "1".into() }, Deed::Pin { message: "1".into() }] {
        assert_eq!(one.act(&act(ANNA, &deed, None)), None);
        assert_eq!(other.act(&act(ANNA, &deed, None)), None);
    }
    assert_eq!(one.act(&act(ANNA, &Deed::Delete { message: "wamid.1".into() }, None)), None);
}

#[test]
fn every_setting_is_documented_and_every_documented_key_is_a_setting() {
    let all = KEYS.iter().map(|key| format!("{} = {}\n", key.name, key.value)).collect::<String>();
    let all: Settings = toml::from_str(&all).unwrap();
    assert_eq!(all.graph_url, super::default_graph());
    assert!(!all.previews);
    assert!(toml::from_str::<Settings>("kind = \"pigeon\"").is_err());
    assert!(toml::from_str::<Settings>("numbers = 3").is_err());
}
