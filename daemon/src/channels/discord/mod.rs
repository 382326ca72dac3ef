//! Discord: one bot, over the REST interface, version 10 (<https://docs.discord.com/developers/reference>).
//!
//! A new message carries a nonce made from its part's key, by which Discord recognises it for a few minutes; within those a
//! lost answer costs nothing. Nobody is called by a message: `allowed_mentions` is in every one and allows none.
//!
//! A thread is a channel there, with an id of its own; so is a conversation with one person. A thread that a call names is
//! looked up and must belong to the channel that was allowed, or a thread's id would be a way round the allowlist; for the
//! same reason a thread or a person's conversation is no target by the id of its channel. A person's id looks like a
//! channel's: a person is written `@ID`, and the conversation with them is opened when a message leaves.
//!
//! A status is set over the Gateway, a connection that is kept open where the settings say so ([`gateway`]). Over it comes also
//! what people press and fill in: a form to fill in (a modal) is Discord's answer to a press on a button, which a message brings
//! ([`forms`]). An account that [receives](receive) hears there also what people write.
//!
//! Read `request` first: it is what a message becomes.

pub(super) mod answer;
mod card;
mod client;
#[cfg(test)]
pub(super) mod contract;
mod conversations;
mod delivery;
mod forms;
mod gateway;
mod limits;
mod media;
mod names;
mod places;
mod presence;
pub(super) mod profile;
pub mod receive;
mod refusal;
mod request;
#[cfg(test)]
mod scenarios;
mod target;
mod voice;

#[cfg(test)]
pub(super) use self::gateway::mock::{Mock, Step};
pub(in crate::channels) use self::target::person_id;
use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use reqwest::Method;
use serde::Deserialize;

use self::{
    client::Client,
    gateway::{Gateway, Tempo, intent},
    profile::{GATEWAY, NO_FORMS, REST},
    request::{Request, SendOptions, StoredRequest},
};
use super::{
    Adapter, Capabilities, Delivered, Failure, IdScope, NotReady, OperationRequest, OutgoingPart, PartKey,
    RateHints, Receiver, Redelivery, Refused, Sender, TargetError,
    account::{OpenError, Opening},
    hub_handle::HubHandle,
    identity::{Identity, Spelling, Unidentified},
    kit::http::{Decode, base::Base, token::Token},
    receiver::Hearing,
    sender::fit,
};
use crate::{
    files::kept::Kept,
    message::{action::Action, attachment::Attachment, target::Target},
    settings::secret::SecretSource,
};

const DEFAULT_BASE: &str = "https://discord.com/api/v10";

/// Discord looks for a nonce among the messages of "the past few minutes"
/// (<https://docs.discord.com/developers/resources/message#create-message>, `enforce_nonce`). Nobody says how many; fewer
/// than two are not a few.
const NONCE: Duration = Duration::from_mins(2);

/// The sign that somebody types is seen this long (<https://docs.discord.com/developers/resources/channel#trigger-typing-indicator>).
const TYPING: Duration = Duration::from_secs(10);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    token: SecretSource,
    #[serde(default)]
    link_previews: bool,
    #[serde(default)]
    mention_answered: bool,
    #[serde(default)]
    gateway: bool,
    #[serde(default)]
    receive: bool,
    #[serde(default)]
    message_content: bool,
    #[serde(default = "default_base")]
    base_url: String,
}

impl Settings {
    /// What its Gateway tells it.
    fn intents(&self) -> u64 {
        match (self.receive, self.message_content) {
            (false, _) => intent::NONE,
            (true, false) => intent::PEOPLE,
            (true, true) => intent::PEOPLE | intent::MESSAGE_CONTENT,
        }
    }
}

fn default_base() -> String {
    DEFAULT_BASE.to_owned()
}

struct Discord {
    client: Client,
    kept: Kept,
    options: SendOptions,
    gateway: Option<Gateway>,
    /// Whether what people do is told to the hub.
    receives: bool,
}

/// The bot that a token is of: its first part is the bot's id in base64, and stays when the token is reset.
fn bot_of(token: &str) -> String {
    token.split('.').next().unwrap_or(token).to_owned()
}

