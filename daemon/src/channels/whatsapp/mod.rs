//! WhatsApp: one number, by Meta's Cloud API, by an Evolution API that holds a phone's session, or by both.
//!
//! Of both, `hybrid` takes the Cloud API while that is ready as far as is known, and the Evolution API otherwise; the way is
//! fixed in the stored request when a message is composed, as is the second one for a Cloud API that turns out not to be
//! ready, and does not change after. A Cloud API that was not ready is asked again when a message goes by the Evolution API,
//! once a minute at most, and those planned after that go by it. Neither recognises a message that comes twice: where an answer was lost, the Evolution API is looked at for the text, and the Cloud
//! API's notifications can settle it later ([`status`]). Else it is unknown.
//!
//! - `target`: addresses and ids; `request`: which way, and `cloud` and `evolution`: what a message becomes on each;
//! - [`receive`]: what people write to the account, `receiver`: through which door it comes;
//! - `graph` and `instance`: their clients, `codes` and `refusals`: what each means when it says no; [`status`]: the Cloud API's notifications.

mod cloud;
pub(super) mod codes;
#[cfg(test)]
pub(super) mod contract;
mod evolution;
mod graph;
pub(super) mod instance;
pub(super) mod profile;
pub mod receive;
mod receiver;
mod request;
#[cfg(test)]
mod scenarios;
#[cfg(test)]
mod spellings;
pub mod status;
mod target;

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;

pub(in crate::channels) use self::target::person_id;
use self::{
    graph::{Graph, Unsent},
    instance::Instance,
    profile::{CLOUD, EVOLUTION, HYBRID},
    receive::{
        cloud::Hearing,
        evolution::{Listener, Tempo},
    },
    request::{Request, Routes},
};
use super::{
    Adapter, Attempt, Capabilities, Delivered, Failure, IdScope, Located, NotReady, OperationRequest,
    OutgoingPart, PartKey, RateHints, Redelivery, Refused, Sender, TargetError,
    account::{OpenError, Opening},
    capabilities::DeliveryMode,
    identity::{Identity, Spelling, Unidentified},
    kit::http::{Decode, base::Base, token::Token},
};
use crate::{files::kept::Kept, render::Flavour, settings::secret::SecretSource};

/// For an Evolution API, whose own limit is lower.
const EVOLUTION_LIMIT: usize = 4000;

/// A way to WhatsApp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route {
    Cloud,
    Evolution,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    #[default]
    Cloud,
    Evolution,
    Hybrid,
}

/// What may be sent where a person has not written for a day.
#[derive(Debug, Clone)]
struct Template {
    name: String,
    language: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(default)]
    kind: Kind,
    phone_number_id: Option<String>,
    token: Option<SecretSource>,
    #[serde(default = "default_graph")]
    graph_url: String,
    template: Option<String>,
    template_language: Option<String>,
    evolution_url: Option<String>,
    instance: Option<String>,
    api_key: Option<SecretSource>,
    app_secret: Option<SecretSource>,
    verify_token: Option<SecretSource>,
    webhook_secret: Option<SecretSource>,
    #[serde(default)]
    receive: bool,
    #[serde(default)]
    previews: bool,
}

fn default_graph() -> String {
    "https://graph.facebook.com/v24.0".into()
}

struct WhatsApp {
    graph: Option<Graph>,
    instance: Option<Instance>,
    kept: Kept,
    previews: bool,
    template: Option<Template>,
    endpoint: Option<CallbackEndpoint>,
    /// The secret that an Evolution API sends with its notifications.
    webhook: Option<Token>,
    /// What the account hears by Meta's notifications.
    hearing: Option<Hearing>,
    /// What it hears by an Evolution API.
    listener: Option<Listener>,
}

/// By what notifications are believed, and the word that was agreed on with Meta.
struct CallbackEndpoint {
    app: Token,
    verify: Token,
}

