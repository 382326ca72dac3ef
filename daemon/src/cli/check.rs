//! `gatepost check`.

mod hearing;
mod machine;
mod service;

use std::path::Path;

use serde_json::{Value, json};

use hearing::Heard;

use super::{Failed, audit, output};
use crate::{
    approval::availability::Paired,
    channels::{self, DeliveryMode, account::Accounts, receiver::Hearing},
    client::Place,
    companion::broker::Address,
    config::{Agent, Config},
    hub::{
        HubError, broker_elsewhere, check_agents, check_updates, check_wakes, check_web, home_assistant,
        open_accounts, own_authority, unusable_names, voice,
    },
    outbox::pauses::Pauses,
    printing::{print_note, print_result},
    store::{self, Newer, Store, StoreError},
};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Check the file only; ask no platform.
    #[arg(long)]
    offline: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(place: &Place, arguments: &Arguments) -> Result<(), Failed> {
    let path = place.config.as_path();
    let config = Config::load(path).map_err(Failed::refused)?;
    config.refuse_everybodys_secrets().map_err(Failed::refused)?;
    // The adapters want a database; while the hub runs, its own is not to be touched.
    let scratch = ScratchStore::open().map_err(Failed::refused)?;
    // As a start would, and with its words.
    let placed = |error: HubError| Failed::refused(error.placed(path));
    let accounts = open_accounts(&config, &scratch.store).map_err(placed)?;
    check_agents(&config, &accounts).map_err(placed)?;
    check_wakes(&config).map_err(placed)?;
    print_note!(
        "{} is valid: {} agents, {} accounts",
        path.display(),
        config.agents.len(),
        accounts.iter().count()
    );
    print_note!("voice: {}", voice(&config).map_err(placed)?.describe());
    let (releases, _) = check_updates(&config).map_err(placed)?;
    if let Some(root) = releases.root() {
        print_note!("firmware: companions get what version {} of the root vouches for", root.version());
    }
    for (name, folder) in
        config.agents.iter().filter_map(|(name, agent)| Some((name, agent.attach_from.as_ref()?)))
    {
        print_note!("{name} attaches files from {}", folder.display());
    }
    let broker = broker_elsewhere(&config).map_err(placed)?;
    let home = home_assistant(&config).map_err(placed)?;
    let certificate = check_web(&config).map_err(placed)?;
    if let Some(authority) = own_authority(&config) {
        print_note!("{authority}");
    }
    for warning in config
        .warnings()
        .into_iter()
        .chain(certificate)
        .chain(unusable_names(&config, &accounts))
        .chain(nobody_decides(&config))
    {
        print_note!("warning: {warning}");
    }
    let database = newer_database(&config);
    match &database {
        Ok(newer) => newer.iter().for_each(|newer| print_note!("{newer}")),
        Err(why) => print_note!("warning: {why}"),
    }
    if arguments.offline {
        return Ok(());
    }
    let mut found = service::missing(path, &config, &machine::programs(&config));
    let home = home.as_ref().map(|home| ("homeassistant", &home.address));
    let brokers = broker.as_ref().map(|broker| ("broker", broker)).into_iter().chain(home);
    let heard = match accounts.iter().any(|(_, _, adapter)| adapter.hearing().is_some()) {
        true => Some(Heard::of_running(place).await),
        false => None,
    };
    found.extend(ask_all(&config, &accounts, heard.as_ref(), brokers).await);
    found
        .extend(database.err().map(|why| Found::missing("hub.data_dir", config.hub.data_dir.display(), why)));
    if arguments.json {
        print_result!("{}", as_json(&found))?;
    } else {
        print_result!("{}", as_table(&found))?;
    }
    match found.iter().all(|one| one.ready.is_ok()) {
        true => Ok(()),
        false => Err(Failed::Refused(
            "not every channel is ready, or a broker is not, or this machine is not: see NOT READY".into(),
        )),
    }
}

