//! What the taker of a turn is told. All strings in `items` and the conversation's title are strangers' words, and they stand
//! nowhere else.

use rusqlite::{Connection, OptionalExtension as _, params};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Cause, MAX_SHOWN, lease::Leased};
use crate::{
    channels::registry,
    clock::Time,
    message::{attachment::Attachment, form::Entry, target::Target},
    people::{People, user_id, users},
    policy::Scope,
    store::StoreError,
    turns::stored::{Facts, Reply},
};

/// A turn, as its taker is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct TurnView {
    /// Its id.
    pub turn: String,
    /// How often it was given out: more than once, if an earlier taker did not end it.
    pub attempt: u32,
    /// The agent.
    pub agent: String,
    /// The agent's session.
    pub session: String,
    /// What woke the agent.
    pub cause: Cause,
    /// The proof of its conversation, for all that is sent in it; none of a turn in no conversation.
    pub context: Option<String>,
    /// How far the least trusted of its items is trusted.
    pub scope: Scope,
    /// By which its taker ends it.
    pub lease: String,
    /// Until when it is the taker's; calls with its context or lease prolong that (RFC 3339).
    #[schema(value_type = String)]
    pub lease_until: Time,
    /// How results of tools are best written there: `markdown` or `plain`.
    pub tool_result_format: &'static str,
    /// What earlier takers sent in it.
    pub already_sent: Vec<Sent>,
    /// How many items are left out: older ones that did not wake the agent, and those beyond the newest 150.
    pub omitted: u32,
    /// The conversation.
    pub conversation: Option<ConversationView>,
    /// What was received, oldest first.
    pub items: Vec<Item>,
}

/// The conversation of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ConversationView {
    /// As a target: `channel:address`, with the thread.
    pub target: String,
    /// `dm` or `group`.
    pub kind: &'static str,
    /// The thread in it.
    pub thread: Option<String>,
    /// What it is called.
    pub title: Option<String>,
}

/// A message that was sent in the turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = SentInTurn)]
pub struct Sent {
    /// Its id.
    pub id: String,
    /// Where it goes.
    pub to: String,
    /// Where it is.
    pub state: String,
    /// What it says.
    pub text: String,
}

/// Something that was received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = TurnItem)]
pub struct Item {
    /// The hub's name of it.
    pub id: String,
    /// `message`, `edit`, `delete`, `reaction`, `press`, `entry`, `vote`, `join`, `leave`, `webhook`, `task` or `system`
    /// (the hub's own words).
    pub kind: String,
    /// Whether it woke the agent; else it was kept to be read with what does.
    pub engages: bool,
    /// When it was said (RFC 3339).
    #[schema(value_type = String)]
    pub at: Time,
    /// Whether it came long after that.
    pub late: bool,
    /// Where it was said, if that is not the turn's own conversation and thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The platform's id of the message; by this it is answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// What it says.
    pub text: String,
    /// Whether the end of the text is left out, because it had more than 32,000 characters. The last line says how many bytes that
    /// are. Left out if it is whole.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Whether the words are somebody else's, handed on.
    pub forwarded: bool,
    /// Who.
    pub sender: SenderView,
    /// The message that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<ReplyView>,
    /// Files that came with it.
    pub files: Vec<FileView>,
    /// Files that did not come along, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// The platform's id of the message that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// A reaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emoji: Option<String>,
    /// Whether the reaction was taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed: Option<bool>,
    /// The data of the button that was pressed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// The answers to a poll.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<String>>,
    /// What was entered into a form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<Entry>,
    /// The task that was due: by this it is cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

/// Who did something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct SenderView {
    /// The user's id, such as `tg:123456`.
    pub id: String,
    /// Their name in the configuration.
    pub person: Option<String>,
    /// How far they are trusted.
    pub scope: Scope,
    /// What they call themselves.
    pub name: Option<String>,
}

/// The message that one answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ReplyView {
    /// The platform's id of it. Empty if it is of another conversation and the platform names none.
    pub id: String,
    /// Whether the hub sent it.
    pub mine: bool,
    /// Who wrote it. Left out if the hub did, or if nobody knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<QuotedAuthor>,
    /// What it says.
    pub text: Option<String>,
}

