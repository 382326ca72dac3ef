//! Requests to a BlueBubbles server, and what a refusal means: what sends and what looks for chats share it.
//!
//! The password is in every address, which is why nothing of an address is ever told.

use std::time::Duration;

use reqwest::{RequestBuilder, StatusCode, Url};
use serde_json::Value;

use super::answer::verdict;
use crate::channels::{
    Failure, RateHints,
    kit::http::{Answer, Http, Silence, base::Base, token::Token, within::Within},
};

/// For a request that only reads.
pub(super) const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// What a question was answered for something in which people's words stand.
#[derive(Debug)]
pub(super) enum Told {
    /// It is there.
    Words(Value),
    /// What people wrote makes it unreadable.
    Unreadable,
    /// The server failed over it, which people's words may do as well: 500 for what its code throws (`middleware/errorMiddleware.ts` at
    /// 8621aa5).
    Failed(Failure),
}

/// A server's REST interface.
pub(super) struct Api {
    pub(super) http: Http,
    url: Base,
}

impl Api {
    /// That of the server at `url`.
    pub(super) fn new(http: reqwest::Client, url: Base, password: impl Into<Token>) -> Self {
        Self { http: Http::new(http, "BlueBubbles", password), url }
    }

    /// Asks for something that changes nothing.
    pub(super) async fn ask(
        &self,
        path: &[&str],
        query: &Value,
        hints: &mut RateHints,
    ) -> Result<Value, Failure> {
        self.post(path, |request| request.json(query), READ_TIMEOUT, hints).await
    }

    /// Asks for something in which people's words stand, of at most so many bytes.
    pub(super) async fn ask_for_words(
        &self,
        path: &[&str],
        query: &Value,
        most: usize,
    ) -> Result<Told, Failure> {
        let (request, hints) = (self.http.client.post(self.at(path)).json(query), &mut RateHints::default());
        let response =
            match self.http.stream(request, READ_TIMEOUT, hints).await.map_err(Silence::harmless)? {
                Ok(response) => response,
                Err(answer) => {
                    let failure = self.classify(&answer, hints).harmless();
                    return match answer.status {
                        StatusCode::INTERNAL_SERVER_ERROR => Ok(Told::Failed(failure)),
                        _ => Err(failure),
                    };
                }
            };
        match self.http.within(response, most).await.map_err(Silence::harmless)? {
            Within::Json(answer) => Ok(Told::Words(answer)),
            Within::Unreadable => Ok(Told::Unreadable),
            Within::Other => Err(Failure::Retry("what answers is no BlueBubbles; check url".into())),
        }
    }

    /// Posts to a path; the answer, if the server says yes.
    pub(super) async fn post(
        &self,
        path: &[&str],
        dress: impl FnOnce(RequestBuilder) -> RequestBuilder,
        longest: Duration,
        hints: &mut RateHints,
    ) -> Result<Value, Failure> {
        let request = dress(self.http.client.post(self.at(path)));
        let answer = self.http.ask_within(request, longest, hints).await?;
        if answer.status.is_success() { Ok(answer.body) } else { Err(self.classify(&answer, hints)) }
    }

    /// With the password in its query, as the server wants it.
    pub(super) fn at(&self, path: &[&str]) -> Url {
        let path: Vec<&str> = ["api", "v1"].iter().chain(path).copied().collect();
        let mut url = self.url.at(&path);
        url.query_pairs_mut().append_pair("password", self.http.token().expose());
        url
    }

    /// What an answer that says no means.
    pub(super) fn classify(&self, answer: &Answer, hints: &mut RateHints) -> Failure {
        self.http.settle(verdict(&self.http.reader(), answer), hints)
    }
}
