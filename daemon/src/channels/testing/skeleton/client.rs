//! How the platform is asked, and what its answers mean. Performs exactly what was stored.

use reqwest::RequestBuilder;

use super::request::Request;
use crate::channels::{
    Failure, NotReady, RateHints,
    kit::http::{Answer, Http, Reader, Silence, Verdict, base::Base, token::Token},
    limits::Scope,
};

/// An account's way to its server.
pub(super) struct Client {
    http: Http,
    url: Base,
}

impl Client {
    pub(super) fn new(client: reqwest::Client, url: Base, token: Token) -> Self {
        Self { http: Http::new(client, "skeleton", token), url }
    }

    async fn ask(&self, request: RequestBuilder, hints: &mut RateHints) -> Result<Answer, Silence> {
        self.http.ask(request.bearer_auth(self.http.token().expose()), hints).await
    }

    /// Sends a message; its id.
    pub(super) async fn send(&self, request: &Request, hints: &mut RateHints) -> Result<String, Failure> {
        let answer = self.ask(self.http.client.post(self.url.at(&["messages"])).json(request), hints).await?;
        sent(&self.http.reader(), &answer).map_err(|verdict| self.http.settle(verdict, hints))
    }

    /// As whom the token speaks.
    pub(super) async fn ready(&self) -> Result<String, NotReady> {
        // What it says of limits here is of no delivery.
        let hints = &mut RateHints::default();
        let answer = match self.ask(self.http.client.get(self.url.at(&["me"])), hints).await {
            Ok(answer) => answer,
            Err(Silence::NotSent(why) | Silence::Lost(why)) => return Err(NotReady(why)),
        };
        if let Some(verdict) = refused(&self.http.reader(), &answer) {
            return Err(NotReady(self.http.settle(verdict, hints).to_string()));
        }
        match answer.body["name"].as_str() {
            Some(name) => {
                Ok(format!("skeleton at {} as {}", self.url.host(), self.http.reader().words(name)))
            }
            None => Err(NotReady("skeleton does not say whose the token is; check url".into())),
        }
    }
}

/// What the platform says no to, if it does. Its own codes go before the status.
fn refused(reader: &Reader, answer: &Answer) -> Option<Verdict> {
    let said = answer.body["error"].as_str().unwrap_or("it gave no reason");
    match answer.status.as_u16() {
        200..=299 => None,
        401 | 403 => Some(Verdict::Token(format!("skeleton refused the token: {}", reader.words(said)))),
        _ => Some(reader.classify(answer, said, Scope::Account)),
    }
}

/// The id of what was sent.
pub(super) fn sent(reader: &Reader, answer: &Answer) -> Result<String, Verdict> {
    refused(reader, answer).map_or(Ok(()), Err)?;
    let id = answer.body["id"].as_str().map(str::to_owned);
    id.ok_or_else(|| Verdict::Unknown("skeleton said yes, but not as which message".into()))
}