/// Who wrote the message that one answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct QuotedAuthor {
    /// The user's id, such as `tg:123456`.
    pub id: String,
    /// Their name in the configuration.
    pub person: Option<String>,
    /// What they called themselves when they last wrote.
    pub name: Option<String>,
}

/// The message that is answered, as its reader is told.
fn answered(
    db: &Connection,
    channel: &str,
    people: &People,
    Reply { id, mine, text, author }: Reply,
) -> Result<ReplyView, StoreError> {
    let author = author.filter(|_| !mine).map(|author| user_id(channel, &author));
    let author = match author {
        Some(id) => Some(QuotedAuthor {
            person: users::person(db, people, &id)?.map(|person| person.name.clone()),
            name: db
                .prepare_cached("SELECT name FROM users WHERE id = ?")?
                .query_row([&id], |row| row.get(0))
                .optional()?
                .flatten(),
            id,
        }),
        None => None,
    };
    Ok(ReplyView { id, mine, author, text })
}

/// A file that the hub has, for the agent that is told of it: `GET /v1/files/{file}`, for as long as the words are kept that it came with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct FileView {
    /// By which it is fetched, and attached to what the agent sends: `{"file": …}` among `attachments`.
    pub file: String,
    /// What it is called.
    pub name: String,
    /// The media type, by its content.
    pub mime: String,
    /// Bytes.
    pub size: u64,
}

impl From<Attachment> for FileView {
    fn from(file: Attachment) -> Self {
        Self { file: file.sha256.to_string(), name: file.name, mime: file.kind, size: file.size }
    }
}

/// Whether a row is a sign and no words: whoever has to leave something out leaves these out first.
pub(super) const IS_A_SIGN: &str = "kind IN ('reaction', 'join', 'leave')";

struct Head {
    agent: String,
    session: String,
    cause: Cause,
    scope: Scope,
    lease_until: i64,
    attempts: u32,
    omitted: u32,
    place: Option<Target>,
}

/// What the taker of a turn is told.
///
/// # Errors
/// The database.
pub fn view(db: &Connection, leased: &Leased, people: &People) -> Result<TurnView, StoreError> {
    let head = head(db, leased.seq)?;
    let Items { items, first, beyond } = items(db, leased.seq, head.place.as_ref(), people)?;
    let conversation = head.place.as_ref().map(|place| ConversationView {
        target: place.to_string(),
        kind: if first.direct { "dm" } else { "group" },
        thread: place.thread.clone(),
        title: first.title,
    });
    let format = head.place.as_ref().map_or("plain", |at| registry::tool_result_format(&at.channel).name());
    Ok(TurnView {
        turn: leased.id.clone(),
        attempt: head.attempts,
        agent: head.agent,
        session: head.session,
        cause: head.cause,
        context: leased.context.clone(),
        scope: head.scope,
        lease: leased.lease.clone(),
        lease_until: Time(head.lease_until),
        tool_result_format: format,
        already_sent: sent(db, &leased.id)?,
        omitted: head.omitted.saturating_add(beyond),
        conversation,
        items,
    })
}

fn head(db: &Connection, turn: i64) -> Result<Head, StoreError> {
    let sql =
        "SELECT agent, session, cause, scope, coalesce(lease_until, 0), attempts, channel, address, thread, omitted
         FROM turns WHERE seq = ?";
    Ok(db.prepare_cached(sql)?.query_row([turn], |row| {
        let channel: Option<String> = row.get(6)?;
        let place = match channel {
            Some(channel) => Some(Target { channel, address: row.get(7)?, thread: row.get(8)? }),
            None => None,
        };
        Ok(Head {
            agent: row.get(0)?,
            session: row.get(1)?,
            cause: row.get(2)?,
            scope: row.get(3)?,
            lease_until: row.get(4)?,
            attempts: row.get(5)?,
            omitted: row.get(9)?,
            place,
        })
    })?)
}

