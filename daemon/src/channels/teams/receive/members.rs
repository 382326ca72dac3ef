//! Who came to a conversation and who left it, the bot among them.
//!
//! That the bot was added or removed Teams tells twice: as a member, and as an installation, which comes everywhere. So the second
//! counts (<https://learn.microsoft.com/microsoftteams/platform/bots/how-to/conversations/subscribe-to-conversation-events>).

use serde_json::Value;

use super::activity::{About, Draft, somebody};
use crate::channels::received::{AuthorKind, Dropped, Event, not_used};

/// Members of one activity that are told.
const MOST: usize = 100;

/// Reads who came and who went.
///
/// # Errors
/// Nobody did.
pub(super) fn read(activity: &Value, about: &About<'_>) -> Result<Vec<Draft>, Dropped> {
    let mut drafts = Vec::new();
    for (list, event) in [("membersAdded", Event::Join), ("membersRemoved", Event::Leave)] {
        for member in activity[list].as_array().into_iter().flatten().take(MOST) {
            let Some(member) = somebody(member, about.me).filter(|one| one.kind != AuthorKind::Myself) else {
                continue;
            };
            let key = format!("{}:{}", about.name(), member.id);
            drafts.push(about.draft(Some(member), &key, None, event.clone())?);
        }
    }
    match drafts.is_empty() {
        false => Ok(drafts),
        true => {
            let told = activity["channelData"]["eventType"].as_str().unwrap_or("without other members");
            Err(not_used(&format!("conversationUpdate {told}")))
        }
    }
}

/// Reads that somebody added the bot or removed it.
///
/// # Errors
/// Its app became newer, which changes nothing.
pub(super) fn installed(activity: &Value, about: &About<'_>) -> Result<Vec<Draft>, Dropped> {
    let event = match activity["action"].as_str() {
        Some("add") => Event::Join,
        Some("remove") => Event::Leave,
        other => return Err(not_used(&format!("installationUpdate {}", other.unwrap_or_default()))),
    };
    Ok(vec![about.draft(None, &about.name(), None, event)?])
}
