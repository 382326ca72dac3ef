//! The vocabulary of messages. No I/O: the database is known only as far as the states have words in it.
//!
//! - [`target`]: where a message goes, and `targets`: which a call names;
//! - [`parameters`]: those of the `message` tool, [`schema`]: how they are written, [`given`]: what a call gives of them,
//!   and [`call`]: what an agent asks for, parsed into types; [`aliases`]: what models write in their place;
//! - [`action`]: the words for what can be done, and [`operation`]: what is done, typed;
//! - [`bounds`]: how long and how many they may be;
//! - [`form`]: what a button's form asks, and what somebody entered;
//! - [`attachment_spec`]: files that a call asks for, and [`attachment`]: files that the hub has;
//! - [`state`]: the states of a message and of its parts, and every legal way between them;
//! - [`refusal`]: the errors that a caller sees;
//! - [`quiet`]: words by which an agent says that there is nothing to say;
//! - [`receipt`]: what a caller is told of a message.

pub mod action;
mod aliases;
pub mod attachment;
pub mod attachment_spec;
pub mod bounds;
pub mod call;
pub mod fingerprint;
pub mod form;
mod given;
pub mod operation;
mod operation_parser;
pub mod parameters;
pub mod quiet;
pub mod receipt;
pub mod recipients;
pub mod refusal;
pub mod schema;
pub mod state;
pub mod target;
mod targets;

/// The names of the tools in an agent's hand.
pub const TOOLS: [&str; 12] = [
    "message",
    "send_message",
    "reply",
    "next_turn",
    "receipt",
    "cancel",
    "inbox",
    "guide",
    "ask_person",
    "schedule_task",
    "cancel_task",
    "list_tasks",
];

/// Names a message for good. Time-ordered, so that listings sort by it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, utoipa::ToSchema)]
pub struct MessageId(pub String);

impl MessageId {
    /// A new id: `m` and a version 7 UUID without dashes.
    pub fn new() -> Self {
        Self(format!("m{}", uuid::Uuid::now_v7().simple()))
    }

    /// When the message with this id was accepted, to the millisecond: what a version 7 UUID begins with.
    pub fn made_at(id: &str) -> Option<jiff::Timestamp> {
        let (seconds, nanos) = uuid::Uuid::try_parse(id.strip_prefix('m')?).ok()?.get_timestamp()?.to_unix();
        jiff::Timestamp::new(i64::try_from(seconds).ok()?, i32::try_from(nanos).ok()?).ok()
    }
}

/// A new name for a part, for good: 32 lower-case hexadecimal digits of a version 7 UUID. Nobody else makes the same, and
/// those that are made together lie together in the database.
pub fn new_part_key() -> String {
    uuid::Uuid::now_v7().simple().to_string()
}

impl Default for MessageId {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Display for MessageId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
