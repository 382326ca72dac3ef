//! The configuration that holds, key by key, for a person to read: what it says, where that is from, and what it means.
//!
//! Read from the very text that was taken, not from the values that were made of it: so it shows what the file says, on its line, and
//! what holds where it says nothing. Nothing secret is shown. A key that points to a secret is `***`, whatever it points to, and of an
//! address neither the user, the password nor the query.

use serde::Serialize;
use toml::de::{DeTable, DeValue};
use utoipa::ToSchema;

use super::{
    keys::{SECTIONS, Section},
    locate::line_at,
};
use crate::{
    channels::{account, registry::kind},
    settings::Key,
};

const MASK: &str = "***";

/// A section with its keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct SettingsSection {
    /// Its name, such as `hub` or `agents.engineer`.
    pub section: String,
    /// What it is about.
    pub doc: String,
    /// Its keys.
    pub keys: Vec<SettingsKey>,
}

/// A key, and what holds of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct SettingsKey {
    /// Its name in its section.
    pub key: String,
    /// What holds, as TOML; of a secret `***`.
    pub value: String,
    /// Where that is from.
    pub origin: SettingsOrigin,
    /// The line of the file.
    pub line: Option<usize>,
    /// What it does.
    pub doc: String,
}

/// Where a value is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SettingsOrigin {
    /// The configuration file.
    File,
    /// The hub itself: the file does not say.
    Default,
    /// The environment.
    Environment,
}

/// The sections of a configuration with this text, which was read before.
pub fn sections(text: &str) -> Vec<SettingsSection> {
    let Ok(document) = DeTable::parse(text) else { return vec![] };
    let (read, root) = (Reading { text }, document.get_ref());
    let mut sections = Vec::new();
    for section in SECTIONS {
        match section.name.strip_suffix(".NAME") {
            Some(name) => {
                for (entry, table) in tables(root, name) {
                    let name = format!("{name}.{entry}");
                    sections.push(read.section(name, section.about, section.keys, Some(table), false));
                }
            }
            None if is_free(section) => {
                let table =
                    tables(root, section.name).is_empty().then(|| table(root, section.name)).flatten();
                sections.push(read.free(section, table));
            }
            None => {
                let table = table(root, section.name);
                sections.push(read.section(section.name.into(), section.about, section.keys, table, true));
            }
        }
    }
    for (channel, accounts) in tables(root, "channels") {
        let known = kind(channel);
        let keys: Vec<Key> =
            known.map_or(&[][..], |kind| kind.keys).iter().chain(account::KEYS).copied().collect();
        for (account, value) in accounts {
            let DeValue::Table(table) = value.get_ref() else { continue };
            let name = format!("channels.{channel}.{}", account.get_ref());
            sections.push(read.section(
                name,
                known.map_or("", |kind| kind.title()),
                &keys,
                Some(table),
                true,
            ));
        }
    }
    sections
}

/// Whether the names in a section are the owner's own: those of the address book.
fn is_free(section: &Section) -> bool {
    section.name == "book"
}

fn table<'a, 'i>(of: &'a DeTable<'i>, name: &str) -> Option<&'a DeTable<'i>> {
    of.iter().find(|(key, _)| key.get_ref().as_ref() == name).and_then(|(_, value)| match value.get_ref() {
        DeValue::Table(table) => Some(table),
        _ => None,
    })
}

/// The tables in the table of this name.
fn tables<'a, 'i>(of: &'a DeTable<'i>, name: &str) -> Vec<(&'a str, &'a DeTable<'i>)> {
    let entries = table(of, name).into_iter().flat_map(DeTable::iter);
    let entries = entries.filter_map(|(key, value)| match value.get_ref() {
        DeValue::Table(table) => Some((key.get_ref().as_ref(), table)),
        _ => None,
    });
    entries.collect()
}

struct Reading<'a> {
    text: &'a str,
}

impl Reading<'_> {
    /// A section with the keys that it knows. `all`: also those that hold by default.
    fn section(
        &self,
        section: String,
        about: &str,
        known: &[Key],
        table: Option<&DeTable<'_>>,
        all: bool,
    ) -> SettingsSection {
        let mut keys = Vec::new();
        for key in known {
            let said =
                table.and_then(|table| table.iter().find(|(name, _)| name.get_ref().as_ref() == key.name));
            match said {
                Some((name, value)) => keys.push(SettingsKey {
                    key: key.name.into(),
                    value: if key.holds_secret() { MASK.into() } else { shown(value.get_ref()) },
                    origin: SettingsOrigin::File,
                    line: Some(line_at(self.text, name.span().start)),
                    doc: key.doc.into(),
                }),
                None if key.is_default && all => keys.push(SettingsKey {
                    key: key.name.into(),
                    value: key.value.into(),
                    origin: SettingsOrigin::Default,
                    line: None,
                    doc: key.doc.into(),
                }),
                None => {}
            }
        }
        SettingsSection { section, doc: about.into(), keys }
    }

    /// A section whose names are the owner's own.
    fn free(&self, section: &Section, table: Option<&DeTable<'_>>) -> SettingsSection {
        let doc = section.keys.first().map_or("", |key| key.doc);
        let keys = table.into_iter().flat_map(DeTable::iter).map(|(name, value)| SettingsKey {
            key: name.get_ref().to_string(),
            value: shown(value.get_ref()),
            origin: SettingsOrigin::File,
            line: Some(line_at(self.text, name.span().start)),
            doc: doc.into(),
        });
        SettingsSection { section: section.name.into(), doc: section.about.into(), keys: keys.collect() }
    }
}

