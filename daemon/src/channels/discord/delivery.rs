//! How each request leaves: what it asks first, what it becomes at Discord, and which id comes back.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Method, RequestBuilder};
use serde_json::{Map, Value, json};

use super::{
    answer::{UNKNOWN_MEMBER, UNKNOWN_MESSAGE, made},
    client::Client,
    forms, media,
    places::kind,
    request::{Request, StoredRequest},
    target::id,
    voice,
};
use crate::{
    channels::{
        Failure, PartKey, RateHints,
        kit::http::{Http, TIMEOUT},
    },
    files::kept::Kept,
};

/// <https://docs.discord.com/developers/resources/message#message-object-message-flags>.
const IS_VOICE_MESSAGE: u64 = 1 << 13;

/// "Can be an integer or string (up to 25 characters)" (<https://docs.discord.com/developers/resources/message#create-message>).
const NONCE: usize = 25;

/// "up to 28 days in the future" (<https://docs.discord.com/developers/resources/guild#modify-guild-member>).
const LONGEST_TIMEOUT: Duration = Duration::from_hours(28 * 24);

/// "between 1 and 512 URL-encoded UTF-8 characters" (<https://docs.discord.com/developers/reference#reason-header>).
const MAX_REASON: usize = 512;
/// All but RFC 3986's unreserved characters.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

impl Client {
    /// Performs a request; the id of what it made, or of what it was about.
    pub(super) async fn deliver(
        &self,
        request: StoredRequest,
        key: &PartKey,
        kept: &Kept,
        hints: &mut RateHints,
    ) -> Result<String, Failure> {
        match &request.request {
            Request::Message { body } => {
                // Whatever can be wrong with the files is found before anything is asked or sent.
                let files = media::open(&request.files, kept).await?;
                let channel = self.channel(&request, hints).await?;
                self.takes(&request, &files, hints).await?;
                let (mut body, mut files) = (with_nonce(body, key), files);
                forms::named(&mut body, request.forms.len(), key);
                if request.voice
                    && let [_] = files.as_slice()
                {
                    let (file, length) = media::length(files.remove(0)).await?;
                    files.push(file);
                    length.into_iter().for_each(|length| make_voice(&mut body, length));
                }
                self.post(&channel, &body, &request, files, hints).await
            }
            Request::Thread { name, message, first } => {
                self.thread(&request, name, message.as_deref(), first.as_ref(), key, hints).await
            }
            Request::React { message, emoji, remove } => {
                // An address has no place for these.
                if emoji.is_empty() || emoji.chars().all(|c| c == '.') {
                    return Err(Failure::Permanent("a reaction needs an emoji".into()));
                }
                let (message, channel) = (id("message", message)?, self.channel(&request, hints).await?);
                let method = if *remove { Method::DELETE } else { Method::PUT };
                let path = ["channels", &channel, "messages", &message, "reactions", emoji, "@me"];
                self.perform(self.request(method, &path), hints).await.map(|_| message.clone())
            }
            Request::Edit { message, body } => {
                let (message, channel) = (id("message", message)?, self.channel(&request, hints).await?);
                let path = ["channels", &channel, "messages", &message];
                self.perform(self.request(Method::PATCH, &path).json(body), hints)
                    .await
                    .map(|_| message.clone())
            }
            Request::Delete { message } => {
                let (message, channel) = (id("message", message)?, self.channel(&request, hints).await?);
                let path = ["channels", &channel, "messages", &message];
                self.remove(self.request(Method::DELETE, &path), UNKNOWN_MESSAGE, key, hints)
                    .await
                    .map(|()| message)
            }
            Request::Pin { message } => self.pin(&request, Method::PUT, message, hints).await,
            Request::Unpin { message } => self.pin(&request, Method::DELETE, message, hints).await,
            Request::Timeout { user, seconds } => {
                let (user, until) = (id("person", user)?, until(*seconds)?);
                let guild = self.guild(&request.to, hints).await?;
                let builder = self.because(&request, Method::PATCH, &["guilds", &guild, "members", &user]);
                let body = json!({"communication_disabled_until": until});
                self.perform(builder.json(&body), hints).await.map(|_| user.clone())
            }
            Request::Kick { user } => {
                let (user, guild) = (id("person", user)?, self.guild(&request.to, hints).await?);
                let builder = self.because(&request, Method::DELETE, &["guilds", &guild, "members", &user]);
                self.remove(builder, UNKNOWN_MEMBER, key, hints).await.map(|()| user)
            }
            Request::Ban { user } => {
                let (user, guild) = (id("person", user)?, self.guild(&request.to, hints).await?);
                let builder = self.because(&request, Method::PUT, &["guilds", &guild, "bans", &user]);
                self.perform(builder.json(&json!({})), hints).await.map(|_| user.clone())
            }
            // It goes over the account's other connection, where there is one.
            Request::Presence { .. } => Err(Failure::Permanent(
                "this account keeps no connection to Discord's Gateway any more: set its gateway to true"
                    .into(),
            )),
        }
    }

