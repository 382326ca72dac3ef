//! Hooks: the owner's programs, which see each message before it is judged and hear of its end, and see each call of a
//! tool before it is run and what it answers.
//!
//! `message_sending` hooks run once for each message, one after the other in the order of their names; what the last one
//! leaves is what is stored, judged, shown and sent, and no retry runs them again. Elsewhere a hook that took too long was
//! skipped, and the message went out: here no answer, a late one, one that is too long or that is none at all fails the
//! message. A hook is given the message's id: after a crash before its answer was stored it is asked once more, under
//! the same id.
//!
//! - [`command`], [`call`]: the owner's hooks, as programs and as HTTP services;
//! - [`builtin`], [`guide`]: the hub's own;
//! - [`turns`]: who was written first is through first;
//! - [`sent`]: what `message_sent` hooks are told;
//! - [`tools`]: what those around a tool are asked.

mod builtin;
pub mod call;
mod command;
mod guide;
pub(super) mod sent;
pub mod tools;
pub(super) mod turns;

use std::{sync::Arc, time::Duration};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::Pipeline;
use crate::{
    config::hooks::Builtin,
    message::{
        call::MAX_TEXT,
        refusal::{Code, Refusal},
    },
    outbox::row::MessageRow,
    program::Program,
};
use call::Call;
use guide::Guides;
use turns::Turns;

/// The longest answer, in bytes: the longest text, each byte of it escaped as `\u00XX`, and what is around it.
pub const MAX_ANSWER: usize = 6 * MAX_TEXT + 1024;
/// Hooks that run at once, over all messages; the others wait, and their time does not begin before their turn.
const AT_ONCE: usize = 8;

/// One hook.
pub struct Hook {
    /// Its name in the configuration.
    pub name: String,
    /// How it is asked.
    pub way: Transport,
    /// How long it may take.
    pub timeout: Duration,
    /// The tools that one around a tool is asked about; all, where none is named.
    pub tools: Vec<String>,
}

/// How a hook is asked.
pub enum Transport {
    /// The hub's own.
    Builtin(Builtin),
    /// A program.
    Command(Program),
    /// An HTTP service.
    Call(Call),
}

/// All hooks.
#[derive(Clone)]
pub struct Hooks(Arc<Shared>);

struct Shared {
    sending: Vec<Hook>,
    sent: Vec<Hook>,
    before_call: Vec<Hook>,
    result: Vec<Hook>,
    at_once: Semaphore,
    turns: Turns,
    guides: Guides,
}

/// The hooks of each kind, in the order in which they run.
#[derive(Default)]
pub struct Kinds {
    /// Before a message is judged.
    pub sending: Vec<Hook>,
    /// After its end.
    pub sent: Vec<Hook>,
    /// Before a tool is run.
    pub before_call: Vec<Hook>,
    /// With what it answered.
    pub result: Vec<Hook>,
}

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

/// Why there is no answer that counts.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// It took too long.
    #[error("it did not answer within {} s", .0.as_secs())]
    Late(Duration),
    /// The program could not be run.
    #[error("it cannot be run: {0}")]
    Run(#[from] std::io::Error),
    /// The service could not be reached, or broke off.
    #[error("it cannot be reached: {0}")]
    Reach(#[from] reqwest::Error),
    /// It says itself that it failed.
    #[error("it ended with {0}")]
    Failed(String),
    /// It says too much.
    #[error("it answered with more than {MAX_ANSWER} bytes")]
    Long,
    /// It says nothing that means anything.
    #[error("its answer is not {0}")]
    Garbage(&'static str),
}

/// What a `message_sending` hook may answer.
const SENDING: &str =
    "{\"action\": \"pass\"}, \"rewrite\" with a \"message\", or \"cancel\" with a \"reason\"";
/// What a program is told the id of a message by.
const ID: &str = "GATEPOST_MESSAGE_ID";

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
                    .expect("a deed is plain data with text for keys");
                let beside = message.attachments.iter();
                let beside = beside
                    .flat_map(|file| [Some(&file.name), file.caption.as_ref(), file.spoken.as_ref()])
                    .flatten();
                let all: Vec<&str> =
                    [text, &operation].into_iter().chain(beside.map(String::as_str)).collect();
                let mut answers = all.into_iter().map(|text| builtin.answer(text));
                Ok(answers.find(|answer| *answer != Answer::Pass {}).unwrap_or(Answer::Pass {}))
            }
            Transport::Command(_) | Transport::Call(_) => Answer::read(&self.tell((ID, id), facts).await?),
        }
    }

    /// Hands the facts over; what it wrote.
    async fn tell(&self, id: (&'static str, &str), facts: &Value) -> Result<Vec<u8>, HookError> {
        let facts = facts.to_string().into_bytes();
        let told = async {
            match &self.way {
                Transport::Builtin(_) => Ok(Vec::new()),
                Transport::Command(program) => command::run(program, &self.name, id, &facts).await,
                Transport::Call(call) => call.post(id.1, facts).await,
            }
        };
        tokio::time::timeout(self.timeout, told).await.unwrap_or(Err(HookError::Late(self.timeout)))
    }
}

impl Hooks {
    /// These hooks.
    pub fn new(kinds: Kinds) -> Self {
        let Kinds { sending, sent, before_call, result } = kinds;
        let (at_once, turns, guides) = (Semaphore::new(AT_ONCE), Turns::default(), Guides::default());
        Self(Arc::new(Shared { sending, sent, before_call, result, at_once, turns, guides }))
    }

    /// Whose turn it is in each conversation.
    pub(super) fn turns(&self) -> &Turns {
        &self.0.turns
    }

    /// The names of the hooks that run before a message is judged.
    pub(super) fn before_sending(&self) -> impl Iterator<Item = &str> {
        self.0.sending.iter().map(|hook| hook.name.as_str())
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

/// What every hook is told of a message.
fn about(message: &MessageRow, text: &str) -> Value {
    json!({
        "id": message.id,
        "agent": message.agent,
        "action": message.action,
        "to": message.target().to_string(),
        "channel": message.channel,
        "account": message.account,
        "address": message.address,
        "thread": message.thread,
        "message": text,
        "attachments": message.attachments,
        "deed": message.operation,
    })
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
