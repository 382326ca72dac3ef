//! The accounts of a configuration, each open.
//!
//! An account stays open as long as all stays the same that it was made of: its table in the configuration and what its
//! secrets say. It keeps its sessions then, and what its platform said of its limits.

use std::{collections::BTreeMap, sync::Arc};

use gatepost_link::Digest;

use super::{HubError, http, install_tls_provider};
use crate::{
    channels::{
        account::{Accounts, OnUnknown, OpenError, Opening},
        fingerprint::Fingerprint,
        registry::kind,
    },
    config::Config,
    delivery::actions,
    message::target::{AGENT, HUB, PERSON},
    settings::secret::SecretSource,
    store::Store,
    turns::wake::Wake,
};

/// Open accounts, and what each was made of.
#[derive(Clone, Default)]
pub(super) struct Opened {
    accounts: Accounts,
    made_of: Arc<BTreeMap<(String, String), Digest>>,
    /// Tells those who wait for a turn: one of these accounts opens them.
    wake: Wake,
}

impl Opened {
    /// Opens every account of the configuration.
    ///
    /// # Errors
    /// One of them cannot be opened.
    pub(super) fn open(config: &Config, store: &Store) -> Result<Self, HubError> {
        Self::default().reopened(config, store)
    }

    /// The accounts of another configuration. Those that are made of the same as before are the same.
    ///
    /// # Errors
    /// One of the others cannot be opened.
    pub(super) fn reopened(&self, config: &Config, store: &Store) -> Result<Self, HubError> {
        install_tls_provider();
        let http = http().build()?;
        let (mut accounts, mut made_of) = (Accounts::default(), BTreeMap::new());
        for (channel, named) in &config.channels {
            for (account, settings) in named {
                let key = (channel.clone(), account.clone());
                let of = ingredients(settings);
                if self.made_of.get(&key) == Some(&of) {
                    accounts.keep(&self.accounts, channel, account);
                    made_of.insert(key, of);
                    continue;
                }
                let failed = |error| HubError::Channel {
                    channel: channel.clone(),
                    account: account.clone(),
                    error: Box::new(error),
                };
                let kind =
                    kind(channel).ok_or_else(|| failed(OpenError::Invalid("no such channel".into())))?;
                let receives = settings.get("receive").and_then(toml::Value::as_bool) == Some(true);
                let mut settings = settings.clone();
                let on_unknown = OnUnknown::take(&mut settings).map_err(failed)?;
                let fingerprint = Fingerprint::of(kind, &settings);
                let opening = Opening { account, settings, http: http.clone(), store: store.clone() };
                let open = (kind.open)(opening).map_err(failed)?;
                accounts.add((channel, account), open, on_unknown, fingerprint);
                if receives {
                    accounts.set_receives(channel, account);
                }
                made_of.insert(key, of);
            }
        }
        accounts.add_built_in((HUB, actions::ACCOUNT), actions::own::open(store));
        accounts.add_built_in((PERSON, actions::ACCOUNT), actions::questions::open(store));
        if config.agents_meet() {
            let agents = actions::agents::open(config.agents.keys(), store, &self.wake);
            accounts.add_built_in((AGENT, actions::ACCOUNT), agents);
        }
        Ok(Self { accounts, made_of: Arc::new(made_of), wake: self.wake.clone() })
    }

    /// Whoever waits for a turn waits at this.
    pub(super) fn wake(&self) -> &Wake {
        &self.wake
    }

    /// The accounts alone.
    pub(super) fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// Channel and account of those that are not the same in `other`, or are in one of the two alone.
    pub(super) fn differ(&self, other: &Self) -> Vec<(String, String)> {
        let of = |opened: &Self, key: &(String, String)| opened.made_of.get(key).copied();
        let mut keys: Vec<_> = self.made_of.keys().chain(other.made_of.keys()).cloned().collect();
        keys.sort();
        keys.dedup();
        keys.retain(|key| of(self, key) != of(other, key));
        keys
    }
}

/// What an account is made of. A secret counts by what it says now: whoever renewed it in its file wants it to be used.
fn ingredients(settings: &toml::Table) -> Digest {
    let mut all = format!("{settings:?}");
    settings.values().for_each(|value| secrets(value, &mut all));
    Digest::of(all.as_bytes())
}

fn secrets(value: &toml::Value, all: &mut String) {
    match value {
        toml::Value::String(text) => {
            // One that cannot be read is an error when the account is opened, if it is one at all.
            let secret = SecretSource::try_from(text.clone()).ok().and_then(|source| source.read().ok());
            all.push('\n');
            all.push_str(secret.as_ref().map_or("", |secret| secret.expose()));
        }
        toml::Value::Array(values) => values.iter().for_each(|value| secrets(value, all)),
        toml::Value::Table(table) => table.values().for_each(|value| secrets(value, all)),
        _ => {}
    }
}
