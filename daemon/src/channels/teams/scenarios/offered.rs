//! Files that are offered, and what becomes of them.

use std::{
    collections::BTreeMap,
    sync::Mutex,
    time::{SystemTime, UNIX_EPOCH},
};

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use ring::{
    rand::SystemRandom,
    rsa::PublicKeyComponents,
    signature::{RSA_PKCS1_SHA256, RsaKeyPair},
};

use super::*;
use crate::{
    channels::{hub_handle::Unavailable, testing::hub::HubMock},
    message::form::{Entry, Taken},
};

mod token_verification;
mod waits;

const ANN: &str = "a:1abc";

/// A key of the tests' own.
fn pair() -> RsaKeyPair {
    let file: Value =
        serde_json::from_str(include_str!("../../googlechat/testdata/service-account.json")).unwrap();
    let key = file["private_key"].as_str().unwrap();
    let der: String = key.lines().filter(|line| !line.starts_with("-----")).collect();
    RsaKeyPair::from_pkcs8(&STANDARD.decode(der).unwrap()).unwrap()
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// A token, signed as the Connector signs its own.
fn token(header: &Value, claims: &Value) -> String {
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let said = format!("{}.{}", encode(header), encode(claims));
    let pair = pair();
    let mut signature = vec![0; pair.public().modulus_len()];
    pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), said.as_bytes(), &mut signature).unwrap();
    format!("Bearer {said}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn header() -> Value {
    json!({ "alg": "RS256", "typ": "JWT", "kid": "k-1" })
}

fn claims() -> Value {
    json!({
        "iss": "https://api.botframework.com", "aud": "app-1", "serviceurl": "https://smba.test/teams/",
        "nbf": now() - 10, "exp": now() + 3_600,
    })
}

/// Where the keys are, and the keys.
fn published() -> [Reply; 2] {
    published_as("k-1")
}

