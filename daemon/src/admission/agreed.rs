//! A message that its operator has agreed to beforehand: the text of a heartbeat, for the target that the configuration names.
//!
//! It is judged as if its turn were in that conversation: the allowlist counts, and nobody is asked. A target that is on the `hold`
//! list is one about which a person is always asked, and then is asked here, too.

use std::sync::Arc;

use super::{
    plan::Renderings,
    submit::{Admission, Idempotency},
};
use crate::{
    message::{call::Call, receipt::Receipt, refusal::Refusal},
    pipeline::Pipeline,
    policy::{self, Origin, Scope, Source},
};

/// The turn of a text that its operator has agreed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreed {
    /// The agent's session.
    pub session: String,
    /// The turn.
    pub turn: String,
}

impl Pipeline {
    /// Takes a message that its operator has agreed to; the call names its target.
    ///
    /// # Errors
    /// As of any other message.
    pub async fn submit_agreed(
        &self,
        agent: &str,
        call: Call,
        Agreed { session, turn }: Agreed,
        idempotency: Idempotency,
    ) -> Result<Receipt, Refusal> {
        if let Some(receipt) = self.taken_before(agent, &idempotency).await? {
            return Ok(receipt);
        }
        self.pace_of(agent)?;
        let resolved = self.resolved(agent, &call, None).await?;
        let nowhere = policy::Provenance::default();
        let origin = match self.is_under_hold(&resolved.content(agent, &call, nowhere, &[], &[])).await? {
            // It is in no conversation, and a person is asked.
            true => None,
            false => Some(Origin {
                account: resolved.account,
                place: resolved.target,
                session: Some(session),
                turn: Some(turn),
                scope: Some(Scope::Owner),
                because: None,
            }),
        };
        match self.admitted_from(agent, call, Source { origin, least_trusted: None }, idempotency).await? {
            Admission::Before(receipt) => Ok(*receipt),
            Admission::New(admitted) if self.0.hooks.before_sending().next().is_some() => {
                self.accept_hooked(*admitted, Arc::default()).await
            }
            Admission::New(admitted) => {
                let judged = self.judge_new(&admitted.new, &Renderings::default()).await;
                self.accept(*admitted, judged).await
            }
        }
    }
}
