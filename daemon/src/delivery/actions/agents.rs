//! The channel `agent`: a message to `agent:NAME` arrives as a turn of that agent.
//!
//! It is there as soon as an entry of some agent's list names it, and its addresses are the agents of the configuration. Policy
//! judges it like any other channel.

use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{
    ask,
    channel::{HubChannel, OwnChannel},
    once::once,
};
use crate::{
    channels::{
        Adapter, Capabilities, Delivered, Failure, OutgoingPart, PartKey, Refused, received::MAX_TEXT_CHARS,
    },
    message::target::AGENT,
    store::Store,
    turns::wake::Wake,
};

const CAPABILITIES: Capabilities = Capabilities {
    channel: AGENT,
    threads: true,
    thread_is: "a session of the agent that asked: an answer there goes back to it",
    // An agent reads what the other one wrote.
    source: true,
    address_hint: "the name of an agent in the configuration",
    ..Capabilities::PLAIN
};

/// What is said, and to which agent. Who says it stands with the message, not here.
#[derive(Serialize, Deserialize)]
struct Request {
    agent: String,
    text: String,
}

/// The channel.
struct Agents {
    names: BTreeSet<String>,
    store: Store,
    wake: Wake,
}

/// Opens it for agents of these names.
pub fn open<'a>(names: impl Iterator<Item = &'a String>, store: &Store, wake: &Wake) -> Arc<dyn Adapter> {
    Arc::new(HubChannel(Agents { names: names.cloned().collect(), store: store.clone(), wake: wake.clone() }))
}

#[async_trait]
impl OwnChannel for Agents {
    type Request = Request;
    const CAPABILITIES: &'static Capabilities = &CAPABILITIES;

    fn has(&self, address: &str) -> bool {
        self.names.contains(address)
    }

    fn compose(&self, outgoing: &OutgoingPart<'_>) -> Result<Request, Refused> {
        if outgoing.source.agent == outgoing.address {
            return Err(Refused::because("an agent does not write to itself"));
        }
        let text = outgoing.source.markdown;
        if text.chars().nth(MAX_TEXT_CHARS).is_some() {
            return Err(Refused(format!("an agent is told at most {MAX_TEXT_CHARS} characters at once")));
        }
        Ok(Request { agent: outgoing.address.into(), text: text.into() })
    }

    async fn perform(&self, request: &Request, key: &PartKey) -> Result<Delivered, Failure> {
        if !self.names.contains(&request.agent) {
            return Err(Failure::Permanent(format!("there is no agent {:?} any more", request.agent)));
        }
        let (to, text) = (request.agent.clone(), request.text.clone());
        let done = once(&self.store, key, move |tx, message, now| ask::ask(tx, message, &to, &text, now));
        let delivered = done.await?;
        self.wake.tell();
        Ok(delivered)
    }
}
