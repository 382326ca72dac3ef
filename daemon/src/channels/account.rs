//! Accounts: how the configuration opens one, and how a message finds its own.

use std::{collections::BTreeMap, sync::Arc};

use super::{Adapter, TargetError};
use crate::{
    message::fingerprint::Fingerprint,
    settings::{Key, key},
    store::Store,
};

/// `[channels.CHANNEL.ACCOUNT]`: what every account has, beside the keys of its channel.
pub const KEYS: &[Key] = &[key(
    "on_unknown",
    "\"report\"",
    "What becomes of a message when nobody can tell whether it arrived: \"report\" tells the agent and sends nothing, \"resend\" sends it again, and it may arrive twice. A call may say otherwise for itself.",
)];

/// What becomes of a part when nobody can tell whether it arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnUnknown {
    /// It is reported, and not sent again.
    #[default]
    Report,
    /// It is sent again, and may arrive twice.
    Resend,
}

/// What an account is built from.
pub struct Opening<'a> {
    /// The account's name in the configuration.
    pub account: &'a str,
    /// Its table in the configuration.
    pub settings: toml::Table,
    /// The one HTTP client of the hub.
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

impl OnUnknown {
    /// Takes the setting out of an account's table.
    pub fn take(settings: &mut toml::Table) -> Result<Self, OpenError> {
        let value = settings.remove("on_unknown");
        value.map_or(Ok(Self::default()), |value| {
            value.try_into().map_err(|error| OpenError::Invalid(format!("on_unknown: {error}")))
        })
    }
}

/// The open accounts, by channel and account name.
#[derive(Clone, Default)]
pub struct Accounts(BTreeMap<String, BTreeMap<String, Account>>);

#[derive(Clone)]
struct Account {
    adapter: Arc<dyn Adapter>,
    on_unknown: OnUnknown,
    fingerprint: Fingerprint,
    /// Nobody set it up: the channel is the hub's own.
    built_in: bool,
    /// Whether its settings have it read what people write.
    receives: bool,
}

/// Why no account answers to a channel and an account name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoAccount {
    /// The channel has no account.
    #[error("no account is set up on channel \"{0}\"")]
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
    pub fn add(
        &mut self,
        (channel, account): (&str, &str),
        adapter: Arc<dyn Adapter>,
        on_unknown: OnUnknown,
        fingerprint: Fingerprint,
    ) {
        let open = Account { adapter, on_unknown, fingerprint, built_in: false, receives: false };
        self.0.entry(channel.into()).or_default().insert(account.into(), open);
    }

    /// Adds the account of a channel that is the hub's own. It always stands for the same.
    pub fn add_built_in(&mut self, (channel, account): (&str, &str), adapter: Arc<dyn Adapter>) {
        let (on_unknown, fingerprint) = (OnUnknown::default(), Fingerprint([0; 32]));
        let open = Account { adapter, on_unknown, fingerprint, built_in: true, receives: false };
        self.0.entry(channel.into()).or_default().insert(account.into(), open);
    }

    /// Adds an account that is open in `others`.
    pub fn keep(&mut self, others: &Self, channel: &str, account: &str) {
        if let Some(open) = others.0.get(channel).and_then(|accounts| accounts.get(account)) {
            self.0.entry(channel.into()).or_default().insert(account.into(), open.clone());
        }
    }

    /// Says of an account that its settings have it read what people write.
    pub fn set_receives(&mut self, channel: &str, account: &str) {
        if let Some(open) = self.0.get_mut(channel).and_then(|accounts| accounts.get_mut(account)) {
            open.receives = true;
        }
    }

    /// Whether an account reads what people write.
    pub fn receives(&self, channel: &str, account: &str) -> bool {
        self.0.get(channel).and_then(|accounts| accounts.get(account)).is_some_and(|open| open.receives)
    }

    /// What becomes of a part of this account when nobody can tell whether it arrived.
    pub fn on_unknown(&self, channel: &str, account: &str) -> OnUnknown {
        self.0
            .get(channel)
            .and_then(|accounts| accounts.get(account))
            .map_or_else(OnUnknown::default, |account| account.on_unknown)
    }

    /// Who this account is, if it is there.
    pub fn fingerprint(&self, channel: &str, account: &str) -> Option<Fingerprint> {
        self.0.get(channel)?.get(account).map(|account| account.fingerprint)
    }

    /// The account to use: the one named, else the only one, or the only one that sends.
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
            None => {
                let mut sending = accounts.iter().filter(|(_, account)| account.adapter.sends());
                match (sending.next(), sending.next()) {
                    (Some(only), None) => Ok(only),
                    _ => Err(NoAccount::Several { channel: channel.into(), known: known() }),
                }
            }
        }
        .map(|(name, account)| (name.as_str(), &account.adapter))
    }

    /// The adapters of a channel's accounts.
    pub fn on(&self, channel: &str) -> impl Iterator<Item = &Arc<dyn Adapter>> {
        self.0.get(channel).into_iter().flat_map(BTreeMap::values).map(|account| &account.adapter)
    }

    /// An address as targets are compared by it, from an account that takes it: accounts of one channel may take different
    /// ones, and those that take the same one spell it alike, which a contract holds. None where the channel has no account.
    ///
    /// # Errors
    /// No account takes it: what the first one says.
    pub fn canonical(
        &self,
        channel: &str,
        address: &str,
        person: bool,
    ) -> Option<Result<String, TargetError>> {
        let mut refused = None;
        for adapter in self.on(channel) {
            match adapter.canonical(address, person) {
                Ok(identity) => return Some(Ok(identity)),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        refused.map(Err)
    }

    /// All open accounts that somebody set up: channel, account, adapter.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, &Arc<dyn Adapter>)> {
        self.every(false)
    }

    /// Those of the hub's own channels.
    pub fn built_in(&self) -> impl Iterator<Item = (&str, &str, &Arc<dyn Adapter>)> {
        self.every(true)
    }

    fn every(&self, built_in: bool) -> impl Iterator<Item = (&str, &str, &Arc<dyn Adapter>)> {
        self.0.iter().flat_map(move |(channel, accounts)| {
            let these = accounts.iter().filter(move |(_, account)| account.built_in == built_in);
            these.map(move |(name, account)| (channel.as_str(), name.as_str(), &account.adapter))
        })
    }
}
