//! The channel `hub`: a message to `hub:ACTION/ARGUMENT` arrives by being done.
//!
//! Only the hub's own agent writes there: no configuration allows it to another, and no call can name it.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{
    Order, Undone, action,
    channel::{HubChannel, OwnChannel},
    once::once,
};
use crate::{
    channels::{Adapter, Capabilities, Delivered, Failure, OutgoingPart, PartKey, Refused},
    message::target::HUB,
    store::Store,
};

/// The longest argument, in bytes.
const MAX_ARGUMENT: usize = 64;

const CAPABILITIES: Capabilities = Capabilities {
    channel: HUB,
    address_hint: "an action and its argument, such as `let-in/1a2b3c4d`",
    ..Capabilities::PLAIN
};

/// What is done, and the words that a person read before it is.
#[derive(Serialize, Deserialize)]
struct Request {
    action: String,
    argument: String,
    text: String,
}

/// The channel.
struct Own(Store);

/// Opens it over the hub's database.
pub fn open(store: &Store) -> Arc<dyn Adapter> {
    Arc::new(HubChannel(Own(store.clone())))
}

/// An action that there is, and its argument.
fn parse(address: &str) -> Option<(&str, &str)> {
    let (name, argument) = address.split_once('/')?;
    let fits = (1..=MAX_ARGUMENT).contains(&argument.len())
        && argument.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    (fits && action(name).is_some()).then_some((name, argument))
}

#[async_trait]
impl OwnChannel for Own {
    type Request = Request;
    const CAPABILITIES: &'static Capabilities = &CAPABILITIES;

    fn has(&self, address: &str) -> bool {
        parse(address).is_some()
    }

    fn compose(&self, outgoing: &OutgoingPart<'_>) -> Result<Request, Refused> {
        let (action, argument) =
            parse(outgoing.address).ok_or_else(|| Refused::because("the hub has no such action"))?;
        Ok(Request { action: action.into(), argument: argument.into(), text: outgoing.part.text.clone() })
    }

    async fn perform(&self, request: &Request, key: &PartKey) -> Result<Delivered, Failure> {
        let Some(action) = action(&request.action) else {
            return Err(Failure::Permanent(format!("this release has no action {:?}", request.action)));
        };
        let argument = request.argument.clone();
        once(&self.0, key, move |tx, message, now| {
            if message.agent != HUB {
                return Err(Undone::Never("only the hub itself asks for this".into()));
            }
            action.perform(tx, &Order { argument: &argument, message, now })
        })
        .await
    }
}
