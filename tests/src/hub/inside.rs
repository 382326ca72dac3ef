//! A hub in this process, with a companion of its own.
//!
//! It is built as `gatepost run` builds it; only the companion is registered beside it, as in the demo. It can be
//! stopped, and started again over the same data. The embedded broker knows no end but the process's, so each start
//! has one on a port of its own.

use std::{
    collections::BTreeMap,
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use ed25519_dalek::SigningKey;
use gatepost::{
    agents::{self, Role},
    approval::{device::Device, prove::prove},
    audit,
    config::Config,
    hub::{Extras, Hub, HubError, operator_token_path},
    outbox, random,
    settings::secret::Secret,
    store::{LockError, StoreError},
};
use gatepost_companion::{Bond, Geometry, Keys, Screen, Storage as _};
use gatepost_desktop::{
    Companion, Display, Settings, Store,
    person::{self, Seen},
};
use gatepost_link::{
    decision::{Decision, PublicKey, Statement, Verdict},
    envelope::VERSION,
    seal::SealSecret,
};
use tempfile::TempDir;

use super::{
    Client, Eavesdropper, Impostor, PATIENCE,
    client::text,
    database::{self, Line},
    eventually,
    program::{Ended, gatepost},
};
use crate::peers::{Man, Mosquitto, free_port};

/// The embedded broker's name for companions.
const COMPANION: &str = "companion";

/// A running hub with its companion.
pub struct TestHub {
    folder: Arc<TempDir>,
    config: Config,
    keys: Keys,
    registered: bool,
    app: gatepost_companion::Settings,
    display: Display,
    login: (String, String),
    /// Where the companion goes, if not to the embedded broker.
    meets_at: Option<u16>,
    running: Option<Running>,
    tokens: BTreeMap<String, String>,
}

/// A companion beside the first.
pub struct Guest {
    /// What it is called.
    pub name: String,
    keys: Keys,
    companion: Option<Companion>,
}

impl Guest {
    /// The program that it is.
    ///
    /// # Errors
    /// It is switched off.
    pub fn companion(&self) -> Result<&Companion> {
        self.companion.as_ref().context("it is switched off")
    }

    /// Its key.
    pub fn device(&self) -> PublicKey {
        device(&self.keys)
    }

    /// The statement with its true signature.
    pub fn sign(&self, statement: &Statement) -> Decision {
        statement.sign(&SigningKey::from_bytes(&self.keys.sign))
    }

    /// Pulls its plug.
    pub fn switch_off(&mut self) {
        self.companion = None;
    }

    /// Lets the scripted person before it decide on the next card.
    ///
    /// # Errors
    /// There was none, or the hub did not take the decision.
    pub async fn decide(&self, verdict: Verdict) -> Result<Seen> {
        Ok(person::decide(self.companion()?, verdict, PATIENCE).await?)
    }

    /// Waits until its screen is as wanted.
    ///
    /// # Errors
    /// It did not become so.
    pub fn screen(&self, what: &str, wanted: impl Fn(&Screen) -> bool) -> Result<Screen> {
        shows(self.companion()?, what, wanted)
    }
}

fn shows(companion: &Companion, what: &str, wanted: impl Fn(&Screen) -> bool) -> Result<Screen> {
    let screens = companion.screens();
    eventually(what, || Ok(Some(screens.borrow().clone()).filter(&wanted)))
        .with_context(|| format!("the screen shows {:?}", screens.borrow().view))
}

struct Running {
    hub: Hub,
    companion: Option<Companion>,
    port: u16,
}

impl TestHub {
    /// Starts a hub with the embedded broker. `config` is a whole configuration, but for addresses and folders; with
    /// `allow_software_companion` there is a companion too.
    ///
    /// # Errors
    /// It did not start.
    pub async fn start(config: &str) -> Result<Self> {
        Self::start_in(Arc::new(tempfile::tempdir()?), config).await
    }

    /// The same at a broker that is not ours.
    ///
    /// # Errors
    /// It did not start.
    pub async fn start_at(broker: &Mosquitto, config: &str) -> Result<Self> {
        let url = format!("url = \"mqtt://127.0.0.1:{}\"", broker.port());
        Self::start_at_by(broker, config, &url).await
    }

    /// The same with these lines on how the hub, and it alone, reaches that broker.
    ///
    /// # Errors
    /// It did not start.
    pub async fn start_at_by(broker: &Mosquitto, config: &str, way: &str) -> Result<Self> {
        let folder = Arc::new(tempfile::tempdir()?);
        let (hub, companion) = (broker.hub_credentials(), broker.companion_credentials());
        let password = folder.path().join("broker.password");
        fs::write(&password, hub.password)?;
        let config = format!(
            "{config}\n[broker]\n{way}\nuser = \"{}\"\npassword = \"file:{}\"\n",
            hub.username,
            password.display()
        );
        let mut fixture = Self::new(folder, &config)?;
        fixture.login = (companion.username.into(), companion.password.into());
        fixture.meets_at = Some(broker.port());
        fixture.run().await?;
        Ok(fixture)
    }

    /// The same over what another hub left in `folder`.
    ///
    /// # Errors
    /// It did not start.
    pub async fn start_in(folder: Arc<TempDir>, config: &str) -> Result<Self> {
        let mut fixture = Self::new(folder, config)?;
        fixture.run().await?;
        Ok(fixture)
    }

    fn new(folder: Arc<TempDir>, config: &str) -> Result<Self> {
        let mut config = Config::parse(config, Path::new("test"))?;
        config.hub.data_dir = data_dir(&folder);
        config.hub.listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Ok(Self {
            folder,
            config,
            keys: keys(),
            registered: false,
            app: gatepost_companion::Settings::default(),
            display: Display::Watched,
            login: (COMPANION.into(), random::hex::<16>()),
            meets_at: None,
            running: None,
            tokens: BTreeMap::new(),
        })
    }

    async fn run(&mut self) -> Result<()> {
        let software = self.config.approval.allow_software_companion;
        let hub = self.start_hub(software).await?;
        self.registered |= software;
        let port = self.meets_at.unwrap_or(self.config.broker.listen.port());
        let companion = if software { Some(self.companion_at(port, &hub)?) } else { None };
        self.running = Some(Running { hub, companion, port });
        Ok(())
    }

    async fn start_hub(&mut self, software: bool) -> Result<Hub> {
        let start = Instant::now();
        loop {
            self.config.broker.listen = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
            let device = registration(&self.keys, "test");
            let extras = Extras {
                broker_users: vec![(self.login.0.clone(), Secret::from(self.login.1.as_str()))],
                companion: Some(device).filter(|_| software && !self.registered),
                file: None,
            };
            match Hub::start(&self.config, extras).await {
                Ok(hub) => return Ok(hub),
                // The last hub's tasks are still letting go.
                Err(HubError::Store(StoreError::Lock(LockError::Held(..)))) if start.elapsed() < PATIENCE => {
                    thread::sleep(Duration::from_millis(20));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn companion_at(&self, port: u16, hub: &Hub) -> Result<Companion> {
        self.companion_with(&self.keys, "companion", port, hub)
    }

    /// A companion that has these keys and was paired with the hub; all else it has from before, if it was there.
    fn companion_with(&self, keys: &Keys, folder: &str, port: u16, hub: &Hub) -> Result<Companion> {
        let mut store = Store::folder(self.folder.path().join(folder));
        if store.load_keys()?.is_none() {
            store.store_keys(keys)?;
        }
        store.store_bond(&self.bond(hub)?)?;
        Ok(Companion::start(Settings {
            host: Ipv4Addr::LOCALHOST.to_string(),
            port,
            store,
            geometry: Geometry::TEXT,
            app: self.app,
            display: self.display,
        })?)
    }

    /// What the pairing with this hub would have left.
    pub(super) fn bond(&self, hub: &Hub) -> Result<Bond> {
        let login = |text: &str| text.try_into().ok().context("a login is short");
        Ok(Bond {
            hub: hub.key(),
            seal: hub.seal_key(),
            user: login(&self.login.0)?,
            password: login(&self.login.1)?,
            version: VERSION,
        })
    }

    /// Another companion, registered under this name with the running hub. It runs until it is dropped.
    ///
    /// # Errors
    /// The hub is stopped, or refused it.
    pub async fn join(&self, name: &str) -> Result<Guest> {
        let keys = keys();
        self.hub()?.companions().add(registration(&keys, name)).await?;
        let mut guest = Guest { name: name.into(), keys, companion: None };
        self.connect(&mut guest)?;
        Ok(guest)
    }

    /// A companion that nobody has paired yet; what it keeps is in a folder of this name.
    ///
    /// # Errors
    /// The hub is stopped.
    pub fn newcomer(&self, folder: &str) -> Result<Companion> {
        Ok(Companion::start(Settings {
            host: Ipv4Addr::LOCALHOST.to_string(),
            port: self.running()?.port,
            store: Store::folder(self.folder.path().join(folder)),
            geometry: Geometry::SMALL,
            app: self.app,
            display: self.display,
        })?)
    }

    /// A companion that was paired before the hub was updated, and is here with the firmware of then: it speaks this version of the
    /// link.
    ///
    /// # Errors
    /// The hub is stopped, refused it, or had no session for it.
    pub async fn join_outdated(&self, name: &str, version: u8) -> Result<(Keys, Impostor)> {
        let keys = keys();
        self.hub()?.companions().add(Device { version, ..registration(&keys, name) }).await?;
        let old = Impostor::speaking(version, self.running()?.port, &self.bond(self.hub()?)?, &keys)?;
        Ok((keys, old))
    }

    /// The same companion with the firmware of today, and what it kept.
    ///
    /// # Errors
    /// The hub is stopped.
    pub fn updated(&self, name: &str, keys: Keys) -> Result<Guest> {
        let mut guest = Guest { name: name.into(), keys, companion: None };
        self.connect(&mut guest)?;
        Ok(guest)
    }

    /// Connects a companion that is registered, from the beginning, as after a power cut.
    ///
    /// # Errors
    /// The hub is stopped.
    pub fn connect(&self, guest: &mut Guest) -> Result<()> {
        guest.companion = None;
        let folder = format!("companion {}", random::to_hex(&guest.device().0[..4]));
        guest.companion =
            Some(self.companion_with(&guest.keys, &folder, self.running()?.port, self.hub()?)?);
        Ok(())
    }

    /// Runs `gatepost` with these arguments, as the operator of this hub.
    ///
    /// # Errors
    /// The hub is stopped, or the program cannot be run.
    pub fn cli(&self, arguments: &[&str]) -> Result<Ended> {
        self.cli_told(arguments, b"")
    }

    /// The same with something on its standard input.
    ///
    /// # Errors
    /// The hub is stopped, or the program cannot be run.
    pub fn cli_told(&self, arguments: &[&str], input: &[u8]) -> Result<Ended> {
        let (hub, operator) =
            (format!("http://{}", self.hub()?.address()), operator_token_path(&self.data_dir()));
        let token = fs::read_to_string(operator)?;
        gatepost(arguments, input, &[("GATEPOST_HUB", &hub), ("GATEPOST_TOKEN", token.trim())])
    }

    /// From the next start on, the companion lets a person approve files that it cannot show.
    pub fn approve_unseen_files(&mut self) {
        self.app.approve_unseen_files = true;
    }

    /// From the next start on, the companion's screen counts as shown only where a test says so
    /// ([`Companion::drawings`]).
    pub fn report_drawings(&mut self) {
        self.display = Display::Reported;
    }

    /// Stops the hub and its companion in good order.
    pub async fn stop(&mut self) {
        if let Some(Running { hub, companion, .. }) = self.running.take() {
            drop(companion);
            hub.stop().await;
        }
    }

    /// Stops it, and starts it again over the same data, with the same companion.
    ///
    /// # Errors
    /// It did not start.
    pub async fn restart(&mut self) -> Result<()> {
        self.stop().await;
        self.run().await
    }

    /// The same with another configuration. The companion runs whether the hub takes it for one or not.
    ///
    /// # Errors
    /// It did not start.
    pub async fn restart_with(&mut self, config: &str) -> Result<()> {
        self.stop().await;
        let next = Self::new(Arc::clone(&self.folder), config)?;
        self.config = next.config;
        self.run().await?;
        self.switch_on()
    }

    /// Pulls the companion's plug.
    pub fn switch_off(&mut self) {
        if let Some(running) = &mut self.running {
            running.companion = None;
        }
    }

    /// Starts the companion where it does not run.
    ///
    /// # Errors
    /// The hub is stopped.
    pub fn switch_on(&mut self) -> Result<()> {
        if self.running()?.companion.is_none() {
            let companion = self.companion_at(self.running()?.port, self.hub()?)?;
            self.running.as_mut().context("it runs")?.companion = Some(companion);
        }
        Ok(())
    }

    /// Starts the companion over a man who stands before the broker.
    ///
    /// # Errors
    /// The hub is stopped, or there is no port for him.
    pub fn switch_on_before(&mut self) -> Result<Man> {
        let man = Man::before(self.broker_port()?)?;
        let companion = self.companion_at(man.port(), self.hub()?)?;
        self.running.as_mut().context("it runs")?.companion = Some(companion);
        Ok(man)
    }

    pub(super) fn broker_port(&self) -> Result<u16> {
        Ok(self.running()?.port)
    }

    fn running(&self) -> Result<&Running> {
        self.running.as_ref().context("the hub is stopped")
    }

    /// The hub.
    ///
    /// # Errors
    /// It is stopped.
    pub fn hub(&self) -> Result<&Hub> {
        Ok(&self.running()?.hub)
    }

    /// The companion.
    ///
    /// # Errors
    /// There is none.
    pub fn companion(&self) -> Result<&Companion> {
        self.running()?.companion.as_ref().context("there is no companion")
    }

    /// The companion's key.
    pub fn device(&self) -> PublicKey {
        device(&self.keys)
    }

    /// The statement with the companion's true signature.
    pub fn sign(&self, statement: &Statement) -> Decision {
        statement.sign(&SigningKey::from_bytes(&self.keys.sign))
    }

    /// The folder that all of it lives in.
    pub fn folder(&self) -> &Arc<TempDir> {
        &self.folder
    }

    /// The hub's data directory.
    pub fn data_dir(&self) -> PathBuf {
        data_dir(&self.folder)
    }

    /// Somebody who knows the companion's password at the broker.
    ///
    /// # Errors
    /// The hub is stopped, or the broker let nobody in.
    pub fn eavesdropper(&self) -> Result<Eavesdropper> {
        self.eavesdropper_on(self.device())
    }

    /// The same between the hub and another companion.
    ///
    /// # Errors
    /// The hub is stopped, or the broker let nobody in.
    pub fn eavesdropper_on(&self, device: PublicKey) -> Result<Eavesdropper> {
        let login = (self.login.0.as_str(), self.login.1.as_str());
        Eavesdropper::listen(self.running()?.port, login, self.hub()?.key(), device)
    }

    /// Somebody who has copied the companion's keys.
    ///
    /// # Errors
    /// The hub is stopped, or had no session for it.
    pub fn impostor(&self) -> Result<Impostor> {
        self.impostor_of(&self.keys)
    }

    /// Somebody who has copied another companion's keys.
    ///
    /// # Errors
    /// The hub is stopped, or had no session for it.
    pub fn impostor_at(&self, guest: &Guest) -> Result<Impostor> {
        self.impostor_of(&guest.keys)
    }

    /// A session with these keys, in which a script speaks.
    ///
    /// # Errors
    /// The hub is stopped, or had no session for it.
    pub(super) fn scripted(&self, keys: &Keys) -> Result<Impostor> {
        self.impostor_of(keys)
    }

    fn impostor_of(&self, keys: &Keys) -> Result<Impostor> {
        Impostor::connect(self.running()?.port, &self.bond(self.hub()?)?, keys)
    }

    /// The agent of this name, with a token.
    ///
    /// # Errors
    /// The hub gave none.
    pub async fn agent(&mut self, name: &str) -> Result<Client> {
        self.caller(name, Role::Agent).await
    }

    /// The bridge of this name, with a token.
    ///
    /// # Errors
    /// The hub gave none.
    pub async fn bridge(&mut self, name: &str) -> Result<Client> {
        self.caller(name, Role::Bridge).await
    }

    async fn caller(&mut self, name: &str, role: Role) -> Result<Client> {
        if !self.tokens.contains_key(name) {
            let token = agents::add(self.hub()?.store(), name, role, "operator").await?;
            self.tokens.insert(name.to_owned(), token);
        }
        self.anybody(self.tokens.get(name).map(String::as_str))
    }

    /// The operator.
    ///
    /// # Errors
    /// There is no token.
    pub fn operator(&self) -> Result<Client> {
        let token = fs::read_to_string(operator_token_path(&self.data_dir()))?;
        self.anybody(Some(token.trim()))
    }

    /// Whoever has this token, or none.
    ///
    /// # Errors
    /// The hub is stopped.
    pub fn anybody(&self, token: Option<&str>) -> Result<Client> {
        Ok(Client::new(&format!("http://{}", self.hub()?.address()), token))
    }

    /// Lets the scripted person decide on the next card.
    ///
    /// # Errors
    /// There was none, or the hub did not take the decision.
    pub async fn decide(&self, verdict: Verdict) -> Result<Seen> {
        Ok(person::decide(self.companion()?, verdict, PATIENCE).await?)
    }

    /// Waits until the companion's screen is as wanted.
    ///
    /// # Errors
    /// It did not become so.
    pub fn screen(&self, what: &str, wanted: impl Fn(&Screen) -> bool) -> Result<Screen> {
        shows(self.companion()?, what, wanted)
    }

    /// Changes the hub's rows about `of`, through the hub's own connection.
    ///
    /// # Errors
    /// SQLite's; there are no such rows.
    pub async fn write(&self, sql: &'static str, of: &str) -> Result<()> {
        let of = of.to_owned();
        let changed =
            self.hub()?.store().write(move |tx| Ok::<_, StoreError>(tx.execute(sql, [of])?)).await?;
        match changed {
            0 => bail!("nothing to change: {sql}"),
            _ => Ok(()),
        }
    }

    /// What the hub has written down.
    ///
    /// # Errors
    /// SQLite's.
    pub fn database(&self) -> Result<rusqlite::Connection> {
        database::open(&self.data_dir())
    }

    /// The audit's lines of this event, oldest first.
    ///
    /// # Errors
    /// SQLite's.
    pub fn audit(&self, event: &str) -> Result<Vec<Line>> {
        Ok(database::audit(&self.database()?)?.into_iter().filter(|line| line.event == event).collect())
    }

    /// Checks the audit's chain of hashes, every decision and approval document, and every stored message, all of one moment.
    ///
    /// # Errors
    /// Something does not fit.
    pub async fn audit_is_whole(&self) -> Result<()> {
        let hub = self.hub()?.key();
        let read = move |db: &rusqlite::Connection| -> Result<_, StoreError> {
            let moment = db.unchecked_transaction()?;
            let broken = audit::first_broken(&moment)?;
            Ok((broken, prove(&moment, hub, 0)?, outbox::verify::verify(&moment, 0)?))
        };
        let (broken, proof, stored) = self.hub()?.store().read(read).await?;
        ensure!(broken.is_none(), "the audit is broken at row {broken:?}");
        ensure!(proof.faults.is_empty(), "{proof:?}");
        ensure!(stored.faults.is_empty() && stored.unhashed == 0, "{stored:?}");
        Ok(())
    }

    /// Everything that arrived at `local:address`, part after part.
    ///
    /// # Errors
    /// The hub refused.
    pub fn arrived(&self, address: &str) -> Result<Vec<String>> {
        let arrived = self.operator()?.arrived(address)?;
        Ok(arrived.iter().map(|part| text(part, "text").to_owned()).collect())
    }
}

pub(super) fn keys() -> Keys {
    Keys { sign: random::bytes(), seal: SealSecret(random::bytes()) }
}

pub(super) fn device(keys: &Keys) -> PublicKey {
    PublicKey(SigningKey::from_bytes(&keys.sign).verifying_key().to_bytes())
}

/// A companion with these keys in the hub's registry; its login is one that the broker knows beforehand.
fn registration(keys: &Keys, name: &str) -> Device {
    Device {
        key: device(keys),
        seal: keys.seal.public(),
        name: name.into(),
        software: true,
        login: None,
        version: VERSION,
    }
}

/// Where the hub in `folder` keeps its data.
pub fn data_dir(folder: &TempDir) -> PathBuf {
    folder.path().join("data")
}
