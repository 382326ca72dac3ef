//! The tools that an agent holds in its hand, and what a call of one answers. Every interface that speaks of tools uses these.
//!
//! | tool | does |
//! |---|---|
//! | `message` | everything that its caller's channels can do |
//! | `send_message` | a text to a target, as the agents of other houses know it |
//! | `reply` | the text of a turn, for the runner of an agent |
//! | `next_turn` | what its agent is woken for, for a runner that asks |
//! | `receipt` | what has become of a message since |
//! | `cancel` | takes a message back that has not left |
//! | `inbox` | what the hub has to tell: every end other than `sent`, and what a person let go |
//! | `guide` | how to write for a channel, before the first message there |
//!
//! Beside them stand `ask_person` and what agents do with their tasks: see [`actions`].
//!
//! A description and a schema are made for who asks: a model sees what it can do, and nothing else.

mod actions;
mod describe;
mod following;
mod guide;
pub(crate) mod hooks;
mod questions;
mod simple;
mod tasks;

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

pub use self::following::{Telling, UnderWay};
pub(super) use self::guide::Guide;
use self::hooks::Around;
use super::{
    message_service::{self, Incoming, LISTED, MessageService},
    questions as asked,
    reply::Reply,
};
use crate::{
    admission::submit::Idempotency,
    agents::{Caller, Role},
    channels::{formats::ToolResults, registry},
    message::{
        TOOLS,
        parameters::LONGEST_WAIT,
        refusal::{Code, Refusal},
    },
    outbox::search::Search,
    pipeline::Pipeline,
};

/// How long a call waits for its message's end where it does not say.
pub const WAIT: Duration = Duration::from_secs(20);
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
    pub pipeline: Pipeline,
    pub caller: &'a Caller,
    /// What the caller's session is called at its interface; nothing, where that knows of none.
    pub session: &'a str,
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
struct NextTurn {
    #[serde(default)]
    wait: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfChannel {
    channel: String,
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
        let format = origin.as_ref().map(|origin| registry::tool_result_format(&origin.place.channel));
        Ok((describe::all(&self.pipeline, self.caller, origin.as_ref()), format))
    }

