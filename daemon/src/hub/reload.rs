//! Another configuration without a restart: all of it, or nothing.
//!
//! The file is read, checked as a start would check it, and every account that is new or different is opened, while the old
//! configuration goes on. Only when all of that went well does the new one hold, in one step; any error leaves the old one
//! whole. One reload runs at a time, and a caller that hangs up does not leave one half-way.
//!
//! What a running hub cannot change (an address to listen on, hooks) is checked all the same, and named: it takes effect at the
//! next start. Another data directory is refused: programs that look there would not find this hub.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::json;
use tokio::{sync::Mutex, time::timeout};

use super::{
    HubError,
    accounts::Opened,
    agents::{agents, itself},
    broker_elsewhere,
    heartbeats::heartbeats,
    homeassistant::home_assistant,
    hooks,
    routing::routing,
    steady::{self, NotSteady},
    voice,
    wake::wakers,
    web,
};
use crate::{
    audit::{self, Entry, Event},
    config::{
        Config, ConfigError, TlsBy,
        changes::Changes,
        effective::{self, SettingsOrigin, SettingsSection},
        locate::locate_in,
    },
    intake::{
        http::server::{Certificate, Tls},
        wake::{Waker, Wakers},
    },
    metrics::reloads::Reloads,
    outbox::bounds::Bounds,
    pipeline::{Pipeline, address_book::AddressBook, current::Current},
    receiving::listening::Listening,
    settings::readers::ReadByAll,
    store::{Store, StoreError},
};

/// How long a stop waits for a reload under way.
pub(super) const STOP: Duration = Duration::from_secs(5);

/// Why the old configuration still holds. Each text says where to look.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// The hub has its configuration from somewhere else.
    #[error("the hub was not started from a configuration file, so there is none to read again")]
    NoFile,
    /// The file is none, or is being written.
    #[error(transparent)]
    File(#[from] NotSteady),
    /// What it says.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Everybody can read a secret.
    #[error(transparent)]
    Secret(#[from] ReadByAll),
    /// The data directory is another, where the shell would not find this hub.
    #[error(
        "{at}hub.data_dir needs a restart: the hub uses {} and the file names {}; restart the hub, or put the old one back",
        .holds.display(), .named.display()
    )]
    DataDirectory {
        /// The file and the line.
        at: String,
        /// The one in use.
        holds: PathBuf,
        /// The one in the file.
        named: PathBuf,
    },
    /// What the file asks for.
    #[error("{at}{error}")]
    Hub {
        /// The file and the line.
        at: String,
        /// What is wrong.
        error: HubError,
    },
    /// The audit.
    #[error("the reload cannot be written down: {0}")]
    Store(#[from] StoreError),
    /// The hub.
    #[error("the hub is stopping")]
    Stopping,
}

/// Reads the configuration anew. Clones share it.
#[derive(Clone)]
pub struct Reload(Arc<Shared>);

struct Shared {
    file: Option<PathBuf>,
    /// The configuration at the start: the values of what a running hub cannot change.
    started: Config,
    current: Current,
    wakers: Wakers,
    tls: Option<Tls>,
    store: Store,
    reloads: Reloads,
    /// One at a time. Nothing, once the hub has stopped.
    holds: Mutex<Option<Holds>>,
}

/// The configuration that holds, and what was built from it.
struct Holds {
    config: Config,
    opened: Opened,
    listening: Listening,
}

/// A configuration that may hold next.
struct Next {
    config: Config,
    opened: Opened,
    pipeline: Pipeline,
    wakers: BTreeMap<String, Waker>,
    certificate: Option<Certificate>,
}

impl Reload {
    /// For a hub that started with this configuration, from this file. Accounts listen from here on.
    pub(super) async fn new(
        file: Option<&Path>,
        config: &Config,
        opened: Opened,
        current: &Current,
        wakers: &Wakers,
        tls: Option<Tls>,
    ) -> Self {
        let pipeline = current.pipeline();
        let mut listening = Listening::of(current);
        listening.follow(&pipeline).await;
        Self(Arc::new(Shared {
            file: file.map(Path::to_owned),
            started: config.clone(),
            store: pipeline.outbox().store().clone(),
            current: current.clone(),
            wakers: wakers.clone(),
            tls,
            reloads: Reloads::default(),
            holds: Mutex::new(Some(Holds { config: config.clone(), opened, listening })),
        }))
    }

