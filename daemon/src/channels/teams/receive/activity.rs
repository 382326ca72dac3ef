//! An activity as what somebody did. Reading asks nobody and changes nothing.
//!
//! Its members are those of the Bot Framework's schema
//! (<https://github.com/microsoft/Agents/blob/main/specs/activity/protocol-activity.md>), and what Teams puts into `channelData`
//! (<https://learn.microsoft.com/microsoftteams/platform/bots/how-to/conversations/subscribe-to-conversation-events>).

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{answers, files::Sent, members, reactions, words};
use crate::{
    channels::{
        received::{
            Author, AuthorKind, Conversation, Dropped, Event, MAX_BATCH, Received, Words, not_used,
            unreadable,
        },
        teams::target::{canonical, is_personal},
    },
    random::to_hex,
};

/// The longest id of a message or an activity; those of Teams have 13 digits, or `f:` and a UUID.
const MAX_ID: usize = 120;

/// What an activity tells, but for its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Draft {
    pub(super) received: Received,
    /// Its files, which are still at Microsoft.
    pub(super) files: Vec<Sent>,
    /// The message that began the thread, of which the account may be the author.
    pub(super) root: Option<String>,
}

/// Who the bot is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Me<'a> {
    app_id: &'a str,
    /// To whom the activity is addressed, which is the bot.
    recipient: Option<&'a str>,
}

impl<'a> Me<'a> {
    pub(super) fn of(activity: &'a Value, app_id: &'a str) -> Self {
        Self { app_id, recipient: activity["recipient"]["id"].as_str() }
    }

    pub(super) fn is(&self, id: &str) -> bool {
        id.strip_prefix("28:") == Some(self.app_id) || self.recipient == Some(id)
    }
}

/// Reads one activity.
///
/// # Errors
/// It is of no use, or cannot be read.
pub(super) fn read(activity: &Value, app_id: &str) -> Result<Vec<Draft>, Dropped> {
    let kind = activity["type"].as_str().unwrap_or_default();
    let me = Me::of(activity, app_id);
    let event = activity["channelData"]["eventType"].as_str();
    let about = match kind {
        "message" | "messageUpdate" | "messageDelete" | "messageReaction" | "conversationUpdate"
        | "installationUpdate" => About::of(activity, me).ok_or_else(|| unreadable(kind))?,
        "" => return Err(unreadable("activity")),
        // A card of the bot's cannot make Teams ask for an answer: `cards` knows no `Action.Execute`.
        "invoke" => {
            let name = activity["name"].as_str().unwrap_or("without name");
            return Err(not_used(&format!("invoke {name}")));
        }
        other => return Err(not_used(other)),
    };
    let mut drafts = match (kind, event) {
        ("message", _) if answers::is_one(activity) => answers::read(activity, &about)?,
        ("message", _) => vec![about.message()?],
        ("messageUpdate", None | Some("editMessage" | "undeleteMessage")) => vec![about.edit()?],
        ("messageDelete", _) => vec![about.delete()?],
        ("messageReaction", _) => reactions::read(activity, &about)?,
        ("conversationUpdate", _) => members::read(activity, &about)?,
        ("installationUpdate", _) => members::installed(activity, &about)?,
        (_, event) => return Err(not_used(&format!("{kind} {}", event.unwrap_or_default()))),
    };
    drafts.truncate(MAX_BATCH);
    Ok(drafts)
}

/// What all that an activity tells has in common.
pub(super) struct About<'a> {
    pub(super) activity: &'a Value,
    pub(super) me: Me<'a>,
    pub(super) conversation: Conversation,
    /// Who did it; nobody where Teams tells of something that nobody did.
    author: Option<Author>,
    said_at: Option<i64>,
}

impl<'a> About<'a> {
    /// Nothing if it is nowhere where the bot could answer.
    fn of(activity: &'a Value, me: Me<'a>) -> Option<Self> {
        Some(Self {
            activity,
            me,
            conversation: place(activity)?,
            author: somebody(&activity["from"], me),
            said_at: said_at(activity),
        })
    }

    /// Something that `author` did, or whoever the activity is from.
    ///
    /// # Errors
    /// Nobody did it.
    pub(super) fn draft(
        &self,
        author: Option<Author>,
        key: &str,
        message_id: Option<String>,
        event: Event,
    ) -> Result<Draft, Dropped> {
        let author = author.or_else(|| self.author.clone()).ok_or_else(|| unreadable(event.word()))?;
        let place = &self.conversation;
        let thread = place.thread.as_deref().unwrap_or_default();
        let received = Received {
            key: format!("{}#{thread}:{key}", place.address),
            conversation: place.clone(),
            author,
            message_id,
            said_at: self.said_at,
            mentions_me: false,
            event,
        };
        Ok(Draft { received, files: Vec::new(), root: None })
    }

