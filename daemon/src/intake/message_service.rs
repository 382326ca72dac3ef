//! What every interface does with a call of the `message` tool (read it, take it, wait for its end if asked to), and with the
//! messages that were taken: whoever may not see one is told that there is none.
//!
//! A call may name several targets. Each becomes a message of its own with a receipt of its own: what one refuses or
//! loses is no reason to say nothing of the others.

use std::time::Duration;

use gatepost_link::Digest;
use serde::Serialize;
use serde_json::Value;
use tokio::time::Instant;
use utoipa::ToSchema;

use super::views::Summary;
use crate::{
    admission::{dry_run::DryRun, submit::Idempotency},
    agents::{Caller, Role},
    channels::registry,
    message::{
        action::Action,
        call::Call,
        receipt::Receipt,
        refusal::{Code, Refusal},
        state::{Actor, State},
    },
    outbox::{
        row::MessageRow,
        search::{Found, Search},
    },
    pipeline::Pipeline,
};

/// The agent as which the operator's own messages are judged.
pub(super) const SHELL: &str = "shell";
/// The longest idempotency key, in bytes.
const MAX_KEY_BYTES: usize = 200;

/// Messages of a listing, where the caller does not say how many.
pub(super) const LISTED: u32 = 50;

/// The messages that one caller may see.
pub(super) struct MessageService<'a> {
    /// Where they are.
    pub pipeline: Pipeline,
    /// Who asks.
    pub caller: &'a Caller,
}

/// A call as it came in.
pub(super) struct Incoming<'a> {
    /// Who is calling.
    pub caller: &'a Caller,
    /// The tool's parameters.
    pub call: &'a Value,
    /// The caller's own name for the call, and what it was when it came in.
    pub idempotency: Idempotency,
    /// How long to wait for its end.
    pub wait: Duration,
}

/// What became of a call.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
#[expect(clippy::large_enum_variant, reason = "a receipt is what nearly always stands in it")]
pub(super) enum Answer {
    /// It has one target, and was taken.
    One(Receipt),
    /// It has one target, and was only looked at.
    Looked(DryRun),
    /// It has several.
    Several(Broadcast),
}

/// What became of a call with several targets. A type of its own, for generators of clients need its name.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Broadcast {
    /// Whether all were taken, and none of them has ended other than sent.
    pub ok: bool,
    /// How many were not, or have.
    pub failed: usize,
    /// Each, in the order in which the call names them.
    pub targets: Vec<TargetResult>,
}

/// What became of a call at one of several targets.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
#[expect(clippy::large_enum_variant, reason = "a receipt is what nearly always stands in it")]
pub(super) enum TargetResult {
    /// It was taken.
    Taken(Receipt),
    /// It was only looked at.
    Looked(DryRun),
    /// It was refused.
    Refused(RefusedTarget),
}

/// A target of several that was refused.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RefusedTarget {
    /// Always false.
    pub ok: bool,
    /// The target as the call has it.
    pub to: String,
    /// Why.
    #[serde(flatten)]
    pub refusal: Refusal,
}

impl Answer {
    /// Whether nothing more will happen to what was taken.
    pub(super) fn is_final(&self) -> bool {
        let over = |result: &TargetResult| !matches!(result, TargetResult::Taken(receipt) if !receipt.state.is_final());
        match self {
            Self::One(receipt) => receipt.state.is_final(),
            Self::Looked(_) => true,
            Self::Several(all) => all.targets.iter().all(over),
        }
    }
}

impl TargetResult {
    /// Whether it was taken, and has not ended other than sent.
    pub(super) fn is_ok(&self) -> bool {
        match self {
            Self::Taken(receipt) => receipt.ok,
            Self::Looked(looked) => looked.ok,
            Self::Refused(_) => false,
        }
    }
}

impl Caller {
    /// The agent that this caller's messages are judged as.
    pub(super) fn agent(&self) -> &str {
        match self.role {
            Role::Operator => SHELL,
            Role::Agent | Role::Bridge | Role::Monitor => &self.name,
        }
    }
}

