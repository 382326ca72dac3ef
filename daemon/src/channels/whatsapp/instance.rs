//! The Evolution API: the requests that sending takes, and what their answers mean.
//!
//! It keeps no key of ours. A text whose answer was lost is looked for among the messages of its conversation ([`history`]
//! says how certain that is): what is seen there arrived. What is not seen may be on its way, or the instance keeps no
//! messages: that is unknown, and so is a file.
//!
//! [`history`]: crate::channels::history

use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    channels::{
        Failure, Located,
        history::{History, since},
        http::{Answer, Http, Silence, base::Base, inlined, token::Token},
        limits::Scope,
    },
    files::kept::Kept,
    message::attachment::referred,
};

use super::target::jid;

/// Messages of a conversation that are read, the latest first.
const MESSAGES: usize = 50;

/// Where a file stands in a body.
const FILES: [&str; 2] = ["/media", "/audio"];

/// An instance, which is one phone's session.
pub(super) struct Instance {
    http: Http,
    url: Base,
    name: String,
    history: History,
}

impl Instance {
    /// The instance of this name.
    pub(super) fn new(http: reqwest::Client, url: Base, name: String, key: impl Into<Token>) -> Self {
        Self { http: Http::new(http, "the Evolution API", key), url, name, history: History::default() }
    }

    /// One that gives the phone no time.
    #[cfg(test)]
    pub(super) fn hasty(http: reqwest::Client, url: Base, name: String, key: impl Into<Token>) -> Self {
        Self { history: History::hasty(), ..Self::new(http, url, name, key) }
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
            Some(id) => {
                self.history.remember(id);
                Ok(id.to_owned())
            }
            None => Err(Failure::Unknown("the Evolution API said yes, but not as which message".into())),
        }
    }

    /// Looks for a text whose answer was lost.
    pub(super) async fn find(&self, wire: &Value, left: i64) -> Result<Option<String>, Failure> {
        let (to, text) = (wire["body"]["number"].as_str(), wire["body"]["text"].as_str());
        let (to, text) = (jid(to.unwrap_or_default()), text.unwrap_or_default());
        let since = since(left).as_second();
        let patience = self.history.patience();
        loop {
            match self.look(&to, text, since).await {
                Ok(None) if patience.again().await => {}
                Ok(found) => {
                    found.iter().for_each(|id| self.history.remember(id));
                    return Ok(found);
                }
                // It cannot be asked.
                Err(Failure::Permanent(_)) => return Ok(None),
                Err(failure) => return Err(failure.harmless()),
            }
        }
    }

    /// A message of ours to `to` that says `text`, not older than `since`, in seconds since 1970
    /// (`messageValidateSchema`; what `fetchMessages` of `channel.service.ts` answers, the latest first).
    async fn look(&self, to: &str, text: &str, since: i64) -> Result<Option<String>, Failure> {
        let request = self.http.client.post(self.url.at(&["chat", "findMessages", &self.name]));
        let request = request.header("apikey", self.http.token().expose());
        let query =
            json!({ "where": { "key": { "remoteJid": to, "fromMe": true } }, "page": 1, "offset": MESSAGES });
        let answer = self.http.ask(request.json(&query)).await?;
        if !answer.status.is_success() {
            return Err(self.judge(&answer));
        }
        let ours = |message: &&Value| {
            let said = &message["message"];
            let said = said["conversation"].as_str().or(said["extendedTextMessage"]["text"].as_str());
            let recent = message["messageTimestamp"].as_i64().is_some_and(|at| at >= since);
            let id = message["key"]["id"].as_str().unwrap_or_default();
            // Whatever it makes of the question, another conversation's is not ours.
            let there = |member: &str| message["key"][member].as_str();
            let place = [there("remoteJid"), there("remoteJidAlt")];
            recent
                && message["key"]["fromMe"] == true
                && (place == [None, None] || place.contains(&Some(to)))
                && !id.is_empty()
                && self.history.may_be(id, said, text)
        };
        let records = answer.body["messages"]["records"].as_array();
        Ok(records.and_then(|records| records.iter().find(ours)?["key"]["id"].as_str().map(str::to_owned)))
    }

    /// Whether a message is in a conversation (`fetchMessages` of `channel.service.ts`, which finds by the key's id).
    pub(super) async fn locate(&self, address: &str, message: &str) -> Result<Located, Failure> {
        let request = self.http.client.post(self.url.at(&["chat", "findMessages", &self.name]));
        let request = request.header("apikey", self.http.token().expose());
        let query = json!({ "where": { "key": { "id": message } }, "page": 1, "offset": MESSAGES });
        let answer = self.http.ask(request.json(&query)).await.map_err(Silence::harmless)?;
        if !answer.status.is_success() {
            return Err(self.judge(&answer).harmless());
        }
        let records = answer.body["messages"]["records"].as_array().map_or(&[][..], Vec::as_slice);
        // Whatever it makes of the question, another message is not this one.
        let mut found =
            records.iter().map(|record| &record["key"]).filter(|key| key["id"] == message).peekable();
        let to = jid(address);
        let here =
            |key: &Value| ["remoteJid", "remoteJidAlt"].iter().any(|member| key[member] == to.as_str());
        Ok(match found.peek().is_some() && found.all(here) {
            true => Located::Here { thread: None },
            false => Located::Elsewhere,
        })
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
