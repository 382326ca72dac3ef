//! Accounts: how the configuration opens one, and how a message finds its own.

use std::{collections::BTreeMap, sync::Arc};

use super::Adapter;
use crate::store::Store;

/// What an account is built from.
pub struct Opening<'a> {
    /// The account's name in the configuration.
    pub account: &'a str,
    /// Its table in the configuration.
    pub settings: toml::Table,
    /// The one HTTP client of the house.
    pub http: reqwest::Client,
    /// The hub's database, for channels that live in the hub.
    pub store: Store,
}

/// Why an account cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A key is missing or has a wrong value.
    #[error("{0}")]
    Settings(#[from] toml::de::Error),
    /// A secret cannot be read.
    #[error("{0}")]
    Secret(#[from] crate::settings::secret::SecretError),
    /// The values do not go together.
    #[error("{0}")]
    Invalid(String),
}

/// The open accounts, by channel and account name.
#[derive(Clone, Default)]
pub struct Accounts(BTreeMap<String, BTreeMap<String, Arc<dyn Adapter>>>);

/// Why no account answers to a channel and an account name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoAccount {
    /// The seed's words: agents know them.
    #[error("No adapter registered for platform \"{0}\"")]
    Channel(String),
    /// The channel has accounts, but not this one.
    #[error("no account {account:?} on {channel}; there is: {known}")]
    Account {
        /// The channel.
        channel: String,
        /// The name that was asked for.
        account: String,
        /// The names that exist.
        known: String,
    },
    /// Several accounts, and none was named.
    #[error("{channel} has several accounts ({known}): name one with accountId, or bind the agent to one")]
    Several {
        /// The channel.
        channel: String,
        /// The names that exist.
        known: String,
    },
}

impl Accounts {
    /// Adds an open account.
    pub fn add(&mut self, channel: &str, account: &str, adapter: Arc<dyn Adapter>) {
        self.0.entry(channel.into()).or_default().insert(account.into(), adapter);
    }

    /// The account to use: the one named, else the only one.
    pub fn pick(&self, channel: &str, account: Option<&str>) -> Result<(&str, &Arc<dyn Adapter>), NoAccount> {
        let accounts = self.0.get(channel).ok_or_else(|| NoAccount::Channel(channel.into()))?;
        let known = || accounts.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        match account {
            Some(name) => accounts.get_key_value(name).ok_or_else(|| NoAccount::Account {
                channel: channel.into(),
                account: name.into(),
                known: known(),
            }),
            None if accounts.len() == 1 => Ok(accounts.iter().next().expect("there is one")),
            None => Err(NoAccount::Several { channel: channel.into(), known: known() }),
        }
        .map(|(name, adapter)| (name.as_str(), adapter))
    }

    /// All open accounts: channel, account, adapter.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, &Arc<dyn Adapter>)> {
        self.0.iter().flat_map(|(channel, accounts)| {
            accounts.iter().map(move |(account, adapter)| (channel.as_str(), account.as_str(), adapter))
        })
    }
}