/// What the answers of its platform mean, each as a function of the answer alone: any answer is tried on all of them.
pub(in crate::channels) const DECODERS: &[(&str, Decode)] = &[
    ("Cloud API", |reader, answer| match answer.status.is_success() {
        true => codes::sent(&answer.body),
        false => Err(codes::verdict(reader, answer)),
    }),
    ("Evolution API", |reader, answer| instance::refusals::decode(reader, "message/sendText", None, answer)),
];

/// Opens an account. Connects to nothing.
pub fn open(opening: Opening<'_>) -> Result<Arc<dyn Adapter>, OpenError> {
    let settings: Settings = opening.settings.try_into()?;
    let missing =
        |key: &str| OpenError::Invalid(format!("{key} is missing, which this kind of account needs"));
    let graph = match settings.kind {
        Kind::Evolution => None,
        Kind::Cloud | Kind::Hybrid => {
            let number = settings.phone_number_id.ok_or_else(|| missing("phone_number_id"))?;
            if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
                return Err(OpenError::Invalid(
                    "phone_number_id: write its digits, as the app's page shows them".into(),
                ));
            }
            let url = Base::parse("graph_url", &settings.graph_url).map_err(OpenError::Invalid)?;
            let token = Token::read(settings.token.ok_or_else(|| missing("token"))?)?;
            Some(Graph::new(opening.http.clone(), url, number, token))
        }
    };
    let instance = match settings.kind {
        Kind::Cloud => None,
        Kind::Evolution | Kind::Hybrid => {
            let url = settings.evolution_url.ok_or_else(|| missing("evolution_url"))?;
            let url = Base::parse("evolution_url", &url).map_err(OpenError::Invalid)?;
            let name =
                settings.instance.filter(|name| !name.is_empty()).ok_or_else(|| missing("instance"))?;
            let key = Token::read(settings.api_key.ok_or_else(|| missing("api_key"))?)?;
            Some(Instance::new(opening.http, url, name, key))
        }
    };
    let template = settings
        .template
        .map(|name| Template { name, language: settings.template_language.unwrap_or_else(|| "en".into()) });
    let kept = Kept::of(&opening.store);
    let endpoint = match (settings.app_secret, settings.verify_token) {
        (Some(app), Some(verify)) => {
            Some(CallbackEndpoint { app: Token::read(app)?, verify: Token::read(verify)? })
        }
        (None, None) => None,
        _ => {
            return Err(OpenError::Invalid(
                "app_secret and verify_token go together: give both, or neither".into(),
            ));
        }
    };
    let webhook = match settings.webhook_secret {
        Some(_) if instance.is_none() => {
            return Err(OpenError::Invalid(
                "webhook_secret is for an Evolution API: Meta's notifications are signed with app_secret"
                    .into(),
            ));
        }
        Some(_) if endpoint.is_some() => {
            return Err(OpenError::Invalid(
                "webhook_secret: with app_secret the account's notifications are Meta's; leave it out, the Evolution API is \
                 asked each minute"
                    .into(),
            ));
        }
        Some(_) if !settings.receive => {
            return Err(OpenError::Invalid("webhook_secret needs receive = true, or leave it out".into()));
        }
        secret => secret.map(Token::read).transpose()?,
    };
    if settings.receive && instance.is_none() && endpoint.is_none() {
        return Err(OpenError::Invalid(
            "receive: Meta notifies the hub; give app_secret and verify_token, or set receive = false".into(),
        ));
    }
    let hears = |way: bool| settings.receive && way;
    Ok(Arc::new(WhatsApp {
        hearing: hears(graph.is_some() && endpoint.is_some()).then(Hearing::default),
        listener: hears(instance.is_some()).then(|| Listener::new(opening.account, Tempo::USUAL)),
        graph,
        instance,
        kept,
        previews: settings.previews,
        template,
        endpoint,
        webhook,
    }))
}

