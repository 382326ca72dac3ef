//! Google Chat: an app by its service account, or an incoming webhook of one space.
//!
//! A message that is created carries its part's key twice. As `requestId` it makes a request that comes again answer with
//! the message of the first one; Google says for no length of time how long, its own rules for such ids say an hour. An
//! app's message carries it as its name too, of which a space takes one for good: whoever comes too late is told so, and
//! the message is known. A webhook's has the first only.
//!
//! What is done to a message is done in the space of the target and nowhere else: of a message's or a thread's name only
//! the last part is taken. What takes a person's own authorisation (reactions, uploads) this channel does not have.
//!
//! What people do an app hears over Cloud Pub/Sub, if it [receives](receive).

pub(super) mod answer;
mod cards;
mod client;
#[cfg(test)]
pub(super) mod contract;
mod key;
mod names;
pub(super) mod profile;
pub mod receive;
mod request;
#[cfg(test)]
mod scenarios;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::Deserialize;

use self::{
    client::{Client, Route},
    key::Replaceable,
    profile::{APP, WEBHOOK},
    receive::{Listener, Subscription, Tempo},
    request::Request,
};
use super::{
    Adapter, Capabilities, Delivered, Failure, IdScope, Located, NotReady, OperationRequest, OutgoingPart,
    PartKey, RateHints, Receiver, Redelivery, Refused, Sender, TargetError,
    account::{OpenError, Opening},
    hub_handle::HubHandle,
    identity::{Identity, Spelling, Unidentified},
    kit::{
        http::{
            Answer, Decode, Reader, Verdict,
            base::{Base, without_query},
            token::Token,
        },
        mailbox,
    },
    receiver::Hearing,
};
use crate::settings::secret::SecretSource;

const DEFAULT_BASE: &str = "https://chat.googleapis.com";
const DEFAULT_PUBSUB: &str = "https://pubsub.googleapis.com";

/// An app's message has a name that a space takes once, so nothing can arrive twice; the queue's own time ends it.
const BY_NAME: Duration = Duration::from_hours(7 * 24);

/// "The server will guarantee that for at least 60 minutes": <https://google.aip.dev/155>, of which `requestId` is one.
const BY_REQUEST: Duration = Duration::from_hours(1);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    key: Option<SecretSource>,
    webhook: Option<SecretSource>,
    #[serde(default = "default_base")]
    base_url: String,
    token_url: Option<String>,
    #[serde(default)]
    receive: bool,
    subscription: Option<String>,
    #[serde(default = "default_pubsub")]
    pubsub_url: String,
}

fn default_pubsub() -> String {
    DEFAULT_PUBSUB.into()
}

fn default_base() -> String {
    DEFAULT_BASE.into()
}

struct GoogleChat {
    client: Client,
    listener: Option<Listener>,
}

/// A person's id as rows have it: `users/` and their number, or their mailbox in lower case.
pub(in crate::channels) fn person_id(written: &str) -> Result<String, &'static str> {
    if written.contains('@') {
        return Ok(mailbox::canonical(written)?.to_ascii_lowercase());
    }
    let number = written.strip_prefix("users/").unwrap_or(written);
    let is_one =
        is_id(number) && (written.len() > number.len() || number.bytes().all(|b| b.is_ascii_digit()));
    is_one.then(|| format!("users/{number}")).ok_or(
        "write the person's mailbox, such as googlechat:ann@example.org, or users/ and their number, which `gatepost people list` shows",
    )
}

/// What the answers of its platform mean, each as a function of the answer alone: any answer is tried on all of them.
pub(in crate::channels) const DECODERS: &[(&str, Decode)] = &[
    ("app", |reader, answer| created(reader, answer, false)),
    ("webhook", |reader, answer| created(reader, answer, true)),
];

fn created(reader: &Reader, answer: &Answer, webhook: bool) -> Result<String, Verdict> {
    match answer.status.is_success() {
        true => answer::created(&answer.body, false),
        false => Err(answer::verdict(reader, answer, webhook)),
    }
}

/// Opens an account. Connects to nothing.
pub fn open(opening: Opening<'_>) -> Result<Arc<dyn Adapter>, OpenError> {
    let settings: Settings = opening.settings.try_into()?;
    let client = match (settings.key, settings.webhook) {
        (Some(source), None) => {
            let base = Base::parse("base_url", &settings.base_url).map_err(OpenError::Invalid)?;
            let token_url = settings.token_url.map(|url| Base::parse("token_url", &url)).transpose();
            let account = Replaceable::read(source, token_url.map_err(OpenError::Invalid)?)?;
            Client::app(opening.http, base, account)
        }
        (None, Some(source)) => {
            Client::webhook(opening.http, Token::read_with_identity(source, without_query)?)
                .map_err(OpenError::Invalid)?
        }
        _ => return Err(OpenError::Invalid("set either key or webhook".into())),
    };
    let listener = match (settings.receive, settings.subscription, &client.way) {
        (false, ..) => None,
        (true, Some(subscription), Route::App { .. }) => {
            let pubsub = Base::parse("pubsub_url", &settings.pubsub_url).map_err(OpenError::Invalid)?;
            let subscription = Subscription::parse(pubsub, &subscription).map_err(OpenError::Invalid)?;
            Some(Listener::new(opening.account, subscription, Tempo::USUAL))
        }
        (true, ..) => {
            return Err(OpenError::Invalid(
                "receive: an app hears over Cloud Pub/Sub: set key and subscription".into(),
            ));
        }
    };
    Ok(Arc::new(GoogleChat { client, listener }))
}

