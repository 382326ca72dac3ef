//! Slack: a bot in one workspace, over the Web API.
//!
//! Every message carries its part's key in its metadata, which people do not see, so that a lost answer is no riddle:
//! [`asked`] reads the conversation back and looks for the key. A file's request has no room for one; a lost answer to
//! it is settled by the file's own shares where Slack tells them, and is unknown otherwise.
//!
//! Nothing in a text calls anybody: `<`, `>` and `&` are escaped by the renderer, `link_names` is off, and a card that
//! names people is refused. Links are not unfolded. Conversations and people are named by their ids, which stay while names move, or by
//! a name that is looked up when a message is taken ([`names`]). A person's id opens the direct conversation with them.
//!
//! A reply in Slack is a message in the thread of the one that it answers, and a thread is a message with answers; so
//! both are `thread_ts`, and a new thread is a message that begins with its name.
//!
//! What people write and press is heard over connections of their own, where the settings say so ([`receive`]).

mod blocks;
mod card;
mod client;
#[cfg(test)]
pub(super) mod contract;
mod emoji;
mod files;
mod located;
mod names;
pub(super) mod profile;
pub mod receive;
mod reconcile;
pub(super) mod refusal;
mod request;
#[cfg(test)]
mod scenarios;
mod target;

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;

pub(in crate::channels) use self::target::person_id;
use self::{
    client::Client,
    profile::CAPABILITIES,
    receive::{Listener, Tempo},
    request::Request,
};
use super::{
    Adapter, Attempt, Capabilities, Delivered, Failure, IdScope, Located, NotReady, OperationRequest,
    OutgoingPart, PartKey, RateHints, Receiver, Redelivery, Refused, Sender, TargetError,
    account::{OpenError, Opening},
    hub_handle::HubHandle,
    identity::{Identity, Spelling, Unidentified},
    kit::http::{Decode, base::Base, token::Token},
    limits::Scope,
    receiver::Hearing,
    sender::fit,
};
use crate::{files::kept::Kept, settings::secret::SecretSource};

const DEFAULT_BASE: &str = "https://slack.com/api";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    token: SecretSource,
    #[serde(default)]
    receive: bool,
    app_token: Option<SecretSource>,
    #[serde(default = "default_base")]
    base_url: String,
}

fn default_base() -> String {
    DEFAULT_BASE.into()
}

struct Slack {
    client: Client,
    kept: Kept,
    listener: Option<Listener>,
}

/// The bot that a token is of: `xoxb-`, the workspace's and the bot's number, and what is secret
/// (<https://docs.slack.dev/authentication/tokens>); of a token in another form, all of it.
fn bot_of(token: &str) -> String {
    let fields: Vec<&str> = token.splitn(4, '-').collect();
    let is_number = |field: &str| !field.is_empty() && field.bytes().all(|b| b.is_ascii_digit());
    match fields[..] {
        [kind, team, bot, _] if is_number(team) && is_number(bot) => format!("{kind}-{team}-{bot}"),
        _ => token.to_owned(),
    }
}

/// What the answers of its platform mean, each as a function of the answer alone: any answer is tried on all of them.
pub(in crate::channels) const DECODERS: &[(&str, Decode)] =
    &[("", |reader, answer| match refusal::decode(reader, answer, Scope::Chat)? {
        refusal::Outcome::Yes(said) => refusal::posted(&said),
        refusal::Outcome::Already => Ok(String::new()),
    })];

/// Opens an account. Connects to nothing.
pub fn open(opening: Opening<'_>) -> Result<Arc<dyn Adapter>, OpenError> {
    let settings: Settings = opening.settings.try_into()?;
    let base = Base::parse("base_url", &settings.base_url).map_err(OpenError::Invalid)?;
    let listener = match (settings.receive, settings.app_token) {
        (false, _) => None,
        (true, None) => {
            let why = "receive: an account hears over Socket Mode, which takes an app-level token (xapp-…): set app_token";
            return Err(OpenError::Invalid(why.into()));
        }
        (true, Some(app)) => {
            Some(Listener::new(opening.account, opening.http.clone(), Token::read(app)?, Tempo::USUAL))
        }
    };
    Ok(Arc::new(Slack {
        listener,
        kept: Kept::of(&opening.store),
        client: Client::new(opening.http, base, Token::read_with_identity(settings.token, bot_of)?),
    }))
}

#[async_trait]
impl Adapter for Slack {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn flavour(&self) -> crate::render::Flavour {
        profile::FORMAT.flavour
    }

    fn resolve(&self, address: &str) -> Result<String, TargetError> {
        target::canonical(address).map_err(TargetError::at(CAPABILITIES.channel, address))
    }

