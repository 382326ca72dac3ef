//! A hub of its own, an honest agent and an honest companion at it, and its memory.

use std::{
    fs,
    net::Ipv4Addr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use ed25519_dalek::SigningKey;
use gatepost_companion::{Bond, Button, Edge, Geometry, Settings as App, Storage as _, View};
use gatepost_desktop::{Companion, Display, Settings, Store};
use gatepost_link::{decision::PublicKey, topic::Topics};
use gatepost_tests::hub::{Client, SpawnedHub, client::text, eventually};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use tokio::runtime::Runtime;

const CONFIG: &str = r#"
[queue]
dedup = "0s"

[approval]
allow_software_companion = true
cards_per_hour = 0

[agents.honest]
allow = ["local:*"]
cross_context = "allow"
per_minute = 0

[agents.careful]
allow = ["local:*"]
hold = ["local:*"]

[agents.hostile]
allow = ["local:*"]
cross_context = "allow"
per_minute = 0

[channels.local.home]
"#;

/// Over idle, while it lasts.
pub(super) const DURING: u64 = 16 * MIB;
/// Over idle, a minute after.
pub(super) const AFTER: u64 = 8 * MIB;
/// How long that minute is.
const SETTLED: Duration = Duration::from_secs(60);
/// Whoever is honest is served within this.
const SERVED: Duration = Duration::from_secs(1);
/// From this length on every one of them is, and not nine in ten: that is asked on a machine with nothing else to do.
const LONG: Duration = Duration::from_secs(60);
/// Between two calls, and between two cards, of whoever is honest.
const BETWEEN: Duration = Duration::from_millis(100);
/// Descriptors of this process, for those who attack.
const DESCRIPTORS: u64 = 8_192;
pub(super) const MIB: u64 = 1024 * 1024;

/// What keeps both processors busy takes turns.
static BUSY: Mutex<()> = Mutex::new(());

/// Waits for its turn.
pub(super) fn turn() -> MutexGuard<'static, ()> {
    BUSY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long an attack lasts.
pub(super) fn length() -> Duration {
    let seconds = std::env::var("OVERLOAD_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(8))
}

/// When an attack is over.
#[derive(Debug, Clone)]
pub(super) struct Until(Arc<AtomicBool>, Instant);

impl Until {
    fn begin() -> Self {
        Self(Arc::default(), Instant::now() + length())
    }

    /// Whether it is.
    pub(super) fn over(&self) -> bool {
        self.0.load(Ordering::Relaxed) || Instant::now() >= self.1
    }
}

/// The stage.
pub(super) struct Stage {
    /// The hub.
    pub(super) hub: SpawnedHub,
    honest: Client,
    careful: Client,
    companion: Option<Companion>,
    /// What companions run on.
    runtime: Runtime,
}

/// What an attack came to.
pub(super) struct Outcome {
    /// Before it.
    pub(super) idle: u64,
    /// Over idle, at most, while it lasted.
    pub(super) during: u64,
    /// Over idle, within a minute after it.
    pub(super) after: u64,
    /// How long the calls of an agent took that is served meanwhile, in order.
    pub(super) calls: Vec<Duration>,
    /// The same of cards.
    pub(super) cards: Vec<Duration>,
}

impl Stage {
    /// A hub with a companion, at rest.
    pub(super) fn set(config: &str) -> Result<Self> {
        raise_own_limit()?;
        let mut hub = SpawnedHub::at_rest(Arc::new(tempfile::tempdir()?), &format!("{CONFIG}{config}"))?;
        hub.limit_descriptors(1_024)?;
        hub.knows("GATEPOST_TEST_TOKEN", "a secret of this test");
        hub.run()?;
        let (honest, careful) = (hub.agent("honest")?, hub.agent("careful")?);
        let mut stage = Self { hub, honest, careful, companion: None, runtime: Runtime::new()? };
        stage.companion = Some(stage.pair("shelf")?);
        // What is done for the first time takes memory that stays.
        stage.call()?;
        stage.card()?;
        Ok(stage)
    }

    /// Pairs a companion of this name, which is in a session then.
    pub(super) fn pair(&self, name: &str) -> Result<Companion> {
        let companion = self.switch_on(name)?;
        let screens = companion.screens();
        thread::scope(|scope| {
            let shell =
                scope.spawn(|| self.hub.cli_with(&["companion", "pair", "--name", name], b"yes\n", &[]));
            eventually("it shows the number", || {
                Ok(matches!(screens.borrow().view, View::Pairing { .. }).then_some(()))
            })?;
            let buttons = companion.buttons();
            buttons.blocking_send((Button::Approve, Edge::Pressed))?;
            thread::sleep(Duration::from_millis(1_700));
            buttons.blocking_send((Button::Approve, Edge::Released))?;
            shell.join().expect("it does not panic")?.well()
        })?;
        eventually("it is in a session", || Ok((screens.borrow().view == View::Idle).then_some(())))?;
        Ok(companion)
    }

    /// A companion of this name that was paired: connects, and waits until it is in a session.
    pub(super) fn come_back(&self, name: &str) -> Result<Companion> {
        let companion = self.switch_on(name)?;
        let screens = companion.screens();
        eventually("it is in a session", || Ok((screens.borrow().view == View::Idle).then_some(())))?;
        Ok(companion)
    }

    fn switch_on(&self, name: &str) -> Result<Companion> {
        let _within = self.runtime.enter();
        Ok(Companion::start(Settings {
            host: Ipv4Addr::LOCALHOST.to_string(),
            port: self.hub.broker_port(),
            store: self.memory_of(name),
            geometry: Geometry::SMALL,
            app: App::default(),
            display: Display::Watched,
        })?)
    }

    /// What a paired companion of this name knows: its login, to begin with.
    pub(super) fn bond(&self, name: &str) -> Result<Bond> {
        self.memory_of(name).load_bond()?.context("it was not paired")
    }

    /// The topics of a paired companion of this name.
    pub(super) fn topics(&self, name: &str) -> Result<Topics> {
        let keys = self.memory_of(name).load_keys()?.context("it has none")?;
        let device = PublicKey(SigningKey::from_bytes(&keys.sign).verifying_key().to_bytes());
        Ok(Topics::new(self.bond(name)?.hub, device))
    }

    fn memory_of(&self, name: &str) -> Store {
        Store::folder(self.hub.folder().path().join(name))
    }

    /// A message that waits for a person, of the agent with [`Stage::careful_token`].
    pub(super) fn held(&self) -> Result<String> {
        let held = self.careful.send(&json!({"to": "local:team", "message": "It may wait."}))?;
        Ok(text(&held, "id").to_owned())
    }

    /// The token of the agent whose messages are held.
    pub(super) fn careful_token(&self) -> &str {
        self.careful.token()
    }

    /// An agent that is served, and how long it took.
    fn call(&self) -> Result<Duration> {
        let start = Instant::now();
        self.honest.send(&json!({"to": "local:team", "message": "All is well."}))?;
        Ok(start.elapsed())
    }

    /// A card, and how long it took to be there. The companion says for some seconds that it is gone again.
    fn card(&self) -> Result<Duration> {
        let companion = self.companion.as_ref().context("there is no companion yet")?;
        let screens = companion.screens();
        let start = Instant::now();
        let held = self.careful.send(&json!({"to": "local:team", "message": "May I?"}))?;
        eventually("the card is there", || Ok(matches!(screens.borrow().view, View::Card(_)).then_some(())))?;
        let there = start.elapsed();
        let cancelled =
            self.careful.post(&format!("/v1/messages/{}/cancel", text(&held, "id")), &json!({}))?;
        ensure!(cancelled.status == 200, "{cancelled:?}");
        eventually("it is gone", || Ok((screens.borrow().view == View::Idle).then_some(())))?;
        Ok(there)
    }

    /// Runs an attack, and serves others meanwhile.
    pub(super) fn under(&self, attack: impl Fn(&Until) -> Result<()> + Sync) -> Result<Outcome> {
        let idle = self.at_rest()?;
        self.forget_the_peak()?;
        let until = Until::begin();
        let (mut calls, mut cards) = thread::scope(|scope| {
            let attacker = scope.spawn(|| attack(&until));
            let while_it_lasts = |serve: fn(&Self) -> Result<Duration>| {
                let mut took = Vec::new();
                while !until.over() {
                    took.push(serve(self)?);
                    thread::sleep(BETWEEN);
                }
                anyhow::Ok(took)
            };
            let calls = scope.spawn(move || while_it_lasts(Self::call));
            let cards = while_it_lasts(Self::card);
            let calls = calls.join().expect("it does not panic");
            // Whoever was not served has nothing to wait for.
            until.0.store(true, Ordering::Relaxed);
            attacker.join().expect("it does not panic").context("the attack")?;
            let not_served = "who is honest is not served";
            anyhow::Ok((calls.context(not_served)?, cards.context(not_served)?))
        })?;
        let during = self.hub.memory("VmHWM")?.saturating_sub(idle);
        let after = self.within_a_minute(idle + AFTER)?.saturating_sub(idle);
        calls.sort();
        cards.sort();
        Ok(Outcome { idle, during, after, calls, cards })
    }

    /// Asserts the bounds of an attack, and prints its figures.
    pub(super) fn holds(&self, what: &str, outcome: &Outcome, during: u64) -> Result<()> {
        let Outcome { idle, during: peak, after, calls, cards } = outcome;
        let most = |took: &[Duration]| took.get((took.len() * 9 / 10).saturating_sub(1)).copied();
        let (call, card) = (most(calls), most(cards));
        println!(
            "{what}: idle {:.1} MiB, +{:.1} MiB during, +{:.1} MiB after; nine of {} calls in ten within {:.2?}, all {:.2?}; of {} cards {:.2?}, {:.2?}",
            mib(*idle),
            mib(*peak),
            mib(*after),
            calls.len(),
            call.unwrap_or_default(),
            calls.last().copied().unwrap_or_default(),
            cards.len(),
            card.unwrap_or_default(),
            cards.last().copied().unwrap_or_default(),
        );
        ensure!(*peak <= during, "{what} took {:.1} MiB", mib(*peak));
        ensure!(*after <= AFTER, "{what} keeps {:.1} MiB", mib(*after));
        let (call, card) =
            if length() >= LONG { (calls.last().copied(), cards.last().copied()) } else { (call, card) };
        let served = |took: Option<Duration>| took.is_some_and(|took| took <= SERVED);
        ensure!(served(call) && served(card), "{call:?}, {card:?}");
        Ok(())
    }

    /// What a metric says; 0 without a sample.
    pub(super) fn metric(&self, sample: &str) -> Result<f64> {
        let text = self.hub.operator()?.get("/metrics")?.body;
        let text = text.as_str().context("metrics are text")?;
        let value = text.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' ')?.parse().ok());
        Ok(value.unwrap_or(0.0))
    }

    /// Asserts that something was turned away for this reason, and that one line a minute at most says so.
    pub(super) fn says(&self, server: &str, reason: &str) -> Result<()> {
        let count = self.metric(&format!("gatepost_{server}_refused_total{{reason=\"{reason}\"}}"))?;
        ensure!(count > 0.0, "{server} has turned nothing away for {reason}");
        let log = self.hub.log()?;
        let is_one = |line: &&str| {
            line.contains(&format!("server=\"{server}\"")) && line.contains(&format!("reason=\"{reason}\""))
        };
        let lines = log.lines().filter(is_one).count();
        let most = 1 + length().as_secs() / 60 + 2;
        ensure!(
            (1..=most as usize).contains(&lines),
            "{lines} lines of {server}, {reason}, {count} times:\n{log}"
        );
        Ok(())
    }

    /// Its memory when it has not changed for a second.
    fn at_rest(&self) -> Result<u64> {
        let (mut last, mut steady) = (0, 0);
        eventually("it comes to rest", || {
            let now = self.hub.memory("VmRSS")?;
            steady = if now.abs_diff(last) < MIB / 8 { steady + 1 } else { 0 };
            last = now;
            thread::sleep(Duration::from_millis(50));
            Ok((steady >= 20).then_some(now))
        })
    }

    /// Its memory when it is back within `bound`, or a minute later.
    fn within_a_minute(&self, bound: u64) -> Result<u64> {
        let start = Instant::now();
        loop {
            let now = self.hub.memory("VmRSS")?;
            if now <= bound || start.elapsed() >= SETTLED {
                return Ok(now);
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn forget_the_peak(&self) -> Result<()> {
        // proc(5): 5 resets the peak.
        Ok(fs::write(format!("/proc/{}/clear_refs", self.hub.pid()?), "5")?)
    }
}

/// Lets this process have as many connections as it attacks with; the hub has its own limit.
fn raise_own_limit() -> Result<()> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.unwrap_or(DESCRIPTORS).min(DESCRIPTORS);
    if current.is_some_and(|current| current < wanted) {
        setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum })?;
    }
    Ok(())
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB as f64
}
