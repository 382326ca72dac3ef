//! Who may take a task back, for every interface.

use super::message_service::broken;
use crate::{
    agents::{Caller, Role},
    message::refusal::{Code, Refusal},
    pipeline::Pipeline,
    policy::{Origin, Scope},
    store::now_ms,
    tasks::book::{self, Task},
};

/// How far the words are trusted in whose turn an agent calls. A call without a context may come from any turn that the agent is at:
/// the least trusted counts.
pub(super) fn scope(pipeline: &Pipeline, agent: &str, origin: Option<&Origin>) -> Result<Scope, Refusal> {
    match origin {
        Some(origin) => Ok(origin.scope.unwrap_or(Scope::Owner)),
        None => pipeline
            .outbox()
            .store()
            .look(|db| book::least_at_work(db, &pipeline.0.routing.people, agent))
            .map_err(broken),
    }
}

/// Takes a task back: an agent's own, or any for the operator. What an owner's turn scheduled, no stranger's words take back.
pub(super) async fn cancel(
    pipeline: &Pipeline,
    caller: &Caller,
    id: &str,
    context: Option<&str>,
) -> Result<Task, Refusal> {
    let (store, agent) = (pipeline.outbox().store(), caller.agent());
    let of = (caller.role != Role::Operator).then_some(agent);
    let missing =
        || Refusal::new(Code::NotFound, "there is no such task", "list_tasks has those that there are");
    let task = store.look(|db| book::find(db, id, of)).map_err(broken)?.ok_or_else(missing)?;
    if caller.role != Role::Operator {
        let origin = match context {
            Some(context) => Some(pipeline.origin(agent, context).await?),
            None => None,
        };
        if scope(pipeline, agent, origin.as_ref())? < task.scope {
            let error =
                "the turn has words of somebody who is less trusted than whoever this task was scheduled for";
            let hint = "cancel it in a turn of theirs, or ask the operator: gatepost tasks cancel";
            return Err(Refusal::new(Code::Forbidden, error, hint).because("scope"));
        }
    }
    let (id, by) = (id.to_owned(), caller.to_string());
    let cancelled = store
        .write(move |tx| {
            let done = book::cancel(tx, &id, &by, now_ms())?;
            Ok::<_, crate::store::StoreError>((done, book::find(tx, &id, None)?))
        })
        .await
        .map_err(broken)?;
    match cancelled {
        (true, Some(task)) => Ok(task),
        (false, Some(_)) => {
            let hint = "a turn that it began is not taken back with it";
            Err(Refusal::new(Code::Conflict, "this task is over", hint).because("task_over"))
        }
        (_, None) => Err(missing()),
    }
}
