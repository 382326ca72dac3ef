//! `message_sending` hooks: asked about a message before it is judged.
//!
//! They run once for each message, one after the other; what the last one leaves is what is stored, judged, shown and sent. A hook
//! that does not answer fails the message: see [`crate::hooks`].

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    hooks::{Hook, HookError, MESSAGE_ID, Transport, about},
    message::{
        call::MAX_TEXT,
        refusal::{Code, Refusal},
    },
    outbox::row::MessageRow,
    pipeline::Pipeline,
};

/// What a `message_sending` hook says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "action", rename_all = "lowercase", deny_unknown_fields)]
pub enum Answer {
    /// Goes on as it is.
    Pass {},
    /// Goes on with another text.
    Rewrite {
        /// The text.
        message: String,
    },
    /// Is not sent.
    Cancel {
        /// Why, for the agent.
        reason: String,
    },
}

/// What a `message_sending` hook may answer.
const SENDING: &str =
    "{\"action\": \"pass\"}, \"rewrite\" with a \"message\", or \"cancel\" with a \"reason\"";

impl Answer {
    /// Reads what a hook wrote.
    fn read(bytes: &[u8]) -> Result<Self, HookError> {
        match serde_json::from_slice(bytes) {
            Ok(Self::Rewrite { message }) if message.len() > MAX_TEXT => Err(HookError::Long),
            Ok(answer) => Ok(answer),
            Err(_) => Err(HookError::Garbage(SENDING)),
        }
    }
}

impl Hook {
    /// Asks about a message with this `text` in it; `facts` says the same and more.
    async fn ask(&self, message: &MessageRow, text: &str, facts: &Value) -> Result<Answer, HookError> {
        let id = &message.id;
        match &self.way {
            Transport::Builtin(builtin) => {
                // All that is read: names, captions, buttons and the like leave the house as the text does.
                let operation = serde_json::to_string(&message.operation)
                    .expect("an operation is plain data with text for keys");
                let beside = message.attachments.iter();
                let beside = beside
                    .flat_map(|file| [Some(&file.name), file.caption.as_ref(), file.spoken.as_ref()])
                    .flatten();
                let all: Vec<&str> =
                    [text, &operation].into_iter().chain(beside.map(String::as_str)).collect();
                let found = all.into_iter().find_map(|text| builtin.objection(text));
                Ok(found.map_or(Answer::Pass {}, |what| Answer::Cancel {
                    reason: format!("there is {what} in it"),
                }))
            }
            Transport::Command(_) | Transport::Call(_) => {
                Answer::read(&self.tell((MESSAGE_ID, id), facts).await?)
            }
        }
    }
}

impl Pipeline {
    /// What the hooks make of a message's text: another text, or none if it stays.
    pub(super) async fn hooked(&self, message: &MessageRow) -> Result<Option<String>, Refusal> {
        let hooks = &self.0.hooks.0;
        let mut text = message.text.clone();
        for hook in &hooks.sending {
            let _one = hooks.at_once.acquire().await.expect("the semaphore is never closed");
            let facts = facts(message, &text);
            match hook.ask(message, &text, &facts).await {
                Ok(Answer::Pass {}) => {}
                Ok(Answer::Rewrite { message }) => text = message,
                Ok(Answer::Cancel { reason }) => {
                    let reason: String = reason.chars().take(300).collect();
                    let error = format!("the hook {} cancelled it: {reason}", hook.name);
                    return Err(Refusal::new(Code::Forbidden, error, "do not send it again unchanged"));
                }
                Err(error) => {
                    tracing::warn!(hook = hook.name, %error, "a hook failed, and its message with it");
                    let error = format!("the hook {} failed, and nothing was sent: {error}", hook.name);
                    return Err(Refusal::new(Code::ExecutionFailed, error, "tell the operator"));
                }
            }
        }
        Ok((text != message.text).then_some(text))
    }
}

fn facts(message: &MessageRow, text: &str) -> Value {
    let mut facts = about(message, text);
    facts["hook"] = "message_sending".into();
    facts["reply_to"] = json!(message.reply_to);
    facts["silent"] = message.silent.into();
    facts["origin"] = json!(message.origin.as_ref().map(|origin| origin.place.to_string()));
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_answer_counts() {
        let read = |text: &str| Answer::read(text.as_bytes());
        assert_eq!(read(" {\"action\": \"pass\"}\n").unwrap(), Answer::Pass {});
        let rewrite = Answer::Rewrite { message: "b".into() };
        assert_eq!(read("{\"action\": \"rewrite\", \"message\": \"b\"}").unwrap(), rewrite);
        for garbage in [
            "",
            "pass",
            "{}",
            "null",
            "{\"action\": \"send\"}",
            "{\"action\": \"rewrite\"}",
            "{\"action\": \"pass\", \"message\": \"b\"}",
            "{\"action\": \"pass\"} {\"action\": \"cancel\", \"reason\": \"x\"}",
            "{\"action\": \"cancel\"}",
            "{\"action\": \"cancel\", \"action\": \"pass\", \"reason\": \"x\"}",
            "{\"action\": \"pass\"",
        ] {
            assert!(matches!(read(garbage), Err(HookError::Garbage(_))), "{garbage}");
        }
        let long = format!("{{\"action\": \"rewrite\", \"message\": \"{}\"}}", "x".repeat(MAX_TEXT + 1));
        assert!(matches!(read(&long), Err(HookError::Long)));
    }
}
