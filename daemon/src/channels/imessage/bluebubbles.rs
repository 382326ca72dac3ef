//! BlueBubbles: a server on a Mac, over its REST interface.
//!
//! It refuses a `tempGuid` that it is working on just now, and forgets one as soon as it has answered
//! (`messageRouter.ts`, `sendCache`); one that came again later would be sent again. So a text whose answer was lost is looked
//! for in its conversation ([`history`] says how certain that is): what is seen there arrived. What is not seen may be on its
//! way, for Messages writes down late what it was slow with: that is unknown. A file has no text of its own here: its caption
//! is sent before it, and what becomes of the file then is final, for the caption must not come twice.
//!
//! [`history`]: crate::channels::history
//!
//! The password is in every address, which is why nothing of an address is ever told.

use std::time::Duration;

use reqwest::{
    RequestBuilder, Url,
    multipart::{Form, Part},
};
use serde_json::{Value, json};

use super::target;
use crate::{
    channels::{
        Failure, Located, PartKey,
        history::{History, since},
        http::{Answer, Http, Silence, base::Base, token::Token},
        limits::Scope,
    },
    files::kept::Kept,
    message::attachment::referred,
};

/// The server waits for Messages, which may take a minute or two (`HttpRoutes.defaultResponseTimeout` is five minutes).
const LONGEST: Duration = Duration::from_secs(200);

/// For a request that only reads.
const LOOKING: Duration = Duration::from_secs(30);
/// Messages of a conversation that are read, the latest first.
const MESSAGES: usize = 50;

/// A server.
pub(super) struct Server {
    http: Http,
    url: Base,
    history: History,
}

impl Server {
    /// The server at `url`.
    pub(super) fn new(http: reqwest::Client, url: Base, password: impl Into<Token>) -> Self {
        Self { http: Http::new(http, "BlueBubbles", password), url, history: History::default() }
    }

    /// One that gives Messages no time.
    #[cfg(test)]
    pub(super) fn hasty(http: reqwest::Client, url: Base, password: impl Into<Token>) -> Self {
        Self { history: History::hasty(), ..Self::new(http, url, password) }
    }

