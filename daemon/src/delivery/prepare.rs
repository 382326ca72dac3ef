//! An accepted message passes the hooks, is judged, rendered, and held or released.
//!
//! What the hooks made of it is stored before anything is judged by it. Parts are stored before the first is sent, and what was judged is what is stored: nothing of this runs again.

use tracing::Instrument as _;

use super::{
    Pipeline,
    dispatch::RECOVER,
    hooks::turns::Turn,
    plan::{self, Content},
    submit::PREPARED,
};
use crate::{
    approval::HoldError,
    message::{
        refusal::{Code, Refusal},
        state::{Event, State},
    },
    outbox::{
        row::{Lane, MessageRow},
        transition::{self, Change, NewPart, TransitionError},
    },
    policy::{self, Verdict},
    store::StoreError,
};

impl Pipeline {
    /// A place among the messages to one conversation, where hooks may take their time with each.
    pub(super) fn turn(&self, lane: Lane) -> Option<Turn> {
        self.0.hooks.before_sending().next().map(|_| self.0.hooks.turns().take(lane))
    }

    /// Prepares an accepted message on a task of its own, so that whoever wants it may hang up; waits for a while. Hooks
    /// may take longer.
    pub(super) async fn begin(&self, message: &MessageRow) {
        let span = tracing::info_span!("message", id = message.id, agent = message.agent);
        let (pipeline, seq, turn) = (self.clone(), message.seq, self.turn(message.lane()));
        let prepared = tokio::spawn(async move { pipeline.prepare(seq, turn).await }.instrument(span));
        let _ = tokio::time::timeout(PREPARED, prepared).await;
    }

    /// Takes an accepted message to `held`, `ready` or `failed`, however often the database must be asked.
    pub(super) async fn prepare(&self, seq: i64, mut turn: Option<Turn>) {
        if let Some(turn) = &mut turn {
            turn.comes().await;
        }
        loop {
            match self.try_to_prepare(seq).await {
                // A cancellation was faster.
                Ok(()) | Err(TransitionError::Illegal(_)) => return,
                // The hub is stopping; the next start takes the message up.
                Err(TransitionError::Store(StoreError::Closed)) => return,
                Err(error) => {
                    tracing::error!(%error, "cannot prepare a message; trying again");
                    tokio::time::sleep(RECOVER).await;
                }
            }
        }
    }

    async fn try_to_prepare(&self, seq: i64) -> Result<(), TransitionError> {
        let message = match self.through_hooks(self.0.outbox.get(seq).await?).await? {
            Ok(message) => message,
            Err(refusal) => return self.refuse(seq, refusal).await,
        };
        match self.judged(&message) {
            Err(refusal) => self.refuse(seq, refusal).await?,
            Ok((Judgement::Send, parts)) => {
                self.0
                    .outbox
                    .change(seq, move |tx| {
                        transition::store_parts(tx, seq, &parts)?;
                        transition::apply(tx, seq, &Change::hub(Event::Allow, None))
                    })
                    .await?;
                tracing::debug!("it waits for its lane");
            }
            Ok((Judgement::Ask(reason), parts)) => {
                let ttl = i64::try_from(self.0.hold_ttl.as_millis()).unwrap_or(i64::MAX);
                // Counted from when it was due: since it was accepted, or since an operator let it begin anew.
                let deadline = message.due_at.saturating_add(ttl).min(message.deadline);
                match self.0.approvals.hold(message, parts, reason, deadline).await {
                    Ok(()) => tracing::debug!("it waits for a person"),
                    Err(HoldError::Document(error)) => {
                        let refusal = Refusal::new(Code::TooLarge, error.to_string(), "shorten the message");
                        self.refuse(seq, refusal).await?;
                    }
                    Err(HoldError::Transition(error)) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// The message as its hooks leave it. One that has been through, maybe in another life of the hub, goes on as it is.
    async fn through_hooks(
        &self,
        message: MessageRow,
    ) -> Result<Result<MessageRow, Refusal>, TransitionError> {
        let hooks: Vec<String> = self.0.hooks.before_sending().map(str::to_owned).collect();
        if hooks.is_empty() || message.hooked_at.is_some() || message.state != State::Accepted {
            return Ok(Ok(message));
        }
        let text = match self.hooked(&message).await {
            Ok(text) => text,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let seq = message.seq;
        let stored =
            move |tx: &rusqlite::Transaction<'_>| transition::store_hooked(tx, seq, text.as_deref(), &hooks);
        // However long the disk has no room: to ask them again is not what they were promised.
        Ok(Ok(self.0.outbox.record(seq, stored).await?))
    }

    fn judged(&self, message: &MessageRow) -> Result<(Judgement, Vec<NewPart>), Refusal> {
        let rules = self.rules(&message.agent)?;
        let target = message.target();
        let judgement = match policy::judge(&rules.rights, message.origin.as_ref(), &message.account, &target)
        {
            Verdict::Allow(_) => Judgement::Send,
            Verdict::Hold(reason) => Judgement::Ask(reason),
            Verdict::Deny(refusal) => return Err(refusal),
        };
        let (_, adapter) = self
            .0
            .accounts
            .pick(&message.channel, Some(&message.account))
            .map_err(|error| Refusal::new(Code::ExecutionFailed, error.to_string(), ""))?;
        let content = Content {
            agent: &message.agent,
            target: &target,
            account: &message.account,
            reply_to: message.reply_to.as_deref(),
            silent: message.silent,
            origin: message.origin.as_ref(),
            text: &message.text,
            attachments: &message.attachments,
        };
        Ok((judgement, plan::parts(adapter.as_ref(), rules, &content)?))
    }

    async fn refuse(&self, seq: i64, refusal: Refusal) -> Result<(), TransitionError> {
        tracing::info!(code = refusal.code.word(), why = refusal.error, "it is not sent");
        self.0
            .outbox
            .change(seq, move |tx| {
                let change = Change::hub(Event::Refuse, Some(&refusal.error)).code(refusal.code);
                transition::apply(tx, seq, &change)
            })
            .await?;
        Ok(())
    }
}

enum Judgement {
    Send,
    Ask(String),
}
