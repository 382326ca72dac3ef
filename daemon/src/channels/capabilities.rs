//! What a platform can do, as data: what the tool's description, its schema, the checks and the errors are all made of.

use gatepost_chunk::Unit;
use serde::Serialize;
use utoipa::ToSchema;

use crate::message::action::Action;

/// What a platform can do. Write `Capabilities { …, ..Capabilities::PLAIN }`.
#[derive(Debug, Clone, Copy)]
pub struct Capabilities {
    /// The channel's name in targets and configuration.
    pub channel: &'static str,
    /// Whether conversations have threads within them.
    pub threads: bool,
    /// What a thread is there, for an agent's guide.
    pub thread_is: &'static str,
    /// What a reaction is there, for an agent's guide.
    pub reaction_is: &'static str,
    /// Whether a message can answer another one.
    pub replies: bool,
    /// Whether an answer is a thread there, so that each part of it is one; elsewhere only the first part is.
    pub answers_are_threads: bool,
    /// Whether a message can arrive without a notification.
    pub silent: bool,
    /// Whether a link in a text can call a person: [`Adapter::is_mentionable`](super::Adapter::is_mentionable).
    pub mentions: bool,
    /// Whether its requests hold the Markdown that the agent wrote, so that an approver is shown that.
    pub source: bool,
    /// How an address looks, for error messages.
    pub address_hint: &'static str,
    /// What it takes of files; nothing, where a message with files is refused when it is handed in.
    pub files: Option<FileRules>,
    /// What it does beside sending texts and files: of thread, react, poll, edit, delete, pin, unpin, timeout, kick, ban,
    /// setPresence.
    pub actions: &'static [Action],
    /// What it takes of buttons.
    pub buttons: Option<ButtonRules>,
    /// What it takes of forms that a button opens, or what to do instead.
    pub forms: Result<FormRules, &'static str>,
    /// What it takes of lists to choose from.
    pub selects: Option<SelectRules>,
    /// What it takes of polls.
    pub polls: Option<PollRules>,
    /// What it takes of cards.
    pub cards: Option<CardRules>,
    /// The longest text beside a status, in characters, where it sets one.
    pub status_text: usize,
    /// The longest name of a thread, in characters, where it opens one.
    pub thread_name: usize,
    /// The effects that a message can arrive with, by the names that agents know.
    pub effects: &'static [&'static str],
    /// What to do instead of an action that it lacks, in words for whoever asked.
    pub instead: &'static [(Action, &'static str)],
    /// What an edit is there.
    pub edits: EditForm,
    /// Which way its requests go.
    pub mode: DeliveryMode,
    /// Whether its accounts are a person's own number or mailbox, to which a whole address book writes, or nobody there is
    /// told from another: nobody is asked about strangers there unless a route says so.
    pub personal: bool,
}

/// What an edit is on a platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditForm {
    /// It changes the message, which keeps its id.
    InPlace,
    /// A message of its own, with an id of its own, that refers to the first one.
    Replacement,
    /// The whole message anew, with an id of its own and with what it quotes; it refers to the newest revision.
    Revision,
}

impl EditForm {
    /// Whether the receipt of an edit has another id than that of the message.
    pub fn has_own_id(self) -> bool {
        self != Self::InPlace
    }
}

impl Capabilities {
    /// Text, and nothing else.
    pub const PLAIN: Self = Self {
        channel: "",
        threads: false,
        thread_is: "a thread of a conversation",
        reaction_is: "an emoji",
        replies: false,
        answers_are_threads: false,
        silent: false,
        mentions: false,
        source: false,
        address_hint: "",
        files: None,
        actions: &[],
        buttons: None,
        forms: Err("ask in the text, and let people answer in the conversation"),
        selects: None,
        polls: None,
        cards: None,
        // Where a platform names no bound: as long as people read.
        status_text: 250,
        // Where the name is a line of a message.
        thread_name: 250,
        effects: &[],
        instead: &[],
        edits: EditForm::InPlace,
        mode: DeliveryMode::Direct,
        personal: false,
    };

    /// What to do instead of an action that it lacks.
    pub fn instead_of(&self, action: Action) -> &'static str {
        let own = self.instead.iter().find(|(lacking, _)| *lacking == action);
        own.map_or_else(|| anywhere(action), |(_, instead)| instead)
    }

    /// Whether it has an action of its own.
    pub fn does(&self, action: Action) -> bool {
        self.actions.contains(&action)
    }
}