impl MessageService<'_> {
    /// The message, if this caller may see it. To everybody else it does not exist.
    pub(super) async fn own(&self, id: &str) -> Result<MessageRow, Refusal> {
        let found = self.pipeline.outbox().find(id).await.map_err(broken)?;
        let own = |agent: &str| self.caller.role == Role::Operator || agent == self.caller.name;
        found.filter(|message| own(&message.agent)).ok_or_else(|| {
            Refusal::new(Code::NotFound, "there is no such message", "give the id of a receipt of yours")
        })
    }

    /// Takes a message back that has not left.
    pub(super) async fn cancel(&self, id: &str) -> Result<Receipt, Refusal> {
        let message = self.own(id).await?;
        let actor = match self.caller.role {
            Role::Operator => Actor::Operator,
            Role::Agent | Role::Bridge | Role::Monitor => Actor::Agent,
        };
        self.pipeline.cancel(message.seq, actor, &self.caller.to_string()).await
    }

    /// The messages that fit, newest first, of those that this caller may see; and where to look on.
    pub(super) async fn search(&self, search: Search) -> Result<(Vec<Summary>, Option<i64>), Refusal> {
        let agent = match self.caller.role {
            Role::Operator => search.agent,
            Role::Agent | Role::Bridge | Role::Monitor => Some(self.caller.name.clone()),
        };
        let Found { rows, next } =
            self.pipeline.outbox().search(Search { agent, ..search }).await.map_err(broken)?;
        let held = rows.iter().filter(|row| row.state == State::Held).map(|row| row.id.clone()).collect();
        let mut approvals = self.pipeline.asked_about(held).await.map_err(broken)?;
        let pauses = self.pipeline.outbox().pauses().await.map_err(broken)?;
        let summary = |row: MessageRow| {
            let (approvals, wait) = (approvals.remove(&row.id), pauses.wait_of(&row));
            Summary::of(row, approvals, wait.as_ref())
        };
        Ok((rows.into_iter().map(summary).collect(), next))
    }
}

impl Idempotency {
    /// Of a call as its caller wrote it: what hooks make of it later makes it no other call.
    pub(super) fn of(key: Option<String>, call: &Value) -> Result<Self, Refusal> {
        let Some(key) = key else { return Ok(Self::NONE) };
        if !(1..=MAX_KEY_BYTES).contains(&key.len()) {
            let hint = format!("use 1 to {MAX_KEY_BYTES} printable characters");
            return Err(Refusal::input("the Idempotency-Key cannot be used", hint).because("idempotency_key"));
        }
        // The value and not the bytes: the same call with other white space is the same call.
        let fingerprint = Digest::of(call.to_string().as_bytes()).0;
        Ok(Self { key: Some(key), fingerprint })
    }

    /// The same for one target of a broadcast.
    fn at(&self, to: &str) -> Self {
        Self { key: self.key.as_ref().map(|key| format!("{key}\n{to}")), ..*self }
    }
}

/// What a call asks for: a call for each of its targets, and how long to wait for them.
struct Read {
    calls: Vec<Call>,
    /// A broadcast is told of as one, however few it names.
    is_broadcast: bool,
    patience: Duration,
}

