//! The Evolution API: the requests that sending takes.
//!
//! It keeps no key of ours. A text whose answer was lost is looked for among the messages of its conversation ([`search`]);
//! what is not seen may be on its way, or the instance keeps no messages: that is unknown, and so is a file. What it means
//! when it says no is in [`refusals`]. A person's conversation may have another number than the one that was written
//! ([`chats`]).
//!
//! Files go as the field `file` of a form (`upload.single('file')`, `src/api/routes/sendMessage.router.ts`): in JSON they
//! stand as base64, over which a check of its (`isBase64`, `src/api/controllers/sendMessage.controller.ts`, 2.3.6) overflows
//! its stack from about 3.2 MB on.

mod chats;
pub(in crate::channels) mod refusals;
mod search;

use reqwest::{
    Method, RequestBuilder, Url,
    multipart::{Form, Part},
};
use serde_json::{Value, json};

use self::chats::Chats;
use crate::{
    channels::{
        Failure, RateHints,
        kit::{
            history::History,
            http::{Answer, Http, Silence, TIMEOUT, base::Base, token::Token},
        },
    },
    files::kept::{Checked, Kept},
    message::attachment::referred,
};

use super::{evolution::Request, target::PERSON};

/// Where a file stands in a stored body.
const FILES: [&str; 2] = ["media", "audio"];
/// Where a request that is about a message names its conversation, and who wrote it.
const CHATS: [&str; 4] = ["/remoteJid", "/participant", "/key/remoteJid", "/key/participant"];

/// An instance, which is one phone's session.
pub(super) struct Instance {
    http: Http,
    url: Base,
    name: String,
    history: History,
    chats: Chats,
}

impl Instance {
    /// The instance of this name.
    pub(super) fn new(http: reqwest::Client, url: Base, name: String, key: impl Into<Token>) -> Self {
        let http = Http::new(http, "the Evolution API", key);
        Self { http, url, name, history: History::default(), chats: Chats::default() }
    }

    /// One that gives the phone no time.
    #[cfg(test)]
    pub(super) fn hasty(http: reqwest::Client, url: Base, name: String, key: impl Into<Token>) -> Self {
        Self { history: History::hasty(), ..Self::new(http, url, name, key) }
    }

    /// Performs a request; the id of the message that it made.
    pub(super) async fn send(
        &self,
        request: &Request,
        kept: &Kept,
        hints: &mut RateHints,
    ) -> Result<String, Failure> {
        let broken = || Failure::Permanent("the stored request cannot be sent".into());
        let Request { path, body, .. } = request;
        let method = if request.is_removal() { Method::DELETE } else { Method::POST };
        let builder = self.request(method, path);
        let mut body = body.clone();
        let place = FILES.iter().find(|place| body[**place].is_string());
        let (builder, longest) = match place {
            None => {
                for place in CHATS {
                    if let Some(jid) = body.pointer_mut(place)
                        && let Some(written) = jid.as_str()
                    {
                        *jid = json!(self.chat(written, hints).await?);
                    }
                }
                (builder.json(&body), TIMEOUT)
            }
            Some(place) => {
                let digest = body[place].as_str().and_then(referred).ok_or_else(broken)?;
                let file = kept.open(&digest).await.map_err(|error| Failure::Permanent(error.to_string()))?;
                let longest = Http::longest(file.size);
                (builder.multipart(form(&body, place, file).ok_or_else(broken)?), longest)
            }
        };
        let answer = self.http.ask_within(builder, longest, hints).await?;
        // What was acted on, where there is such a thing.
        let acted_on = body["id"].as_str().or(body["key"]["id"].as_str());
        let id = refusals::decode(&self.http.reader(), path, acted_on, &answer);
        let id = id.map_err(|verdict| self.http.settle(verdict, hints));
        if let (true, Some(number), Some(jid)) =
            (answer.status.is_success(), body["number"].as_str(), answer.body["key"]["remoteJid"].as_str())
        {
            self.chats.learn(number, jid);
        }
        id.inspect(|id| self.history.remember(id))
    }

