//! `schedule_task`, `cancel_task` and `list_tasks`.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Tools, read};
use crate::{
    agents::Role,
    intake::{message_service::broken, tasks as shared},
    message::refusal::{Code, Refusal},
    policy::Scope,
    store::{StoreError, now_ms},
    tasks::{
        MAX_PROMPT_BYTES, MAX_TASKS,
        book::{self, NewTask, Task},
        schedule::Schedule,
    },
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct New {
    when: String,
    prompt: String,
    #[serde(default)]
    time_zone: Option<String>,
    #[serde(default)]
    context: Option<String>,
    #[serde(default = "yes")]
    bound: bool,
}

const fn yes() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    task: String,
    #[serde(default)]
    context: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

const CONTEXT: &str = "The token of the conversation that the turn came from.";

pub(super) fn schedule_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "when": {"type": "string", "maxLength": 100, "description": "A time as RFC 3339 has it (\"2026-11-30T09:00:00Z\"), a length \
                     of time (\"in 2h\", \"in 3 days\"), or a pattern of crontab for what comes again (\"0 9 * * 1-5\")."},
            "prompt": {"type": "string", "maxLength": MAX_PROMPT_BYTES, "description": "What you are told then."},
            "time_zone": {"type": "string", "description": "The time zone in which that counts, such as \"Europe/Berlin\"; the hub's own \
                          where it is left out."},
            "context": {"type": "string", "description": CONTEXT},
            "bound": {"type": "boolean", "default": true, "description": "false: not in the conversation of the context, but in none."},
        },
        "required": ["when", "prompt"],
        "additionalProperties": false,
    })
}

pub(super) fn cancel_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "task": {"type": "string", "description": "The id of the task."},
            "context": {"type": "string", "description": CONTEXT},
        },
        "required": ["task"],
        "additionalProperties": false,
    })
}

/// Tasks are an agent's own.
fn agents_only(tools: &Tools<'_>) -> Result<(), Refusal> {
    if tools.caller.role == Role::Agent {
        return Ok(());
    }
    let hint = "use an agent's token; for people there is: gatepost tasks";
    Err(Refusal::new(Code::Forbidden, "only agents have tasks", hint).because("role"))
}

fn told(task: &Task) -> Value {
    let mut told = json!(task);
    told["ok"] = true.into();
    told
}

pub(super) async fn schedule(tools: &Tools<'_>, arguments: &Value) -> Result<Value, Refusal> {
    agents_only(tools)?;
    let New { when, prompt, time_zone, context, bound } = read(arguments, "{\"when\": …, \"prompt\": …}")?;
    if prompt.trim().is_empty() || prompt.len() > MAX_PROMPT_BYTES {
        let error = format!("a prompt has 1 to {MAX_PROMPT_BYTES} bytes");
        return Err(Refusal::input(error, "say in it what you are to do then").because("prompt"));
    }
    let agent = tools.caller.agent();
    let origin = match &context {
        Some(context) => Some(tools.pipeline.origin(agent, context).await?),
        None => None,
    };
    let scope = shared::scope(&tools.pipeline, agent, origin.as_ref())?;
    let because = origin.as_ref().and_then(|origin| origin.because.clone());
    let bound = origin.filter(|_| bound);
    // What is sent in no conversation is judged as an owner's.
    if bound.is_none() && scope < Scope::Owner {
        let error = "the turn has words of somebody who is no owner of this hub: they schedule nothing outside of their conversation";
        let hint =
            "give the context of the turn, and leave out bound: the task is due in its conversation then";
        return Err(Refusal::new(Code::Forbidden, error, hint).because("scope"));
    }
    // A pattern that never comes takes a while to be found out.
    let read = move || Schedule::read(&when, time_zone.as_deref(), now_ms());
    let schedule = tokio::task::spawn_blocking(read).await.map_err(broken)?;
    let schedule = schedule.map_err(|error| {
        Refusal::input(error.to_string(), "nothing was scheduled: correct it, and call again").because("when")
    })?;
    let new = NewTask { agent: agent.to_owned(), schedule, prompt, bound, scope, because };
    let store = tools.pipeline.outbox().store();
    let added = store
        .write(move |tx| book::add(tx, &new, now_ms()))
        .await
        .map_err(|error: StoreError| broken(error))?;
    let task = added.map_err(|too_many| {
        let hint = format!("cancel_task takes one back; an agent has {MAX_TASKS} at most");
        Refusal::new(Code::RateLimited, too_many.to_string(), hint).because("too_many_tasks")
    })?;
    tools.pipeline.0.wake.tell();
    Ok(told(&task))
}

pub(super) async fn cancel(tools: &Tools<'_>, arguments: &Value) -> Result<Value, Refusal> {
    agents_only(tools)?;
    let Named { task, context } = read(arguments, "{\"task\": …}")?;
    let cancelled = shared::cancel(&tools.pipeline, tools.caller, &task, context.as_deref()).await?;
    Ok(told(&cancelled))
}

pub(super) async fn list(tools: &Tools<'_>, arguments: &Value) -> Result<Value, Refusal> {
    agents_only(tools)?;
    let Nothing {} = read(arguments, "{}")?;
    let agent = tools.caller.agent().to_owned();
    let (store, routing) = (tools.pipeline.outbox().store(), tools.pipeline.0.routing.clone());
    let own = store.read(move |db| book::list_own(db, &routing.people, &agent, false, MAX_TASKS));
    let tasks = own.await.map_err(broken)?;
    Ok(json!({"ok": true, "tasks": tasks}))
}
