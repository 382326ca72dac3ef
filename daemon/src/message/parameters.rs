//! The parameters of the `message` tool: one table, from which calls are read ([`given`](super::given)), refused and described.

use super::{
    action::Action::{self, *},
    bounds,
};

/// What a parameter holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// The action's word.
    Action,
    /// Text of any length that is taken.
    Text,
    /// An id: at most [`MAX_ADDRESS`](super::target::MAX_ADDRESS) characters, without control characters. A number is read as its digits.
    Short,
    /// Words on one line, at most so many characters.
    Line(usize),
    /// True or false.
    Flag,
    /// A whole number, from the first to the second.
    Number(u64, u64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// Ids, at most so many.
    Texts(usize),
    /// Lines, at most so many, each of at most so many characters.
    Lines(usize, usize),
    /// Files.
    Files,
    /// One file.
    File,
    /// Rows of buttons.
    Buttons,
    /// Lists to choose from.
    Selects,
    /// The platform's own JSON.
    Object,
}

/// One parameter.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name, then the names that agents know from other tools.
    pub names: &'static [&'static str],
    /// What it holds.
    pub holds: Holds,
    /// The actions that take it; all, where none is named.
    pub of: &'static [Action],
    /// What it is, for whoever calls.
    pub about: &'static str,
}

const fn parameter(
    names: &'static [&'static str],
    holds: Holds,
    of: &'static [Action],
    about: &'static str,
) -> Parameter {
    Parameter { names, holds, of, about }
}

/// Those that make a new message of text and files.
const SENDING: &[Action] = &[Send, Broadcast, Reply, ThreadReply, SendWithEffect, SendAttachment];
const ANSWERING: &[Action] = &[Send, Broadcast, Reply, ThreadReply, SendWithEffect, SendAttachment, Poll];
const WRITING: &[Action] =
    &[Send, Broadcast, Reply, ThreadReply, SendWithEffect, SendAttachment, Poll, Thread, Edit];
const ABOUT_A_MESSAGE: &[Action] = &[Reply, Thread, React, Edit, Delete, Pin, Unpin];
const ABOUT_A_PERSON: &[Action] = &[Timeout, Kick, Ban];
const SOMEWHERE: &[Action] = &[
    Send,
    Reply,
    ThreadReply,
    Thread,
    React,
    Poll,
    Edit,
    Delete,
    Pin,
    Unpin,
    Timeout,
    Kick,
    Ban,
    SendWithEffect,
    SendAttachment,
];
/// Those under which buttons, lists and cards stand.
const DRESSED: &[Action] = &[Send, Broadcast, Reply, ThreadReply];

/// The longest that a person may be kept from writing, in minutes: what Discord takes, 28 days.
const LONGEST_TIMEOUT: u64 = 28 * 24 * 60;
/// The longest poll, in hours: what Discord takes, 32 days.
const LONGEST_POLL: u64 = 32 * 24;
/// The longest that a call may wait for its end, in seconds.
pub const LONGEST_WAIT: u64 = 600;
/// The most targets of a broadcast.
pub const MOST_TARGETS: usize = 100;
/// The longest time to live, in seconds.
const LONGEST_TTL: u64 = 366 * 86_400;

