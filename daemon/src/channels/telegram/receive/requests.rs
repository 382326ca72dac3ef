//! What the receiver asks of Telegram, and why it did not get it.

use std::time::{Duration, SystemTime};

use reqwest::{Response, Url};
use serde_json::{Value, json};

use super::{read::Me, update::ALLOWED};
use crate::{
    cause::innermost,
    channels::{
        Failure, RateHints,
        kit::http::{Answer, Silence, TIMEOUT, quota},
        telegram::{
            answer::{Refused, result},
            client::Client,
        },
    },
};

/// The longest answer to `getUpdates` that is read, in bytes. A long text and the one that it answers have 50 kB where their
/// letters are escaped; where a hundred of them are more than this, fewer are asked for.
const MAX_ANSWER: usize = 2 * 1024 * 1024;

/// For what is worth no second try.
const BRIEF: Duration = Duration::from_secs(5);

/// How long an answer may take beyond the time that Telegram was asked to wait.
const SLACK: Duration = Duration::from_secs(20);

/// What is asked of `getUpdates`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub(super) offset: Option<i64>,
    pub(super) limit: usize,
    /// How long Telegram waits if there is nothing, in whole seconds.
    pub(super) wait: Duration,
}

/// Why nothing came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// No answer, or one that says that Telegram cannot now.
    Away(String),
    /// Telegram says when to come back.
    Wait(String, Duration),
    /// Somebody else receives for this bot.
    Taken(String),
    /// Not before somebody does something about it.
    Refused(String),
    /// The answer is too long, or no JSON; the number of its first update, where it begins as one.
    Unreadable(Option<i64>),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Wait { after, why } => Self::Wait(why, after),
            Failure::Permanent(why) => Self::Refused(why),
            Failure::Retry(why) | Failure::Unknown(why) | Failure::NotDelivered(why) => Self::Away(why),
        }
    }
}

impl Client {
    /// <https://core.telegram.org/bots/api#getupdates>
    pub(super) async fn updates(&self, asked: Asked) -> Result<Vec<Value>, Trouble> {
        let mut body =
            json!({"limit": asked.limit, "timeout": asked.wait.as_secs(), "allowed_updates": ALLOWED});
        if let Some(offset) = asked.offset {
            body["offset"] = offset.into();
        }
        // Telegram says something when its time is over: a connection on which it does not is dead.
        let request =
            self.http.client.post(self.address("getUpdates")).json(&body).timeout(asked.wait + SLACK);
        let response = request.send().await.map_err(|error| Trouble::Away(self.lost(error)))?;
        let status = response.status();
        let retry_after = quota::retry_after(response.headers(), status.as_u16() == 429, SystemTime::now());
        let (bytes, whole) = read(response).await.map_err(|error| Trouble::Away(self.lost(error)))?;
        let answer = match Answer::decode(status, retry_after, &bytes) {
            Ok(answer) if whole => answer,
            _ if status.is_success() => return Err(Trouble::Unreadable(first(&bytes))),
            Ok(answer) => answer,
            Err(_) => Answer { status, retry_after, body: Value::Null },
        };
        match result(answer) {
            Ok(Value::Array(updates)) => Ok(updates),
            Ok(_) => Err(Trouble::Away("Telegram's answer has no updates in it".into())),
            Err(refused) if refused.answer.status.as_u16() == 409 => {
                Err(Trouble::Taken(self.who_has_them(&refused).await))
            }
            Err(refused) => Err(self.classify(&refused, &mut RateHints::default()).into()),
        }
    }

    /// Who gets the updates instead (<https://core.telegram.org/bots/api#getwebhookinfo>). Of a webhook's address only the host is
    /// told: the rest is often its secret.
    async fn who_has_them(&self, refused: &Refused) -> String {
        let said = self.http.words(&refused.said);
        let request = self.http.client.get(self.address("getWebhookInfo"));
        let url = match self.ask(request, BRIEF, &mut RateHints::default()).await {
            Ok(Ok(info)) => info["url"].as_str().unwrap_or_default().to_owned(),
            Ok(Err(_)) | Err(_) => return format!("somebody else receives for this bot ({said})"),
        };
        if url.is_empty() {
            return format!(
                "another program receives for this bot; stop it, or give each its own bot ({said})"
            );
        }
        let host = Url::parse(&url).ok().and_then(|url| url.host_str().map(str::to_owned));
        let host = self.http.words(&host.unwrap_or_else(|| "an unknown host".into()));
        format!(
            "a webhook at {host} receives for this bot; if it shall not, take it away with deleteWebhook ({said})"
        )
    }

