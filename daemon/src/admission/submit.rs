//! The checks on admission, and the write that precedes the answer.

use std::sync::Arc;

use tokio::sync::oneshot;
use tracing::{Instrument as _, Span};

use super::{
    plan::{self, Content, Renderings, Resolved},
    prepare::{Judged, PREPARED, settle, tell},
};
use crate::{
    channels::account::{NoAccount, OnUnknown},
    files::Staged,
    message::{
        MessageId,
        attachment::Attachment,
        call::Call,
        operation::Operation,
        receipt::{PartReceipt, Receipt},
        refusal::{Code, NO_ACCOUNT, Refusal},
        state::{PartState, State},
        target::Target,
    },
    outbox::{
        accept::{AcceptError, Accepted},
        bounds::Full,
        new_message::{NewMessage, SaidIn},
        receipt, receipt_of,
        row::Lane,
    },
    pipeline::{Pipeline, unavailable},
    policy::{self, Origin, Source, Touched, Verdict},
    sessions::{self, place::Place},
    store::{StoreError, now_ms},
    turns::{lease, trust},
};

/// A caller's own name for a call, and what the call said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    /// The name, if it gave one.
    pub key: Option<String>,
    /// SHA-256 of the call; zeros without a name.
    pub fingerprint: [u8; 32],
}

impl Idempotency {
    /// A call without a name: none is the repetition of it.
    pub const NONE: Self = Self { key: None, fingerprint: [0; 32] };
}

/// A call that passed the checks on admission.
pub(super) enum Admission {
    /// It was taken before.
    Before(Box<Receipt>),
    /// It is to be written down.
    New(Box<Admitted>),
}

/// A message that is to be written down.
pub(super) struct Admitted {
    pub(super) new: NewMessage,
    /// Keeps its files until it is.
    pub(super) staged: Vec<Staged>,
    pub(super) lane: Lane,
    pub(super) span: Span,
}

impl Pipeline {
    /// Takes a message: checks it, writes it down, and judges it. The receipt says how far it has come by then.
    pub async fn submit(
        &self,
        agent: &str,
        call: Call,
        idempotency: Idempotency,
    ) -> Result<Receipt, Refusal> {
        let mut answers = self.submit_all(agent, vec![(call, idempotency)]).await;
        answers.pop().expect("each call has an answer")
    }

    /// The checks on admission. What is refused here leaves nothing behind.
    pub(super) async fn admitted(
        &self,
        agent: &str,
        call: Call,
        idempotency: Idempotency,
    ) -> Result<Admission, Refusal> {
        // First: a repeated call gets its receipt, also when what it stood on is gone by now.
        if let Some(receipt) = self.taken_before(agent, &idempotency).await? {
            return Ok(Admission::Before(Box::new(receipt)));
        }
        self.pace_of(agent)?;
        let source = self.source_of(agent, &call).await?;
        self.admitted_from(agent, call, source, idempotency).await
    }

