//! Agents take their turns and end them, and what they do not end is given out again.

use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use super::typing::Signs;
use crate::{
    agents,
    pipeline::{Pipeline, RECOVER},
    store::{StoreError, now_ms},
    turns::{
        expiry,
        items::{Item, TurnView, view},
        lease::{self, Leased, NotHeld},
        listing::{self, Filter, TurnRow},
    },
};

/// Between two looks at what has run out, however much happens: no lease is shorter.
const REST: Duration = Duration::from_secs(1);

impl Pipeline {
    /// The next turn of an agent, which is the caller's from here on; nothing if none comes within `wait`.
    ///
    /// # Errors
    /// The database.
    pub async fn next_turn(&self, agent: &str, wait: Duration) -> Result<Option<TurnView>, StoreError> {
        let (began, until) = (now_ms(), Instant::now() + wait);
        while self.turn_is_due(agent, until).await? {
            // Whose token was revoked meanwhile is told nothing more.
            if self.outbox().store().look(|db| agents::is_revoked(db, agent, began))? {
                break;
            }
            // Somebody else may have been faster.
            if let Some(turn) = self.take_turn(agent).await? {
                return Ok(Some(turn));
            }
        }
        Ok(None)
    }

    /// Waits until a turn of an agent can be taken, and takes none; whether there is one before `until`. Whoever gives up waiting here
    /// leaves nothing behind.
    ///
    /// # Errors
    /// The database.
    pub async fn turn_is_due(&self, agent: &str, until: Instant) -> Result<bool, StoreError> {
        let _fetching = self.0.wake.fetching(agent, now_ms());
        let mut changes = self.0.wake.listen();
        loop {
            changes.mark_unchanged();
            let of = agent.to_owned();
            let due = self.outbox().store().read(move |db| lease::next_due(db, &of)).await?;
            let now = now_ms();
            if due.is_some_and(|due| due <= now) {
                return Ok(true);
            }
            let next = due.map(|due| u64::try_from(due - now).unwrap_or_default());
            let next = next.map_or(until, |ms| until.min(Instant::now() + Duration::from_millis(ms)));
            tokio::select! {
                // The sender lives as long as the pipeline does.
                _ = changes.changed() => {}
                () = sleep_until(next) => if next == until && Instant::now() >= until {
                    return Ok(false);
                }
            }
        }
    }

    async fn take_turn(&self, agent: &str) -> Result<Option<TurnView>, StoreError> {
        let (agent, routing) = (agent.to_owned(), self.0.routing.clone());
        let ttl = i64::try_from(self.context_ttl().as_millis()).unwrap_or(i64::MAX);
        let taken = self
            .outbox()
            .store()
            .write(move |tx| {
                let now = now_ms();
                let (until, context_until) = (routing.lease_until(now), now.saturating_add(ttl));
                match lease::take(tx, &agent, now, until, context_until, &routing.people)? {
                    Some(leased) => {
                        let signs = Signs::of(tx, &agent, &leased)?;
                        Ok::<_, StoreError>(Some((view(tx, &leased, &routing.people)?, signs)))
                    }
                    None => Ok(None),
                }
            })
            .await?;
        Ok(taken.map(|(turn, signs)| {
            self.0.wake.tell_lease();
            if let Some(signs) = signs {
                self.show_signs(signs);
            }
            turn
        }))
    }

    /// Takes what came meanwhile in its session into a turn of the caller's. All of its items, with the new ones.
    ///
    /// # Errors
    /// The turn is not the caller's, or the database.
    pub async fn more_of_turn(
        &self,
        agent: &str,
        id: &str,
        lease: &str,
    ) -> Result<Result<TurnView, NotHeld>, StoreError> {
        let routing = self.0.routing.clone();
        let [agent, id, lease] = [agent, id, lease].map(str::to_owned);
        self.outbox()
            .store()
            .write(move |tx| {
                let until = routing.lease_until(now_ms());
                Ok(match lease::more(tx, &agent, &id, &lease, until, &routing.people)? {
                    Ok(seq) => Ok(view(tx, &Leased { seq, id, lease, context: None }, &routing.people)?),
                    Err(not_held) => Err(not_held),
                })
            })
            .await
    }