    /// The activity's own id, by which it comes again; of one without, all that it says.
    pub(super) fn name(&self) -> String {
        let id = id(&self.activity["id"]);
        id.unwrap_or_else(|| to_hex(&Sha256::digest(self.activity.to_string())))
    }

    fn is_by_me(&self) -> bool {
        self.author.as_ref().is_some_and(|author| author.kind == AuthorKind::Myself)
    }

    fn message(mut self) -> Result<Draft, Dropped> {
        let id = id(&self.activity["id"]).ok_or_else(|| unreadable("message"))?;
        // What begins a conversation of a channel is the thread that its answers are in.
        let is_in_channel = self.activity["conversation"]["conversationType"] == "channel";
        if is_in_channel && self.conversation.thread.is_none() {
            self.conversation.thread = Some(id.clone());
        }
        let said = words::read(self.activity, self.me);
        if said.words == Words::default() && said.files.is_empty() {
            return Err(not_used("message without words"));
        }
        let mut draft = self.draft(None, &id, Some(id.clone()), Event::Message(said.words))?;
        draft.received.mentions_me = said.mentions_me && !self.is_by_me();
        draft.files = said.files;
        draft.root = self.conversation.thread.filter(|root| *root != id);
        Ok(draft)
    }

    /// Changed words, or words that were taken back and are there again. Files came with the message.
    fn edit(self) -> Result<Draft, Dropped> {
        let id = id(&self.activity["id"]).ok_or_else(|| unreadable("messageUpdate"))?;
        let mut words = words::read(self.activity, self.me).words;
        words.missing.clear();
        // Whether the time is the edit's own nobody says, so two edits are told apart by their words too.
        let told = to_hex(&Sha256::digest(&words.text));
        let key = format!("{id}:{}:{told}", self.said_at.unwrap_or_default());
        self.draft(None, &key, Some(id), Event::Edit(words))
    }

    fn delete(self) -> Result<Draft, Dropped> {
        let id = id(&self.activity["id"]).ok_or_else(|| unreadable("messageDelete"))?;
        let key = format!("{id}:{}", self.said_at.unwrap_or_default());
        self.draft(None, &key, Some(id), Event::Delete)
    }
}

/// An id of a message or an activity.
pub(super) fn id(value: &Value) -> Option<String> {
    let id = value.as_str().filter(|id| (1..=MAX_ID).contains(&id.len()))?;
    id.bytes().all(|b| b.is_ascii_graphic()).then(|| id.to_owned())
}

/// When it happened, in milliseconds since 1970.
pub(super) fn said_at(activity: &Value) -> Option<i64> {
    let at = activity["timestamp"].as_str()?.parse::<jiff::Timestamp>().ok()?;
    Some(at.as_millisecond())
}

/// Where it happened, if the bot can answer there.
pub(super) fn place(activity: &Value) -> Option<Conversation> {
    let conversation = &activity["conversation"];
    let whole = conversation["id"].as_str()?;
    let (address, thread) = match whole.split_once(";messageid=") {
        Some((address, thread)) => (address, Some(thread)),
        None => (whole, None),
    };
    let is_thread =
        |thread: &&str| (1..=40).contains(&thread.len()) && thread.bytes().all(|b| b.is_ascii_alphanumeric());
    let thread = match thread {
        Some(thread) => Some(Some(thread).filter(is_thread)?.to_owned()),
        None => None,
    };
    let address = canonical(address).ok()?;
    let direct = match conversation["conversationType"].as_str() {
        Some(kind) => kind == "personal",
        None => is_personal(&address),
    };
    let told = &activity["channelData"];
    let name =
        |value: &Value| value.as_str().map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
    let title = match (name(&told["team"]["name"]), name(&told["channel"]["name"])) {
        (Some(team), Some(channel)) => Some(format!("{team} / {channel}")),
        (team, channel) => channel.or(team).or_else(|| name(&conversation["name"])),
    };
    Some(Conversation { address, thread, direct, title: title.filter(|_| !direct) })
}

/// Who that is. `29:…` is a person, for this bot alone; their `aadObjectId` in Entra is the same for all. `28:…` is a bot.
pub(super) fn somebody(account: &Value, me: Me<'_>) -> Option<Author> {
    let id = account["id"].as_str().filter(|id| !id.is_empty())?;
    let kind = match (me.is(id), id.starts_with("28:") || account["role"] == "bot") {
        (true, _) => AuthorKind::Myself,
        (false, true) => AuthorKind::Program,
        (false, false) => AuthorKind::Person,
    };
    let name = account["name"].as_str().map(str::trim).filter(|name| !name.is_empty());
    let in_entra = account["aadObjectId"].as_str().filter(|same| *same != id && !same.is_empty());
    Some(Author {
        id: id.to_owned(),
        same_as: in_entra.into_iter().map(str::to_ascii_lowercase).collect(),
        name: name.map(str::to_owned),
        kind,
        unverified: false,
    })
}