/// The same, where the Connector's key is called so.
fn published_as(kid: &str) -> [Reply; 2] {
    let key: PublicKeyComponents<Vec<u8>> = pair().public().into();
    let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let keys = json!({ "keys": [
        { "kty": "EC", "kid": 7 },
        { "kty": "RSA", "kid": "k-0", "n": "AQAB", "e": "AQAB", "endorsements": ["msteams"] },
        { "kty": "RSA", "kid": kid, "n": encode(&key.n), "e": encode(&key.e), "endorsements": ["msteams"] },
    ]});
    let document = Reply::Says(200, "", r#"{"jwks_uri":"http://127.0.0.1:{port}/keys"}"#);
    [document, Reply::Says(200, "", keys.to_string().leak())]
}

fn activity(value: &Value) -> Value {
    json!({
        "type": "invoke", "name": "fileConsent/invoke", "id": "f:1", "channelId": "msteams",
        "serviceUrl": "https://smba.test/teams/", "conversation": { "id": ANN },
        "from": { "id": "29:1", "name": "Ann" }, "value": value,
    })
}

/// The hub, which knows one request, and what it was told.
#[derive(Default)]
struct Known {
    request: Option<(PartKey, Value)>,
    told: Mutex<Vec<(String, Entry)>>,
}

#[async_trait]
impl HubHandle for Known {
    async fn request(&self, key: &PartKey) -> Result<Option<Value>, Unavailable> {
        Ok(self.request.as_ref().filter(|(one, _)| one == key).map(|(_, request)| request.clone()))
    }

    async fn entered(&self, _: &PartKey, id: &str, entry: Entry) -> Result<Taken, Unavailable> {
        self.told.lock().unwrap().push((id.to_owned(), entry));
        Ok(Taken::Now)
    }
}

impl Known {
    /// What it is told, once it is told that much.
    async fn told(&self, teams: &Teams, much: usize) -> Vec<Entry> {
        let enough = async {
            while self.told.lock().unwrap().len() < much {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::select! {
            () = teams.listen(self) => panic!("it goes on for ever"),
            () = enough => {}
            () = tokio::time::sleep(Duration::from_secs(20)) => panic!("nobody is told"),
        }
        self.told.lock().unwrap().iter().map(|(_, entry)| entry.clone()).collect()
    }
}

/// Somebody accepts the file that this part offers; it is to be uploaded to the mock at `port`.
fn accepted(part: &str, port: u16) -> Value {
    json!({
        "type": "fileUpload", "action": "accept", "context": { "part": part },
        "uploadInfo": {
            "uploadUrl": format!("http://127.0.0.1:{port}/drive/up?token=hush"),
            "contentUrl": "https://c.sharepoint.com/plan.pdf", "name": "plan.pdf",
            "uniqueId": "u-1", "fileType": "pdf",
        },
    })
}

fn document(staged: &Files) -> [Attachment; 1] {
    [staged.add("plan.pdf", "application/pdf", b"%PDF-1.7 hello")]
}

#[tokio::test]
async fn a_document_is_offered_to_one_person_and_refused_in_a_group() {
    let mock = Mock::start(&[GRANTED, CREATED]);
    let staged = Files::new();
    let teams = bot_with(mock.port, Secret::from("hush~secret"), staged.kept());
    let (files, caption) = (document(&staged), part("The plan"));
    let request = teams.composed(&OutgoingPart { files: &files, ..sample::outgoing(ANN, &caption) });
    assert!(teams.refusal(&request).is_none(), "{request}");
    assert!(teams.remark_on(&request).unwrap().contains("accepts"));
    assert_eq!(teams.redelivery_of(&request), Redelivery::Never);
    assert_eq!(teams.delivered(&request, &key()).await.unwrap(), "1700000000000");
    let context = json!({ "part": key().0 });
    assert_eq!(
        body(&mock.heard()[1]),
        json!({ "type": "message", "attachments": [{
            "contentType": "application/vnd.microsoft.teams.card.file.consent", "name": "plan.pdf",
            "content": { "description": "The plan", "sizeInBytes": 14, "acceptContext": context, "declineContext": context },
        }]})
    );
    let large = [sample::file("big.png", "image/png", &vec![0; 1_000_001])];
    for (address, files, offered) in
        [("19:abc@thread.tacv2", &files, false), ("19:abc@thread.tacv2", &large, false), (ANN, &large, true)]
    {
        let request = teams.composed(&OutgoingPart { files, ..sample::outgoing(address, &caption) });
        assert_eq!(request["do"] == "offer", offered, "{request}");
        assert_eq!(teams.refusal(&request).is_some_and(|why| why.contains("send a link")), !offered);
    }
}

#[tokio::test]
async fn what_was_approved_is_handed_over_once_and_the_agent_hears_of_it() {
    const THERE: Reply = Reply::Says(201, "", r#"{"id":"drive"}"#);
    let [document_of_keys, keys] = published();
    let mock = Mock::start(&[document_of_keys, keys, THERE, GRANTED, CREATED, THERE]);
    let staged = Files::new();
    let teams = bot_with(mock.port, Secret::from("hush~secret"), staged.kept());
    let (files, caption) = (document(&staged), part("The plan"));
    let request = teams.composed(&OutgoingPart { files: &files, ..sample::outgoing(ANN, &caption) });
    let hub = Known { request: Some((key(), request)), ..Known::default() };
    let tell = async |value: &Value, conversation: &str| {
        let mut activity = activity(value);
        activity["conversation"]["id"] = json!(conversation);
        teams
            .read_callback(&token(&header(), &claims()), activity.to_string().as_bytes(), &HubMock::default())
            .await
            .unwrap();
    };
    let accepted = |part: &str| accepted(part, mock.port);
    // Of another part, and in another conversation: nobody's.
    tell(&accepted("ff"), ANN).await;
    tell(&accepted(&key().0), "a:another").await;
    tell(&accepted(&key().0), ANN).await;
    tell(&accepted(&key().0), ANN).await;
    let told = hub.told(&teams, 1).await;
    let values = BTreeMap::from([
        ("answer".to_owned(), "accepted".to_owned()),
        ("file".to_owned(), "handed over".to_owned()),
    ]);
    let entry =
        Entry { form: "plan.pdf".into(), by: "29:1".into(), name: "Ann".into(), message: None, values };
    assert_eq!(told, [entry]);
    let heard = mock.heard();
    assert_eq!(heard.len(), 5, "{heard:#?}");
    assert!(heard[2].starts_with("PUT /drive/up?token=hush HTTP/1.1"), "{}", heard[2]);
    assert!(heard[2].contains("content-range: bytes 0-13/14\r\n"), "{}", heard[2]);
    assert!(heard[2].ends_with("\r\n\r\n%PDF-1.7 hello"), "{}", heard[2]);
    let shown = body(&heard[4]);
    assert_eq!(shown["attachments"][0]["contentType"], "application/vnd.microsoft.teams.card.file.info");
    assert_eq!(shown["attachments"][0]["content"], json!({ "uniqueId": "u-1", "fileType": "pdf" }));
}

#[tokio::test]
async fn a_file_that_is_there_without_its_card_is_not_handed_over_again() {
    const THERE: Reply = Reply::Says(200, "", r#"{"id":"drive"}"#);
    const NO: Reply = Reply::Says(403, "", r#"{"error":{"code":"ConversationBlockedByUser"}}"#);
    let [document_of_keys, keys] = published();
    let mock = Mock::start(&[document_of_keys, keys, THERE, GRANTED, NO]);
    let staged = Files::new();
    let teams = bot_with(mock.port, Secret::from("hush~secret"), staged.kept());
    let (files, caption) = (document(&staged), part("The plan"));
    let request = teams.composed(&OutgoingPart { files: &files, ..sample::outgoing(ANN, &caption) });
    let hub = Known { request: Some((key(), request)), ..Known::default() };
    let accepted = activity(&accepted(&key().0, mock.port));
    for _ in 0..2 {
        teams
            .read_callback(&token(&header(), &claims()), accepted.to_string().as_bytes(), &HubMock::default())
            .await
            .unwrap();
    }
    let told = hub.told(&teams, 1).await;
    let became = &told[0].values["file"];
    assert!(became.starts_with("handed over, but no card") && became.contains("blocked"), "{became}");
    assert_eq!(mock.heard().iter().filter(|request| request.starts_with("PUT ")).count(), 1);
}

#[tokio::test]
async fn a_file_that_is_gone_is_not_offered() {
    let mock = Mock::start(&[GRANTED, CREATED]);
    let staged = Files::new();
    let teams = bot_with(mock.port, Secret::from("hush~secret"), staged.kept());
    let (files, caption) = (document(&staged), part("The plan"));
    let request = teams.composed(&OutgoingPart { files: &files, ..sample::outgoing(ANN, &caption) });
    staged.clear();
    let failure = teams.delivered(&request, &key()).await.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("any more")), "{failure:?}");
    assert!(mock.heard().is_empty());
}

#[tokio::test]
async fn a_file_of_which_more_is_awaited_is_not_there() {
    let mock = Mock::start(&[Reply::Says(202, "", "{}")]);
    let staged = Files::new();
    let teams = bot_with(mock.port, Secret::from("hush~secret"), staged.kept());
    let reference = document(&staged)[0].reference();
    let file = client::open(&reference, &staged.kept()).await.unwrap();
    let url = format!("http://127.0.0.1:{}/drive/up", mock.port).parse().unwrap();
    let failure = teams.client.upload(&url, file).await.unwrap_err();
    assert!(matches!(&failure, Failure::Retry(why) if why.contains("202")), "{failure:?}");
}

#[tokio::test]
async fn a_no_and_a_file_that_cannot_be_handed_over_are_told() {
    let [document_of_keys, keys] = published();
    let mock = Mock::start(&[document_of_keys, keys, Reply::Says(403, "", "hush")]);
    let staged = Files::new();
    let teams = bot_with(mock.port, Secret::from("hush~secret"), staged.kept());
    let (files, caption) = (document(&staged), part("The plan"));
    let request = teams.composed(&OutgoingPart { files: &files, ..sample::outgoing(ANN, &caption) });
    let hub = Known { request: Some((key(), request)), ..Known::default() };
    let tell = async |value: Value| {
        let told = teams
            .read_callback(
                &token(&header(), &claims()),
                activity(&value).to_string().as_bytes(),
                &HubMock::default(),
            )
            .await;
        assert_eq!(told, Ok(vec![]));
    };
    let accept = |url: &str| {
        json!({ "action": "accept", "context": { "part": key().0 }, "uploadInfo": {
            "uploadUrl": url, "contentUrl": "https://c.sharepoint.com/a", "name": "a", "uniqueId": "u", "fileType": "pdf",
        }})
    };
    tell(json!({ "action": "decline", "context": { "part": key().0 } })).await;
    tell(accept("https://evil.test/up?token=hush")).await;
    let told = hub.told(&teams, 2).await;
    let became = |entry: &Entry| entry.values.get("file").cloned().unwrap_or_default();
    assert!(told.iter().any(|entry| entry.values["answer"] == "declined" && became(entry).is_empty()));
    assert!(told.iter().any(|entry| became(entry).contains("not in anybody's OneDrive")), "{told:?}");
    assert_eq!(mock.heard().len(), 2, "nothing went there");
}
