//! The questions: whose the phone is, and which messages are kept. They change nothing.

use reqwest::Method;
use serde_json::{Value, json};

use crate::channels::{
    Failure, RateHints,
    kit::http::{Silence, TIMEOUT, within::Within},
    whatsapp::instance::Instance,
};

/// Messages that are asked for at a time, and the most bytes of such an answer. One that is kept with its preview may be large: where they
/// are too much together they are asked for one by one, with a bound of its own.
pub(super) const PAGE: usize = 10;
const MOST_OF_PAGE: usize = 256 * 1024;
const MOST_OF_ONE: usize = 1024 * 1024;

impl Instance {
    /// Whose phone it is, as the protocol names them (`fetchInstances`, `src/api/controllers/instance.controller.ts`).
    pub(super) async fn owner(&self) -> Option<Value> {
        let request = self.request_of_all("instance/fetchInstances");
        let mut answer = self.http().ask(request, &mut RateHints::default()).await.ok()?;
        let instances = answer.body.as_array_mut()?;
        instances.iter_mut().find(|one| one["name"] == self.name()).map(|one| one["ownerJid"].take())
    }

    /// A page of all messages that are kept, the newest first; null for one that cannot be read.
    pub(super) async fn kept(&self, page: usize) -> Result<Vec<Value>, Failure> {
        if let Some(records) = self.messages(page, PAGE, MOST_OF_PAGE).await? {
            return Ok(records);
        }
        let mut each = Vec::new();
        for one in (page - 1) * PAGE + 1..=page * PAGE {
            match self.messages(one, 1, MOST_OF_ONE).await? {
                Some(records) if records.is_empty() => break,
                Some(records) => each.extend(records),
                None => each.push(Value::Null),
            }
        }
        Ok(each)
    }

    /// `messageValidateSchema`; `fetchMessages` of `src/api/services/channel.service.ts`, where `offset` is how many. Nothing if the answer
    /// is there and what people wrote makes it unreadable: it is too long, or has a text that is none. It will be so each time, so it
    /// must not be a failure: that would end the reading for ever. What is no JSON is not from the API, and one that did not come may
    /// come: these are failures, and what they would have said is not lost.
    async fn messages(&self, page: usize, length: usize, most: usize) -> Result<Option<Vec<Value>>, Failure> {
        let (path, hints) = ("chat/findMessages", &mut RateHints::default());
        let query = json!({ "where": {}, "page": page, "offset": length });
        let request = self.request(Method::POST, path).json(&query);
        let response = match self.http().stream(request, TIMEOUT, hints).await.map_err(Silence::harmless)? {
            Ok(response) => response,
            Err(answer) => return Err(self.classify(path, &answer, hints).harmless()),
        };
        let mut answer = match self.http().within(response, most).await.map_err(Silence::harmless)? {
            Within::Json(answer) => answer,
            Within::Unreadable => return Ok(None),
            Within::Other => {
                return Err(Failure::Retry("what answers is no Evolution API; check evolution_url".into()));
            }
        };
        match answer.pointer_mut("/messages/records").map(Value::take) {
            Some(Value::Array(records)) => Ok(Some(records)),
            _ => Err(Failure::Retry("what answers has no messages; check evolution_url".into())),
        }
    }
}
