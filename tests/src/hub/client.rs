//! A hub's HTTP interface, from outside.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use ureq::http::{HeaderName, HeaderValue, Method, Request};

use super::{PATIENCE, eventually};

/// Beyond [`PATIENCE`], for the answer itself.
const SLACK: Duration = Duration::from_secs(30);
/// A problem or a receipt is far smaller.
const MAX_ANSWER: u64 = 16 * 1024 * 1024;

/// Somebody who speaks to a hub.
#[derive(Debug, Clone)]
pub struct Client {
    http: ureq::Agent,
    base: String,
    token: Option<String>,
}

/// What the hub answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The media type.
    pub kind: String,
    /// All headers that are text.
    pub headers: Vec<(String, String)>,
    /// The body; text where it is no JSON.
    pub body: Value,
}

impl Client {
    /// Somebody with this token, or without one, at the hub at `base`, such as `http://127.0.0.1:8787`.
    pub fn new(base: &str, token: Option<&str>) -> Self {
        let http = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None)
            // Many threads share it: with three, its default, all others connect anew for every call.
            .max_idle_connections(64)
            .max_idle_connections_per_host(64)
            .timeout_global(Some(PATIENCE + SLACK))
            .build()
            .new_agent();
        Self { http, base: base.to_owned(), token: token.map(str::to_owned) }
    }

    /// Where the hub is, such as `http://127.0.0.1:8787`.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The token.
    pub fn token(&self) -> &str {
        self.token.as_deref().unwrap_or("")
    }

    pub(super) fn http(&self) -> &ureq::Agent {
        &self.http
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Any request at all.
    ///
    /// # Errors
    /// There was no answer. A refusal is one.
    pub fn raw(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Result<Answer> {
        let mut request = Request::builder()
            .method(Method::from_bytes(method.as_bytes())?)
            .uri(format!("{}{path}", self.base));
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = match body {
            [] => self.http.run(request.body(())?),
            body => self.http.run(request.header("content-type", "application/json").body(body)?),
        };
        let mut answer = answer.with_context(|| format!("{method} {path}"))?;
        let kind =
            answer.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or("").to_owned();
        let as_text = |(name, value): (&HeaderName, &HeaderValue)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        };
        let headers = answer.headers().iter().filter_map(as_text).collect();
        let text = answer.body_mut().with_config().limit(MAX_ANSWER).read_to_string()?;
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        no_error_where_all_is_well(&body)?;
        Ok(Answer { status: answer.status().as_u16(), kind, headers, body })
    }

    /// GET.
    ///
    /// # Errors
    /// There was no answer.
    pub fn get(&self, path: &str) -> Result<Answer> {
        self.raw("GET", path, &[], &[])
    }

    /// POST.
    ///
    /// # Errors
    /// There was no answer.
    pub fn post(&self, path: &str, body: &Value) -> Result<Answer> {
        self.raw("POST", path, &[], body.to_string().as_bytes())
    }

    /// Hands in a message; its receipt.
    ///
    /// # Errors
    /// The hub did not take it.
    pub fn send(&self, call: &Value) -> Result<Value> {
        self.post("/v1/messages", call)?.taken()
    }

    /// Hands in a message and waits for its end; its receipt.
    ///
    /// # Errors
    /// The hub did not take it.
    pub fn send_and_wait(&self, call: &Value) -> Result<Value> {
        self.post(&format!("/v1/messages?wait={}", PATIENCE.as_secs()), call)?.taken()
    }

    /// A message, as its agent or the operator sees it.
    ///
    /// # Errors
    /// The hub knows of no such message that this caller may see.
    pub fn message(&self, id: &str) -> Result<Value> {
        self.get(&format!("/v1/messages/{id}"))?.taken()
    }

    /// Waits for a message's end, as its agent or the operator sees it.
    ///
    /// # Errors
    /// It ended otherwise than in `state`, or not at all.
    pub fn ended(&self, id: &str, state: &str) -> Result<Value> {
        let message = self.get(&format!("/v1/messages/{id}?wait={}", PATIENCE.as_secs()))?.taken()?;
        ensure!(message["state"] == state, "{id} is not {state}: {message}");
        Ok(message)
    }

    /// Waits until a message is in `state`, which need not be its end.
    ///
    /// # Errors
    /// It did not come there.
    pub fn until(&self, id: &str, state: &str) -> Result<Value> {
        eventually(
            &format!("{id} is {state}"),
            || Ok(Some(self.message(id)?).filter(|m| m["state"] == state)),
        )
    }

    /// All messages that this caller may see, newest first.
    ///
    /// # Errors
    /// The hub refused.
    pub fn queue(&self) -> Result<Vec<Value>> {
        list(self.get("/v1/messages?limit=1000")?.taken()?, "messages")
    }

    /// What the hub told this agent about the message `id`: the receipt, once it is there.
    ///
    /// # Errors
    /// It was told nothing.
    pub fn told_of(&self, id: &str) -> Result<Value> {
        eventually(&format!("the agent is told of {id}"), || {
            let notices = list(self.get("/v1/inbox?limit=1000")?.taken()?, "notices")?;
            Ok(notices
                .into_iter()
                .map(|notice| notice["receipt"].clone())
                .find(|receipt| receipt["id"] == id))
        })
    }

    /// Runs a tool; what it answers.
    ///
    /// # Errors
    /// The hub refused.
    pub fn tool(&self, tool: &str, arguments: &Value) -> Result<Value> {
        self.post(&format!("/v1/tools/{tool}"), arguments)?.taken()
    }

    /// A figure of the hub's, by its name and labels; nothing if there is no such sample. For the operator.
    ///
    /// # Errors
    /// The hub refused.
    pub fn figure(&self, sample: &str) -> Result<Option<f64>> {
        let figures = self.get("/metrics")?.taken()?;
        let figures = figures.as_str().context("figures are text")?;
        let line = figures.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
        Ok(line.map(str::parse).transpose()?)
    }

    /// What arrived at `local:address`, oldest first. For the operator.
    ///
    /// # Errors
    /// The hub refused.
    pub fn arrived(&self, address: &str) -> Result<Vec<Value>> {
        list(self.get(&format!("/v1/local?address={address}"))?.taken()?, "arrived")
    }

    /// Reports what `peer` wrote to the agent on `local`; the context to answer with. For a bridge or the operator.
    ///
    /// # Errors
    /// The hub refused.
    pub fn heard(&self, agent: &str, peer: &str) -> Result<String> {
        let report =
            json!({"agent": agent, "channel": "local", "peer": peer, "sender": peer, "text": "And?"});
        let answer = self.post("/v1/inbound", &report)?.taken()?;
        Ok(answer["context"].as_str().context("an answer with a context")?.to_owned())
    }
}

