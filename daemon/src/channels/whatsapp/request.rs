//! Which way a message goes, and what it becomes there.
//!
//! The way is chosen when the message is composed, from what is known then, and is part of what is stored, as is the same by
//! the second way, for when the first turns out not to be ready: whoever approves sees both, and nothing changes them
//! afterwards. What only one way has goes that way; so does what is done to a message that came that way.

use serde_json::Value;

use super::{
    Route, Template, cloud, evolution,
    target::{MessageId, is_user},
};
pub(super) use crate::channels::refused;
use crate::{
    channels::{OperationRequest, OutgoingPart},
    message::operation::Operation,
};

/// A message whose id cannot be read.
pub(super) const NO_MESSAGE: &str =
    "there is no such message: write its id, or number/id for one that somebody else wrote";

/// Which ways there are, and which is taken where nothing else decides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Routes {
    pub(super) cloud: bool,
    pub(super) evolution: bool,
    pub(super) first: Route,
}

impl Routes {
    /// The way of a message, and whether there is that one.
    fn pick(self, wanted: Option<Route>) -> Result<Route, Value> {
        let way = wanted.unwrap_or(self.first);
        let there = match way {
            Route::Cloud => self.cloud,
            Route::Evolution => self.evolution,
        };
        if there { Ok(way) } else { Err(refused("that message did not come by a way that this account has")) }
    }
}

/// A new message.
pub(super) fn compose(
    ways: Routes,
    outgoing: &OutgoingPart<'_>,
    previews: bool,
    template: Option<&Template>,
) -> Value {
    let group = outgoing.address.ends_with("@g.us");
    let answered = outgoing.reply_to.and_then(MessageId::read).map(|id| id.way());
    // What the first does not take, the second does.
    let foreign = ways.evolution && outgoing.files.iter().any(|file| !cloud::takes(file));
    let wanted = if group {
        Some(Route::Evolution)
    } else if is_user(outgoing.address) {
        // The other way knows numbers alone; what it alone takes is refused.
        Some(Route::Cloud)
    } else if outgoing.extras.buttons.is_empty() {
        answered.or(foreign.then_some(Route::Evolution))
    } else {
        Some(Route::Cloud)
    };
    match ways.pick(wanted) {
        Ok(Route::Cloud) => {
            let mut request = cloud::compose(outgoing, previews, template);
            if wanted.is_none() && ways.evolution && request["way"].is_string() {
                let otherwise = evolution::compose(outgoing, previews);
                if otherwise["way"].is_string() {
                    request["otherwise"] = otherwise;
                }
            }
            request
        }
        Ok(Route::Evolution) => evolution::compose(outgoing, previews),
        Err(refused) => refused,
    }
}

/// Anything else.
pub(super) fn compose_operation(ways: Routes, op: &OperationRequest<'_>) -> Option<Value> {
    let user = is_user(op.address);
    let wanted = match op.operation {
        Operation::Poll(_) | Operation::Delete { .. } if user => {
            return Some(refused("by the Cloud API, which alone reaches a user id, there is no such thing"));
        }
        Operation::React { message, .. } if user => match MessageId::read(message).map(|id| id.way()) {
            Some(Route::Evolution) => return Some(refused(NO_MESSAGE)),
            way => way,
        },
        Operation::Poll(_) if ways.evolution => Some(Route::Evolution),
        Operation::React { message, .. } => MessageId::read(message).map(|id| id.way()),
        Operation::Delete { message } if ways.evolution => {
            match MessageId::read(message).map(|id| id.way()) {
                Some(Route::Cloud) => {
                    return Some(refused("the Cloud API cannot remove a message that it has sent"));
                }
                _ => Some(Route::Evolution),
            }
        }
        _ => return None,
    };
    match ways.pick(wanted) {
        Ok(Route::Cloud) => cloud::compose_operation(op),
        Ok(Route::Evolution) => evolution::compose_operation(op),
        Err(refused) => Some(refused),
    }
}
