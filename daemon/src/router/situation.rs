//! What is judged on the way in, what comes of it, and why something goes no further.

use super::UnknownSenders;
use crate::{channels::received::DropReason, policy::Scope};

/// What is judged.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    /// The text; nothing of what is no message.
    pub text: Option<&'a str>,
    /// Whether the account itself is meant: a direct message, a mention, or what answers to a message of the agent's, such as a
    /// pressed button.
    pub calls: bool,
    /// How far the author is trusted.
    pub scope: Scope,
    /// Whether the agent's session there is active.
    pub active: bool,
    /// Whether it is too old to wake anybody.
    pub late: bool,
    /// What becomes of strangers if the route does not say.
    pub unknown: UnknownSenders,
    /// Whether a hook bars the author from the agent.
    pub barred: bool,
    /// Whether a hook keeps the words from waking it.
    pub quiet: bool,
}

/// What becomes of a message for one agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The agent is woken.
    Engage,
    /// It is kept, and read with the next one that wakes the agent.
    Accumulate,
    /// It waits, and a person is asked whether its author is let in.
    Ask,
    /// It goes no further.
    Drop(Why),
}

/// Why a message goes no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Why {
    /// Its author is shut out.
    Blocked,
    /// Nobody knows its author.
    UnknownSender,
    /// It does not wake the agent, and nothing keeps it.
    NotEngaged,
    /// No agent is in the conversation.
    NotWired,
    /// A program wrote it.
    Program,
    /// The account itself wrote it.
    OwnWords,
    /// It was received before.
    Repeated,
    /// Its author writes too much.
    TooMany,
    /// The agent has too much to do.
    TurnsFull,
    /// A person said no, or enough was asked.
    NotAsked,
    /// It cannot be read.
    Unreadable,
    /// The hub has no use for its kind.
    NotUsed,
    /// A hook of the owner's let it through no gate.
    Gate,
    /// The hooks of a gate failed on it too often.
    GateFailed,
}

impl From<DropReason> for Why {
    fn from(reason: DropReason) -> Self {
        match reason {
            DropReason::Unreadable => Self::Unreadable,
            DropReason::NotUsed => Self::NotUsed,
        }
    }
}

impl Why {
    /// The word by which it is counted and listed.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::UnknownSender => "unknown_sender",
            Self::NotEngaged => "not_engaged",
            Self::NotWired => "not_wired",
            Self::Program => "program",
            Self::OwnWords => "own_words",
            Self::Repeated => "repeated",
            Self::TooMany => "too_many",
            Self::TurnsFull => "turns_full",
            Self::NotAsked => "not_asked",
            Self::Unreadable => "unreadable",
            Self::NotUsed => "not_used",
            Self::Gate => "gate",
            Self::GateFailed => "gate_failed",
        }
    }
}
