//! The channel `person`: a message to `person:owner` is a question, and arrives when a person has said yes.
//!
//! Policy holds every one of them, so what comes here was approved by a signature over its text. Nothing is done then: the answer is
//! all that was asked for. No call of the `message` tool can name the channel, and no approval of a question lets a message go.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{Undone, once::once};
use crate::{
    approval,
    channels::{
        Adapter, Capabilities, Delivered, Failure, IdScope, NotReady, OutgoingPart, PartKey, RateHints,
        Receiver, Redelivery, Refused, Sender, TargetError, formats::PLAIN, identity::Spelling,
    },
    message::target::PERSON,
    render::Flavour,
    store::Store,
};

/// Whoever answers for this hub: whoever has one of its approvers.
pub const OWNER: &str = "owner";

const CAPABILITIES: Capabilities =
    Capabilities { channel: PERSON, address_hint: "`owner`", ..Capabilities::PLAIN };

/// The question, as a person read it.
#[derive(Serialize, Deserialize)]
pub struct Request {
    question: String,
}

/// The channel.
pub struct Questions(Store);

/// Opens it over the hub's database.
pub fn open(store: &Store) -> Arc<dyn Adapter> {
    Arc::new(Questions(store.clone()))
}

#[async_trait]
impl Adapter for Questions {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn flavour(&self) -> Flavour {
        PLAIN
    }

    fn resolve(&self, address: &str) -> Result<String, TargetError> {
        (address == OWNER).then(|| OWNER.to_owned()).ok_or_else(|| TargetError::of(&CAPABILITIES, address))
    }

    fn identity(&self, address: &str) -> Spelling {
        Spelling::known(address)
    }

    fn scope(&self, _: &str) -> IdScope {
        IdScope::Conversation
    }

    async fn check_ready(&self) -> Result<String, NotReady> {
        Ok("the hub itself".into())
    }
}

#[async_trait]
impl Sender for Questions {
    type Request = Request;

    fn compose(&self, outgoing: &OutgoingPart<'_>) -> Result<Request, Refused> {
        Ok(Request { question: outgoing.part.text.clone() })
    }

    async fn deliver(&self, _: &Request, key: &PartKey, _: &mut RateHints) -> Result<Delivered, Failure> {
        once(&self.0, key, |tx, message, _| match approval::decided_by(tx, message.seq)? {
            // Whose voice it was is the owner's business.
            Some(_) => Ok("yes".into()),
            None => Err(Undone::Never("nobody has answered this".into())),
        })
        .await
    }

    fn redelivery(&self, _: &Request) -> Redelivery {
        Redelivery::Keyed(Duration::MAX)
    }
}

impl Receiver for Questions {}
