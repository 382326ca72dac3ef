//! The configuration: one TOML file.
//!
//! Every key is in [`keys`], so every key is documented. An unknown one is an error that names its line and its nearest
//! neighbour: a misspelt `cross_context` that is quietly ignored is a message that quietly leaves. Secrets are pointers
//! ([`crate::settings::secret`]).
//!
//! [`Config::load`] reads and checks; [`template`] writes the file that `gatepost init` gives a newcomer.

pub mod hooks;
pub mod keys;
mod template;
mod unknown;

use std::{
    collections::BTreeMap,
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Deserialize;

use crate::{
    channels::registry::kind,
    files::{
        self, Sources,
        reach::{Hosts, Private},
    },
    message::{asked::MOST, call::MAX_TEXT},
    outbox::bounds::Bounds,
    policy::{Allowlist, Crossing, Pattern, PatternError, Rights},
    settings::{is_name, secret::SecretSource},
};
pub use template::template;

/// The file looked for when none is named.
pub const DEFAULT_FILE: &str = "gatepost.toml";

/// Why a configuration cannot be used. Every text names the file or the key, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {}: {} (write one with: gatepost init)", .0.display(), .1)]
    Read(PathBuf, std::io::Error),
    /// Not TOML, or a value of the wrong type.
    #[error("{}: {}", .0.display(), .1)]
    Toml(PathBuf, toml::de::Error),
    /// A key that nobody knows.
    #[error("{file}:{line}: unknown key `{key}`{suggestion}")]
    Unknown {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: usize,
        /// The whole key.
        key: String,
        /// ", did you mean `x`?" or the keys that there are.
        suggestion: String,
    },
    /// Values that do not go together, or that name something that is not there.
    #[error("{key}: {problem}")]
    Invalid {
        /// The key.
        key: String,
        /// What is wrong with it and what to write.
        problem: String,
    },
}

/// All of it, checked.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Config {
    /// `[hub]`.
    pub hub: Hub,
    /// `[queue]`.
    pub queue: Queue,
    /// `[files]`.
    pub files: FileBounds,
    /// `[broker]`.
    pub broker: Broker,
    /// `[agents.NAME]`.
    pub agents: BTreeMap<String, Agent>,
    /// `[approval]`.
    pub approval: Approval,
    /// `[contexts]`.
    pub contexts: Contexts,
    /// `[hooks.NAME]`.
    pub hooks: BTreeMap<String, hooks::Hook>,
    /// `[channels.CHANNEL.ACCOUNT]`; each channel reads its own.
    pub channels: BTreeMap<String, BTreeMap<String, toml::Table>>,
}

/// `[hub]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct Hub {
    /// Where the database and the keys are.
    pub data_dir: PathBuf,
    /// The HTTP door.
    pub listen: SocketAddr,
    /// Bytes.
    pub max_body: usize,
    /// The longest time to live of a message, and the default.
    pub ttl: Span,
}

/// `[queue]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct Queue {
    /// Messages under way.
    pub max_messages: u64,
    /// Bytes of their texts.
    pub max_bytes: u64,
    /// Between two backups.
    pub backup_every: Span,
    /// Backups to keep.
    pub backups: usize,
    /// How long ended messages are kept.
    pub retention: Span,
    /// How long the audit's rows are kept.
    pub audit_retention: Span,
}

/// `[files]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct FileBounds {
    /// Bytes of one.
    pub max_size: u64,
    /// Bytes of a message's.
    pub max_together: u64,
    /// How many a message has.
    pub max_count: usize,
    /// Bytes of all of them.
    pub max_stored: u64,
    /// How long fetching one may take.
    pub url_timeout: Span,
    /// Where inside the house they may be fetched from.
    pub allow_private_urls: Vec<String>,
}

/// `[broker]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct Broker {
    /// Where the embedded broker listens.
    pub listen: SocketAddr,
    /// A broker elsewhere, `mqtt://host:port`.
    pub url: Option<String>,
    /// The hub's user there.
    pub user: Option<String>,
    /// The hub's password there.
    pub password: Option<SecretSource>,
}

/// `[agents.NAME]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct Agent {
    /// Allowlist entries.
    pub allow: Vec<String>,
    /// Allowlist entries that ask.
    pub hold: Vec<String>,
    /// What crossing does.
    pub cross_context: Crossing,
    /// Whether crossing messages say whose they are.
    pub decorate: bool,
    /// The account to use, by channel.
    pub accounts: BTreeMap<String, String>,
    /// The folder of its files.
    pub attach_from: Option<PathBuf>,
    /// Hosts of files that it may have fetched.
    pub attach_urls: Vec<String>,
}

