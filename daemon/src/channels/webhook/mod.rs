//! Webhook: a signed JSON request to any address, for whatever has no adapter of its own.
//!
//! The request is as Standard Webhooks has it, so that a receiver verifies it with a library: the part's key is the
//! `webhook-id`, the same at every attempt and within what is signed, and [`signature`](super::kit::http::signature) says how. The address is the
//! account's; what stands behind `webhook:` is a name that the receiver gets. Any answer of 200 to 299 is a yes, and its body
//! may be JSON with the message's `id`.
//!
//! The request holds the Markdown beside the plain text, which may have in it what no reader sees. So an approver is shown
//! the Markdown ([`Capabilities::source`]).
//!
//! An account that [receives](receive) takes what programs outside post to the hub. It may do that alone, and send nothing.

#[cfg(test)]
pub(super) mod contract;
pub(super) mod profile;
pub mod receive;
#[cfg(test)]
mod scenarios;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::json;

use self::{
    profile::CAPABILITIES,
    receive::{
        Taking,
        open::{By, Trust, taking},
    },
};
use super::{
    Adapter, Capabilities, Delivered, Failure, IdScope, NotReady, OutgoingPart, PartKey, RateHints, Receiver,
    Redelivery, Refused, Sender, TargetError,
    account::{OpenError, Opening},
    identity::Spelling,
    incoming::Incoming,
    kit::http::{
        Answer, Decode, Http, Reader, Silence, Verdict,
        base::Base,
        signature::{MAX_OLD_SECRETS, Secrets},
    },
    limits::Scope,
    receiver::Hearing,
};
use crate::{message::MessageId, settings::secret::SecretSource};

/// The `type` of every body.
const TYPE: &str = "message";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    url: Option<String>,
    secret: Option<SecretSource>,
    #[serde(default)]
    old_secrets: Vec<SecretSource>,
    #[serde(default)]
    receive: bool,
    #[serde(default)]
    proof: By,
    #[serde(default)]
    proof_secrets: Vec<SecretSource>,
    proof_header: Option<String>,
    id_header: Option<String>,
    text_at: Option<String>,
    #[serde(default)]
    trust: Trust,
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
    account: String,
    sending: Option<Sending>,
    taking: Option<Taking>,
}

/// Where messages are posted to.
struct Sending {
    http: Http,
    url: Base,
    secrets: Secrets,
}

/// The id of who posts: the account that is posted to.
pub(in crate::channels) fn person_id(written: &str) -> Result<String, &'static str> {
    let is_one = crate::settings::is_name(written);
    is_one.then(|| written.to_owned()).ok_or("write the account that is posted to, such as webhook:door")
}

/// What the answers of its platform mean, each as a function of the answer alone: any answer is tried on all of them.
pub(in crate::channels) const DECODERS: &[(&str, Decode)] =
    &[("", |reader, answer| decode(reader, answer, str::to_owned).map(Option::unwrap_or_default))];

/// Opens an account. Connects to nothing.
pub fn open(opening: Opening<'_>) -> Result<Arc<dyn Adapter>, OpenError> {
    let settings: Settings = opening.settings.try_into()?;
    let taking = taking(opening.account, &settings)?;
    let sending = sending(settings, opening.http)?;
    if sending.is_none() && taking.is_none() {
        let why = "url: write where messages are posted to; or set receive = true, and take what programs post to the hub";
        return Err(OpenError::Invalid(why.into()));
    }
    Ok(Arc::new(Webhook { account: opening.account.to_owned(), sending, taking }))
}

/// How messages are sent, if they are to be.
fn sending(settings: Settings, http: reqwest::Client) -> Result<Option<Sending>, OpenError> {
    let Settings { url, secret, old_secrets, .. } = settings;
    let (url, secret) = match (url, secret) {
        (Some(url), Some(secret)) => (url, secret),
        (None, None) if old_secrets.is_empty() => return Ok(None),
        (Some(_), None) => {
            let why = "secret: name what messages are signed with, such as \"file:secrets/webhook\"";
            return Err(OpenError::Invalid(why.into()));
        }
        (None, _) => return Err(OpenError::Invalid("url: write where messages are posted to".into())),
    };
    let url = Base::parse("url", &url).map_err(OpenError::Invalid)?;
    if old_secrets.len() > MAX_OLD_SECRETS {
        return Err(OpenError::Invalid(format!("old_secrets: {MAX_OLD_SECRETS} at most")));
    }
    let named = [&secret].into_iter().chain(&old_secrets);
    let named = named.map(ToString::to_string).collect::<Vec<_>>().join(" or ");
    let secrets = Secrets::read(secret, &old_secrets)?;
    secrets.sign("", 0, "").map_err(|why| OpenError::Invalid(format!("the secret in {named}: {why}")))?;
    let http = Http::new(http, "the webhook", secrets.current());
    Ok(Some(Sending { http, url, secrets }))
}

impl Webhook {
    /// Why an account sends nothing that only receives.
    fn only_receives(&self) -> String {
        format!(
            "the webhook account {} only receives: set url and secret if it is to send, or name another account",
            self.account
        )
    }
}

impl Sending {
    /// Whether somebody answers there.
    async fn answers(&self) -> Result<String, NotReady> {
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

    fn sends(&self) -> bool {
        self.sending.is_some()
    }

    async fn check_ready(&self) -> Result<String, NotReady> {
        let answers = match &self.sending {
            Some(sending) => Some(sending.answers().await?),
            None => None,
        };
        let both = answers.into_iter().chain(self.taking.as_ref().map(Taking::standing));
        Ok(both.collect::<Vec<_>>().join("; "))
    }
}

#[async_trait]
impl Sender for Webhook {
    type Request = Request;

    fn compose(&self, outgoing: &OutgoingPart<'_>) -> Result<Request, Refused> {
        if self.sending.is_none() {
            return Err(Refused::because(self.only_receives()));
        }
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
        let Some(Sending { http, url, secrets }) = &self.sending else {
            return Err(Failure::Permanent(self.only_receives()));
        };
        let (body, time) = (json!(request).to_string(), jiff::Timestamp::now().as_second());
        let signature = secrets.sign(&key.0, time, &body);
        let signature =
            signature.map_err(|why| Failure::Permanent(format!("the webhook's secret: {why}")))?;
        let builder = http.client.post(url.at(&[])).header("Content-Type", "application/json");
        let builder = builder.header("webhook-id", &key.0).header("webhook-timestamp", time);
        let answer =
            http.ask_status(builder.header("webhook-signature", signature).body(body), hints).await?;
        let id = decode(&http.reader(), &answer, |words| secrets.masked(words));
        Ok(id.map_err(|verdict| http.settle(verdict, hints))?.unwrap_or_else(|| key.0.clone()).into())
    }

    fn redelivery(&self, _: &Request) -> Redelivery {
        Redelivery::Keyed(Duration::from_hours(23))
    }
}

impl Receiver for Webhook {
    fn hearing(&self) -> Option<Hearing> {
        Some(Hearing { ready: true, standing: self.taking.as_ref()?.standing() })
    }

    fn incoming(&self) -> Option<&dyn Incoming> {
        Some(self.taking.as_ref()?)
    }
}