    async fn post(
        &self,
        channel: &str,
        body: &Map<String, Value>,
        request: &StoredRequest,
        files: Vec<crate::files::kept::Checked>,
        hints: &mut RateHints,
    ) -> Result<String, Failure> {
        let builder = self.request(Method::POST, &["channels", channel, "messages"]);
        let answer = if files.is_empty() {
            self.perform(builder.json(body), hints).await?
        } else {
            let longest = Http::longest(files.iter().map(|file| file.size).sum());
            let form = media::form(body, &request.files, files)?;
            self.perform_within(builder.multipart(form), longest, hints).await?
        };
        self.made(&answer, hints)
    }

    /// <https://docs.discord.com/developers/resources/channel#start-thread-from-message> and the two after it.
    async fn thread(
        &self,
        request: &StoredRequest,
        name: &str,
        message: Option<&str>,
        first: Option<&Map<String, Value>>,
        key: &PartKey,
        hints: &mut RateHints,
    ) -> Result<String, Failure> {
        let message = message.map(|message| id("message", message)).transpose()?;
        let channel = self.conversation(&request.to, hints).await?;
        let (path, body) = match message {
            Some(message) => {
                let path = ["channels", &channel, "messages", &message, "threads"].map(str::to_owned);
                (path.to_vec(), json!({"name": name}))
            }
            None => {
                let path = ["channels", &channel, "threads"].map(str::to_owned).to_vec();
                let of = |kind: u64| json!({"name": name, "type": kind});
                match (self.place(&channel, hints).await?.kind, first) {
                    (kind::FORUM | kind::MEDIA, Some(first)) => {
                        let builder = self.request(Method::POST, &["channels", &channel, "threads"]);
                        let body = json!({"name": name, "message": first});
                        return self.made(&self.perform(builder.json(&body), hints).await?, hints);
                    }
                    (kind::FORUM | kind::MEDIA, None) => {
                        let why = "a post in a forum needs a text: send the thread with a message";
                        return Err(Failure::Permanent(why.into()));
                    }
                    (kind::ANNOUNCEMENT, _) => (path, of(kind::ANNOUNCEMENT_THREAD)),
                    _ => (path, of(kind::PUBLIC_THREAD)),
                }
            }
        };
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let thread =
            self.made(&self.perform(self.request(Method::POST, &path).json(&body), hints).await?, hints)?;
        let Some(first) = first else { return Ok(thread) };
        match self.post(&thread, &with_nonce(first, key), request, vec![], hints).await {
            Ok(_) => Ok(thread),
            // What follows a thread cannot be done again without making another one.
            Err(Failure::Unknown(why)) => {
                Err(Failure::Unknown(format!("the thread {thread} is there; of its first message: {why}")))
            }
            Err(failure) => Err(Failure::Permanent(format!(
                "the thread {thread} is there, but its first message is not; send it with threadId {thread}: {failure}"
            ))),
        }
    }

    /// <https://docs.discord.com/developers/resources/message#pin-message>.
    async fn pin(
        &self,
        request: &StoredRequest,
        method: Method,
        message: &str,
        hints: &mut RateHints,
    ) -> Result<String, Failure> {
        let (message, channel) = (id("message", message)?, self.channel(request, hints).await?);
        let path = ["channels", &channel, "messages", "pins", &message];
        self.perform(self.because(request, method, &path), hints).await.map(|_| message.clone())
    }

