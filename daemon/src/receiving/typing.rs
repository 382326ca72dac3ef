//! While an agent is at a turn, the conversation shows that an answer is being written, and what it took is marked as read; both where
//! the platform has a sign for it and the route does not switch it off.
//!
//! Signs are worth no second try and no memory: they are shown from the turn's row as long as its lease holds, and a restart
//! shows none until the turn is given out again.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use rusqlite::{Connection, OptionalExtension as _, params};
use tokio::{
    sync::Semaphore,
    time::{sleep, timeout},
};

use crate::{
    channels::Adapter,
    message::target::Target,
    pipeline::Pipeline,
    sessions::place::Place,
    store::StoreError,
    turns::lease::{self, Leased},
};

/// Conversations that show a sign at once, over all accounts; the others show none.
const AT_ONCE: usize = 256;
static SLOTS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(AT_ONCE)));
/// No sign is shown more often than this, whatever a platform says.
const SHORTEST: Duration = Duration::from_secs(1);
/// No platform needs longer to show one.
const LONGEST: Duration = Duration::from_secs(10);

/// What the conversation of a turn that was taken may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Signs {
    agent: String,
    turn: String,
    lease: String,
    place: Place,
    /// The platform's id of the newest message that woke the agent; nothing if the turn was given out before.
    newest: Option<String>,
}

impl Signs {
    /// Those of a turn; none of one in no conversation.
    ///
    /// # Errors
    /// The database.
    pub(super) fn of(db: &Connection, agent: &str, taken: &Leased) -> Result<Option<Self>, StoreError> {
        let place = db
            .prepare_cached(
                "SELECT channel, account, address, thread FROM turns WHERE seq = ? AND channel IS NOT NULL",
            )?
            .query_row([taken.seq], |row| {
                let (channel, account) = (row.get(0)?, row.get(1)?);
                Ok(Place { channel, account, address: row.get(2)?, thread: row.get(3)? })
            })
            .optional()?;
        let Some(place) = place else { return Ok(None) };
        let newest = db
            .prepare_cached(
                "SELECT platform_id FROM turn_items JOIN inbound ON inbound.seq = inbound
                 WHERE turn = ?1 AND engages AND platform_id IS NOT NULL AND channel = ?2 AND account = ?3 AND peer = ?4
                     AND (SELECT attempts FROM turns WHERE seq = ?1) = 1
                 ORDER BY inbound DESC LIMIT 1",
            )?
            .query_row(params![taken.seq, place.channel, place.account, place.address], |row| row.get(0))
            .optional()?;
        let (turn, lease) = (taken.id.clone(), taken.lease.clone());
        Ok(Some(Self { agent: agent.to_owned(), turn, lease, place, newest }))
    }
}

impl Pipeline {
    /// Shows the signs of a turn that was taken, beside everything else.
    pub(super) fn show_signs(&self, signs: Signs) {
        let Place { channel, account, address, thread } = &signs.place;
        let Ok((_, adapter)) = self.0.accounts.pick(channel, Some(account)) else { return };
        let wirings = self.0.routing.wirings(channel, account, address);
        let route = wirings.into_iter().find(|route| route.agent == signs.agent);
        // A conversation that a person gave to the agent has no route, and nothing that switches signs off.
        let (typing, read_marks) = route.map_or((true, true), |route| (route.typing, route.read_marks));
        let lasts = adapter.typing_lasts().filter(|_| typing);
        let read = signs.newest.clone().filter(|_| read_marks);
        if lasts.is_none() && read.is_none() {
            return;
        }
        let Ok(slot) = Arc::clone(&SLOTS).try_acquire_owned() else { return };
        let target = Target { channel: channel.clone(), address: address.clone(), thread: thread.clone() };
        let (adapter, pipeline) = (Arc::clone(adapter), self.clone());
        tokio::spawn(async move {
            let _slot = slot;
            if let Some(read) = read {
                let _ = timeout(LONGEST, adapter.mark_read(&target, &read)).await;
            }
            if let Some(lasts) = lasts {
                pipeline.keep_typing(adapter.as_ref(), &target, &signs, lasts).await;
            }
        });
    }

    /// Shows the sign as long as the turn is at work under the same lease.
    async fn keep_typing(&self, adapter: &dyn Adapter, target: &Target, signs: &Signs, lasts: Duration) {
        let pause = lasts.mul_f64(0.8).max(SHORTEST);
        loop {
            let held =
                self.outbox().store().look(|db| lease::held(db, &signs.agent, &signs.turn, &signs.lease));
            if !matches!(held, Ok(Ok(_))) {
                return;
            }
            let _ = timeout(LONGEST, adapter.show_typing(target)).await;
            sleep(pause).await;
        }
    }
}
