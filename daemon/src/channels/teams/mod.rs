//! Microsoft Teams: a bot by the Bot Connector, or the webhook of a workflow.
//!
//! Teams recognises no request that comes again and cannot be asked what arrived: a new message whose answer was lost is
//! unknown, and sent again only by somebody who takes two copies. What is done to a message can be repeated.
//!
//! An activity has a text or a card, never both: Teams would make two messages of it. So where buttons or a card go along,
//! the text stands in the card, above them.
//!
//! Small pictures stand in a message. Any other file is offered, in a conversation with one person ([`consent`]), and handed
//! over once they accept ([`file_transfer`]), which Teams tells by the hub's HTTP interface, where it must be believed
//! ([`token_verification`]). What people write comes the same way, to an account that [receives](receive).

pub(super) mod answer;
mod bounds;
mod cards;
mod client;
mod consent;
#[cfg(test)]
pub(super) mod contract;
mod file_transfer;
pub(super) mod profile;
pub mod receive;
mod request;
#[cfg(test)]
mod scenarios;
mod target;
pub mod token;
mod token_verification;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;

pub(in crate::channels) use self::target::person_id;
use self::{
    client::Client,
    consent::Answer,
    file_transfer::FileTransfer,
    profile::{BOT, WEBHOOK},
    receive::{Reception, TYPING},
    request::Request,
    token_verification::Believer,
};
use super::{
    Adapter, Capabilities, Delivered, Failure, IdScope, NotReady, OperationRequest, OutgoingPart, PartKey,
    RateHints, Receiver, Redelivery, Refused, Sender, TargetError,
    account::{OpenError, Opening},
    callback::{CallbackRefused, DeliveryStatus},
    hub_handle::HubHandle,
    identity::{Identity, Spelling, Unidentified},
    kit::{
        http::{
            self, Decode, Reader, Verdict,
            base::{Base, without_query},
            token::Token,
        },
        slices,
    },
    receiver::{Hearing, Notifications},
    sender::fit,
};
use crate::{files::kept::Kept, message::target::Target, settings::secret::SecretSource};

const DEFAULT_SERVICE: &str = "https://smba.trafficmanager.net/teams";
const DEFAULT_LOGIN: &str = "https://login.microsoftonline.com";
const DEFAULT_TENANT: &str = "botframework.com";
const DEFAULT_OPENID: &str = "https://login.botframework.com/v1/.well-known/openidconfiguration";

/// The longest activity, in bytes: those of Teams have 28 KB, and what its cards send back may be as much again.
const MAX_ACTIVITY_BYTES: usize = 256 * 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    app_id: Option<String>,
    secret: Option<SecretSource>,
    #[serde(default = "default_tenant")]
    tenant: String,
    #[serde(default = "default_service")]
    service_url: String,
    #[serde(default = "default_login")]
    login_url: String,
    #[serde(default = "default_openid")]
    openid_url: String,
    webhook: Option<SecretSource>,
    #[serde(default)]
    receive: bool,
}

fn default_tenant() -> String {
    DEFAULT_TENANT.into()
}

fn default_service() -> String {
    DEFAULT_SERVICE.into()
}

fn default_openid() -> String {
    DEFAULT_OPENID.into()
}

fn default_login() -> String {
    DEFAULT_LOGIN.into()
}

struct Teams {
    client: Client,
    kept: Kept,
    believer: Believer,
    transfer: FileTransfer,
    /// Where the account hears what people do.
    reception: Option<Reception>,
}

/// What the answers of its platform mean, each as a function of the answer alone: any answer is tried on all of them.
pub(in crate::channels) const DECODERS: &[(&str, Decode)] = &[
    ("bot", |reader, answer| sent(reader, answer, false)),
    ("workflow", |reader, answer| sent(reader, answer, true)),
];

fn sent(reader: &Reader, answer: &http::Answer, webhook: bool) -> Result<String, Verdict> {
    match answer.status.is_success() {
        true => Ok(answer.body["id"].as_str().unwrap_or_default().to_owned()),
        false => Err(answer::verdict(reader, answer, webhook)),
    }
}