/// `[approval]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct Approval {
    /// How long a message waits.
    pub ttl: Span,
    /// Who decides.
    pub approvers: Vec<Approver>,
    /// Whether programs may decide.
    pub allow_software_companion: bool,
}

/// Who may decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Approver {
    /// A registered companion.
    Companion,
}

/// `[contexts]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct Contexts {
    /// How long a context is valid.
    pub ttl: Span,
}

/// A length of time, written as `10m`, `24h`, `1h30m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Span(pub Duration);

impl TryFrom<String> for Span {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse::<jiff::SignedDuration>()
            .ok()
            .and_then(|span| Duration::try_from(span).ok())
            .filter(|span| (Duration::from_secs(1)..=Duration::from_hours(24 * 366)).contains(span))
            .map(Self)
            .ok_or_else(|| {
                format!(
                    "{text:?} is not a length of time: write \"30s\", \"10m\", \"24h\", at least one second"
                )
            })
    }
}

const DAY: Span = Span(Duration::from_hours(24));

impl Default for Hub {
    fn default() -> Self {
        Self {
            data_dir: "gatepost-data".into(),
            listen: ([127, 0, 0, 1], 8787).into(),
            max_body: 256 * 1024,
            ttl: DAY,
        }
    }
}

impl Default for Queue {
    fn default() -> Self {
        let Bounds { messages, bytes } = Bounds::default();
        Self {
            max_messages: messages,
            max_bytes: bytes,
            backup_every: DAY,
            backups: 7,
            retention: Span(Duration::from_hours(30 * 24)),
            audit_retention: Span(Duration::from_hours(365 * 24)),
        }
    }
}

impl Default for FileBounds {
    fn default() -> Self {
        let files::Bounds { max_size, max_together, max_count, max_stored, url_timeout } =
            files::Bounds::default();
        Self {
            max_size,
            max_together,
            max_count,
            max_stored,
            url_timeout: Span(url_timeout),
            allow_private_urls: vec![],
        }
    }
}

impl Default for Broker {
    fn default() -> Self {
        Self { listen: ([127, 0, 0, 1], 1883).into(), url: None, user: None, password: None }
    }
}

impl Default for Agent {
    fn default() -> Self {
        Self {
            allow: vec![],
            hold: vec![],
            cross_context: Crossing::Hold,
            decorate: true,
            accounts: BTreeMap::new(),
            attach_from: None,
            attach_urls: vec![],
        }
    }
}

impl Default for Approval {
    fn default() -> Self {
        Self {
            ttl: Span(Duration::from_mins(10)),
            approvers: vec![Approver::Companion],
            allow_software_companion: false,
        }
    }
}

impl Default for Contexts {
    fn default() -> Self {
        Self { ttl: DAY }
    }
}

