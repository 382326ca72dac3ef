//! A message passes the hooks, is judged, rendered, and held or released.
//!
//! What the hooks made of it is stored before anything is judged by it. Parts are stored before the first is sent, and what
//! was judged is what is stored: nothing of this runs again. Where there are no hooks, the verdict is written in the
//! transaction that accepts the message: one wait for the disk, and no moment between the two.

use std::time::Duration;

use rusqlite::Transaction;
use serde_json::Value;
use tracing::Instrument as _;

use super::plan::{self, Content, Renderings};
use crate::{
    approval::{self, Holding, Terms},
    blocking,
    channels::{Adapter, Quoted, envelope::Envelope},
    hooks::turns::Turn,
    message::{
        operation::Operation,
        refusal::{Code, Refusal},
        state::{Event, State},
    },
    outbox::{
        form_submissions, quoted,
        row::{Lane, MessageRow},
        transition::{self, Change, NewPart, TransitionError},
    },
    pipeline::{AgentRules, Pipeline, RECOVER, unavailable},
    policy::{Held, Verdict},
    store::StoreError,
};

/// How long a caller is kept from its receipt while its message is judged.
pub(super) const PREPARED: Duration = Duration::from_secs(5);

impl Pipeline {
    /// A place among the messages to one conversation, where hooks may take their time with each.
    pub(super) fn turn(&self, lane: Lane) -> Option<Turn> {
        self.0.hooks.before_sending().next().map(|_| self.0.hooks.turns().take(lane))
    }

    /// Prepares an accepted message on a task of its own, so that whoever wants it may hang up; waits for a while. Hooks
    /// may take longer.
    pub(crate) async fn begin_anew(&self, message: &MessageRow) {
        let span = tracing::info_span!("message", id = message.id, agent = message.agent);
        let (pipeline, seq, turn) = (self.clone(), message.seq, self.turn(message.lane()));
        let prepared = tokio::spawn(
            async move { pipeline.prepare(seq, turn, &Renderings::default()).await }.instrument(span),
        );
        let _ = tokio::time::timeout(PREPARED, prepared).await;
    }