impl WhatsApp {
    /// As they are known now.
    fn ways(&self) -> Routes {
        let ready = self.graph.as_ref().is_some_and(Graph::is_ready);
        Routes {
            cloud: self.graph.is_some(),
            evolution: self.instance.is_some(),
            first: if ready || self.instance.is_none() { Route::Cloud } else { Route::Evolution },
        }
    }
}

#[async_trait]
impl Adapter for WhatsApp {
    fn capabilities(&self) -> &'static Capabilities {
        match (&self.graph, &self.instance) {
            (_, None) => &CLOUD,
            (None, Some(_)) => &EVOLUTION,
            (Some(_), Some(_)) => &HYBRID,
        }
    }

    fn flavour(&self) -> Flavour {
        match self.instance {
            None => profile::FORMAT.flavour,
            Some(_) => Flavour { limit: Some(EVOLUTION_LIMIT), ..profile::FORMAT.flavour },
        }
    }

    fn resolve(&self, address: &str) -> Result<String, TargetError> {
        let ways = target::Takes { groups: self.instance.is_some(), users: self.graph.is_some() };
        target::canonical(address, ways).map_err(TargetError::at(CLOUD.channel, address))
    }

    /// A number is one however it is dialled. Whose number is behind a user's id, nobody is told.
    fn identity(&self, address: &str) -> Spelling {
        target::identity(address).map_or(Spelling::Ask, Spelling::known)
    }

    /// By a number, or by the hidden id that WhatsApp tells in its place. Meta's own ids of people are known to the Cloud API alone,
    /// which has no mentions.
    fn is_mentionable(&self, id: &str) -> bool {
        target::called(id).is_some()
    }

    async fn identify(&self, address: &str) -> Result<Identity, Unidentified> {
        Err(Unidentified::not_known(match target::is_user(address) || target::is_lid(address) {
            true => "WhatsApp does not say which number is behind a user's id",
            false => "its country has no such number, and an Evolution API may take it for another one",
        }))
    }

    fn held_with(&self, identity: &str) -> Vec<String> {
        target::held_with(identity).into_iter().collect()
    }

    /// As it was written: WhatsApp itself knows which of a number's forms is registered.
    fn recipient<'a>(&self, identity: &'a str, written_as: Option<&'a str>) -> &'a str {
        written_as.unwrap_or(identity)
    }

    fn scope(&self, _: &str) -> IdScope {
        // The Evolution API finds what is quoted by its id alone, and sends its text along (`whatsapp.baileys.service.ts`,
        // `getMessage`); what the Cloud API does with one of another conversation it does not say.
        IdScope::Account
    }

    fn recorded_as(&self, _: &str, message: &str) -> Vec<String> {
        let bare = target::MessageId::read(message).map(|id| id.id.to_owned());
        std::iter::once(message.to_owned()).chain(bare.filter(|bare| bare != message)).collect()
    }

    async fn locate(&self, address: &str, message: &str) -> Result<Located, Failure> {
        match (&self.instance, target::MessageId::read(message)) {
            (Some(instance), Some(id)) if id.way() == Route::Evolution => {
                instance.locate(address, id.id).await
            }
            _ => Ok(Located::Unknown),
        }
    }

    async fn check_ready(&self) -> Result<String, NotReady> {
        let cloud = match &self.graph {
            Some(graph) => Some(graph.who_am_i().await),
            None => None,
        };
        let ready = match (cloud, &self.instance) {
            (Some(cloud), None) => cloud,
            (None, Some(instance)) => instance.who_am_i().await,
            (None, None) => Err("the account has no way to WhatsApp".into()),
            (Some(Ok(number)), Some(_)) => Ok(number),
            (Some(Err(why)), Some(instance)) => match instance.who_am_i().await {
                Ok(name) => Ok(format!("{name}, since the Cloud API is not ready: {why}")),
                Err(other) => Err(format!("{why}; and {other}")),
            },
        };
        // Messages go all the same.
        let hears = [
            self.hearing.as_ref().map(Hearing::standing),
            self.listener.as_ref().map(|listener| listener.hearing().standing),
        ];
        ready
            .map(|who| hears.into_iter().flatten().fold(who, |who, hears| format!("{who}; {hears}")))
            .map_err(NotReady)
    }
}

