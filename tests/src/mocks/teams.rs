//! Microsoft Teams for a bot: who grants it its access tokens, the Bot Connector that takes its messages
//! (<https://learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-api-reference>), the keys by which the Connector
//! is believed, and a OneDrive. The Connector itself signs with a key of the tests' own.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Result, anyhow};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use ring::{
    rand::SystemRandom,
    rsa::PublicKeyComponents,
    signature::{RSA_PKCS1_SHA256, RsaKeyPair},
};
use serde_json::{Value, json};

use super::{MockServer, googlechat};

/// The conversations that there are: with Ann, and a thread of a channel.
const PLACES: [&str; 2] = ["a:1abcdef", "19:abc@thread.tacv2;messageid=1700000000000"];
/// The id of the first message that it takes; each further one has the number after it.
const FIRST: u64 = 1_700_000_000_000;

/// A key pair of the tests' own, by which a mock of the Connector signs.
///
/// # Errors
/// The key cannot be read.
pub fn connector() -> Result<RsaKeyPair> {
    let file: Value = serde_json::from_str(googlechat::KEY)?;
    let pem = file["private_key"].as_str().unwrap_or_default();
    let der: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    RsaKeyPair::from_pkcs8(&STANDARD.decode(der)?).map_err(|_| anyhow!("the key cannot be read"))
}

