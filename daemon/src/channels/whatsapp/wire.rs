//! Which way a message goes, and what it becomes there.
//!
//! The way is chosen when the message is composed, from what is known then, and is part of what is stored, as is the same by
//! the second way, for when the first turns out not to be ready: whoever approves sees both, and nothing changes them
//! afterwards. What only one way has goes that way; so does what is done to a message that came that way.

use serde_json::Value;

use super::{
    Template, Way, cloud, evolution,
    target::{MessageId, is_user},
};
pub(super) use crate::channels::refused;
use crate::{
    channels::{Act, Letter},
    message::deed::Deed,
};

/// A message whose id cannot be read.
pub(super) const NO_MESSAGE: &str =
    "there is no such message: write its id, or number/id for one that somebody else wrote";

/// Which ways there are, and which is taken where nothing else decides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ways {
    pub(super) cloud: bool,
    pub(super) evolution: bool,
    pub(super) first: Way,
}

impl Ways {
    /// The way of a message, and whether there is that one.
    fn pick(self, wanted: Option<Way>) -> Result<Way, Value> {
        let way = wanted.unwrap_or(self.first);
        let there = match way {
            Way::Cloud => self.cloud,
            Way::Evolution => self.evolution,
        };
        if there { Ok(way) } else { Err(refused("that message did not come by a way that this account has")) }
    }
}

/// A new message.
pub(super) fn compose(ways: Ways, letter: &Letter<'_>, previews: bool, template: Option<&Template>) -> Value {
    let group = letter.address.ends_with("@g.us");
    let answered = letter.reply_to.and_then(MessageId::read).map(|id| id.way());
    // What the first does not take, the second does.
    let foreign = ways.evolution && letter.files.iter().any(|file| !cloud::takes(file));
    let wanted = if group {
        Some(Way::Evolution)
    } else if is_user(letter.address) {
        // The other way knows numbers alone; what it alone takes is refused.
        Some(Way::Cloud)
    } else if letter.extras.buttons.is_empty() {
        answered.or(foreign.then_some(Way::Evolution))
    } else {
        Some(Way::Cloud)
    };
    match ways.pick(wanted) {
        Ok(Way::Cloud) => {
            let mut wire = cloud::compose(letter, previews, template);
            if wanted.is_none() && ways.evolution && wire["way"].is_string() {
                let otherwise = evolution::compose(letter, previews);
                if otherwise["way"].is_string() {
                    wire["otherwise"] = otherwise;
                }
            }
            wire
        }
        Ok(Way::Evolution) => evolution::compose(letter, previews),
        Err(refused) => refused,
    }
}

/// Anything else.
pub(super) fn act(ways: Ways, act: &Act<'_>) -> Option<Value> {
    let user = is_user(act.address);
    let wanted = match act.deed {
        Deed::Poll(_) | Deed::Delete { .. } if user => {
            return Some(refused("by the Cloud API, which alone reaches a user id, there is no such thing"));
        }
        Deed::React { message, .. } if user => match MessageId::read(message).map(|id| id.way()) {
            Some(Way::Evolution) => return Some(refused(NO_MESSAGE)),
            way => way,
        },
        Deed::Poll(_) if ways.evolution => Some(Way::Evolution),
        Deed::React { message, .. } => MessageId::read(message).map(|id| id.way()),
        Deed::Delete { message } if ways.evolution => match MessageId::read(message).map(|id| id.way()) {
            Some(Way::Cloud) => {
                return Some(refused("the Cloud API cannot remove a message that it has sent"));
            }
            _ => Some(Way::Evolution),
        },
        _ => return None,
    };
    match ways.pick(wanted) {
        Ok(Way::Cloud) => cloud::act(act),
        Ok(Way::Evolution) => evolution::act(act),
        Err(refused) => Some(refused),
    }
}