    /// How often that was done.
    pub(super) fn count(&self) -> &Reloads {
        &self.0.reloads
    }

    /// Reads the file, and lets it hold if it is valid; `by` is who asked, for the audit.
    ///
    /// # Errors
    /// It is not valid, or cannot be used. The old configuration holds.
    pub async fn reload(&self, by: &str) -> Result<Changes, ReloadError> {
        let (shared, by) = (Arc::clone(&self.0), by.to_owned());
        let done = tokio::spawn(async move {
            let done = shared.reload(&by).await;
            shared.reloads.note(done.is_ok());
            match &done {
                Ok(Changes { changed, at_next_start }) => {
                    tracing::info!(by, ?changed, ?at_next_start, "the configuration was read anew");
                    if !at_next_start.is_empty() {
                        tracing::warn!(keys = ?at_next_start, "these keys take effect when the hub starts the next time");
                    }
                }
                Err(error) => {
                    tracing::error!(by, %error, "the new configuration was not taken; the old one holds");
                }
            }
            done
        });
        done.await.unwrap_or(Err(ReloadError::Stopping))
    }

    /// The configuration that holds, key by key, and the file it is from. What a running hub does not change is as it was at the start.
    ///
    /// # Errors
    /// The hub is stopping.
    pub async fn settings(&self) -> Result<(Option<PathBuf>, Vec<SettingsSection>), ReloadError> {
        let (text, started, config) = {
            let holds = self.0.holds.lock().await;
            let config = holds.as_ref().map(|holds| holds.config.clone()).ok_or(ReloadError::Stopping)?;
            (config.text().to_owned(), self.0.started.clone(), config)
        };
        let mut sections = effective::sections(&text);
        let waiting = config.changes(&config, &started).at_next_start;
        if !waiting.is_empty() {
            let before = effective::sections(started.text());
            let waits = |section: &str, key: &str| {
                let whole = format!("{section}.{key}");
                waiting.iter().any(|name| *name == whole || *name == section)
            };
            for section in &mut sections {
                let Some(old) = before.iter().find(|old| old.section == section.section) else { continue };
                section.keys.retain(|key| !waits(&section.section, &key.key));
                section.keys.extend(old.keys.iter().filter(|key| waits(&old.section, &key.key)).cloned());
            }
        }
        let hub = sections.iter_mut().find(|section| section.section == "hub");
        if let Some(key) = hub.and_then(|hub| hub.keys.iter_mut().find(|key| key.key == "data_dir"))
            && key.origin == SettingsOrigin::Default
        {
            // Where it is, and not where it would be on another machine.
            key.value = serde_json::Value::from(started.hub.data_dir.to_string_lossy()).to_string();
            if std::env::var_os("STATE_DIRECTORY").is_some() {
                key.origin = SettingsOrigin::Environment;
            }
        }
        Ok((self.0.file.clone(), sections))
    }

    /// Lets all accounts say goodbye. There is no reload after this.
    pub(super) async fn stop(&self) {
        // A reload that hangs, on a network file system that is away for instance, must not keep the hub from stopping.
        match timeout(STOP, self.0.holds.lock()).await {
            Ok(mut holds) => {
                if let Some(Holds { listening, .. }) = holds.take() {
                    listening.leave().await;
                }
            }
            Err(_) => tracing::warn!("a reload has not ended, and the accounts say no goodbye"),
        }
    }
}

