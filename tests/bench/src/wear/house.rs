//! A hub with its companion and a few agents, and what goes on in a house: the ways of a message that are measured.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::PathBuf,
    time::{Duration, Instant},
};

use gatepost::{
    agents::{self, Role},
    approval::device::Device,
    config::Config,
    hub::{Extras, Hub},
    random,
};
use gatepost_companion::{Bond, Geometry, Keys, Storage as _};
use gatepost_desktop::{Companion, Display, Settings, Store, person};
use gatepost_link::{
    Digest,
    decision::{PublicKey, Verdict},
    envelope::VERSION,
    seal::SealSecret,
    topic,
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::log::open;
use crate::queue::{
    Outcome,
    fixture::{Fixture, block_on, free_address},
    load::Client,
};

/// Nothing here takes longer.
const PATIENCE: Duration = Duration::from_mins(10);
/// Between two looks whether something has happened.
const LOOK: Duration = Duration::from_millis(5);
/// After this nothing goes on any more that a message started, and the log is in the database.
pub(super) const QUIET: Duration = Duration::from_millis(300);

/// Whose every message a person decides on, and who is woken by what somebody writes.
const CAREFUL: &str = "careful";
const WOKEN: &str = "woken";

/// A text of about so many bytes, of which no two are the same.
pub(super) fn text(number: usize, bytes: usize) -> String {
    const WORDS: &str = "The certificate of the door expires on Friday; I renew it tomorrow at noon unless you say otherwise. ";
    let mut text = format!("{number} ");
    text.push_str(&WORDS.repeat(bytes / WORDS.len() + 1));
    text.truncate(bytes);
    text
}

/// Bytes of a message that is measured.
const SHORT: usize = 300;

fn message(number: usize, lane: usize, bytes: usize) -> String {
    json!({"to": format!("local:p{lane}"), "message": text(number, bytes)}).to_string()
}

/// A hub that runs, and who is there.
pub(super) struct House {
    pub fixture: Fixture,
    companion: Companion,
    /// What the companion runs on.
    _runtime: tokio::runtime::Runtime,
    careful: String,
    woken: String,
    operator: String,
}

impl House {
    /// A hub with these accounts beside its own inbox; nothing was ever sent there. With `more` its configuration ends.
    pub(super) fn build(mut fixture: Fixture, more: &str) -> Outcome<Self> {
        let mut file = OpenOptions::new().append(true).open(fixture.config())?;
        write!(
            file,
            "\n[agents.{CAREFUL}]\nper_minute = 0\nallow = []\nhold = [\"local:*\"]\n\
             [agents.{WOKEN}]\nper_minute = 0\nallow = [\"local:*\"]\n\
             [routes.{WOKEN}]\nfrom = [\"local:*\"]\nagent = \"{WOKEN}\"\n\
             [approval]\nallow_software_companion = true\ncards_per_hour = 1000\n{more}"
        )?;
        drop(file);
        let (keys, password) =
            (Keys { sign: random::bytes(), seal: SealSecret(random::bytes()) }, random::hex::<16>());
        let mut config = Config::load(&fixture.config())?;
        // The embedded broker of this process stays until it ends.
        config.broker.listen = free_address()?;
        let (bond, [careful, woken]) = block_on(pair(&config, &keys, &password))??;
        let mut store = Store::memory();
        store.store_keys(&keys)?;
        store.store_bond(&bond)?;
        let broker = fixture.broker();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let entered = runtime.enter();
        let companion = Companion::start(Settings {
            host: broker.ip().to_string(),
            port: broker.port(),
            store,
            geometry: Geometry::TEXT,
            app: gatepost_companion::Settings::default(),
            display: Display::Watched,
        })?;
        drop(entered);
        // It is not ready before who decides is there.
        fixture.run()?;
        let operator = fs::read_to_string(fixture.data_dir().join("operator.token"))?.trim().to_owned();
        let house = Self { fixture, companion, _runtime: runtime, careful, woken, operator };
        house.wait_for("the companion is there", || {
            let listed = house.ask(&house.operator, "GET", "/v1/companions", "")?;
            Ok(listed["companions"].as_array().into_iter().flatten().any(|one| one["online"] == true))
        })?;
        Ok(house)
    }

    pub(super) fn database(&self) -> PathBuf {
        self.fixture.data_dir().join("gatepost.db")
    }

    /// A message, and nothing else until it is sent.
    pub(super) fn alone(&self, number: usize) -> Outcome<()> {
        self.ask(self.fixture.token(), "POST", "/v1/messages", &message(number, number % 8, SHORT))?;
        self.sent()
    }

    /// So many callers, each with as many messages one after the other, each to somebody of its own.
    pub(super) fn together(&self, first: usize, callers: usize, each: usize, bytes: usize) -> Outcome<()> {
        block_on(async {
            let mut all = JoinSet::<Result<(), String>>::new();
            for caller in 0..callers {
                let client = Client::connect(self.fixture.address(), self.fixture.token()).await?;
                all.spawn(call(client, first + caller * each, each, caller, bytes));
            }
            while let Some(one) = all.join_next().await {
                one??;
            }
            Ok::<_, Box<dyn std::error::Error>>(())
        })??;
        self.sent()
    }

    /// A message that is held, and that a person approves.
    pub(super) fn held(&self, number: usize) -> Outcome<()> {
        let held = self.ask(&self.careful, "POST", "/v1/messages", &message(number, number % 8, SHORT))?;
        if held["state"] != "held" {
            return Err(format!("it was to be held: {held}").into());
        }
        block_on(person::decide(&self.companion, Verdict::Approve, PATIENCE))??;
        self.sent()
    }

    /// Somebody writes, the agent takes its turn, and its answer is sent.
    pub(super) fn heard(&self, number: usize) -> Outcome<()> {
        let peer = format!("p{}", number % 8);
        let heard = json!({
            "channel": "local", "peer": peer, "sender": peer, "direct": true, "text": text(number, SHORT),
            "messageId": number.to_string(),
        });
        self.ask(&self.operator, "POST", "/v1/inbound", &heard.to_string())?;
        let taken = self.ask(&self.woken, "GET", "/v1/turns?wait=30", "")?;
        let turn = &taken["turn"];
        let words = text(number + 1, SHORT);
        let reply =
            json!({"context": turn["context"], "turn": turn["turn"], "lease": turn["lease"], "text": words});
        self.ask(&self.woken, "POST", "/v1/reply", &reply.to_string())?;
        self.sent()
    }

    /// One message after the other while `until` does not hold; how long the slowest took to be taken.
    pub(super) fn slowest_while(&self, first: usize, until: impl Fn() -> bool) -> Outcome<Duration> {
        block_on(async {
            let mut client = Client::connect(self.fixture.address(), self.fixture.token()).await?;
            let (mut slowest, mut number) = (Duration::ZERO, first);
            while !until() {
                let began = Instant::now();
                client.call(&message(number, number % 64, SHORT)).await?;
                slowest = slowest.max(began.elapsed());
                number += 1;
                tokio::time::sleep(LOOK).await;
            }
            Ok(slowest)
        })?
    }

    /// Waits until nothing is under way any more, and for what follows the last end.
    fn sent(&self) -> Outcome<()> {
        let db = open(&self.database())?;
        self.wait_for("all of it is sent", || {
            // The words of the index of what is under way.
            let live = "SELECT 1 FROM messages WHERE state IN ('accepted', 'held', 'ready', 'sending')";
            Ok(!db.prepare_cached(live)?.exists([])?)
        })
    }

    fn ask(&self, token: &str, method: &str, path: &str, body: &str) -> Outcome<Value> {
        let answer = block_on(async {
            let mut client = Client::connect(self.fixture.address(), token).await?;
            client.request(method, path, body).await
        })??;
        Ok(serde_json::from_str(&answer)?)
    }

    pub(super) fn wait_for(&self, what: &str, holds: impl Fn() -> Outcome<bool>) -> Outcome<()> {
        let began = Instant::now();
        while !holds()? {
            if began.elapsed() > PATIENCE {
                return Err(format!("not in {PATIENCE:?}: {what}").into());
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}

async fn call(
    mut client: Client,
    first: usize,
    each: usize,
    lane: usize,
    bytes: usize,
) -> Result<(), String> {
    for number in first..first + each {
        client.call(&message(number, lane, bytes)).await.map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// What the pairing with the hub leaves at the companion, and the tokens of the agents.
async fn pair(config: &Config, keys: &Keys, password: &str) -> Outcome<(Bond, [String; 2])> {
    let hub = Hub::start(config, Extras::default()).await?;
    let key = PublicKey(ed25519_dalek::SigningKey::from_bytes(&keys.sign).verifying_key().to_bytes());
    let device = Device {
        key,
        seal: keys.seal.public(),
        name: "bench".into(),
        software: true,
        login: Some(Digest::of(password.as_bytes())),
        version: VERSION,
    };
    hub.companions().add(device).await?;
    let mut tokens = [CAREFUL, WOKEN].map(str::to_owned);
    for token in &mut tokens {
        *token = agents::add(hub.store(), &token.clone(), Role::Agent, "bench").await?;
    }
    let login = |text: &str| text.try_into().map_err(|_| "a login is short");
    let bond = Bond {
        hub: hub.key(),
        seal: hub.seal_key(),
        user: login(&format!("device-{}", topic::name(key)))?,
        password: login(password)?,
        version: VERSION,
    };
    hub.stop().await;
    Ok((bond, tokens))
}
