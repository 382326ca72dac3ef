//! Why a heartbeat that is due wakes nobody. Facts first, in one look at the database; then the answer, by a pure function.

use std::fmt;

use rusqlite::{Connection, params};

use super::{
    MAX_A_DAY,
    state::{NOTICES, State},
};
use crate::store::StoreError;

/// What came since the last heartbeat, counted: nobody's words are in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct News {
    /// Notices in the agent's inbox.
    pub notices: u32,
    /// Messages that are kept for the agent's next turn of their session.
    pub kept: u32,
    /// Turns that have failed.
    pub failed: u32,
    /// The newest notice.
    pub newest_notice: i64,
    /// The newest kept message.
    pub newest_kept: i64,
}

impl News {
    /// Whether nothing came.
    pub const fn is_empty(&self) -> bool {
        self.notices == 0 && self.kept == 0 && self.failed == 0
    }
}

impl fmt::Display for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |count: u32, one: &str, several: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            count => Some(format!("{count} {several}")),
        };
        let all = [
            counted(self.notices, "notice in your inbox", "notices in your inbox"),
            counted(self.kept, "message kept for your next turn", "messages kept for your next turns"),
            counted(self.failed, "turn of yours that failed", "turns of yours that failed"),
        ];
        f.write_str(&all.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

/// What a heartbeat is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts<'a> {
    /// What is remembered of it.
    pub state: &'a State,
    /// The day that it is.
    pub day: &'a str,
    /// Whether it is within the active hours.
    pub inside: bool,
    /// Whether a turn of the agent's waits or is at work.
    pub busy: bool,
    /// Whether some program takes the agent's turns.
    pub fetched: bool,
    /// What came.
    pub news: News,
    /// Whether something is on the list.
    pub listed: bool,
}

/// Why nobody is woken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Skip {
    /// Three in a row failed.
    #[error("it is stopped")]
    Stopped,
    /// It is night.
    #[error("it is outside the active hours")]
    Outside,
    /// There were enough.
    #[error("there were {MAX_A_DAY} today")]
    Enough,
    /// The agent has something to do.
    #[error("the agent is busy")]
    Busy,
    /// Nobody would come for the turn.
    #[error("no program takes the agent's turns")]
    NobodyFetches,
    /// There is no reason.
    #[error("nothing is new, and the list is empty")]
    NothingNew,
    /// Its text could not be delivered.
    #[error("its target is not ready: {0}")]
    NotReady(String),
}

/// Why a heartbeat that is due wakes nobody, if it does not.
pub fn judge(facts: &Facts<'_>) -> Option<Skip> {
    let of_today = facts.state.day.as_deref() == Some(facts.day);
    Some(match facts {
        Facts { state: State { stopped_at: Some(_), .. }, .. } => Skip::Stopped,
        Facts { inside: false, .. } => Skip::Outside,
        Facts { state: State { today: MAX_A_DAY.., .. }, .. } if of_today => Skip::Enough,
        Facts { busy: true, .. } => Skip::Busy,
        Facts { fetched: false, .. } => Skip::NobodyFetches,
        Facts { news, listed: false, .. } if news.is_empty() => Skip::NothingNew,
        _ => return None,
    })
}

/// Whether a turn of the agent's waits or is at work.
///
/// # Errors
/// The database.
pub fn is_busy(db: &Connection, agent: &str) -> Result<bool, StoreError> {
    let mut look = db.prepare_cached(
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM turns WHERE agent = ?1 AND state = 'waiting')
             OR EXISTS (SELECT 1 FROM turns WHERE agent = ?1 AND state = 'leased')",
    )?;
    Ok(look.exists([agent])?)
}

/// What came since the last heartbeat. Its own notices and failures are no news.
///
/// # Errors
/// The database.
pub fn news(db: &Connection, agent: &str, state: &State) -> Result<News, StoreError> {
    let mut count = db.prepare_cached(
        "SELECT count(*), coalesce(max(seq), ?2) FROM inbox WHERE agent = ?1 AND seq > ?2 AND message <> ?3",
    )?;
    let (notices, newest_notice) =
        count.query_row(params![agent, state.seen_notice, NOTICES], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut count = db.prepare_cached(
        "SELECT count(*), coalesce(max(inbound), ?2) FROM turn_items WHERE agent = ?1 AND turn IS NULL AND inbound > ?2",
    )?;
    let (kept, newest_kept) =
        count.query_row(params![agent, state.seen_kept], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut count = db.prepare_cached(
        "SELECT count(*) FROM turns WHERE agent = ? AND state = 'failed' AND ended_at > ? AND cause <> 'heartbeat'",
    )?;
    let failed = count.query_row(params![agent, state.last_at.unwrap_or_default()], |row| row.get(0))?;
    Ok(News { notices, kept, failed, newest_notice, newest_kept })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_guard_stops_it_alone() {
        let state = State { day: Some("2027-03-01".into()), today: 3, ..State::default() };
        let due = Facts {
            state: &state,
            day: "2027-03-01",
            inside: true,
            busy: false,
            fetched: true,
            news: News::default(),
            listed: true,
        };
        assert_eq!(judge(&due), None);
        let news = News { notices: 1, ..News::default() };
        assert_eq!(judge(&Facts { listed: false, news, ..due }), None);
        assert_eq!(judge(&Facts { listed: false, ..due }), Some(Skip::NothingNew));
        assert_eq!(judge(&Facts { fetched: false, ..due }), Some(Skip::NobodyFetches));
        assert_eq!(judge(&Facts { busy: true, ..due }), Some(Skip::Busy));
        assert_eq!(judge(&Facts { inside: false, ..due }), Some(Skip::Outside));
        let enough = State { today: MAX_A_DAY, ..state.clone() };
        assert_eq!(judge(&Facts { state: &enough, ..due }), Some(Skip::Enough));
        assert_eq!(judge(&Facts { state: &enough, day: "2027-03-02", ..due }), None, "another day");
        let stopped = State { stopped_at: Some(1), ..state.clone() };
        assert_eq!(judge(&Facts { state: &stopped, ..due }), Some(Skip::Stopped));
    }

    #[test]
    fn news_are_counted_and_say_nothing_else() {
        let news = News { notices: 1, kept: 2, failed: 0, newest_notice: 9, newest_kept: 9 };
        assert_eq!(news.to_string(), "1 notice in your inbox, 2 messages kept for your next turns");
        assert!(News { notices: 0, kept: 0, ..news }.is_empty());
    }
}
