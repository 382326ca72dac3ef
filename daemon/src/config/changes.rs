//! What differs between two configurations, and whether a running hub can take it.
//!
//! Every key is in [`VALUES`] or belongs to a section that is compared entry by entry, so that a reload names each change
//! either as taken or as waiting for the next start. A change that is ignored without a word leaves an operator with a file
//! that says one thing and a hub that does another.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Config;
use crate::audit::Event;

/// The event of another configuration: in the audit, and in the streams of what happens.
pub const RELOADED: &str = Event::ConfigurationReloaded.word();

/// What a reload changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Changes {
    /// Keys and sections whose new values hold now, such as `agents.engineer`.
    #[schema(example = json!(["agents.engineer", "channels.telegram.home"]))]
    pub changed: Vec<String>,
    /// Keys and sections whose new values take effect when the hub starts the next time, such as `hub.listen`.
    #[schema(example = json!(["hub.listen"]))]
    pub at_next_start: Vec<String>,
}

/// When a changed value takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    /// At a reload.
    Reload,
    /// At the next start.
    Start,
}

/// A key with one value: when a change takes effect, and the value in a form that can be compared.
type Value = (&'static str, When, fn(&Config) -> String);

/// Keys with one value each.
const VALUES: &[Value] = &[
    ("hub.data_dir", When::Start, |config| format!("{:?}", config.hub.data_dir)),
    ("hub.listen", When::Start, |config| config.hub.listen.to_string()),
    ("hub.platform_listen", When::Start, |config| format!("{:?}", config.hub.platform_listen)),
    ("hub.max_body", When::Start, |config| config.hub.max_body.to_string()),
    ("hub.max_connections", When::Start, |config| config.hub.max_connections.to_string()),
    // What the file says is compared agent by agent.
    ("hub.allowlists", When::Reload, |config| format!("{:?}", config.hub.allowlists)),
    ("hub.hosts", When::Start, |config| format!("{:?}", config.hub.hosts)),
    ("hub.ttl", When::Reload, |config| format!("{:?}", config.hub.ttl)),
    ("web.listen", When::Start, |config| format!("{:?}", config.web.listen)),
    ("web.tls", When::Start, |config| format!("{:?}", config.web.tls)),
    ("web.cert", When::Reload, |config| format!("{:?}", config.web.cert)),
    ("web.key", When::Reload, |config| format!("{:?}", config.web.key)),
    ("queue.max_messages", When::Reload, |config| config.queue.max_messages.to_string()),
    ("queue.max_bytes", When::Reload, |config| config.queue.max_bytes.to_string()),
    ("queue.dedup", When::Reload, |config| format!("{:?}", config.queue.dedup)),
    ("queue.backup_every", When::Start, |config| format!("{:?}", config.queue.backup_every)),
    ("queue.backups", When::Start, |config| config.queue.backups.to_string()),
    ("queue.retention", When::Start, |config| format!("{:?}", config.queue.retention)),
    ("queue.audit_retention", When::Start, |config| format!("{:?}", config.queue.audit_retention)),
    ("files.max_size", When::Start, |config| config.files.max_size.to_string()),
    ("files.max_together", When::Start, |config| config.files.max_together.to_string()),
    ("files.max_count", When::Start, |config| config.files.max_count.to_string()),
    ("files.max_stored", When::Start, |config| config.files.max_stored.to_string()),
    ("files.url_timeout", When::Start, |config| format!("{:?}", config.files.url_timeout)),
    ("files.allow_private_urls", When::Start, |config| format!("{:?}", config.files.allow_private_urls)),
    ("broker.listen", When::Start, |config| config.broker.listen.to_string()),
    ("broker.url", When::Start, |config| format!("{:?}", config.broker.url)),
    ("broker.user", When::Start, |config| format!("{:?}", config.broker.user)),
    ("broker.password", When::Start, |config| format!("{:?}", config.broker.password)),
    ("broker.ca", When::Start, |config| format!("{:?}", config.broker.ca)),
    ("broker.cert", When::Start, |config| format!("{:?}", config.broker.cert)),
    ("broker.key", When::Start, |config| format!("{:?}", config.broker.key)),
    ("updates.root", When::Start, |config| format!("{:?}", config.updates.root)),
    ("updates.soak", When::Start, |config| format!("{:?}", config.updates.soak)),
    ("updates.hours", When::Start, |config| format!("{:?}", config.updates.hours)),
    ("updates.time_zone", When::Start, |config| format!("{:?}", config.updates.time_zone)),
    ("reply.quiet", When::Reload, |config| format!("{:?}", config.reply.quiet)),
    ("voice", When::Start, |config| format!("{:?}", config.voice)),
    ("approval.ttl", When::Reload, |config| format!("{:?}", config.approval.ttl)),
    ("approval.approvers", When::Start, |config| format!("{:?}", config.approval.approvers)),
    ("approval.allow_software_companion", When::Start, |config| {
        config.approval.allow_software_companion.to_string()
    }),
    ("approval.quorum", When::Reload, |config| config.approval.quorum.to_string()),
    ("approval.cards_per_hour", When::Reload, |config| config.approval.cards_per_hour.to_string()),
    ("person.notify", When::Reload, |config| format!("{:?}", config.person.notify)),
    ("person.show", When::Reload, |config| format!("{:?}", config.person.show)),
    ("person.page", When::Reload, |config| format!("{:?}", config.person.page)),
    ("person.quiet_hours", When::Reload, |config| format!("{:?}", config.person.quiet_hours)),
    ("person.time_zone", When::Reload, |config| format!("{:?}", config.person.time_zone)),
    ("homeassistant.broker", When::Reload, |config| format!("{:?}", config.homeassistant.broker)),
    ("homeassistant.user", When::Reload, |config| format!("{:?}", config.homeassistant.user)),
    ("homeassistant.password", When::Reload, |config| format!("{:?}", config.homeassistant.password)),
    ("homeassistant.ca", When::Reload, |config| format!("{:?}", config.homeassistant.ca)),
    ("homeassistant.cert", When::Reload, |config| format!("{:?}", config.homeassistant.cert)),
    ("homeassistant.key", When::Reload, |config| format!("{:?}", config.homeassistant.key)),
    ("homeassistant.prefix", When::Reload, |config| format!("{:?}", config.homeassistant.prefix)),
    ("homeassistant.notify_to", When::Reload, |config| format!("{:?}", config.homeassistant.notify_to)),
    ("homeassistant.install", When::Reload, |config| format!("{:?}", config.homeassistant.install)),
    ("routing.default_agent", When::Reload, |config| format!("{:?}", config.routing.default_agent)),
    ("routing.lease", When::Reload, |config| format!("{:?}", config.routing.lease)),
    ("contexts.ttl", When::Reload, |config| format!("{:?}", config.contexts.ttl)),
];

impl Config {
    /// What is new here, against the configuration that `holds` in a hub, and against that with which it `started`: what
    /// waits for the next start is named by every reload until then.
    pub fn changes(&self, holds: &Self, started: &Self) -> Changes {
        let differ = |when: When, from: &Self| -> Vec<String> {
            let values = VALUES.iter().filter(|(_, at, value)| *at == when && value(self) != value(from));
            values.map(|(key, ..)| (*key).to_owned()).collect()
        };
        let mut changed = differ(When::Reload, holds);
        changed.extend(entries("agents", &self.agents, &holds.agents));
        changed.extend(entries("book", &self.book, &holds.book));
        changed.extend(entries("people", &self.people, &holds.people));
        changed.extend(entries("routes", &self.routes, &holds.routes));
        changed.extend(entries("wake", &self.wake, &holds.wake));
        changed.extend(entries("heartbeat", &self.heartbeat, &holds.heartbeat));
        changed.extend(entries("channels", &self.accounts(), &holds.accounts()));
        let mut at_next_start = differ(When::Start, started);
        // A hub that speaks no TLS begins with it at its start, and one that does goes on until then.
        if self.web.listen.is_some() != started.web.listen.is_some() || self.web.tls != started.web.tls {
            at_next_start.extend(changed.extract_if(.., |key| key.starts_with("web.")));
        }
        at_next_start.extend(entries("hooks", &self.hooks, &started.hooks));
        Changes { changed, at_next_start }
    }

    /// Each account's settings by `CHANNEL.ACCOUNT`.
    fn accounts(&self) -> BTreeMap<String, &toml::Table> {
        let of = |(channel, accounts)| {
            let accounts: &BTreeMap<String, toml::Table> = accounts;
            let channel: &String = channel;
            accounts.iter().map(move |(account, settings)| (format!("{channel}.{account}"), settings))
        };
        self.channels.iter().flat_map(of).collect()
    }
}

/// The entries of a section that are new, gone or different.
fn entries<T: std::fmt::Debug>(
    section: &str,
    new: &BTreeMap<String, T>,
    old: &BTreeMap<String, T>,
) -> Vec<String> {
    let written = |of: &BTreeMap<String, T>, name: &str| of.get(name).map(|entry| format!("{entry:?}"));
    let names: BTreeSet<&String> = new.keys().chain(old.keys()).collect();
    let differ = names.into_iter().filter(|name| written(new, name) != written(old, name));
    differ.map(|name| format!("{section}.{name}")).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::keys;

    fn config(text: &str) -> Config {
        Config::parse(text, Path::new("x.toml")).unwrap()
    }

    #[test]
    fn every_key_that_the_configuration_knows_is_compared() {
        let sections = [
            ("hub", keys::HUB),
            ("web", keys::WEB),
            ("queue", keys::QUEUE),
            ("files", keys::FILES),
            ("broker", keys::BROKER),
            ("person", keys::NOTIFY),
            ("homeassistant", keys::HOME_ASSISTANT),
            ("updates", keys::UPDATES),
            ("reply", keys::REPLY),
            ("approval", keys::APPROVAL),
            ("contexts", keys::CONTEXTS),
            ("routing", keys::ROUTING),
        ];
        let known = sections
            .iter()
            .flat_map(|(section, keys)| keys.iter().map(move |key| format!("{section}.{}", key.name)));
        let known: BTreeSet<String> = known.chain(["voice".to_owned()]).collect();
        let compared: BTreeSet<String> = VALUES.iter().map(|(key, ..)| (*key).to_owned()).collect();
        assert_eq!(known, compared);
    }

    #[test]
    fn what_a_reload_takes_and_what_waits_are_told_apart() {
        let started = config("[hub]\nlisten = \"127.0.0.1:1\"\n[agents.a]\nallow = [\"local:ann\"]");
        let holds = config("[hub]\nlisten = \"127.0.0.1:2\"\n[agents.a]\nallow = [\"local:bob\"]");
        let new = config(
            "[hub]\nlisten = \"127.0.0.1:2\"\nttl = \"1h\"\n[agents.b]\n[book]\nann = \"local:ann\"\n[channels.local.home]\n\
             [hooks.h]\non = \"message_sent\"\ncommand = [\"/bin/true\"]",
        );
        let Changes { changed, at_next_start } = new.changes(&holds, &started);
        assert_eq!(changed, ["hub.ttl", "agents.a", "agents.b", "book.ann", "channels.local.home"]);
        // It was named at the last reload already, and still waits.
        assert_eq!(at_next_start, ["hub.listen", "hooks.h"]);
        assert_eq!(new.changes(&new, &new), Changes::default());
    }

    #[test]
    fn a_certificate_is_another_at_once_where_there_is_tls_and_at_the_next_start_where_there_is_none() {
        let web =
            |cert: &str| config(&format!("[web]\nlisten = \"127.0.0.1:1\"\ncert = \"{cert}\"\nkey = \"k\""));
        let (one, other, none) = (web("one"), web("other"), config(""));
        let changes = other.changes(&one, &one);
        assert_eq!((changes.changed, changes.at_next_start), (vec!["web.cert".into()], vec![]));
        for (new, old) in [(&one, &none), (&none, &one)] {
            let Changes { changed, at_next_start } = new.changes(old, old);
            assert!(changed.is_empty(), "{changed:?}");
            assert_eq!(at_next_start, ["web.listen", "web.cert", "web.key"]);
        }
    }

    #[test]
    fn a_default_that_is_written_out_changes_nothing() {
        let (without, with) = (config(""), config("[hub]\nttl = \"24h\"\n[queue]\nbackups = 7"));
        assert_eq!(with.changes(&without, &without), Changes::default());
    }
}
