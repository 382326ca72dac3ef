//! BlueBubbles: a server on a Mac, over its REST interface.
//!
//! It refuses a `tempGuid` that it is working on just now, and forgets one as soon as it has answered
//! (`messageRouter.ts`, `sendCache`); one that came again later would be sent again. So a text whose answer was lost is looked
//! for in its conversation ([`history`] says how certain that is): what is seen there arrived. What is not seen may be on its
//! way, for Messages writes down late what it was slow with: that is unknown. A file has no text of its own here: its caption
//! is a part of its own before it (`caption_limit` of `formats.rs`), so that either may wait without the other coming twice.
//!
//! [`history`]: crate::channels::kit::history

use std::{
    io::{self, Read as _, Seek as _},
    time::Duration,
};

use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use super::{
    answer,
    api::{Api, READ_TIMEOUT},
    caf,
    chats::Chats,
    request::{ServerFile, ServerRequest, VOICE_IS_A_FILE},
    target,
};
use crate::{
    channels::{
        Attempt, Delivered, Failure, Located, PartKey, RateHints,
        kit::{
            history::{History, since},
            http::{Http, Silence, base::Base, token::Token},
        },
    },
    files::kept::{Checked, Kept},
    message::attachment::referred,
};

/// The server waits for Messages, which may take a minute or two (`HttpRoutes.defaultResponseTimeout` is five minutes).
const LONGEST: Duration = Duration::from_secs(200);

/// Messages of a conversation that are read, the latest first.
const MESSAGES: usize = 50;

/// A server.
pub(super) struct Server {
    pub(super) api: Api,
    history: History,
    pub(super) chats: Chats,
}

impl Server {
    /// The server at `url`.
    pub(super) fn new(http: reqwest::Client, url: Base, password: impl Into<Token>) -> Self {
        Self { api: Api::new(http, url, password), history: History::default(), chats: Chats::default() }
    }

    /// One that gives Messages no time.
    #[cfg(test)]
    pub(super) fn hasty(http: reqwest::Client, url: Base, password: impl Into<Token>) -> Self {
        Self { history: History::hasty(), ..Self::new(http, url, password) }
    }

    /// Performs a request; the message's GUID, and what is to be said of it.
    pub(super) async fn send(
        &self,
        request: &ServerRequest,
        key: &PartKey,
        kept: &Kept,
        hints: &mut RateHints,
    ) -> Result<Delivered, Failure> {
        let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
        let mut body = Value::Object(request.body.clone());
        let Some(to) = request.address() else {
            // An edit or a removal: the message says which chat.
            let of = request.of.clone().ok_or_else(broken)?;
            self.api.post(&path, |builder| builder.json(&body), LONGEST, hints).await?;
            return Ok(of.into());
        };
        // Nothing has left while that is asked.
        let chat = self.chats.of(&self.api, to, hints).await.map_err(Failure::harmless)?;
        let mut note = None;
        let sent = match (chat, &request.file) {
            (Some(chat), None) => {
                body["chatGuid"] = json!(chat);
                if request.of.is_none() {
                    body["tempGuid"] = json!(key.0);
                }
                self.api.post(&path, |builder| builder.json(&body), LONGEST, hints).await
            }
            (None, None) if request.of.is_none() => self.create(to, body, &key.0, hints).await,
            (None, None) => Err(no_chat(to)),
            (chat, Some(file)) => {
                self.send_file((request, file), (to, chat), key, kept, &mut note, hints).await
            }
        };
        let answer = sent.inspect_err(|_| self.chats.forget(to))?;
        let made = answer::sent(&answer).map_err(|verdict| self.api.http.settle(verdict, hints))?;
        let id = request.of.clone().unwrap_or(made);
        self.history.remember(&id);
        Ok(Delivered { note, ..Delivered::from(id) })
    }

    /// The first text to somebody, by which their chat comes to be (`ChatRouter.create`); the answer as of any other text.
    async fn create(
        &self,
        to: &str,
        text: Value,
        temporary: &str,
        hints: &mut RateHints,
    ) -> Result<Value, Failure> {
        let person = target::reached_by_imessage(to).filter(|_| !text["selectedMessageGuid"].is_string());
        let person = person.ok_or_else(|| no_chat(to))?;
        let mut body = json!({
            "addresses": [person], "service": "iMessage", "tempGuid": temporary,
            "message": text["message"], "method": text["method"],
        });
        if text["effectId"].is_string() {
            body["effectId"] = text["effectId"].clone();
        }
        let mut answer =
            self.api.post(&["chat", "new"], |request| request.json(&body), LONGEST, hints).await?;
        let message = answer["data"]["messages"][0].take();
        Ok(json!({ "data": message }))
    }