impl Shared {
    async fn reload(self: &Arc<Self>, by: &str) -> Result<Changes, ReloadError> {
        let mut holds = self.holds.lock().await;
        let holds = holds.as_mut().ok_or(ReloadError::Stopping)?;
        // Files are read meanwhile, secrets among them.
        let (shared, opened) = (Arc::clone(self), holds.opened.clone());
        let next = tokio::task::spawn_blocking(move || shared.next(&opened));
        let next = next.await.map_err(|_| ReloadError::Stopping)??;
        let mut changes = next.config.changes(&holds.config, &self.started);
        let accounts = holds.opened.differ(&next.opened);
        for (channel, account) in &accounts {
            let name = format!("channels.{channel}.{account}");
            if !changes.changed.contains(&name) {
                changes.changed.push(name);
            }
        }
        if let (Some(tls), Some(certificate)) = (&self.tls, &next.certificate)
            && !tls.shows(certificate)
            && !changes.changed.iter().any(|key| key == "web.cert")
        {
            changes.changed.push("web.cert".into());
        }
        let (detail, by) = (json!(changes), by.to_owned());
        let written = self.store.write(move |tx| {
            audit::append(
                tx,
                &Entry { actor: &by, event: Event::ConfigurationReloaded, message: None, detail },
            )
        });
        written.await?;
        next.pipeline.forget(&accounts, &self.current.pipeline());
        self.current.replace(next.pipeline.clone());
        // What it says holds all the same; whoever waits in vain waits a while longer.
        if let Err(error) = next.pipeline.wake_others().await {
            tracing::error!(%error, "cannot look after what waits for accounts that are others now");
        }
        holds.config = next.config;
        holds.opened = next.opened;
        holds.listening.follow(&next.pipeline).await;
        self.wakers.follow(next.wakers);
        if let (Some(tls), Some(certificate)) = (&self.tls, next.certificate) {
            tls.show(certificate);
        }
        Ok(changes)
    }

    /// Builds all of the file's configuration; nothing holds yet.
    fn next(&self, opened: &Opened) -> Result<Next, ReloadError> {
        let file = self.file.as_deref().ok_or(ReloadError::NoFile)?;
        let config = Config::read(&steady::read(file)?, file)?;
        let (holds, named) = (&self.started.hub.data_dir, &config.hub.data_dir);
        if !is_same(holds, named) {
            let at = locate_in(file, "hub.data_dir");
            return Err(ReloadError::DataDirectory { at, holds: holds.clone(), named: named.clone() });
        }
        config.refuse_everybodys_secrets()?;
        for warning in config.warnings() {
            tracing::warn!("{warning}");
        }
        let failed = |error: HubError| {
            let at = error.key().map_or_else(String::new, |key| locate_in(file, &key));
            ReloadError::Hub { at, error }
        };
        let opened = opened.reopened(&config, &self.store).map_err(failed)?;
        let agents = agents(&config, opened.accounts()).map_err(failed)?;
        let routing = routing(&config, opened.accounts()).map_err(failed)?;
        let heartbeats = heartbeats(&config, opened.accounts()).map_err(failed)?;
        // What waits for the next start must not keep that from succeeding.
        hooks::build(&config).map_err(failed)?;
        let wakers = wakers(&config).map_err(failed)?;
        voice(&config).map_err(failed)?;
        broker_elsewhere(&config).map_err(failed)?;
        let home = home_assistant(&config).map_err(failed)?;
        let certificate = web::shown(&config).map_err(failed)?;
        // Another way to a certificate is taken at the next start.
        let certificate = certificate.filter(|_| self.started.web.tls == TlsBy::Files);
        let book = AddressBook::new(config.checked().book.clone());
        let itself = itself(&config, opened.accounts()).map_err(failed)?;
        let notify = config.checked().notify.clone().map(Arc::new);
        let pipeline = self.current.pipeline().reconfigured(|shared| {
            shared.outbox =
                shared.outbox.clone().bounded(bounds(&config)).deduplicating(config.queue.dedup.0);
            shared.approvals = shared.approvals.clone().on(config.approval.terms());
            shared.accounts = opened.accounts().clone();
            shared.agents = agents;
            shared.ttl = config.hub.ttl.0;
            shared.context_ttl = config.contexts.ttl.0;
            shared.book = book;
            shared.routing = Arc::new(routing);
            shared.heartbeats = heartbeats;
            shared.itself = itself;
            shared.notify = notify;
            shared.home_assistant = home;
        });
        pipeline.recall_routes()?;
        Ok(Next { config, opened, pipeline, wakers, certificate })
    }
}

/// Whether two paths lead to one directory.
fn is_same(one: &Path, other: &Path) -> bool {
    one == other
        || matches!((fs::canonicalize(one), fs::canonicalize(other)), (Ok(one), Ok(other)) if one == other)
}

/// The bounds of the queue.
pub(super) fn bounds(config: &Config) -> Bounds {
    Bounds { messages: config.queue.max_messages, bytes: config.queue.max_bytes }
}