/// A token of the Connector's for this bot and service.
///
/// # Errors
/// The key does not sign.
pub fn token(pair: &RsaKeyPair, app: &str, service: &str) -> Result<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let header = json!({"alg": "RS256", "typ": "JWT", "kid": "k-1"});
    let claims = json!({
        "iss": "https://api.botframework.com", "aud": app, "serviceurl": service, "nbf": now, "exp": now + 600,
    });
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let said = format!("{}.{}", encode(&header), encode(&claims));
    let mut signature = vec![0; pair.public().modulus_len()];
    let signed = pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), said.as_bytes(), &mut signature);
    signed.map_err(|_| anyhow!("the key does not sign"))?;
    Ok(format!("{said}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

/// Teams, Microsoft's keys and somebody's OneDrive in one: each is strict about what it is asked.
///
/// # Errors
/// There is no port to listen on.
pub fn microsoft(pair: &RsaKeyPair) -> Result<MockServer> {
    microsoft_with(pair).map(|(server, _)| server)
}

/// The messages that Teams took, in order. It knows none again: whatever is posted twice is two messages.
#[derive(Clone, Default)]
pub struct Taken(Arc<Mutex<Vec<Value>>>);

impl Taken {
    fn all(&self) -> MutexGuard<'_, Vec<Value>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Their ids and texts, as they are now.
    pub fn texts(&self) -> Vec<(String, String)> {
        let all = self.all();
        let text = |activity: &Value| activity["text"].as_str().unwrap_or_default().to_owned();
        all.iter().zip(FIRST..).map(|(activity, id)| (id.to_string(), text(activity))).collect()
    }

    fn add(&self, activity: Value) -> String {
        let mut all = self.all();
        all.push(activity);
        (FIRST + all.len() as u64 - 1).to_string()
    }

    /// Puts an activity into the place of the one with this id; whether there is one.
    fn replace(&self, id: &str, activity: Value) -> bool {
        let at = id.parse::<u64>().ok().and_then(|id| id.checked_sub(FIRST));
        let at = at.and_then(|at| usize::try_from(at).ok());
        let mut all = self.all();
        at.and_then(|at| all.get_mut(at)).map(|there| *there = activity).is_some()
    }
}

/// The same, with the messages that it takes.
///
/// # Errors
/// There is no port to listen on.
pub fn microsoft_with(pair: &RsaKeyPair) -> Result<(MockServer, Taken)> {
    let taken = Taken::default();
    let taking = taken.clone();
    let key: PublicKeyComponents<Vec<u8>> = pair.public().into();
    let (n, e) = (URL_SAFE_NO_PAD.encode(key.n), URL_SAFE_NO_PAD.encode(key.e));
    let server = MockServer::open(move |request| {
        let no = |why: &str| (400, json!({"error": {"code": "BadSyntax", "message": why}}));
        match (request.method.as_str(), request.path.as_str()) {
            ("POST", "/my-tenant/oauth2/v2.0/token") => {
                (200, json!({"token_type": "Bearer", "expires_in": 3600, "access_token": "a.granted.token"}))
            }
            ("GET", "/openid") => {
                (200, json!({"jwks_uri": format!("http://{}/keys", request.header("host"))}))
            }
            ("GET", "/keys") => {
                (200, json!({"keys": [{"kid": "k-1", "n": n, "e": e, "endorsements": ["msteams"]}]}))
            }
            ("POST", path)
                if path.starts_with("/teams/v3/conversations/") && path.contains("/activities") =>
            {
                let body = request.json();
                let place =
                    path.trim_start_matches("/teams/v3/conversations/").split('/').next().unwrap_or_default();
                if !PLACES.contains(&place) {
                    return no("there is no such conversation");
                }
                let card = &body["attachments"][0];
                // https://learn.microsoft.com/microsoftteams/platform/bots/how-to/bots-filesv4#sample-send-file-consent-card
                let whole = match card["contentType"].as_str() {
                    None => body["text"].is_string() || body["type"] == "typing",
                    Some("application/vnd.microsoft.card.adaptive") => {
                        card["content"]["type"] == "AdaptiveCard"
                    }
                    Some("application/vnd.microsoft.teams.card.file.consent") => {
                        card["name"].is_string()
                            && card["content"]["sizeInBytes"].is_u64()
                            && card["content"]["acceptContext"].is_object()
                    }
                    Some("application/vnd.microsoft.teams.card.file.info") => {
                        card["contentUrl"].is_string() && card["content"]["uniqueId"].is_string()
                    }
                    Some(_) => false,
                };
                match (whole && calls_by_name(&body), body["type"] == "typing") {
                    (true, true) => (201, json!({})),
                    (true, false) => (201, json!({"id": taking.add(body)})),
                    (false, _) => no("that is no activity"),
                }
            }
            // <https://learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-api-reference#update-activity>
            ("PUT", path) if path.starts_with("/teams/v3/conversations/") => {
                if !calls_by_name(&request.json()) {
                    return no("a mention is not in the text");
                }
                let id = path.rsplit('/').next().unwrap_or_default();
                match taking.replace(id, request.json()) {
                    true => (200, json!({"id": id})),
                    false => (
                        404,
                        json!({"error": {"code": "ActivityNotFoundInConversation", "message": "no such activity"}}),
                    ),
                }
            }
            // Where the file lies that somebody sent, for whoever has its address.
            ("GET", "/drive")
                if request.query == "tempauth=hush" && request.header("authorization").is_empty() =>
            {
                (200, json!({"the": "plan"}))
            }
            ("PUT", "/drive") => {
                let range = format!("bytes 0-{}/{}", request.body.len() - 1, request.body.len());
                match request.query == "token=hush" && request.header("content-range") == range {
                    true => (201, json!({"id": "drive-1"})),
                    false => no("that is not what room was made for"),
                }
            }
            _ => (404, json!({"error": {"code": "NotFound", "message": "there is no such thing"}})),
        }
    })?;
    Ok((server, taken))
}

/// Whether each mention has its entity and each entity its mention, in a text or a card, and is a person's
/// (<https://learn.microsoft.com/microsoftteams/platform/bots/how-to/conversations/channel-and-group-conversations#work-with-mentions>,
/// <https://learn.microsoft.com/microsoftteams/platform/task-modules-and-cards/cards/cards-format#mention-support-within-adaptive-cards>).
fn calls_by_name(body: &Value) -> bool {
    let card = &body["attachments"][0]["content"];
    let is_card = card["type"] == "AdaptiveCard";
    let (text, entities) = match is_card {
        true => (card["body"].to_string(), &card["msteams"]["entities"]),
        false => (body["text"].as_str().unwrap_or_default().to_owned(), &body["entities"]),
    };
    let entities = entities.as_array().into_iter().flatten().filter(|entity| entity["type"] == "mention");
    let mut names: Vec<String> = Vec::new();
    for entity in entities {
        let (id, name) = (entity["mentioned"]["id"].as_str(), entity["mentioned"]["name"].as_str());
        let (Some(id), Some(name), Some(tag)) = (id, name, entity["text"].as_str()) else { return false };
        let is_person = !id.starts_with("19:") && !id.starts_with("28:");
        if !is_person
            || tag != format!("<at>{name}</at>")
            || !text.contains(tag)
            || names.iter().any(|one| one == tag)
        {
            return false;
        }
        names.push(tag.to_owned());
    }
    let tags = text.split("<at>").skip(1).filter_map(|rest| rest.split_once("</at>"));
    tags.map(|(name, _)| format!("<at>{name}</at>")).all(|tag| names.contains(&tag))
}