    /// How the conversation that a request names is called there: as an answer said, or as it says when it is asked where the
    /// number may be spelled otherwise (`POST /chat/whatsappNumbers`, `whatsappNumber` in `whatsapp.baileys.service.ts`: what
    /// sending itself asks first).
    pub(super) async fn chat(&self, jid: &str, hints: &mut RateHints) -> Result<String, Failure> {
        let Some(number) = jid.strip_suffix(PERSON) else { return Ok(jid.to_owned()) };
        if let Some(known) = self.chats.of(number) {
            return Ok(known);
        }
        if !chats::may_be_spelled_otherwise(number) {
            return Ok(jid.to_owned());
        }
        let path = "chat/whatsappNumbers";
        let request = self.request(Method::POST, path).json(&json!({ "numbers": [number] }));
        let answer = self.http.ask(request, hints).await.map_err(Silence::harmless)?;
        if !answer.status.is_success() {
            return Err(self.classify(path, &answer, hints).harmless());
        }
        let found = &answer.body[0];
        match found["jid"].as_str().filter(|_| found["exists"] == true) {
            Some(jid) => {
                self.chats.learn(number, jid);
                Ok(jid.to_owned())
            }
            None => Err(Failure::Permanent(refusals::NOT_THERE.into())),
        }
    }

    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The way there.
    pub(super) fn http(&self) -> &Http {
        &self.http
    }

    /// The conversation with a number is called so, as a message of it says.
    pub(super) fn learn(&self, number: &str, jid: &str) {
        self.chats.learn(number, jid);
    }

    /// A request to a path of this instance.
    pub(super) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let segments: Vec<&str> = path.split('/').chain([self.name.as_str()]).collect();
        self.request_to(method, self.url.at(&segments))
    }

    /// A question for all instances, of which the answer is to have this one alone.
    pub(super) fn request_of_all(&self, path: &str) -> RequestBuilder {
        let mut url = self.url.at(&path.split('/').collect::<Vec<_>>());
        url.query_pairs_mut().append_pair("instanceName", &self.name);
        self.request_to(Method::GET, url)
    }

    fn request_to(&self, method: Method, url: Url) -> RequestBuilder {
        self.http.client.request(method, url).header("apikey", self.http.token().expose())
    }

    /// What an answer that says no means.
    pub(super) fn classify(&self, path: &str, answer: &Answer, hints: &mut RateHints) -> Failure {
        self.http.settle(refusals::verdict(&self.http.reader(), path, answer), hints)
    }

    /// The instance, or why it cannot send.
    ///
    /// <https://doc.evolution-api.com/v2/api-reference/instance-controller/connection-state>
    pub(super) async fn who_am_i(&self) -> Result<String, String> {
        let hints = &mut RateHints::default();
        let path = "instance/connectionState";
        let answer = match self.http.ask(self.request(Method::GET, path), hints).await {
            Ok(answer) => answer,
            Err(Silence::NotSent(why) | Silence::Lost(why)) => return Err(why),
        };
        if !answer.status.is_success() {
            return Err(self.classify(path, &answer, hints).to_string());
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

/// A stored body as a form, with the file itself behind the fields. What is answered, and each who is called, stands in
/// brackets, of which the server's parser (multer, append-field) makes an object and a list again.
fn form(body: &Value, place: &str, file: Checked) -> Option<Form> {
    let mut form = Form::new();
    for (name, value) in body.as_object()?.iter().filter(|(name, _)| *name != place) {
        form = match (name.as_str(), value) {
            ("quoted", quoted) => form.text("quoted[key][id]", quoted["key"]["id"].as_str()?.to_owned()),
            (_, Value::String(text)) => form.text(name.clone(), text.clone()),
            (name, Value::Array(items)) => items.iter().try_fold(form, |form, item| {
                Some(form.text(format!("{name}[]"), item.as_str()?.to_owned()))
            })?,
            _ => return None,
        };
    }
    let name = body["fileName"].as_str().unwrap_or("voice.ogg").to_owned();
    let kind = body["mimetype"].as_str().unwrap_or("audio/ogg");
    let size = file.size;
    Some(
        form.part(
            "file",
            Part::stream_with_length(Http::body(file), size).file_name(name).mime_str(kind).ok()?,
        ),
    )
}
