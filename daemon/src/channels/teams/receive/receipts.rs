//! What a person has read of the bot's, in the conversation that the two have. Teams tells it to an app with the permission
//! `ChatMessageReadReceipt.Read.Chat`, if the tenant and the person let it
//! (<https://learn.microsoft.com/microsoftteams/platform/bots/how-to/conversations/conversation-messages>).

use serde_json::Value;

use super::activity::Me;
use crate::channels::received::{AuthorKind, Dropped, Seen, not_used, unreadable};

/// Its name, in whichever case.
const NAME: &str = "application/vnd.microsoft.readReceipt";
/// The most digits of an id that are a number here; those of Teams have 13.
const MAX_DIGITS: usize = 18;

/// Whether an activity is one.
pub(super) fn is_one(activity: &Value) -> bool {
    activity["type"] == "event"
        && activity["name"].as_str().is_some_and(|name| name.eq_ignore_ascii_case(NAME))
}

/// Reads one: a message is read if its id is that one or less.
///
/// # Errors
/// It does not say up to which message, or is not of a conversation with one person.
pub(super) fn read(activity: &Value, app_id: &str) -> Result<Seen, Dropped> {
    let me = Me::of(activity, app_id);
    let place = super::activity::place(activity).ok_or_else(|| unreadable("readReceipt"))?;
    if !place.direct {
        return Err(not_used("readReceipt of several"));
    }
    let author = super::activity::somebody(&activity["from"], me);
    if author.is_none_or(|author| author.kind != AuthorKind::Person) {
        return Err(not_used("readReceipt of a program"));
    }
    let id = activity["value"]["lastReadMessageId"].as_str().unwrap_or_default();
    if !(1..=MAX_DIGITS).contains(&id.len()) || !id.bytes().all(|b| b.is_ascii_digit()) {
        return Err(unreadable("readReceipt"));
    }
    let at = super::activity::said_at(activity);
    Ok(Seen { by: vec![place.address], ids: vec![id.to_owned()], and_before: true, read: true, at })
}
