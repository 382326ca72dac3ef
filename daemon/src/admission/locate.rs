//! Where the messages are that a call names: asked before the call is judged.
//!
//! Every operation on an existing message proves that the message is of the conversation that is judged, on every channel:
//! by what the hub has sent or heard there itself, which costs no request; by asking the platform; or because its request
//! names the conversation and the platform looks for the message there alone ([`IdScope`]). What is proven in none of these
//! ways is refused. A turn that is bound to a thread needs the thread besides; where nobody can say it, policy judges the
//! message as one of another thread.
//!
//! Whoever is refused is not told which conversation it was: it may be one that the agent knows nothing of.

use std::{sync::Arc, time::Duration};

use super::plan::Resolved;
use crate::{
    channels::{Adapter, EditForm, IdScope, Located},
    message::{
        call::Call,
        operation::Operation,
        refusal::{Code, Refusal},
    },
    outbox::{edits::Edited, located::Recorded},
    pipeline::{Pipeline, unavailable},
    policy::{Location, Origin, Touched},
    store::StoreError,
};

/// For a platform's answer: a caller waits for it.
const ASKING: Duration = Duration::from_secs(10);

/// Why a message may not be named, in the refusal's own field.
const ELSEWHERE: &str = "message_elsewhere";

impl Pipeline {
    /// Names the messages of a call as the hub does, and gives an edit what it must have of the message: where an edit is a
    /// message of its own, its id means the one that was edited, and what that quotes is quoted again.
    pub(super) fn name_edited(&self, resolved: &Resolved, call: &mut Call) -> Result<(), Refusal> {
        let Resolved { target, account, .. } = resolved;
        let adapter = self.adapter_of(resolved)?;
        let form = adapter.capabilities().edits;
        if !form.has_own_id() {
            return Ok(());
        }
        let names = |message: &str| adapter.recorded_as(&target.address, message);
        for named in call.operation.message_mut().into_iter().chain(call.reply_to.as_mut()) {
            let edited = Edited { account, target, names: &names(named) };
            if let Some(first) = self.0.outbox.store().look(|db| edited.first(db)).map_err(unavailable)? {
                *named = first;
            }
        }
        Ok(())
    }

    /// What an edit quotes, because the message does that it is of.
    pub(super) fn quoted_again(&self, resolved: &Resolved, call: &Call) -> Result<Option<String>, Refusal> {
        let (Resolved { target, account, .. }, Operation::Edit { message }) = (resolved, &call.operation)
        else {
            return Ok(None);
        };
        let adapter = self.adapter_of(resolved)?;
        if adapter.capabilities().edits != EditForm::Revision {
            return Ok(None);
        }
        let names = adapter.recorded_as(&target.address, message);
        let edited = Edited { account, target, names: &names };
        self.0.outbox.store().look(|db| edited.quote(db)).map_err(unavailable)
    }

    /// The messages that a call names, and where each is in the conversation that it goes to.
    ///
    /// # Errors
    /// One is not there, or nobody can say that it is.
    pub(super) async fn locate(
        &self,
        origin: Option<&Origin>,
        resolved: &Resolved,
        call: &Call,
    ) -> Result<Vec<Touched>, Refusal> {
        let named = call.operation.message().into_iter().chain(call.reply_to.as_deref());
        let mut touched: Vec<Touched> = Vec::new();
        for message in named {
            if touched.iter().all(|other| other.message != message) {
                let location = self.location(origin, resolved, message).await?;
                touched.push(Touched { message: message.to_owned(), location });
            }
        }
        Ok(touched)
    }

    /// The adapter of the account that a call goes from.
    pub(super) fn adapter_of(&self, resolved: &Resolved) -> Result<&Arc<dyn Adapter>, Refusal> {
        let picked = self.0.accounts.pick(&resolved.target.channel, Some(&resolved.account));
        picked.map(|(_, adapter)| adapter).map_err(super::submit::no_account)
    }

    async fn location(
        &self,
        origin: Option<&Origin>,
        resolved: &Resolved,
        message: &str,
    ) -> Result<Location, Refusal> {
        let Resolved { target, account, .. } = resolved;
        let adapter = self.adapter_of(resolved)?;
        let (can, scope) = (adapter.capabilities(), adapter.scope(message));
        if scope == IdScope::Thread {
            return Ok(Location::of(target.thread.clone()));
        }
        let names = adapter.recorded_as(&target.address, message);
        let recorded =
            Recorded { account, target, names: &names, answers_are_threads: can.answers_are_threads };
        let look = |db: &rusqlite::Connection| {
            let here = recorded.here(db)?;
            let elsewhere = here.is_none() && scope == IdScope::Account && recorded.anywhere(db)?;
            Ok::<_, StoreError>((here, elsewhere))
        };
        let (here, elsewhere) = self.0.outbox.store().look(look).map_err(unavailable)?;
        if elsewhere {
            return Err(not_there(message, resolved));
        }
        let proven = here.is_some() || scope == IdScope::Conversation;
        let known = here.unwrap_or(if can.threads { Location::Unknown } else { Location::Outside });
        // Where it is within the conversation matters to a turn that is bound to a thread of it.
        let thread = origin
            .filter(|origin| origin.is_at(account, target))
            .and_then(|origin| origin.place.thread.as_deref());
        let touched = Touched { message: message.to_owned(), location: known };
        let enough =
            touched.location != Location::Unknown || thread.is_none_or(|thread| touched.is_in(thread));
        if proven && enough {
            return Ok(touched.location);
        }
        match asked(adapter.as_ref(), &target.address, message).await {
            Ok(Located::Here { thread }) => Ok(Location::of(thread)),
            Ok(Located::Elsewhere) => Err(not_there(message, resolved)),
            Ok(Located::Unknown) if proven => Ok(touched.location),
            Ok(Located::Unknown) => Err(not_there(message, resolved)),
            Err(why) if proven => {
                tracing::info!(%why, "the thread of a message could not be asked for");
                Ok(touched.location)
            }
            Err(why) => {
                let error =
                    format!("whether message {message} is in {} could not be asked: {why}", resolved.target);
                let hint = "nothing was done; try again later";
                Err(Refusal::new(Code::ExecutionFailed, error, hint).because("message_not_located"))
            }
        }
    }
}

/// What the platform says, within its time.
async fn asked(adapter: &dyn Adapter, address: &str, message: &str) -> Result<Located, String> {
    match tokio::time::timeout(ASKING, adapter.locate(address, message)).await {
        Ok(Ok(located)) => Ok(located),
        Ok(Err(failure)) => Err(failure.to_string()),
        Err(_) => Err("no answer in time".into()),
    }
}

/// The same words for what is elsewhere and for what there is not.
fn not_there(message: &str, resolved: &Resolved) -> Refusal {
    let place = format!("{}:{}", resolved.target.channel, resolved.target.address);
    let error = format!("message {message} is not known to be in {place}");
    let hint = "name a message that was sent there by this hub, or handed in with its id; for one of another conversation, name that one as the target";
    Refusal::new(Code::Forbidden, error, hint).because(ELSEWHERE)
}