    /// <https://core.telegram.org/bots/api#getme>
    pub(super) async fn me(&self) -> Result<Me, Trouble> {
        let hints = &mut RateHints::default();
        let request = self.http.client.get(self.address("getMe"));
        let me = match self.ask(request, TIMEOUT, hints).await.map_err(Silence::harmless)? {
            Ok(me) => me,
            Err(refused) => return Err(self.classify(&refused, hints).into()),
        };
        let Some(id) = me["id"].as_i64() else {
            return Err(Trouble::Refused("Telegram does not say whose token this is; check base_url".into()));
        };
        let username = me["username"].as_str().unwrap_or_default().to_owned();
        Ok(Me { id, username, topics_in_chats: me["has_topics_enabled"] == true })
    }

    /// Ends the waiting of whoever pressed a button (<https://core.telegram.org/bots/api#answercallbackquery>).
    pub(super) async fn heard_press(&self, id: &str) {
        self.say("answerCallbackQuery", json!({ "callback_query_id": id })).await;
    }

    /// <https://core.telegram.org/bots/api#sendchataction>
    pub(in crate::channels::telegram) async fn typing(&self, address: &str, thread: Option<&str>) {
        let number = |text: &str| text.parse::<i64>().map_or_else(|_| Value::from(text), Value::from);
        let mut body = json!({"chat_id": number(address), "action": "typing"});
        if let Some(thread) = thread {
            body["message_thread_id"] = number(thread);
        }
        self.say("sendChatAction", body).await;
    }

    /// Says something that is worth no second try.
    async fn say(&self, method: &str, body: Value) {
        let request = self.http.client.post(self.address(method)).json(&body);
        match self.ask(request, BRIEF, &mut RateHints::default()).await {
            Ok(Ok(_)) => {}
            Ok(Err(refused)) => {
                tracing::debug!(method, said = self.http.words(&refused.said), "Telegram refuses")
            }
            Err(Silence::NotSent(why) | Silence::Lost(why)) => {
                tracing::debug!(method, why, "Telegram is not there")
            }
        }
    }

    /// Where a file is (<https://core.telegram.org/bots/api#getfile>), as the path behind the token.
    pub(super) async fn path_of(&self, file: &str) -> Result<String, Failure> {
        let hints = &mut RateHints::default();
        let request = self.http.client.post(self.address("getFile")).json(&json!({ "file_id": file }));
        match self.ask(request, TIMEOUT, hints).await.map_err(Silence::harmless)? {
            Ok(found) => found["file_path"]
                .as_str()
                .map(str::to_owned)
                .ok_or_else(|| Failure::Permanent("Telegram does not say where it is".into())),
            Err(refused) => Err(self.classify(&refused, hints).harmless()),
        }
    }

    /// A file's bytes, as they begin to come (<https://core.telegram.org/bots/api#file>).
    pub(super) async fn download(&self, path: &str, longest: Duration) -> Result<Response, Failure> {
        let segments: Vec<&str> = path.split('/').collect();
        if segments.iter().any(|segment| matches!(*segment, "" | "." | "..")) {
            // As a Bot API server in its --local mode names them.
            return Err(Failure::Permanent("the Bot API server keeps it on its own disk".into()));
        }
        let bot = format!("bot{}", self.http.token().expose());
        let address = self.base.at(&[&["file", bot.as_str()], segments.as_slice()].concat());
        let request = self.http.client.get(address).timeout(longest);
        let response = request.send().await.map_err(|error| Failure::Retry(self.lost(error)))?;
        match response.status().as_u16() {
            200 => Ok(response),
            status @ 500.. => Err(Failure::Retry(format!("Telegram answered {status}"))),
            status => Err(Failure::Permanent(format!("Telegram answered {status}"))),
        }
    }

    /// Without the address, which has the token in it.
    pub(super) fn lost(&self, error: reqwest::Error) -> String {
        let error = error.without_url();
        format!("no answer from Telegram: {}", self.http.words(&innermost(&error).to_string()))
    }
}

/// The body, and whether that is all of it.
async fn read(mut response: Response) -> Result<(Vec<u8>, bool), reqwest::Error> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        let room = MAX_ANSWER - body.len();
        if chunk.len() > room {
            body.extend_from_slice(&chunk[..room]);
            return Ok((body, false));
        }
        body.extend_from_slice(&chunk);
    }
    Ok((body, true))
}

/// The number of the first update in an answer that cannot be read: it stands at its beginning.
fn first(body: &[u8]) -> Option<i64> {
    let head = String::from_utf8_lossy(body.get(..200).unwrap_or(body)).into_owned();
    let (_, behind) = head.split_once("\"update_id\":")?;
    let digits: String = behind.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_cannot_be_read_still_begins_with_a_number() {
        assert_eq!(
            first(br#"{"ok":true,"result":[{"update_id":577,"message":{"text":"\ud83d"}}]}"#),
            Some(577)
        );
        assert_eq!(first(br#"{"ok":true,"result":[{"update_id": 577"#), Some(577));
        for other in [&b"<html>"[..], b"", b"{\"update_id\":", b"{\"update_id\":99999999999999999999}"] {
            assert_eq!(first(other), None);
        }
    }
}