    /// Takes an accepted message to `held`, `ready` or `failed`, however often the database must be asked.
    pub(super) async fn prepare(&self, seq: i64, mut turn: Option<Turn>, renderings: &Renderings) {
        if let Some(turn) = &mut turn {
            turn.comes().await;
        }
        loop {
            match self.try_to_prepare(seq, renderings).await {
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

    async fn try_to_prepare(&self, seq: i64, renderings: &Renderings) -> Result<(), TransitionError> {
        let message = self.0.outbox.get(seq).await?;
        // Of one that was accepted in an earlier life of the hub, nobody is asked what could not be sent.
        let hooked = match self.account_changed(&message) {
            Some(why) => Err(Refusal::new(why.code(), why.to_string(), "submit it anew")),
            None => self.through_hooks(message).await?,
        };
        let judged = match hooked {
            Ok(message) => self.judge(&Content::of(&message, &message.target()), renderings).await,
            Err(refusal) => Judged::Refused(refusal),
        };
        let terms = self.0.approvals.terms();
        let change =
            self.0.outbox.change(seq, move |tx| settle(tx, MessageRow::get(tx, seq)?, &judged, terms));
        tell(&change.await?);
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

    /// What is to become of a message, by the rules and its text alone.
    pub(super) async fn judge(&self, content: &Content<'_>, renderings: &Renderings) -> Judged {
        self.planned(content, renderings).await.unwrap_or_else(Judged::Refused)
    }

    /// The request that made the message which is edited, if the account sent it there.
    fn made_by(&self, content: &Content<'_>) -> Option<Value> {
        let Operation::Edit { message } = content.operation else { return None };
        let of = (content.target.channel.as_str(), content.account);
        let made =
            self.0.outbox.store().look(|db| form_submissions::made(db, of, &content.target.address, message));
        match made {
            // Of a recording and its words, both of which were planned, the one that goes first.
            Ok(request) => Some(Envelope::read(&request?).ok()?.request),
            Err(error) => {
                tracing::warn!(%error, "cannot look up what made a message that is edited");
                None
            }
        }
    }

    async fn planned(&self, content: &Content<'_>, renderings: &Renderings) -> Result<Judged, Refusal> {
        let rules = self.rules(content.agent);
        let (target, account) = (content.target, content.account);
        let verdict = match self.verdict(content).await? {
            Verdict::Deny(refusal) => return Err(refusal),
            verdict => verdict,
        };
        let (_, adapter) = self
            .0
            .accounts
            .pick(&target.channel, Some(account))
            .map_err(|error| Refusal::new(Code::ExecutionFailed, error.to_string(), ""))?;
        let parts = self.plan(adapter.as_ref(), rules, content, renderings).await?;
        Ok(match verdict {
            Verdict::Hold(held) => Judged::Asked(held, parts),
            _ => Judged::Sent(parts),
        })
    }

    /// The requests that a message becomes, with the words of what it answers where its platform wants them.
    pub(super) async fn plan(
        &self,
        adapter: &dyn Adapter,
        rules: &AgentRules,
        content: &Content<'_>,
        renderings: &Renderings,
    ) -> Result<Vec<NewPart>, Refusal> {
        let known = match content.reply_to.filter(|_| adapter.repeats_quotes()) {
            None => None,
            Some(id) => {
                let names = adapter.recorded_as(&content.target.address, id);
                let look =
                    |db: &rusqlite::Connection| quoted::known(db, content.target, content.account, &names);
                self.0.outbox.store().look(look).map_err(unavailable)?
            }
        };
        let quoted =
            known.as_ref().map(|known| Quoted { author: known.author.as_deref(), text: &known.text });
        let made = self.made_by(content);
        let content = Content { quoted, made_by: made.as_ref(), ..*content };
        blocking::run(content.bytes(), || plan::parts(adapter, rules, &content, renderings)).await
    }
}

/// What is to become of a message.
pub(super) enum Judged {
    /// It goes.
    Sent(Vec<NewPart>),
    /// A person is asked.
    Asked(Held, Vec<NewPart>),
    /// It does not go.
    Refused(Refusal),
}

/// Writes the verdict on an accepted message down, with its parts.
pub(super) fn settle(
    tx: &Transaction<'_>,
    message: MessageRow,
    judged: &Judged,
    terms: Terms,
) -> Result<MessageRow, TransitionError> {
    match judged {
        Judged::Sent(parts) => {
            transition::store_parts(tx, message.seq, parts)?;
            transition::apply_to(tx, message, &Change::hub(Event::Allow, None))
        }
        Judged::Asked(Held { why, by }, parts) => {
            let holding = Holding { message: &message, parts, reason: why, by: *by };
            let mut asked = ask(tx, &[holding], terms)?;
            Ok(asked.pop().unwrap_or(message))
        }
        Judged::Refused(refusal) => refuse(tx, message, refusal),
    }
}

/// Holds accepted messages, on as few cards as they fit; refuses those that no companion could show.
pub(super) fn ask(
    tx: &Transaction<'_>,
    all: &[Holding<'_>],
    terms: Terms,
) -> Result<Vec<MessageRow>, TransitionError> {
    let held = approval::hold(tx, all, terms)?.into_iter().zip(all);
    let after = held.map(|(held, holding)| match held {
        Ok(message) => Ok(message),
        Err(error) => {
            let refusal = Refusal::new(Code::TooLarge, error.to_string(), "shorten the message");
            refuse(tx, holding.message.clone(), &refusal)
        }
    });
    after.collect()
}

fn refuse(
    tx: &Transaction<'_>,
    message: MessageRow,
    refusal: &Refusal,
) -> Result<MessageRow, TransitionError> {
    let change = Change::hub(Event::Refuse, Some(&refusal.error)).code(refusal.code);
    transition::apply_to(tx, message, &change)
}

/// Says in the log what became of it.
pub(super) fn tell(message: &MessageRow) {
    match message.state {
        State::Ready => tracing::debug!("it waits for its lane"),
        State::Held => tracing::debug!("it waits for a person"),
        _ => tracing::info!(code = message.code, why = message.reason, "it is not sent"),
    }
}
