//! The questions: whose the phone is, and which messages are kept. They change nothing.

use reqwest::{Method, StatusCode};
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
/// How many messages behind a page over which the API fails are asked for, until one is handed over: an API that is ill fails over all.
const LOOK: usize = 100;

/// What a question for messages was answered.
enum Answer {
    Records(Vec<Value>),
    /// What people wrote makes it unreadable.
    Unreadable,
    /// The API failed over it, which people's words may do as well.
    Failed(Failure),
}

impl Instance {
    /// Whose phone it is, as the protocol names them (`fetchInstances`, `src/api/controllers/instance.controller.ts`).
    pub(super) async fn owner(&self) -> Option<Value> {
        let request = self.request_of_all("instance/fetchInstances");
        let mut answer = self.http().ask(request, &mut RateHints::default()).await.ok()?;
        let instances = answer.body.as_array_mut()?;
        instances.iter_mut().find(|one| one["name"] == self.name()).map(|one| one["ownerJid"].take())
    }

    /// A page of all messages that are kept, the newest first; null for one that cannot be read, or over which the API fails while it
    /// hands over others. Whether it does is noted.
    pub(super) async fn kept(&self, page: usize, hands_over: &mut bool) -> Result<Vec<Value>, Failure> {
        if let Answer::Records(records) = self.messages(page, PAGE, MOST_OF_PAGE).await? {
            *hands_over |= !records.is_empty();
            return Ok(records);
        }
        let (mut each, mut failed) = (Vec::new(), None);
        for one in (page - 1) * PAGE + 1..=page * PAGE {
            let mut answer = self.messages(one, 1, MOST_OF_ONE).await?;
            if matches!(answer, Answer::Failed(_)) {
                // Meanwhile it may be well.
                answer = self.messages(one, 1, MOST_OF_ONE).await?;
            }
            match answer {
                Answer::Records(records) if records.is_empty() => break,
                Answer::Records(records) => {
                    *hands_over = true;
                    each.extend(records);
                }
                Answer::Unreadable => {
                    *hands_over = true;
                    each.push(Value::Null);
                }
                Answer::Failed(failure) => {
                    failed = Some(failure);
                    each.push(Value::Null);
                }
            }
        }
        if let Some(failure) = failed {
            *hands_over = *hands_over || self.has_others(page).await?;
            if !*hands_over {
                return Err(failure);
            }
        }
        Ok(each)
    }

    /// Whether the API hands over one of the messages behind a page.
    async fn has_others(&self, page: usize) -> Result<bool, Failure> {
        for one in page * PAGE + 1..=page * PAGE + LOOK {
            match self.messages(one, 1, MOST_OF_ONE).await? {
                Answer::Records(records) => return Ok(!records.is_empty()),
                Answer::Unreadable => return Ok(true),
                Answer::Failed(_) => {}
            }
        }
        Ok(false)
    }

    /// `messageValidateSchema`; `fetchMessages` of `src/api/services/channel.service.ts`, where `offset` is how many.
    ///
    /// Unreadable is it if the answer is there and what people wrote makes it so: it is too long, or has a text that is none. And over
    /// what people wrote the API may fail (500 for what its code throws: `src/main.ts` at 05ee65f). It will be so each time, so neither
    /// may end the reading for ever. What is no JSON is not from the API, and an answer that did not come may come: these are failures,
    /// and what they would have said is not lost.
    async fn messages(&self, page: usize, length: usize, most: usize) -> Result<Answer, Failure> {
        let (path, hints) = ("chat/findMessages", &mut RateHints::default());
        let query = json!({ "where": {}, "page": page, "offset": length });
        let request = self.request(Method::POST, path).json(&query);
        let response = match self.http().stream(request, TIMEOUT, hints).await.map_err(Silence::harmless)? {
            Ok(response) => response,
            Err(answer) => {
                let failure = self.classify(path, &answer, hints).harmless();
                return match answer.status {
                    StatusCode::INTERNAL_SERVER_ERROR => Ok(Answer::Failed(failure)),
                    _ => Err(failure),
                };
            }
        };
        let mut answer = match self.http().within(response, most).await.map_err(Silence::harmless)? {
            Within::Json(answer) => answer,
            Within::Unreadable => return Ok(Answer::Unreadable),
            Within::Other => {
                return Err(Failure::Retry("what answers is no Evolution API; check evolution_url".into()));
            }
        };
        match answer.pointer_mut("/messages/records").map(Value::take) {
            Some(Value::Array(records)) => Ok(Answer::Records(records)),
            _ => Err(Failure::Retry("what answers has no messages; check evolution_url".into())),
        }
    }
}
