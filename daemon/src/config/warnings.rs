//! What a configuration should not have, and can be run with: each with what to do about it.

use std::{mem, path::Path};

use super::Config;
use crate::{
    channels::registry::kind,
    settings::{readers::ReadByAll, secret::SecretSource},
};

impl Config {
    /// All of them, for `gatepost check` and the log of `gatepost run`.
    pub fn warnings(&self) -> Vec<String> {
        let secrets = self.secrets();
        let mut warnings: Vec<String> = secrets.iter().filter_map(SecretSource::warning).collect();
        warnings.sort();
        warnings.dedup();
        warnings.extend(self.doubtful_entries());
        warnings.extend(self.unreachable_names());
        warnings.extend(self.doubtful_folders());
        warnings.extend(self.doubtful_routes());
        warnings
    }

    /// Refuses a configuration of which everybody on this machine can read a secret: before a hub runs with it.
    ///
    /// # Errors
    /// The first such file.
    pub fn refuse_everybodys_secrets(&self) -> Result<(), ReadByAll> {
        self.secrets().iter().try_for_each(SecretSource::refuse_everybodys)
    }

    /// Where its secrets are.
    pub(super) fn secrets(&self) -> Vec<SecretSource> {
        let hooks = self.hooks.values().filter_map(|hook| hook.token.clone());
        let settings = self.channels.iter().flat_map(|(channel, accounts)| {
            accounts.values().flat_map(move |settings| secrets_of(channel, settings))
        });
        let wakes = self.wake.values().flat_map(|wake| [&wake.secret, &wake.token]).flatten().cloned();
        let home = &self.homeassistant;
        let own = [&self.broker.password, &self.broker.key, &self.web.key, &home.password, &home.key]
            .into_iter()
            .flatten()
            .cloned();
        own.chain(wakes).chain(self.voice.token.clone()).chain(hooks).chain(settings).collect()
    }
}

/// Makes relative paths of secrets relative to this folder.
pub(super) fn secrets_beneath(config: &mut Config, folder: &Path) {
    let hooks = config.hooks.values_mut().filter_map(|hook| hook.token.as_mut());
    let super::Broker { password, key, .. } = &mut config.broker;
    let home = &mut config.homeassistant;
    let tokens = [
        password.as_mut(),
        key.as_mut(),
        config.web.key.as_mut(),
        config.voice.token.as_mut(),
        home.password.as_mut(),
        home.key.as_mut(),
    ];
    let wakes = config.wake.values_mut().flat_map(|wake| [wake.secret.as_mut(), wake.token.as_mut()]);
    for source in tokens.into_iter().flatten().chain(hooks).chain(wakes.flatten()) {
        let given = mem::replace(source, SecretSource::Env(String::new()));
        *source = given.beneath(folder);
    }
    for (channel, accounts) in &mut config.channels {
        for settings in accounts.values_mut() {
            let values = settings.iter_mut().filter(|(name, _)| holds_secret(channel, name));
            values.for_each(|(_, value)| value_beneath(value, folder));
        }
    }
}

fn value_beneath(value: &mut toml::Value, folder: &Path) {
    match value {
        toml::Value::String(text) => {
            if let Ok(source) = SecretSource::try_from(text.clone()) {
                *text = source.beneath(folder).to_string();
            }
        }
        toml::Value::Array(values) => values.iter_mut().for_each(|value| value_beneath(value, folder)),
        _ => {}
    }
}

/// The secrets of an account.
fn secrets_of(channel: &str, settings: &toml::Table) -> Vec<SecretSource> {
    let mut found = vec![];
    for (_, value) in settings.iter().filter(|(name, _)| holds_secret(channel, name)) {
        let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        let texts = values.iter().filter_map(toml::Value::as_str);
        found.extend(texts.filter_map(|text| SecretSource::try_from(text.to_owned()).ok()));
    }
    found
}

fn holds_secret(channel: &str, name: &str) -> bool {
    let keys = kind(channel).map_or(&[][..], |kind| kind.keys);
    keys.iter().any(|key| key.name == name && key.holds_secret())
}