/// A value as TOML, without what may be secret in an address.
fn shown(value: &DeValue<'_>) -> String {
    match value {
        // What JSON escapes, TOML reads (https://toml.io/en/v1.0.0#string).
        DeValue::String(text) => serde_json::Value::from(masked(text)).to_string(),
        DeValue::Integer(number) => number.as_str().to_owned(),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Boolean(yes) => yes.to_string(),
        DeValue::Datetime(at) => at.to_string(),
        DeValue::Array(values) => {
            let values: Vec<String> = values.iter().map(|value| shown(value.get_ref())).collect();
            format!("[{}]", values.join(", "))
        }
        DeValue::Table(table) => {
            let entries =
                table.iter().map(|(name, value)| format!("{} = {}", name.get_ref(), shown(value.get_ref())));
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

/// A text in which the user, the password and the query of an address are masked, and a pointer to a secret.
fn masked(text: &str) -> String {
    if ["file:", "env:", "credential:"].iter().any(|pointer| text.starts_with(pointer)) {
        return MASK.into();
    }
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let (host, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = host.rsplit_once('@').map_or_else(|| host.to_owned(), |(_, host)| format!("{MASK}@{host}"));
    let path = path.split_once('?').map_or_else(|| path.to_owned(), |(path, _)| format!("{path}?{MASK}"));
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"[hub]
listen = "127.0.0.1:9000"

[agents.engineer]
allow = ["slack:C1", "local:*"]
decorate = false

[book]
ann = "local:ann"

[channels.telegram.home]
token = "file:secrets/telegram"
receive = true

[broker]
url = "mqtts://user:word@broker.home:8883/?key=secret"
password = "env:MQTT"
"#;

    fn key<'a>(sections: &'a [SettingsSection], section: &str, key: &str) -> Option<&'a SettingsKey> {
        let section = sections.iter().find(|one| one.section == section).expect("the section");
        section.keys.iter().find(|one| one.key == key)
    }

    #[test]
    fn what_the_file_says_stands_on_its_line_and_what_it_does_not_is_a_default() {
        let sections = sections(TEXT);
        let listen = key(&sections, "hub", "listen").unwrap();
        assert_eq!((listen.value.as_str(), listen.line), ("\"127.0.0.1:9000\"", Some(2)));
        let ttl = key(&sections, "hub", "ttl").unwrap();
        assert_eq!((ttl.origin, ttl.line, ttl.value.as_str()), (SettingsOrigin::Default, None, "\"24h\""));
        assert!(key(&sections, "hub", "hosts").is_none(), "an example holds nowhere");
        let allow = key(&sections, "agents.engineer", "allow").unwrap();
        assert_eq!((allow.value.as_str(), allow.line), ("[\"slack:C1\", \"local:*\"]", Some(5)));
        assert_eq!(key(&sections, "agents.engineer", "decorate").unwrap().value, "false");
        assert_eq!(key(&sections, "book", "ann").unwrap().value, "\"local:ann\"");
        assert_eq!(key(&sections, "channels.telegram.home", "receive").unwrap().line, Some(13));
        assert!(sections.iter().all(|section| section.section != "people.NAME"));
        assert!(key(&sections, "queue", "backups").is_some(), "a section that the file has not");
    }

    #[test]
    fn nothing_secret_is_shown() {
        let sections = sections(TEXT);
        assert_eq!(key(&sections, "channels.telegram.home", "token").unwrap().value, MASK);
        assert_eq!(key(&sections, "broker", "password").unwrap().value, MASK);
        let url = &key(&sections, "broker", "url").unwrap().value;
        assert_eq!(url, "\"mqtts://***@broker.home:8883/?***\"");
        let all = serde_json::to_string(&sections).unwrap();
        for secret in ["secrets/telegram", "env:MQTT", "word@", "key=secret"] {
            // The documentation of keys has examples of its own.
            let shown =
                sections.iter().flat_map(|section| &section.keys).any(|key| key.value.contains(secret));
            assert!(!shown, "{secret} in {all}");
        }
    }

    #[test]
    fn what_is_no_configuration_has_no_sections() {
        assert!(sections("[hub").is_empty());
        assert!(!sections("").is_empty(), "defaults hold");
    }
}