    /// A direct conversation is the person's.
    fn identity(&self, address: &str) -> Spelling {
        if target::is_name(address) {
            return Spelling::LookUp;
        }
        match target::is_direct(address) {
            false => Spelling::known(address),
            true => Spelling::Ask,
        }
    }

    fn is_name(&self, address: &str) -> bool {
        target::is_name(address)
    }

    fn is_mentionable(&self, id: &str) -> bool {
        target::is_person(id) && target::canonical(id).as_deref() == Ok(id)
    }

    async fn identify(&self, address: &str) -> Result<Identity, Unidentified> {
        match target::is_name(address) {
            true => names::find(&self.client, address).await,
            false => self.client.person_of(address).await,
        }
    }

    fn scope(&self, message: &str) -> IdScope {
        // A message's id is its time in the conversation that the request names; a file is the workspace's.
        if request::is_file(message) { IdScope::Account } else { IdScope::Conversation }
    }

    async fn locate(&self, address: &str, message: &str) -> Result<Located, Failure> {
        located::ask(&self.client, address, message).await
    }

    async fn check_ready(&self) -> Result<String, NotReady> {
        let who = self.client.who_am_i().await.map_err(NotReady)?;
        // Messages go all the same.
        let troubles = self.listener.iter().flat_map(Listener::trouble);
        Ok(troubles.fold(who, |who, trouble| format!("{who}; {trouble}")))
    }
}

#[async_trait]
impl Sender for Slack {
    type Request = Request;

    fn compose(&self, outgoing: &OutgoingPart<'_>) -> Result<Request, Refused> {
        let request = request::compose(outgoing);
        match request.body.get("blocks").and_then(Value::as_array).map(Vec::len) {
            Some(blocks) if blocks > card::BLOCKS => Err(Refused(format!(
                "a message on Slack has {} blocks at most, and its text, card, buttons and lists make {blocks}: shorten the \
                 card or the text, or send them apart",
                card::BLOCKS
            ))),
            _ => fit(request, Request::unfit),
        }
    }

    fn compose_operation(&self, op: &OperationRequest<'_>) -> Option<Result<Request, Refused>> {
        Some(request::compose_operation(op)?.and_then(|request| fit(request, Request::unfit)))
    }

    async fn deliver(
        &self,
        request: &Request,
        key: &PartKey,
        hints: &mut RateHints,
    ) -> Result<Delivered, Failure> {
        let id = match &request.file {
            Some(file) => files::share(&self.client, &self.kept, request, file, hints).await?,
            None => self.client.perform(request, key, hints).await?,
        };
        Ok(id.into())
    }

    fn redelivery(&self, request: &Request) -> Redelivery {
        match request {
            Request { file: Some(_), .. } => Redelivery::Never,
            Request { method, .. } if method == request::POST => Redelivery::Ask,
            _ => Redelivery::SEEN_ONCE,
        }
    }

    async fn find(
        &self,
        request: &Request,
        attempt: &Attempt<'_>,
        hints: &mut RateHints,
    ) -> Result<Option<String>, Failure> {
        reconcile::find(&self.client, request, attempt.key, hints).await
    }
}

#[async_trait]
impl Receiver for Slack {
    fn hearing(&self) -> Option<Hearing> {
        self.listener.as_ref().map(Listener::hearing)
    }

    async fn listen(&self, hub: &dyn HubHandle) {
        if let Some(listener) = &self.listener {
            listener.listen(&self.client, hub).await;
        }
    }

    async fn leave(&self) {
        if let Some(listener) = &self.listener {
            listener.leave().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{profile::KEYS, *};
    use crate::channels::testing::sample::AsJson as _;
    use crate::message::operation::{Button, Extras, Press};

    #[test]
    fn a_text_a_card_and_buttons_have_fifty_blocks_together() {
        let slack = scenarios::slack(1);
        let text = crate::channels::testing::sample::part("Hello");
        let refusal = |dividers: usize| {
            let card = vec![serde_json::json!({ "type": "divider" }); dividers];
            let buttons = vec![vec![Button { text: "Yes".into(), press: Press::Data("y".into()) }]];
            let extras = Extras { card: Some(card.into()), buttons, ..Extras::default() };
            slack.refusal(&slack.composed(&OutgoingPart { extras: &extras, ..scenarios::outgoing(&text) }))
        };
        assert_eq!(refusal(48), None);
        assert!(refusal(49).unwrap().contains("make 51"));
    }

    #[test]
    fn documented_defaults_are_the_defaults() {
        let all = KEYS.iter().map(|key| format!("{} = {}\n", key.name, key.value)).collect::<String>();
        let all: Settings = toml::from_str(&all).unwrap();
        let least: Settings = toml::from_str("token = \"env:T\"").unwrap();
        assert_eq!((all.base_url.as_str(), all.receive), (DEFAULT_BASE, least.receive));
        assert!(all.app_token.is_some() && least.app_token.is_none());
    }
}
