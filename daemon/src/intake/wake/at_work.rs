//! One turn that was taken for an agent: brought to it, kept while it works, and ended by its reply or given back.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use super::{Outcome, Waker, Way, backoff::Backoff, stop::Stop};
use crate::{
    agents::{Caller, Role},
    intake::tool::Tools,
    message::refusal::{Code, Refusal},
    pipeline::current::Current,
    plain_text::one_line,
    turns::items::TurnView,
};

/// Before a reply is handed over again that the hub had no room for. The work behind it is not done a second time for that.
const AGAIN: [Duration; 5] = [
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_secs(60),
    Duration::from_secs(60),
];
/// The longest reason that stands beside a turn, in characters.
const MAX_WHY_CHARS: usize = 300;

/// Brings a turn to its agent, and sees to it that it ends or is given back.
pub(super) async fn from_lease_to_end(
    current: &Current,
    waker: &Waker,
    turn: &TurnView,
    backoff: &Backoff,
    mut stop: watch::Receiver<Stop>,
) {
    if *stop.borrow() != Stop::No {
        give_back(current, turn, Outcome::Away("the hub stops".into())).await;
        return;
    }
    let late = || Outcome::Failed(format!("it was not done within {} s", waker.timeout.as_secs()));
    let outcome = tokio::select! {
        outcome = tokio::time::timeout(waker.timeout, bring(current, waker, turn)) => outcome.unwrap_or_else(|_| late()),
        () = keep(current, turn) => {
            tracing::warn!(agent = waker.agent, turn = turn.turn, "a turn was taken away while its agent was at it");
            return;
        }
        _ = stop.wait_for(|stop| *stop == Stop::Now) => Outcome::Failed("the hub stopped meanwhile".into()),
    };
    let outcome = match outcome {
        Outcome::Reply(reply) => match hand_over(current, waker, turn, reply).await {
            Ok(()) => Outcome::TakenOver,
            Err(refusal) if refusal.reason == Some("lease_lost") => {
                tracing::warn!(
                    agent = waker.agent,
                    turn = turn.turn,
                    "a reply came too late, and nothing of it was sent"
                );
                return;
            }
            Err(refusal) => Outcome::Failed(format!("the reply was refused: {}", refusal.error)),
        },
        outcome => outcome,
    };
    if outcome == Outcome::TakenOver {
        backoff.succeeded();
        return;
    }
    backoff.failed(Instant::now());
    give_back(current, turn, outcome).await;
}

async fn bring(current: &Current, waker: &Waker, turn: &TurnView) -> Outcome {
    match &waker.way {
        Way::Command(command) => command.bring(turn).await,
        Way::Url(service) => service.bring(turn).await,
        Way::OpenAi(model) => model.bring(current, turn).await,
    }
}

/// Keeps the lease for as long as this is waited for; returns when it is lost.
async fn keep(current: &Current, turn: &TurnView) {
    loop {
        let pipeline = current.pipeline();
        sleep(pipeline.renew_every()).await;
        match pipeline.renew_turn(&turn.agent, &turn.turn, &turn.lease).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return,
            // The next look may find it in time.
            Err(error) => tracing::error!(%error, turn = turn.turn, "cannot keep a turn"),
        }
    }
}

/// The agent of a turn, as the hub's tools know it.
pub(super) fn caller(turn: &TurnView) -> Caller {
    Caller { name: turn.agent.clone(), role: Role::Agent }
}

/// Ends the turn by its reply, with the hooks around the tool of that name.
async fn hand_over(
    current: &Current,
    waker: &Waker,
    turn: &TurnView,
    mut reply: Value,
) -> Result<(), Refusal> {
    (reply["turn"], reply["lease"]) = (turn.turn.as_str().into(), turn.lease.as_str().into());
    reply["context"] = json!(turn.context);
    let caller = caller(turn);
    let mut pauses = AGAIN.into_iter();
    loop {
        let tools = Tools { pipeline: current.pipeline(), caller: &caller, session: &turn.session };
        let refusal = match tools.call("reply", reply.clone(), None).await {
            Ok(answer) => {
                if answer["ok"] != true {
                    tracing::warn!(
                        agent = waker.agent,
                        turn = turn.turn,
                        "some of a reply was refused: see its inbox"
                    );
                }
                return Ok(());
            }
            Err(refusal) => refusal,
        };
        let passes = matches!(refusal.code, Code::QueueFull | Code::RateLimited | Code::ExecutionFailed);
        match pauses.next().filter(|_| passes) {
            Some(pause) => sleep(pause).await,
            None => return Err(refusal),
        }
    }
}

async fn give_back(current: &Current, turn: &TurnView, outcome: Outcome) {
    let (agent, id, lease) = (&turn.agent, &turn.turn, &turn.lease);
    let pipeline = current.pipeline();
    let done = match outcome {
        Outcome::Reply(_) | Outcome::TakenOver => return,
        Outcome::Away(why) => {
            let why = one_line(&why, MAX_WHY_CHARS);
            tracing::warn!(agent, turn = id, why, "an agent cannot be reached: its turn waits");
            pipeline.put_back_turn(agent, id, lease, why).await.map(|done| done.map(|()| true))
        }
        Outcome::Failed(why) => {
            let why = one_line(&why, MAX_WHY_CHARS);
            tracing::warn!(agent, turn = id, why, "an agent did not end its turn");
            pipeline.give_back_turn(agent, id, lease, why).await
        }
    };
    match done {
        Ok(Ok(true)) => {}
        Ok(Ok(false)) => tracing::warn!(agent, turn = id, "a turn has failed: gatepost turns show"),
        Ok(Err(lost)) => tracing::debug!(agent, turn = id, %lost, "a turn was gone when it was given back"),
        Err(error) => {
            tracing::error!(agent, turn = id, %error, "a turn is given out again when its lease has run out")
        }
    }
}
