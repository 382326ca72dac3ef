//! Finds keys that nobody knows, channels without accounts and secrets that are written out, with the line they stand on.

use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::{ConfigError, keys, locate::line_at};
use crate::{
    channels::{
        account,
        registry::{NAMES, kind},
    },
    message::target::OWN,
    settings::{Key, secret::SecretSource},
    spelling::nearest,
};

const SECTIONS: &[&str] = &[
    "hub",
    "web",
    "queue",
    "files",
    "broker",
    "agents",
    "book",
    "reply",
    "voice",
    "approval",
    "person",
    "homeassistant",
    "updates",
    "contexts",
    "routing",
    "people",
    "routes",
    "wake",
    "heartbeat",
    "hooks",
    "channels",
];

struct Check<'a> {
    text: &'a str,
    path: &'a Path,
}

/// A table of the file, by its whole name, and the keys that it knows.
type Known<'a, 'i> = (String, &'a DeTable<'i>, Vec<Key>);

/// Refuses the first unknown key of a file, a channel without an account, and a secret that is written into it. Whether the
/// values are right is asked later.
pub(super) fn refuse(text: &str, path: &Path) -> Result<(), ConfigError> {
    let check = Check { text, path };
    let table = DeTable::parse(text).map_err(|error| ConfigError::toml(text, path, &error))?;
    check.table("", table.get_ref(), SECTIONS)?;
    for (section, value) in table.get_ref() {
        if let (SECTION_OF_CHANNELS, DeValue::Table(channels)) = (section.get_ref().as_ref(), value.get_ref())
        {
            check.not_the_hubs(channels)?;
            check.table(SECTION_OF_CHANNELS, channels, &NAMES)?;
            check.accounts(channels)?;
        }
    }
    let known = known(table.get_ref());
    for (name, table, keys) in &known {
        check.table(name, table, &keys.iter().map(|key| key.name).collect::<Vec<_>>())?;
    }
    known.iter().try_for_each(|(name, table, keys)| check.secrets(name, table, keys))
}

/// The section of the channels.
const SECTION_OF_CHANNELS: &str = "channels";

/// All tables of a file whose keys are known.
fn known<'a, 'i>(root: &'a DeTable<'i>) -> Vec<Known<'a, 'i>> {
    let mut known = Vec::new();
    for (section, inner) in tables(root) {
        let mut one = |keys: &[Key]| known.push((section.to_owned(), inner, keys.to_vec()));
        match section {
            "hub" => one(keys::HUB),
            "web" => one(keys::WEB),
            "queue" => one(keys::QUEUE),
            "files" => one(keys::FILES),
            "broker" => one(keys::BROKER),
            "reply" => one(keys::REPLY),
            "voice" => one(keys::VOICE),
            "approval" => one(keys::APPROVAL),
            "contexts" => one(keys::CONTEXTS),
            "person" => one(keys::NOTIFY),
            "homeassistant" => one(keys::HOME_ASSISTANT),
            "updates" => one(keys::UPDATES),
            "routing" => one(keys::ROUTING),
            "agents" | "hooks" | "people" | "routes" | "wake" | "heartbeat" => {
                let keys = match section {
                    "agents" => keys::AGENT,
                    "hooks" => keys::HOOK,
                    "people" => keys::PERSON,
                    "wake" => keys::WAKE,
                    "heartbeat" => keys::HEARTBEAT,
                    _ => keys::ROUTE,
                };
                known.extend(
                    tables(inner).map(|(name, table)| (format!("{section}.{name}"), table, keys.to_vec())),
                );
            }
            SECTION_OF_CHANNELS => {
                for (channel, accounts) in tables(inner) {
                    let own = kind(channel).map_or(&[][..], |kind| kind.keys);
                    let keys: Vec<Key> = own.iter().chain(account::KEYS).copied().collect();
                    let named = tables(accounts);
                    known.extend(named.map(|(account, table)| {
                        (format!("channels.{channel}.{account}"), table, keys.clone())
                    }));
                }
            }
            _ => {}
        }
    }
    known
}

