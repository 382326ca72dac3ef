//! Heartbeats over simulated days: a real database and a real pipeline into the hub's own inbox, by a clock that a test sets.
//!
//! [`month`] lets whole months pass, with restarts, changes of the time and days on which something is in the way; [`ends`] is what
//! becomes of a heartbeat's text, and of heartbeats that fail.

mod ends;
mod month;

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use jiff::{civil::DateTime, tz::TimeZone};
use rusqlite::params;
use tokio::{sync::oneshot, task::JoinHandle};

use super::{
    Clock, Heartbeats, Plan,
    beat::Beat,
    deliver::Delivery,
    goal::Goal,
    schedule::Hours,
    words::{Shows, Visibility},
};
use crate::{
    config::Config,
    outbox::Outbox,
    people::{People, Person, user_id_of},
    pipeline::{AgentRules, Pipeline, Shared, current::Current, tests::fixture::shared},
    policy::{Allowlist, CrossContext, Rights, Scope},
    router::Routing,
    store::{LockError, Store, StoreError},
    turns::{
        Cause,
        lease::{end, take},
        open::{Opening, keep, open},
    },
};

const AGENT: &str = "engineer";
const HOUR: i64 = 3_600_000;
/// More than any of this takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

struct SetClock(AtomicI64);

impl Clock for SetClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

fn berlin() -> TimeZone {
    TimeZone::get("Europe/Berlin").unwrap()
}

/// A time in Berlin, in milliseconds since 1970.
fn at(text: &str) -> i64 {
    let time: DateTime = text.parse().unwrap();
    berlin().to_timestamp(time).unwrap().as_millisecond()
}

/// What a clock on a wall in Berlin shows.
fn wall(ms: i64) -> DateTime {
    berlin().to_datetime(jiff::Timestamp::from_millisecond(ms).unwrap())
}

/// How a home is set up.
#[derive(Clone)]
struct Setup {
    goal: Goal,
    every: Duration,
    hours: Hours,
    list: bool,
    allow: &'static [&'static str],
    hold: &'static [&'static str],
    account: &'static str,
    shows: Shows,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            goal: to_ann(),
            every: Duration::from_hours(1),
            hours: Hours::parse("07:00-22:00", berlin()).unwrap(),
            list: true,
            allow: &["local:*"],
            hold: &[],
            account: "home",
            shows: Shows::default(),
        }
    }
}

fn to_ann() -> Goal {
    Goal::Target { to: "local:ann".into(), channel: "local".into() }
}

/// A hub's heart, until it is restarted.
struct Home {
    directory: tempfile::TempDir,
    clock: Arc<SetClock>,
    setup: Setup,
    pipeline: Pipeline,
    stop: oneshot::Sender<()>,
    dispatcher: JoinHandle<()>,
}

