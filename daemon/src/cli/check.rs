//! `gatepost check`.

use std::path::Path;

use serde_json::json;

use super::{Failed, audit, output};
use crate::{
    approval::registry,
    channels::account::Accounts,
    config::Config,
    hub::{broker_elsewhere, open_accounts, voice},
    store::{Store, StoreError},
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

pub(super) async fn run(path: &Path, arguments: &Arguments) -> Result<(), Failed> {
    let config = Config::load(path).map_err(Failed::refused)?;
    // The adapters want a database; while the hub runs, its own is not to be touched.
    let scratch = ScratchStore::open().map_err(Failed::refused)?;
    let accounts = open_accounts(&config, &scratch.store).map_err(Failed::refused)?;
    eprintln!(
        "{} is valid: {} agents, {} accounts",
        path.display(),
        config.agents.len(),
        accounts.iter().count()
    );
    eprintln!("voice: {}", voice(&config).map_err(Failed::refused)?.describe());
    let broker = broker_elsewhere(&config).map_err(Failed::refused)?;
    if let Some(deciding) = deciding(&config)
        && deciding < config.approval.quorum as usize
    {
        let quorum = config.approval.quorum;
        eprintln!(
            "approval.quorum: {quorum} must approve, and companions that may: {deciding}; what is held will expire"
        );
    }
    if arguments.offline {
        return Ok(());
    }
    let mut found = ask(&accounts).await;
    if let Some(broker) = &broker {
        let account = format!("{}:{}", broker.host, broker.port);
        eprintln!("asking the broker at {account} …");
        let ready = broker.ask().await.map(|()| match &broker.login {
            Some((user, _)) => user.clone(),
            None => "nobody by name".into(),
        });
        found.push(("broker".into(), account, ready));
    }
    if arguments.json {
        let rows: Vec<_> = found
            .iter()
            .map(|(channel, account, ready)| match ready {
                Ok(as_whom) => json!({"channel": channel, "account": account, "ready": true, "as": as_whom}),
                Err(why) => json!({"channel": channel, "account": account, "ready": false, "error": why}),
            })
            .collect();
        println!("{}", json!(rows));
    } else {
        let rows: Vec<Vec<String>> = found
            .iter()
            .map(|(channel, account, ready)| {
                let (word, text) = match ready {
                    Ok(as_whom) => ("ready", as_whom),
                    Err(why) => ("NOT READY", why),
                };
                vec![channel.clone(), account.clone(), word.into(), text.clone()]
            })
            .collect();
        println!("{}", output::table(&["CHANNEL", "ACCOUNT", "STATE", ""], &rows));
    }
    match found.iter().all(|(.., ready)| ready.is_ok()) {
        true => Ok(()),
        false => Err(Failed::Refused("not every channel is ready, or the broker is not".into())),
    }
}

/// How many companions the hub knows that may decide; nothing, where there is no database yet.
fn deciding(config: &Config) -> Option<usize> {
    let path = config.hub.data_dir.join("gatepost.db");
    let db = path.exists().then(|| audit::open(&path).ok())??;
    registry::deciding(&db, config.approval.allow_software_companion).ok()
}

async fn ask(accounts: &Accounts) -> Vec<(String, String, Result<String, String>)> {
    let mut found = vec![];
    for (channel, account, adapter) in accounts.iter() {
        eprintln!("asking {channel}.{account} …");
        let ready = adapter.check_ready().await.map_err(|error| error.to_string());
        found.push((channel.to_owned(), account.to_owned(), ready));
    }
    found
}

/// A database for the length of a check, in a directory of its own that goes with it.
struct ScratchStore {
    store: Store,
    directory: std::path::PathBuf,
}

impl ScratchStore {
    fn open() -> Result<Self, StoreError> {
        let directory = std::env::temp_dir().join(format!("gatepost-check-{}", crate::random::hex::<8>()));
        Ok(Self { store: Store::open(&directory)?, directory })
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
