//! Requests to the Web API, and whether they arrived.
//!
//! The token is in one header and nowhere else. Slack answers 200 to nearly everything; what it means by it, [`refusal`]
//! says. Methods that write take JSON, some that read take forms alone, so questions go as forms.
//!
//! [`refusal`]: super::refusal

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use reqwest::{Method, Url, header::CONTENT_TYPE};
use serde_json::{Map, Value, json};

use super::{
    refusal::{Outcome, Refusal, decode, posted},
    request::{POST, Request},
    target::is_person,
};
use crate::channels::{
    Failure, PartKey, RateHints,
    identity::{Identity, Unidentified},
    kit::{
        http::{Answer, Http, Silence, base::Base, token::Token},
        removals::Removals,
    },
    limits::Scope,
};

/// The type of the metadata that carries a part's key: <https://docs.slack.dev/messaging/message-metadata>.
pub(super) const EVENT: &str = "gatepost_part";

/// How many people's direct conversations are remembered at most.
const MAX_PEOPLE: usize = 2048;

/// Who an account is: the ids of its user and its bot, and its workspace's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Me {
    pub(super) user: String,
    pub(super) bot: Option<String>,
    pub(super) team: String,
}

/// An app in a workspace.
pub(super) struct Client {
    pub(super) http: Http,
    pub(super) base: Base,
    /// The direct conversation with a person. It is theirs for good.
    direct: Mutex<HashMap<String, String>>,
    removals: Removals,
}

impl Client {
    /// An app that authenticates with a token.
    pub(super) fn new(http: reqwest::Client, base: Base, token: impl Into<Token>) -> Self {
        Self {
            http: Http::new(http, "Slack", token),
            base,
            direct: Mutex::default(),
            removals: Removals::default(),
        }
    }

    /// Performs a request without a file; returns the id of what it became or was done to.
    pub(super) async fn perform(
        &self,
        request: &Request,
        key: &PartKey,
        hints: &mut RateHints,
    ) -> Result<String, Failure> {
        let mut body = request.body.clone();
        if request.method == POST {
            let metadata = json!({ "event_type": EVENT, "event_payload": { "key": key.0 } });
            body.insert("metadata".into(), metadata);
        } else if let Some(person) = request.text("channel").filter(|channel| is_person(channel)) {
            body.insert("channel".into(), self.direct(person, hints).await?.into());
        }
        let done = match request.is_removal() {
            true => self.remove(&request.method, &body, key, hints).await?,
            false => self.write(&request.method, &body, hints).await?,
        };
        match done {
            Outcome::Yes(said) if request.method == POST => {
                posted(&said).map_err(|verdict| self.http.settle(verdict, hints))
            }
            Outcome::Yes(_) | Outcome::Already => {
                let message =
                    ["timestamp", "ts", "presence", "file"].iter().find_map(|name| request.text(name));
                Ok(message.unwrap_or_default().to_owned())
            }
        }
    }

    /// A request that changes something: what came of it.
    pub(super) async fn write(
        &self,
        method: &str,
        body: &Map<String, Value>,
        hints: &mut RateHints,
    ) -> Result<Outcome, Failure> {
        let answer = self.ask(method, body, hints).await?;
        // <https://docs.slack.dev/apis/web-api/rate-limits>: messages are counted by conversation, the rest by method.
        self.outcome(&answer, if method == POST { Scope::Chat } else { Scope::Account }, hints)
    }

    async fn ask(
        &self,
        method: &str,
        body: &Map<String, Value>,
        hints: &mut RateHints,
    ) -> Result<Answer, Silence> {
        let request = self.http.client.request(Method::POST, self.base.at(&[method]));
        self.http.ask(request.bearer_auth(self.http.token().expose()).json(body), hints).await
    }

    /// A request that removes something.
    async fn remove(
        &self,
        method: &str,
        body: &Map<String, Value>,
        key: &PartKey,
        hints: &mut RateHints,
    ) -> Result<Outcome, Failure> {
        let (gone, ended) = match self.ask(method, body, hints).await {
            Ok(answer) => (
                Refusal::of(&answer).is_some_and(|said| said.is_gone()),
                self.outcome(&answer, Scope::Account, hints),
            ),
            Err(silence) => (false, Err(silence.into())),
        };
        self.removals.settle(key, gone, ended).map(|outcome| outcome.unwrap_or(Outcome::Already))
    }

