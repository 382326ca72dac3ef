//! Platforms that nobody can run here, played by programs of ours (`tests/peers/mocks`).
//!
//! They are the exception among the peers: a mock agrees with our own mistakes where its rules do. So its rules are the
//! documentation's, each beside its page, and what can be somebody else's in it is: Telegram's parser, Discord's schemas.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::{leash::Leash, ports};

/// A Python and its libraries; a busy machine gets more.
const START: Duration = Duration::from_secs(60);

/// A running mock. Clones are the same one.
#[derive(Debug, Clone)]
pub struct Mock {
    _leash: Arc<Leash>,
    platform: &'static str,
    port: u16,
    token: &'static str,
    http: ureq::Agent,
}

impl Mock {
    /// Telegram's Bot API.
    ///
    /// # Errors
    /// What it stands on is not installed, or it did not come up; the error shows the end of its log.
    pub fn telegram() -> Result<Self> {
        ports::retrying(|| Self::start("telegram", "123456:a-token_of_the_test"))
    }

    /// Discord's REST interface.
    ///
    /// # Errors
    /// As those of [`telegram`](Self::telegram).
    pub fn discord() -> Result<Self> {
        ports::retrying(|| Self::start("discord", "MTIz.a-token.of_the_test"))
    }

    /// Slack's Socket Mode, and what hearing takes of its Web API.
    ///
    /// # Errors
    /// As those of [`telegram`](Self::telegram).
    pub fn slack() -> Result<Self> {
        ports::retrying(|| Self::start("slack", "xoxb-1-2-a-token_of_the_test"))
    }

