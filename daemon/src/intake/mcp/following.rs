//! A call follows what it sent: it asks for the receipt until the end is known or its time is over, says how things stand
//! meanwhile, and takes back what its caller cancels.

use std::time::Duration;

use rmcp::{RoleServer, model::ProgressNotificationParam, service::RequestContext};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Hands;

/// Between two words on how things stand, in seconds: a client may give up on a call that says nothing.
const STEP: u64 = 2;

/// Waits for the end of everything in `answer` that is on its way, and puts the newest receipts into it.
pub(super) async fn to_its_end<H: Hands>(
    hands: &H,
    caller: &H::Caller,
    answer: &mut Value,
    wait: Duration,
    context: &RequestContext<RoleServer>,
) {
    let until = Instant::now() + wait;
    let mut step = 0.0;
    while let Some((id, state)) = open(answer) {
        let left = until.saturating_duration_since(Instant::now()).as_secs();
        if left == 0 {
            return;
        }
        step += 1.0;
        say(context, step, &format!("{state}: {}", words(&state))).await;
        let asked = json!({"id": id, "wait": left.min(STEP)});
        let receipt = tokio::select! {
            receipt = hands.call(caller, "receipt", &asked) => receipt,
            () = context.ct.cancelled() => {
                take_back(hands, caller, answer).await;
                return;
            }
        };
        if receipt["id"] != id.as_str() {
            // The hub is away: what is known stands.
            return;
        }
        put(answer, &id, receipt);
    }
}

/// The first message that has not come to its end, and where it is.
fn open(answer: &Value) -> Option<(String, String)> {
    let open = |receipt: &Value| {
        let state = receipt["state"].as_str()?;
        let on_its_way = matches!(state, "accepted" | "held" | "ready" | "sending");
        on_its_way.then(|| Some((receipt["id"].as_str()?.to_owned(), state.to_owned())))?
    };
    match answer["targets"].as_array() {
        Some(targets) => targets.iter().find_map(open),
        None => open(answer),
    }
}

/// Puts a newer receipt in the place of the one of the same message; what else the answer says stays.
fn put(answer: &mut Value, id: &str, receipt: Value) {
    let Some(targets) = answer.get_mut("targets").and_then(Value::as_array_mut) else {
        // These are said of the call, and no receipt of the message has them.
        let said = ["guide", "stand_in", "deduplicated", "notes"]
            .map(|member| (member, answer.get(member).cloned()));
        *answer = receipt;
        for (member, value) in said {
            if let Some(value) = value {
                answer[member] = value;
            }
        }
        return;
    };
    if let Some(place) = targets.iter_mut().find(|told| told["id"] == id) {
        *place = receipt;
    }
    let failed = targets.iter().filter(|told| told["ok"] != true).count();
    answer["failed"] = failed.into();
    answer["ok"] = (failed == 0).into();
}

async fn take_back<H: Hands>(hands: &H, caller: &H::Caller, answer: &Value) {
    let ids = match answer["targets"].as_array() {
        Some(targets) => targets.iter().filter_map(|told| told["id"].as_str()).collect(),
        None => answer["id"].as_str().into_iter().collect::<Vec<_>>(),
    };
    for id in ids {
        // What has left cannot be taken back; whoever cancelled does not hear of it anyway.
        let _ = hands.call(caller, "cancel", &json!({"id": id})).await;
    }
}

fn words(state: &str) -> &'static str {
    match state {
        "held" => "a person is being asked",
        "sending" => "it is leaving",
        _ => "it waits for its turn",
    }
}

async fn say(context: &RequestContext<RoleServer>, step: f64, message: &str) {
    let Some(token) = context.meta.get_progress_token() else { return };
    let progress = ProgressNotificationParam::new(token, step).with_message(message);
    if let Err(error) = context.peer.notify_progress(progress).await {
        tracing::debug!(%error, "nobody listens to how a call is getting on");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_is_on_its_way_is_followed_and_its_receipt_replaced() {
        let mut one = json!({"id": "m1", "state": "held", "ok": true, "guide": "g"});
        assert_eq!(open(&one), Some(("m1".into(), "held".into())));
        put(&mut one, "m1", json!({"id": "m1", "state": "denied", "ok": false}));
        assert_eq!(one, json!({"id": "m1", "state": "denied", "ok": false, "guide": "g"}));
        assert_eq!(open(&one), None);

        let mut several = json!({"ok": true, "failed": 0, "targets": [
            {"id": "m1", "state": "sent", "ok": true},
            {"ok": false, "to": "local:x", "error": "no"},
            {"id": "m2", "state": "ready", "ok": true},
        ]});
        assert_eq!(open(&several).unwrap().0, "m2");
        put(&mut several, "m2", json!({"id": "m2", "state": "failed", "ok": false}));
        assert_eq!((several["failed"].as_u64(), several["ok"].as_bool()), (Some(2), Some(false)));
    }
}
