//! Reactions to messages of the bot's; of those to others' Teams tells a bot nothing
//! (<https://learn.microsoft.com/microsoftteams/platform/bots/how-to/conversations/subscribe-to-conversation-events#message-reaction-events>).

use serde_json::Value;

use super::activity::{About, Draft, id};
use crate::channels::received::{Dropped, Event, unreadable};

/// Reactions of one activity; Teams sends one.
const MOST: usize = 20;

/// The six that have names of their own
/// (<https://learn.microsoft.com/graph/api/resources/chatmessagereaction>, `reactionType`).
const NAMED: [(&str, &str); 6] =
    [("like", "👍"), ("heart", "❤️"), ("laugh", "😆"), ("surprised", "😮"), ("sad", "😢"), ("angry", "😡")];

/// Reads those that were given and those that were taken back.
///
/// # Errors
/// It does not say to which message, or none.
pub(super) fn read(activity: &Value, about: &About<'_>) -> Result<Vec<Draft>, Dropped> {
    let unreadable = || unreadable("messageReaction");
    let message = id(&activity["replyToId"]).ok_or_else(unreadable)?;
    let mut drafts = Vec::new();
    for (list, removed) in [("reactionsAdded", false), ("reactionsRemoved", true)] {
        for reaction in activity[list].as_array().into_iter().flatten().take(MOST) {
            let Some(kind) = reaction["type"].as_str().filter(|kind| !kind.is_empty()) else { continue };
            let key = format!("{}:{removed}:{kind}", about.name());
            let event = Event::Reaction { emoji: emoji(kind), removed };
            drafts.push(about.draft(None, &key, Some(message.clone()), event)?);
        }
    }
    if drafts.is_empty() { Err(unreadable()) } else { Ok(drafts) }
}

/// The sign of a reaction: one of the six, one that is a sign already, or one that is named by its code points, such as
/// `1f440_eyes` and `1f468-1f3fb_x`.
fn emoji(kind: &str) -> String {
    if let Some((_, sign)) = NAMED.iter().find(|(name, _)| *name == kind) {
        return (*sign).to_owned();
    }
    let points = kind.split('_').next().unwrap_or_default();
    let signs: Option<String> = points
        .split('-')
        .map(|point| {
            u32::from_str_radix(point, 16).ok().filter(|point| *point > 0xff).and_then(char::from_u32)
        })
        .collect();
    signs.filter(|_| kind.contains('_')).unwrap_or_else(|| kind.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reaction_is_its_sign_and_one_that_nobody_knows_its_name() {
        for (kind, sign) in [
            ("like", "👍"),
            ("1f440_eyes", "👀"),
            ("1f44d-1f3fd_thumbsup", "👍🏽"),
            ("🎉", "🎉"),
            ("dd_x", "dd_x"),
            ("d800_x", "d800_x"),
            ("beaming", "beaming"),
            ("cake", "cake"),
        ] {
            assert_eq!(emoji(kind), sign, "{kind}");
        }
    }
}