/// All of them.
pub const PARAMETERS: &[Parameter] = &[
    parameter(&["action"], Holds::Action, &[], "What to do; send where it is left out."),
    parameter(
        &["message", "body", "text"],
        Holds::Text,
        WRITING,
        "The text, in Markdown. `[Ann](mention:ID)` notifies one person, by their id on the channel, where it has mentions.",
    ),
    parameter(
        &["to", "target"],
        Holds::Short,
        SOMEWHERE,
        "Where to: channel:address, channel:address#thread, a name from the address book, or current.",
    ),
    parameter(
        &["targets"],
        Holds::Texts(MOST_TARGETS),
        &[Broadcast],
        "Where to, several times, each as in `to`.",
    ),
    parameter(
        &["channels"],
        Holds::Texts(MOST_TARGETS),
        &[Broadcast],
        "Channels on which targets without one are tried, each.",
    ),
    parameter(
        &["channel", "platform"],
        Holds::Short,
        &[],
        "The channel, where the target does not begin with it.",
    ),
    parameter(&["accountId"], Holds::Short, &[], "The account to use, where the channel has several."),
    parameter(&["threadId"], Holds::Short, SOMEWHERE, "The thread within the conversation."),
    parameter(
        &["replyToId", "replyTo"],
        Holds::Short,
        ANSWERING,
        "The platform's id of the message to answer.",
    ),
    parameter(
        &["messageId"],
        Holds::Short,
        ABOUT_A_MESSAGE,
        "The platform's id of the message that it is about.",
    ),
    parameter(&["emoji"], Holds::Short, &[React], "The emoji to react with."),
    parameter(&["remove"], Holds::Flag, &[React], "Take the reaction back."),
    parameter(&["pollQuestion"], Holds::Line(bounds::MAX_QUESTION), &[Poll], "The question."),
    parameter(
        &["pollOption", "pollOptions"],
        Holds::Lines(bounds::MOST_ANSWERS, bounds::MAX_ANSWER),
        &[Poll],
        "The answers, two at least.",
    ),
    parameter(&["pollMulti"], Holds::Flag, &[Poll], "Whether a person may choose several answers."),
    parameter(
        &["pollDurationHours"],
        Holds::Number(1, LONGEST_POLL),
        &[Poll],
        "For how many hours it is open.",
    ),
    parameter(
        &["pollDurationSeconds"],
        Holds::Number(5, LONGEST_POLL * 3600),
        &[Poll],
        "For how many seconds it is open.",
    ),
    parameter(&["pollAnonymous"], Holds::Flag, &[Poll], "Whether nobody sees who chose what."),
    parameter(
        &["threadName"],
        Holds::Line(bounds::MAX_THREAD_NAME),
        &[Thread],
        "What the new thread is called.",
    ),
    parameter(
        &["buttons"],
        Holds::Buttons,
        DRESSED,
        "Rows of buttons: [[{text, callback_data}]], or url or form in place of callback_data.",
    ),
    parameter(
        &["selects"],
        Holds::Selects,
        DRESSED,
        "Lists to choose from: [{id, placeholder, options: [{label, value}]}].",
    ),
    parameter(&["card"], Holds::Object, DRESSED, "A card in the platform's own JSON."),
    parameter(&["effect", "effectId"], Holds::Short, &[SendWithEffect], "The effect that it arrives with."),
    parameter(
        &["voice"],
        Holds::File,
        SENDING,
        "A voice message: {path}, {url}, {base64} or {file}, sent after the text.",
    ),
    parameter(
        &["attachments"],
        Holds::Files,
        SENDING,
        "Files: [{path}], [{url}], [{base64}] or [{file}], each with name, mime and caption if need be.",
    ),
    parameter(&["media"], Holds::Files, SENDING, "Files, as URLs or paths; the same as attachments."),
    parameter(&["userId", "user"], Holds::Short, ABOUT_A_PERSON, "The platform's id of the person."),
    parameter(
        &["durationMinutes", "durationMin"],
        Holds::Number(0, LONGEST_TIMEOUT),
        &[Timeout],
        "For how many minutes the person may not write; 0 ends it.",
    ),
    parameter(
        &["reason"],
        Holds::Line(bounds::MAX_REASON),
        ABOUT_A_PERSON,
        "Why, for the platform's own log.",
    ),
    parameter(
        &["status"],
        Holds::Word(&["online", "away", "busy", "offline"]),
        &[SetPresence],
        "The account's status.",
    ),
    parameter(
        &["statusText"],
        Holds::Line(bounds::MAX_STATUS_TEXT),
        &[SetPresence],
        "What it says beside its status.",
    ),
    parameter(&["silent"], Holds::Flag, ANSWERING, "Without a notification."),
    parameter(&["dryRun"], Holds::Flag, &[], "Say exactly what would be sent, and send nothing."),
    parameter(&["context"], Holds::Short, &[], "The token of the conversation that the turn came from."),
    parameter(
        &["wait"],
        Holds::Number(0, LONGEST_WAIT),
        &[],
        "For how many seconds to wait for its end; what is not over by then is told later.",
    ),
    parameter(
        &["ttlSeconds"],
        Holds::Number(1, LONGEST_TTL),
        &[],
        "For how many seconds it may try to arrive.",
    ),
    parameter(
        &["bestEffort"],
        Holds::Flag,
        &[],
        "Try once, and drop it where it would have to be tried again.",
    ),
    parameter(
        &["onUnknown"],
        Holds::Word(&["report", "resend"]),
        &[],
        "What to do when nobody can tell whether it arrived.",
    ),
];

impl Parameter {
    /// The one of that name, which is not an alias.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        PARAMETERS.iter().find(|parameter| parameter.names[0] == name)
    }

    /// Whether an action takes it.
    pub fn goes_with(&self, action: Action) -> bool {
        self.of.is_empty() || self.of.contains(&action)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_means_two_things_and_every_action_has_its_parameters() {
        let names: Vec<&str> = PARAMETERS.iter().flat_map(|parameter| parameter.names).copied().collect();
        for (n, name) in names.iter().enumerate() {
            assert!(!names[n + 1..].contains(name), "{name}");
        }
        for parameter in PARAMETERS {
            assert!(parameter.about.ends_with('.'), "{}", parameter.names[0]);
        }
        for &action in Action::ALL {
            let own = PARAMETERS.iter().filter(|p| !p.of.is_empty() && p.goes_with(action)).count();
            assert!(own > 0, "{}", action.word());
        }
    }
}
