//! How a platform looks for the message that a request names, and what it says of where that message is.
//!
//! BlueBubbles takes the id of a message and finds its chat by it: a request of an agent that may write to one person
//! reached into another's chat. So each adapter says how its ids are looked for, and what is not bound to the conversation
//! by the request itself must be proven in another way before it is judged.

/// Where a platform looks for a message that a composed request names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdScope {
    /// In the thread that the request names; outside of all threads, if it names none. One elsewhere is not found.
    Thread,
    /// In the conversation that the request names, in whichever thread. One of another conversation is not found, or
    /// nobody there sees anything of what is done.
    Conversation,
    /// Anywhere that the account reaches.
    Account,
}

/// Where a platform says that a message is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Located {
    /// In the conversation that was asked about.
    Here {
        /// In this thread of it, or in none.
        thread: Option<String>,
    },
    /// Not there: in another conversation, or there is no such message.
    Elsewhere,
    /// The platform answers no such question.
    Unknown,
}