    /// A request that changes nothing that anybody sees.
    pub(super) async fn question(
        &self,
        method: &str,
        arguments: &[(&str, &str)],
        hints: &mut RateHints,
    ) -> Result<Value, Failure> {
        let answer = self.read(method, arguments, hints).await?;
        match self.outcome(&answer, Scope::Account, hints) {
            Ok(Outcome::Yes(said)) => Ok(said),
            Ok(Outcome::Already) => Ok(Value::Null),
            Err(Failure::Unknown(why)) => Err(Failure::Retry(why)),
            Err(failure) => Err(failure),
        }
    }

    /// The same about one thing: nothing, if Slack says that there is no such thing.
    pub(super) async fn question_of(
        &self,
        method: &str,
        arguments: &[(&str, &str)],
        hints: &mut RateHints,
    ) -> Result<Option<Value>, Failure> {
        let answer = self.read(method, arguments, hints).await?;
        if Refusal::of(&answer).is_some_and(|said| said.is_missing()) {
            return Ok(None);
        }
        match self.outcome(&answer, Scope::Account, hints).map_err(Failure::harmless)? {
            Outcome::Yes(said) => Ok(Some(said)),
            Outcome::Already => Ok(None),
        }
    }

    async fn read(
        &self,
        method: &str,
        arguments: &[(&str, &str)],
        hints: &mut RateHints,
    ) -> Result<Answer, Failure> {
        let mut form = Url::parse("form:").expect("it is a URL");
        form.query_pairs_mut().extend_pairs(arguments);
        let request = self
            .http
            .client
            .request(Method::POST, self.base.at(&[method]))
            .bearer_auth(self.http.token().expose())
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form.query().unwrap_or_default().to_owned());
        self.http.ask(request, hints).await.map_err(Silence::harmless)
    }

    /// The direct conversation with a person; it is opened if there is none yet, of which they are not told.
    ///
    /// <https://docs.slack.dev/reference/methods/conversations.open>
    pub(super) async fn direct(&self, person: &str, hints: &mut RateHints) -> Result<String, Failure> {
        let known = self.direct.lock().unwrap_or_else(PoisonError::into_inner).get(person).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let said = self.question("conversations.open", &[("users", person)], hints).await?;
        let Some(conversation) = said["channel"]["id"].as_str() else {
            return Err(Failure::Retry("Slack opened a conversation, but did not say which".into()));
        };
        self.remember(person, conversation);
        Ok(conversation.to_owned())
    }

    fn remember(&self, person: &str, conversation: &str) {
        let mut direct = self.direct.lock().unwrap_or_else(PoisonError::into_inner);
        if direct.len() < MAX_PEOPLE {
            direct.insert(person.to_owned(), conversation.to_owned());
        }
    }

    /// The person whose direct conversation this is.
    ///
    /// <https://docs.slack.dev/reference/methods/conversations.info>, `user` of
    /// <https://docs.slack.dev/reference/objects/conversation-object>
    pub(super) async fn person_of(&self, conversation: &str) -> Result<Identity, Unidentified> {
        let hints = &mut RateHints::default();
        let said = self.question("conversations.info", &[("channel", conversation)], hints).await?;
        let channel = &said["channel"];
        let is_it = channel["id"] == conversation && channel["is_im"] == true;
        match channel["user"].as_str().filter(|user| is_it && is_person(user)) {
            Some(person) => {
                self.remember(person, conversation);
                Ok(Identity::new(person))
            }
            None => Err(Unidentified::not_known("Slack does not say whose direct conversation that is")),
        }
    }

    /// As whom it would send, or why it cannot.
    ///
    /// <https://docs.slack.dev/reference/methods/auth.test>
    pub(super) async fn who_am_i(&self) -> Result<String, String> {
        let hints = &mut RateHints::default();
        let said = self.question("auth.test", &[], hints).await.map_err(|failure| failure.to_string())?;
        match (said["user"].as_str(), said["team"].as_str()) {
            (Some(user), Some(team)) => Ok(self.http.words(&format!("{user} in {team}"))),
            _ => Err("Slack does not say whose token this is; check base_url".into()),
        }
    }

    /// The same in ids, by which its own words are known.
    ///
    /// <https://docs.slack.dev/reference/methods/auth.test>
    pub(super) async fn me(&self) -> Result<Me, Failure> {
        let said = self.question("auth.test", &[], &mut RateHints::default()).await?;
        let text = |name: &str| said[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        match (text("user_id"), text("team_id")) {
            (Some(user), Some(team)) => Ok(Me { user, bot: text("bot_id"), team }),
            _ => Err(Failure::Retry("Slack does not say whose token this is; check base_url".into())),
        }
    }

    fn outcome(&self, answer: &Answer, by: Scope, hints: &mut RateHints) -> Result<Outcome, Failure> {
        decode(&self.http.reader(), answer, by).map_err(|verdict| self.http.settle(verdict, hints))
    }
}
