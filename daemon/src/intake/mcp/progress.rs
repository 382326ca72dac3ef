//! A call says how things stand while its messages are under way, and takes back what its caller cancels.
//!
//! What it does for that is no call of a tool: an agent did not make it, and no hook may stand in its way. What a call merely
//! repeats is another call's to take back.

use std::time::Duration;

use rmcp::{RoleServer, model::ProgressNotificationParam, service::RequestContext};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::Hands;
use crate::intake::tool::UnderWay;

/// Words on how things stand that may wait to be passed on.
const MAX_WAITING: usize = 16;
/// After a call was given up, how long it may take to tell of another message of its own.
const GRACE: Duration = Duration::from_secs(1);

/// Makes a call; what it answers.
pub(super) async fn of_call<H: Hands>(
    hands: &H,
    caller: &H::Caller,
    tool: &str,
    arguments: Value,
    context: &RequestContext<RoleServer>,
) -> Value {
    let (telling, mut steps) = mpsc::channel(MAX_WAITING);
    let mut call = std::pin::pin!(hands.call(caller, tool, arguments, telling));
    let mut step = 0.0;
    let mut own = Vec::new();
    loop {
        tokio::select! {
            answer = &mut call => return answer,
            Some(under_way) = steps.recv() => {
                step += 1.0;
                say(context, step, &under_way).await;
                note(&mut own, under_way);
            }
            () = context.ct.cancelled() => break,
        }
    }
    // Nothing more is said to who has given up: nobody reads it, and what is not read holds its session up.
    for id in &own {
        // What has left cannot be taken back; whoever cancelled does not hear of it anyway.
        hands.take_back(caller, id).await;
    }
    let mut told_of = step > 0.0;
    loop {
        tokio::select! {
            answer = &mut call => return answer,
            Some(under_way) = steps.recv() => {
                told_of = true;
                if let Some(id) = note(&mut own, under_way) {
                    hands.take_back(caller, id).await;
                }
            }
            // A call tells of all its messages before it waits for any.
            () = tokio::time::sleep(GRACE), if told_of => return json!({"ok": false}),
        }
    }
}

/// Notes a message that is the call's own, once; its id, if it is new.
fn note(own: &mut Vec<String>, under_way: UnderWay) -> Option<&str> {
    if under_way.deduplicated || own.contains(&under_way.id) {
        return None;
    }
    own.push(under_way.id);
    own.last().map(String::as_str)
}

fn words(state: &str, problem: Option<&str>) -> String {
    match (state, problem) {
        ("held", Some(problem)) => format!("nobody can be asked: {problem}"),
        ("held", None) => "a person is being asked".into(),
        ("sending", _) => "it is leaving".into(),
        _ => "it waits for its turn".into(),
    }
}

async fn say(context: &RequestContext<RoleServer>, step: f64, UnderWay { state, problem, .. }: &UnderWay) {
    let Some(token) = context.meta.get_progress_token() else { return };
    let message = format!("{state}: {}", words(state, problem.as_deref()));
    let progress = ProgressNotificationParam::new(token, step).with_message(message);
    if let Err(error) = context.peer.notify_progress(progress).await {
        tracing::debug!(%error, "nobody listens to how a call is getting on");
    }
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn a_person_is_said_to_be_asked_only_if_one_can_be() {
        assert_eq!(words("held", None), "a person is being asked");
        let nobody = words("held", Some("no companion is paired"));
        assert_eq!(nobody, "nobody can be asked: no companion is paired");
    }
}
