//! What waits until a person has said whether its author, or an agent in its conversation, is let in.

use rusqlite::{Transaction, params};
use serde_json::json;

use super::{
    Routing,
    accept::Accepting,
    arrival::{Arrival, Receiving, wirings},
    gates::{Said, Unwired},
    situation::Why,
};
use crate::{
    audit::{self, Entry, Event as AuditEvent},
    channels::received::{Conversation, Event, Received},
    people::requests::{self, Ask, Asked, What},
    policy::Scope,
    store::StoreError,
    turns::stored::Columns,
};

impl Accepting<'_> {
    /// Nobody is in the conversation. Chatter leaves no trace; what calls the account is a question for a person.
    pub(super) fn unwired(&mut self, arrival: &mut Arrival<'_>) -> Result<Option<Why>, StoreError> {
        let Arrival { received, place, said, .. } = &*arrival;
        let direct = received.conversation.direct;
        let unwired = Unwired {
            is_message: matches!(received.event, Event::Message(_)),
            calls: arrival.calls,
            direct,
            late: arrival.late,
            scope: arrival.scope,
            unknown: arrival.at.unknown,
        };
        let agent = self.routing.default_agent.as_deref();
        let (true, Some(agent)) = (self.routing.gates.request.escalates(&unwired), agent) else {
            return Ok(Some(Why::NotWired));
        };
        if said.silent || said.barred.contains(agent) || said.quiet.contains(agent) {
            return Ok(Some(Why::Gate));
        }
        let subject = format!("{}/{}:{}", place.channel, place.account, place.address);
        let name = if direct { received.author.name.clone() } else { received.conversation.title.clone() };
        self.ask(What::Conversation, &subject, name.as_deref(), agent, arrival)
    }

    /// Asks a person, if that was not done or refused before, and lets the event wait; why it does not.
    pub(super) fn ask(
        &mut self,
        what: What,
        subject: &str,
        name: Option<&str>,
        agent: &str,
        arrival: &mut Arrival<'_>,
    ) -> Result<Option<Why>, StoreError> {
        let place = &arrival.place;
        let ask = Ask {
            what,
            subject,
            channel: &place.channel,
            account: &place.account,
            address: &place.address,
            agent,
            name,
        };
        let (code, is_new) = match requests::ask(self.tx, &ask, self.now)? {
            Asked::New(code) => (code, true),
            Asked::Open(code) => (code, false),
            Asked::Refused | Asked::TooMany => return Ok(Some(Why::NotAsked)),
        };
        let mut waiting = self.tx.prepare_cached("SELECT count(*) FROM inbound WHERE request = ?")?;
        let waiting: u32 = waiting.query_row([&code], |row| row.get(0))?;
        if waiting >= requests::MAX_WAITING {
            return Ok(Some(Why::TooMany));
        }
        let row = self.row(arrival)?;
        self.tx.execute("UPDATE inbound SET request = ? WHERE seq = ?", params![code, row])?;
        if is_new {
            let detail = json!({"code": code, "user": arrival.user, "target": arrival.place.address,
                "channel": arrival.place.channel});
            let event = AuditEvent::AccessRequested;
            audit::append(self.tx, &Entry { actor: "hub", event, message: None, detail })?;
            self.outcome.asked.push(code);
        }
        Ok(None)
    }

    /// A row that waited with a request goes its way, now that a person let it in.
    fn go_on(
        &mut self,
        row: i64,
        at: &Receiving,
        received: Received,
        user: Option<String>,
    ) -> Result<(), StoreError> {
        // The hooks let it through when it came, and said then who it is.
        let said = Said { user, ..Said::default() };
        let mut arrival = Arrival::know(self.tx, at, received, &said, self.routing, self.now)?;
        arrival.row = Some(row);
        let let_in = "UPDATE inbound SET request = NULL, scope = ? WHERE seq = ?";
        self.tx.execute(let_in, params![arrival.trust, row])?;
        for route in wirings(self.tx, self.routing, &arrival.place)? {
            self.for_agent(&route, &mut arrival)?;
        }
        Ok(())
    }
}

/// What waited with a request goes its way, or goes. Whether it woke an agent. Somebody may have written to several accounts while one
/// request was open: each row goes on as `receiving` has the account that received it; where that has none, it is gone from the
/// configuration, and wakes nobody.
///
/// # Errors
/// The database.
pub fn release(
    tx: &Transaction<'_>,
    request: &requests::Request,
    receiving: impl Fn(&str, &str) -> Option<Receiving>,
    routing: &Routing,
    now: i64,
) -> Result<bool, StoreError> {
    let mut accepting = Accepting::new(tx, routing, now);
    let is_allowed = request.decided.as_deref() == Some("allowed");
    for Waiting { row, channel, account, user, vouched, received } in waiting(tx, &request.code)? {
        let at = receiving(&channel, &account);
        match (received.filter(|_| is_allowed), at.map(|at| Receiving { vouched, ..at })) {
            (Some(received), Some(at)) => accepting.go_on(row, &at, received, user)?,
            (Some(_), None) => let_be(tx, row)?,
            (None, _) => refuse(tx, row)?,
        }
    }
    Ok(accepting.outcome.woken)
}

/// The row waits no longer.
fn let_be(tx: &Transaction<'_>, row: i64) -> Result<(), StoreError> {
    tx.prepare_cached("UPDATE inbound SET request = NULL WHERE seq = ?")?.execute([row])?;
    Ok(())
}

/// The row goes, unless another agent has it: somebody may ask at one agent and be heard by another.
fn refuse(tx: &Transaction<'_>, row: i64) -> Result<(), StoreError> {
    let had =
        "SELECT 1 FROM turn_items WHERE inbound = ?1 UNION ALL SELECT 1 FROM contexts WHERE inbound = ?1";
    if tx.prepare_cached(had)?.exists([row])? {
        return let_be(tx, row);
    }
    tx.execute("DELETE FROM inbound_files WHERE inbound = ?", [row])?;
    tx.execute("DELETE FROM inbound WHERE seq = ?", [row])?;
    Ok(())
}

/// A row that waits with a request.
struct Waiting {
    row: i64,
    /// The account that received it.
    channel: String,
    account: String,
    /// Who its author is, if a hook said so.
    user: Option<String>,
    /// How far whoever handed it over vouched for it.
    vouched: Option<Scope>,
    /// The event that it stands for.
    received: Option<Received>,
}

/// The rows that wait with a request.
fn waiting(tx: &Transaction<'_>, code: &str) -> Result<Vec<Waiting>, StoreError> {
    let mut rows = tx.prepare_cached(
        "SELECT seq, sender, peer, thread, kind, text, platform_id, facts, channel, account, scope FROM inbound
         WHERE request = ? ORDER BY seq",
    )?;
    let rows = rows.query_map([code], |row| {
        let facts: Option<String> = row.get(7)?;
        let columns = Columns {
            kind: row.get(4)?,
            text: row.get(5)?,
            platform_id: row.get(6)?,
            facts: facts.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default(),
        };
        let author = row.get::<_, Option<String>>(1)?.unwrap_or_default();
        let conversation =
            Conversation { address: row.get(2)?, thread: row.get(3)?, ..Conversation::default() };
        Ok(Waiting {
            row: row.get(0)?,
            channel: row.get(8)?,
            account: row.get(9)?,
            user: columns.facts.user.clone(),
            vouched: row.get::<_, Option<Scope>>(10)?.filter(|_| columns.facts.vouched),
            received: columns.event(author, conversation),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