    /// Performs a request; the message's GUID.
    pub(super) async fn send(&self, wire: &Value, key: &PartKey, kept: &Kept) -> Result<String, Failure> {
        let broken = || Failure::Permanent("the stored request cannot be sent".into());
        let path: Vec<&str> =
            wire["path"].as_array().ok_or_else(broken)?.iter().filter_map(Value::as_str).collect();
        let answer = if wire["file"].is_null() {
            let mut body = wire["body"].clone();
            if wire["of"].is_null() {
                body["tempGuid"] = json!(key.0);
            }
            self.post(&path, |request| request.json(&body), LONGEST).await
        } else {
            let file = wire["file"]["file"].as_str().and_then(referred).ok_or_else(broken)?;
            let file = kept.open(&file).await.map_err(|error| Failure::Permanent(error.to_string()))?;
            if wire["caption"].is_object() {
                let mut caption = wire["caption"].clone();
                caption["tempGuid"] = json!(format!("{}-caption", key.0));
                self.post(&["message", "text"], |request| request.json(&caption), LONGEST).await?;
            }
            let longest = (LONGEST + Http::longest(file.size)).min(Duration::from_secs(380));
            let (size, name) = (file.size, wire["body"]["name"].as_str().unwrap_or("file").to_owned());
            let part = Part::stream_with_length(Http::body(file), size).file_name(name);
            let part =
                part.mime_str(wire["file"]["kind"].as_str().unwrap_or_default()).map_err(|_| broken())?;
            let mut form = Form::new().text("tempGuid", key.0.clone());
            for (name, value) in wire["body"].as_object().ok_or_else(broken)? {
                form =
                    form.text(name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned));
            }
            let form = form.part("attachment", part);
            self.post(&path, |request| request.multipart(form), longest).await.map_err(|failure| {
                match (wire["caption"].is_object(), failure) {
                    (false, failure) => failure,
                    (true, Failure::Unknown(why)) => Failure::Unknown(why),
                    (true, failure) => {
                        Failure::Permanent(format!("the caption was sent, the file was not: {failure}"))
                    }
                }
            })
        }?;
        let id = wire["of"].as_str().or(answer["data"]["guid"].as_str());
        let id =
            id.ok_or_else(|| Failure::Unknown("BlueBubbles said yes, but not as which message".into()))?;
        self.history.remember(id);
        Ok(id.to_owned())
    }

    /// Looks for a text whose answer was lost.
    pub(super) async fn find(&self, wire: &Value, left: i64) -> Result<Option<String>, Failure> {
        let body = &wire["body"];
        let text = body["message"].as_str().unwrap_or_default();
        // `queryBodyRules`. What Messages keeps as attributed text is read only where it is asked for.
        let query = json!({
            "chatGuid": body["chatGuid"],
            "after": since(left).as_millisecond(),
            "sort": "DESC",
            "limit": MESSAGES,
            "with": ["attributedBody"],
        });
        let ours = |message: &&Value| {
            let id = message["guid"].as_str().unwrap_or_default();
            let sent = message["isFromMe"] == true && message["error"].as_i64().unwrap_or(0) == 0;
            sent && !id.is_empty() && self.history.may_be(id, message["text"].as_str(), text)
        };
        let patience = self.history.patience();
        loop {
            let asked = self.post(&["message", "query"], |request| request.json(&query), LOOKING).await;
            let found = match asked {
                Ok(answer) => answer["data"].as_array().and_then(|list| {
                    list.iter().find(ours).and_then(|message| message["guid"].as_str().map(str::to_owned))
                }),
                // It cannot be asked.
                Err(Failure::Permanent(_)) => return Ok(None),
                Err(failure) => return Err(failure.harmless()),
            };
            if let Some(id) = found {
                self.history.remember(&id);
                return Ok(Some(id));
            }
            if !patience.again().await {
                return Ok(None);
            }
        }
    }

    /// Whether a message is in a chat (`MessageRouter.find`).
    pub(super) async fn locate(&self, address: &str, message: &str) -> Result<Located, Failure> {
        let mut url = self.at(&["message", message]);
        url.query_pairs_mut().append_pair("with", "chats");
        let asked = self.http.ask_within(self.http.client.get(url), LOOKING).await;
        let answer = asked.map_err(Silence::harmless)?;
        if answer.status.as_u16() == 404 {
            return Ok(Located::Elsewhere);
        }
        if !answer.status.is_success() {
            return Err(self.judge(&answer).harmless());
        }
        let chats = answer.body["data"]["chats"].as_array().map_or(&[][..], Vec::as_slice);
        let here = |chat: &Value| chat["guid"].as_str().is_some_and(|guid| target::is_chat_of(guid, address));
        // A message is in one chat; if Messages has it in several, nobody knows which one the server takes.
        Ok(match !chats.is_empty() && chats.iter().all(here) {
            true => Located::Here { thread: None },
            false => Located::Elsewhere,
        })
    }

    async fn post(
        &self,
        path: &[&str],
        dress: impl FnOnce(RequestBuilder) -> RequestBuilder,
        longest: Duration,
    ) -> Result<Value, Failure> {
        let request = dress(self.http.client.post(self.at(path)));
        let answer = self.http.ask_within(request, longest).await?;
        if answer.status.is_success() { Ok(answer.body) } else { Err(self.judge(&answer)) }
    }

    /// With the password in its query, as the server wants it.
    fn at(&self, path: &[&str]) -> Url {
        let path: Vec<&str> = ["api", "v1"].iter().chain(path).copied().collect();
        let mut url = self.url.at(&path);
        url.query_pairs_mut().append_pair("password", self.http.token().expose());
        url
    }

    /// What an answer that says no means for the message (`responses/errors.ts`).
    fn judge(&self, answer: &Answer) -> Failure {
        let error = &answer.body["error"];
        let words = [&error["error"], &error["message"], &answer.body["message"]];
        let words = words.iter().find_map(|words| words.as_str()).unwrap_or_default();
        let words = if words.is_empty() { answer.status.to_string() } else { words.to_owned() };
        let said = format!("BlueBubbles answered {}, {}", answer.status.as_u16(), self.http.words(&words));
        match answer.status.as_u16() {
            401 | 403 => self.http.refused(said),
            // The request before this one is still at it.
            400 if words.contains("already queued") => Failure::Unknown(said),
            // Messages' own number of what went wrong: the message is there, marked as not delivered.
            500 => match answer.body["data"]["error"].as_i64() {
                Some(22) => Failure::Permanent(format!("{said}: error 22, the recipient is not on iMessage")),
                Some(number) if number != 0 => {
                    Failure::Permanent(format!("{said}: error {number} of Messages"))
                }
                _ if words.contains("Private API") => Failure::Permanent(format!(
                    "{said}; set the Private API up on the Mac, or private_api = false"
                )),
                _ => Failure::Unknown(said),
            },
            404 => Failure::Permanent(format!("{said}; check url")),
            _ => self.http.judge(answer, &words, Scope::Account),
        }
    }

    /// The server, or why it cannot send.
    pub(super) async fn who_am_i(&self, private: bool) -> Result<String, String> {
        let answer = match self.http.ask(self.http.client.get(self.at(&["server", "info"]))).await {
            Ok(answer) => answer,
            Err(Silence::NotSent(why) | Silence::Lost(why)) => return Err(why),
        };
        if !answer.status.is_success() {
            return Err(self.judge(&answer).to_string());
        }
        let data = &answer.body["data"];
        let Some(version) = data["server_version"].as_str() else {
            return Err("what answers is no BlueBubbles; check url".into());
        };
        let version = self.http.words(version);
        match (private, data["private_api"].as_bool(), data["helper_connected"].as_bool()) {
            (true, Some(false), _) => {
                Err("the Private API is switched off on the Mac; switch it on, or set private_api = false"
                    .into())
            }
            (true, _, Some(false)) => {
                Err("the Private API's helper is not connected; open Messages on the Mac".into())
            }
            _ => Ok(format!("BlueBubbles {version}")),
        }
    }
}
