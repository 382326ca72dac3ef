//! A decision of a companion or a passkey: whether it counts, and what became of it. One that does not count is reported in the audit.

mod by_passkey;
mod consume;
mod effect;

use gatepost_link::{
    decision::{Decision, PublicKey},
    session::SessionHash,
};
use serde_json::json;

pub use self::by_passkey::{Counted, Signed};
use self::consume::consume;
use super::{Approvals, passkeys::assertion::Unsigned};
use crate::{
    audit::{self, Entry},
    message::state::State,
    outbox::transition::TransitionError,
    policy::Deciders,
    store::StoreError,
};

/// What became of a decision that is genuine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It has taken effect, now or when it came the first time; or it counts, and others must approve as well.
    Consumed,
    /// The request was over before it came.
    Over(State),
}

/// Why a decision does not count.
#[derive(Debug, thiserror::Error)]
pub enum DecisionError {
    /// No such request was ever made.
    #[error("no such request")]
    Request,
    /// The device is not registered, or not any more, or it is a program where none may decide.
    #[error("this device may not decide")]
    Device,
    /// The device speaks an older version of the link: its firmware may approve what nobody has read.
    #[error(
        "this companion's firmware is too old: update it (firmware/README.md); its approvals are not taken"
    )]
    Firmware,
    /// The signature is not this device's over this document in this session.
    #[error("the signature does not fit")]
    Signature,
    /// The counter is not above that of the last decision.
    #[error("the counter went back: a replayed decision or a cloned device")]
    Counter,
    /// The configuration does not let passkeys decide.
    #[error("passkeys do not decide here")]
    Web,
    /// The rules have others decide on this.
    #[error("this is decided by {0}")]
    Kind(Deciders),
    /// The passkey is not known, or not any more.
    #[error("this passkey is not known here, or was removed")]
    Passkey,
    /// It is about something that was not on the card.
    #[error("the decision is about another document than the one that was shown for this request")]
    Document,
    /// What the passkey signed does not count.
    #[error(transparent)]
    Unsigned(#[from] Unsigned),
    /// The request was over before the passkey's decision came.
    #[error("this was over before: it is {0}")]
    Over(State),
    /// The message's row.
    #[error(transparent)]
    Transition(#[from] TransitionError),
}

impl From<StoreError> for DecisionError {
    fn from(error: StoreError) -> Self {
        Self::Transition(error.into())
    }
}

impl From<rusqlite::Error> for DecisionError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Transition(error.into())
    }
}

impl Approvals {
    /// Takes a decision that `device` gave in `session`.
    ///
    /// A decision that does not count changes nothing but the audit.
    pub async fn decide(
        &self,
        device: PublicKey,
        session: SessionHash,
        decision: Decision,
    ) -> Result<Outcome, DecisionError> {
        let (hub, who) = (self.hub, self.who);
        let taken =
            self.outbox.store().write(move |tx| consume(tx, hub, who, device, session, decision)).await;
        match taken {
            Ok((messages, outcome)) => {
                messages.into_iter().for_each(|seq| self.outbox.changed(seq));
                Ok(outcome)
            }
            Err(error) => {
                // What only a second device with the same keys, or an old copy of its memory, can have sent.
                let event = match error {
                    DecisionError::Counter => audit::Event::DeviceCloned,
                    _ => audit::Event::DecisionRejected,
                };
                self.report(event, device, &decision, error.to_string()).await?;
                Err(error)
            }
        }
    }

    async fn report(
        &self,
        event: audit::Event,
        device: PublicKey,
        decision: &Decision,
        why: String,
    ) -> Result<(), StoreError> {
        let detail = json!({
            "device": crate::random::to_hex(&device.0), "request": decision.request.to_string(),
            "counter": decision.counter, "why": why,
        });
        self.outbox
            .store()
            .write(move |tx| audit::append(tx, &Entry { actor: "hub", event, message: None, detail }))
            .await
    }
}

#[cfg(test)]
mod tests {
    use gatepost_link::decision::Verdict::{Approve, Deny};

    use super::{super::Terms, super::testing::Fixture, *};

    #[tokio::test]
    async fn firmware_that_is_too_old_may_deny_and_not_approve() {
        let mut fixture = Fixture::with(&[(7, "hall")], Terms::default()).await;
        let (first, second) = (fixture.hold("first").await, fixture.hold("second").await);
        fixture.tamper("UPDATE devices SET version = 3").await;
        let refused = fixture.decide_as(7, first, Approve, 1).await;
        assert!(matches!(refused, Err(DecisionError::Firmware)), "{refused:?}");
        assert_eq!(fixture.state(first).await, State::Held);
        let told = fixture.audit("decision.rejected").await;
        assert!(told.len() == 1 && told[0].1["why"].as_str().unwrap().contains("too old"), "{told:?}");
        fixture.decide_as(7, second, Deny, 2).await.unwrap();
        assert_eq!(fixture.state(second).await, State::Denied);
        fixture.tamper("UPDATE devices SET version = 4").await;
        fixture.decide_as(7, first, Approve, 3).await.unwrap();
        assert_eq!(fixture.state(first).await, State::Ready);
    }
}
