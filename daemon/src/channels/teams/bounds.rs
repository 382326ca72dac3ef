//! What fits into one message on Teams: kept when a request is composed, and again before it is sent.

use serde_json::{Map, Value, json};

/// Pictures that Teams shows, by media type
/// (<https://learn.microsoft.com/microsoftteams/platform/bots/build-conversational-capability#use-picture-messages>).
pub(super) const PICTURES: &[&str] = &["image/png", "image/jpeg", "image/gif"];
/// The largest picture that is put into a request, in bytes.
pub(super) const MAX_PICTURE: u64 = 1_000_000;

/// The longest that a message may be, in bytes, its pictures aside: a workflow takes 28 KB, a bot more.
const MAX_BODY: usize = 25_000;

/// Why a message is longer than Teams takes, if it is. Its pictures do not count: it still names them by their hashes.
pub(super) fn too_long(message: &Map<String, Value>) -> Option<String> {
    let size = json!(message).to_string().len();
    (size > MAX_BODY).then(|| {
        format!(
            "the message has {size} bytes with all that goes along, and Teams takes {MAX_BODY}: send less of a card"
        )
    })
}
