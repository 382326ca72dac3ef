//! Requests to Telegram, and whether they arrived.
//!
//! What an answer means [`answer`](super::answer) says. A refusal is certain, so what was planned for it may follow at
//! once; after a silence nothing follows. The token is a part of the address: of an address, nothing is ever repeated.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::RequestBuilder;
use serde_json::{Map, Value, json};

use super::{
    answer::{Refused, made, result},
    media,
    receive::polls::Polls,
    request::{BETWEEN, Instead, REMOVE, Request},
};
use crate::{
    channels::{
        Failure, PartKey, RateHints,
        identity::{Identity, Unidentified},
        kit::{
            http::{Http, Silence, TIMEOUT, base::Base, token::Token},
            removals::Removals,
        },
    },
    files::kept::Kept,
};

/// What is shorter or longer would hold for ever (<https://core.telegram.org/bots/api#restrictchatmember>), in seconds; a
/// request may be on its way for a while.
const SHORTEST: u64 = 30 + TIMEOUT.as_secs();
const LONGEST: u64 = 366 * 24 * 3600;

/// A bot.
pub(super) struct Client {
    pub(super) http: Http,
    pub(super) base: Base,
    removals: Removals,
    /// Where the polls stand that it sent.
    pub(super) polls: Polls,
}

impl Client {
    pub(super) fn new(http: reqwest::Client, base: Base, token: impl Into<Token>) -> Self {
        let http = Http::new(http, "Telegram", token);
        Self { http, base, removals: Removals::default(), polls: Polls::default() }
    }

    /// Performs a request and what follows it; the id of what it made, or of what it was about.
    pub(super) async fn deliver(
        &self,
        request: Request,
        key: &PartKey,
        kept: &Kept,
        hints: &mut RateHints,
    ) -> Result<String, Failure> {
        if request.method == REMOVE {
            return self.remove(request, key, hints).await;
        }
        let (method, then, about) = (request.method.clone(), request.then.clone(), about(&request.body));
        let result = self.perform(request, kept, hints).await?;
        let topic = method == "createForumTopic";
        let id = made(&result, topic, about).map_err(|verdict| self.http.settle(verdict, hints))?;
        self.polls.note(&result, key);
        let Some(mut then) = then else { return Ok(id) };
        if topic {
            then.body.insert("message_thread_id".into(), result["message_thread_id"].clone());
        }
        match self.perform(*then, kept, hints).await {
            Ok(_) => Ok(id),
            // What follows a topic cannot be done without making another one.
            Err(failure) if topic => Err(alone(&id, failure)),
            Err(Failure::Permanent(why)) => {
                Err(Failure::Permanent(format!("they were put out, and are still banned: {why}")))
            }
            Err(failure) => Err(failure),
        }
    }

    /// Removes a message.
    async fn remove(
        &self,
        request: Request,
        key: &PartKey,
        hints: &mut RateHints,
    ) -> Result<String, Failure> {
        let builder = self.http.client.post(self.address(&request.method)).json(&request.body);
        let (gone, ended) = match self.ask(builder, TIMEOUT, hints).await {
            Ok(Ok(_)) => (false, Ok(())),
            Ok(Err(refused)) => {
                (refused.said.contains("message to delete not found"), Err(self.classify(&refused, hints)))
            }
            Err(silence) => (false, Err(silence.into())),
        };
        self.removals.settle(key, gone, ended).map(|_| about(&request.body))
    }

    /// Performs one request, as it is or as it was planned for what Telegram says to it.
    async fn perform(
        &self,
        mut request: Request,
        kept: &Kept,
        hints: &mut RateHints,
    ) -> Result<Value, Failure> {
        if let Some(seconds) = request.seconds {
            request.body.insert("until_date".into(), until(seconds)?.into());
        }
        loop {
            let refused = match self.request(&request, kept, hints).await? {
                Ok(result) => return Ok(result),
                Err(refused) => refused,
            };
            let bad = refused.answer.status == 400;
            if bad && let Some(plain) = request.plain.take_if(|_| is_unreadable(&refused.said)) {
                tracing::warn!(
                    said = self.http.words(&refused.said),
                    "Telegram cannot read the markup; it goes without"
                );
                request.without_markup(plain);
            } else if bad
                && let Some(other) = request.instead.take_if(|other| calls_for(&refused.said, *other))
            {
                request.by(other);
            } else if bad
                && request.method.starts_with("editMessage")
                && refused.said.contains("message is not modified")
            {
                // It says already what it shall say.
                return Ok(Value::Bool(true));
            } else {
                return Err(self.classify(&refused, hints));
            }
        }
    }

    async fn request(
        &self,
        request: &Request,
        kept: &Kept,
        hints: &mut RateHints,
    ) -> Result<Result<Value, Refused>, Failure> {
        let builder = self.http.client.post(self.address(&request.method));
        let mut files = Vec::new();
        for file in request.file.iter().chain(&request.album) {
            files.push((file, file.open(kept).await?));
        }
        if files.is_empty() {
            return Ok(self.ask(builder.json(&request.body), TIMEOUT, hints).await?);
        }
        let longest = Http::longest(files.iter().map(|(_, bytes)| bytes.size).sum());
        let form = media::form(&request.body, files)?;
        Ok(self.ask(builder.multipart(form), longest, hints).await?)
    }