/// What stands in a turn.
pub(super) struct Items {
    /// Those that are shown, in the order in which they were said.
    pub(super) items: Vec<Item>,
    /// The facts of the first of them that woke the agent in the turn's own conversation.
    first: Facts,
    /// How many more there are.
    beyond: u32,
}

/// The items of a turn: the newest, for who is at work has read the others. What the agent is to do by itself comes before all, and words
/// before what is done to them.
pub(super) fn items(
    db: &Connection,
    turn: i64,
    place: Option<&Target>,
    people: &People,
) -> Result<Items, StoreError> {
    let sql = format!(
        "SELECT * FROM (
             SELECT seq, kind, engages, coalesce(said_at, at) AS said, channel, peer, thread, platform_id, text, sender, scope, facts,
                 turn_items.agent
             FROM turn_items JOIN inbound ON inbound.seq = turn_items.inbound WHERE turn = ?
             ORDER BY kind NOT IN ('task', 'system'), {IS_A_SIGN}, seq DESC LIMIT ?)
         ORDER BY said, seq"
    );
    let mut rows = db.prepare_cached(&sql)?;
    let all: u32 = db
        .prepare_cached("SELECT count(*) FROM turn_items WHERE turn = ?")?
        .query_row([turn], |row| row.get(0))?;
    let mut first = None;
    let mut rows = rows.query(params![turn, MAX_SHOWN])?;
    let mut items = Vec::new();
    while let Some(row) = rows.next()? {
        let facts: Option<String> = row.get(11)?;
        let facts: Facts = facts.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default();
        let at = Target { channel: row.get(4)?, address: row.get(5)?, thread: row.get(6)? };
        let engages: bool = row.get(2)?;
        if engages && first.is_none() && place.is_none_or(|place| *place == at) {
            first = Some(facts.clone());
        }
        let handle: Option<String> = row.get(9)?;
        let kind: String = row.get(1)?;
        // A task is its agent's own, whatever conversation it is bound to.
        let id = match facts.task {
            Some(_) => format!("agent:{}", row.get::<_, String>(12)?),
            None => user_id(&at.channel, handle.as_deref().unwrap_or(&at.address)),
        };
        items.push(Item {
            id: format!("in-{}", row.get::<_, i64>(0)?),
            removed: (kind == "reaction").then_some(facts.removed),
            kind,
            engages,
            at: Time(row.get(3)?),
            late: facts.late,
            message_id: row.get(7)?,
            text: row.get(8)?,
            truncated: facts.truncated,
            forwarded: facts.forwarded,
            sender: SenderView {
                person: users::person(db, people, &id)?.map(|person| person.name.clone()),
                id,
                scope: row.get::<_, Option<Scope>>(10)?.unwrap_or(Scope::Owner),
                name: facts.name,
            },
            target: (place != Some(&at) && facts.task.is_none()).then(|| at.to_string()),
            reply_to: facts.reply_to.map(|reply| answered(db, &at.channel, people, reply)).transpose()?,
            files: facts.files.into_iter().map(Into::into).collect(),
            missing: facts.missing,
            about: facts.about,
            emoji: facts.emoji,
            data: facts.data,
            options: facts.options,
            entry: facts.entry,
            task: facts.task,
        });
    }
    let beyond = all.saturating_sub(u32::try_from(items.len()).unwrap_or(u32::MAX));
    Ok(Items { items, first: first.unwrap_or_default(), beyond })
}

/// What was sent in a turn.
fn sent(db: &Connection, turn: &str) -> Result<Vec<Sent>, StoreError> {
    let mut rows = db.prepare_cached(
        "SELECT id, channel, address, thread, state, substr(text, 1, 500) FROM messages
         WHERE iif(json_valid(origin), origin ->> '$.turn', NULL) = ? ORDER BY seq LIMIT 100",
    )?;
    let rows = rows.query_map([turn], |row| {
        let to = Target { channel: row.get(1)?, address: row.get(2)?, thread: row.get(3)? };
        Ok(Sent { id: row.get(0)?, to: to.to_string(), state: row.get(4)?, text: row.get(5)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