/// Opens an account. Connects to nothing.
pub fn open(opening: Opening<'_>) -> Result<Arc<dyn Adapter>, OpenError> {
    let settings: Settings = opening.settings.try_into()?;
    let base = |key, text: &str| Base::parse(key, text).map_err(OpenError::Invalid);
    let client = match (settings.app_id, settings.secret, settings.webhook) {
        (Some(app_id), Some(secret), None) => {
            let service = base("service_url", &settings.service_url)?;
            let login = base("login_url", &settings.login_url)?;
            Client::bot(opening.http, service, login, &settings.tenant, app_id, Token::read(secret)?)
        }
        (None, None, Some(source)) => {
            Client::webhook(opening.http, Token::read_with_identity(source, without_query)?)
                .map_err(OpenError::Invalid)?
        }
        _ => return Err(OpenError::Invalid("set either app_id and secret, or webhook".into())),
    };
    if settings.receive && client.is_webhook() {
        return Err(OpenError::Invalid(
            "receive: a workflow's webhook hears nothing: set up a bot, or take receive away".into(),
        ));
    }
    let openid = base("openid_url", &settings.openid_url)?;
    if openid.is_plain() && !openid.is_here() {
        return Err(OpenError::Invalid(
            "openid_url: write https: whoever is on the way could name keys of their own otherwise".into(),
        ));
    }
    let believer = Believer::new(openid);
    Ok(Arc::new(Teams {
        kept: Kept::of(&opening.store),
        client,
        believer,
        transfer: FileTransfer::default(),
        reception: settings.receive.then(|| Reception::new(opening.account)),
    }))
}

#[async_trait]
impl Adapter for Teams {
    fn capabilities(&self) -> &'static Capabilities {
        if self.client.is_webhook() { &WEBHOOK } else { &BOT }
    }

    fn flavour(&self) -> crate::render::Flavour {
        profile::FORMAT.flavour
    }

    fn resolve(&self, address: &str) -> Result<String, TargetError> {
        let found = match self.client.is_webhook() {
            true => target::of_webhook(address),
            false => target::canonical(address),
        };
        found.map_err(TargetError::at(BOT.channel, address))
    }

    /// A conversation has one id, and a person is no address: what is written to them goes to the one conversation that the
    /// bot has with them. Where a workflow posts nobody knows, so that nothing evades a `hold` by going through it.
    fn identity(&self, address: &str) -> Spelling {
        if target::tells(address) { Spelling::known(address) } else { Spelling::Ask }
    }

    /// A workflow knows nobody by the id that a bot has for them.
    fn is_mentionable(&self, id: &str) -> bool {
        target::is_person(id) && !(self.client.is_webhook() && target::is_bots_own(id))
    }

    async fn identify(&self, address: &str) -> Result<Identity, Unidentified> {
        Err(Unidentified::not_known(target::untold(address)))
    }

    fn scope(&self, _: &str) -> IdScope {
        // An activity's id is looked for in the conversation of the request's address
        // (<https://learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-api-reference#conversations-object>).
        IdScope::Conversation
    }

    async fn check_ready(&self) -> Result<String, NotReady> {
        let who = self.client.ready().await.map_err(NotReady)?;
        // Messages go all the same.
        Ok(self.reception.iter().fold(who, |who, reception| format!("{who}; {}", reception.standing())))
    }
}

#[async_trait]
impl Sender for Teams {
    type Request = Request;

    fn compose(&self, outgoing: &OutgoingPart<'_>) -> Result<Request, Refused> {
        fit(request::compose(outgoing, self.client.is_webhook())?, Request::unfit)
    }

    fn compose_operation(&self, op: &OperationRequest<'_>) -> Option<Result<Request, Refused>> {
        if self.client.is_webhook() {
            None
        } else {
            Some(request::compose_operation(op)?.and_then(|request| fit(request, Request::unfit)))
        }
    }

    async fn deliver(
        &self,
        request: &Request,
        key: &PartKey,
        hints: &mut RateHints,
    ) -> Result<Delivered, Failure> {
        self.client.perform(request.clone(), &self.kept, key, hints).await.map(Delivered::from)
    }

