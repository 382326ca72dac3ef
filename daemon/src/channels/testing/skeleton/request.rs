//! What a part becomes: the request that is stored, shown to whoever approves, and sent as it is.

use serde::{Deserialize, Serialize};

use crate::channels::OutgoingPart;

/// One message.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    to: String,
    text: String,
}

/// Of a part of text.
pub(super) fn compose(outgoing: &OutgoingPart<'_>) -> Request {
    Request { to: outgoing.address.to_owned(), text: outgoing.part.text.clone() }
}
