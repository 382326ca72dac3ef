//! Microsoft Teams: a bot by the Bot Connector, or the webhook of a workflow.
//!
//! Teams recognises no request that comes again and cannot be asked what arrived: a new message whose answer was lost is
//! unknown, and sent again only by somebody who takes two copies. What is done to a message can be repeated.
//!
//! An activity has a text or a card, never both: Teams would make two messages of it. So where buttons or a card go along,
//! the text stands in the card, above them. Mentions take an entity beside the text, of which there is none here.
//!
//! Small pictures stand in a message. Any other file is offered, in a conversation with one person ([`consent`]), and handed
//! over once they accept ([`transfer`]), which Teams tells by the hub's HTTP interface, where it must be [`believed`].

pub(super) mod answer;
mod cards;
mod client;
mod consent;
#[cfg(test)]
pub(super) mod contract;
mod file_transfer;
mod request;
#[cfg(test)]
mod scenarios;
mod target;
pub mod token;
mod token_verification;

use std::sync::Arc;

use async_trait::async_trait;
use gatepost_chunk::Unit;
use serde::Deserialize;
use serde_json::Value;

use self::{
    client::Client, consent::Answer, file_transfer::FileTransfer, request::Request,
    token_verification::Believer,
};
use super::{
    Adapter, Capabilities, Delivered, Failure, FileForm, FileRules, IdScope, NotReady, OperationRequest,
    OutgoingPart, PartKey, RateHints, Receiver, Redelivery, Refused, Sender, TargetError,
    account::{OpenError, Opening},
    callback::{CallbackRefused, DeliveryStatus},
    capabilities::{ButtonRules, CardRules, PollRules},
    http::{
        base::{Base, without_query},
        token::Token,
    },
    hub_handle::HubHandle,
    identity::{Identity, Spelling, Unidentified},
    sender::fit,
};
use crate::{
    files::kept::Kept,
    message::action::Action,
    settings::{Key, example, key, secret::SecretSource},
};

/// `[channels.teams.ACCOUNT]`.
pub const KEYS: &[Key] = &[
    example(
        "app_id",
        "\"00000000-0000-0000-0000-000000000000\"",
        "The bot's application (client) id in Microsoft Entra. Either this, with secret, or webhook.",
    ),
    example("secret", "\"file:secrets/teams\"", "A client secret of the application.").no_identity(),
    key(
        "tenant",
        "\"botframework.com\"",
        "Where the application is registered: your tenant's id for a single-tenant bot, the default for a multi-tenant one.",
    ),
    key(
        "service_url",
        "\"https://smba.trafficmanager.net/teams\"",
        "The Bot Connector's address: the serviceUrl of what the bot receives, or this default. Government clouds have others.",
    ),
    key("login_url", "\"https://login.microsoftonline.com\"", "Where the bot gets its access tokens."),
    key(
        "openid_url",
        "\"https://login.botframework.com/v1/.well-known/openidconfiguration\"",
        "Where the keys are named by which Teams is believed when it tells what became of a file that was offered. Government clouds have others.",
    ).no_identity(),
    example(
        "webhook",
        "\"file:secrets/teams-webhook\"",
        "The address of a workflow that posts what it gets into a chat or channel: texts and cards to that one place, which is called `webhook` here.",
    ).identity_in(without_query),
];

const DEFAULT_SERVICE: &str = "https://smba.trafficmanager.net/teams";
const DEFAULT_LOGIN: &str = "https://login.microsoftonline.com";
const DEFAULT_TENANT: &str = "botframework.com";
const DEFAULT_OPENID: &str = "https://login.botframework.com/v1/.well-known/openidconfiguration";

/// What a workflow's webhook can do.
const WEBHOOK: Capabilities = Capabilities {
    channel: "teams",
    address_hint: "webhook: the one place that the workflow posts to",
    // Nobody hears of a press: it opens addresses alone.
    buttons: Some(ButtonRules { data: 0, ..BUTTONS }),
    cards: Some(CardRules { what: "an Adaptive Card", max_bytes: cards::MAX_BYTES, check: cards::check }),
    instead: &[
        (Action::Thread, "send a message of its own: a webhook knows no threads"),
        (Action::React, REACT),
        (Action::Poll, "ask in words: a webhook does not hear what people press"),
        (Action::Edit, "send a new message: a webhook changes nothing"),
        (Action::Delete, "ask somebody in the conversation: a webhook changes nothing"),
        (Action::Pin, PIN),
        (Action::Unpin, PIN),
        (Action::SendAttachment, "send a link to the file: a webhook takes none"),
        (Action::SetPresence, PRESENCE),
    ],
    ..Capabilities::PLAIN
};