    fn redelivery(&self, request: &Request) -> Redelivery {
        match request {
            Request::Update { .. } | Request::Delete { .. } => Redelivery::SEEN_ONCE,
            Request::Send { .. } | Request::Offer { .. } | Request::Post { .. } => Redelivery::Never,
        }
    }

    fn remark(&self, request: &Request) -> Option<&'static str> {
        let offered = matches!(request, Request::Offer { .. });
        offered.then_some(
            "the file is offered, and handed over once its reader accepts it; your inbox will say so",
        )
    }
}

#[async_trait]
impl Receiver for Teams {
    fn hearing(&self) -> Option<Hearing> {
        self.reception.as_ref().map(Reception::hearing)
    }

    fn notifications(&self) -> Option<Notifications> {
        Some(Notifications {
            proof_header: "authorization",
            signs_body: false,
            max_bytes: MAX_ACTIVITY_BYTES,
        })
    }

    async fn admits_callback(&self, authorization: &str) -> Result<(), CallbackRefused> {
        self.client.vouches(&self.believer, authorization).await
    }

    async fn read_callback(
        &self,
        authorization: &str,
        body: &[u8],
        hub: &dyn HubHandle,
    ) -> Result<Vec<DeliveryStatus>, CallbackRefused> {
        // Who is not believed learns nothing, not even that they were read; and the Connector's own words can be.
        let read = serde_json::from_slice(body);
        let is_read = read.is_ok();
        // What it is believed by may be read where something else in it cannot.
        let activity: Value = read.unwrap_or_else(|_| {
            std::str::from_utf8(body).map_or(Value::Null, |body| slices::readable(body, 1))
        });
        if activity.is_null() {
            return Err(CallbackRefused::Signature);
        }
        self.client.believes(&self.believer, authorization, &activity).await?;
        if !is_read {
            if let Some(reception) = &self.reception {
                reception.take_unreadable(hub).await?;
            }
            return Ok(vec![]);
        }
        match (Answer::read(&activity), &self.reception) {
            (Some(answer), _) => self.transfer.put(answer)?,
            (None, Some(reception)) => reception.take(&self.client, hub, &activity).await?,
            // Whatever else Teams tells a bot is its bridge's.
            (None, None) => {}
        }
        Ok(vec![])
    }

    async fn listen(&self, hub: &dyn HubHandle) {
        self.transfer.work(&self.client, &self.kept, hub).await;
    }

    fn typing_lasts(&self) -> Option<Duration> {
        self.reception.as_ref().map(|_| TYPING)
    }

    async fn show_typing(&self, conversation: &Target) {
        if self.reception.is_some() {
            let there = request::conversation(&conversation.address, conversation.thread.as_deref());
            self.client.show_typing(&there).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{profile::KEYS, *};
    use crate::channels::testing::sample::AsJson as _;

    #[test]
    fn more_than_teams_takes_is_refused_before_anybody_is_asked() {
        let (teams, text) = (scenarios::bot(1), crate::channels::testing::sample::part("Hello"));
        let refusal = |length: usize| {
            let block = serde_json::json!({ "type": "TextBlock", "text": "x".repeat(length) });
            let card = serde_json::json!({ "type": "AdaptiveCard", "version": "1.4", "body": [block] });
            let extras = crate::message::operation::Extras { card: Some(card), ..Default::default() };
            teams.refusal(&teams.composed(&OutgoingPart { extras: &extras, ..scenarios::outgoing(&text) }))
        };
        assert_eq!(refusal(24_000), None);
        assert!(refusal(25_000).unwrap().contains("Teams takes 25000"));
    }

    #[test]
    fn the_largest_file_that_is_offered_gets_there_in_time() {
        let slowest = crate::channels::kit::http::Http::longest(BOT.files.as_ref().unwrap().max_size);
        assert!(slowest < crate::channels::kit::http::Http::longest(u64::MAX), "{slowest:?}");
    }

    #[test]
    fn documented_defaults_are_the_defaults() {
        let all = KEYS.iter().map(|key| format!("{} = {}\n", key.name, key.value)).collect::<String>();
        let all: Settings = toml::from_str(&all).unwrap();
        assert_eq!(
            (all.tenant, all.service_url, all.login_url, all.openid_url),
            (default_tenant(), default_service(), default_login(), default_openid())
        );
    }
}