impl Incoming<'_> {
    fn read(&self, pipeline: &Pipeline) -> Result<Read, Refusal> {
        let calls = pipeline.distinct(Call::parse_all(self.call, &registry::TARGETS)?)?;
        let is_broadcast = calls.first().is_some_and(|call| call.action == Action::Broadcast);
        let patience = calls.first().and_then(|call| call.wait).unwrap_or(self.wait);
        Ok(Read { calls, is_broadcast, patience })
    }

    /// The answer to a call that was taken before under the same key. It is found before a hook is asked: what a hook has seen
    /// and let pass is not judged a second time. Not of a broadcast: how many targets a hook had made of it, nobody remembers.
    ///
    /// # Errors
    /// The key stands for another call.
    pub(super) async fn repeated(&self, pipeline: &Pipeline) -> Result<Option<Answer>, Refusal> {
        // What cannot be read may become a call in a hook's hands.
        let Ok(Read { mut calls, is_broadcast: false, patience }) = self.read(pipeline) else {
            return Ok(None);
        };
        let Some(call) = calls.pop().filter(|call| !call.dry_run) else { return Ok(None) };
        let before = pipeline.taken_before(self.caller.agent(), &self.idempotency).await?;
        let Some(receipt) = before else { return Ok(None) };
        let receipt = with_stand_in(pipeline, call.is_poll(), receipt);
        wait(pipeline, receipt, Instant::now() + patience).await.map(|receipt| Some(Answer::One(receipt)))
    }

    /// Takes the call.
    ///
    /// # Errors
    /// It cannot be read, or it has one target and is refused there.
    pub(super) async fn take(self, pipeline: &Pipeline) -> Result<Answer, Refusal> {
        let Read { mut calls, is_broadcast, patience } = self.read(pipeline)?;
        let agent = self.caller.agent();
        if !is_broadcast && let Some(call) = calls.pop() {
            if call.dry_run {
                return pipeline.dry_run(agent, call).await.map(Answer::Looked);
            }
            let receipt = submit(pipeline, agent, call, self.idempotency).await?;
            return wait(pipeline, receipt, Instant::now() + patience).await.map(Answer::One);
        }
        // Before any of its targets is looked at: the same key with one more of them is another call.
        pipeline.taken_before(agent, &self.idempotency).await?;
        pipeline.refuse_twice(agent, &calls).await?;
        let names: Vec<String> = calls.iter().map(named).collect();
        let answers: Vec<Result<TargetResult, Refusal>> = match calls.iter().any(|call| call.dry_run) {
            true => {
                let looked = pipeline.dry_run_all(agent, calls).await;
                looked.into_iter().map(|answer| answer.map(TargetResult::Looked)).collect()
            }
            false => {
                let is_poll: Vec<bool> = calls.iter().map(Call::is_poll).collect();
                let keys = names.iter().map(|to| self.idempotency.at(to));
                let taken = pipeline.submit_all(agent, calls.into_iter().zip(keys).collect()).await;
                let stood_in = |(answer, is_poll): (Result<_, _>, _)| {
                    answer.map(|receipt| TargetResult::Taken(with_stand_in(pipeline, is_poll, receipt)))
                };
                taken.into_iter().zip(is_poll).map(stood_in).collect()
            }
        };
        let result = |(answer, to): (Result<TargetResult, Refusal>, String)| {
            answer.unwrap_or_else(|refusal| TargetResult::Refused(RefusedTarget { ok: false, to, refusal }))
        };
        let mut targets: Vec<TargetResult> = answers.into_iter().zip(names).map(result).collect();
        let until = Instant::now() + patience;
        for target in &mut targets {
            if let TargetResult::Taken(receipt) = target {
                *receipt = wait(pipeline, receipt.clone(), until).await?;
            }
        }
        let failed = targets.iter().filter(|target| !target.is_ok()).count();
        Ok(Answer::Several(Broadcast { ok: failed == 0, failed, targets }))
    }
}

/// Hands one call in; the receipt says what stands in for what its channel has not.
async fn submit(
    pipeline: &Pipeline,
    agent: &str,
    call: Call,
    idempotency: Idempotency,
) -> Result<Receipt, Refusal> {
    let is_poll = call.is_poll();
    let receipt = pipeline.submit(agent, call, idempotency).await?;
    Ok(with_stand_in(pipeline, is_poll, receipt))
}

fn with_stand_in(pipeline: &Pipeline, is_poll: bool, receipt: Receipt) -> Receipt {
    let channel = receipt.to.split(':').next().unwrap_or_default();
    let stand_in = if is_poll { pipeline.polls_stand_in(channel) } else { None };
    Receipt { stand_in, ..receipt }
}

/// Waits for a message's end; the receipt says how far it has come by then, and what it said of the call before.
pub(super) async fn wait(pipeline: &Pipeline, receipt: Receipt, until: Instant) -> Result<Receipt, Refusal> {
    let left = until.saturating_duration_since(Instant::now());
    if receipt.state.is_final() || left.is_zero() {
        return Ok(receipt);
    }
    let message = pipeline.outbox().find(&receipt.id.0).await.map_err(broken)?;
    match message {
        Some(message) => {
            let Receipt { deduplicated, stand_in, .. } = receipt;
            let receipt = pipeline.wait(message.seq, left).await.map_err(broken)?;
            Ok(Receipt { deduplicated, stand_in, ..receipt })
        }
        None => Ok(receipt),
    }
}

/// A target as its call has it, for whoever wrote that.
fn named(call: &Call) -> String {
    let to = call.destination.to_string();
    match &call.channel {
        Some(channel) if !to.starts_with(&format!("{channel}:")) => format!("{channel}:{to}"),
        _ => to,
    }
}

/// The database does not answer.
pub(super) fn broken(error: impl std::fmt::Display) -> Refusal {
    tracing::error!(%error, "the database failed");
    Refusal::new(
        Code::ExecutionFailed,
        "the hub cannot use its database",
        "nothing was changed; try again later",
    )
}