#[async_trait]
impl Adapter for GoogleChat {
    fn capabilities(&self) -> &'static Capabilities {
        match self.client.way {
            Route::App { .. } => &APP,
            Route::Webhook { .. } => &WEBHOOK,
        }
    }

    fn flavour(&self) -> crate::render::Flavour {
        profile::FORMAT.flavour
    }

    fn resolve(&self, address: &str) -> Result<String, TargetError> {
        let refused = TargetError::at(APP.channel, address);
        if names::is_name(address) && matches!(self.client.way, Route::App { .. }) {
            return Ok(address.to_lowercase());
        }
        let space = space(address).map_err(&refused)?;
        match &self.client.way {
            Route::Webhook { space: own } if *own != space => {
                Err(refused("a webhook writes to its own space alone: it stands in the webhook's address"))
            }
            _ => Ok(space),
        }
    }

    /// A space has one id, and a person is no address: the direct message with them is a space. What people call a space may be
    /// another's tomorrow.
    fn identity(&self, address: &str) -> Spelling {
        match names::is_name(address) {
            true => Spelling::LookUp,
            false => Spelling::known(address),
        }
    }

    fn is_name(&self, address: &str) -> bool {
        names::is_name(address)
    }

    async fn identify(&self, address: &str) -> Result<Identity, Unidentified> {
        self.client.named(address).await
    }

    /// By a number: `users/all` is everybody in the space, and a mailbox is a person's own word
    /// (<https://developers.google.com/workspace/chat/format-messages#messages-@mention>).
    fn is_mentionable(&self, id: &str) -> bool {
        id.strip_prefix("users/").is_some_and(|id| !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()))
    }

    fn scope(&self, _: &str) -> IdScope {
        // Its name in the request is made of the space and its last part (see `request`).
        IdScope::Conversation
    }

    fn recorded_as(&self, address: &str, message: &str) -> Vec<String> {
        vec![request::within(address, "messages", message)]
    }

    async fn locate(&self, address: &str, message: &str) -> Result<Located, Failure> {
        self.client.locate(&request::within(address, "messages", message)).await
    }

    async fn check_ready(&self) -> Result<String, NotReady> {
        let who = self.client.ready().await.map_err(NotReady)?;
        // Messages go all the same.
        Ok(self.listener.iter().fold(who, |who, listener| format!("{who}; {}", listener.hearing().standing)))
    }
}

#[async_trait]
impl Sender for GoogleChat {
    type Request = Request;

    fn compose(&self, outgoing: &OutgoingPart<'_>) -> Result<Request, Refused> {
        Ok(request::compose(outgoing))
    }

    fn compose_operation(&self, op: &OperationRequest<'_>) -> Option<Result<Request, Refused>> {
        request::compose_operation(op, matches!(self.client.way, Route::Webhook { .. })).map(Ok)
    }

    async fn deliver(
        &self,
        request: &Request,
        key: &PartKey,
        hints: &mut RateHints,
    ) -> Result<Delivered, Failure> {
        self.client.perform(request.clone(), key, hints).await.map(Delivered::from)
    }

    fn redelivery(&self, _: &Request) -> Redelivery {
        match &self.client.way {
            Route::Webhook { .. } => Redelivery::Keyed(BY_REQUEST),
            Route::App { .. } => Redelivery::Keyed(BY_NAME),
        }
    }
}

#[async_trait]
impl Receiver for GoogleChat {
    fn hearing(&self) -> Option<Hearing> {
        self.listener.as_ref().map(Listener::hearing)
    }

    async fn listen(&self, hub: &dyn HubHandle) {
        if let Some(listener) = &self.listener {
            listener.listen(&self.client, hub).await;
        }
    }
}

/// `spaces/ID`, the one spelling; what is not one is refused.
fn space(address: &str) -> Result<String, &'static str> {
    match address.split_once('/') {
        Some(("spaces", id)) if is_id(id) && id.len() <= 64 => Ok(address.to_owned()),
        Some(("spaces", _)) => Err("write spaces/ and the space's id, and a thread behind a #"),
        Some(("users", _)) => {
            Err("use the space of your direct conversation: spaces/…, as its address in a browser says")
        }
        _ => Err("use a space such as spaces/AAAAB3NzaC1: the id stands in its address in a browser"),
    }
}

/// Whether a text is the last part of a resource's name.
fn is_id(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::{profile::KEYS, *};

    #[test]
    fn only_spaces_are_addresses() {
        assert_eq!(space("spaces/AAAA-b_1").unwrap(), "spaces/AAAA-b_1");
        for other in ["", "AAAA", "spaces/", "spaces/a/b", "spaces/a b", "users/1", "spaces/a?x", "#home"] {
            assert!(space(other).is_err(), "{other:?}");
        }
    }

    #[test]
    fn documented_defaults_are_the_defaults() {
        let all = KEYS.iter().map(|key| format!("{} = {}\n", key.name, key.value)).collect::<String>();
        let all: Settings = toml::from_str(&all).unwrap();
        let urls = (all.base_url.as_str(), all.pubsub_url.as_str());
        assert_eq!((urls, all.receive), ((DEFAULT_BASE, DEFAULT_PUBSUB), false));
    }
}