    /// The checks after these, of a call that comes from there.
    pub(super) async fn admitted_from(
        &self,
        agent: &str,
        mut call: Call,
        source: Source,
        idempotency: Idempotency,
    ) -> Result<Admission, Refusal> {
        let origin = source.origin.as_ref();
        let resolved = self.admit(agent, &call, source.provenance()).await?;
        self.name_edited(&resolved, &mut call)?;
        let (touched, asks) = self.touched(agent, &call, source.provenance(), &resolved).await?;
        // It was judged with the message that it is of.
        if call.reply_to.is_none() {
            call.reply_to = self.quoted_again(&resolved, &call)?;
        }
        // Only for who may send it, and where it can go.
        let staged = self.stage(agent, &mut call, origin, &resolved, &touched).await?;
        let Target { channel, address, .. } = resolved.target.clone();
        let lane = Lane { channel, account: resolved.account.clone(), address };
        let ttl = call.ttl.unwrap_or(self.0.ttl).min(self.0.ttl);
        // The id comes with the row. What was taken before keeps its own.
        let span = tracing::info_span!("message", id = tracing::field::Empty, agent);
        let resend = call.resend.unwrap_or_else(|| {
            self.0.accounts.on_unknown(&resolved.target.channel, &resolved.account) == OnUnknown::Resend
        });
        let account_is = self.0.accounts.fingerprint(&resolved.target.channel, &resolved.account);
        let said_in = self.said_in(agent, &call.operation, origin, &resolved);
        let new = NewMessage {
            id: MessageId::new(),
            agent: agent.to_owned(),
            action: call.action.word(),
            operation: call.operation,
            target: resolved.target,
            account: resolved.account,
            account_is,
            known_as: resolved.known_as,
            written_as: resolved.written_as,
            unidentified: resolved.unidentified,
            reply_to: call.reply_to,
            silent: call.silent,
            origin: source.origin,
            least_trusted: source.least_trusted,
            said_in,
            text: call.text,
            attachments: attachments(&staged),
            deadline: now_ms().saturating_add(i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX)),
            idempotency_key: idempotency.key,
            fingerprint: idempotency.fingerprint,
            best_effort: call.best_effort,
            resend,
            touched,
            asks,
        };
        Ok(Admission::New(Box::new(Admitted { new, staged, lane, span })))
    }

    /// The session that a message is said in: that of its turn where it stays in the conversation, else that of where it goes. The
    /// agent's route there names it, as it does for what people write.
    fn said_in(
        &self,
        agent: &str,
        operation: &Operation,
        origin: Option<&Origin>,
        resolved: &Resolved,
    ) -> SaidIn {
        let (account, target) = (&resolved.account, &resolved.target);
        if let Some(origin) =
            origin.filter(|of| of.is_at(account, target) && of.place.thread == target.thread)
        {
            return SaidIn::Turn(origin.session.clone());
        }
        if !operation.says_something() {
            return SaidIn::None;
        }
        let Target { channel, address, thread } = target.clone();
        let place = Place { channel, account: account.clone(), address, thread };
        let opened = self.0.routing.session_at(agent, &place);
        SaidIn::Destination { place, opened }
    }

    /// Writes a message down that was judged and that nobody is asked about.
    pub(super) async fn accept(&self, admitted: Admitted, judged: Judged) -> Result<Receipt, Refusal> {
        let Admitted { new, staged, span, .. } = admitted;
        if staged.is_empty() {
            return self.accept_judged(new, judged).instrument(span).await;
        }
        // Its files are kept until it is on disk, also for a caller that hangs up meanwhile.
        let pipeline = self.clone();
        let accept = async move {
            let receipt = pipeline.accept_judged(new, judged).await;
            drop(staged);
            receipt
        };
        tokio::spawn(accept.instrument(span)).await.map_err(|_| unavailable(StoreError::Closed))?
    }

    /// The receipt of the message that was taken for this call before, by the name that its caller gave it.
    ///
    /// # Errors
    /// The name stands for another call.
    pub async fn taken_before(
        &self,
        agent: &str,
        Idempotency { key, fingerprint }: &Idempotency,
    ) -> Result<Option<Receipt>, Refusal> {
        let Some(key) = key else { return Ok(None) };
        let before = self.0.outbox.accepted_before(agent, key, *fingerprint).await.map_err(not_accepted)?;
        match before {
            Some(seq) => self.receipt(seq).await.map(Some).map_err(unavailable),
            None => Ok(None),
        }
    }

    /// What is to become of a message that no hook changes.
    pub(super) async fn judge_new(&self, new: &NewMessage, renderings: &Renderings) -> Judged {
        let content = Content {
            id: Some(&new.id.0),
            agent: &new.agent,
            target: &new.target,
            written_as: new.written_as.as_deref(),
            unidentified: new.unidentified.as_deref(),
            account: &new.account,
            reply_to: new.reply_to.as_deref(),
            quoted: None,
            silent: new.silent,
            from: new.provenance(),
            operation: &new.operation,
            text: &new.text,
            attachments: &new.attachments,
            made_by: None,
            touched: &new.touched,
        };
        self.judge(&content, renderings).await
    }

    /// Takes a message that no hook changes: its verdict is written with it.
    async fn accept_judged(&self, new: NewMessage, judged: Judged) -> Result<Receipt, Refusal> {
        let (outbox, terms) = (&self.0.outbox, self.0.approvals.terms());
        let accepted = match judged {
            Judged::Sent(parts) => {
                let planned = PartReceipt::new(State::Ready, PartState::Planned, None);
                let planned = vec![planned; parts.len()];
                let accepted = outbox.accept_released(new, parts).await.map_err(not_accepted)?;
                accepted.map(|message| (message.clone(), receipt_of(message, planned)))
            }
            judged => {
                let accepted = outbox.accept_and(new, move |tx, message| {
                    let message = settle(tx, message, &judged, terms)?;
                    Ok((message.clone(), receipt(tx, message)?))
                });
                accepted.await.map_err(not_accepted)?
            }
        };
        match accepted {
            Accepted::New((message, receipt)) => {
                tell(&message);
                let receipt = match outbox.wait_of(&message).map_err(unavailable)? {
                    Some(wait) => wait.told(receipt),
                    None => receipt,
                };
                self.0.approvals.explain(receipt).map_err(unavailable)
            }
            Accepted::Before(seq) => self.receipt(seq).await.map_err(unavailable),
            Accepted::Same(seq) => self.same(seq).await,
        }
    }

    /// Takes a message, and asks the hooks about it. On a task of its own: a caller that hangs up does not leave its
    /// message half-way, and its files are kept until it is on disk.
    pub(super) async fn accept_hooked(
        &self,
        admitted: Admitted,
        renderings: Arc<Renderings>,
    ) -> Result<Receipt, Refusal> {
        let Admitted { new, staged, lane, span } = admitted;
        let (pipeline, (told, accepted)) = (self.clone(), oneshot::channel());
        let prepared = async move {
            let accepted = pipeline.0.outbox.accept(new).await;
            drop(staged);
            let turn = matches!(accepted, Ok(Accepted::New(_))).then(|| pipeline.turn(lane)).flatten();
            let new = accepted.as_ref().ok().copied();
            // Who asked may have gone.
            let _ = told.send(accepted);
            if let Some(Accepted::New(seq)) = new {
                pipeline.prepare(seq, turn, &renderings).await;
            }
        };
        let prepared = tokio::spawn(prepared.instrument(span));
        let accepted = accepted.await.map_err(|_| unavailable(StoreError::Closed))?;
        let seq = match accepted.map_err(not_accepted)? {
            Accepted::New(seq) | Accepted::Before(seq) => seq,
            Accepted::Same(seq) => return self.same(seq).await,
        };
        // It goes on after this; the receipt then says `accepted`.
        let _ = tokio::time::timeout(PREPARED, prepared).await;
        self.receipt(seq).await.map_err(unavailable)
    }

    /// The receipt of a message, for a call that repeats it.
    pub(super) async fn same(&self, seq: i64) -> Result<Receipt, Refusal> {
        let receipt = self.receipt(seq).await.map_err(unavailable)?;
        Ok(Receipt { deduplicated: true, ..receipt })
    }

    /// Takes the files of a call, and looks whether they fit where it goes.
    pub(super) async fn stage(
        &self,
        agent: &str,
        call: &mut Call,
        origin: Option<&Origin>,
        resolved: &Resolved,
        touched: &[Touched],
    ) -> Result<Vec<Staged>, Refusal> {
        let asked = std::mem::take(&mut call.attachments);
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let (rules, Resolved { target, account, .. }) = (self.rules(agent), resolved);
        let adapter = self.adapter_of(resolved)?;
        let prefix = plan::whose(rules, agent, origin, account, target, touched);
        let most = self.0.files.longest_spoken();
        let asked = plan::apart(adapter.as_ref(), prefix.as_deref(), most, asked)?;
        let staged = self.0.files.stage(agent, &rules.sources, asked).await?;
        plan::fits(adapter.as_ref(), staged.iter().map(|file| &file.attachment))?;
        Ok(staged)
    }

    /// The conversation that a context stands for, if it is this agent's and still valid.
    pub async fn origin(&self, agent: &str, context: &str) -> Result<Origin, Refusal> {
        let origin = sessions::origin(self.0.outbox.store(), agent, context).await.map_err(unavailable)?;
        let origin = origin.map_err(|error| {
            let hint = "give the context that came with the message of this turn";
            Refusal::new(Code::Forbidden, error.to_string(), hint).because("context")
        })?;
        if let Some(turn) = &origin.turn {
            self.keep_turn(turn).await.map_err(unavailable)?;
        }
        // Who was shut out since they wrote, or is nobody's any more, has no more say than a stranger.
        let people = &self.0.routing.people;
        let now =
            self.outbox().store().look(|db| trust::of_context(db, people, context)).map_err(unavailable)?;
        Ok(Origin { scope: origin.scope.into_iter().chain(now).min(), ..origin })
    }

    /// Keeps the turn that a call belongs to: whoever calls is at work. Written down only if it is time to prolong its lease.
    async fn keep_turn(&self, turn: &str) -> Result<(), StoreError> {
        let store = self.outbox().store();
        let until = store.look(|db| lease::until(db, turn))?;
        let next = self.0.routing.lease_until(now_ms());
        if until.is_none_or(|until| next - until < self.0.routing.renewal_ms()) {
            return Ok(());
        }
        let turn = turn.to_owned();
        store.write(move |tx| lease::renew(tx, &turn, next)).await
    }

    /// Where a call comes from. Only the context of a turn at work tells that for sure: without one, and with that of a turn that
    /// has ended, it may be from any turn that the agent is at, and the least trusted of them counts.
    pub(super) async fn source_of(&self, agent: &str, call: &Call) -> Result<Source, Refusal> {
        let origin = match &call.context {
            Some(context) => Some(self.identified_origin(self.origin(agent, context).await?).await?),
            None => None,
        };
        let turn = origin.as_ref().and_then(|origin| origin.turn.as_deref());
        let least_trusted = self
            .0
            .outbox
            .store()
            .look(|db| sessions::least_trusted_at_work(db, &self.0.routing.people, agent, turn))
            .map_err(unavailable)?;
        Ok(Source { origin, least_trusted })
    }

    /// Where a call goes, as whom its platform knows.
    pub(super) async fn resolved(
        &self,
        agent: &str,
        call: &Call,
        origin: Option<&Origin>,
    ) -> Result<Resolved, Refusal> {
        let resolved = plan::resolve(call, origin, self.rules(agent), &self.0.accounts, &self.0.book);
        let resolved = resolved.map_err(|refusal| self.with_its_section(agent, refusal))?;
        self.identified(resolved, &call.operation).await
    }

    /// What is refused here leaves nothing in the queue.
    async fn admit(
        &self,
        agent: &str,
        call: &Call,
        source: policy::Provenance<'_>,
    ) -> Result<Resolved, Refusal> {
        let resolved = self.resolved(agent, call, source.origin).await?;
        if let Verdict::Deny(refusal) = self.verdict(&resolved.content(agent, call, source, &[], &[])).await?
        {
            return Err(self.with_its_section(agent, refusal));
        }
        let adapter = self.adapter_of(&resolved)?;
        plan::check(adapter.as_ref(), call, &resolved)?;
        plan::check_mentions(adapter.as_ref(), call).await?;
        Ok(resolved)
    }

    /// Where the messages are that an admitted call names, and whether a person has to be asked, unless it is refused for that.
    async fn touched(
        &self,
        agent: &str,
        call: &Call,
        source: policy::Provenance<'_>,
        resolved: &Resolved,
    ) -> Result<(Vec<Touched>, bool), Refusal> {
        let touched = self.locate(source.origin, resolved, call).await?;
        match self.verdict(&resolved.content(agent, call, source, &[], &touched)).await? {
            Verdict::Deny(refusal) => Err(self.with_its_section(agent, refusal)),
            Verdict::Allow(_) => Ok((touched, false)),
            Verdict::Hold(_) => Ok((touched, true)),
        }
    }

    /// Refuses an agent that hands in more than it may.
    pub(super) fn pace_of(&self, agent: &str) -> Result<(), Refusal> {
        let per_minute = self.rules(agent).per_minute;
        self.0.rates.take(agent, per_minute, std::time::Instant::now()).map_err(|left| {
            let error = format!("{agent} may hand in {per_minute} messages a minute, and has");
            let hint = format!("wait {} s, and put what you have to say into fewer", left.as_secs() + 1);
            Refusal::new(Code::RateLimited, error, hint).because("agent_rate")
        })
    }

    /// A refusal by the rules, which says so where there are none for this agent.
    pub(super) fn with_its_section(&self, agent: &str, refusal: Refusal) -> Refusal {
        if self.knows(agent) || refusal.reason != Some("not_allowed") {
            return refusal;
        }
        let hint = format!(
            "this agent has no section in the configuration: ask the operator to add [agents.{agent}] with an allowlist, and to run: gatepost reload"
        );
        Refusal { hint, ..refusal }
    }
}

pub(super) fn attachments(staged: &[Staged]) -> Vec<Attachment> {
    staged.iter().map(|file| file.attachment.clone()).collect()
}

pub(super) fn no_account(error: NoAccount) -> Refusal {
    Refusal::new(Code::ExecutionFailed, error.to_string(), "ask the operator to configure it")
        .because(NO_ACCOUNT)
}

pub(super) fn not_accepted(error: AcceptError) -> Refusal {
    match error {
        AcceptError::KeyReused(_) => {
            let hint = "use a new key for a new message; the same key only for the very same call";
            Refusal::new(Code::Conflict, error.to_string(), hint)
        }
        AcceptError::Full(full) => no_room(full),
        AcceptError::Illegal(error) => {
            Refusal::new(Code::ExecutionFailed, error.to_string(), "nothing was taken; try again")
        }
        AcceptError::Store(error) => match error.room() {
            Some(room) => no_room(Full::Disk(room)),
            None => unavailable(error),
        },
    }
}

/// Nothing was taken, because there is no room for it.
pub(crate) fn no_room(full: Full) -> Refusal {
    Refusal::new(Code::QueueFull, full.to_string(), full.hint()).because(full.reason())
}
