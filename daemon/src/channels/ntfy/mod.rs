//! ntfy: notifications on phones and desktops, by <https://ntfy.sh> or a server of one's own.
//!
//! Published as JSON (<https://docs.ntfy.sh/publish/#publish-as-json>): the message's first line is the title, silent is the
//! lowest priority. A server knows nothing of a message that comes again, so a lost answer is unknown, as the trait has it where nothing else is said.
//!
//! An account that [receives](receive) listens to the topics that its settings name.

#[cfg(test)]
pub(super) mod contract;
pub(super) mod profile;
pub mod receive;
#[cfg(test)]
mod scenarios;

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use self::{
    profile::CAPABILITIES,
    receive::{Listener, MOST_TOPICS, Tempo},
};
use super::{
    Adapter, Capabilities, Delivered, Failure, IdScope, NotReady, OutgoingPart, PartKey, RateHints, Receiver,
    Refused, Sender, TargetError,
    account::{OpenError, Opening},
    hub_handle::HubHandle,
    identity::Spelling,
    kit::http::{Answer, Decode, Http, Reader, Silence, Verdict, base::Base, token::Token},
    limits::Scope,
    receiver::Hearing,
};
use crate::settings::secret::{Secret, SecretSource};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    url: String,
    token: Option<SecretSource>,
    priority: Option<u8>,
    #[serde(default)]
    receive: bool,
    #[serde(default)]
    topics: Vec<String>,
}

/// What is published.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    topic: String,
    title: String,
    message: String,
    priority: u8,
}

struct Ntfy {
    http: Http,
    url: Base,
    priority: u8,
    listener: Option<Listener>,
}

/// The id of who publishes: the topic, for nobody is told apart there.
pub(in crate::channels) fn person_id(written: &str) -> Result<String, &'static str> {
    let topic = super::plain_name(&CAPABILITIES, written, "-_");
    topic.map_err(|_| "write the topic, such as ntfy:door: nobody is told apart there")
}

/// What the answers of its platform mean, each as a function of the answer alone: any answer is tried on all of them.
pub(in crate::channels) const DECODERS: &[(&str, Decode)] = &[("", decode)];

/// Opens an account. Connects to nothing.
pub fn open(opening: Opening<'_>) -> Result<Arc<dyn Adapter>, OpenError> {
    let settings: Settings = opening.settings.try_into()?;
    let url = Base::parse("url", &settings.url).map_err(OpenError::Invalid)?;
    let priority = settings.priority.unwrap_or(3);
    if !(1..=5).contains(&priority) {
        return Err(OpenError::Invalid("priority: write a number from 1 to 5".into()));
    }
    let token = settings.token.map_or_else(|| Ok(Secret::from("").into()), Token::read)?;
    let listener = match settings.receive {
        true => Some(Listener::new(opening.account, topics(settings.topics)?, Tempo::USUAL)),
        false => None,
    };
    Ok(Arc::new(Ntfy { http: Http::new(opening.http, "ntfy", token), url, priority, listener }))
}

/// The topics that are listened to.
fn topics(topics: Vec<String>) -> Result<Vec<String>, OpenError> {
    let refused = |why: String| Err(OpenError::Invalid(format!("topics: {why}")));
    if !(1..=MOST_TOPICS).contains(&topics.len()) {
        return refused(format!("name from 1 to {MOST_TOPICS} topics to receive, or set receive = false"));
    }
    if let Some(twice) = super::twice(topics.iter().map(String::as_str)) {
        return refused(format!("{twice:?} stands there twice"));
    }
    match topics.iter().find(|topic| super::plain_name(&CAPABILITIES, topic, "-_").is_err()) {
        Some(topic) => refused(format!("{topic:?} is not {}", CAPABILITIES.address_hint)),
        None => Ok(topics),
    }
}

impl Ntfy {
    async fn ask(&self, request: reqwest::RequestBuilder, hints: &mut RateHints) -> Result<Answer, Silence> {
        self.http.ask(self.signed(request), hints).await
    }

    /// A request with the token, if there is one.
    fn signed(&self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        let token = self.http.token();
        if token.expose().is_empty() { request } else { request.bearer_auth(token.expose()) }
    }