/// What the answers of its platform mean, each as a function of the answer alone: any answer is tried on all of them.
pub(in crate::channels) const DECODERS: &[(&str, Decode)] =
    &[("", |reader, answer| match answer.status.is_success() {
        true => answer::made(&answer.body),
        false => Err(answer::verdict(reader, answer)),
    })];

/// Opens an account. Connects to nothing.
///
/// # Errors
/// A setting is missing or wrong, or the token cannot be read or is none.
pub fn open(opening: Opening<'_>) -> Result<Arc<dyn Adapter>, OpenError> {
    let settings: Settings = opening.settings.try_into()?;
    let base = Base::parse("base_url", &settings.base_url).map_err(OpenError::Invalid)?;
    let (connects, intents) = (settings.gateway || settings.receive, settings.intents());
    let token = Token::read_with_identity(settings.token, bot_of)?;
    // "Bot" and what else somebody copies along from an example.
    if token.now().expose().contains(char::is_whitespace) {
        let why = "token: the bot's token alone stands there, without \"Bot\" before it";
        return Err(OpenError::Invalid(why.into()));
    }
    Ok(Arc::new(Discord {
        kept: Kept::of(&opening.store),
        client: Client::new(opening.http, base, token),
        options: SendOptions {
            previews: settings.link_previews,
            mention_answered: settings.mention_answered,
        },
        gateway: connects.then(|| Gateway::new(opening.account, Tempo::USUAL, intents)),
        receives: settings.receive,
    }))
}

#[async_trait]
impl Adapter for Discord {
    fn capabilities(&self) -> &'static Capabilities {
        if self.gateway.is_some() { &GATEWAY } else { &REST }
    }

    fn flavour(&self) -> crate::render::Flavour {
        profile::FORMAT.flavour
    }

    fn resolve(&self, address: &str) -> Result<String, TargetError> {
        target::canonical(address).map_err(TargetError::at(REST.channel, address))
    }

    fn resolve_person(&self, id: &str) -> Result<String, TargetError> {
        self.resolve(&format!("@{}", target::user(id)))
    }

    /// A number may be a channel's, a thread's, or that of the conversation with a person.
    fn identity(&self, address: &str) -> Spelling {
        match (target::is_name(address), address.starts_with('@')) {
            (true, _) => Spelling::LookUp,
            (false, true) => Spelling::known(address),
            (false, false) => Spelling::Ask,
        }
    }

    fn is_name(&self, address: &str) -> bool {
        target::is_name(address)
    }

    fn is_mentionable(&self, id: &str) -> bool {
        target::snowflake(id).as_deref() == Some(id)
    }

    async fn identify(&self, address: &str) -> Result<Identity, Unidentified> {
        match self.is_name(address) {
            true => self.client.named(address).await,
            false => self.client.identify(address).await,
        }
    }

    fn scope(&self, _: &str) -> IdScope {
        // A thread is a channel, and a message is found in the channel that the request names alone
        // (<https://docs.discord.com/developers/resources/message#get-channel-message>).
        IdScope::Thread
    }

    fn joins_album(&self, files: &[Attachment], file: &Attachment) -> bool {
        // "up to ten" (<https://docs.discord.com/developers/reference#uploading-files>); a voice message has one alone.
        files.len() < 10 && !file.voice && !files.iter().any(|file| file.voice)
    }

    async fn check_ready(&self) -> Result<String, NotReady> {
        let who = self.client.who_am_i().await.map_err(NotReady)?;
        let Some(gateway) = &self.gateway else { return Ok(who) };
        gateway.look_for_endpoint(&self.client).await;
        // Messages go all the same.
        let troubles = gateway.trouble().into_iter().chain(gateway.endpoint());
        Ok(troubles.fold(who, |who, trouble| format!("{who}; {trouble}")))
    }
}

#[async_trait]
impl Sender for Discord {
    type Request = StoredRequest;