/// What is missing on this machine, and what the platforms and the brokers of these sections say.
async fn ask_all(
    config: &Config,
    accounts: &Accounts,
    heard: Option<&Heard>,
    brokers: impl Iterator<Item = (&'static str, &Address)>,
) -> Vec<Found> {
    let mut found = machine::missing(config);
    let pauses = paused(config).unwrap_or_else(|error| {
        print_note!("warning: cannot see which platforms have asked for a pause: {error}");
        Pauses::default()
    });
    found.extend(ask(accounts, &pauses, heard).await);
    for (section, broker) in brokers {
        let account = format!("{}:{}", broker.host, broker.port);
        print_note!("asking the broker at {account} …");
        let ready = broker.ask().await.map(|()| match &broker.login {
            Some((user, _)) => user.clone(),
            None => "nobody by name".into(),
        });
        found.push(Found { channel: section.into(), account, mode: None, ready, hearing: None });
    }
    found
}

fn as_json(found: &[Found]) -> Value {
    let row = |Found { channel, account, mode, ready, hearing }: &Found| {
        let mut row = json!({"channel": channel, "account": account, "ready": ready.is_ok()});
        if let Some(mode) = mode {
            row["mode"] = json!(mode);
        }
        if let Some(hearing) = hearing {
            row["hearing"] = json!(hearing);
        }
        match ready {
            Ok(as_whom) => row["as"] = json!(as_whom),
            Err(why) => row["error"] = json!(why),
        }
        row
    };
    found.iter().map(row).collect()
}

fn as_table(found: &[Found]) -> String {
    let row = |Found { channel, account, mode, ready, .. }: &Found| {
        let (word, text) = match ready {
            Ok(as_whom) => ("ready", as_whom),
            Err(why) => ("NOT READY", why),
        };
        let mode = mode.map_or("", DeliveryMode::word);
        vec![channel.clone(), account.clone(), mode.into(), word.into(), text.clone()]
    };
    let rows: Vec<Vec<String>> = found.iter().map(row).collect();
    output::table(&["CHANNEL", "ACCOUNT", "WAY", "STATE", ""], &rows)
}

/// Why nobody could decide on what needs a person; nothing if nothing does.
fn nobody_decides(config: &Config) -> Vec<String> {
    if !config.agents.values().any(Agent::needs_people) {
        return vec![];
    }
    let path = config.hub.data_dir.join("gatepost.db");
    // Before the hub's first start nobody is paired.
    let paired = match path.exists() {
        false => Paired::default(),
        true => match audit::open(&path)
            .map_err(|error| error.to_string())
            .and_then(|db| Paired::read(&db).map_err(|error| error.to_string()))
        {
            Ok(paired) => paired,
            Err(error) => return vec![format!("cannot see which companions are paired: {error}")],
        },
    };
    let approval = &config.approval;
    paired.warnings(approval.allow_software_companion, approval.takes_passkeys(), approval.quorum)
}

/// The pauses that the hub keeps to. Before its first start there are none.
fn paused(config: &Config) -> Result<Pauses, String> {
    let path = config.hub.data_dir.join("gatepost.db");
    if !path.exists() {
        return Ok(Pauses::default());
    }
    let db = audit::open(&path).map_err(|error| error.to_string())?;
    Pauses::read(&db).map_err(|error| error.to_string())
}

/// The database, if a later gatepost has changed its tables; or why this one cannot use it. Of one that cannot be read at all
/// the hub's start says why.
fn newer_database(config: &Config) -> Result<Option<Newer>, StoreError> {
    let directory = &config.hub.data_dir;
    let Ok(db) = audit::open(&directory.join("gatepost.db")) else { return Ok(None) };
    match store::newer(&db, directory) {
        Err(error @ StoreError::Newer { .. }) => Err(error),
        found => Ok(found.unwrap_or_default()),
    }
}

/// What is ready, as whom; or is not, and why.
struct Found {
    channel: String,
    account: String,
    /// Which way its messages go; a broker has none to choose.
    mode: Option<DeliveryMode>,
    ready: Result<String, String>,
    /// How the running hub's account hears.
    hearing: Option<Hearing>,
}

impl Found {
    /// What this key names is not as the hub needs it.
    fn missing(key: impl Into<String>, what: impl ToString, why: impl ToString) -> Self {
        Self {
            channel: key.into(),
            account: what.to_string(),
            mode: None,
            ready: Err(why.to_string()),
            hearing: None,
        }
    }
}

/// Asks every platform that has not asked for a pause.
async fn ask(accounts: &Accounts, pauses: &Pauses, heard: Option<&Heard>) -> Vec<Found> {
    let mut found = vec![];
    for (channel, account, adapter) in accounts.iter() {
        let paused = pauses.of_account(channel, account, accounts.fingerprint(channel, account));
        let ready = match paused {
            Some(pause) => Err(pause.in_its_words()),
            None => {
                print_note!("asking {channel}.{account} …");
                channels::ready(adapter.as_ref()).await.map_err(|error| error.to_string())
            }
        };
        let ready = ready.map(|said| match (heard, adapter.hearing()) {
            (Some(heard), Some(own)) => heard.instead(said, &own, (channel, account)),
            _ => said,
        });
        let hearing = heard.and_then(|heard| heard.of(channel, account)).cloned();
        let (channel, account) = (channel.to_owned(), account.to_owned());
        found.push(Found { channel, account, mode: Some(adapter.capabilities().mode), ready, hearing });
    }
    found
}

/// A database for the length of a check, in a directory of its own that goes with it.
pub(super) struct ScratchStore {
    store: Store,
    directory: std::path::PathBuf,
}

impl ScratchStore {
    pub(super) fn open() -> Result<Self, StoreError> {
        let directory = std::env::temp_dir().join(format!("gatepost-check-{}", crate::random::hex::<8>()));
        Ok(Self { store: Store::open(&directory)?, directory })
    }

    pub(super) const fn store(&self) -> &Store {
        &self.store
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }
}

impl Drop for ScratchStore {
    fn drop(&mut self) {
        self.store.close();
        if let Err(error) = std::fs::remove_dir_all(&self.directory) {
            tracing::warn!(%error, directory = %self.directory.display(), "cannot remove a scratch directory");
        }
    }
}