    /// What the server says there, if it does not refuse to.
    async fn asked(&self, path: &[&str]) -> Result<Answer, NotReady> {
        let hints = &mut RateHints::default();
        let answer = match self.ask(self.http.client.get(self.url.at(path)), hints).await {
            Ok(answer) => answer,
            Err(Silence::NotSent(why) | Silence::Lost(why)) => return Err(NotReady(why)),
        };
        match refused(&self.http.reader(), &answer) {
            Some(verdict) => Err(NotReady(self.http.settle(verdict, hints).to_string())),
            None => Ok(answer),
        }
    }

    /// As whom the token speaks. The account answers whoever asks: 401 to a token that is nobody's, and as `anonymous` where a server
    /// has no users and so reads no token (`handleAccountGet` of `server/server_account.go`, `maybeAuthenticate` of
    /// `server/server_auth.go`, <https://github.com/binwiederhier/ntfy>; `TestAccount_DeleteToken` and `TestAccount_Get_Anonymous` of
    /// `server/server_account_test.go` hold both).
    async fn whose(&self) -> Result<String, NotReady> {
        let account = self.asked(&["v1", "account"]).await?.body;
        match (account["username"].as_str(), account["role"].as_str()) {
            (_, Some("anonymous")) => {
                Ok(format!("ntfy at {}, which has no users and does not look at the token", self.url.host()))
            }
            (Some(name), Some(_)) => {
                Ok(format!("ntfy at {} as {}", self.url.host(), self.http.reader().words(name)))
            }
            _ => Err(NotReady("ntfy does not say whose the token is; check url".into())),
        }
    }
}

/// What ntfy says no to, if it does.
fn refused(reader: &Reader, answer: &Answer) -> Option<Verdict> {
    let said = answer.body["error"].as_str().filter(|words| !words.trim().is_empty());
    let said = said.unwrap_or("it gave no reason");
    match answer.status.as_u16() {
        200..=299 => None,
        401 | 403 => Some(Verdict::Token(format!("ntfy refused the token: {}", reader.words(said)))),
        _ => Some(reader.classify(answer, said, Scope::Account)),
    }
}

/// The id of what was published.
pub(super) fn decode(reader: &Reader, answer: &Answer) -> Result<String, Verdict> {
    refused(reader, answer).map_or(Ok(()), Err)?;
    let id = answer.body["id"].as_str().map(str::to_owned);
    id.ok_or_else(|| Verdict::Unknown("ntfy said yes, but not as which message".into()))
}

#[async_trait]
impl Adapter for Ntfy {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn flavour(&self) -> crate::render::Flavour {
        profile::FORMAT.flavour
    }

    fn resolve(&self, address: &str) -> Result<String, TargetError> {
        super::plain_name(&CAPABILITIES, address, "-_")
    }

    fn identity(&self, address: &str) -> Spelling {
        Spelling::known(address)
    }

    fn scope(&self, _: &str) -> IdScope {
        // Nothing there names a message.
        IdScope::Account
    }

    async fn check_ready(&self) -> Result<String, NotReady> {
        let answer = self.asked(&["v1", "health"]).await?;
        if answer.body["healthy"] != true {
            return Err(NotReady("the server is not healthy, or no ntfy; check url".into()));
        }
        let who = match self.http.token().expose().is_empty() {
            true => format!("ntfy at {}", self.url.host()),
            false => self.whose().await?,
        };
        // Messages go all the same.
        Ok(self.listener.iter().fold(who, |who, listener| format!("{who}; {}", listener.hearing().standing)))
    }
}

#[async_trait]
impl Sender for Ntfy {
    type Request = Request;

    fn compose(&self, outgoing: &OutgoingPart<'_>) -> Result<Request, Refused> {
        let priority = if outgoing.silent { 1 } else { self.priority };
        Ok(Request {
            topic: outgoing.address.to_owned(),
            title: outgoing.headline.to_owned(),
            message: outgoing.part.text.clone(),
            priority,
        })
    }

    async fn deliver(
        &self,
        request: &Request,
        _: &PartKey,
        hints: &mut RateHints,
    ) -> Result<Delivered, Failure> {
        let answer = self.ask(self.http.client.post(self.url.at(&[])).json(request), hints).await?;
        let id = decode(&self.http.reader(), &answer).map_err(|verdict| self.http.settle(verdict, hints))?;
        Ok(id.into())
    }
}

#[async_trait]
impl Receiver for Ntfy {
    fn hearing(&self) -> Option<Hearing> {
        self.listener.as_ref().map(Listener::hearing)
    }

    async fn listen(&self, hub: &dyn HubHandle) {
        if let Some(listener) = &self.listener {
            listener.listen(self, hub).await;
        }
    }
}