    async fn send_file(
        &self,
        (request, asked): (&ServerRequest, &ServerFile),
        (to, chat): (&str, Option<String>),
        key: &PartKey,
        kept: &Kept,
        note: &mut Option<String>,
        hints: &mut RateHints,
    ) -> Result<Value, Failure> {
        let file = referred(&asked.file).ok_or_else(broken)?;
        let file = kept.open(&file).await.map_err(|error| Failure::Permanent(error.to_string()))?;
        // Stored by an earlier hub, which sent both as one part: nobody knows which of them has gone.
        if request.caption.is_some() {
            return Err(Failure::Permanent(
                "an earlier Gatepost stored this file with its caption: send it again".into(),
            ));
        }
        let chat = chat.ok_or_else(|| {
            Failure::Permanent(format!(
                "{to} was never written to, and a first message needs words: give the file a caption or send a text before it"
            ))
        })?;
        let mut members = request.body.clone();
        members.remove("chatGuid");
        let mut kind = asked.kind.as_str();
        let (mut file, mut caf) = (file, None);
        if asked.as_caf {
            (file, caf) = as_caf(file).await?;
            match &caf {
                Some(_) => {
                    let name = request.text("name").unwrap_or("voice");
                    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
                    members.insert("name".into(), json!(format!("{stem}.caf")));
                    members.insert("isAudioMessage".into(), json!(true));
                    kind = caf::KIND;
                }
                None => *note = Some(VOICE_IS_A_FILE.into()),
            }
        }
        let longest = (LONGEST + Http::longest(file.size)).min(Duration::from_secs(380));
        let name = members.get("name").and_then(Value::as_str).unwrap_or("file").to_owned();
        let part = match caf {
            Some(bytes) => Part::bytes(bytes),
            None => {
                let size = file.size;
                Part::stream_with_length(Http::body(file), size)
            }
        };
        let part = part.file_name(name).mime_str(kind).map_err(|_| broken())?;
        let mut form = Form::new().text("tempGuid", key.0.clone()).text("chatGuid", chat);
        for (name, value) in members {
            form = form.text(name, value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        }
        let form = form.part("attachment", part);
        self.api.post(&["message", "attachment"], |builder| builder.multipart(form), longest, hints).await
    }

    /// The number of the latest row of a text's chat, as the server's database has it (`originalROWID`).
    pub(super) async fn position(
        &self,
        request: &ServerRequest,
        hints: &mut RateHints,
    ) -> Result<Option<String>, Failure> {
        let Some(to) = request.address().filter(|_| request.text("message").is_some()) else {
            return Ok(None);
        };
        let Some(chat) = self.chats.of(&self.api, to, hints).await? else { return Ok(Some("0".into())) };
        let query = json!({ "chatGuid": chat, "sort": "DESC", "limit": 5, "offset": 0 });
        let answer = self.api.ask(&["message", "query"], &query, hints).await?;
        let rows = answer["data"].as_array().map_or(&[][..], Vec::as_slice).iter();
        let rows: Vec<Option<i64>> = rows.map(|message| message["originalROWID"].as_i64()).collect();
        // A server that does not number them is asked by time alone.
        let latest =
            if rows.contains(&None) { None } else { Some(rows.into_iter().flatten().max().unwrap_or(0)) };
        Ok(latest.map(|row| row.to_string()))
    }

    /// Looks for a text whose answer was lost.
    pub(super) async fn find(
        &self,
        request: &ServerRequest,
        attempt: &Attempt<'_>,
        hints: &mut RateHints,
    ) -> Result<Option<String>, Failure> {
        let Some(to) = request.address() else { return Ok(None) };
        let patience = self.history.patience(attempt.left);
        loop {
            let found = match self.chats.of(&self.api, to, hints).await {
                Ok(Some(chat)) => self.look(&chat, request, attempt, hints).await,
                Ok(None) => Ok(None),
                Err(failure) => Err(failure),
            };
            match found {
                Ok(Some(id)) => {
                    self.history.remember(&id);
                    return Ok(Some(id));
                }
                // It cannot be asked.
                Err(Failure::Permanent(_)) => return Ok(None),
                Err(failure) => return Err(failure.harmless()),
                Ok(None) if patience.again().await => {}
                Ok(None) => return Ok(None),
            }
        }
    }

    /// The same, once. A page of texts that are too long to be read at once is asked for in smaller ones.
    async fn look(
        &self,
        chat: &str,
        request: &ServerRequest,
        attempt: &Attempt<'_>,
        hints: &mut RateHints,
    ) -> Result<Option<String>, Failure> {
        let text = request.text("message").unwrap_or_default();
        let after = attempt.position.and_then(|row| row.parse::<i64>().ok()).unwrap_or(-1);
        let ours = |message: &&Value| {
            let id = message["guid"].as_str().unwrap_or_default();
            let sent = message["isFromMe"] == true && message["error"].as_i64().unwrap_or(0) == 0;
            let later = message["originalROWID"].as_i64().is_none_or(|row| row > after);
            sent && later && !id.is_empty() && self.history.may_be(id, message["text"].as_str(), text)
        };
        let (mut offset, mut page) = (0, MESSAGES);
        while offset < MESSAGES {
            // `queryBodyRules`. What Messages keeps as attributed text is read only where it is asked for.
            let query = json!({
                "chatGuid": chat,
                "after": since(attempt.left).as_millisecond(),
                "sort": "DESC",
                "offset": offset,
                "limit": page,
                "with": ["attributedBody"],
            });
            let answer = match self.api.ask(&["message", "query"], &query, hints).await {
                Err(Failure::Unknown(_)) if page > 1 => {
                    page = (page / 5).max(1);
                    continue;
                }
                answer => answer?,
            };
            let list = answer["data"].as_array().map_or(&[][..], Vec::as_slice);
            if let Some(found) = list.iter().find(ours) {
                return Ok(found["guid"].as_str().map(str::to_owned));
            }
            if list.len() < page {
                break;
            }
            offset += page;
        }
        Ok(None)
    }

    /// Whether a message is in a chat (`MessageRouter.find`).
    pub(super) async fn locate(&self, address: &str, message: &str) -> Result<Located, Failure> {
        let hints = &mut RateHints::default();
        let mut url = self.api.at(&["message", message]);
        url.query_pairs_mut().append_pair("with", "chats");
        let asked = self.api.http.ask_within(self.api.http.client.get(url), READ_TIMEOUT, hints).await;
        let answer = asked.map_err(Silence::harmless)?;
        if answer.status.as_u16() == 404 {
            return Ok(Located::Elsewhere);
        }
        if !answer.status.is_success() {
            return Err(self.api.classify(&answer, hints).harmless());
        }
        let chats = answer.body["data"]["chats"].as_array().map_or(&[][..], Vec::as_slice);
        let here = |chat: &Value| chat["guid"].as_str().is_some_and(|guid| target::is_chat_of(guid, address));
        // A message is in one chat; if Messages has it in several, nobody knows which one the server takes.
        Ok(match !chats.is_empty() && chats.iter().all(here) {
            true => Located::Here { thread: None },
            false => Located::Elsewhere,
        })
    }

    /// The server, or why it cannot send.
    pub(super) async fn who_am_i(&self, private: bool) -> Result<String, String> {
        let hints = &mut RateHints::default();
        let answer = match self
            .api
            .http
            .ask(self.api.http.client.get(self.api.at(&["server", "info"])), hints)
            .await
        {
            Ok(answer) => answer,
            Err(Silence::NotSent(why) | Silence::Lost(why)) => return Err(why),
        };
        if !answer.status.is_success() {
            return Err(self.api.classify(&answer, hints).to_string());
        }
        let data = &answer.body["data"];
        let Some(version) = data["server_version"].as_str() else {
            return Err("what answers is no BlueBubbles; check url".into());
        };
        let version = self.api.http.words(version);
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

/// A recording, at its beginning again, and the same as Messages plays it, where it can be that.
async fn as_caf(file: Checked) -> Result<(Checked, Option<Vec<u8>>), Failure> {
    let read = tokio::task::spawn_blocking(move || {
        let Checked { mut file, size } = file;
        let mut bytes = Vec::new();
        (&mut file).take(caf::MOST).read_to_end(&mut bytes)?;
        file.rewind()?;
        Ok::<_, io::Error>((Checked { file, size }, caf::of_ogg(&bytes)))
    });
    let read = read.await.map_err(io::Error::other).and_then(|read| read);
    read.map_err(|error| Failure::Retry(format!("cannot read the voice note: {error}")))
}

fn broken() -> Failure {
    Failure::Permanent("the stored request cannot be sent".into())
}

fn no_chat(to: &str) -> Failure {
    Failure::Permanent(format!("BlueBubbles knows no conversation {to}: write to it once on the Mac"))
}