    /// The same with a reason for the server's audit log.
    fn because(&self, request: &StoredRequest, method: Method, path: &[&str]) -> RequestBuilder {
        let builder = self.request(method, path);
        match &request.reason {
            Some(reason) => builder.header("X-Audit-Log-Reason", encoded(reason)),
            None => builder,
        }
    }

    /// Removes something; `unknown` is Discord's code where there is no such thing.
    async fn remove(
        &self,
        request: RequestBuilder,
        unknown: u64,
        key: &PartKey,
        hints: &mut RateHints,
    ) -> Result<(), Failure> {
        let (gone, ended) = match self.http.ask(request, hints).await {
            Ok(answer) if answer.status.is_success() => (false, Ok(())),
            Ok(answer) => (answer.body["code"] == unknown, Err(self.classify(&answer, hints))),
            Err(silence) => (false, Err(silence.into())),
        };
        self.removals.settle(key, gone, ended).map(drop)
    }

    async fn perform(&self, request: RequestBuilder, hints: &mut RateHints) -> Result<Value, Failure> {
        self.perform_within(request, TIMEOUT, hints).await
    }

    async fn perform_within(
        &self,
        request: RequestBuilder,
        longest: Duration,
        hints: &mut RateHints,
    ) -> Result<Value, Failure> {
        let answer = self.http.ask_within(request, longest, hints).await?;
        if answer.status.is_success() { Ok(answer.body) } else { Err(self.classify(&answer, hints)) }
    }

    fn made(&self, answer: &Value, hints: &mut RateHints) -> Result<String, Failure> {
        made(answer).map_err(|verdict| self.http.settle(verdict, hints))
    }
}

/// The part's key, as far as there is room for it. Its end is random, its beginning the time.
fn with_nonce(body: &Map<String, Value>, key: &PartKey) -> Map<String, Value> {
    let from = key.0.len().saturating_sub(NONCE);
    let mut body = body.clone();
    body.insert("nonce".into(), key.0.get(from..).unwrap_or_default().into());
    body.insert("enforce_nonce".into(), true.into());
    body
}

/// <https://docs.discord.com/developers/resources/message#voice-messages>.
fn make_voice(body: &mut Map<String, Value>, length: Duration) {
    let flags = body.get("flags").and_then(Value::as_u64).unwrap_or(0);
    body.insert("flags".into(), (flags | IS_VOICE_MESSAGE).into());
    if let Some(file) = body.get_mut("attachments").and_then(|files| files.get_mut(0)) {
        file["duration_secs"] = length.as_secs_f64().into();
        file["waveform"] = voice::waveform(length).into();
    }
}

/// When a time-out ends; nothing for one that ends now.
fn until(seconds: u64) -> Result<Option<String>, Failure> {
    if seconds > LONGEST_TIMEOUT.as_secs() {
        return Err(Failure::Permanent(format!(
            "Discord takes a time-out of {} days at most, {} s",
            LONGEST_TIMEOUT.as_secs() / 86_400,
            LONGEST_TIMEOUT.as_secs()
        )));
    }
    let lasts = SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(0));
    let until = Timestamp::now().checked_add(lasts).ok().filter(|_| seconds > 0);
    Ok(until.map(|until| until.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()))
}

/// Percent-encoded, as a header takes it, and no character cut.
fn encoded(reason: &str) -> String {
    let mut text = String::new();
    for c in reason.chars() {
        let before = text.len();
        text.extend(utf8_percent_encode(c.encode_utf8(&mut [0; 4]), RESERVED));
        if text.len() > MAX_REASON {
            text.truncate(before);
            break;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_keeps_what_is_unreserved_and_is_cut_between_characters() {
        assert_eq!(encoded("A-z_0.9~"), "A-z_0.9~");
        assert_eq!(encoded(" !*'()%/+ü€"), "%20%21%2A%27%28%29%25%2F%2B%C3%BC%E2%82%AC");
        // Six bytes each; what follows the one that has no room is left out as well.
        assert_eq!(encoded(&"ü".repeat(85)), "%C3%BC".repeat(85));
        assert_eq!(encoded(&format!("{}ab", "ü".repeat(86))), "%C3%BC".repeat(85));
        assert_eq!(encoded(&"a".repeat(600)).len(), MAX_REASON);
    }
}