impl Home {
    fn new(setup: Setup, now: i64) -> Self {
        crate::hub::install_tls_provider();
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("HEARTBEAT.md"), "- the plants\n").unwrap();
        let clock = Arc::new(SetClock(AtomicI64::new(now)));
        let (pipeline, stop, dispatcher) = start(directory.path(), &clock, &setup);
        Self { directory, clock, setup, pipeline, stop, dispatcher }
    }

    /// Stops, and starts again with what is on the disk.
    async fn restarted(self, setup: Setup) -> Self {
        let Self { directory, clock, pipeline, stop, dispatcher, .. } = self;
        let _ = stop.send(());
        dispatcher.await.unwrap();
        pipeline.outbox().store().close();
        drop(pipeline);
        let (pipeline, stop, dispatcher) = start(directory.path(), &clock, &setup);
        Self { directory, clock, setup, pipeline, stop, dispatcher }
    }

    fn now(&self) -> i64 {
        self.clock.now()
    }

    fn plan(&self) -> Plan {
        self.pipeline.0.heartbeats.of(AGENT).unwrap().clone()
    }

    async fn due(&self) -> i64 {
        self.pipeline.heartbeat_due(AGENT, &self.plan()).await.unwrap()
    }

    /// Time passes until the next look; what it came to. Some program asks for turns then, unless `alone`.
    async fn beat(&self, alone: bool) -> Beat {
        self.clock.0.store(self.due().await.max(self.now()), Ordering::Relaxed);
        if !alone {
            drop(self.pipeline.0.wake.fetching(AGENT, self.now()));
        }
        self.pipeline.beat(AGENT, &self.plan()).await.unwrap()
    }

    /// A program takes the turn and returns this; what became of it.
    async fn answers(&self, turn: &str, text: &str) -> Delivery {
        let now = self.now();
        let people = self.pipeline.0.routing.people.clone();
        let leased =
            self.write(move |tx| take(tx, AGENT, now, now + HOUR, now + HOUR, &people)).await.unwrap();
        assert_eq!((leased.id.as_str(), leased.context.as_ref()), (turn, None), "it is in no conversation");
        let delivery = self.pipeline.deliver_heartbeat(AGENT, turn, text).await.unwrap();
        if let Delivery::Taken(receipt) = &delivery {
            let seq = self.pipeline.outbox().find(&receipt.id.0).await.unwrap().unwrap().seq;
            if receipt.state != crate::message::state::State::Held {
                self.pipeline.wait(seq, PATIENCE).await.unwrap();
            }
        }
        self.write(move |tx| end(tx, AGENT, &leased.id, &leased.lease, "answered", now)).await.unwrap();
        delivery
    }

    /// A beat that opens a turn, and the answer to it.
    async fn says(&self, text: &str) -> Delivery {
        match self.beat(false).await {
            Beat::Opened(turn) => self.answers(&turn, text).await,
            other => panic!("no heartbeat: {other:?}"),
        }
    }

    /// Somebody writes; the agent is woken if it is `for_now`, and else reads it with the next turn there.
    async fn writes(&self, sender: &'static str, peer: &'static str, direct: bool, for_now: bool) {
        let now = self.now();
        let facts = serde_json::json!({"direct": direct}).to_string();
        self.write(move |tx| {
            tx.execute(
                "INSERT INTO inbound (channel, account, peer, sender, text, at, scope, facts)
                 VALUES ('local', 'home', ?, ?, 'hello', ?, ?, ?)",
                params![peer, sender, now, if sender == "ann" { Scope::Owner } else { Scope::Known }, facts],
            )?;
            let inbound = tx.last_insert_rowid();
            if !for_now {
                return keep(tx, AGENT, peer, inbound);
            }
            let opening = Opening {
                agent: AGENT,
                session: peer,
                gather: None,
                cause: Cause::Message,
                words: true,
                scope: Scope::Known,
                place: None,
                inbound,
            };
            open(tx, &opening, now).map(drop)
        })
        .await;
    }

    async fn write<T: Send + 'static>(
        &self,
        change: impl FnOnce(&rusqlite::Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> T {
        self.pipeline.outbox().store().write(change).await.unwrap()
    }

    /// What arrived, with its address.
    fn arrived(&self) -> Vec<(String, String)> {
        self.look("SELECT address, text FROM messages WHERE state = 'sent' ORDER BY seq")
    }

    /// What its inbox says of the heartbeat.
    fn told(&self) -> Vec<String> {
        let told = self
            .look("SELECT agent, notice ->> '$.error' FROM inbox WHERE message = 'heartbeat' ORDER BY seq");
        told.into_iter().map(|(_, told)| told).collect()
    }

    fn look(&self, sql: &str) -> Vec<(String, String)> {
        let read = |db: &rusqlite::Connection| {
            let mut rows = db.prepare(sql)?;
            let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok::<_, StoreError>(rows.collect::<Result<_, _>>()?)
        };
        self.pipeline.outbox().store().look(read).unwrap()
    }
}

/// Opens a database that another pipeline had a moment ago. A program that another test starts has the lock too, until it runs.
fn store_in(directory: &Path) -> Store {
    let began = Instant::now();
    loop {
        match Store::open(directory) {
            Err(StoreError::Lock(LockError::Held(..))) if began.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(5));
            }
            opened => return opened.unwrap(),
        }
    }
}

fn start(
    directory: &Path,
    clock: &Arc<SetClock>,
    setup: &Setup,
) -> (Pipeline, oneshot::Sender<()>, JoinHandle<()>) {
    let store = store_in(directory);
    let config = format!("[channels.local.{}]\n", setup.account);
    let accounts =
        crate::hub::open_accounts(&Config::parse(&config, Path::new("test.toml")).unwrap(), &store).unwrap();
    let list = |entries: &[&str]| Allowlist::parse(entries.iter().map(|entry| (*entry).to_owned())).unwrap();
    let rights = Rights {
        allow: list(setup.allow),
        hold: list(setup.hold),
        cross_context: CrossContext::Hold,
        ..Rights::default()
    };
    let plan = Plan {
        every: setup.every,
        goal: setup.goal.clone(),
        account: Some("home".into()),
        hours: setup.hours.clone(),
        list: setup.list.then(|| directory.join("HEARTBEAT.md")),
        prompt: None,
        visibility: Visibility { rest: setup.shows, by_place: BTreeMap::new() },
    };
    let ann = Person { name: "ann".into(), scope: Scope::Owner };
    let people = People::new(vec![(ann, vec![user_id_of("local:ann").unwrap()])]).unwrap();
    let outbox = Outbox::new(store.clone());
    let agents = [(AGENT.to_owned(), AgentRules { rights, ..AgentRules::default() })].into();
    let pipeline = Pipeline::new(Shared {
        routing: Arc::new(Routing { people, ..Routing::default() }),
        heartbeats: Heartbeats::new([(AGENT.to_owned(), plan)].into(), Arc::clone(clock) as Arc<dyn Clock>),
        ..shared(outbox, accounts, agents)
    });
    let (stop, stopped) = oneshot::channel();
    let dispatcher = tokio::spawn(Current::new(pipeline.clone()).dispatch(stopped));
    (pipeline, stop, dispatcher)
}
