//! Rows of the audit, as a watcher may see them.

use rusqlite::{Connection, Row};
use serde_json::{Value, json};

use super::{Event, Page, Watcher};
use crate::{
    approval::Approvals,
    audit,
    clock::rfc3339,
    message::{
        receipt::{Asked, Receipt, nobody},
        state::State,
        target::Target,
    },
    store::StoreError,
};

/// Rows that are read at once.
const MAX_ROWS_AT_ONCE: i64 = 256;

const PAGE: &str = "SELECT audit.seq, audit.at, audit.actor, audit.event, audit.message, audit.detail, messages.agent, \
     messages.channel, messages.address, messages.thread FROM audit LEFT JOIN messages ON messages.id = audit.message \
     WHERE audit.seq > ? ORDER BY audit.seq LIMIT ?";

/// What comes after the row numbered `after`.
pub(super) fn page(
    db: &Connection,
    approvals: &Approvals,
    watcher: &Watcher,
    after: i64,
) -> Result<Page, StoreError> {
    let mut rows = db.prepare_cached(PAGE)?;
    let mut rows: Vec<Line> =
        rows.query_map([after, MAX_ROWS_AT_ONCE], Line::read)?.collect::<Result<_, _>>()?;
    for line in rows.iter_mut().filter(|line| watcher.may_see(line) && line.state() == Some(State::Held)) {
        line.asked = approvals.asked_about(db, line.message.as_deref().unwrap_or_default())?;
    }
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
        let newest = audit::newest(db)?;
        let lost = (after > newest).then(|| {
            let what =
                format!("the hub knows of nothing after {newest}: its database was restored, or is another");
            missed(newest, &what)
        });
        return Ok(Page { events: lost.into_iter().collect(), read_to: newest.min(after), more: false });
    };
    let mut events = Vec::new();
    // The audit numbers its rows without gaps, so a gap is what its retention took.
    if first.seq > after.saturating_add(1) {
        let what = format!("what happened before {} is past its retention", first.seq);
        events.push(missed(first.seq - 1, &what));
    }
    let mut nobodys = 0;
    for line in &rows {
        match watcher {
            Watcher::Operator => events.push(line.whole()),
            Watcher::Agent(name) if line.agent.as_ref() == Some(name) => events.extend(line.message()),
            Watcher::Agent(name) if line.turn_of() == Some(name) => events.push(line.turn()),
            // What it may do, and where, may be different now. What has changed is the operator's business.
            Watcher::Agent(_) if line.happened() == Some(audit::Event::ConfigurationReloaded) => {
                events.push(line.bare())
            }
            Watcher::Agent(_) if line.agent.is_none() && line.state().is_some() => nobodys += 1,
            Watcher::Agent(_) => {}
        }
    }
    if nobodys > 0 {
        let what =
            format!("{nobodys} events were of messages that are gone by now; some may have been yours");
        events.insert(0, missed(first.seq - 1, &what));
    }
    let (read_to, more) = (last.seq, i64::try_from(rows.len()).unwrap_or(0) == MAX_ROWS_AT_ONCE);
    Ok(Page { events, read_to, more })
}

impl Watcher {
    fn may_see(&self, line: &Line) -> bool {
        match self {
            Self::Operator => true,
            Self::Agent(name) => line.agent.as_ref() == Some(name),
        }
    }
}

fn missed(seq: i64, what: &str) -> Event {
    let data = json!({"seq": seq, "missed": what, "hint": "see GET /v1/messages and GET /v1/inbox for how things stand"});
    Event { seq, name: "missed".into(), data }
}

struct Line {
    seq: i64,
    at: i64,
    actor: String,
    event: String,
    message: Option<String>,
    detail: Value,
    agent: Option<String>,
    to: Option<Target>,
    /// Who can be asked now about a message that is held.
    asked: Option<Asked>,
}

impl Line {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let detail: String = row.get(5)?;
        let agent: Option<String> = row.get(6)?;
        let to = match &agent {
            Some(_) => Some(Target { channel: row.get(7)?, address: row.get(8)?, thread: row.get(9)? }),
            None => None,
        };
        Ok(Self {
            seq: row.get(0)?,
            at: row.get(1)?,
            actor: row.get(2)?,
            event: row.get(3)?,
            message: row.get(4)?,
            detail: serde_json::from_str(&detail).unwrap_or(Value::Null),
            agent,
            to,
            asked: None,
        })
    }

    /// What happened, if the hub has a word for it.
    fn happened(&self) -> Option<audit::Event> {
        audit::Event::from_word(&self.event)
    }

    /// The state that a message came to, if the row says so.
    fn state(&self) -> Option<State> {
        self.message.as_ref()?;
        self.happened()?.state()
    }

    /// What its agent is told of a message.
    fn message(&self) -> Option<Event> {
        if self.happened() == Some(audit::Event::FormEntered) {
            let data = json!({
                "seq": self.seq, "at": rfc3339(self.at), "id": self.message, "to": self.to.as_ref().map(ToString::to_string),
                "notice": self.detail["notice"], "by": self.detail["by"],
                "hint": "GET /v1/inbox has what was entered, in the notice of this number",
            });
            return Some(Event { seq: self.seq, name: self.event.clone(), data });
        }
        let state = self.state()?;
        let mut data = json!({
            "seq": self.seq, "at": rfc3339(self.at), "id": self.message, "state": state,
            "to": self.to.as_ref().map(ToString::to_string),
        });
        let why = if state.is_ok() { "reason" } else { "error" };
        let members = [("code", "code"), (why, "reason"), ("sent", "sent")];
        for (member, fact) in members.into_iter().filter(|(_, fact)| !self.detail[*fact].is_null()) {
            data[member] = self.detail[fact].clone();
        }
        let deadline = self.detail["facts"]["deadline"].as_str().filter(|_| state == State::Held);
        if let Some(deadline) = deadline {
            data["deadline"] = deadline.into();
        }
        let problem = self.asked.as_ref().and_then(|asked| asked.problem.as_deref());
        if let Some(asked) = &self.asked {
            data["asked"] = json!(asked);
        }
        if let Some(problem) = problem {
            data["hint"] = nobody(problem, deadline).into();
        } else if let Some(hint) = Receipt::hint(state, self.detail["code"].as_str()) {
            data["hint"] = hint.into();
        }
        Some(Event { seq: self.seq, name: self.event.clone(), data })
    }

    /// The agent of a turn that waits, has ended or has failed.
    fn turn_of(&self) -> Option<&str> {
        use audit::Event::{TurnEnded, TurnFailed, TurnWaiting};
        matches!(self.happened()?, TurnWaiting | TurnEnded | TurnFailed)
            .then(|| self.detail["agent"].as_str())
            .flatten()
    }

    /// What its agent is told of a turn. What was said stands in it only when it is taken.
    fn turn(&self) -> Event {
        let mut event = self.bare();
        for fact in ["turn", "session", "due_at", "outcome"] {
            if !self.detail[fact].is_null() {
                event.data[fact] = self.detail[fact].clone();
            }
        }
        event
    }

    /// That it happened.
    fn bare(&self) -> Event {
        let data = json!({"seq": self.seq, "at": rfc3339(self.at), "id": self.message});
        Event { seq: self.seq, name: self.event.clone(), data }
    }

    /// What an operator is told of it: all of it.
    fn whole(&self) -> Event {
        let mut event = self.message().unwrap_or_else(|| self.bare());
        event.data["actor"] = self.actor.as_str().into();
        event.data["agent"] = json!(self.agent);
        event.data["detail"] = self.detail.clone();
        event
    }
}
