//! Webhook: a signed JSON request to any address, for whatever has no adapter of its own.
//!
//! The request is as Standard Webhooks has it, so that a receiver verifies it with a library: the part's key is the
//! `webhook-id`, the same at every attempt and within what is signed, and [`signature`](super::kit::http::signature) says how. The address is the
//! account's; what stands behind `webhook:` is a name that the receiver gets. Any answer of 200 to 299 is a yes, and its body
//! may be JSON with the message's `id`.
//!
//! The request holds the Markdown beside the plain text, which may have in it what no reader sees. So an approver is shown
//! the Markdown ([`Capabilities::source`]).

#[cfg(test)]
pub(super) mod contract;
pub(super) mod profile;
#[cfg(test)]
mod scenarios;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::json;

use self::profile::CAPABILITIES;
use super::{
    Adapter, Capabilities, Delivered, Failure, IdScope, NotReady, OutgoingPart, PartKey, RateHints, Receiver,
    Redelivery, Refused, Sender, TargetError,
    account::{OpenError, Opening},
    identity::Spelling,
    kit::http::{
        Answer, Decode, Http, Reader, Silence, Verdict,
        base::Base,
        signature::{MAX_OLD_SECRETS, Secrets},
    },
    limits::Scope,
};
use crate::{message::MessageId, settings::secret::SecretSource};

/// The `type` of every body.
const TYPE: &str = "message";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    url: String,
    secret: SecretSource,
    #[serde(default)]
    old_secrets: Vec<SecretSource>,
}

/// The body that is posted.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    #[serde(rename = "type")]
    kind: String,
    timestamp: Option<String>,
    data: Data,
}

/// The message, as its receiver is told of it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Data {
    id: Option<String>,
    agent: String,
    to: String,
    thread: Option<String>,
    reply_to: Option<String>,
    silent: bool,
    part: usize,
    of: usize,
    markdown: String,
    text: String,
}

struct Webhook {
    http: Http,
    url: Base,
    secrets: Secrets,
}

/// What the answers of its platform mean, each as a function of the answer alone: any answer is tried on all of them.
pub(in crate::channels) const DECODERS: &[(&str, Decode)] =
    &[("", |reader, answer| decode(reader, answer, str::to_owned).map(Option::unwrap_or_default))];

/// Opens an account. Connects to nothing.
pub fn open(opening: Opening<'_>) -> Result<Arc<dyn Adapter>, OpenError> {
    let settings: Settings = opening.settings.try_into()?;
    let url = Base::parse("url", &settings.url).map_err(OpenError::Invalid)?;
    if settings.old_secrets.len() > MAX_OLD_SECRETS {
        return Err(OpenError::Invalid(format!("old_secrets: {MAX_OLD_SECRETS} at most")));
    }
    let named = [&settings.secret].into_iter().chain(&settings.old_secrets);
    let named = named.map(ToString::to_string).collect::<Vec<_>>().join(" or ");
    let secrets = Secrets::read(settings.secret, &settings.old_secrets)?;
    secrets.sign("", 0, "").map_err(|why| OpenError::Invalid(format!("the secret in {named}: {why}")))?;
    let http = Http::new(opening.http, "the webhook", secrets.current());
    Ok(Arc::new(Webhook { http, url, secrets }))
}

/// The id that the receiver has for it, if it says one; `masked` are words without any of the secrets.
pub(super) fn decode(
    reader: &Reader,
    answer: &Answer,
    masked: impl FnOnce(&str) -> String,
) -> Result<Option<String>, Verdict> {
    let said = masked(answer.body["error"].as_str().unwrap_or("no"));
    match answer.status.as_u16() {
        200..=299 => Ok(answer.body["id"].as_str().map(str::to_owned)),
        401 => Err(Verdict::Token("the webhook answered 401".into())),
        // "The endpoint has been disabled" (the specification, "Delivery success / failure").
        410 => Err(Verdict::Permanent(format!(
            "{}: its receiver wants no more; set url to another one, or remove the account",
            reader.answered(410, &said)
        ))),
        _ => Err(reader.classify(answer, &said, Scope::Account)),
    }
}

#[async_trait]
impl Adapter for Webhook {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn flavour(&self) -> crate::render::Flavour {
        profile::FORMAT.flavour
    }

    fn resolve(&self, address: &str) -> Result<String, TargetError> {
        super::plain_name(&CAPABILITIES, address, ".-_")
    }

    fn identity(&self, address: &str) -> Spelling {
        Spelling::known(address)
    }

    fn scope(&self, _: &str) -> IdScope {
        // Whoever receives it may look for the id wherever it likes, and nobody says that it does not.
        IdScope::Account
    }

    async fn check_ready(&self) -> Result<String, NotReady> {
        let hints = &mut RateHints::default();
        match self.http.ask_status(self.http.client.head(self.url.at(&[])), hints).await {
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

#[async_trait]
impl Sender for Webhook {
    type Request = Request;

    fn compose(&self, outgoing: &OutgoingPart<'_>) -> Result<Request, Refused> {
        let source = outgoing.source;
        Ok(Request {
            kind: TYPE.to_owned(),
            timestamp: source.id.and_then(MessageId::made_at).map(|at| at.to_string()),
            data: Data {
                id: source.id.map(str::to_owned),
                agent: source.agent.to_owned(),
                to: outgoing.address.to_owned(),
                thread: outgoing.thread.map(str::to_owned),
                reply_to: outgoing.reply_to.map(str::to_owned),
                silent: outgoing.silent,
                part: outgoing.index + 1,
                of: outgoing.of,
                markdown: source.markdown.to_owned(),
                text: outgoing.part.text.clone(),
            },
        })
    }

    async fn deliver(
        &self,
        request: &Request,
        key: &PartKey,
        hints: &mut RateHints,
    ) -> Result<Delivered, Failure> {
        let (body, time) = (json!(request).to_string(), jiff::Timestamp::now().as_second());
        let signature = self.secrets.sign(&key.0, time, &body);
        let signature =
            signature.map_err(|why| Failure::Permanent(format!("the webhook's secret: {why}")))?;
        let builder = self.http.client.post(self.url.at(&[])).header("Content-Type", "application/json");
        let builder = builder.header("webhook-id", &key.0).header("webhook-timestamp", time);
        let answer =
            self.http.ask_status(builder.header("webhook-signature", signature).body(body), hints).await?;
        let id = decode(&self.http.reader(), &answer, |words| self.secrets.masked(words));
        Ok(id.map_err(|verdict| self.http.settle(verdict, hints))?.unwrap_or_else(|| key.0.clone()).into())
    }

    fn redelivery(&self, _: &Request) -> Redelivery {
        Redelivery::Keyed(Duration::from_hours(23))
    }
}

impl Receiver for Webhook {}
