//! A call follows what it sent until the end is known or its time is over, and says meanwhile how things stand.
//!
//! It follows inside the call, between the hooks around a tool: what they are told that it answered is what it answers, and
//! nobody's looking after a message is a call of a tool that an operator's hook could see, change or refuse.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::{sync::mpsc, time::Instant};

use super::WAIT;
use crate::{
    intake::message_service::{self, Answer, TargetResult},
    message::{parameters::LONGEST_WAIT, receipt::Receipt, refusal::Refusal},
    pipeline::Pipeline,
};

/// Between two reports of how things stand: a client may give up on a call that says nothing.
const STEP_INTERVAL: Duration = Duration::from_secs(2);

/// A message of a call that has not come to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnderWay {
    /// Its id.
    pub id: String,
    /// Where it is, by the state's word.
    pub state: String,
    /// Whether it was another call that sent it, which this one repeats.
    #[serde(default)]
    pub deduplicated: bool,
    /// Why nobody can be asked about it, while it waits for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// To whom a call says how things stand.
pub type Telling = mpsc::Sender<UnderWay>;

/// How long a call waits, taken out of it: it is followed here, and nobody further in waits a second time. What cannot be a
/// time is left in, for the refusal that it earns.
pub(super) fn patience(call: &mut Value) -> Duration {
    let Some(call) = call.as_object_mut() else { return WAIT };
    let wait = match call.get("wait") {
        None | Some(Value::Null) => WAIT,
        Some(seconds) => match seconds.as_u64().filter(|&seconds| seconds <= LONGEST_WAIT) {
            Some(seconds) => Duration::from_secs(seconds),
            None => return WAIT,
        },
    };
    call.insert("wait".into(), 0.into());
    wait
}

/// Waits for the end of everything in `answer` that is on its way, and puts the newest receipts into it.
pub(super) async fn to_its_end(
    pipeline: &Pipeline,
    answer: &mut Answer,
    wait: Duration,
    telling: Option<&Telling>,
) -> Result<(), Refusal> {
    let until = Instant::now() + wait;
    // All of them first: a caller that gives the call up must know which messages it can take back.
    for receipt in open(answer) {
        tell(telling, receipt).await;
    }
    let left = || until.saturating_duration_since(Instant::now());
    while let Some(receipt) = open(answer).next().filter(|_| !left().is_zero()) {
        let step = if telling.is_some() { left().min(STEP_INTERVAL) } else { left() };
        renew(pipeline, receipt, step).await?;
        tell(telling, receipt).await;
    }
    if !wait.is_zero() {
        // The messages behind one that took all the time have gone on meanwhile.
        for receipt in open(answer) {
            renew(pipeline, receipt, Duration::ZERO).await?;
        }
    }
    if let Answer::Several(all) = answer {
        all.failed = all.targets.iter().filter(|target| !target.is_ok()).count();
        all.ok = all.failed == 0;
    }
    Ok(())
}

/// What has not come to its end.
fn open(answer: &mut Answer) -> impl Iterator<Item = &mut Receipt> {
    let (one, several) = match answer {
        Answer::One(receipt) => (Some(receipt), None),
        Answer::Looked(_) => (None, None),
        Answer::Several(all) => (None, Some(&mut all.targets)),
    };
    let several = several.into_iter().flatten().filter_map(|target| match target {
        TargetResult::Taken(receipt) => Some(receipt),
        TargetResult::Looked(_) | TargetResult::Refused(_) => None,
    });
    one.into_iter().chain(several).filter(|receipt| !receipt.state.is_final())
}

/// Puts a newer receipt in the place of this one; what was said of the call stays.
async fn renew(pipeline: &Pipeline, receipt: &mut Receipt, wait: Duration) -> Result<(), Refusal> {
    let message = pipeline.outbox().find(&receipt.id.0).await.map_err(message_service::broken)?;
    if let Some(message) = message {
        let newer = pipeline.wait(message.seq, wait).await.map_err(message_service::broken)?;
        let (deduplicated, stand_in) = (receipt.deduplicated, receipt.stand_in);
        *receipt = Receipt { deduplicated, stand_in, ..newer };
    }
    Ok(())
}

async fn tell(telling: Option<&Telling>, receipt: &Receipt) {
    let Some(telling) = telling.filter(|_| !receipt.state.is_final()) else { return };
    let (id, state) = (receipt.id.0.clone(), receipt.state.word().to_owned());
    let problem = receipt.asked.as_ref().and_then(|asked| asked.problem.clone());
    // The caller may have gone: the messages go on.
    let _ = telling.send(UnderWay { id, state, deduplicated: receipt.deduplicated, problem }).await;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_that_names_no_time_waits_twenty_seconds_and_only_once() {
        for (mut given, seconds) in [
            (json!({}), 20),
            (json!({"wait": null}), 20),
            (json!({"wait": 0}), 0),
            (json!({"wait": 8}), 8),
            (json!({"wait": 600}), 600),
        ] {
            let before = given.clone();
            assert_eq!(patience(&mut given), Duration::from_secs(seconds), "{before}");
            assert_eq!(given["wait"], 0, "{before}");
        }
        for wrong in [json!({"wait": 601}), json!({"wait": "8"}), json!({"wait": -1}), json!([])] {
            let mut given = wrong.clone();
            patience(&mut given);
            assert_eq!(given, wrong, "it earns its refusal");
        }
    }
}
