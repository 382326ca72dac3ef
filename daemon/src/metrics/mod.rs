//! Figures for who watches over the hub, in the text format that Prometheus reads.
//!
//! What is counted is counted by the database, in the transaction that changes it, so that a figure agrees with the queue
//! and goes on after a restart. Nothing is kept for this in memory, and a reading costs no look at what has ended.
//!
//! [`exposition`] writes the format; what is written is here, and in [`reloads`].

mod exposition;
pub mod reloads;

use std::{
    collections::BTreeMap,
    fs,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rusqlite::{Connection, OptionalExtension as _};

use crate::{
    approval::presence::Presence,
    audit,
    channels::account::Accounts,
    connections::load::Load,
    message::state::State,
    outbox::{
        pauses::{Pause, Pauses},
        queries,
    },
    pipeline::current::Current,
    router::drops,
    store::{Room, Space, StoreError, now_ms},
    updates,
};
use exposition::{Kind, Text};
use reloads::Reloads;

/// The media type of version 0.0.4 of the format (prometheus.io/docs/instrumenting/exposition_formats).
pub const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Where messages wait.
const WAITING: [State; 2] = [State::Ready, State::Held];

/// A handle on the figures. Clones share it.
#[derive(Clone)]
pub struct Metrics {
    current: Current,
    presence: Presence,
    http: Load,
    broker: Option<Load>,
    reloads: Reloads,
    started: Duration,
}

/// What the database says.
struct Counted {
    /// Messages that came to a state, by channel and state, since there is a database.
    came: Vec<(String, String, i64)>,
    /// Messages under way, by channel and state.
    queue: Vec<(String, String, i64)>,
    /// Bytes of their texts.
    bytes: i64,
    /// Since when the oldest waits, in milliseconds since 1970.
    oldest: [Option<i64>; 2],
    /// When platforms take something again that have asked for a pause.
    pauses: Pauses,
    /// Cards that were put and cards that had to wait, by agent, since there is a database.
    cards: Vec<(String, i64, i64)>,
    /// Held messages that nobody is asked about yet.
    later: i64,
    /// Events that were received and no agent was told of: channel, account, reason, count.
    dropped: Vec<(String, String, String, i64)>,
    /// Companions by board, version, and how far they are with what is rolled out there.
    firmware: Vec<(String, String, String, i64)>,
    /// Rows that the audit ever had.
    audit: i64,
    /// The database's size in bytes, its free pages included.
    size: i64,
}

impl Metrics {
    /// The figures of the hub with this pipeline and these companions, of its HTTP server, of its broker, if that is its own, and
    /// of its configuration.
    pub fn new(
        current: Current,
        presence: Presence,
        http: Load,
        broker: Option<Load>,
        reloads: Reloads,
    ) -> Self {
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { current, presence, http, broker, reloads, started }
    }

    /// All figures as they are now.
    pub async fn text(&self) -> Result<String, StoreError> {
        let pipeline = self.current.pipeline();
        let counted = pipeline.outbox().store().read(count).await?;
        let mut text = Text::default();
        text.family("gatepost_build_info", Kind::Gauge, "Which gatepost this is; always 1.");
        text.sample(&[("version", env!("CARGO_PKG_VERSION"))], 1.0);
        write_messages(&mut text, &counted);
        write_pauses(&mut text, &counted.pauses, pipeline.accounts());
        write_disk(&mut text, &counted, pipeline.outbox().store().space());
        write_cards(&mut text, &counted);
        write_dropped(&mut text, &counted);
        text.family("gatepost_companions_registered", Kind::Gauge, "Companions that may decide.");
        text.sample(&[], as_f64(self.presence.registered()));
        text.family("gatepost_companions_online", Kind::Gauge, "Companions that are connected now.");
        text.sample(&[], as_f64(self.presence.online()));
        let able = "Companions that are connected now and have said that their display works: somebody can be asked there.";
        text.family("gatepost_companions_able", Kind::Gauge, able);
        text.sample(&[], as_f64(self.presence.able()));
        write_firmware(&mut text, &counted);
        self.write_servers(&mut text);
        self.reloads.write(&mut text);
        text.family(
            "process_start_time_seconds",
            Kind::Gauge,
            "When the hub started, in seconds since 1970.",
        );
        text.sample(&[], self.started.as_secs_f64());
        if let Some(bytes) = resident() {
            text.family("process_resident_memory_bytes", Kind::Gauge, "Memory that the hub holds.");
            text.sample(&[], as_f64(bytes));
        }
        Ok(text.into())
    }

    fn write_servers(&self, text: &mut Text) {
        text.family("gatepost_http_connections", Kind::Gauge, "Connections to the HTTP interface.");
        text.sample(&[], as_f64(self.http.open() as u64));
        text.family(
            "gatepost_http_refused_total",
            Kind::Counter,
            "Connections and requests that the HTTP interface turned away or cut off since the hub started.",
        );
        write_refused(text, &self.http);
        let Some(broker) = &self.broker else { return };
        text.family(
            "gatepost_broker_connections",
            Kind::Gauge,
            "Connections to the embedded MQTT broker, the hub's own among them.",
        );
        text.sample(&[], as_f64(broker.open() as u64));
        text.family(
            "gatepost_broker_refused_total",
            Kind::Counter,
            "Connections, packets and logins that the embedded MQTT broker refused, cut off or slowed down since the hub started.",
        );
        write_refused(text, broker);
    }
}

fn write_disk(text: &mut Text, counted: &Counted, space: &Space) {
    let room = space.look();
    text.family(
        "gatepost_disk_state",
        Kind::Gauge,
        "Room on the hub's disk: 1 for the state that it is in. Only with plenty are messages accepted; with plenty or \
         short they are sent.",
    );
    for state in Room::ALL {
        text.sample(&[("state", state.word())], if state == room { 1.0 } else { 0.0 });
    }
    if let Some(free) = space.free() {
        text.family("gatepost_disk_free_bytes", Kind::Gauge, "What may still be written on the hub's disk.");
        text.sample(&[], as_f64(free));
    }
    text.family("gatepost_database_bytes", Kind::Gauge, "Size of the hub's database.");
    text.sample(&[], counted.size as f64);
    text.family("gatepost_audit_rows_total", Kind::Counter, "Rows that the audit ever had.");
    text.sample(&[], counted.audit as f64);
}

/// Without a refusal there is no sample.
fn write_refused(text: &mut Text, load: &Load) {
    for (reason, count) in load.totals() {
        text.sample(&[("reason", reason)], as_f64(count));
    }
}

fn write_messages(text: &mut Text, counted: &Counted) {
    text.family(
        "gatepost_messages_total",
        Kind::Counter,
        "Messages that came to a state: accepted, held, and every end. A retried message can come to an end twice.",
    );
    for (channel, state, n) in &counted.came {
        text.sample(&[("channel", channel), ("state", state)], *n as f64);
    }
    text.family("gatepost_queue_messages", Kind::Gauge, "Messages under way, by the state that they are in.");
    for (channel, state, n) in &counted.queue {
        text.sample(&[("channel", channel), ("state", state)], *n as f64);
    }
    text.family("gatepost_queue_text_bytes", Kind::Gauge, "Bytes of the texts of all messages under way.");
    text.sample(&[], counted.bytes as f64);
    text.family(
        "gatepost_queue_oldest_age_seconds",
        Kind::Gauge,
        "Since when the oldest message waits: ready for its lane or its next attempt, held for a person. 0 if none does.",
    );
    for (state, since) in WAITING.iter().zip(counted.oldest) {
        let age = since.map_or(0, |since| now_ms().saturating_sub(since).max(0));
        text.sample(&[("state", state.word())], age as f64 / 1000.0);
    }
}

fn write_pauses(text: &mut Text, pauses: &Pauses, accounts: &Accounts) {
    let (mut of_accounts, mut conversations) = (BTreeMap::new(), BTreeMap::<_, u64>::new());
    for Pause { lane, until, .. } in pauses.holding(|channel, account| accounts.fingerprint(channel, account))
    {
        let of = (lane.channel.as_str(), lane.account.as_str());
        if lane.address.is_empty() {
            let longest = of_accounts.entry(of).or_insert(*until);
            *longest = (*longest).max(*until);
        } else {
            *conversations.entry(of).or_default() += 1;
        }
    }
    text.family(
        "gatepost_paused_until_seconds",
        Kind::Gauge,
        "When an account's platform takes something again that has asked to wait, in seconds since 1970; without an account, \
         all of a channel. Without a pause there is no sample.",
    );
    for ((channel, account), until) in of_accounts {
        text.sample(&[("channel", channel), ("account", account)], until as f64 / 1000.0);
    }
    text.family(
        "gatepost_paused_conversations",
        Kind::Gauge,
        "Conversations in which an account's platform has asked to wait.",
    );
    for ((channel, account), n) in conversations {
        text.sample(&[("channel", channel), ("account", account)], as_f64(n));
    }
}

fn write_cards(text: &mut Text, counted: &Counted) {
    text.family("gatepost_cards_total", Kind::Counter, "Messages that people were asked about, by agent.");
    for (agent, put, _) in &counted.cards {
        text.sample(&[("agent", agent)], *put as f64);
    }
    text.family(
        "gatepost_cards_deferred_total",
        Kind::Counter,
        "Messages that were held while nobody could be asked about them yet: their agent had had its cards of the hour.",
    );
    for (agent, _, deferred) in &counted.cards {
        text.sample(&[("agent", agent)], *deferred as f64);
    }
    text.family("gatepost_cards_waiting", Kind::Gauge, "Held messages that nobody is asked about yet.");
    text.sample(&[], counted.later as f64);
}

fn write_dropped(text: &mut Text, counted: &Counted) {
    text.family(
        "gatepost_received_dropped_total",
        Kind::Counter,
        "Events that accounts received and no agent was told of, by the reason.",
    );
    for (channel, account, reason, n) in &counted.dropped {
        text.sample(&[("channel", channel), ("account", account), ("reason", reason)], *n as f64);
    }
}

fn write_firmware(text: &mut Text, counted: &Counted) {
    text.family(
        "gatepost_companion_firmware",
        Kind::Gauge,
        "Companions by the firmware that they run and by how far they are with the release that is rolled out to their board; the \
         update is empty where they were not offered it.",
    );
    for (board, version, update, n) in &counted.firmware {
        text.sample(&[("board", board), ("version", version), ("update", update)], *n as f64);
    }
}

fn count(db: &Connection) -> Result<Counted, StoreError> {
    let by_channel = |sql: &str| -> Result<Vec<(String, String, i64)>, StoreError> {
        let mut rows = db.prepare_cached(sql)?;
        let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    };
    let number = |sql: &str| -> Result<i64, StoreError> { Ok(db.query_row(sql, [], |row| row.get(0))?) };
    let oldest = |state: State| -> Result<Option<i64>, StoreError> {
        Ok(db.prepare_cached(queries::OLDEST)?.query_row([state], |row| row.get(0)).optional()?)
    };
    Ok(Counted {
        came: by_channel("SELECT channel, state, n FROM totals WHERE channel <> '' ORDER BY channel, state")?,
        queue: by_channel(queries::DEPTHS)?,
        bytes: number("SELECT bytes FROM depth")?,
        oldest: [oldest(WAITING[0])?, oldest(WAITING[1])?],
        pauses: Pauses::read(db)?,
        cards: by_agent(db)?,
        later: number(
            "SELECT count(*) FROM approvals INDEXED BY approvals_later WHERE decided_at IS NULL AND card_at IS NULL",
        )?,
        dropped: drops::totals(db)?,
        firmware: updates::store::totals(db)?,
        audit: audit::newest(db)?,
        size: number("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")?,
    })
}

fn by_agent(db: &Connection) -> Result<Vec<(String, i64, i64)>, StoreError> {
    let mut rows = db.prepare_cached("SELECT agent, put, deferred FROM cards ORDER BY agent")?;
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Figures are approximate beyond 2^53, as everywhere in Prometheus.
fn as_f64(n: u64) -> f64 {
    n as f64
}

/// Bytes of memory that this process holds, where the system says (proc(5)).
pub(crate) fn resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}
