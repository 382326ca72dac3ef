//! Messages as the door shows them.

use serde_json::{Value, json};

use crate::{
    message::receipt::Receipt,
    outbox::row::{MessageRow, PartRow},
};

/// A line of a listing.
pub(super) fn summary(message: &MessageRow) -> Value {
    json!({
        "id": message.id,
        "state": message.state,
        "agent": message.agent,
        "to": message.target().to_string(),
        "account": message.account,
        "accepted_at": time(message.accepted_at),
        "code": message.code,
        "error": message.reason,
    })
}

/// Everything about one message that its owner may see.
pub(super) fn whole(message: &MessageRow, receipt: &Receipt, parts: &[PartRow]) -> Value {
    let mut view = json!(receipt);
    let more = json!({
        "agent": message.agent,
        "action": message.action,
        "account": message.account,
        "reply_to": message.reply_to,
        "silent": message.silent,
        "origin": message.origin.as_ref().map(|origin| origin.place.to_string()),
        "message": message.text,
        "written": message.written,
        "accepted_at": time(message.accepted_at),
        "deadline": time(message.deadline),
        "due_at": (!message.state.is_final()).then(|| time(message.due_at)),
        "ended_at": message.ended_at.map(time),
        "attempts": message.attempts,
    });
    if let (Value::Object(view), Value::Object(more)) = (&mut view, more) {
        view.extend(more);
    }
    if let Some(Value::Array(shown)) = view.get_mut("parts") {
        for (part, row) in shown.iter_mut().zip(parts) {
            part["text"] = row.shown.as_str().into();
        }
    }
    view
}

/// RFC 3339, UTC, always to the millisecond: so written, times sort as texts.
pub(super) fn time(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).map_or_else(|_| ms.to_string(), |time| format!("{time:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_sort_as_texts() {
        assert_eq!(time(1_500), "1970-01-01T00:00:01.500Z");
        assert!(time(1_500) < time(1_584));
    }
}
