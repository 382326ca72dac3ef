//! One look at a heartbeat that is due: how the last one ended, whether this one wakes anybody, and its turn.
//!
//! When it is due next is written in the transaction that opens the turn, or that says why not: a hub that is killed at any moment
//! opens none twice.

use std::time::Duration;

use rusqlite::{Transaction, params};

use super::{
    IDLE, LONGEST_SLEEP, Plan, SESSION,
    guards::{self, Facts, News, Skip},
    list,
    state::{self, Ended, State},
    target::{NO_HISTORY, Recipients, resolve_recipients},
    words::TOKEN,
};
use crate::{
    pipeline::Pipeline,
    policy::Scope,
    store::StoreError,
    turns::{
        Cause,
        open::{Opened, Opening, open},
    },
};

/// A program took the agent's turns if it asked for one within this, in milliseconds: three times the longest that one waits for it.
const FETCHED_MS: i64 = 900_000;

/// What became of a look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Beat {
    /// It is not due.
    NotDue,
    /// Nobody is woken.
    Skipped(Skip),
    /// A turn waits.
    Opened(String),
}

impl Pipeline {
    /// Looks at all heartbeats; how long until the next look.
    ///
    /// # Errors
    /// The database.
    pub async fn look_at_heartbeats(&self) -> Result<Duration, StoreError> {
        let store = self.outbox().store();
        // After a boot nobody may know yet what time it is.
        if store.unsettled_since().is_some() || !store.space().look().accepts() {
            return Ok(LONGEST_SLEEP);
        }
        let mut next = None;
        for (agent, plan) in self.0.heartbeats.agents() {
            let due = match self.heartbeat_due(agent, plan).await? {
                due if due <= self.0.heartbeats.now() => {
                    match self.beat(agent, plan).await? {
                        Beat::Skipped(why) => tracing::debug!(agent, %why, "no heartbeat"),
                        Beat::Opened(turn) => tracing::info!(agent, turn, "a heartbeat"),
                        Beat::NotDue => {}
                    }
                    self.heartbeat_due(agent, plan).await?
                }
                due => due,
            };
            next = Some(next.map_or(due, |next: i64| next.min(due)));
        }
        let Some(next) = next else { return Ok(IDLE) };
        let wait = u64::try_from(next - self.0.heartbeats.now()).unwrap_or_default();
        Ok(Duration::from_millis(wait).min(LONGEST_SLEEP))
    }

    /// When an agent's heartbeat is due, in milliseconds since 1970. The first is an interval after the configuration names it, and a
    /// shorter interval counts at once.
    ///
    /// # Errors
    /// The database.
    pub async fn heartbeat_due(&self, agent: &str, plan: &Plan) -> Result<i64, StoreError> {
        let now = self.0.heartbeats.now();
        let latest = plan.hours.after(now, now, plan.every);
        let store = self.outbox().store();
        let state = store.look(|db| state::get(db, agent))?;
        match state {
            Some(state) if state.next_at <= latest => Ok(state.next_at),
            _ => {
                let agent = agent.to_owned();
                store.write(move |tx| state::put_off(tx, &agent, latest)).await?;
                Ok(latest)
            }
        }
    }

    /// Looks at an agent's heartbeat.
    ///
    /// # Errors
    /// The database.
    pub async fn beat(&self, agent: &str, plan: &Plan) -> Result<Beat, StoreError> {
        let now = self.0.heartbeats.now();
        let Some(state) = self.settled(agent, now).await?.filter(|state| state.next_at <= now) else {
            return Ok(Beat::NotDue);
        };
        let next_at = plan.hours.after(state.next_at, now, plan.every);
        let Look { why, day, news, listed } = self.look_at_heartbeat(agent, plan, &state, now).await?;
        if let Some(why) = why {
            return self.skip(agent, next_at, why).await;
        }
        let recipients = self.heartbeat_recipients(agent, plan)?;
        if let Some(why) = self.not_ready(agent, &recipients).await? {
            tracing::info!(agent, %why, "no heartbeat");
            return self.skip(agent, next_at, why).await;
        }
        let today = if state.day.as_deref() == Some(day.as_str()) { state.today + 1 } else { 1 };
        let opened = State {
            next_at,
            last_at: Some(now),
            day: Some(day),
            today,
            seen_notice: news.newest_notice,
            seen_kept: news.newest_kept,
            ..state.clone()
        };
        let wakes =
            Wakes { prompt: prompt(plan, &recipients, &news, listed.as_deref()), opened, due: state.next_at };
        self.wake_for_heartbeat(agent, wakes, &recipients, now).await
    }