fn tables<'a, 'i>(table: &'a DeTable<'i>) -> impl Iterator<Item = (&'a str, &'a DeTable<'i>)> {
    table.iter().filter_map(|(name, value)| match value.get_ref() {
        DeValue::Table(inner) => Some((name.get_ref().as_ref(), inner)),
        _ => None,
    })
}

impl Check<'_> {
    /// Three channels are there without an account.
    fn not_the_hubs(&self, channels: &DeTable<'_>) -> Result<(), ConfigError> {
        let Some(key) = channels.keys().find(|key| OWN.contains(&key.get_ref().as_ref())) else {
            return Ok(());
        };
        let problem = "the hub has this channel itself: it needs no account".to_owned();
        Err(self.invalid(key.span().start, &format!("channels.{}", key.get_ref()), problem))
    }

    /// Every channel has accounts, and these have names.
    fn accounts(&self, channels: &DeTable<'_>) -> Result<(), ConfigError> {
        for (channel, value) in channels {
            let name = channel.get_ref();
            let stray = match value.get_ref() {
                DeValue::Table(accounts) if accounts.is_empty() => Some(channel.span().start),
                DeValue::Table(accounts) => accounts
                    .iter()
                    .find(|(_, account)| !matches!(account.get_ref(), DeValue::Table(_)))
                    .map(|(key, _)| key.span().start),
                _ => Some(channel.span().start),
            };
            if let Some(at) = stray {
                let problem = format!("an account needs a name: write [channels.{name}.home] above its keys");
                return Err(self.invalid(at, &format!("channels.{name}"), problem));
            }
        }
        Ok(())
    }

    /// A secret is a pointer. Found here, before an error repeats the line that it stands on.
    fn secrets(&self, section: &str, table: &DeTable<'_>, known: &[Key]) -> Result<(), ConfigError> {
        let is_secret =
            |name: &str| known.iter().find(|key| key.name == name).filter(|key| key.holds_secret());
        for (name, value) in table {
            let Some(key) = is_secret(name.get_ref()) else { continue };
            let is_pointer = |value: &DeValue<'_>| match value {
                DeValue::String(text) => SecretSource::try_from(text.to_string()).is_ok(),
                _ => false,
            };
            let fits = match value.get_ref() {
                DeValue::Array(values) => values.iter().all(|value| is_pointer(value.get_ref())),
                value => is_pointer(value),
            };
            if !fits {
                let problem = format!(
                    "a secret is never written into the configuration: put it into a file of its own and write {} = {}, \
                     or \"env:NAME\" or \"credential:NAME\"",
                    key.name, key.value
                );
                return Err(self.invalid(name.span().start, &format!("{section}.{}", key.name), problem));
            }
        }
        Ok(())
    }

    fn invalid(&self, at: usize, key: &str, problem: String) -> ConfigError {
        let at = format!("{}:{}: ", self.path.display(), line_at(self.text, at));
        ConfigError::Invalid { at, key: key.to_owned(), problem }
    }

    fn table(&self, section: &str, table: &DeTable<'_>, known: &[&str]) -> Result<(), ConfigError> {
        // In the order of the file, so that the first one reported is the first one read.
        let unknown = table
            .iter()
            .filter(|(key, _)| !known.contains(&key.get_ref().as_ref()))
            .min_by_key(|(key, _)| key.span().start);
        let Some((key, _)) = unknown else { return Ok(()) };
        let name = key.get_ref();
        let suggestion = match nearest(name, known.iter().copied()) {
            Some(near) => format!(", did you mean `{near}`?"),
            None => format!(" (known here: {})", known.join(", ")),
        };
        Err(ConfigError::Unknown {
            file: self.path.display().to_string(),
            line: line_at(self.text, key.span().start),
            key: if section.is_empty() { name.to_string() } else { format!("{section}.{name}") },
            suggestion,
        })
    }
}