    /// Whether a turn is the caller's.
    ///
    /// # Errors
    /// It is not, or the database.
    pub async fn holds_turn(
        &self,
        agent: &str,
        id: &str,
        lease: &str,
    ) -> Result<Result<(), NotHeld>, StoreError> {
        let held = self.outbox().store().look(|db| lease::held(db, agent, id, lease))?;
        Ok(held.map(drop))
    }

    /// Whether a turn is in a conversation.
    ///
    /// # Errors
    /// The database.
    pub fn has_conversation(&self, id: &str) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM turns WHERE id = ? AND channel IS NOT NULL";
        self.outbox().store().look(|db| Ok(db.prepare_cached(sql)?.exists([id])?))
    }

    /// Ends a turn of the caller's.
    ///
    /// # Errors
    /// The turn is not the caller's, or the database.
    pub async fn end_turn(
        &self,
        agent: &str,
        id: &str,
        lease: &str,
        outcome: &'static str,
    ) -> Result<Result<(), NotHeld>, StoreError> {
        let [of, id, lease] = [agent, id, lease].map(str::to_owned);
        let ended = self
            .outbox()
            .store()
            .write(move |tx| lease::end(tx, &of, &id, &lease, outcome, now_ms()))
            .await?;
        // Its session is free.
        self.0.wake.tell();
        Ok(ended)
    }

    /// Hands a turn of the caller's back, for another try later; whether there is one.
    ///
    /// # Errors
    /// The turn is not the caller's, or the database.
    pub async fn give_back_turn(
        &self,
        agent: &str,
        id: &str,
        lease: &str,
        why: String,
    ) -> Result<Result<bool, NotHeld>, StoreError> {
        let [of, id, lease] = [agent, id, lease].map(str::to_owned);
        let given = self
            .outbox()
            .store()
            .write(move |tx| lease::give_back(tx, &of, &id, &lease, &why, now_ms()))
            .await?;
        self.0.wake.tell();
        Ok(given)
    }

    /// Puts a turn of the caller's back that nobody has begun: it waits as it did, and no attempt is spent.
    ///
    /// # Errors
    /// The turn is not the caller's, or the database.
    pub async fn put_back_turn(
        &self,
        agent: &str,
        id: &str,
        lease: &str,
        why: String,
    ) -> Result<Result<(), NotHeld>, StoreError> {
        let [of, id, lease] = [agent, id, lease].map(str::to_owned);
        let put = self.outbox().store().write(move |tx| lease::put_back(tx, &of, &id, &lease, &why)).await?;
        self.0.wake.tell();
        Ok(put)
    }

    /// How long whoever works at a turn may wait before it prolongs its lease.
    pub fn renew_every(&self) -> Duration {
        Duration::from_millis(self.0.routing.renewal_ms().unsigned_abs())
    }

    /// Keeps a turn of the caller's for as long as a lease lasts.
    ///
    /// # Errors
    /// The turn is not the caller's, or the database.
    pub async fn renew_turn(
        &self,
        agent: &str,
        id: &str,
        lease: &str,
    ) -> Result<Result<(), NotHeld>, StoreError> {
        let [agent, id, lease] = [agent, id, lease].map(str::to_owned);
        let routing = self.0.routing.clone();
        self.outbox()
            .store()
            .write(move |tx| {
                Ok(match lease::held(tx, &agent, &id, &lease)? {
                    Ok(_) => Ok(lease::renew(tx, &id, routing.lease_until(now_ms()))?),
                    Err(not_held) => Err(not_held),
                })
            })
            .await
    }

    /// Lets a turn that has failed wait again; whether there was one.
    ///
    /// # Errors
    /// The database.
    pub async fn retry_turn(&self, id: &str, by: &str) -> Result<bool, StoreError> {
        let (id, by) = (id.to_owned(), by.to_owned());
        let done = self.outbox().store().write(move |tx| lease::retry(tx, &id, &by, now_ms())).await?;
        self.0.wake.tell();
        Ok(done)
    }

    /// Ends a turn that nobody is to take any more; whether there was one.
    ///
    /// # Errors
    /// The database.
    pub async fn drop_turn(&self, id: &str, by: &str) -> Result<bool, StoreError> {
        let (id, by) = (id.to_owned(), by.to_owned());
        let done = self.outbox().store().write(move |tx| lease::drop_turn(tx, &id, &by, now_ms())).await?;
        self.0.wake.tell();
        Ok(done)
    }

    /// The newest turns.
    ///
    /// # Errors
    /// The database.
    pub async fn turns(&self, filter: Filter) -> Result<Vec<TurnRow>, StoreError> {
        self.outbox().store().read(move |db| listing::list(db, &filter)).await
    }

    /// A turn and what stands in it; only one of `agent`, if one is named.
    ///
    /// # Errors
    /// The database.
    pub async fn show_turn(
        &self,
        id: &str,
        agent: Option<&str>,
    ) -> Result<Option<(TurnRow, Vec<Item>)>, StoreError> {
        let routing = self.0.routing.clone();
        let (id, agent) = (id.to_owned(), agent.map(str::to_owned));
        self.outbox().store().read(move |db| listing::show(db, &id, agent.as_deref(), &routing.people)).await
    }

    /// Hands back what these agents were at, whom the hub itself worked for until it ended: nobody else can end those turns. For the
    /// start, before anybody is brought a turn.
    ///
    /// # Errors
    /// The database.
    pub async fn abandon_turns(&self, agents: Vec<String>) -> Result<(), StoreError> {
        let abandoned = self
            .outbox()
            .store()
            .write(move |tx| {
                let mut abandoned = 0;
                for agent in &agents {
                    abandoned += expiry::abandon(tx, agent, "the hub ended meanwhile", now_ms())?;
                }
                Ok::<_, StoreError>(abandoned)
            })
            .await?;
        if abandoned > 0 {
            tracing::warn!(abandoned, "turns were under way when the hub ended: they are given out again");
        }
        Ok(())
    }

    /// Takes back turns whose lease has run out, ends those that nobody came for, and tells of those that were handed back and can be
    /// taken again, for as long as the hub runs.
    ///
    /// It sleeps until the first of them runs out, so it has to hear of every turn that is taken: what waits runs out in a day.
    pub async fn keep_turns(self) {
        let mut changes = self.0.wake.listen();
        let mut looked = now_ms();
        loop {
            changes.mark_unchanged();
            let wait = match self.expire_turns(&mut looked).await {
                Ok(wait) => wait,
                Err(error) => {
                    tracing::error!(%error, "cannot look after turns that nobody ended");
                    RECOVER
                }
            };
            let next = Instant::now() + wait;
            sleep(REST).await;
            tokio::select! {
                _ = changes.changed() => {}
                () = self.0.wake.leased() => {}
                () = sleep_until(next) => {}
            }
        }
    }

    /// One look, after the one at `looked`; how long until the next one.
    async fn expire_turns(&self, looked: &mut i64) -> Result<Duration, StoreError> {
        let store = self.outbox().store().clone();
        let (since, now) = (*looked, now_ms());
        let next = store.read(move |db| expiry::next_expiry(db, since)).await?;
        if next.is_none_or(|next| next > now) {
            *looked = now;
            let wait = next.map(|next| Duration::from_millis(u64::try_from(next - now).unwrap_or_default()));
            return Ok(wait.unwrap_or(Duration::from_hours(1)));
        }
        let (expired, due) = store
            .write(move |tx| {
                Ok::<_, StoreError>((expiry::expire(tx, now)?, expiry::tell_due(tx, since, now)?))
            })
            .await?;
        *looked = now;
        if expired.failed > 0 {
            tracing::warn!(expired.failed, "turns have failed: gatepost turns list --state failed");
        }
        if expired != expiry::Expired::default() || due > 0 {
            self.0.wake.tell();
        }
        Ok(Duration::ZERO)
    }
}