    /// Whether an agent would be woken now, as far as the hub itself knows.
    pub(super) async fn look_at_heartbeat(
        &self,
        agent: &str,
        plan: &Plan,
        state: &State,
        now: i64,
    ) -> Result<Look, StoreError> {
        let listed = self.list_of(agent, plan, now).await?;
        let (busy, news) = self
            .outbox()
            .store()
            .look(|db| Ok::<_, StoreError>((guards::is_busy(db, agent)?, guards::news(db, agent, state)?)))?;
        let day = plan.hours.day(now);
        let facts = Facts {
            state,
            day: &day,
            inside: plan.hours.contain(now),
            busy,
            fetched: self.0.wake.is_fetched(agent, now - FETCHED_MS),
            news,
            listed: listed.is_some(),
        };
        Ok(Look { why: guards::judge(&facts), day, news, listed })
    }

    /// Why nobody is woken although the hub knows no reason: the platform of whom the text is for would not take it.
    pub(super) async fn not_ready(&self, agent: &str, to: &Recipients) -> Result<Option<Skip>, StoreError> {
        let Some(to) = to.recipients.first() else { return Ok(None) };
        let ready = self.heartbeat_ready(agent, to).await?;
        Ok((!ready.ok).then_some(Skip::NotReady(ready.reason)))
    }

    /// What is remembered of a heartbeat, once it is written down how the last one ended.
    async fn settled(&self, agent: &str, now: i64) -> Result<Option<State>, StoreError> {
        let store = self.outbox().store();
        let found = store.look(|db| match state::get(db, agent)? {
            Some(state) => Ok(Some((state::ended(db, &state)?, state))),
            None => Ok::<_, StoreError>(None),
        })?;
        let Some((ended, state)) = found else { return Ok(None) };
        if ended == Ended::NotYet {
            return Ok(Some(state));
        }
        self.settle_heartbeat(agent, ended, now).await?;
        store.look(|db| state::get(db, agent))
    }

    /// Writes down how a heartbeat ended.
    pub(super) async fn settle_heartbeat(
        &self,
        agent: &str,
        ended: Ended,
        now: i64,
    ) -> Result<(), StoreError> {
        if let Ended::Failed(why) = &ended {
            tracing::warn!(agent, why, "a heartbeat failed");
        }
        let of = agent.to_owned();
        if self.outbox().store().write(move |tx| state::settle(tx, &of, &ended, now)).await? {
            tracing::error!(agent, "its heartbeat is stopped: mend what failed, and run: gatepost reload");
        }
        Ok(())
    }

    async fn skip(&self, agent: &str, next_at: i64, why: Skip) -> Result<Beat, StoreError> {
        let agent = agent.to_owned();
        self.outbox().store().write(move |tx| state::put_off(tx, &agent, next_at)).await?;
        Ok(Beat::Skipped(why))
    }