    pub(super) async fn ask(
        &self,
        request: RequestBuilder,
        longest: Duration,
        hints: &mut RateHints,
    ) -> Result<Result<Value, Refused>, Silence> {
        Ok(result(self.http.ask_within(request, longest, hints).await?))
    }

    /// Whose address a public name or a basic group's number is.
    ///
    /// `getChat` knows a chat by its public name. Of a group that was upgraded it still tells the old number; the new one comes as
    /// `migrate_to_chat_id` (<https://core.telegram.org/bots/api#responseparameters>) with the refusal of what is asked about
    /// its members, such as the bot itself, whose number its token begins with.
    pub(super) async fn identify(&self, address: &str) -> Result<Identity, Unidentified> {
        let hints = &mut RateHints::default();
        let (method, body) = match address.parse::<i64>() {
            Ok(group) => {
                let token = self.http.token();
                let bot = token.expose().split(':').next().and_then(|id| id.parse::<i64>().ok());
                ("getChatMember", json!({ "chat_id": group, "user_id": bot }))
            }
            Err(_) => ("getChat", json!({ "chat_id": address })),
        };
        let request = self.http.client.post(self.address(method)).json(&body);
        match self.ask(request, TIMEOUT, hints).await.map_err(Silence::harmless)? {
            Ok(member) if member["status"].is_string() => Ok(Identity::new(address)),
            Ok(chat) => match chat["id"].as_i64() {
                Some(id) => Ok(Identity::new(id.to_string())),
                None => Err(Unidentified::not_known("Telegram does not say which chat that is")),
            },
            Err(refused) => match refused.answer.body["parameters"]["migrate_to_chat_id"].as_i64() {
                Some(moved) => Ok(Identity::new(moved.to_string())),
                None => Err(self.classify(&refused, hints).harmless().into()),
            },
        }
    }

    /// Who the bot is, or why it cannot send.
    pub(super) async fn who_am_i(&self) -> Result<String, String> {
        let hints = &mut RateHints::default();
        match self.ask(self.http.client.get(self.address("getMe")), TIMEOUT, hints).await {
            Ok(Ok(me)) => match me["username"].as_str() {
                Some(name) => Ok(format!("@{}", self.http.words(name))),
                None => Err("Telegram does not say whose token this is; check base_url".into()),
            },
            Ok(Err(refused)) => Err(self.classify(&refused, hints).to_string()),
            Err(Silence::NotSent(why) | Silence::Lost(why)) => Err(why),
        }
    }

    pub(super) fn address(&self, method: &str) -> reqwest::Url {
        self.base.at(&[&format!("bot{}", self.http.token().expose()), method])
    }

    pub(super) fn classify(&self, refused: &Refused, hints: &mut RateHints) -> Failure {
        self.http.settle(refused.verdict(&self.http.reader()), hints)
    }
}

/// What a request is about that makes nothing new.
fn about(body: &Map<String, Value>) -> String {
    let word = |id: &Value| id.as_str().map_or_else(|| id.to_string(), str::to_owned);
    if let Some(Value::Array(several)) = body.get("message_ids") {
        return several.iter().map(word).collect::<Vec<_>>().join(&BETWEEN.to_string());
    }
    let id = body.get("message_id").or_else(|| body.get("user_id"));
    id.map(word).unwrap_or_default()
}

/// A topic is there, and its first message is not.
fn alone(topic: &str, failure: Failure) -> Failure {
    match failure {
        Failure::Unknown(why) => {
            Failure::Unknown(format!("the topic {topic} is there; of its first message: {why}"))
        }
        failure => Failure::Permanent(format!(
            "the topic {topic} is there, but its first message is not; send it with threadId {topic}: {failure}"
        )),
    }
}

/// Telegram's words where it cannot read the markup: `Bad Request: can't parse entities: …`.
fn is_unreadable(said: &str) -> bool {
    said.contains("can't parse entities")
}

/// Telegram's words for what the other method is for.
fn calls_for(said: &str, other: Instead) -> bool {
    match other {
        Instead::Document => [
            "PHOTO_INVALID_DIMENSIONS",
            "PHOTO_SAVE_FILE_INVALID",
            "PHOTO_EXT_INVALID",
            "IMAGE_PROCESS_FAILED",
        ]
        .iter()
        .any(|word| said.contains(word)),
        Instead::Caption => said.contains("there is no text in the message to edit"),
    }
}

/// When it ends, in Unix time.
fn until(seconds: u64) -> Result<u64, Failure> {
    if !(SHORTEST..LONGEST).contains(&seconds) {
        return Err(Failure::Permanent(format!(
            "Telegram would make {seconds} s a restriction without end: say {SHORTEST} s at least, and less than 366 days"
        )));
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(now.as_secs() + seconds)
}