    fn start(platform: &'static str, token: &'static str) -> Result<Self> {
        let (python, port) = (super::python()?, ports::free()?);
        let script = super::file("mocks").join(platform).with_extension("py");
        let port_text = port.to_string();
        let program = [python.as_os_str(), script.as_os_str(), port_text.as_ref(), token.as_ref()];
        let mut leash = Leash::start(platform, Leash::folder(platform)?, &program)?;
        let http = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None)
            .timeout_global(Some(Duration::from_secs(30)))
            .build()
            .new_agent();
        let url = format!("http://127.0.0.1:{port}/_mock/requests");
        leash.wait_until(START, || http.get(&url).call().is_ok_and(|answer| answer.status() == 200))?;
        Ok(Self { _leash: Arc::new(leash), platform, port, token, http })
    }

    /// `http://127.0.0.1:PORT`.
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// An account at it, as a configuration. `token` is kept in a file of this folder.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn account(&self, folder: &Path, token: &str) -> Result<String> {
        let (file, platform, base) = (folder.join("token"), self.platform, self.base_url());
        std::fs::write(&file, token)?;
        let below = match platform {
            "discord" => "/api/v10",
            "slack" => "/api",
            _ => "",
        };
        let file = file.display();
        Ok(format!("[channels.{platform}.home]\ntoken = \"file:{file}\"\nbase_url = \"{base}{below}\"\n"))
    }

    /// The account at a Slack that receives. Both tokens are kept in files of this folder.
    ///
    /// # Errors
    /// The files cannot be written.
    pub fn hearing_account(&self, folder: &Path) -> Result<String> {
        let app = folder.join("app-token");
        std::fs::write(&app, Self::SLACK_APP)?;
        let account = self.account(folder, self.token)?;
        Ok(format!("{account}receive = true\napp_token = \"file:{}\"\n", app.display()))
    }

    /// The app-level token that Slack's takes.
    pub const SLACK_APP: &str = "xapp-1-A0HUB0001-1-a-token_of_the_test";

    /// The one that it takes.
    pub fn token(&self) -> &'static str {
        self.token
    }

    /// Orders trouble: what becomes of the next requests whose path has `match` in it (`tests/peers/mocks/stage.py`).
    ///
    /// # Errors
    /// It does not answer.
    pub fn plan(&self, orders: Value) -> Result<()> {
        let plan = format!("{}/_mock/plan", self.base_url());
        let request = self.http.post(&plan).header("content-type", "application/json");
        let answer = request.send(orders.to_string().as_bytes())?;
        ensure!(answer.status() == 200, "the plan was refused: {}", answer.status());
        Ok(())
    }

    /// Lets the platform do something of its own accord; what comes of it.
    ///
    /// # Errors
    /// It does not answer, or knows no such thing.
    pub fn happen(&self, what: Value) -> Result<Value> {
        let happen = format!("{}/_mock/happen", self.base_url());
        let request = self.http.post(&happen).header("content-type", "application/json");
        let mut answer = request.send(what.to_string().as_bytes())?;
        ensure!(answer.status() == 200, "it did not happen: {}", answer.status());
        Ok(serde_json::from_str(&answer.body_mut().read_to_string()?)?)
    }

    /// What became of every request so far: `method`, `path`, `body`, `files`, `reason`, `played`, `status`, `answer`,
    /// `lost`.
    ///
    /// # Errors
    /// It does not answer.
    pub fn heard(&self) -> Result<Vec<Value>> {
        let mut answer = self.http.get(format!("{}/_mock/requests", self.base_url())).call()?;
        let requests: Value = serde_json::from_str(&answer.body_mut().read_to_string()?)?;
        match requests {
            Value::Array(requests) => Ok(requests),
            other => anyhow::bail!("{other} was heard"),
        }
    }

    /// The requests so far whose path ends so, but for those that an order answered.
    ///
    /// # Errors
    /// It does not answer, or refused one of them.
    pub fn done(&self, path: &str) -> Result<Vec<Value>> {
        let requests = self.heard()?.into_iter().filter(|request| {
            request["path"].as_str().is_some_and(|at| at.ends_with(path)) && request["played"] == true
        });
        requests
            .map(|request| {
                let status = request["status"].as_u64().context("a status")?;
                ensure!((200..300).contains(&status), "refused: {request:#}");
                Ok(request)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const CHAT: i64 = 777;

    /// What the mock answers to a request: status and body.
    fn ask(mock: &Mock, path: &str, authorization: &str, body: &Value) -> (u16, String) {
        let request = mock
            .http
            .post(format!("{}{path}", mock.base_url()))
            .header("content-type", "application/json")
            .header("authorization", authorization)
            .header("user-agent", "DiscordBot (gatepost, 0.1.0)");
        let mut answer = request.send(body.to_string().as_bytes()).unwrap();
        (answer.status().as_u16(), answer.body_mut().read_to_string().unwrap())
    }

    fn with(base: &Value, more: Value) -> Value {
        let mut whole = base.clone();
        whole.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        whole
    }

    #[test]
    fn the_bot_api_refuses_what_its_documentation_forbids() {
        let mock = Mock::telegram().unwrap();
        let ask =
            |method: &str, body: Value| ask(&mock, &format!("/bot{}/{method}", mock.token()), "", &body);
        let text = json!({"chat_id": CHAT, "text": "<b>a</b>", "parse_mode": "HTML"});
        assert_eq!(ask("sendMessage", text.clone()).0, 200);
        let keyboard = |button: Value| json!({"reply_markup": {"inline_keyboard": [[button]]}});
        let poll = json!({"chat_id": CHAT, "question": "Tea?", "options": [{"text": "a"}, {"text": "b"}]});
        let react =
            json!({"chat_id": CHAT, "message_id": 1, "reaction": [{"type": "emoji", "emoji": "❤\u{fe0f}"}]});
        let item = |kind: &str, n| json!({"type": kind, "media": format!("attach://file{n}")});
        let album = |media: Value| json!({"chat_id": CHAT, "media": media});
        for (method, body, words) in [
            ("sendMessage", with(&text, json!({"text": "<b>a"})), "can't parse entities"),
            ("sendMessage", with(&text, json!({"text": "ä".repeat(4097)})), "too long"),
            ("sendMessage", with(&text, json!({"text": " "})), "empty"),
            ("sendMessage", with(&text, json!({"chat_id": 5})), "chat not found"),
            ("sendMessage", with(&text, json!({"chat_id": "777"})), "chat not found"),
            ("sendMessage", with(&text, json!({"message_thread_id": "7"})), "Integer"),
            ("sendMessage", with(&text, json!({"disable_web_page_preview": true})), "no parameter"),
            (
                "sendMessage",
                with(&text, json!({"reply_parameters": {"message_id": 99}})),
                "replied not found",
            ),
            (
                "sendMessage",
                with(&text, keyboard(json!({"text": "a", "callback_data": "x".repeat(65)}))),
                "BUTTON_DATA",
            ),
            (
                "sendMessage",
                with(&text, keyboard(json!({"text": "a", "callback_data": "x", "url": "y"}))),
                "exactly one",
            ),
            ("sendPhoto", json!({"chat_id": CHAT, "photo": "name.png"}), "no photo"),
            ("sendPoll", with(&poll, json!({"options": [{"text": "a"}]})), "at least 2"),
            ("sendPoll", with(&poll, json!({"options": vec![json!({"text": "a"}); 13]})), "at most 12"),
            ("sendPoll", with(&poll, json!({"question": "x".repeat(301)})), "exceed 300"),
            ("setMessageReaction", react, "REACTION_INVALID"),
            ("editMessageText", with(&text, json!({"message_id": 1})), "not modified"),
            ("editMessageText", with(&text, json!({"message_id": 9})), "not found"),
            ("createForumTopic", json!({"chat_id": CHAT, "name": "June"}), "not a forum"),
            (
                "restrictChatMember",
                json!({"chat_id": CHAT, "user_id": 9, "permissions": {"can_write": true}}),
                "no can_write",
            ),
            ("sendMediaGroup", album(json!([item("photo", 0)])), "2-10"),
            ("sendMediaGroup", album(vec![item("photo", 0); 11].into()), "2-10"),
            ("sendMediaGroup", album(json!([item("photo", 0), item("voice", 1)])), "must be a photo"),
            ("sendMediaGroup", album(json!([item("photo", 0), item("document", 1)])), "can't be mixed"),
            ("sendMediaGroup", album(json!([item("audio", 0), item("document", 1)])), "can't be mixed"),
            ("sendMediaGroup", album(json!([item("photo", 0), item("video", 1)])), "not those"),
            (
                "sendMediaGroup",
                with(&album(json!([])), keyboard(json!({"text": "a", "url": "y"}))),
                "no parameter reply_markup",
            ),
            ("deleteMessages", json!({"chat_id": CHAT, "message_ids": []}), "not specified"),
            ("deleteMessages", json!({"chat_id": CHAT, "message_ids": vec![1; 101]}), "too many"),
            ("sendSticker", text.clone(), "method not found"),
        ] {
            let (status, text) = ask(method, body);
            assert!((400..500).contains(&status) && text.contains(words), "{words}: {status} {text}");
        }
    }

    #[test]
    fn discord_refuses_what_its_documentation_forbids() {
        let mock = Mock::discord().unwrap();
        let token = format!("Bot {}", mock.token());
        let post = |path: &str, body: &Value| ask(&mock, &format!("/api/v10/channels/{path}"), &token, body);
        let text = json!({"content": "a", "allowed_mentions": {"parse": []}});
        assert_eq!(post("200/messages", &text).0, 200);
        let row = |one: Value| json!({"components": [{"type": 1, "components": [one]}]});
        let button = json!({"type": 2, "style": 2, "label": "a", "custom_id": "a"});
        let rows = vec![json!({"type": 1, "components": [button]}); 6];
        let embeds = vec![json!({"description": "x".repeat(3001)}); 2];
        let answers = vec![json!({"poll_media": {"text": "a"}}); 11];
        for (path, more, words) in [
            ("200/messages", json!({"content": "a".repeat(2001)}), "2000"),
            ("200/messages", json!({"content": ""}), "50006"),
            ("200/messages", json!({"allowed_mentions": {}}), "calls somebody"),
            ("200/messages", json!({"text": "a"}), "unexpected"),
            ("200/messages", json!({"nonce": "x".repeat(26)}), "$.nonce"),
            ("200/messages", json!({"flags": 64}), "flags"),
            ("200/messages", json!({"flags": 8192}), "50160"),
            ("200/messages", json!({"message_reference": {"message_id": "a"}}), "message_reference"),
            ("200/messages", json!({"attachments": [{"id": "0", "filename": "a"}]}), "not the files"),
            ("200/messages", json!({"components": rows}), "5 or fewer"),
            ("200/messages", row(with(&button, json!({"custom_id": "x".repeat(101)}))), "components"),
            ("200/messages", row(with(&button, json!({"url": "https://a.test/"}))), "as its style says"),
            ("200/messages", json!({"embeds": embeds}), "6000"),
            ("200/messages", json!({"poll": {"question": {"text": "a"}, "answers": answers}}), "$.poll"),
            ("202/messages", json!({}), "50008"),
            ("999/messages", json!({}), "10003"),
            ("200/messages/5/threads", json!({}), "50035"),
        ] {
            let (status, answer) = post(path, &with(&text, more));
            assert!((400..500).contains(&status) && answer.contains(words), "{words}: {status} {answer}");
        }
        assert_eq!(ask(&mock, "/api/v10/channels/200/messages", "Bot another", &text).0, 401);
        // The same nonce is the same message, and only where that was asked for.
        let id = |more: Value| post("200/messages", &with(&text, more)).1;
        let once = json!({"nonce": "n", "enforce_nonce": true});
        assert_eq!(id(once.clone()), id(once));
        assert_ne!(id(json!({"nonce": "m"})), id(json!({"nonce": "m"})));
    }
}
