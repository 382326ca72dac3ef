//! One agent's part in an event: it is woken, or keeps it for its next turn, or a person is asked; and the row that all agents share.

use rusqlite::params;

use super::{
    Queueing, Route,
    accept::Accepting,
    arrival::Arrival,
    rules::judge,
    situation::{Situation, Verdict, Why},
};
use crate::{
    people::{requests::What, user_id, users},
    sessions::place::{self, OpenedBy, Place},
    store::StoreError,
    turns::{
        Cause,
        open::{Opened, Opening, keep, open},
        stored::Columns,
    },
};

/// A session is active so long after somebody spoke in it, in milliseconds.
pub const ACTIVE_MS: i64 = 24 * 3_600_000;

impl Accepting<'_> {
    /// One agent's part: nothing if it has the event now, or why not.
    pub(super) fn for_agent(
        &mut self,
        route: &Route,
        arrival: &mut Arrival<'_>,
    ) -> Result<Option<Why>, StoreError> {
        let spoke = place::find(self.tx, &route.agent, &arrival.place)?;
        let verdict = self.verdict(route, arrival, spoke.as_ref().map(|(_, last)| *last))?;
        match verdict {
            Verdict::Drop(why) => return Ok(Some(why)),
            Verdict::Ask => {
                let (subject, name) = (arrival.user.clone(), arrival.received.author.name.clone());
                return self.ask(What::Person, &subject, name.as_deref(), &route.agent, arrival);
            }
            Verdict::Accumulate | Verdict::Engage => {}
        }
        let row = self.row(arrival)?;
        let session = match spoke {
            Some((session, _)) => session,
            None => new_session(route, arrival),
        };
        if verdict == Verdict::Engage {
            return self.engage(route, arrival, &session, row);
        }
        keep(self.tx, &route.agent, &session, row)?;
        Ok(None)
    }

    /// What becomes of the event, of which agent and place were last heard of at `spoke`.
    fn verdict(
        &self,
        route: &Route,
        arrival: &Arrival<'_>,
        spoke: Option<i64>,
    ) -> Result<Verdict, StoreError> {
        let text = arrival.text();
        // What was pressed or entered is for the agent that asked.
        let is_its = arrival.answers.as_ref().is_none_or(|of| text.is_some() || of.agent == route.agent);
        let situation = Situation {
            text,
            calls: arrival.calls && is_its,
            scope: arrival.scope,
            // Who talks to an agent goes on talking; a program only ever tells.
            active: !arrival.is_programs() && spoke.is_some_and(|last| self.now - last < ACTIVE_MS),
            late: arrival.late,
            unknown: arrival.at.unknown,
            barred: arrival.said.barred.contains(&route.agent),
            quiet: arrival.said.quiet.contains(&route.agent),
        };
        Ok(match judge(&self.routing.gates, route, &situation) {
            // What is done to a message that the agent has read, or that it wrote, it reads with its next turn.
            Verdict::Drop(Why::NotEngaged) if text.is_none() && self.concerns(route, arrival)? => {
                Verdict::Accumulate
            }
            verdict => verdict,
        })
    }

    /// Whether an event is about a message that the agent was told of, or sent.
    fn concerns(&self, route: &Route, arrival: &Arrival<'_>) -> Result<bool, StoreError> {
        if arrival.answers.as_ref().is_some_and(|answered| answered.agent == route.agent) {
            return Ok(true);
        }
        let Some(id) = &arrival.received.message_id else { return Ok(false) };
        let Place { channel, account, address, .. } = &arrival.place;
        let mut look = self.tx.prepare_cached(
            "SELECT 1 FROM inbound WHERE platform_id = ? AND channel = ? AND account = ? AND peer = ?
             AND EXISTS (SELECT 1 FROM turn_items WHERE turn_items.inbound = inbound.seq AND agent = ?)",
        )?;
        Ok(look.exists([id, channel, account, address, &route.agent])?)
    }

    fn engage(
        &mut self,
        route: &Route,
        arrival: &Arrival<'_>,
        session: &str,
        row: i64,
    ) -> Result<Option<Why>, StoreError> {
        let place = &arrival.place;
        let thread = place.thread.as_deref().unwrap_or_default();
        let gather = format!("{}\u{1f}{thread}\u{1f}{}", arrival.user, place.address);
        let gathers = arrival.text().is_some() && route.queue == Queueing::Collect;
        let opening = Opening {
            agent: &route.agent,
            session,
            gather: gathers.then_some(gather.as_str()),
            cause: Cause::Message,
            words: arrival.text().is_some(),
            scope: arrival.trust,
            place: Some(place),
            inbound: row,
        };
        match open(self.tx, &opening, self.now)? {
            Opened::Full => return Ok(Some(Why::TurnsFull)),
            Opened::Before => {}
            Opened::Waits => self.outcome.woken = true,
        }
        place::note(self.tx, &route.agent, place, session, OpenedBy::Person, self.now)?;
        Ok(None)
    }

    /// The row of an event, which is written when it is first wanted: with its author, its conversation and its files.
    pub(super) fn row(&mut self, arrival: &mut Arrival<'_>) -> Result<i64, StoreError> {
        if let Some(row) = arrival.row {
            return Ok(row);
        }
        let (tx, now, received) = (self.tx, self.now, &arrival.received);
        let Place { channel, account, address, thread } = &arrival.place;
        let Columns { kind, text, platform_id, mut facts } = Columns::of(received, arrival.late);
        facts.user.clone_from(&arrival.said.user);
        facts.vouched = arrival.at.vouched.is_some();
        let json = serde_json::to_string(&facts).unwrap_or_default();
        let (author, scope, said_at) = (&received.author, arrival.trust, received.said_at);
        tx.prepare_cached(
            "INSERT INTO inbound (channel, account, peer, thread, sender, platform_id, text, at, kind, facts, scope, said_at)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            channel, account, address, thread, author.id, platform_id, text, now, kind, json, scope, said_at
        ])?;
        let row = tx.last_insert_rowid();
        for file in &facts.files {
            tx.prepare_cached("INSERT OR IGNORE INTO inbound_files (inbound, digest) VALUES (?, ?)")?
                .execute(params![row, file.sha256.0])?;
        }
        // For whom nobody vouches says nothing of who else they are.
        let also = author.same_as.iter().filter(|_| !author.unverified).map(|id| user_id(channel, id));
        let same_as: Vec<String> = also.filter(|id| *id != arrival.user).collect();
        users::seen(tx, &arrival.user, &same_as, author.name.as_deref(), now)?;
        let conversation = &received.conversation;
        tx.prepare_cached(
            "INSERT INTO conversations (channel, account, address, direct, title, first_at, last_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)
             ON CONFLICT DO UPDATE SET title = coalesce(excluded.title, title), last_at = excluded.last_at",
        )?
        .execute(params![
            channel,
            account,
            address,
            conversation.direct,
            conversation.title,
            now
        ])?;
        self.outcome.rows.push(row);
        arrival.row = Some(row);
        Ok(row)
    }
}

/// The session in which an agent speaks at a place for the first time. An answer belongs to that of what it answers, also where it
/// opens a thread of its own.
fn new_session(route: &Route, arrival: &Arrival<'_>) -> String {
    let answered = arrival.answers.as_ref().filter(|of| of.agent == route.agent);
    let Place { channel, account, address, thread } = &arrival.place;
    answered
        .and_then(|of| of.session.clone())
        .unwrap_or_else(|| route.session_of(channel, account, address, thread.as_deref()))
}
