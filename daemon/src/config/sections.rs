//! The sections of the file, and what holds where it says nothing.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, time::Duration};

use serde::Deserialize;

use super::{Span, span::Window};
use crate::{
    approval::Terms,
    connections::descriptors::MAX_HTTP,
    files::{
        self, Folder, Sources,
        fetch_policy::{Hosts, Private},
    },
    outbox::bounds::Bounds,
    policy::{Allowlist, CrossContext, PatternError, Rights},
    settings::secret::SecretSource,
};

/// `[hub]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct Hub {
    /// Where the database and the keys are. Empty only until the file is read, if it does not say.
    pub data_dir: PathBuf,
    /// The HTTP interface.
    #[serde(deserialize_with = "super::listen::address")]
    pub listen: SocketAddr,
    /// What platforms and programs outside reach of it, and nothing else.
    #[serde(deserialize_with = "super::listen::optional")]
    pub platform_listen: Option<SocketAddr>,
    /// Bytes.
    pub max_body: usize,
    /// The seeds' allowlists, as they are.
    pub allowlists: Option<PathBuf>,
    /// Names by which the hub is reached, beside those of this machine itself.
    pub hosts: Vec<String>,
    /// The longest time to live of a message, and the default.
    pub ttl: Span,
    /// Connections to the HTTP interface.
    pub max_connections: usize,
}

/// `[queue]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct Queue {
    /// Messages under way.
    pub max_messages: u64,
    /// Bytes of their texts.
    pub max_bytes: u64,
    /// For how long the same message again is the first one.
    pub dedup: Window,
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
    /// Where inside the local network they may be fetched from.
    pub allow_private_urls: Vec<String>,
}

/// `[broker]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct Broker {
    /// Where the embedded broker listens.
    #[serde(deserialize_with = "super::listen::address")]
    pub listen: SocketAddr,
    /// A broker elsewhere, `mqtts://host:port` or `mqtt://host:port`.
    pub url: Option<String>,
    /// The hub's user there.
    pub user: Option<String>,
    /// The hub's password there.
    pub password: Option<SecretSource>,
    /// The authorities that sign for that broker, PEM.
    pub ca: Option<PathBuf>,
    /// The hub's certificate there, PEM.
    pub cert: Option<PathBuf>,
    /// That certificate's key, PEM: a path, or as any other secret.
    #[serde(deserialize_with = "SecretSource::or_path")]
    pub key: Option<SecretSource>,
}

/// `[web]`: TLS of the hub's own. All of it is there, or none.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Web {
    /// Where the HTTP interface and the page are reached over TLS.
    #[serde(deserialize_with = "super::listen::optional")]
    pub listen: Option<SocketAddr>,
    /// Where the hub's certificate there comes from.
    pub tls: TlsBy,
    /// The hub's certificate there, PEM.
    pub cert: Option<PathBuf>,
    /// That certificate's key, PEM: a path, or as any other secret.
    #[serde(deserialize_with = "SecretSource::or_path")]
    pub key: Option<SecretSource>,
}

/// Where the hub's certificate comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TlsBy {
    /// From files.
    #[default]
    Files,
    /// From an authority of its own.
    Own,
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
    pub cross_context: CrossContext,
    /// Entries on which companions decide.
    pub by_companion: Vec<String>,
    /// Entries on which passkeys decide.
    pub by_web: Vec<String>,
    /// Whether crossing messages say whose they are.
    pub decorate: bool,
    /// The account to use, by channel.
    pub accounts: BTreeMap<String, String>,
    /// The folder of its files.
    pub attach_from: Option<PathBuf>,
    /// Whether files there may have other names too.
    pub allow_linked_files: bool,
    /// Whether files there may belong to others than the folder does.
    pub allow_other_owners: bool,
    /// Hosts of files that it may have fetched.
    pub attach_urls: Vec<String>,
    /// Whether of its turns only message blocks are sent.
    pub blocks_only: bool,
    /// How many messages it may hand in within a minute.
    pub per_minute: u32,
}

/// `[reply]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct Reply {
    /// Words by which an agent says nothing.
    pub quiet: Vec<String>,
}

impl Default for Reply {
    fn default() -> Self {
        Self { quiet: ["NO_REPLY", "HEARTBEAT_OK"].map(str::to_owned).into() }
    }
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
    /// How many devices must approve a message.
    pub quorum: u32,
    /// How many cards of one agent they see in an hour.
    pub cards_per_hour: u32,
}

/// Who may decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Approver {
    /// A registered companion.
    Companion,
    /// A passkey, by the page.
    Web,
}

impl Approver {
    /// The word in the configuration.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Companion => "companion",
            Self::Web => "web",
        }
    }
}