    /// Calls one, with the hooks around it; while it waits for the end of what it sends, it says how things stand.
    ///
    /// # Errors
    /// It is refused. A model that reads that is given the guide of the channel that it was for.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Value,
        telling: Option<&Telling>,
    ) -> Result<Value, Refusal> {
        let around = self.pipeline.around(self.caller.agent(), tool, Some(self.session));
        let done = self.hooked(around.as_ref(), tool, &arguments, telling).await;
        let done = match (done, &around) {
            (Err(mut refusal), Some(around)) if refusal.code == Code::InputInvalid => {
                refusal.guide = around.guide_after_a_mistake(&arguments).await;
                Err(refusal)
            }
            (done, _) => done,
        };
        match tool {
            "send_message" => done.map(|answer| simple::answer(&answer)).map_err(simple::refusal),
            _ => done,
        }
    }

    async fn hooked(
        &self,
        around: Option<&Around<'_>>,
        tool: &str,
        arguments: &Value,
        telling: Option<&Telling>,
    ) -> Result<Value, Refusal> {
        let Some(around) = around else { return self.run(tool, arguments, telling).await };
        let other = around.before(arguments).await?;
        let arguments = other.as_ref().unwrap_or(arguments);
        let answer = self.run(tool, arguments, telling).await?;
        Ok(around.after(arguments, answer).await)
    }

    async fn run(&self, tool: &str, arguments: &Value, telling: Option<&Telling>) -> Result<Value, Refusal> {
        match tool {
            "message" => self.send(arguments.clone(), telling).await,
            "send_message" => self.send(simple::call(arguments)?, telling).await,
            "reply" => {
                let written = "{\"context\": …, \"text\": …}, or \"response\" in place of \"text\"";
                Reply::new(self.pipeline.clone(), self.caller).take(read(arguments, written)?).await
            }
            "next_turn" => self.next_turn(read(arguments, "{\"wait\": …}")?).await,
            "receipt" => self.receipt(read(arguments, "{\"id\": …}")?).await,
            "cancel" => {
                let Named { id } = read(arguments, "{\"id\": …}")?;
                Ok(json!(self.service().cancel(&id).await?))
            }
            "inbox" => self.inbox(read(arguments, "{\"after\": …}")?).await,
            "guide" => {
                let OfChannel { channel } = read(arguments, "{\"channel\": …}")?;
                Ok(json!(self.guide(&channel)?))
            }
            _ => {
                if let Some(action) = actions::find(tool) {
                    return (action.handler)(self, arguments).await;
                }
                let known = format!("tools are: {}", TOOLS.join(", "));
                Err(Refusal::new(Code::NotFound, "there is no such tool", known))
            }
        }
    }

    async fn send(&self, mut call: Value, telling: Option<&Telling>) -> Result<Value, Refusal> {
        let wait = following::patience(&mut call);
        let incoming = Incoming {
            caller: self.caller,
            call: &call,
            idempotency: Idempotency::NONE,
            wait: Duration::ZERO,
        };
        let mut answer = incoming.take(&self.pipeline).await?;
        following::to_its_end(&self.pipeline, &mut answer, wait, telling).await?;
        Ok(json!(answer))
    }

    fn service(&self) -> MessageService<'_> {
        MessageService { pipeline: self.pipeline.clone(), caller: self.caller }
    }

    /// What stands at the address of a resource.
    pub(super) async fn read(&self, uri: &str) -> Result<Value, Refusal> {
        let path = uri.strip_prefix("gatepost://").unwrap_or_default();
        match path.split_once('/') {
            None if path == "queue" => self.queue().await,
            None if path == "inbox" => {
                let newest = self.pipeline.outbox().newest_notices(self.caller.agent(), MOST_NOTICES).await;
                Ok(json!({"ok": true, "notices": newest.map_err(message_service::broken)?}))
            }
            Some(("guide", channel)) => self.guide(channel).map(|guide| json!(guide)),
            Some(("receipt", id)) => self.receipt(Receipt { id: id.to_owned(), wait: 0 }).await,
            _ => Err(Refusal::new(
                Code::NotFound,
                "there is no such resource",
                "resources are: gatepost://queue, gatepost://inbox, gatepost://guide/{channel}, gatepost://receipt/{id}",
            )),
        }
    }

    /// All that is known of how to write for a channel.
    pub(super) fn guide(&self, channel: &str) -> Result<Guide, Refusal> {
        guide::of(&self.pipeline, channel)
    }

    async fn queue(&self) -> Result<Value, Refusal> {
        let newest = Search { limit: LISTED as usize, ..Search::default() };
        let (messages, _) = self.service().search(newest).await?;
        Ok(json!({"ok": true, "messages": messages}))
    }

    /// The next turn, which is the caller's from here on; null if none comes in time.
    async fn next_turn(&self, wanted: NextTurn) -> Result<Value, Refusal> {
        if self.caller.role != Role::Agent {
            let hint = "use a token of the agent; gatepost turns list shows which there are";
            return Err(Refusal::new(Code::Forbidden, "turns are for agents", hint));
        }
        let wait = wanted.wait.map_or(WAIT, |wait| Duration::from_secs(wait.min(LONGEST_WAIT)));
        let turn = self.pipeline.next_turn(&self.caller.name, wait).await.map_err(message_service::broken)?;
        Ok(json!({"ok": true, "turn": turn}))
    }

    async fn receipt(&self, wanted: Receipt) -> Result<Value, Refusal> {
        let message = self.service().own(&wanted.id).await?;
        let wait = Duration::from_secs(wanted.wait.min(LONGEST_WAIT));
        if asked::is_question(&message) {
            return Ok(json!(asked::look(&self.pipeline, &message, wait).await?));
        }
        let receipt = self.pipeline.wait(message.seq, wait).await.map_err(message_service::broken)?;
        Ok(json!(receipt))
    }

    async fn inbox(&self, wanted: Inbox) -> Result<Value, Refusal> {
        let outbox = self.pipeline.outbox();
        let notices = outbox.notices(self.caller.agent(), wanted.after, MOST_NOTICES).await;
        Ok(json!({"ok": true, "notices": notices.map_err(message_service::broken)?}))
    }
}

/// What a call of a tool is given, as its shape; `written` shows that to whoever wrote another.
pub(super) fn read<T: for<'de> Deserialize<'de>>(arguments: &Value, written: &str) -> Result<T, Refusal> {
    T::deserialize(arguments).map_err(|error| {
        let error: String = error.to_string().chars().take(200).collect();
        Refusal::input(error, format!("write {written}")).because("wrong_shape")
    })
}

/// A refusal as a tool answers it.
pub(super) fn refused(refusal: &Refusal) -> Value {
    let mut value = json!(refusal);
    value["ok"] = false.into();
    value
}