/// What to do instead of an action, where a channel knows nothing better.
fn anywhere(action: Action) -> &'static str {
    match action {
        Action::Send | Action::Broadcast => "write to somebody on another channel",
        Action::Ask => "call ask_person",
        Action::Reply | Action::ThreadReply | Action::Thread => "say in a message's text what it belongs to",
        Action::React => "answer in a message",
        Action::Poll => "ask in a message, and let people answer it",
        Action::Edit => "send the correction as a message",
        Action::Delete => "send a correction as a message",
        Action::Pin | Action::Unpin => "send it again, as a message",
        Action::Timeout | Action::Kick | Action::Ban => "ask somebody who runs the conversation",
        Action::SendWithEffect => "send it without an effect",
        Action::SendAttachment => "send a link to the file",
        Action::SetPresence => "say it in a message",
    }
}

/// Which way a channel's requests go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryMode {
    /// To the platform's own interface.
    Direct,
    /// By a program in between, which holds the session.
    Gateway,
    /// Directly where that is ready when a message is planned, else by the program in between. The way is part of the
    /// stored request, and never changed after it.
    Hybrid,
}

impl DeliveryMode {
    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Gateway => "gateway",
            Self::Hybrid => "hybrid",
        }
    }

    /// Why a channel is not ready, with where to look: a program in between is somebody's to keep running, a platform is not.
    pub fn not_ready(self, channel: &str, why: &str) -> String {
        match self {
            Self::Gateway => {
                format!("{why} ({channel} goes by a program in between, which must run and be logged in)")
            }
            // Direct has nobody in between, and hybrid has said of each way what is wrong with it.
            Self::Direct | Self::Hybrid => why.to_owned(),
        }
    }
}

/// What a platform takes of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileRules {
    /// Bytes of one file, where the platform takes the most.
    pub max_size: u64,
    /// Bytes of one file that it takes everywhere, and where it takes more; nothing, where it takes `max_size` everywhere.
    pub everywhere: Option<(u64, &'static str)>,
    /// Bytes of all files of a message.
    pub max_together: u64,
    /// How files stand to the text.
    pub form: FileForm,
    /// The media types that it takes, in groups; none, where it takes any.
    pub kinds: &'static [&'static [&'static str]],
}

impl FileRules {
    /// The media types that it takes, where it does not take any.
    pub fn alone(&self) -> Option<String> {
        (!self.kinds.is_empty()).then(|| self.kinds.concat().join(", "))
    }

    /// Whether it takes files of this type.
    pub fn takes(&self, kind: &str) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|group| group.contains(&kind))
    }
}

/// How files stand to the text of their message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileForm {
    /// All in one request with the text, behind it; captions become paragraphs of the text.
    Together,
    /// Each in a request of its own after the text, and its caption with it where that is one part.
    Captioned,
}

/// What a platform takes of buttons. Lengths are in characters but for `data`, which has a unit of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ButtonRules {
    /// Rows.
    pub rows: usize,
    /// Buttons of a row.
    pub per_row: usize,
    /// Buttons in all.
    pub in_all: usize,
    /// What stands on one.
    pub text: usize,
    /// What the bot is told; zero where a press cannot tell it anything.
    pub data: usize,
    /// The unit of `data`.
    pub data_unit: Unit,
    /// The address that one may open; zero where none can.
    pub url: usize,
}

/// What a platform takes of forms. Lengths are in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormRules {
    /// Fields of a form; at least one always.
    pub fields: usize,
    /// What stands above it.
    pub title: usize,
    /// What stands above a field.
    pub label: usize,
    /// A field's name.
    pub name: usize,
    /// What is shown in an empty field.
    pub placeholder: usize,
    /// What may be entered, or stand there at first.
    pub value: usize,
}

/// What a platform takes of lists to choose from. Lengths are in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SelectRules {
    /// Lists of a message.
    pub in_all: usize,
    /// Choices of a list.
    pub options: usize,
    /// A choice's label, and its value.
    pub text: usize,
    /// A list's id.
    pub id: usize,
    /// What it shows before something is chosen.
    pub placeholder: usize,
}

/// What a platform takes of polls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PollRules {
    /// Answers, at most; at least two always.
    pub options: usize,
    /// The question.
    pub question: usize,
    /// An answer.
    pub option: usize,
    /// The unit of both.
    pub unit: Unit,
    /// Whether several answers may be chosen.
    pub multiple: bool,
    /// The longest that one may be open, in seconds; zero where its end cannot be set.
    pub seconds: u64,
    /// Whether a call may say that it is anonymous or that it is not.
    pub anonymous: bool,
    /// What it becomes, where the platform has none of its own: `buttons`, `a card`. The receipt says so.
    pub stand_in: Option<&'static str>,
}

/// What a platform takes of cards.
#[derive(Debug, Clone, Copy)]
pub struct CardRules {
    /// What it is called there: `an Adaptive Card`, `blocks`.
    pub what: &'static str,
    /// Its longest JSON, in bytes.
    pub max_bytes: usize,
    /// Looks whether it is one; says what is wrong with it.
    pub check: fn(&serde_json::Value) -> Result<(), String>,
}
