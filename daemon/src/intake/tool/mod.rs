//! The tools that an agent holds in its hand, and what a call of one answers. Every door that speaks of tools uses these.
//!
//! | tool | does |
//! |---|---|
//! | `message` | everything that its caller's channels can do |
//! | `send_message` | a text to a target, as the agents of other houses know it |
//! | `reply` | the text of a turn, for the runner of an agent |
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

pub(super) use self::guide::{Guide, of as guide};
use super::{
    desk::{self, Desk, Incoming, LISTED},
    reply::Reply,
};
use crate::{
    agents::Caller,
    channels::formats::{self, ToolResults},
    delivery::Pipeline,
    message::{
        TOOLS,
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
#[derive(Debug, Clone, serde::Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = Tool)]
#[serde(rename_all = "camelCase")]
pub struct Described {
    /// Its name.
    pub name: String,
    /// What it does, and for whom.
    pub description: String,
    /// The JSON Schema of its parameters.
    #[schema(value_type = Object)]
    pub input_schema: Value,
}

/// The tools, for one caller.
pub(super) struct Tools<'a> {
    pub pipeline: &'a Pipeline,
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
    /// All of them, for a turn of this context; and how the results of any tool are written in its conversation.
    pub(super) async fn list(
        &self,
        context: Option<&str>,
    ) -> Result<(Vec<Described>, Option<ToolResults>), Refusal> {
        let agent = self.caller.agent();
        let origin = match context {
            Some(context) => Some(self.pipeline.origin(agent, context).await?),
            None => None,
        };
        let format = origin.as_ref().map(|origin| formats::tool_result_format(&origin.place.channel));
        Ok((describe::all(self.pipeline, self.caller, origin.as_ref()), format))
    }

    /// Calls one, with the hooks around it.
    pub(super) async fn call(&self, tool: &str, arguments: &Value) -> Result<Value, Refusal> {
        let around = self.pipeline.around(self.caller.agent(), tool, true);
        let other = match &around {
            Some(around) => around.before(arguments).await?,
            None => None,
        };
        let arguments = other.as_ref().unwrap_or(arguments);
        let mut answer = self.run(tool, arguments).await?;
        if let Some(around) = &around {
            answer = around.after(arguments, answer).await;
        }
        Ok(if tool == "send_message" { simple(&answer) } else { answer })
    }

    async fn run(&self, tool: &str, arguments: &Value) -> Result<Value, Refusal> {
        match tool {
            "message" | "send_message" => {
                let incoming = Incoming { caller: self.caller, call: arguments, key: None, wait: WAIT };
                Ok(json!(incoming.take(self.pipeline).await?))
            }
            "reply" => {
                let reply = Reply { pipeline: self.pipeline, caller: self.caller };
                reply
                    .take(read(
                        arguments,
                        "{\"context\": …, \"text\": …}, or \"response\" in place of \"text\"",
                    )?)
                    .await
            }
            "receipt" => self.receipt(read(arguments, "{\"id\": …}")?).await,
            "cancel" => {
                let Named { id } = read(arguments, "{\"id\": …}")?;
                Ok(json!(self.desk().cancel(&id).await?))
            }
            "inbox" => self.inbox(read(arguments, "{\"after\": …}")?).await,
            _ => {
                let known = format!("tools are: {}", TOOLS.join(", "));
                Err(Refusal::new(Code::NotFound, "there is no such tool", known))
            }
        }
    }

    /// The refusal of a call as a model reads it: with the guide of the channel that it was for.
    pub(super) fn mistaken(&self, tool: &str, arguments: &Value, refusal: &Refusal) -> Value {
        let mut value = refused(refusal);
        if refusal.code == Code::InputInvalid
            && let Some(around) = self.pipeline.around(self.caller.agent(), tool, true)
            && let Some(guide) = around.guide_after_a_mistake(arguments)
        {
            value["guide"] = guide.into();
        }
        value
    }

    fn desk(&self) -> Desk<'_> {
        Desk { pipeline: self.pipeline, caller: self.caller }
    }

    /// What stands at the address of a resource.
    pub(super) async fn read(&self, uri: &str) -> Result<Value, Refusal> {
        let path = uri.strip_prefix("gatepost://").unwrap_or_default();
        match path.split_once('/') {
            None if path == "queue" => self.queue().await,
            None if path == "inbox" => {
                let newest = self.pipeline.outbox().newest_notices(self.caller.agent(), MOST_NOTICES).await;
                Ok(json!({"ok": true, "notices": newest.map_err(desk::broken)?}))
            }
            Some(("guide", channel)) => guide::of(channel).map(|guide| json!(guide)),
            Some(("receipt", id)) => self.receipt(Receipt { id: id.to_owned(), wait: 0 }).await,
            _ => Err(Refusal::new(
                Code::NotFound,
                "there is no such resource",
                "resources are: gatepost://queue, gatepost://inbox, gatepost://guide/{channel}, gatepost://receipt/{id}",
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
    for member in ["id", "state", "deduplicated", "code", "error", "hint", "notes", "guide"] {
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

/// A refusal as a tool answers it.
pub(super) fn refused(refusal: &Refusal) -> Value {
    let mut value = json!(refusal);
    value["ok"] = false.into();
    value
}