/// `[contexts]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct Contexts {
    /// How long a context is valid.
    pub ttl: Span,
}

const HTTPS_PORT: u16 = 443;
const DAY: Span = Span(Duration::from_hours(24));

impl Default for Hub {
    fn default() -> Self {
        Self {
            // Where that is depends on the file: see `paths`.
            data_dir: PathBuf::new(),
            listen: ([127, 0, 0, 1], 8787).into(),
            platform_listen: None,
            max_body: 256 * 1024,
            allowlists: None,
            hosts: Vec::new(),
            ttl: DAY,
            max_connections: MAX_HTTP,
        }
    }
}

impl Default for Queue {
    fn default() -> Self {
        let Bounds { messages, bytes } = Bounds::default();
        Self {
            max_messages: messages,
            max_bytes: bytes,
            dedup: Window(Duration::from_secs(30)),
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
        Self {
            listen: ([127, 0, 0, 1], 1883).into(),
            url: None,
            user: None,
            password: None,
            ca: None,
            cert: None,
            key: None,
        }
    }
}

impl Default for Agent {
    fn default() -> Self {
        Self {
            allow: vec![],
            hold: vec![],
            cross_context: CrossContext::Hold,
            by_companion: Vec::new(),
            by_web: Vec::new(),
            decorate: true,
            accounts: BTreeMap::new(),
            attach_from: None,
            allow_linked_files: false,
            allow_other_owners: false,
            attach_urls: vec![],
            blocks_only: false,
            per_minute: 600,
        }
    }
}

impl Default for Approval {
    fn default() -> Self {
        let Terms { ttl, quorum, cards_per_hour } = Terms::default();
        Self {
            ttl: Span(ttl),
            approvers: vec![Approver::Companion],
            allow_software_companion: false,
            quorum,
            cards_per_hour,
        }
    }
}

impl Default for Contexts {
    fn default() -> Self {
        Self { ttl: DAY }
    }
}

impl Agent {
    /// The agent's rights, its lists read.
    pub(super) fn rights(&self) -> Result<Rights, PatternError> {
        Ok(Rights {
            allow: Allowlist::parse(self.allow.iter().cloned())?,
            hold: Allowlist::parse(self.hold.iter().cloned())?,
            cross_context: self.cross_context,
            by_companion: Allowlist::parse(self.by_companion.iter().cloned())?,
            by_web: Allowlist::parse(self.by_web.iter().cloned())?,
        })
    }

    /// Whether some of its messages wait for a person.
    pub fn needs_people(&self) -> bool {
        let crosses = !self.allow.is_empty() && self.cross_context == CrossContext::Hold;
        crosses || !self.hold.is_empty()
    }

    /// Where its files may come from, or what is wrong with the list.
    pub(super) fn sources(&self) -> Result<Sources, String> {
        let folder = self.attach_from.clone().map(|path| Folder {
            path,
            allow_linked_files: self.allow_linked_files,
            allow_other_owners: self.allow_other_owners,
        });
        Ok(Sources { folder, hosts: Hosts::parse(&self.attach_urls)? })
    }
}

impl Web {
    /// The page's address over TLS of the hub's own: by the first of its names that is good at this port, or on this machine.
    pub fn page(&self, hosts: &[String]) -> Option<String> {
        let port = self.listen?.port();
        let mut names = hosts.iter().filter_map(|host| match host.rsplit_once(':') {
            None => Some(host.as_str()),
            Some((name, given)) => (given.parse() == Ok(port)).then_some(name),
        });
        let name = names.next().unwrap_or("localhost");
        Some(match port {
            HTTPS_PORT => format!("https://{name}"),
            port => format!("https://{name}:{port}"),
        })
    }
}

impl Approval {
    /// On which terms people are asked.
    pub fn terms(&self) -> Terms {
        let &Self { ttl: Span(ttl), quorum, cards_per_hour, .. } = self;
        Terms { ttl, quorum, cards_per_hour }
    }

    /// Whether passkeys decide too.
    pub fn takes_passkeys(&self) -> bool {
        self.approvers.contains(&Approver::Web)
    }
}

impl FileBounds {
    /// The bounds alone.
    pub fn bounds(&self) -> files::Bounds {
        let &Self { max_size, max_together, max_count, max_stored, url_timeout: Span(url_timeout), .. } =
            self;
        files::Bounds { max_size, max_together, max_count, max_stored, url_timeout }
    }

    /// Where inside the local network files may be fetched from, or what is wrong with the list.
    pub(super) fn private(&self) -> Result<Private, String> {
        Private::parse(&self.allow_private_urls)
    }
}
