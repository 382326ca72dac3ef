//! The actions of the `message` tool, by the words that agents know from the tools before it; and the one of `ask_person`.

/// An action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// A new message: text, files, and what goes with them.
    Send,
    /// The same text to several targets, a message each.
    Broadcast,
    /// An answer to a message.
    Reply,
    /// An answer within a thread.
    ThreadReply,
    /// A new thread.
    Thread,
    /// A reaction to a message, or its removal.
    React,
    /// A poll.
    Poll,
    /// Another text for a message that was sent.
    Edit,
    /// A message's removal.
    Delete,
    /// A message is pinned.
    Pin,
    /// A message is no longer pinned.
    Unpin,
    /// A person may not write for a while.
    Timeout,
    /// A person is put out.
    Kick,
    /// A person is put out and kept out.
    Ban,
    /// A message that arrives with a visual effect.
    SendWithEffect,
    /// A message of files.
    SendAttachment,
    /// The account's own status.
    SetPresence,
    /// A question to a person, who says yes or no. A tool of its own: `message` has no such action.
    Ask,
}

impl Action {
    /// Those of the `message` tool, in the order in which they are listed.
    pub const ALL: &'static [Self] = &[
        Self::Send,
        Self::Broadcast,
        Self::Reply,
        Self::ThreadReply,
        Self::Thread,
        Self::React,
        Self::Poll,
        Self::Edit,
        Self::Delete,
        Self::Pin,
        Self::Unpin,
        Self::Timeout,
        Self::Kick,
        Self::Ban,
        Self::SendWithEffect,
        Self::SendAttachment,
        Self::SetPresence,
    ];

    /// The word in the call, in the database and on the companion's card.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Broadcast => "broadcast",
            Self::Reply => "reply",
            Self::ThreadReply => "thread-reply",
            Self::Thread => "thread",
            Self::React => "react",
            Self::Poll => "poll",
            Self::Edit => "edit",
            Self::Delete => "delete",
            Self::Pin => "pin",
            Self::Unpin => "unpin",
            Self::Timeout => "timeout",
            Self::Kick => "kick",
            Self::Ban => "ban",
            Self::SendWithEffect => "sendWithEffect",
            Self::SendAttachment => "sendAttachment",
            Self::SetPresence => "setPresence",
            Self::Ask => "ask",
        }
    }

    /// The action of the `message` tool with this word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|action| action.word() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_is_found_by_its_word() {
        for &action in Action::ALL {
            assert_eq!(Action::of(action.word()), Some(action));
        }
        assert_eq!(Action::of("shout"), None);
        assert_eq!(Action::of("ask"), None, "no call of `message` is a question");
    }
}
