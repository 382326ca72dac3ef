//! The configuration: one TOML file.
//!
//! Every key is in [`keys`], so every key is documented. An unknown one is an error that names its line and its nearest
//! neighbour: a misspelt `cross_context` that is quietly ignored is a message that quietly leaves. Secrets are pointers
//! ([`crate::settings::secret`]).
//!
//! [`Config::load`] reads the [`sections`] and holds them against each other ([`mod@check`]); [`template`] writes the files
//! that `gatepost init` gives a newcomer, and `reference` the guide to all keys.

mod address_book;
mod attach_from;
pub mod changes;
mod check;
mod checked;
mod doubtful_routes;
pub mod effective;
mod entries;
pub mod heartbeat;
pub mod homeassistant;
pub mod hooks;
pub mod keys;
mod listen;
pub mod locate;
pub mod paths;
pub mod person;
#[cfg(test)]
mod reference;
pub mod routes;
mod sections;
mod span;
pub mod template;
mod unknown;
pub mod updates;
pub mod voice;
pub mod wake;
mod warnings;

use std::{
    collections::BTreeMap,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Deserialize;

use crate::settings::file::{FileError, read_text};

pub use checked::{Checked, CheckedAgent};
pub use sections::{Agent, Approval, Approver, Broker, Contexts, FileBounds, Hub, Queue, Reply, TlsBy, Web};
pub use span::Span;

/// The longest configuration, in bytes.
pub(crate) const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// What to do about a configuration that cannot be read.
fn how_to_read(error: &FileError) -> &'static str {
    match error.kind() {
        ErrorKind::PermissionDenied => {
            "(it is the hub's own: ask it as root, or with GATEPOST_HUB, its address, and GATEPOST_TOKEN, a token of yours)"
        }
        _ => "(write one with: gatepost init)",
    }
}

/// Why a configuration cannot be used. Every text names the file or the key, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{0} {hint}", hint = how_to_read(.0))]
    Read(FileError),
    /// Not TOML, or a value of the wrong type.
    #[error("{file}:{line}: {problem}")]
    Toml {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong there. Not the line itself: a secret may stand on it.
        problem: String,
    },
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
    #[error("{at}{key}: {problem}")]
    Invalid {
        /// The file and the line, as far as they are known: `gatepost.toml:3: `.
        at: String,
        /// The key.
        key: String,
        /// What is wrong with it and what to write.
        problem: String,
    },
}

impl ConfigError {
    fn toml(text: &str, path: &Path, error: &toml::de::Error) -> Self {
        let line = locate::line_at(text, error.span().map_or(0, |span| span.start));
        Self::Toml { file: path.display().to_string(), line, problem: error.message().to_owned() }
    }

    /// The same with the line where its key stands.
    fn located(self, text: &str, path: &Path) -> Self {
        match self {
            Self::Invalid { key, problem, .. } => {
                Self::Invalid { at: locate::locate(text, path, &key), key, problem }
            }
            other => other,
        }
    }
}

/// All of it, checked.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Config {
    /// `[hub]`.
    pub hub: Hub,
    /// `[web]`.
    pub web: Web,
    /// `[queue]`.
    pub queue: Queue,
    /// `[files]`.
    pub files: FileBounds,
    /// `[broker]`.
    pub broker: Broker,
    /// `[agents.NAME]`.
    pub agents: BTreeMap<String, Agent>,
    /// `[book]`: names for targets.
    pub book: BTreeMap<String, String>,
    /// `[reply]`.
    pub reply: Reply,
    /// `[voice]`.
    pub voice: voice::Voice,
    /// `[approval]`.
    pub approval: Approval,
    /// `[contexts]`.
    pub contexts: Contexts,
    /// `[routing]`.
    pub routing: routes::Routing,
    /// `[people.NAME]`.
    pub people: BTreeMap<String, routes::PersonEntry>,
    /// `[routes.NAME]`.
    pub routes: BTreeMap<String, routes::RouteEntry>,
    /// `[wake.NAME]`.
    pub wake: BTreeMap<String, wake::Wake>,
    /// `[heartbeat.NAME]`, by the agent.
    pub heartbeat: BTreeMap<String, heartbeat::HeartbeatEntry>,
    /// `[person]`.
    pub person: person::Person,
    /// `[homeassistant]`.
    pub homeassistant: homeassistant::HomeAssistant,
    /// `[updates]`.
    pub updates: updates::Updates,
    /// `[hooks.NAME]`.
    pub hooks: BTreeMap<String, hooks::Hook>,
    /// `[channels.CHANNEL.ACCOUNT]`; each channel reads its own.
    pub channels: BTreeMap<String, BTreeMap<String, toml::Table>>,
    /// Where the agents' values stand.
    #[serde(skip)]
    places: entries::Places,
    /// What they are.
    #[serde(skip)]
    checked: Checked,
    /// What it was read from.
    #[serde(skip)]
    text: Arc<str>,
}

impl Config {
    /// Reads and checks a file. Relative paths in it are relative to it.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let text = read_text(path, MAX_FILE_BYTES).map_err(ConfigError::Read)?;
        Self::read(&text, path)
    }

    /// The same of the text that the file at `path` has.
    pub(crate) fn read(text: &str, path: &Path) -> Result<Self, ConfigError> {
        let mut config = Self::parse_with(text, path, paths::data_dir(path))?;
        if let Some(parent) = path.parent() {
            config.hub.data_dir = parent.join(&config.hub.data_dir);
            if let Some(file) = &config.hub.allowlists {
                address_book::import(&parent.join(file), &mut config.agents, &mut config.places)?;
                config.check().map_err(|error| error.located(text, path))?;
            }
            for folder in config.agents.values_mut().filter_map(|agent| agent.attach_from.as_mut()) {
                *folder = parent.join(&*folder);
            }
            for list in config.heartbeat.values_mut().filter_map(|heartbeat| heartbeat.list.as_mut()) {
                *list = parent.join(&*list);
            }
            warnings::secrets_beneath(&mut config, parent);
            let Broker { ca, cert, .. } = &mut config.broker;
            let home = &mut config.homeassistant;
            let files =
                [ca, cert, &mut config.web.cert, &mut config.updates.root, &mut home.ca, &mut home.cert];
            for file in files.into_iter().flatten() {
                *file = parent.join(&*file);
            }
            config.resolve_folders(path).map_err(|error| error.located(text, path))?;
            // Paths are other ones now.
            config.checked = config.check().map_err(|error| error.located(text, path))?;
        }
        Ok(config)
    }

    /// The text that it was read from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Checks a text. `path` is for messages only.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        Self::parse_with(text, path, paths::DEFAULT_DATA_DIR.into())
    }

    fn parse_with(text: &str, path: &Path, data_dir: PathBuf) -> Result<Self, ConfigError> {
        unknown::refuse(text, path)?;
        let mut config: Self = toml::from_str(text).map_err(|error| ConfigError::toml(text, path, &error))?;
        if config.hub.data_dir.as_os_str().is_empty() {
            config.hub.data_dir = data_dir;
        }
        config.places = entries::Places::of(text, path);
        config.text = text.into();
        config.checked = config.check().map_err(|error| error.located(text, path))?;
        Ok(config)
    }
}

#[cfg(test)]
mod tests;
