//! The Cloud API alone.

use super::*;
use crate::channels::{
    callback::{CallbackRefused, DeliveryStatus, Lost},
    received::Seen,
    testing::hub::HubMock,
    whatsapp::CallbackEndpoint,
};

async fn by_cloud(script: &'static [Reply]) -> (Result<String, Failure>, Vec<String>) {
    let mock = Mock::start(script);
    let whatsapp = cloud(mock.port, &Files::new());
    let part = part("Hello");
    let request = whatsapp.composed(&outgoing(ANNA, &part));
    (whatsapp.delivered(&request, &key()).await, mock.heard())
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

#[test]
fn replies_buttons_and_templates_have_their_own_forms() {
    let files = Files::new();
    let template = Some(Template { name: "update".into(), language: "de".into() });
    let whatsapp = WhatsApp { template, ..cloud(1, &files) };
    let text = part("Hello\nyou");
    let reply = OutgoingPart { reply_to: Some("wamid.9/x"), ..outgoing(ANNA, &text) };
    let request = whatsapp.composed(&reply);
    assert_eq!(request["message"]["context"], json!({"message_id": "wamid.9/x"}));
    assert_eq!(
        request["outside_window"]["template"],
        json!({
            "name": "update",
            "language": {"code": "de"},
            "components": [{"type": "body", "parameters": [{"type": "text", "text": "Hello you"}]}],
        })
    );
    let button = |text: &str, data: &str| Button { text: text.into(), press: Press::Data(data.into()) };
    let extras = Extras { buttons: vec![vec![button("Yes", "y"), button("No", "n")]], ..Extras::default() };
    let request = whatsapp.composed(&OutgoingPart { extras: &extras, ..outgoing(ANNA, &text) });
    assert_eq!(
        request,
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
    assert!(
        whatsapp.composed(&OutgoingPart { extras: &extras, ..outgoing(ANNA, &long) })["refused"].is_string()
    );
    assert!(whatsapp.composed(&outgoing(ANNA, &long))["outside_window"].is_null(), "too long for a template");
}

#[tokio::test]
async fn an_upload_whose_answer_was_lost_is_nowhere_and_goes_again() {
    let files = Files::new();
    let file = [files.add("a.txt", "text/plain", b"hello")];
    let text = part("");
    for script in
        [&[Reply::Close] as &'static [Reply], &[Reply::Says(502, "", "")], &[Reply::Says(200, "", "{}")]]
    {
        let whatsapp = cloud(Mock::start(script).port, &files);
        let request = whatsapp.composed(&OutgoingPart { files: &file, ..outgoing(ANNA, &text) });
        let failure = whatsapp.delivered(&request, &key()).await.unwrap_err();
        assert!(matches!(failure, Failure::Retry(_)), "{failure:?}");
    }
}

#[tokio::test]
async fn what_the_cloud_api_refuses_its_code_says() {
    type Judged = fn(&Failure) -> bool;
    let permanent: Judged = |failure| matches!(failure, Failure::Permanent(_));
    let unknown: Judged = |failure| matches!(failure, Failure::Unknown(_));
    let retry: Judged = |failure| matches!(failure, Failure::Retry(_));
    let cases: [(&'static [Reply], Judged, &str); 19] = [
        // Of these, Meta's reference says that they come with 500.
        (&[refusal!(500, "3")], permanent, "its details"),
        (&[refusal!(500, "131045")], permanent, "its details"),
        (&[refusal!(500, "132069")], permanent, "its details"),
        (&[refusal!(500, "133000")], permanent, "its details"),
        (&[refusal!(400, "131062")], permanent, "to a number"),
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
        (&[Reply::Says(500, "", "<p>no</p>")], unknown, "500"),
    ];
    for (script, judged, words) in cases {
        let failure = by_cloud(script).await.0.unwrap_err();
        assert!(judged(&failure) && failure.to_string().contains(words), "{words}: {failure:?}");
        assert!(!failure.to_string().contains("graph_secret"), "{failure:?}");
    }
}

#[tokio::test]
async fn outside_the_window_the_template_that_was_approved_goes_instead() {
    let mock = Mock::start(&[refusal!(400, "131047"), SENT]);
    let template = Some(Template { name: "update".into(), language: "en".into() });
    let whatsapp = WhatsApp { template, ..cloud(mock.port, &Files::new()) };
    let text = part("Hello");
    let request = whatsapp.composed(&outgoing(ANNA, &text));
    assert!(
        whatsapp.route_of(&outgoing(ANNA, &text)).unwrap().contains("template"),
        "whoever approves reads it"
    );
    assert_eq!(whatsapp.delivered(&request, &key()).await.unwrap(), "wamid.1");
    let sent = body(&mock.heard()[1]);
    assert_eq!((&sent["type"], &sent["biz_opaque_callback_data"]), (&json!("template"), &json!(key().0)));
}

#[tokio::test]
async fn outside_the_window_the_template_goes_also_when_that_is_told_later_and_once() {
    let mock = Mock::start(&[SENT, SENT]);
    let endpoint = Some(CallbackEndpoint {
        app: Secret::from("app secret").into(),
        verify: Secret::from("a word").into(),
    });
    let template = Some(Template { name: "update".into(), language: "en".into() });
    let whatsapp = WhatsApp { template, endpoint, ..cloud(mock.port, &Files::new()) };
    let text = part("Hello");
    let request = whatsapp.composed(&outgoing(ANNA, &text));
    whatsapp.delivered(&request, &key()).await.unwrap();
    let status = json!({"id": "wamid.1", "status": "failed", "biz_opaque_callback_data": key().0,
        "errors": [{"code": 131_047, "title": "Re-engagement message"}]});
    let body_of = json!({"entry": [{"changes": [{"value": {"statuses": [status]}}]}]}).to_string();
    let signing = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, b"app secret");
    let mac = ring::hmac::sign(&signing, body_of.as_bytes());
    let signature = format!("sha256={}", crate::random::to_hex(mac.as_ref()));
    for again in [true, false] {
        let told = whatsapp.read_callback(&signature, body_of.as_bytes(), &HubMock::default()).await.unwrap();
        let lost = told[0].outcome.as_ref().unwrap_err();
        assert!(lost.again == again && lost.why.contains("configure a template"), "{lost:?}");
    }
    whatsapp.delivered(&request, &key()).await.unwrap();
    assert_eq!(body(&mock.heard()[1])["type"], "template");
    // What has no template does not go a second time.
    let (file, text) = ([Files::new().add("a.png", "image/png", b"x")], part("See"));
    let request = whatsapp.composed(&OutgoingPart { files: &file, ..outgoing(ANNA, &text) });
    let failure = whatsapp.delivered(&request, &key()).await.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("24 hours")), "{failure:?}");
    assert_eq!(mock.heard().len(), 2);
}

#[tokio::test]
async fn a_notification_is_believed_by_the_apps_secret_and_the_address_by_the_word_agreed_on() {
    let files = Files::new();
    let endpoint =
        CallbackEndpoint { app: Secret::from("app secret").into(), verify: Secret::from("a word").into() };
    let whatsapp = WhatsApp { endpoint: Some(endpoint), ..cloud(1, &files) };
    let query = |mode: &str, word: &str, challenge: &str| {
        [("hub.mode", mode), ("hub.verify_token", word), ("hub.challenge", challenge)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into()
    };
    let answer =
        |mode: &str, word: &str, challenge: &str| whatsapp.answer_to_challenge(&query(mode, word, challenge));
    assert_eq!(answer("subscribe", "a word", "1158201444"), Some("1158201444".into()));
    assert_eq!(answer("subscribe", "", "1158201444"), None);
    assert_eq!(answer("subscribe", "another", "1158201444"), None);
    assert_eq!(answer("unsubscribe", "a word", "1158201444"), None);
    assert_eq!(answer("subscribe", "a word", "<script>"), None);
    assert_eq!(answer("subscribe", "a word", &"1".repeat(129)), None);
    let told = |state: &str, key: &str| {
        let status = json!({"id": "wamid.1", "status": state, "biz_opaque_callback_data": key,
            "errors": [{"code": 131_026, "title": "Undeliverable"}]});
        json!({"entry": [{"changes": [{"value": {"statuses": [status]}}]}]}).to_string()
    };
    let signed = |body: &str| {
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, b"app secret");
        format!("sha256={}", crate::random::to_hex(ring::hmac::sign(&key, body.as_bytes()).as_ref()))
    };
    for (state, outcome) in [
        ("delivered", Ok("wamid.1".to_owned())),
        (
            "failed",
            Err(Lost {
                id: "wamid.1".into(),
                why: "the Cloud API said later 131026, Undeliverable".into(),
                again: false,
            }),
        ),
    ] {
        let body = told(state, &key().0);
        let said =
            whatsapp.read_callback(&signed(&body), body.as_bytes(), &HubMock::default()).await.unwrap();
        assert_eq!(said, [DeliveryStatus { key: key(), outcome }]);
        assert_eq!(
            whatsapp.read_callback("sha256=00", body.as_bytes(), &HubMock::default()).await,
            Err(CallbackRefused::Signature)
        );
        assert_eq!(
            cloud(1, &files).read_callback(&signed(&body), body.as_bytes(), &HubMock::default()).await,
            Err(CallbackRefused::Nobody)
        );
    }
    let others = told("delivered", "somebody else's");
    assert_eq!(
        whatsapp.read_callback(&signed(&others), others.as_bytes(), &HubMock::default()).await,
        Ok(vec![])
    );
    let hub = HubMock::default();
    for (state, timestamp) in [("sent", "1790000000"), ("delivered", "1790000001"), ("read", "1790000009")] {
        let status = json!({"id": "wamid.1", "status": state, "timestamp": timestamp});
        let body = json!({"entry": [{"changes": [{"value": {"statuses": [status]}}]}]}).to_string();
        whatsapp.read_callback(&signed(&body), body.as_bytes(), &hub).await.unwrap();
    }
    let seen =
        |read, at| Seen { by: vec![], ids: vec!["wamid.1".into()], and_before: false, read, at: Some(at) };
    assert_eq!(hub.seen_so_far(), [seen(false, 1_790_000_001_000), seen(true, 1_790_000_009_000)]);
    assert_eq!(cloud(1, &files).answer_to_challenge(&query("subscribe", "", "1")), None);
}

#[test]
fn a_user_id_stands_in_a_place_of_its_own_and_goes_by_the_cloud_api_alone() {
    let (files, text) = (Files::new(), part("Hello"));
    let user = "US.13491208655302741918";
    for whatsapp in [cloud(1, &files), hybrid(1, 1, &files)] {
        let request = whatsapp.composed(&outgoing(user, &text));
        assert_eq!((&request["way"], &request["message"]["recipient"]), (&json!("cloud"), &json!(user)));
        assert!(request["message"]["to"].is_null() && request["otherwise"].is_null(), "{request}");
        let react = Operation::React { message: "wamid.1".into(), emoji: "👍".into(), remove: false };
        assert_eq!(
            whatsapp.composed_operation(&op(user, &react, None)).unwrap()["message"]["recipient"],
            user
        );
    }
    let both = hybrid(1, 1, &files);
    let delete = Operation::Delete { message: "3EB0AA".into() };
    assert!(both.refusal(&both.composed_operation(&op(user, &delete, None)).unwrap()).is_some());
    assert!(evolution(1, &files).resolve(user).unwrap_err().hint.contains("Cloud API"));
}

#[tokio::test]
async fn a_number_that_cannot_send_whatever_the_message_lets_the_other_way_have_it() {
    macro_rules! not_ready {
        ($($code:literal),*) => { [$(&[refusal!(400, $code)] as &'static [Reply]),*] };
    }
    let files = Files::new();
    for script in
        not_ready!("3", "10", "200", "294", "131005", "131042", "131037", "131045", "133000", "133010")
    {
        let (first, second) = (Mock::start(script), Mock::start(&[MADE]));
        let both = hybrid(first.port, second.port, &files);
        let text = part("Hello");
        let request = both.composed(&outgoing(ANNA, &text));
        assert_eq!(both.delivered(&request, &key()).await.unwrap(), "3EB0AA", "{script:?}");
        assert!(!both.graph.as_ref().unwrap().is_ready());
    }
}

#[tokio::test]
async fn meta_says_when_a_business_may_send_again() {
    const USED_UP: Reply = Reply::Says(
        400,
        "X-Business-Use-Case-Usage: {\"104996122399160\":[{\"type\":\"messages\",\"call_count\":100,\"estimated_time_to_regain_access\":19}]}\r\n",
        r#"{"error":{"message":"(#80007) Rate limit issues","type":"OAuthException","code":80007}}"#,
    );
    let limited = by_cloud(&[USED_UP]).await.0.unwrap_err();
    assert!(
        matches!(limited, Failure::Wait { after, .. } if after == Duration::from_mins(19)),
        "{limited:?}"
    );
}