impl Config {
    /// Reads and checks a file. A relative `data_dir` is relative to it.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let text = fs::read_to_string(path).map_err(|error| ConfigError::Read(path.into(), error))?;
        let mut config = Self::parse(&text, path)?;
        if let Some(parent) = path.parent() {
            config.hub.data_dir = parent.join(&config.hub.data_dir);
            for folder in config.agents.values_mut().filter_map(|agent| agent.attach_from.as_mut()) {
                *folder = parent.join(&*folder);
            }
        }
        Ok(config)
    }

    /// Checks a text. `path` is for messages only.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        unknown::refuse(text, path)?;
        let config: Self = toml::from_str(text).map_err(|error| ConfigError::Toml(path.into(), error))?;
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), ConfigError> {
        for (name, agent) in &self.agents {
            let key = format!("agents.{name}");
            if !is_name(name) {
                return Err(invalid(key, "names have letters, digits, `-` and `_`, at most 40 of them"));
            }
            let rights = agent.rights().map_err(|error| invalid(&key, error.to_string()))?;
            for pattern in rights.allow.iter().chain(rights.hold.iter()) {
                if pattern.channel().is_some_and(|channel| !is_name(channel)) {
                    return Err(invalid(
                        &key,
                        format!("{pattern} does not begin with the name of a channel"),
                    ));
                }
            }
            agent.sources().map_err(|problem| invalid(format!("{key}.attach_urls"), problem))?;
            // An entry of `allow` that matches nothing allows nothing; one of `hold` would ask nobody.
            let unknown = rights.hold.iter().filter_map(Pattern::channel).find(|name| kind(name).is_none());
            if let Some(channel) = unknown {
                return Err(invalid(format!("{key}.hold"), format!("there is no channel {channel:?}")));
            }
        }
        for (name, hook) in &self.hooks {
            let key = format!("hooks.{name}");
            if !is_name(name) {
                return Err(invalid(key, "names have letters, digits, `-` and `_`, at most 40 of them"));
            }
            hook.way().map_err(|problem| invalid(key, problem))?;
        }
        for (channel, accounts) in &self.channels {
            if let Some(account) = accounts.keys().find(|account| !is_name(account)) {
                let problem = "names have letters, digits, `-` and `_`, at most 40 of them";
                return Err(invalid(format!("channels.{channel}.{account}"), problem));
            }
            if kind(channel).is_none() {
                return Err(invalid(format!("channels.{channel}"), "there is no such channel"));
            }
        }
        if self.queue.max_messages == 0 || self.queue.max_bytes < MAX_TEXT as u64 {
            let problem =
                format!("max_messages is at least 1 and max_bytes at least {MAX_TEXT}, one long text");
            return Err(invalid("queue", problem));
        }
        self.files.private().map_err(|problem| invalid("files.allow_private_urls", problem))?;
        if !(1..=MOST).contains(&self.files.max_count) {
            return Err(invalid("files.max_count", format!("at least 1, and at most {MOST}")));
        }
        if self.broker.user.is_some() != self.broker.password.is_some() {
            return Err(invalid("broker", "user and password go together: give both or none"));
        }
        if self.approval.approvers.is_empty() {
            return Err(invalid(
                "approval.approvers",
                "somebody must be able to decide: write [\"companion\"]",
            ));
        }
        Ok(())
    }
}

impl Agent {
    /// The agent's rights, its lists read.
    pub fn rights(&self) -> Result<Rights, PatternError> {
        Ok(Rights {
            allow: Allowlist::parse(self.allow.iter().cloned())?,
            hold: Allowlist::parse(self.hold.iter().cloned())?,
            cross_context: self.cross_context,
        })
    }

    /// Where its files may come from, or what is wrong with the list.
    pub fn sources(&self) -> Result<Sources, String> {
        Ok(Sources { folder: self.attach_from.clone(), hosts: Hosts::parse(&self.attach_urls)? })
    }
}

impl FileBounds {
    /// The bounds alone.
    pub fn bounds(&self) -> files::Bounds {
        let &Self { max_size, max_together, max_count, max_stored, url_timeout: Span(url_timeout), .. } =
            self;
        files::Bounds { max_size, max_together, max_count, max_stored, url_timeout }
    }

    /// Where inside the house files may be fetched from, or what is wrong with the list.
    pub fn private(&self) -> Result<Private, String> {
        Private::parse(&self.allow_private_urls)
    }
}