    /// What stands on the list; nothing also if that cannot be read, which is said once.
    async fn list_of(&self, agent: &str, plan: &Plan, now: i64) -> Result<Option<String>, StoreError> {
        let Some(path) = plan.list.clone() else { return Ok(None) };
        let read = tokio::task::spawn_blocking(move || list::read(&path)).await;
        let error = match read {
            Ok(Ok(text)) => return Ok(text),
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        let hint = "put a regular text file of at most 16 KB there, or ask the operator to change `list`";
        self.tell_of_heartbeat(agent, format!("the heartbeat's list cannot be read: {error}"), hint, now)
            .await?;
        Ok(None)
    }

    pub(super) async fn tell_of_heartbeat(
        &self,
        agent: &str,
        error: String,
        hint: &'static str,
        now: i64,
    ) -> Result<(), StoreError> {
        let (of, said) = (agent.to_owned(), error.clone());
        if self.outbox().store().write(move |tx| state::tell_once(tx, &of, &said, hint, now)).await? {
            tracing::warn!(agent, error, "a heartbeat");
        }
        Ok(())
    }

    /// Whom the text of an agent's heartbeat is for.
    ///
    /// # Errors
    /// The database.
    pub fn heartbeat_recipients(&self, agent: &str, plan: &Plan) -> Result<Recipients, StoreError> {
        let people = &self.0.routing.people;
        self.outbox()
            .store()
            .look(|db| resolve_recipients(db, agent, &plan.goal, plan.account.as_deref(), people))
    }

    async fn wake_for_heartbeat(
        &self,
        agent: &str,
        wakes: Wakes,
        to: &Recipients,
        now: i64,
    ) -> Result<Beat, StoreError> {
        let of = agent.to_owned();
        let beat = self.outbox().store().write(move |tx| wakes.open(tx, &of, now)).await?;
        if let Beat::Opened(_) = beat {
            self.0.wake.tell();
            if to.source == NO_HISTORY {
                let error = format!("the heartbeat's text goes to nobody: {NO_HISTORY}");
                let hint = "let an owner write to it, or ask the operator to name a target";
                self.tell_of_heartbeat(agent, error, hint, now).await?;
            }
        }
        Ok(beat)
    }
}

/// What one look at a heartbeat found.
pub(super) struct Look {
    /// Why it wakes nobody.
    pub(super) why: Option<Skip>,
    /// The day that it is.
    day: String,
    /// What came.
    news: News,
    /// What stands on the list.
    listed: Option<String>,
}

/// A heartbeat that wakes its agent.
struct Wakes {
    prompt: String,
    /// What is remembered of it from then on, but for the turn.
    opened: State,
    /// When it was due.
    due: i64,
}

impl Wakes {
    /// Opens its turn, unless the agent became busy meanwhile.
    fn open(mut self, tx: &Transaction<'_>, agent: &str, now: i64) -> Result<Beat, StoreError> {
        if state::get(tx, agent)?.is_none_or(|state| state.next_at != self.due) {
            return Ok(Beat::NotDue);
        }
        if guards::is_busy(tx, agent)? {
            state::put_off(tx, agent, self.opened.next_at)?;
            return Ok(Beat::Skipped(Skip::Busy));
        }
        // The hub itself says it: nobody is its author, and no conversation has it.
        tx.prepare_cached(
            "INSERT INTO inbound (channel, account, peer, text, at, kind) VALUES ('hub', 'hub', 'heartbeat', ?, ?, 'system')",
        )?
        .execute(params![self.prompt, now])?;
        let inbound = tx.last_insert_rowid();
        let opening = Opening {
            agent,
            session: SESSION,
            gather: None,
            cause: Cause::Heartbeat,
            words: true,
            scope: Scope::Owner,
            place: None,
            inbound,
        };
        if open(tx, &opening, now)? != Opened::Waits {
            state::put_off(tx, agent, self.opened.next_at)?;
            return Ok(Beat::Skipped(Skip::Busy));
        }
        let turn: String = tx.query_row(
            "SELECT id FROM turns JOIN turn_items ON turn_items.turn = turns.seq
             WHERE turn_items.agent = ? AND turn_items.inbound = ?",
            params![agent, inbound],
            |row| row.get(0),
        )?;
        self.opened.turn = Some(turn.clone());
        state::opened(tx, agent, &self.opened)?;
        Ok(Beat::Opened(turn))
    }
}

/// What the agent is told. Of what came only the counts: no stranger's words are in it.
fn prompt(plan: &Plan, to: &Recipients, news: &News, listed: Option<&str>) -> String {
    let goes_to = match to.recipients.first() {
        Some(to) => format!("any other answer is sent to {to}"),
        None => "no answer is sent to anybody".into(),
    };
    let mut prompt = plan.prompt.clone().unwrap_or_else(|| {
        format!(
            "This is your heartbeat: nobody has written to you. Look whether something needs doing now, and do it. If nothing needs a \
             person's attention, answer {TOKEN}; {goes_to}."
        )
    });
    if !news.is_empty() {
        prompt.push_str(&format!("\n\nNew since your last heartbeat: {news}."));
    }
    if let Some(listed) = listed {
        prompt.push_str("\n\nYour list:\n");
        prompt.push_str(listed);
    }
    prompt
}
