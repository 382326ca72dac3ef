//! What a message does on its platform, beside its text and files: typed, bounded, and stored with the message.
//!
//! Several actions are one operation: an answer, a message with an effect and one of files are all [`Operation::Send`]. An operation knows
//! no platform; whether a platform has it, and within which bounds, its capabilities say.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{action::Action, form::Form};

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Operation {
    /// A new message; its text and files stand beside the operation.
    Send(Extras),
    /// A poll. A text beside it goes before it, as a message of its own.
    Poll(Poll),
    /// A new thread. A text beside it is its first message where the platform has that.
    Thread {
        /// What it is called.
        name: String,
        /// The platform id of the message that it begins at.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// A reaction to a message, or its removal.
    React {
        /// The message's platform id.
        message: String,
        /// The emoji, as the platform names it.
        emoji: String,
        /// Whether it is taken back.
        remove: bool,
    },
    /// The text beside it takes the place of a message's.
    Edit {
        /// The message's platform id.
        message: String,
    },
    /// A message is removed.
    Delete {
        /// Its platform id.
        message: String,
    },
    /// A message is pinned.
    Pin {
        /// Its platform id.
        message: String,
    },
    /// A message is no longer pinned.
    Unpin {
        /// Its platform id.
        message: String,
    },
    /// A person may not write in the conversation for a while.
    Timeout {
        /// The person's platform id.
        user: String,
        /// For how long, in seconds; none ends it.
        seconds: u64,
        /// Why, for the platform's own log.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A person is put out of the conversation.
    Kick {
        /// The person's platform id.
        user: String,
        /// Why, for the platform's own log.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A person is put out of the conversation and kept out.
    Ban {
        /// The person's platform id.
        user: String,
        /// Why, for the platform's own log.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The account's own status.
    Presence {
        /// `online`, `away`, `busy`, `offline`.
        status: Presence,
        /// What it says beside it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
}

/// What goes with a text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extras {
    /// Rows of buttons beneath it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buttons: Vec<Vec<Button>>,
    /// Lists to choose from beneath it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub selects: Vec<Select>,
    /// A card in the platform's own JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<Value>,
    /// A visual effect, by the platform's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
}

/// A button.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Button {
    /// What stands on it.
    pub text: String,
    /// What a press does.
    #[serde(flatten)]
    pub press: Press,
}

/// What a press on a button does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Press {
    /// Tells the bot this.
    Data(String),
    /// Opens this address.
    Url(String),
    /// Opens this form.
    Form(Form),
}

/// A list to choose from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Select {
    /// What the bot is told it is.
    pub id: String,
    /// What stands in it before a choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
    /// What there is to choose.
    pub options: Vec<Choice>,
}

/// One choice of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// What people read.
    pub label: String,
    /// What the bot is told.
    pub value: String,
}

/// A poll.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Poll {
    /// The question.
    pub question: String,
    /// The answers, two at least.
    pub options: Vec<String>,
    /// Whether a person may choose several.
    pub multiple: bool,
    /// For how long it is open, in seconds; the platform's own time where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// Whether nobody sees who chose what; the platform's own way where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anonymous: Option<bool>,
}

/// An account's status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// There.
    Online,
    /// Not at the keyboard.
    Away,
    /// There, and not to be disturbed.
    Busy,
    /// Not there, or not to be seen.
    Offline,
}

impl Default for Operation {
    fn default() -> Self {
        Self::Send(Extras::default())
    }
}

impl Operation {
    /// What goes with the text of a new message.
    pub fn extras(&self) -> Option<&Extras> {
        match self {
            Self::Send(extras) => Some(extras),
            _ => None,
        }
    }

