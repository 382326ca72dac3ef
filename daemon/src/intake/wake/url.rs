//! A service that is called for each turn: what `GET /v1/turns` answers is posted, signed as Standard Webhooks has it.
//!
//! The id that is signed is that of the turn and its attempt. A turn that is given out again has another lease, so it is another
//! event: a receiver that drops ids that it has seen must not drop it.
//! <https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>

use jiff::Timestamp;
use reqwest::{Client, StatusCode, Url};
use serde_json::{Value, json};

use super::{MAX_REPLY, Outcome};
use crate::{cause::innermost, channels::kit::http::signature::Secrets, turns::items::TurnView};

/// The longest answer, in bytes: the longest reply, each byte of it escaped as `\u00XX`, and what is around it.
const MAX_ANSWER: usize = 6 * MAX_REPLY + 4096;

/// A service.
pub struct Service {
    /// Follows no redirect, and goes through no proxy.
    pub client: Client,
    /// Where it is.
    pub url: Url,
    /// What requests are signed with.
    pub secrets: Secrets,
}

impl Service {
    pub(super) async fn bring(&self, turn: &TurnView) -> Outcome {
        let body = json!({"ok": true, "turn": turn}).to_string();
        let (id, time) = (format!("{}-{}", turn.turn, turn.attempt), Timestamp::now().as_second());
        let signature = match self.secrets.sign(&id, time, &body) {
            Ok(signature) => signature,
            Err(why) => return Outcome::Away(format!("secret: {why}")),
        };
        let request = self
            .client
            .post(self.url.clone())
            .header("content-type", "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", time)
            .header("webhook-signature", signature)
            .body(body);
        match request.send().await {
            Ok(answer) => self.read(answer).await,
            Err(error) => unreached(error),
        }
    }

    async fn read(&self, mut answer: reqwest::Response) -> Outcome {
        let status = answer.status();
        let mut body = Vec::new();
        loop {
            match answer.chunk().await {
                Ok(Some(chunk)) if body.len() + chunk.len() > MAX_ANSWER => {
                    return Outcome::Failed(format!("its answer has more than {MAX_ANSWER} bytes"));
                }
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => break,
                Err(error) if status.is_success() => {
                    return Outcome::Failed(format!(
                        "its answer broke off: {}",
                        innermost(&error.without_url())
                    ));
                }
                Err(_) => break,
            }
        }
        // A secret that was put in the place of this one signs the next request.
        if status == StatusCode::UNAUTHORIZED {
            self.secrets.current().renewed();
        }
        match meant(status, &body) {
            Outcome::Failed(why) => Outcome::Failed(self.secrets.masked(&why)),
            outcome => outcome,
        }
    }
}

/// What an answer means.
pub(super) fn meant(status: StatusCode, body: &[u8]) -> Outcome {
    match status {
        StatusCode::ACCEPTED => Outcome::TakenOver,
        status if status.is_success() && body.trim_ascii().is_empty() => Outcome::TakenOver,
        status if status.is_success() => reply(body),
        // It says that it has not begun (RFC 6585 §4; RFC 9110 §15.5.2, §15.5.5, §15.6.4).
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::UNAUTHORIZED
        | StatusCode::NOT_FOUND
        | StatusCode::SERVICE_UNAVAILABLE => Outcome::Away(format!("it answered {}", status.as_u16())),
        status if status.is_redirection() => Outcome::Away(format!(
            "it answered {}, and redirects are not followed: set url to where it points",
            status.as_u16()
        )),
        status => Outcome::Failed(format!("it answered {}", status.as_u16())),
    }
}

fn reply(body: &[u8]) -> Outcome {
    let says = r#"answer {"text": …}, {"response": …}, nothing, or 202"#;
    let Ok(Value::Object(mut answer)) = serde_json::from_slice(body) else {
        return Outcome::Failed(format!("its answer is no JSON object: {says}"));
    };
    // Whose turn it is, the hub knows.
    for proof in ["turn", "lease", "context"] {
        answer.remove(proof);
    }
    match answer.contains_key("text") || answer.contains_key("response") {
        true => Outcome::Reply(answer.into()),
        false => Outcome::Failed(format!("its answer has no reply: {says}")),
    }
}

/// Why there is no answer. The address may hold a secret, so errors come without it.
pub(super) fn unreached(error: reqwest::Error) -> Outcome {
    let error = error.without_url();
    let why = innermost(&error).to_string();
    match error.is_connect() || error.is_builder() {
        true => Outcome::Away(format!("it cannot be reached: {why}")),
        false => Outcome::Failed(format!("it did not answer: {why}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_reply_or_says_who_ends_the_turn() {
        let of = |status: u16, body: &str| meant(StatusCode::from_u16(status).unwrap(), body.as_bytes());
        let text = r#"{"text": "hi", "lease": "another's", "turn": "x", "context": "y"}"#;
        assert_eq!(of(200, text), Outcome::Reply(json!({"text": "hi"})));
        let response = r#"{"response": {"text": "hi"}}"#;
        assert_eq!(of(201, response), Outcome::Reply(json!({"response": {"text": "hi"}})));
        for (status, body) in [(202, text), (202, "ok"), (200, ""), (204, ""), (200, " \n")] {
            assert_eq!(of(status, body), Outcome::TakenOver, "{status} {body}");
        }
        for (status, body) in
            [(200, "ok"), (200, "{}"), (200, "[1]"), (200, "null"), (500, text), (504, ""), (400, "")]
        {
            assert!(matches!(of(status, body), Outcome::Failed(_)), "{status} {body}");
        }
        for status in [301, 307, 401, 404, 429, 503] {
            assert!(matches!(of(status, text), Outcome::Away(_)), "{status}");
        }
    }
}
