//! Hooks: the owner's programs, which see each message before it is judged and hear of its end, and see each call of a
//! tool before it is run and what it answers.
//!
//! `message_sending` hooks run once for each message, one after the other in the order of their names; what the last one
//! leaves is what is stored, judged, shown and sent, and no retry runs them again. Elsewhere a hook that took too long was
//! skipped, and the message went out: here no answer, a late one, one that is too long or that is none at all fails the
//! message. A hook is given the message's id: after a crash before its answer was stored it is asked once more, under
//! the same id.
//!
//! Here is what a hook is and how it is asked. Who asks has the rest: [`admission`](crate::admission::hooks) before a message is judged,
//! [`delivery`](crate::delivery::sent_hooks) after its end, [`intake`](crate::intake::tool::hooks) around a tool,
//! [`receiving`](crate::receiving::gates) at the gates of the way in.
//!
//! - [`command`], [`call`]: the owner's hooks, as programs and as HTTP services;
//! - [`builtin`], [`guide`]: the hub's own;
//! - [`turns`]: who was written first is through first.

pub mod builtin;
pub mod call;
mod command;
pub(crate) mod guide;
pub(crate) mod turns;

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::{message::call::MAX_TEXT, outbox::row::MessageRow, program::Program};
use builtin::Builtin;
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
pub struct Hooks(pub(crate) Arc<Shared>);

/// The hooks of each kind, and what they share.
pub(crate) struct Shared {
    pub(crate) sending: Vec<Hook>,
    pub(crate) sent: Vec<Hook>,
    pub(crate) before_call: Vec<Hook>,
    pub(crate) result: Vec<Hook>,
    pub(crate) gates: GateHooks,
    pub(crate) at_once: Semaphore,
    pub(crate) turns: Turns,
    pub(crate) guides: Guides,
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
    /// At the gates of the way in.
    pub gates: GateHooks,
}

/// The hooks at the gates of the way in, in the order in which they run.
#[derive(Default)]
pub struct GateHooks {
    /// Who wrote.
    pub sender: Vec<Hook>,
    /// Whether they may write to an agent.
    pub access: Vec<Hook>,
    /// Whether that wakes it.
    pub scope: Vec<Hook>,
    /// Whether a person is asked where no agent is.
    pub request: Vec<Hook>,
}

impl GateHooks {
    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        [&self.sender, &self.access, &self.scope, &self.request].iter().all(|hooks| hooks.is_empty())
    }
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

/// The member that holds the id of a message.
pub(crate) const MESSAGE_ID: &str = "GATEPOST_MESSAGE_ID";

impl Hook {
    /// Hands the facts over; what it wrote.
    pub(crate) async fn tell(&self, id: (&'static str, &str), facts: &Value) -> Result<Vec<u8>, HookError> {
        let facts = facts.to_string().into_bytes();
        let answer = async {
            match &self.way {
                Transport::Builtin(_) => Ok(Vec::new()),
                Transport::Command(program) => command::run(program, &self.name, id, &facts).await,
                Transport::Call(call) => call.post(id.1, facts).await,
            }
        };
        tokio::time::timeout(self.timeout, answer).await.unwrap_or(Err(HookError::Late(self.timeout)))
    }
}

impl Hooks {
    /// These hooks.
    pub fn new(kinds: Kinds) -> Self {
        let Kinds { sending, sent, before_call, result, gates } = kinds;
        let (at_once, turns, guides) = (Semaphore::new(AT_ONCE), Turns::default(), Guides::default());
        Self(Arc::new(Shared { sending, sent, before_call, result, gates, at_once, turns, guides }))
    }

    /// Whose turn it is in each conversation.
    pub(crate) fn turns(&self) -> &Turns {
        &self.0.turns
    }

    /// The names of the hooks that run before a message is judged.
    pub(crate) fn before_sending(&self) -> impl Iterator<Item = &str> {
        self.0.sending.iter().map(|hook| hook.name.as_str())
    }
}

/// What every hook is told of a message.
pub(crate) fn about(message: &MessageRow, text: &str) -> Value {
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
