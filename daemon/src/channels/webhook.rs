//! Webhook: a signed JSON request to any address, for whatever has no adapter of its own.
//!
//! The address is the account's, what stands behind `webhook:` is a name that the receiver gets. The signature is HMAC-SHA256
//! over `TIMESTAMP.BODY` in `X-Gatepost-Signature: sha256=HEX`, with the seconds in `X-Gatepost-Timestamp`; the part's key is
//! the `Idempotency-Key`, by which the receiver must know a part that comes again, for a day at least. A yes has a body
//! of JSON, maybe with the message's `id`, or none.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use ring::hmac;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Adapter, Capabilities, Failure, IdScope, Letter, NotReady, PartKey, Redelivery, TargetError,
    account::{OpenError, Opening},
    http::{Http, Silence, base::Base, token::Token},
    identity::Spelling,
    limits::Scope,
};
use crate::settings::{Key, key, secret::SecretSource};

/// `[channels.webhook.ACCOUNT]`.
pub const KEYS: &[Key] = &[
    key("url", "\"https://example.org/hooks/gatepost\"", "Where messages are posted to."),
    key("secret", "\"file:/run/credentials/webhook\"", "What they are signed with."),
];

const CAPABILITIES: Capabilities = Capabilities {
    channel: "webhook",
    threads: true,
    replies: true,
    silent: true,
    address_hint: "a name of 1 to 64 letters, digits, dots, dashes or underscores",
    ..Capabilities::PLAIN
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    url: String,
    secret: SecretSource,
}

struct Webhook {
    http: Http,
    url: Base,
}

/// Opens an account. Connects to nothing.
pub fn open(opening: Opening<'_>) -> Result<Arc<dyn Adapter>, OpenError> {
    let settings: Settings = opening.settings.try_into()?;
    let url = Base::parse("url", &settings.url).map_err(OpenError::Invalid)?;
    Ok(Arc::new(Webhook { http: Http::new(opening.http, "the webhook", Token::read(settings.secret)?), url }))
}

#[async_trait]
impl Adapter for Webhook {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn resolve(&self, address: &str) -> Result<String, TargetError> {
        super::plain_name(&CAPABILITIES, address, ".-_")
    }

    fn identity(&self, address: &str) -> Spelling {
        Spelling::known(address)
    }

    fn scope(&self, _: &str) -> IdScope {
        // Whoever receives it is told the conversation with it.
        IdScope::Conversation
    }

    fn compose(&self, letter: &Letter<'_>) -> Value {
        json!({
            "to": letter.address, "thread": letter.thread, "replyTo": letter.reply_to, "silent": letter.silent,
            "text": letter.part.text, "part": letter.index + 1, "of": letter.of,
        })
    }

    async fn deliver(&self, wire: &Value, key: &PartKey) -> Result<String, Failure> {
        let (body, time) = (wire.to_string(), jiff::Timestamp::now().as_second().to_string());
        let secret = hmac::Key::new(hmac::HMAC_SHA256, self.http.token().expose().as_bytes());
        let signature =
            crate::random::to_hex(hmac::sign(&secret, format!("{time}.{body}").as_bytes()).as_ref());
        let request = self.http.client.post(self.url.at(&[])).header("Content-Type", "application/json");
        let request = request.header("Idempotency-Key", &key.0).header("X-Gatepost-Timestamp", time);
        let request = request.header("X-Gatepost-Signature", format!("sha256={signature}")).body(body);
        match self.http.ask(request).await {
            Ok(answer) if answer.status.is_success() => {
                Ok(answer.body["id"].as_str().unwrap_or(&key.0).to_owned())
            }
            Ok(answer) if answer.status == 401 => Err(self.http.refused("the webhook answered 401".into())),
            Ok(answer) => {
                Err(self.http.judge(&answer, answer.body["error"].as_str().unwrap_or("no"), Scope::Account))
            }
            Err(silence) => Err(silence.into()),
        }
    }

    fn redelivery(&self, _: &Value) -> Redelivery {
        Redelivery::Keyed(Duration::from_hours(23))
    }

    async fn check_ready(&self) -> Result<String, NotReady> {
        match self.http.ask(self.http.client.head(self.url.at(&[]))).await {
            Err(Silence::NotSent(why) | Silence::Lost(why)) => Err(NotReady(why)),
            Ok(answer) if matches!(answer.status.as_u16(), 404 | 410) => Ok(format!(
                "somebody answers at {}, but {} where nothing is posted: whether it takes messages, only one shows",
                self.url.host(),
                answer.status.as_u16()
            )),
            Ok(_) => Ok(format!("somebody answers at {}", self.url.host())),
        }
    }
}