fn invalid(key: impl Into<String>, problem: impl Into<String>) -> ConfigError {
    ConfigError::Invalid { key: key.into(), problem: problem.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, ConfigError> {
        Config::parse(text, Path::new("gatepost.toml"))
    }

    #[test]
    fn an_empty_file_is_a_hub_that_sends_nothing() {
        let config = parse("").unwrap();
        assert!(config.agents.is_empty() && config.channels.is_empty());
        assert!(config.hub.listen.ip().is_loopback() && config.broker.listen.ip().is_loopback());
    }

    #[test]
    fn an_unknown_key_is_answered_with_its_line_and_its_neighbour() {
        let error = parse("[agents.engineer]\nallow = []\ncross_contxt = \"allow\"\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "gatepost.toml:3: unknown key `agents.engineer.cross_contxt`, did you mean `cross_context`?"
        );
        let error = parse("[hbu]\n").unwrap_err();
        assert_eq!(error.to_string(), "gatepost.toml:1: unknown key `hbu`, did you mean `hub`?");
        let error = parse("[channels.emial.work]\nhost = \"x\"\n").unwrap_err();
        assert_eq!(error.to_string(), "gatepost.toml:1: unknown key `channels.emial`, did you mean `email`?");
        let error = parse("[channels.local.home]\nlimt = 5\n").unwrap_err();
        assert!(error.to_string().contains("did you mean `limit`?"), "{error}");
    }

    #[test]
    fn a_wrong_value_is_shown_where_it_stands() {
        let error = parse("[agents.engineer]\ncross_context = \"maybe\"\n").unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("maybe"), "{error}");
        let error = parse("[approval]\nttl = \"soon\"\n").unwrap_err().to_string();
        assert!(error.contains("\"soon\" is not a length of time"), "{error}");
        let error = parse("[agents.engineer]\nhold = [\"emial:*\"]\n").unwrap_err().to_string();
        assert!(error.contains("no channel \"emial\""), "{error}");
        let error = parse("[agents.engineer]\nallow = [\"slack\"]\n").unwrap_err().to_string();
        assert!(error.contains("channel:address"), "{error}");
    }

    #[test]
    fn a_hook_is_asked_in_one_way_and_never_through_the_net_in_plain() {
        let on = "[hooks.h]\non = \"message_sending\"\n";
        for (keys, problem) in [
            ("", "give one of"),
            ("command = [\"/bin/x\"]\nbuiltin = \"secrets\"", "give one of"),
            ("command = []", "absolute path"),
            ("command = [\"redact\"]", "absolute path"),
            ("url = \"http://example.org/\"", "in plain"),
            ("url = \"https://user:word@example.org/\"", "no name and password"),
            ("url = \"ftp://example.org/\"", "https"),
            ("command = [\"/bin/x\"]\ntoken = \"env:T\"", "token goes with url"),
            ("command = [\"/bin/x\"]\ntimeout = \"1h\"", "at most 5m"),
            ("builtin = \"magic\"", "unknown variant"),
            ("comand = [\"/bin/x\"]", "did you mean `command`?"),
        ] {
            let error = parse(&format!("{on}{keys}\n")).unwrap_err().to_string();
            assert!(error.contains(problem), "{keys}: {error}");
        }
        for keys in [
            "url = \"https://example.org/x\"\ntoken = \"env:T\"",
            "url = \"http://[::1]:1/\"",
            "builtin = \"secrets\"",
        ] {
            parse(&format!("{on}{keys}\n")).unwrap_or_else(|error| panic!("{keys}: {error}"));
        }
        let error = parse("[hooks.h]\non = \"message_sent\"\nbuiltin = \"secrets\"\n").unwrap_err();
        assert!(error.to_string().contains("runs on message_sending"), "{error}");
    }

    #[test]
    fn the_template_is_valid_and_names_every_key() {
        let text = template();
        parse(&text).unwrap();
        let tables = [
            keys::HUB,
            keys::QUEUE,
            keys::FILES,
            keys::BROKER,
            keys::AGENT,
            keys::APPROVAL,
            keys::CONTEXTS,
            keys::HOOK,
        ];
        let channels = crate::channels::registry::KINDS.iter().map(|kind| kind.keys);
        let channels = channels.chain([crate::channels::account::KEYS]);
        for key in tables.into_iter().chain(channels).flatten() {
            assert!(text.contains(&format!("{} = ", key.name)), "{}", key.name);
        }
    }

    #[test]
    fn the_template_is_valid_with_every_commented_line_switched_on() {
        let on: String = template()
            .lines()
            .map(|line| match line.strip_prefix("#: ") {
                Some(setting) => format!("{setting}\n"),
                None => format!("{line}\n"),
            })
            .collect();
        let config = parse(&on).unwrap_or_else(|error| panic!("{error}\n{on}"));
        assert_eq!(config.hub.data_dir, Hub::default().data_dir, "the example is the default");
        assert_eq!(config.hub.max_body, Hub::default().max_body);
        assert_eq!(config.hub.ttl, Hub::default().ttl);
        assert_eq!(config.queue.max_messages, Queue::default().max_messages);
        assert_eq!(config.queue.max_bytes, Queue::default().max_bytes);
        assert_eq!(config.queue.backup_every, Queue::default().backup_every);
        assert_eq!(config.queue.backups, Queue::default().backups);
        assert_eq!(config.queue.retention, Queue::default().retention);
        assert_eq!(config.queue.audit_retention, Queue::default().audit_retention);
        let (files, usual) = (config.files, FileBounds::default());
        assert_eq!((files.max_size, files.max_together), (usual.max_size, usual.max_together));
        assert_eq!((files.max_count, files.max_stored), (usual.max_count, usual.max_stored));
        assert_eq!(files.url_timeout, usual.url_timeout);
        assert_eq!(config.broker.listen, Broker::default().listen);
        assert_eq!(config.approval.ttl, Approval::default().ttl);
        assert_eq!(config.contexts.ttl, Contexts::default().ttl);
    }
}
