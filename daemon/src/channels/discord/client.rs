//! The way to Discord's REST interface: requests as the bot, and questions that change nothing; what an answer means
//! [`answer`](super::answer) says.

use reqwest::{
    Method, RequestBuilder, Url,
    header::{AUTHORIZATION, USER_AGENT},
};
use serde_json::Value;

use super::{answer::verdict, places::Places};
use crate::channels::{
    Failure, RateHints,
    kit::{
        http::{Answer, Http, Silence, base::Base, token::Token},
        removals::Removals,
    },
};

/// Named so, or "blocked" (<https://docs.discord.com/developers/reference#user-agent>).
pub(super) const AGENT: &str = concat!("DiscordBot (gatepost, ", env!("CARGO_PKG_VERSION"), ")");

/// A bot.
pub(super) struct Client {
    pub(super) http: Http,
    pub(super) base: Base,
    pub(super) places: Places,
    /// What was removed lately, for what goes again after a lost answer.
    pub(super) removals: Removals,
}

impl Client {
    pub(super) fn new(http: reqwest::Client, base: Base, token: impl Into<Token>) -> Self {
        Self {
            http: Http::new(http, "Discord", token),
            base,
            places: Places::default(),
            removals: Removals::default(),
        }
    }

    /// Who the bot is, or why it cannot send.
    ///
    /// <https://docs.discord.com/developers/resources/user#get-current-user>
    pub(super) async fn who_am_i(&self) -> Result<String, String> {
        let hints = &mut RateHints::default();
        let answer = match self.http.ask(self.request(Method::GET, &["users", "@me"]), hints).await {
            Ok(answer) => answer,
            Err(Silence::NotSent(why) | Silence::Lost(why)) => return Err(why),
        };
        if !answer.status.is_success() {
            return Err(self.classify(&answer, hints).to_string());
        }
        match (answer.body["username"].as_str(), answer.body["id"].as_str()) {
            (Some(name), Some(id)) => Ok(self.http.words(&format!("{name} ({id})"))),
            _ => Err("Discord does not say whose token this is; check base_url".into()),
        }
    }

    /// A request to this path. Nothing in it is from outside but ids that were looked at, and emoji.
    pub(super) fn request(&self, method: Method, path: &[&str]) -> RequestBuilder {
        self.request_at(method, self.base.at(path))
    }

    /// A question to this path, with a query.
    pub(super) fn query(&self, path: &[&str], query: &[(&str, &str)]) -> RequestBuilder {
        let mut url = self.base.at(path);
        url.query_pairs_mut().extend_pairs(query);
        self.request_at(Method::GET, url)
    }

    fn request_at(&self, method: Method, url: Url) -> RequestBuilder {
        self.http
            .client
            .request(method, url)
            .header(AUTHORIZATION, format!("Bot {}", self.http.token().expose()))
            .header(USER_AGENT, AGENT)
    }

    /// Asks something that changes nothing that anybody sees, and belongs to no delivery.
    pub(super) async fn question(&self, request: RequestBuilder) -> Result<Value, Failure> {
        self.asked(request, &mut RateHints::default()).await
    }

    /// The same on the way of a delivery.
    pub(super) async fn asked(
        &self,
        request: RequestBuilder,
        hints: &mut RateHints,
    ) -> Result<Value, Failure> {
        let answer = self.http.ask(request, hints).await.map_err(Silence::harmless)?;
        if answer.status.is_success() {
            return Ok(answer.body);
        }
        Err(self.classify(&answer, hints).harmless())
    }

    /// What an answer means that says no.
    pub(super) fn classify(&self, answer: &Answer, hints: &mut RateHints) -> Failure {
        self.http.settle(verdict(&self.http.reader(), answer), hints)
    }
}
