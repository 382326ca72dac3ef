//! What is known of an event before any agent is looked at: where it came, who did it, and what it answers.

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use super::{
    Route, Routing, UnknownSenders,
    gates::{Said, Sender},
};
use crate::{
    channels::received::{AuthorKind, Event, Received},
    people::{user_id, users},
    policy::Scope,
    sessions::place::Place,
    store::StoreError,
};

/// What is older than this when it comes wakes nobody, in milliseconds: a hub that was off for a month answers nothing of that.
pub const MAX_AGE_MS: i64 = 24 * 3_600_000;

/// The account that received something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receiving {
    /// The channel.
    pub channel: String,
    /// The account.
    pub account: String,
    /// Whether the platform has threads.
    pub threads: bool,
    /// What becomes of strangers if a route does not say.
    pub unknown: UnknownSenders,
    /// How far whoever hands it over vouches for all of it; nothing if each author is judged.
    pub vouched: Option<Scope>,
}

/// An event on its way to agents.
pub(super) struct Arrival<'a> {
    pub(super) at: &'a Receiving,
    pub(super) received: Received,
    pub(super) place: Place,
    pub(super) user: String,
    pub(super) scope: Scope,
    /// How far its words are trusted: as far as its author, or less if they hand on somebody else's.
    pub(super) trust: Scope,
    /// What hooks said of it.
    pub(super) said: &'a Said,
    /// Whether the account itself is meant.
    pub(super) calls: bool,
    /// Whether it is too old to wake anybody.
    pub(super) late: bool,
    /// The agent whose message it answers to, and the session that this was said in.
    pub(super) answers: Option<Answered>,
    /// Its row, once it is written: once, however many agents have it.
    pub(super) row: Option<i64>,
}

/// A message of the hub's that something answers to.
pub(super) struct Answered {
    pub(super) agent: String,
    pub(super) session: Option<String>,
}

impl<'a> Arrival<'a> {
    /// Finds out.
    ///
    /// # Errors
    /// The database.
    pub(super) fn know(
        tx: &Transaction<'_>,
        at: &'a Receiving,
        mut received: Received,
        said: &'a Said,
        routing: &Routing,
        now: i64,
    ) -> Result<Self, StoreError> {
        let place = place_of(at, &received);
        let Sender { user, mut scope } = sender_of(tx, at, &received, said.user.as_deref(), routing)?;
        // Not every platform tells who took it back: it counts as whoever wrote it.
        if at.vouched.is_none() && received.author.unverified && matches!(received.event, Event::Delete) {
            scope = scope_of_message(tx, &place, received.message_id.as_deref())?.unwrap_or(Scope::Unknown);
        }
        let answered = match &received.event {
            Event::Message(words) => words.reply_to.as_ref().map(|reply| reply.id.clone()),
            _ => received.message_id.clone(),
        };
        let answers = answered.as_ref().map(|id| sent_by(tx, &place, id)).transpose()?.flatten();
        if let Event::Message(words) = &mut received.event
            && let Some(reply) = &mut words.reply_to
        {
            reply.mine |= answers.is_some();
        }
        let is_answer = match &received.event {
            Event::Press { .. } | Event::Entry(_) | Event::Vote { .. } => true,
            Event::Message(words) | Event::Webhook(words) => {
                received.mentions_me
                    || received.conversation.direct
                    || words.reply_to.as_ref().is_some_and(|reply| reply.mine)
            }
            _ => false,
        };
        let mut trust = match at.vouched {
            Some(vouched) => vouched,
            None => trust(tx, &place, &mut received, scope, routing)?,
        };
        // What an agent wrote at a stranger's words may be what the stranger wanted: a yes to it is no more than that.
        if let Some(answered) = answered {
            trust = trust.min(scope_of_sent(tx, &place, &answered)?.unwrap_or(trust));
        }
        let late = received.said_at.is_some_and(|said_at| said_at < now - MAX_AGE_MS);
        Ok(Self { at, received, place, user, scope, trust, said, calls: is_answer, late, answers, row: None })
    }

    /// Whether a program says it.
    pub(super) fn is_programs(&self) -> bool {
        self.received.author.kind == AuthorKind::Program
    }

    /// The text; nothing of what is no message.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.received.event {
            Event::Message(words) | Event::Webhook(words) => Some(words.text.as_str()),
            _ => None,
        }
    }
}

/// Where an event came, by the adapter's own word on threads.
pub(crate) fn place_of(at: &Receiving, received: &Received) -> Place {
    Place {
        channel: at.channel.clone(),
        account: at.account.clone(),
        address: received.conversation.address.clone(),
        thread: received.conversation.thread.clone().filter(|_| at.threads),
    }
}

/// Who the author of an event is, as far as whoever hands it over leaves that open.
pub(crate) fn sender_of(
    db: &Connection,
    at: &Receiving,
    received: &Received,
    said: Option<&str>,
    routing: &Routing,
) -> Result<Sender, StoreError> {
    let people = &routing.people;
    let sender = routing.gates.sender.resolve(db, people, &at.channel, &received.author, said)?;
    Ok(Sender { scope: at.vouched.unwrap_or(sender.scope), ..sender })
}

