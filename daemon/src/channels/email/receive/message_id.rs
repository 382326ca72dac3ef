//! Message-IDs, as far as a mail can be answered by them.

use crate::{channels::email::request::message_ids, message::target::MAX_ADDRESS};

/// Whether a mail can be answered by this Message-ID, in angle brackets.
pub(super) fn is_message_id(id: &str) -> bool {
    id.len() <= MAX_ADDRESS && !id.contains(' ') && message_ids("", id).is_ok()
}
