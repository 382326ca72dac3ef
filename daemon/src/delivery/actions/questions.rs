//! The channel `person`: a message to `person:owner` is a question, and arrives when a person has said yes.
//!
//! Policy holds every one of them, so what comes here was approved by a signature over its text. Nothing is done then: the answer is
//! all that was asked for. No call of the `message` tool can name the channel, and no approval of a question lets a message go.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{
    Undone,
    channel::{HubChannel, OwnChannel},
    once::once,
};
use crate::{
    approval,
    channels::{Adapter, Capabilities, Delivered, Failure, OutgoingPart, PartKey, Refused},
    message::target::PERSON,
    store::Store,
};

/// Whoever answers for this hub: whoever has one of its approvers.
pub const OWNER: &str = "owner";

const CAPABILITIES: Capabilities =
    Capabilities { channel: PERSON, address_hint: "`owner`", ..Capabilities::PLAIN };

/// The question, as a person read it.
#[derive(Serialize, Deserialize)]
struct Request {
    question: String,
}

/// The channel.
struct Questions(Store);

/// Opens it over the hub's database.
pub fn open(store: &Store) -> Arc<dyn Adapter> {
    Arc::new(HubChannel(Questions(store.clone())))
}

#[async_trait]
impl OwnChannel for Questions {
    type Request = Request;
    const CAPABILITIES: &'static Capabilities = &CAPABILITIES;

    fn has(&self, address: &str) -> bool {
        address == OWNER
    }

    fn compose(&self, outgoing: &OutgoingPart<'_>) -> Result<Request, Refused> {
        Ok(Request { question: outgoing.part.text.clone() })
    }

    async fn perform(&self, _: &Request, key: &PartKey) -> Result<Delivered, Failure> {
        once(&self.0, key, |tx, message, _| match approval::decided_by(tx, message.seq)? {
            // Whose voice it was is the owner's business.
            Some(_) => Ok("yes".into()),
            None => Err(Undone::Never("nobody has answered this".into())),
        })
        .await
    }
}
