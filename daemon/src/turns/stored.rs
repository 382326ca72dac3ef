//! How a received event stands in its row: its words in columns of their own, all else as JSON, so that it can be judged and told
//! again as it came.

use serde::{Deserialize, Serialize};

use crate::{
    channels::received::{Author, AuthorKind, Conversation, Event, Received, ReplyTo, Words},
    message::{attachment::Attachment, form::Entry},
};

/// All of a received event that has no column.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// What the author calls themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The conversation is between the account and one person.
    #[serde(skip_serializing_if = "is_false")]
    pub direct: bool,
    /// What the conversation is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The account was meant.
    #[serde(skip_serializing_if = "is_false")]
    pub mentions_me: bool,
    /// Other ids of the author, as the platform told them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub same_as: Vec<String>,
    /// Who the author is, if a hook said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Whoever handed it over vouched for it, whoever the author is.
    #[serde(skip_serializing_if = "is_false")]
    pub vouched: bool,
    /// Nobody vouches for the author.
    #[serde(skip_serializing_if = "is_false")]
    pub unverified: bool,
    /// The words are somebody else's.
    #[serde(skip_serializing_if = "is_false")]
    pub forwarded: bool,
    /// The end of the words is left out.
    #[serde(skip_serializing_if = "is_false")]
    pub truncated: bool,
    /// The platform's id of the message that this is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The message that is answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<Reply>,
    /// Files that the hub has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Attachment>,
    /// Files that it does not have, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// A reaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emoji: Option<String>,
    /// A reaction was taken back.
    #[serde(skip_serializing_if = "is_false")]
    pub removed: bool,
    /// The data of a button.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// The answers to a poll.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<String>>,
    /// What was entered into a form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<Entry>,
    /// It came long after it was said.
    #[serde(skip_serializing_if = "is_false")]
    pub late: bool,
    /// The task that was due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Whose words started the turn that scheduled it, and which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// Whose words those are that the turn which scheduled it goes back to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writers: Vec<Writer>,
}

/// Somebody whose words something goes back to.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Writer {
    /// All their ids, as people are known by them.
    pub ids: Vec<String>,
    /// Whether somebody vouched for the words, whoever wrote them.
    #[serde(skip_serializing_if = "is_false")]
    pub vouched: bool,
}

/// The message that one answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reply {
    /// The platform's id of it. Empty if it is of another conversation and the platform names none.
    pub id: String,
    /// Whether the account wrote it.
    pub mine: bool,
    /// The platform's id of who wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// What it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// The columns of a row that an event has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    /// `message`, `edit` and so on.
    pub kind: String,
    /// The words.
    pub text: String,
    /// The platform's id of the message that the row is; nothing of what is only about one.
    pub platform_id: Option<String>,
    /// All else.
    pub facts: Facts,
}

impl Columns {
    /// Those of an event.
    pub fn of(received: &Received, late: bool) -> Self {
        let Received { conversation, author, message_id, mentions_me, event, .. } = received;
        let mut facts = Facts {
            name: author.name.clone(),
            direct: conversation.direct,
            title: conversation.title.clone(),
            mentions_me: *mentions_me,
            unverified: author.unverified,
            same_as: author.same_as.clone(),
            late,
            ..Facts::default()
        };
        let mut text = String::new();
        let is_words = event.words().is_some();
        if let Some(words) = event.words() {
            text.clone_from(&words.text);
            (facts.truncated, facts.forwarded) = (words.truncated, words.forwarded);
            facts.files.clone_from(&words.files);
            facts.missing.clone_from(&words.missing);
            facts.reply_to = words.reply_to.as_ref().map(|reply| Reply {
                id: reply.id.clone(),
                mine: reply.mine,
                author: reply.author.clone(),
                text: reply.text.clone(),
            });
        } else {
            facts.about.clone_from(message_id);
        }
        match event {
            Event::Reaction { emoji, removed } => {
                (facts.emoji, facts.removed) = (Some(emoji.clone()), *removed);
            }
            Event::Press { data } => facts.data = Some(data.clone()),
            Event::Vote { options } => facts.options = Some(options.clone()),
            Event::Entry(entry) => facts.entry = Some(entry.clone()),
            _ => {}
        }
        let platform_id = message_id.clone().filter(|_| is_words);
        Self { kind: event.word().into(), text, platform_id, facts }
    }

    /// The event that a row stands for, from its author and its place; nothing of a kind that this release does not know.
    pub fn event(self, author: String, mut conversation: Conversation) -> Option<Received> {
        let Self { kind, text, platform_id, facts } = self;
        let about = facts.about.clone();
        let words = |facts: Facts| Words {
            text,
            truncated: facts.truncated,
            files: facts.files,
            missing: facts.missing,
            forwarded: facts.forwarded,
            reply_to: facts.reply_to.map(|reply| ReplyTo {
                id: reply.id,
                mine: reply.mine,
                author: reply.author,
                text: reply.text,
            }),
        };
        conversation.direct = facts.direct;
        conversation.title.clone_from(&facts.title);
        let author = Author {
            id: author,
            same_as: facts.same_as.clone(),
            name: facts.name.clone(),
            kind: AuthorKind::Person,
            unverified: facts.unverified,
        };
        let mentions_me = facts.mentions_me;
        let event = match kind.as_str() {
            "message" => Event::Message(words(facts)),
            "edit" => Event::Edit(words(facts)),
            "webhook" => Event::Webhook(words(facts)),
            "delete" => Event::Delete,
            "reaction" => Event::Reaction { emoji: facts.emoji?, removed: facts.removed },
            "press" => Event::Press { data: facts.data? },
            "vote" => Event::Vote { options: facts.options? },
            "entry" => Event::Entry(facts.entry?),
            "join" => Event::Join,
            "leave" => Event::Leave,
            _ => return None,
        };
        let message_id = platform_id.or(about);
        Some(Received {
            key: String::new(),
            conversation,
            author,
            message_id,
            said_at: None,
            mentions_me,
            event,
        })
    }
}
