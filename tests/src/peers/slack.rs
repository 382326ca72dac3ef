//! A Slack workspace: npm's `emulate`, with tokens that may do what their scopes say and nothing else.
//!
//! It keeps what it is told and gives it back through the Web API, as any client reads it
//! (<https://docs.slack.dev/apis/web-api>). It counts neither characters nor blocks: `flavours/slack-blocks.py` does.

use std::{fs, path::Path, time::Duration};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use super::{leash::Leash, ports};

const START: Duration = Duration::from_secs(60);

/// A running workspace.
#[derive(Debug)]
pub struct Slack {
    _leash: Leash,
    port: u16,
    http: ureq::Agent,
}

impl Slack {
    /// What our app asks for in a workspace.
    pub const SCOPES: &str = "chat:write, channels:history, groups:history, im:history, im:write, files:write, files:read, \
                              reactions:write, pins:write, users:write";
    /// The token of the bot, with the scopes that the workspace was started with.
    pub const BOT: &str = "xoxb-gatepost";
    /// The token of Anna, who reads.
    pub const ANNA: &str = "xoxb-anna";

    /// Starts a workspace whose bot has these scopes, separated by commas.
    ///
    /// # Errors
    /// It is not installed, or did not come up; the error shows the end of its log.
    pub fn start(scopes: &str) -> Result<Self> {
        ports::retrying(|| Self::start_once(scopes))
    }

    /// An account here, whose token is in a file of this folder.
    ///
    /// # Errors
    /// The file system's.
    pub fn account(&self, folder: &Path) -> Result<String> {
        let file = folder.join("token");
        fs::write(&file, Self::BOT)?;
        let (file, url) = (file.display(), self.base_url());
        Ok(format!("[channels.slack.home]\ntoken = \"file:{file}\"\nbase_url = \"{url}\"\n"))
    }

    fn start_once(scopes: &str) -> Result<Self> {
        let program = super::file("node_modules/emulate/dist/index.js");
        if !program.exists() {
            bail!("emulate is missing: run `tests/run --setup-only`");
        }
        let dir = Leash::folder("slack")?;
        let port = ports::free()?;
        let seed = dir.path().join("seed.yaml");
        super::fill_in("slack/seed.yaml", &seed, &[("SCOPES", scopes)])?;
        let server = [
            "node".as_ref(),
            program.as_os_str(),
            "start".as_ref(),
            "--service".as_ref(),
            "slack".as_ref(),
            "--port".as_ref(),
            port.to_string().as_ref(),
            "--seed".as_ref(),
            seed.as_ref(),
        ]
        .map(std::ffi::OsStr::to_owned);
        let mut leash = Leash::start("slack", dir, &server)?;
        let http = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(30)))
            .build()
            .new_agent();
        let slack = |leash| Self { _leash: leash, port, http: http.clone() };
        leash.wait_until(START, || {
            let url = format!("http://127.0.0.1:{port}/api/auth.test");
            http.post(url).header("Authorization", "Bearer xoxb-anna").send("").is_ok()
        })?;
        Ok(slack(leash))
    }

    /// The Web API's address, by the name under which it also names its store for files.
    pub fn base_url(&self) -> String {
        format!("http://localhost:{}/api", self.port)
    }

    /// One call of the Web API, as the owner of `token`.
    ///
    /// # Errors
    /// No answer, or one that says no.
    pub fn call(&self, method: &str, token: &str, arguments: &Value) -> Result<Value> {
        let mut answer = self
            .http
            .post(format!("{}/{method}", self.base_url()))
            .header("Authorization", format!("Bearer {token}"))
            .header("Content-Type", "application/json")
            .send(arguments.to_string())?;
        let answer_body: Value = serde_json::from_str(&answer.body_mut().read_to_string()?)?;
        ensure!(answer_body["ok"] == true, "{method}: {answer_body}");
        Ok(answer_body)
    }

    /// A channel's id.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn channel(&self, name: &str) -> Result<String> {
        let arguments = json!({ "types": "public_channel,private_channel" });
        id_of(&self.call("conversations.list", Self::ANNA, &arguments)?["channels"], name)
    }

    /// A person's id.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn user(&self, name: &str) -> Result<String> {
        id_of(&self.call("users.list", Self::ANNA, &json!({}))?["members"], name)
    }

    /// The messages of a conversation, as Anna sees them, oldest first; those in threads are not among them.
    ///
    /// # Errors
    /// Slack's refusal.
    pub fn messages(&self, channel: &str) -> Result<Vec<Value>> {
        let body =
            self.call("conversations.history", Self::ANNA, &json!({ "channel": channel, "limit": 1000 }))?;
        let mut messages = body["messages"].as_array().context("no messages")?.clone();
        messages.reverse();
        Ok(messages)
    }

    /// A message and the answers in its thread, as Anna sees them, oldest first.
    ///
    /// # Errors
    /// Slack's refusal.
    pub fn thread(&self, channel: &str, ts: &str) -> Result<Vec<Value>> {
        let body =
            self.call("conversations.replies", Self::ANNA, &json!({ "channel": channel, "ts": ts }))?;
        Ok(body["messages"].as_array().context("no messages")?.clone())
    }
}

fn id_of(list: &Value, name: &str) -> Result<String> {
    let found = list.as_array().into_iter().flatten().find(|entry| entry["name"] == name);
    let id = found.and_then(|entry| entry["id"].as_str()).with_context(|| format!("no {name} in {list}"))?;
    Ok(id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emulates_slack_keeps_what_it_is_told_and_minds_scopes() {
        let slack = Slack::start("chat:write").unwrap();
        let kitchen = slack.channel("kitchen").unwrap();
        let body = slack
            .call("chat.postMessage", Slack::BOT, &json!({ "channel": kitchen, "text": "Tea" }))
            .unwrap();
        let messages = slack.messages(&kitchen).unwrap();
        assert_eq!((messages.len(), &messages[0]["ts"]), (1, &body["ts"]));
        let refused = slack.call("reactions.add", Slack::BOT, &json!({ "channel": kitchen })).unwrap_err();
        assert!(refused.to_string().contains("missing_scope"), "{refused}");
    }
}
