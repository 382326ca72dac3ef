//! Finds keys that nobody knows, with the line they stand on.

use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::{ConfigError, keys, locate::line_at};
use crate::{
    channels::{
        account,
        registry::{NAMES, kind},
    },
    settings::Key,
    spelling::nearest,
};

const SECTIONS: &[&str] = &[
    "hub", "queue", "files", "broker", "agents", "book", "reply", "voice", "approval", "contexts", "hooks",
    "channels",
];

struct Check<'a> {
    text: &'a str,
    path: &'a Path,
}

/// Refuses the first unknown key of a file. Whether the values are right is asked later.
pub(super) fn refuse(text: &str, path: &Path) -> Result<(), ConfigError> {
    let check = Check { text, path };
    let table = DeTable::parse(text).map_err(|error| ConfigError::toml(text, path, &error))?;
    check.table("", table.get_ref(), SECTIONS)?;
    for (section, value) in table.get_ref() {
        let DeValue::Table(inner) = value.get_ref() else { continue };
        match section.get_ref().as_ref() {
            "hub" => check.keys("hub", inner, keys::HUB)?,
            "queue" => check.keys("queue", inner, keys::QUEUE)?,
            "files" => check.keys("files", inner, keys::FILES)?,
            "broker" => check.keys("broker", inner, keys::BROKER)?,
            "reply" => check.keys("reply", inner, keys::REPLY)?,
            "voice" => check.keys("voice", inner, keys::VOICE)?,
            "approval" => check.keys("approval", inner, keys::APPROVAL)?,
            "contexts" => check.keys("contexts", inner, keys::CONTEXTS)?,
            "agents" => {
                for (name, agent) in tables(inner) {
                    check.keys(&format!("agents.{name}"), agent, keys::AGENT)?;
                }
            }
            "hooks" => {
                for (name, hook) in tables(inner) {
                    check.keys(&format!("hooks.{name}"), hook, keys::HOOK)?;
                }
            }
            "channels" => {
                check.table("channels", inner, &NAMES)?;
                for (channel, accounts) in tables(inner) {
                    let own = kind(channel).map_or(&[][..], |kind| kind.keys);
                    let known: Vec<&str> = own.iter().chain(account::KEYS).map(|key| key.name).collect();
                    for (account, settings) in tables(accounts) {
                        check.table(&format!("channels.{channel}.{account}"), settings, &known)?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn tables<'a, 'i>(table: &'a DeTable<'i>) -> impl Iterator<Item = (&'a str, &'a DeTable<'i>)> {
    table.iter().filter_map(|(name, value)| match value.get_ref() {
        DeValue::Table(inner) => Some((name.get_ref().as_ref(), inner)),
        _ => None,
    })
}

impl Check<'_> {
    fn keys(&self, section: &str, table: &DeTable<'_>, known: &[Key]) -> Result<(), ConfigError> {
        self.table(section, table, &known.iter().map(|key| key.name).collect::<Vec<_>>())
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