    fn compose(&self, outgoing: &OutgoingPart<'_>) -> Result<StoredRequest, Refused> {
        if let Some(why) = request::alike(outgoing.extras) {
            return Err(Refused(why));
        }
        let request = request::compose(outgoing, self.options);
        if !request.forms.is_empty() {
            match &self.gateway {
                // It was taken when there was a connection, and none is there any more.
                None => return Err(Refused::because(NO_FORMS)),
                Some(gateway) => {
                    if let Some(why) = gateway.without_forms() {
                        return Err(Refused(why));
                    }
                }
            }
        }
        let rows = outgoing.extras.buttons.len() + outgoing.extras.selects.len();
        if rows > request::MAX_ROWS {
            return Err(Refused::because(
                "buttons and lists share five rows on Discord, of which each list takes one",
            ));
        }
        if let Some(why) = request.forms.iter().find_map(forms::unfit) {
            return Err(Refused(why));
        }
        if let Some(why) = self.client.too_large_for(outgoing.address, outgoing.files) {
            return Err(Refused(why));
        }
        fit(request, StoredRequest::unfit)
    }

    fn compose_operation(&self, op: &OperationRequest<'_>) -> Option<Result<StoredRequest, Refused>> {
        let request = request::compose_operation(op, self.options)?;
        (self.gateway.is_some() || request.presence().is_none()).then(|| fit(request, StoredRequest::unfit))
    }

    async fn deliver(
        &self,
        request: &StoredRequest,
        key: &PartKey,
        hints: &mut RateHints,
    ) -> Result<Delivered, Failure> {
        let id = match (&self.gateway, request.presence()) {
            (Some(gateway), Some(presence)) => gateway.set(presence).await?,
            _ => self.client.deliver(request.clone(), key, &self.kept, hints).await?,
        };
        Ok(id.into())
    }

    fn redelivery(&self, request: &StoredRequest) -> Redelivery {
        match request.request {
            Request::Message { .. } => Redelivery::Keyed(NONCE),
            // A thread has no nonce.
            Request::Thread { .. } => Redelivery::Never,
            _ => Redelivery::SEEN_ONCE,
        }
    }
}

#[async_trait]
impl Receiver for Discord {
    fn hearing(&self) -> Option<Hearing> {
        self.gateway.as_ref()?.hearing()
    }

    async fn listen(&self, hub: &dyn HubHandle) {
        let Some(gateway) = &self.gateway else { return };
        let last = hub.newest(Action::SetPresence).await;
        let presence = last.and_then(|request| StoredRequest::deserialize(&request).ok()?.presence());
        match self.receives {
            true => receive::listen(&self.client, gateway, hub, presence).await,
            false => gateway.keep(&self.client, hub, presence, None).await,
        }
    }

    async fn leave(&self) {
        if let Some(gateway) = &self.gateway {
            gateway.leave().await;
        }
    }

    fn typing_lasts(&self) -> Option<Duration> {
        Some(TYPING)
    }

    async fn show_typing(&self, conversation: &Target) {
        let hints = &mut RateHints::default();
        let thread = conversation.thread.as_deref();
        if let Ok(channel) = self.client.channel_of(&conversation.address, thread, hints).await {
            let request = self.client.request(Method::POST, &["channels", &channel, "typing"]);
            let _ = self.client.http.ask_status(request, hints).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{profile::KEYS, *};

    #[test]
    fn user_before_an_id_means_a_person() {
        let discord = scenarios::discord(1, crate::settings::secret::Secret::from("t"));
        assert_eq!(discord.resolve_person("42").unwrap(), "@42");
        assert_eq!(discord.resolve_person("@42").unwrap(), "@42");
    }

    #[test]
    fn every_setting_is_documented_and_every_documented_key_is_a_setting() {
        let all = KEYS.iter().map(|key| format!("{} = {}\n", key.name, key.value)).collect::<String>();
        let all: Settings = toml::from_str(&all).unwrap();
        let least: Settings = toml::from_str("token = \"env:T\"").unwrap();
        assert_eq!((all.link_previews, &all.base_url), (least.link_previews, &least.base_url));
        assert_eq!((all.mention_answered, all.gateway), (least.mention_answered, least.gateway));
        assert_eq!((all.receive, all.message_content), (least.receive, least.message_content));
        assert!(toml::from_str::<Settings>("token = \"env:T\"\nmentions = true").is_err());
    }
}