impl Client {
    /// Reports a message that somebody wrote to `agent` on another channel, by the platform's id of it; the context to answer
    /// with. For a bridge or the operator.
    ///
    /// # Errors
    /// The hub refused.
    pub fn heard_there(&self, agent: &str, (channel, peer): (&str, &str), id: &str) -> Result<String> {
        let report = json!({
            "agent": agent, "channel": channel, "peer": peer, "sender": peer, "messageId": id, "text": "And?",
        });
        let answer = self.post("/v1/inbound", &report)?.taken()?;
        Ok(answer["context"].as_str().context("an answer with a context")?.to_owned())
    }
}

impl Answer {
    /// The body of a success.
    ///
    /// # Errors
    /// It was none.
    pub fn taken(self) -> Result<Value> {
        ensure!((200..300).contains(&self.status), "refused with {}: {}", self.status, self.body);
        Ok(self.body)
    }
}

/// The platform id of a part of a message that was sent.
///
/// # Errors
/// It was not sent, or has no such part.
pub fn id_of(sent: &Value, part: usize) -> Result<String> {
    ensure!(sent["state"] == "sent", "{sent}");
    Ok(sent["parts"][part]["platform_id"].as_str().context("an id")?.to_owned())
}

/// A member of an answer that is a text; empty where there is none.
pub fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or("")
}

fn list(mut answer: Value, member: &str) -> Result<Vec<Value>> {
    match answer[member].take() {
        Value::Array(values) => Ok(values),
        other => anyhow::bail!("{member} is {other}"),
    }
}

/// An `error` stands only where something is wrong: in an answer with `ok: false`, or in a listed message that ended badly. Asked of
/// every answer that a test gets.
///
/// # Errors
/// There is one elsewhere; they say where.
pub fn no_error_where_all_is_well(answer: &Value) -> Result<()> {
    fn look(value: &Value, well: bool, answer: &Value) -> Result<()> {
        match value {
            Value::Object(members) => {
                let message = members.contains_key("agent").then(|| members.get("state")).flatten();
                let well = match (members.get("ok").and_then(Value::as_bool), message.and_then(Value::as_str))
                {
                    (Some(ok), _) => ok,
                    (None, Some(state)) => ["accepted", "held", "ready", "sending", "sent"].contains(&state),
                    (None, None) => well,
                };
                let error = members.get("error").is_some_and(|error| !error.is_null());
                anyhow::ensure!(!(well && error), "an error where all is well: {value} in {answer}");
                members.values().try_for_each(|member| look(member, well, answer))
            }
            Value::Array(values) => values.iter().try_for_each(|value| look(value, well, answer)),
            _ => Ok(()),
        }
    }
    look(answer, false, answer)
}