    /// The action that it is, by the plainest word for it.
    pub fn action(&self) -> Action {
        match self {
            Self::Send(_) => Action::Send,
            Self::Poll(_) => Action::Poll,
            Self::Thread { .. } => Action::Thread,
            Self::React { .. } => Action::React,
            Self::Edit { .. } => Action::Edit,
            Self::Delete { .. } => Action::Delete,
            Self::Pin { .. } => Action::Pin,
            Self::Unpin { .. } => Action::Unpin,
            Self::Timeout { .. } => Action::Timeout,
            Self::Kick { .. } => Action::Kick,
            Self::Ban { .. } => Action::Ban,
            Self::Presence { .. } => Action::SetPresence,
        }
    }

    /// Whether it acts on people, or on messages that somebody else may have written.
    pub fn moderates(&self) -> bool {
        match self {
            Self::Delete { .. }
            | Self::Pin { .. }
            | Self::Unpin { .. }
            | Self::Timeout { .. }
            | Self::Kick { .. }
            | Self::Ban { .. } => true,
            Self::Send(_)
            | Self::Poll(_)
            | Self::Thread { .. }
            | Self::React { .. }
            | Self::Edit { .. }
            | Self::Presence { .. } => false,
        }
    }

    /// Whether people read words of it, and may answer them.
    pub fn says_something(&self) -> bool {
        matches!(self, Self::Send(_) | Self::Poll(_) | Self::Thread { .. } | Self::Edit { .. })
    }

    /// The platform id of the message that it is done to, if it is done to one.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::React { message, .. }
            | Self::Edit { message }
            | Self::Delete { message }
            | Self::Pin { message }
            | Self::Unpin { message } => Some(message),
            Self::Thread { message, .. } => message.as_deref(),
            Self::Send(_)
            | Self::Poll(_)
            | Self::Timeout { .. }
            | Self::Kick { .. }
            | Self::Ban { .. }
            | Self::Presence { .. } => None,
        }
    }

    /// The same, to name it otherwise.
    pub fn message_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::React { message, .. }
            | Self::Edit { message }
            | Self::Delete { message }
            | Self::Pin { message }
            | Self::Unpin { message } => Some(message),
            Self::Thread { message, .. } => message.as_mut(),
            Self::Send(_)
            | Self::Poll(_)
            | Self::Timeout { .. }
            | Self::Kick { .. }
            | Self::Ban { .. }
            | Self::Presence { .. } => None,
        }
    }

    /// Whether it is a new message with nothing but text and files.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

impl Extras {
    /// Nothing.
    pub const NONE: &'static Self =
        &Self { buttons: Vec::new(), selects: Vec::new(), card: None, effect: None };

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::message::form::Field;

    #[test]
    fn a_stored_deed_reads_back_as_it_was() {
        let button = |text: &str, press| Button { text: text.into(), press };
        let field = Field {
            name: "what".into(),
            label: "What?".into(),
            long: false,
            required: true,
            min: None,
            max: Some(100),
            placeholder: None,
            value: None,
        };
        let form = Form { title: "Say it".into(), fields: vec![field] };
        let operations = [
            Operation::default(),
            Operation::Send(Extras {
                buttons: vec![vec![
                    button("Yes", Press::Data("y".into())),
                    button("See", Press::Url("https://a.test/".into())),
                    button("Say", Press::Form(form)),
                ]],
                selects: vec![Select {
                    id: "day".into(),
                    placeholder: None,
                    options: vec![Choice { label: "Monday".into(), value: "1".into() }],
                }],
                card: Some(json!({"title": "T"})),
                effect: Some("slam".into()),
            }),
            Operation::Poll(Poll {
                question: "Tea?".into(),
                options: vec!["Yes".into(), "No".into()],
                multiple: false,
                seconds: Some(3600),
                anonymous: None,
            }),
            Operation::React { message: "5".into(), emoji: "👍".into(), remove: true },
            Operation::Presence { status: Presence::Busy, text: None },
        ];
        for operation in operations {
            let text = serde_json::to_string(&operation).unwrap();
            assert_eq!(serde_json::from_str::<Operation>(&text).unwrap(), operation, "{text}");
        }
        let press = json!({"text": "Yes", "data": "y"});
        assert_eq!(serde_json::to_value(button("Yes", Press::Data("y".into()))).unwrap(), press);
    }
}