/// How far the words of an event are trusted that an agent reads with it. What was forwarded has an author whom nobody vouches for;
/// what is quoted has its own, and of somebody who was shut out nothing is quoted.
fn trust(
    tx: &Transaction<'_>,
    place: &Place,
    received: &mut Received,
    scope: Scope,
    routing: &Routing,
) -> Result<Scope, StoreError> {
    let writer = received.author.id.clone();
    let (Event::Message(words) | Event::Webhook(words) | Event::Edit(words)) = &mut received.event else {
        return Ok(scope);
    };
    let mut least = if words.forwarded { scope.min(Scope::Unknown) } else { scope };
    let Some(reply) = words.reply_to.as_mut().filter(|reply| !reply.mine && reply.text.is_some()) else {
        return Ok(least);
    };
    // Words that the hub has are trusted as they were: an owner's own message may hand on a stranger's.
    let stored = scope_of_message(tx, place, Some(&reply.id))?;
    let author = match &reply.author {
        Some(author) if *author == writer => scope,
        Some(author) => {
            let known = users::trusted(tx, &routing.people, &user_id(&place.channel, author))?;
            known.unwrap_or(Scope::Unknown)
        }
        None => stored.unwrap_or(Scope::Unknown),
    };
    let quoted = stored.map_or(author, |stored| stored.min(author));
    if quoted == Scope::Blocked {
        reply.text = None;
    } else {
        least = least.min(quoted);
    }
    Ok(least)
}

/// How far a message that was received is trusted, in the least of its versions; nothing if the hub does not have it.
fn scope_of_message(
    tx: &Transaction<'_>,
    place: &Place,
    platform_id: Option<&str>,
) -> Result<Option<Scope>, StoreError> {
    let versions =
        "SELECT scope FROM inbound WHERE platform_id = ? AND channel = ? AND account = ? AND peer = ?";
    least_of(tx, versions, place, platform_id)
}

/// How far those are trusted at whose words a message of the hub's was sent, in the least of its versions; nothing of one that nobody's
/// words led to.
fn scope_of_sent(
    tx: &Transaction<'_>,
    place: &Place,
    platform_id: &str,
) -> Result<Option<Scope>, StoreError> {
    let versions = "SELECT iif(json_valid(messages.origin), messages.origin ->> '$.scope', NULL) AS scope
        FROM parts JOIN messages ON messages.seq = parts.message
        WHERE parts.platform_id = ? AND messages.channel = ? AND messages.account = ? AND messages.address = ?";
    least_of(tx, versions, place, Some(platform_id))
}

/// The least scope of the rows that a query finds for a platform's id in a place.
fn least_of(
    tx: &Transaction<'_>,
    rows: &str,
    place: &Place,
    platform_id: Option<&str>,
) -> Result<Option<Scope>, StoreError> {
    let sql = format!("SELECT scope FROM ({rows}) WHERE scope IS NOT NULL ORDER BY {} LIMIT 1", Scope::RANK);
    let mut look = tx.prepare_cached(&sql)?;
    let found =
        look.query_row(params![platform_id, place.channel, place.account, place.address], |row| row.get(0));
    Ok(found.optional()?)
}

/// The agent that sent a message of the hub's, if it is one, and in which session. That of another thread is no session of this one.
fn sent_by(tx: &Transaction<'_>, place: &Place, platform_id: &str) -> Result<Option<Answered>, StoreError> {
    let mut look = tx.prepare_cached(
        "SELECT messages.agent, iif(messages.thread IS NULL OR messages.thread = ?5, messages.session, NULL) FROM parts JOIN messages ON messages.seq = parts.message
         WHERE parts.platform_id = ?1 AND messages.channel = ?2 AND messages.account = ?3 AND messages.address = ?4
         ORDER BY messages.seq DESC LIMIT 1",
    )?;
    Ok(look
        .query_row(params![platform_id, place.channel, place.account, place.address, place.thread], |row| {
            Ok(Answered { agent: row.get(0)?, session: row.get(1)? })
        })
        .optional()?)
}

/// The wirings of a conversation: by the configuration, or by a person.
pub(crate) fn wirings(db: &Connection, routing: &Routing, place: &Place) -> Result<Vec<Route>, StoreError> {
    let routes = routing.wirings(&place.channel, &place.account, &place.address);
    let mut routes: Vec<Route> = routes.into_iter().cloned().collect();
    let granted: Option<String> = db
        .prepare_cached("SELECT agent FROM conversations WHERE channel = ? AND account = ? AND address = ?")?
        .query_row([&place.channel, &place.account, &place.address], |row| row.get(0))
        .optional()?
        .flatten();
    // An agent that is gone from the configuration has no conversation: a person may give it to another.
    if let Some(agent) = granted
        && routing.knows(&agent)
        && routes.iter().all(|route| route.agent != agent)
    {
        routes.push(Route::granted(&agent, &format!("{}:{}", place.channel, place.address)));
    }
    Ok(routes)
}
