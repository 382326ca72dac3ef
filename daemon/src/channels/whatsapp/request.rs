//! Which way a message goes, and what it becomes there.
//!
//! The way is chosen when the message is composed, from what is known then, and is part of what is stored, as is the same by
//! the second way, for when the first turns out not to be ready: whoever approves sees both, and nothing changes them
//! afterwards. What only one way has goes that way; so does what is done to a message that came that way.

use serde::{Deserialize, Serialize};

use super::{
    Route, Template, cloud,
    evolution::{self, ByEvolution},
    target::{MessageId, NO_MESSAGE, is_lid, is_user},
};
use crate::{
    channels::{OperationRequest, OutgoingPart, Refused, envelope::Fallback},
    message::operation::Operation,
};

/// A request by one of the ways.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "way", rename_all = "lowercase")]
pub(super) enum Request {
    /// By the Cloud API.
    Cloud(cloud::Request),
    /// By the Evolution API.
    Evolution(evolution::Request),
}

impl Request {
    /// What goes by the Evolution API, if anything does.
    pub(super) fn by_evolution(&self) -> Option<&evolution::Request> {
        match self {
            Self::Evolution(request) => Some(request),
            Self::Cloud(cloud::Request { otherwise, .. }) => otherwise.get().map(|planned| planned.request()),
        }
    }
}

/// Which ways there are, and which is taken where nothing else decides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Routes {
    pub(super) cloud: bool,
    pub(super) evolution: bool,
    pub(super) first: Route,
}

impl Routes {
    /// The way of a message, and whether there is that one.
    fn pick(self, wanted: Option<Route>) -> Result<Route, Refused> {
        let way = wanted.unwrap_or(self.first);
        let there = match way {
            Route::Cloud => self.cloud,
            Route::Evolution => self.evolution,
        };
        if there {
            Ok(way)
        } else {
            Err(Refused::because("that message did not come by a way that this account has"))
        }
    }
}

/// A new message.
pub(super) fn compose(
    ways: Routes,
    outgoing: &OutgoingPart<'_>,
    previews: bool,
    template: Option<&Template>,
) -> Result<Request, Refused> {
    let group = outgoing.address.ends_with("@g.us") || is_lid(outgoing.address);
    let answered = outgoing.reply_to.and_then(MessageId::read).map(|id| id.way());
    // What the first does not take, the second does.
    let foreign = ways.evolution && outgoing.files.iter().any(|file| !cloud::takes(file));
    // Its text messages have none (<https://developers.facebook.com/docs/whatsapp/cloud-api/reference/messages>).
    let calls = !outgoing.part.mentions.is_empty();
    if calls && (is_user(outgoing.address) || !ways.evolution) {
        return Err(Refused::because("the Cloud API has no mentions: write the name without a link"));
    }
    let wanted = if group || calls {
        Some(Route::Evolution)
    } else if is_user(outgoing.address) {
        // The other way knows numbers alone; what it alone takes is refused.
        Some(Route::Cloud)
    } else if outgoing.extras.buttons.is_empty() {
        answered.or(foreign.then_some(Route::Evolution))
    } else {
        Some(Route::Cloud)
    };
    match ways.pick(wanted)? {
        Route::Cloud => {
            let mut request = cloud::compose(outgoing, previews, template)?;
            if wanted.is_none()
                && ways.evolution
                && let Ok(otherwise) = evolution::compose(outgoing, previews)
            {
                request.otherwise = Fallback::planned(ByEvolution::Evolution(otherwise));
            }
            Ok(Request::Cloud(request))
        }
        Route::Evolution if !outgoing.extras.buttons.is_empty() => Err(Refused::because(
            "buttons go by the Cloud API, which has neither groups nor mentions: send them in a message to one person, or ask in words",
        )),
        Route::Evolution => evolution::compose(outgoing, previews).map(Request::Evolution),
    }
}

/// Anything else.
pub(super) fn compose_operation(ways: Routes, op: &OperationRequest<'_>) -> Option<Result<Request, Refused>> {
    let user = is_user(op.address);
    let wanted = match op.operation {
        Operation::Poll(_) | Operation::Delete { .. } if user => {
            return Some(Err(Refused::because(
                "by the Cloud API, which alone reaches a user id, there is no such thing",
            )));
        }
        Operation::React { message, .. } if user => match MessageId::read(message).map(|id| id.way()) {
            Some(Route::Evolution) => return Some(Err(Refused::because(NO_MESSAGE))),
            way => way,
        },
        Operation::Poll(_) if ways.evolution => Some(Route::Evolution),
        Operation::React { message, .. } => MessageId::read(message).map(|id| id.way()),
        Operation::Delete { message } if ways.evolution => {
            match MessageId::read(message).map(|id| id.way()) {
                Some(Route::Cloud) => {
                    return Some(Err(Refused::because(
                        "the Cloud API cannot remove a message that it has sent",
                    )));
                }
                _ => Some(Route::Evolution),
            }
        }
        _ => return None,
    };
    match ways.pick(wanted) {
        Ok(Route::Cloud) => Some(cloud::compose_operation(op)?.map(Request::Cloud)),
        Ok(Route::Evolution) => Some(evolution::compose_operation(op)?.map(Request::Evolution)),
        Err(refused) => Some(Err(refused)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_earlier_releases_planned_for_a_refusal_is_read_and_keeps_its_bytes() {
        for (row, template, second) in [
            (r#"{"way":"cloud","message":{"to":"+49151","type":"text"}}"#, false, false),
            (
                r#"{"way":"cloud","message":{"to":"+49151","type":"text"},"outside_window":{"to":"+49151","type":"template"}}"#,
                true,
                false,
            ),
            (
                r#"{"way":"cloud","message":{"to":"+49151","type":"text"},"outside_window":{"to":"+49151","type":"template"},"otherwise":{"way":"evolution","path":"message/sendText","body":{"number":"+49151"}}}"#,
                true,
                true,
            ),
        ] {
            let row: Value = serde_json::from_str(row).unwrap();
            let request = Request::deserialize(&row).unwrap();
            assert_eq!(json!(request).to_string(), row.to_string());
            assert_eq!(request.by_evolution().is_some(), second);
            let Request::Cloud(request) = request else { panic!("{row}") };
            assert_eq!(request.outside_window.get(), template.then_some(&row["outside_window"]));
        }
    }
}
