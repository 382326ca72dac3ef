//! Whether a request to the bot comes from Microsoft's Bot Connector.
//!
//! The hub's HTTP interface is open to the world, so nothing in a request counts before its token is shown to be the Connector's, for
//! this bot and for the service that the activity names ([`token`](super::token) is how). The keys that sign tokens are read from
//! where Microsoft publishes them, kept for a day, and read again for a key that is not among them, once a minute at most.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::Url;
use serde::Deserialize as _;
use serde_json::Value;
use tokio::{sync::Mutex, time::Instant};

use super::token::{Claims, Key, Parsed};
use crate::channels::{
    RateHints,
    callback::CallbackRefused,
    kit::http::{Http, base::Base},
};

/// "All bot implementations … should refresh … at least once every 24 hours".
const FRESH: Duration = Duration::from_hours(24);
/// Between two times that the keys are read for a token that names none of them.
const AGAIN: Duration = Duration::from_secs(60);
/// For each of the two questions.
const ANSWER: Duration = Duration::from_secs(5);

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
    ) -> Result<(), CallbackRefused> {
        let claims = self.token(http, app_id, authorization).await?;
        if claims.vouch_for(activity) { Ok(()) } else { Err(CallbackRefused::Signature) }
    }

    /// Checks the value of an `Authorization` header by itself; what the token says.
    pub(super) async fn token(
        &self,
        http: &Http,
        app_id: &str,
        authorization: &str,
    ) -> Result<Claims, CallbackRefused> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let meant = Parsed::parse(authorization)?.claims(app_id, now)?;
        let key = self.key(http, meant.kid()).await.ok_or(CallbackRefused::Signature)?;
        Ok(meant.verify(&key)?)
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

    /// As if the keys had been asked for some time ago.
    #[cfg(test)]
    pub(super) async fn asked_long_ago(&self) {
        self.keys.lock().await.asked = None;
    }

    async fn published(&self, http: &Http) -> Result<Vec<Key>, String> {
        let get = async |url: Url| {
            let answer = http.ask_within(http.client.get(url), ANSWER, &mut RateHints::default()).await;
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
