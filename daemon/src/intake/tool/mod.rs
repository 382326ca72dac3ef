//! The tools that an agent holds in its hand, and what a call of one answers. Every door that speaks of tools uses these.
//!
//! | tool | does |
//! |---|---|
//! | `message` | everything that its caller's channels can do |
//! | `send_message` | a text to a target, as the agents of other houses know it |
//! | `receipt` | what has become of a message since |
//! | `cancel` | takes a message back that has not left |
//! | `inbox` | what the hub has to tell: every end that nobody waited for |
//!
//! A description and a schema are made for who asks: a model sees what it can do, and nothing else.

mod describe;
mod guide;

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

pub(super) use self::guide::{Guides, of as guide};
use super::desk::{self, Desk, Incoming, LISTED};
use crate::{
    agents::Caller,
    delivery::Pipeline,
    message::{
        parameters::LONGEST_WAIT,
        refusal::{Code, Refusal},
    },
};

/// How long a call waits for its message's end where it does not say.
pub const WAIT: Duration = Duration::from_secs(20);
/// The longest result of `send_message`, in characters: what agents are promised of it.
pub const MAX_SIMPLE: usize = 1024;
/// Notices of one look into the inbox, at most.
const MOST_NOTICES: u32 = 100;

/// A tool as a model is told of it.
#[derive(Debug, Clone, serde::Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Described {
    /// Its name.
    pub name: String,
    /// What it does, and for whom.
    pub description: String,
    /// The JSON Schema of its parameters.
    pub input_schema: Value,
}

/// The tools, for one caller.
pub(super) struct Tools<'a> {
    pub pipeline: &'a Pipeline,
    pub guides: &'a Guides,
    pub caller: &'a Caller,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Receipt {
    id: String,
    #[serde(default)]
    wait: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Inbox {
    #[serde(default)]
    after: i64,
}

impl Tools<'_> {
    /// All of them, for a turn of this context.
    pub(super) async fn list(&self, context: Option<&str>) -> Result<Vec<Described>, Refusal> {
        let agent = self.caller.agent();
        let origin = match context {
            Some(context) => Some(self.pipeline.origin(agent, context).await?),
            None => None,
        };
        Ok(describe::all(self.pipeline, agent, origin.as_ref()))
    }

    /// Calls one.
    pub(super) async fn call(&self, tool: &str, arguments: &Value) -> Result<Value, Refusal> {
        match tool {
            "message" => self.message(arguments).await,
            "send_message" => self.message(arguments).await.map(|answer| simple(&answer)),
            "receipt" => self.receipt(read(arguments, "{\"id\": …}")?).await,
            "cancel" => {
                let Named { id } = read(arguments, "{\"id\": …}")?;
                Ok(json!(self.desk().cancel(&id).await?))
            }
            "inbox" => self.inbox(read(arguments, "{\"after\": …}")?).await,
            _ => {
                let known = "tools are: message, send_message, receipt, cancel, inbox";
                Err(Refusal::new(Code::NotFound, "there is no such tool", known))
            }
        }
    }

    fn desk(&self) -> Desk<'_> {
        Desk { pipeline: self.pipeline, caller: self.caller }
    }

    async fn message(&self, call: &Value) -> Result<Value, Refusal> {
        let incoming = Incoming { caller: self.caller, call, key: None, wait: WAIT };
        let mut answer = json!(incoming.take(self.pipeline).await?);
        if let Some(guide) = self.guides.first_use(self.caller.agent(), call, &answer) {
            answer["guide"] = guide.into();
        }
        Ok(answer)
    }

    /// What stands at the address of a resource.
    pub(super) async fn read(&self, uri: &str) -> Result<Value, Refusal> {
        let path = uri.strip_prefix("gatepost://").unwrap_or_default();
        match path.split_once('/') {
            None if path == "queue" => self.queue().await,
            Some(("guide", channel)) => guide::of(channel),
            Some(("receipt", id)) => self.receipt(Receipt { id: id.to_owned(), wait: 0 }).await,
            _ => Err(Refusal::new(
                Code::NotFound,
                "there is no such resource",
                "resources are: gatepost://queue, gatepost://guide/{channel}, gatepost://receipt/{id}",
            )),
        }
    }

    async fn queue(&self) -> Result<Value, Refusal> {
        let messages = self.desk().list(None, LISTED).await?;
        Ok(json!({"ok": true, "messages": messages}))
    }

    async fn receipt(&self, asked: Receipt) -> Result<Value, Refusal> {
        let message = self.desk().own(&asked.id).await?;
        let wait = Duration::from_secs(asked.wait.min(LONGEST_WAIT));
        let receipt = self.pipeline.wait(message.seq, wait).await.map_err(desk::broken)?;
        Ok(json!(receipt))
    }

    async fn inbox(&self, asked: Inbox) -> Result<Value, Refusal> {
        let outbox = self.pipeline.outbox();
        let notices = outbox.notices(self.caller.agent(), asked.after, MOST_NOTICES).await;
        Ok(json!({"ok": true, "notices": notices.map_err(desk::broken)?}))
    }
}

fn read<T: for<'de> Deserialize<'de>>(arguments: &Value, written: &str) -> Result<T, Refusal> {
    T::deserialize(arguments).map_err(|error| {
        let error: String = error.to_string().chars().take(200).collect();
        Refusal::input(error, format!("write {written}")).because("wrong_shape")
    })
}

/// A receipt as `send_message` answers it: what matters of it, within its bound.
pub fn simple(answer: &Value) -> Value {
    let mut short = json!({"ok": answer["ok"]});
    for member in ["id", "state", "deduplicated", "code", "error", "hint", "guide"] {
        if let Some(value) = answer.get(member).filter(|value| !value.is_null()) {
            short[member] = value.clone();
            // What comes last is what can be done without.
            if short.to_string().chars().count() > MAX_SIMPLE {
                let left = short.as_object_mut().expect("it is an object");
                left.remove(member);
            }
        }
    }
    short
}

/// The refusal of a call, with the guide of the channel that it was for.
pub(super) fn mistaken(refusal: &Refusal, call: &Value) -> Value {
    let mut value = refused(refusal);
    if refusal.code == Code::InputInvalid
        && let Some(guide) = Guides::after_a_mistake(call)
    {
        value["guide"] = guide.into();
    }
    value
}

/// A refusal as a tool answers it.
pub(super) fn refused(refusal: &Refusal) -> Value {
    let mut value = json!(refusal);
    value["ok"] = false.into();
    value
}
