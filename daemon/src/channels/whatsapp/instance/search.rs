//! Looking for messages: for a text whose answer was lost, among the latest of its conversation, and for one by its id.
//!
//! Of the first, [`history`] says how certain that is. A message that is kept with its preview or picture may be large, and an answer is
//! read up to a bound: so few are asked for at a time, and one by one where those are too much still.
//!
//! [`history`]: crate::channels::kit::history

use reqwest::Method;
use serde_json::{Value, json};

use super::Instance;
use crate::channels::{
    Failure, Located, RateHints,
    kit::{history::since, http::Silence},
    whatsapp::{evolution::Request, target::jid},
};

/// Messages that are asked for at a time.
const PAGE: usize = 5;
/// Messages of a conversation that are read, the latest first.
const MESSAGES: usize = 50;

impl Instance {
    /// The id of the message that it became; none where it is not seen.
    pub(in crate::channels::whatsapp) async fn find(
        &self,
        request: &Request,
        left: i64,
        hints: &mut RateHints,
    ) -> Result<Option<String>, Failure> {
        let (to, text) = (request.body["number"].as_str(), request.body["text"].as_str());
        let to = self.chat(&jid(to.unwrap_or_default()), hints).await.map_err(Failure::harmless)?;
        let (text, since) = (text.unwrap_or_default(), since(left).as_second());
        let patience = self.history.patience(left);
        loop {
            match self.look(&to, text, since, hints).await {
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

    /// Whether a message is in a conversation (`fetchMessages` of `channel.service.ts`, which finds by the key's id).
    pub(in crate::channels::whatsapp) async fn locate(
        &self,
        address: &str,
        message: &str,
    ) -> Result<Located, Failure> {
        let hints = &mut RateHints::default();
        let to = self.chat(&jid(address), hints).await.map_err(Failure::harmless)?;
        let path = "chat/findMessages";
        let query = json!({ "where": { "key": { "id": message } }, "page": 1, "offset": PAGE });
        let request = self.request(Method::POST, path).json(&query);
        let answer = self.http.ask(request, hints).await.map_err(Silence::harmless)?;
        if !answer.status.is_success() {
            return Err(self.classify(path, &answer, hints).harmless());
        }
        let records = answer.body["messages"]["records"].as_array().map_or(&[][..], Vec::as_slice);
        // Whatever it makes of the question, another message is not this one.
        let mut found =
            records.iter().map(|record| &record["key"]).filter(|key| key["id"] == message).peekable();
        let here =
            |key: &Value| ["remoteJid", "remoteJidAlt"].iter().any(|member| key[member] == to.as_str());
        Ok(match found.peek().is_some() && found.all(here) {
            true => Located::Here { thread: None },
            false => Located::Elsewhere,
        })
    }

    /// A message of ours to `to` that says `text`, not older than `since`, in seconds since 1970.
    async fn look(
        &self,
        to: &str,
        text: &str,
        since: i64,
        hints: &mut RateHints,
    ) -> Result<Option<String>, Failure> {
        for page in 1..=MESSAGES / PAGE {
            let records = match self.page(to, page, PAGE, hints).await {
                Ok(records) => records,
                Err(Failure::Unknown(_)) => {
                    let mut each = Vec::new();
                    for one in (page - 1) * PAGE + 1..=page * PAGE {
                        each.extend(self.page(to, one, 1, hints).await?);
                    }
                    each
                }
                Err(failure) => return Err(failure),
            };
            if let Some(ours) = records.iter().find(|one| self.is_ours(one, to, text, since)) {
                return Ok(ours["key"]["id"].as_str().map(str::to_owned));
            }
            let is_old = |one: &Value| one["messageTimestamp"].as_i64().is_some_and(|at| at < since);
            if records.len() < PAGE || records.iter().any(is_old) {
                break;
            }
        }
        Ok(None)
    }

    /// A page of the conversation's messages, the latest first (`messageValidateSchema`; `fetchMessages`,
    /// `src/api/services/channel.service.ts`, where `offset` is how many).
    async fn page(
        &self,
        to: &str,
        page: usize,
        length: usize,
        hints: &mut RateHints,
    ) -> Result<Vec<Value>, Failure> {
        let path = "chat/findMessages";
        let query = json!({ "where": { "key": { "remoteJid": to, "fromMe": true } }, "page": page, "offset": length });
        let mut answer =
            self.http.ask(self.request(Method::POST, path).json(&query), hints).await.map_err(|silence| {
                match silence {
                    // There was an answer, or none: it may be that it was too long.
                    Silence::Lost(why) => Failure::Unknown(why),
                    not_sent @ Silence::NotSent(_) => not_sent.harmless(),
                }
            })?;
        if !answer.status.is_success() {
            return Err(self.classify(path, &answer, hints).harmless());
        }
        match answer.body.pointer_mut("/messages/records").map(Value::take) {
            Some(Value::Array(records)) => Ok(records),
            _ => Ok(Vec::new()),
        }
    }

    fn is_ours(&self, message: &Value, to: &str, text: &str, since: i64) -> bool {
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
    }
}
