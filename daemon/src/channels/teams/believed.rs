//! Whether a request to the bot comes from Microsoft's Bot Connector.
//!
//! The hub's door is open to the world, so nothing in a request counts before its token is shown to be the Connector's, for
//! this bot and for the service that the activity names
//! (<https://learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-authentication#connector-to-bot>).
//! The keys that sign tokens are read from where Microsoft publishes them, kept for a day, and read again for a key that is
//! not among them, once a minute at most.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use reqwest::Url;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents};
use serde::Deserialize;
use serde_json::Value;
use tokio::{sync::Mutex, time::Instant};

use crate::channels::{
    http::{Http, base::Base},
    told::NotTold,
};

/// Who issues the Connector's tokens.
const ISSUER: &str = "https://api.botframework.com";
/// The channel whose activities it vouches for, of all that the Connector serves.
const CHANNEL: &str = "msteams";
/// "Industry-standard clock-skew is 5 minutes".
const SKEW: Duration = Duration::from_secs(300);
/// "All bot implementations … should refresh … at least once every 24 hours".
const FRESH: Duration = Duration::from_hours(24);
/// Between two times that the keys are read for a token that names none of them.
const AGAIN: Duration = Duration::from_secs(60);
/// For each of the two questions.
const ANSWER: Duration = Duration::from_secs(5);
/// The longest token, in bytes; the Connector's have about 1,200.
const MAX_TOKEN: usize = 8 * 1024;

/// Who believes.
pub(super) struct Believer {
    document: Base,
    keys: Mutex<Keys>,
}

#[derive(Default)]
struct Keys {
    known: Vec<Key>,
    /// When they were read.
    read: Option<Instant>,
    /// When they were asked for.
    asked: Option<Instant>,
}

/// A key as the document has it (RFC 7517, with Microsoft's `endorsements`).
#[derive(Clone, Deserialize)]
struct Key {
    #[serde(default)]
    kid: String,
    #[serde(default)]
    n: String,
    #[serde(default)]
    e: String,
    /// Channels whose activities it may vouch for.
    #[serde(default)]
    endorsements: Vec<String>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: String,
}

/// What a token says.
#[derive(Deserialize)]
pub(super) struct Claims {
    iss: String,
    aud: String,
    exp: u64,
    nbf: u64,
    #[serde(alias = "serviceUrl")]
    serviceurl: String,
}

impl Believer {
    /// One that reads the keys from what this document names.
    pub(super) fn new(document: Base) -> Self {
        Self { document, keys: Mutex::default() }
    }

    /// Checks the value of an `Authorization` header against the activity that came with it.
    pub(super) async fn check(
        &self,
        http: &Http,
        app_id: &str,
        authorization: &str,
        activity: &Value,
    ) -> Result<(), NotTold> {
        let claims = self.token(http, app_id, authorization).await?;
        if claims.is_of(activity) { Ok(()) } else { Err(NotTold::Signature) }
    }

    /// Checks the value of an `Authorization` header by itself; what the token says.
    pub(super) async fn token(
        &self,
        http: &Http,
        app_id: &str,
        authorization: &str,
    ) -> Result<Claims, NotTold> {
        let token = authorization.strip_prefix("Bearer ").filter(|token| token.len() <= MAX_TOKEN);
        let (said, signature) = token.and_then(|token| token.rsplit_once('.')).ok_or(NotTold::Signature)?;
        let (header, claims) = said.split_once('.').ok_or(NotTold::Signature)?;
        let header: Header = read(header)?;
        // And nothing else: neither "none" nor a secret that both would know.
        if header.alg != "RS256" {
            return Err(NotTold::Signature);
        }
        // What cannot be meant for this bot has nobody look for its key.
        let said_of: Claims = read(claims)?;
        if !said_of.is_for(app_id) {
            return Err(NotTold::Signature);
        }
        let key = self.key(http, &header.kid).await.ok_or(NotTold::Signature)?;
        let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text).map_err(|_| NotTold::Signature);
        RsaPublicKeyComponents { n: bytes(&key.n)?, e: bytes(&key.e)? }
            .verify(&RSA_PKCS1_2048_8192_SHA256, said.as_bytes(), &bytes(signature)?)
            .map_err(|_| NotTold::Signature)?;
        let endorsed = key.endorsements.iter().any(|one| one == CHANNEL);
        if endorsed { Ok(said_of) } else { Err(NotTold::Signature) }
    }

    /// The key of this name.
    async fn key(&self, http: &Http, kid: &str) -> Option<Key> {
        let mut keys = self.keys.lock().await;
        let find = |keys: &Keys| keys.known.iter().find(|key| key.kid == kid).cloned();
        let fresh = keys.read.is_some_and(|read| read.elapsed() < FRESH);
        if let Some(key) = find(&keys).filter(|_| fresh) {
            return Some(key);
        }
        if keys.asked.is_some_and(|asked| asked.elapsed() < AGAIN) {
            return find(&keys).filter(|_| fresh);
        }
        keys.asked = Some(Instant::now());
        match self.published(http).await {
            Ok(known) => (keys.known, keys.read) = (known, Some(Instant::now())),
            Err(why) => {
                tracing::warn!(why, "cannot read the keys by which Teams is believed");
                return None;
            }
        }
        find(&keys)
    }

    async fn published(&self, http: &Http) -> Result<Vec<Key>, String> {
        let get = async |url: Url| {
            let answer = http.ask_within(http.client.get(url), ANSWER).await;
            let answer = answer.map_err(|silence| silence.harmless().to_string())?;
            if answer.status.is_success() { Ok(answer.body) } else { Err(answer.status.to_string()) }
        };
        let document = get(self.document.at(&[])).await?;
        let url = document["jwks_uri"].as_str().and_then(|url| Url::parse(url).ok());
        // Nobody on the way may put another key there, unless whoever set this up lets them.
        let url = url.filter(|url| url.scheme() == "https" || self.document.is_plain());
        let keys = get(url.ok_or("the document names no address of keys")?).await?;
        let keys = keys["keys"].as_array().ok_or("what it names are no keys")?;
        // One that nobody here understands takes no other with it.
        Ok(keys.iter().filter_map(|key| Key::deserialize(key).ok()).collect())
    }
}

impl Claims {
    /// Whether they are the Connector's, now, for this bot.
    fn is_for(&self, app_id: &str) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let skew = SKEW.as_secs();
        self.iss == ISSUER
            && self.aud == app_id
            && self.nbf <= now.saturating_add(skew)
            && now <= self.exp.saturating_add(skew)
    }

    /// Whether this activity is of the service that they name.
    fn is_of(&self, activity: &Value) -> bool {
        activity["serviceUrl"] == self.serviceurl && activity["channelId"] == CHANNEL
    }
}

/// A part of a token.
fn read<T: for<'a> Deserialize<'a>>(part: &str) -> Result<T, NotTold> {
    let bytes = URL_SAFE_NO_PAD.decode(part).map_err(|_| NotTold::Signature)?;
    serde_json::from_slice(&bytes).map_err(|_| NotTold::Signature)
}