#[async_trait]
impl Sender for WhatsApp {
    type Request = Request;

    fn compose(&self, outgoing: &OutgoingPart<'_>) -> Result<Request, Refused> {
        request::compose(self.ways(), outgoing, self.previews, self.template.as_ref())
    }

    fn compose_operation(&self, op: &OperationRequest<'_>) -> Option<Result<Request, Refused>> {
        request::compose_operation(self.ways(), op)
    }

    async fn deliver(
        &self,
        request: &Request,
        key: &PartKey,
        hints: &mut RateHints,
    ) -> Result<Delivered, Failure> {
        let gone =
            || Failure::Permanent("the account no longer has the way that this message was to go".into());
        match request {
            Request::Cloud(first) => {
                let sent = self.graph.as_ref().ok_or_else(gone)?.send(first, key, &self.kept, hints).await;
                let sent = match (sent, &self.instance, request.by_evolution()) {
                    (Err(Unsent::NotReady(why)), Some(instance), Some(second)) => {
                        tracing::info!(%why, "the Cloud API is not ready: the message goes by the Evolution API");
                        return instance.send(second, &self.kept, hints).await.map(Delivered::from);
                    }
                    (sent, ..) => sent?,
                };
                // What was reacted to, for a reaction has nothing that could be done to it.
                let reacted_to = first.message["reaction"]["message_id"].as_str();
                Ok(reacted_to.map_or(sent, str::to_owned).into())
            }
            Request::Evolution(request) => {
                if let Some(graph) = &self.graph {
                    graph.look_again().await;
                }
                let instance = self.instance.as_ref().ok_or_else(gone)?;
                instance.send(request, &self.kept, hints).await.map(Delivered::from)
            }
        }
    }

    fn route(&self, request: &Request) -> Option<&'static str> {
        let hybrid = self.capabilities().mode == DeliveryMode::Hybrid;
        let Request::Cloud(request) = request else { return hybrid.then_some("by the Evolution API") };
        match (hybrid, request.otherwise.get().is_some(), request.outside_window.get().is_some()) {
            (true, true, true) => {
                Some("by the Cloud API, as its template outside the 24 hours, or else the Evolution API")
            }
            (true, true, false) => Some("by the Cloud API, or else the Evolution API"),
            (true, false, true) => Some("by the Cloud API, as its template outside the 24 hours"),
            (false, _, true) => Some("as the account's template outside the 24 hours"),
            (true, false, false) => Some("by the Cloud API"),
            (false, _, false) => None,
        }
    }

    fn redelivery(&self, request: &Request) -> Redelivery {
        let done_to_a_message = match request {
            Request::Cloud(request) => request.is_reaction(),
            Request::Evolution(request) => request.is_done_to_a_message(),
        };
        match request.by_evolution() {
            _ if done_to_a_message => Redelivery::SEEN_ONCE,
            Some(request) if request.path == "message/sendText" => Redelivery::Look,
            _ => Redelivery::Never,
        }
    }

    async fn find(
        &self,
        request: &Request,
        attempt: &Attempt<'_>,
        hints: &mut RateHints,
    ) -> Result<Option<String>, Failure> {
        match (&self.instance, request.by_evolution()) {
            (Some(instance), Some(request)) => instance.find(request, attempt.left, hints).await,
            _ => Ok(None),
        }
    }

    fn remark(&self, request: &Request) -> Option<&'static str> {
        let Request::Evolution(request) = request else { return None };
        let is_voice = request.path == evolution::VOICE && request.body["quoted"].is_object();
        is_voice.then_some(
            "a voice message stands without what it answers there: the Evolution API leaves that out (up to 2.3.7)",
        )
    }
}