/// What a bot can do.
const BOT: Capabilities = Capabilities {
    threads: true,
    replies: true,
    address_hint: "a conversation's id such as 19:…@thread.tacv2",
    // An offered file goes in one request, which may have 60 MiB
    // (<https://learn.microsoft.com/graph/api/driveitem-createuploadsession#upload-bytes-to-the-upload-session>); this much
    // gets there within the longest that a request may take, at the slowest that one may be.
    files: Some(FileRules {
        max_size: 48_000_000,
        everywhere: None,
        max_together: u64::MAX,
        form: FileForm::Captioned,
        kinds: &[],
    }),
    actions: &[Action::Thread, Action::Poll, Action::Edit, Action::Delete],
    buttons: Some(BUTTONS),
    polls: Some(PollRules {
        options: 20,
        question: 500,
        option: 100,
        unit: Unit::CodePoints,
        multiple: true,
        seconds: 0,
        anonymous: false,
        stand_in: Some("an Adaptive Card"),
    }),
    instead: &[
        (Action::React, REACT),
        (Action::Pin, PIN),
        (Action::Unpin, PIN),
        (Action::SetPresence, PRESENCE),
        (Action::Kick, "ask an owner of the team"),
        (Action::Ban, "ask an owner of the team"),
        (Action::Timeout, "ask an owner of the team"),
    ],
    ..WEBHOOK
};

/// Teams names no bound for these but that of the message: 28 KB by a workflow
/// (<https://learn.microsoft.com/microsoftteams/limits-specifications-teams>), and these fit in beside a text and a card.
/// The parser of Adaptive Cards shows five of a row where its host says nothing else (`hostConfig.actions.maxActions`).
const BUTTONS: ButtonRules =
    ButtonRules { rows: 4, per_row: 5, in_all: 10, text: 40, data: 256, data_unit: Unit::Bytes, url: 512 };

const REACT: &str = "answer in the conversation: bots do not react on Teams";
const PIN: &str = "ask somebody in the conversation: bots do not pin on Teams";
const PRESENCE: &str = "say it in a message: a bot has no status";

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
    }))
}

#[async_trait]
impl Adapter for Teams {
    fn capabilities(&self) -> &'static Capabilities {
        if self.client.is_webhook() { &WEBHOOK } else { &BOT }
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

    async fn identify(&self, address: &str) -> Result<Identity, Unidentified> {
        Err(Unidentified::not_known(target::untold(address)))
    }

    fn scope(&self, _: &str) -> IdScope {
        // An activity's id is looked for in the conversation of the request's address
        // (<https://learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-api-reference#conversations-object>).
        IdScope::Conversation
    }

    async fn check_ready(&self) -> Result<String, NotReady> {
        self.client.ready().await.map_err(NotReady)
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
    async fn admits_callback(&self, authorization: &str) -> Result<(), CallbackRefused> {
        self.client.vouches(&self.believer, authorization).await
    }

    async fn read_callback(
        &self,
        authorization: &str,
        body: &[u8],
    ) -> Result<Vec<DeliveryStatus>, CallbackRefused> {
        // Who is not believed learns nothing, not even that they were read; and the Connector's own words can be.
        let activity: Value = serde_json::from_slice(body).map_err(|_| CallbackRefused::Signature)?;
        self.client.believes(&self.believer, authorization, &activity).await?;
        match Answer::read(&activity) {
            Some(answer) => self.transfer.put(answer).map(|()| vec![]),
            // Whatever else Teams tells a bot is its bridge's.
            None => Ok(vec![]),
        }
    }

    async fn listen(&self, hub: &dyn HubHandle) {
        self.transfer.work(&self.client, &self.kept, hub).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channels::sample::AsJson as _;

    #[test]
    fn more_than_teams_takes_is_refused_before_anybody_is_asked() {
        let (teams, text) = (scenarios::bot(1), super::super::sample::part("Hello"));
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
        let slowest = super::super::http::Http::longest(BOT.files.as_ref().unwrap().max_size);
        assert!(slowest < super::super::http::Http::longest(u64::MAX), "{slowest:?}");
    }

    #[test]
    fn every_setting_is_documented_and_every_documented_key_is_a_setting() {
        let all = KEYS.iter().map(|key| format!("{} = {}\n", key.name, key.value)).collect::<String>();
        let all: Settings = toml::from_str(&all).unwrap();
        assert_eq!(
            (all.tenant, all.service_url, all.login_url, all.openid_url),
            (default_tenant(), default_service(), default_login(), default_openid())
        );
        assert!(all.app_id.is_some() && all.secret.is_some() && all.webhook.is_some());
        assert!(toml::from_str::<Settings>("url = 3").is_err());
    }
}
