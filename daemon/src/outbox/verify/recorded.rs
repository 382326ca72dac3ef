//! What the audit says of the messages that are stored.

use std::collections::BTreeMap;

use rusqlite::Connection;
use serde_json::Value;

use super::{Fault, Report};
use crate::{
    audit,
    message::state::{Event, State},
    outbox::outcome::settled_line,
    store::StoreError,
};

/// Rows of messages that are stored: those of others went with them, and are many.
const ROWS: &str = "SELECT audit.seq, audit.event, audit.message, audit.detail FROM audit
    JOIN messages ON messages.id = audit.message
    WHERE audit.event LIKE 'message.%' OR audit.event LIKE 'part.%' OR audit.event = ?
    ORDER BY audit.seq";

/// What the audit has last said of a message. With each of it, the row that says so.
#[derive(Default)]
pub(super) struct Recorded {
    pub accepted: bool,
    pub content: Option<(i64, String)>,
    pub parts: Option<(i64, String)>,
    pub state: Option<(i64, State)>,
    /// Its code and its reason.
    pub why: Option<(i64, [Option<String>; 2])>,
    /// The hash of how it ended; none while it is under way.
    pub outcome: Option<(i64, String)>,
    /// The platform's ids of the parts of one that was sent.
    pub platform_ids: Option<(i64, Value)>,
    /// The lines of its history.
    pub history: Vec<String>,
    /// The last row of a line, or that of its acceptance.
    pub history_row: i64,
}

/// What the rows say of each message.
pub(super) fn said(
    db: &Connection,
    hashed_after: i64,
    report: &mut Report,
) -> Result<BTreeMap<String, Recorded>, StoreError> {
    let mut all = BTreeMap::<String, Recorded>::new();
    // From the first row on that has one, every end has one.
    let mut outcomes_are_hashed = false;
    let mut rows = db.prepare(ROWS)?;
    let mut rows = rows.query([audit::Event::DecisionAsked])?;
    while let Some(row) = rows.next()? {
        let (seq, event, message): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        // What is not JSON any more, the chain names.
        let detail: Value = serde_json::from_str(&row.get::<_, String>(3)?).unwrap_or_default();
        let event = audit::Event::from_word(&event);
        let line = Line { seq, state: event.and_then(audit::Event::state), event, detail };
        outcomes_are_hashed |= line.hash("outcome").is_some();
        if seq > hashed_after && !line.has_its_hashes(outcomes_are_hashed) {
            report.fault(Fault::Unhashed { row: seq, message: message.clone() });
        }
        all.entry(message).or_default().hear(&line);
    }
    Ok(all)
}

/// A row about a message.
struct Line {
    seq: i64,
    /// What happened, if the hub has a word for it.
    event: Option<audit::Event>,
    /// The state that the message came to.
    state: Option<State>,
    detail: Value,
}

impl Line {
    fn hash(&self, name: &str) -> Option<(i64, String)> {
        Some((self.seq, self.detail[name].as_str()?.to_owned()))
    }

    /// Readmitted, a message comes to this state a second time.
    fn accepts(&self) -> bool {
        self.state == Some(State::Accepted) && self.detail["event"].is_null()
    }

    fn has_its_hashes(&self, outcomes_are_hashed: bool) -> bool {
        let has = |name| self.hash(name).is_some();
        match self.state {
            Some(State::Accepted) => !self.accepts() || has("content"),
            Some(state) if state.is_final() => has("parts") && (has("outcome") || !outcomes_are_hashed),
            Some(_) => true,
            None => self.event != Some(audit::Event::MessageHooked) || has("content"),
        }
    }

    /// The lines that it adds to the message's history.
    fn history(&self) -> Vec<String> {
        let detail = &self.detail;
        if self.event == Some(audit::Event::PartSettled) {
            let part = detail["part"].as_u64().unwrap_or_default();
            let reason = detail["reason"].as_str().unwrap_or_default();
            return vec![settled_line(part, detail["arrived"] == true, reason)];
        }
        // An older program wrote them into the receipt alone.
        let lines = detail["facts"]["history"].as_array().into_iter().flatten();
        lines.filter_map(|line| Some(line.as_str()?.to_owned())).collect()
    }

    /// Its code and its reason, if the row says what they are from then on.
    fn why(&self) -> Option<[Option<String>; 2]> {
        let text = |name: &str| self.detail[name].as_str().map(str::to_owned);
        (self.accepts() || self.detail.get("reason").is_some()).then(|| ["code", "reason"].map(text))
    }
}

impl Recorded {
    fn hear(&mut self, line: &Line) {
        let history = line.history();
        if !history.is_empty() || line.accepts() {
            self.history_row = line.seq;
        }
        self.history.extend(history);
        self.accepted |= line.accepts();
        self.content = line.hash("content").or(self.content.take());
        let parts = line.hash("parts");
        match line.state {
            Some(state) => {
                self.state = Some((line.seq, state));
                self.why = line.why().map(|why| (line.seq, why));
                self.outcome = line.hash("outcome");
                let ids = &line.detail["facts"]["platform_ids"];
                let sent = line.detail["event"] == Event::Confirm.word() && ids.is_array();
                self.platform_ids = sent.then(|| (line.seq, ids.clone()));
                // Its parts are made anew.
                self.parts = parts.or(self.parts.take()).filter(|_| state != State::Accepted);
            }
            // Its card comes later than its hold, and what had kept it is over.
            None if line.event == Some(audit::Event::DecisionAsked) => {
                self.why = line.why().map(|why| (line.seq, why))
            }
            None => {
                self.parts = parts.or(self.parts.take());
                self.outcome = line.hash("outcome").or(self.outcome.take());
            }
        }
    }
}
