//! The Evolution API: the requests that sending takes, and what their answers mean.
//!
//! It keeps no key of ours, and two messages of the same text are two rows in its database, if it keeps one at all: nothing
//! can be asked that tells whether a message arrived. A lost answer is unknown.

use reqwest::Method;
use serde_json::Value;

use crate::{
    channels::{
        Failure,
        http::{Answer, Http, Silence, base::Base, inlined, token::Token},
        limits::Scope,
    },
    files::kept::Kept,
    message::attachment::referred,
};

/// Where a file stands in a body.
const FILES: [&str; 2] = ["/media", "/audio"];

/// An instance, which is one phone's session.
pub(super) struct Instance {
    http: Http,
    url: Base,
    name: String,
}

impl Instance {
    /// The instance of this name.
    pub(super) fn new(http: reqwest::Client, url: Base, name: String, key: impl Into<Token>) -> Self {
        Self { http: Http::new(http, "the Evolution API", key), url, name }
    }

    /// Performs a request; the id of the message that it made.
    pub(super) async fn send(&self, wire: &Value, kept: &Kept) -> Result<String, Failure> {
        let broken = || Failure::Permanent("the stored request cannot be sent".into());
        let mut path: Vec<&str> = wire["path"].as_str().ok_or_else(broken)?.split('/').collect();
        path.push(&self.name);
        let method = if wire["method"] == "DELETE" { Method::DELETE } else { Method::POST };
        let request = self.http.client.request(method, self.url.at(&path));
        let request = request.header("apikey", self.http.token().expose());
        let body = &wire["body"];
        let place = FILES.iter().find(|place| body.pointer(place).is_some());
        let (request, longest) = match place {
            None => (request.json(body), crate::channels::http::TIMEOUT),
            Some(place) => {
                let digest = inlined::reference(body, place).and_then(referred).ok_or_else(broken)?;
                let file = kept.open(&digest).await.map_err(|error| Failure::Permanent(error.to_string()))?;
                let longest = Http::longest(inlined::encoded(file.size));
                (inlined::body(request, body.clone(), place, file).ok_or_else(broken)?, longest)
            }
        };
        let answer = self.http.ask_within(request, longest).await?;
        if !answer.status.is_success() {
            return Err(self.judge(&answer));
        }
        // What was acted on, where there is such a thing.
        let acted_on = body["id"].as_str().or(body["key"]["id"].as_str());
        match acted_on.or(answer.body["key"]["id"].as_str()) {
            Some(id) => Ok(id.to_owned()),
            None => Err(Failure::Unknown("the Evolution API said yes, but not as which message".into())),
        }
    }

    /// What an answer that says no means for the message.
    ///
    /// It answers 400 to what its checks refuse and to whatever went wrong while it was sending
    /// (`whatsapp.baileys.service.ts`, `sendMessageWithTyping`), so the words decide.
    fn judge(&self, answer: &Answer) -> Failure {
        let message = &answer.body["response"]["message"];
        let words = match message {
            Value::String(text) => text.clone(),
            Value::Array(list) if list.iter().any(|one| one["exists"] == false) => {
                return Failure::Permanent("the number is not on WhatsApp".into());
            }
            Value::Array(list) => list
                .iter()
                .map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned))
                .collect::<Vec<_>>()
                .join("; "),
            _ => answer.body["message"].as_str().map_or_else(|| answer.status.to_string(), str::to_owned),
        };
        let said =
            format!("the Evolution API answered {}, {}", answer.status.as_u16(), self.http.words(&words));
        match answer.status.as_u16() {
            401 | 403 => self.http.refused(said),
            400 | 500 if words.contains("Connection Closed") => {
                Failure::Retry(format!("{said}; the phone is disconnected"))
            }
            500 => Failure::Unknown(said),
            400 if ["Prisma", "Timed Out", "ETIMEDOUT", "ECONNRESET"]
                .iter()
                .any(|word| words.contains(word)) =>
            {
                Failure::Unknown(said)
            }
            404 => Failure::Permanent(format!("{said}; check evolution_url and instance")),
            _ => self.http.judge(answer, &words, Scope::Account),
        }
    }

    /// The instance, or why it cannot send.
    ///
    /// <https://doc.evolution-api.com/v2/api-reference/instance-controller/connection-state>
    pub(super) async fn who_am_i(&self) -> Result<String, String> {
        let url = self.url.at(&["instance", "connectionState", &self.name]);
        let request = self.http.client.get(url).header("apikey", self.http.token().expose());
        let answer = match self.http.ask(request).await {
            Ok(answer) => answer,
            Err(Silence::NotSent(why) | Silence::Lost(why)) => return Err(why),
        };
        if !answer.status.is_success() {
            return Err(self.judge(&answer).to_string());
        }
        match answer.body["instance"]["state"].as_str() {
            Some("open") => Ok(format!("instance {}", self.name)),
            Some(state) => Err(format!(
                "phone disconnected: instance {} is {}; scan its code again",
                self.name,
                self.http.words(state)
            )),
            None => Err("what answers is no Evolution API; check evolution_url".into()),
        }
    }
}
