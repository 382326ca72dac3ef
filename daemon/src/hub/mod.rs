//! The hub: built from the configuration, started, stopped. The one place that knows everyone.
//!
//! [`start`] is the order in which it comes to life; what it keeps to itself is here, and how it stops.

mod accounts;
mod agents;
mod heartbeats;
mod homeassistant;
mod hooks;
mod identity;
mod meeting;
mod memory;
mod operator;
pub mod reload;
pub mod restore;
mod routing;
mod start;
mod steady;
mod updates;
mod upkeep;
mod voice;
mod wake;
mod web;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use gatepost_link::{decision::PublicKey, seal::SealKey};
use tokio::{
    sync::{oneshot, watch},
    task::JoinHandle,
};

use accounts::Opened;
pub use agents::{check_agents, unusable_names};
#[cfg(test)]
pub(crate) use agents::{held, spelt};
pub use homeassistant::home_assistant;
pub use identity::{IdentityError, public_key};
pub use meeting::broker_elsewhere;
pub use operator::token_path as operator_token_path;
use reload::Reload;
pub use start::introduce;
pub use updates::check_updates;
pub use voice::voice;
pub use wake::check_wakes;
pub use web::{check_web, own_authority};

use crate::{
    agents::AgentError,
    approval::{Approvals, device::Device, registry::DeviceError},
    audit::checkpoint::Signer,
    cause::{innermost, refused_address},
    channels::account::{Accounts, NoAccount, OpenError},
    companion::{
        broker::{Broker, BrokerError},
        link::Link,
        register::Companions,
    },
    config::{Config, locate::locate_in},
    events::Events,
    files::error::StageError,
    intake::{http::server::CertificateError, wake::Wakers},
    outbox::transition::TransitionError,
    pipeline::{Pipeline, current::Current},
    settings::secret::{Secret, SecretError},
    store::{Store, StoreError},
};

/// How long open requests may take to end when the hub stops.
const GRACE: Duration = Duration::from_secs(5);
/// How long messages on their way may take to end when the hub stops. With what comes before it and after it, that is less than the
/// unit's `TimeoutStopSec`: then systemd kills whatever is being written.
const SENDING: Duration = Duration::from_secs(20);
/// A platform that cannot be reached within this is away.
const CONNECT: Duration = Duration::from_secs(10);
/// A platform that has not answered within this will not.
const ANSWER: Duration = Duration::from_secs(60);
/// A connection that was not used for so long is not used again. A router forgets what is idle and tells neither side; each request over
/// such a connection would wait for its end first, and a channel that begins to hear anew has several of them.
const IDLE: Duration = Duration::from_secs(15);

/// Why the hub cannot start. Each text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// The data directory or the database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The hub's key.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The operator's token.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The operator's token file.
    #[error("cannot write the operator's token to {}: {}", .0.display(), .1)]
    TokenFile(PathBuf, std::io::Error),
    /// A channel's account.
    #[error("channels.{channel}.{account}: {error}")]
    Channel {
        /// The channel.
        channel: String,
        /// The account.
        account: String,
        /// What is wrong with it.
        error: Box<OpenError>,
    },
    /// An agent is bound to an account that is not there.
    #[error("agents.{0}.accounts: {1}")]
    Account(String, NoAccount),
    /// An agent's list names what is no address.
    #[error(transparent)]
    Allowlist(Box<agents::UnusableEntry>),
    /// A route or a heartbeat names what is no address, or no account.
    #[error("{0}: {1}")]
    Route(String, String),
    /// The companion that comes with the hub.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The broker.
    #[error(transparent)]
    Broker(#[from] BrokerError),
    /// The broker's password.
    #[error("broker.password: {0}")]
    BrokerPassword(#[from] SecretError),
    /// A hook's token.
    #[error("hooks.{0}.token: {1}")]
    HookToken(String, SecretError),
    /// A secret of a way to bring an agent its turns.
    #[error("{0}: {1}")]
    Wake(String, String),
    /// The voice's token.
    #[error("voice.token: {0}")]
    VoiceToken(SecretError),
    /// New firmware for companions.
    #[error("updates.{0}: {1}")]
    Updates(&'static str, String),
    /// The HTTP interface.
    #[error("cannot listen on {0}: {1} ({hint})", hint = refused_address(.2, .0, .1))]
    Listen(SocketAddr, std::io::Error, &'static str),
    /// TLS of its own.
    #[error(transparent)]
    Web(#[from] CertificateError),
    /// The folder of files that go along.
    #[error(transparent)]
    Files(#[from] StageError),
    /// The HTTP client.
    #[error("cannot set up the HTTP client: {} (are the authorities there that this machine trusts? apt-get install ca-certificates)", innermost(.0))]
    Http(#[from] reqwest::Error),
    /// What the last process left.
    #[error("cannot take up the queue: {0}")]
    Recover(#[from] TransitionError),
}

/// What a hub is given beside its configuration.
#[derive(Default)]
pub struct Extras {
    /// Users of the embedded broker who hear and say everything there, as the hub does: for tests of a broker that lies.
    pub broker_users: Vec<(String, Secret)>,
    /// A companion registered at the start, in the place of one of the same name.
    pub companion: Option<Device>,
    /// The file that the configuration is from, if it may be read again while the hub runs.
    pub file: Option<PathBuf>,
}

/// A running hub.
pub struct Hub {
    address: SocketAddr,
    key: PublicKey,
    seal: SealKey,
    store: Store,
    current: Current,
    reload: Reload,
    events: Events,
    link: Link,
    /// The embedded one ends with the hub.
    _broker: Option<Broker>,
    dispatcher: JoinHandle<()>,
    rest: oneshot::Sender<()>,
    server: JoinHandle<()>,
    stop: watch::Sender<bool>,
    upkeep: JoinHandle<()>,
    turns: JoinHandle<()>,
    tasks: JoinHandle<()>,
    heart: JoinHandle<()>,
    notifying: JoinHandle<()>,
    home_assistant: JoinHandle<()>,
    cards: JoinHandle<()>,
    own_update: JoinHandle<()>,
    telling: JoinHandle<()>,
    wakers: Wakers,
    signer: Signer,
}

/// Makes ring the one provider of cryptography for TLS.
pub fn install_tls_provider() {
    // A second call finds it installed; that is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// An HTTP client as the hub wants it: patient up to a point, and never led elsewhere by an answer.
fn http() -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .connect_timeout(CONNECT)
        .timeout(ANSWER)
        .pool_idle_timeout(IDLE)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("gatepost/", env!("CARGO_PKG_VERSION")))
}

impl HubError {
    /// The key of the configuration that it is about.
    fn key(&self) -> Option<String> {
        match self {
            Self::Channel { channel, account, .. } => Some(format!("channels.{channel}.{account}")),
            Self::Account(agent, _) => Some(format!("agents.{agent}.accounts")),
            Self::Allowlist(entry) => entry.at.is_empty().then(|| entry.key.clone()),
            Self::BrokerPassword(_) => Some("broker.password".into()),
            Self::Broker(_) => Some("broker".into()),
            Self::HookToken(hook, _) => Some(format!("hooks.{hook}.token")),
            Self::Route(key, _) | Self::Wake(key, _) => Some(key.clone()),
            Self::VoiceToken(_) => Some("voice.token".into()),
            Self::Web(error) => Some(error.key().into()),
            Self::Updates(key, _) => Some(format!("updates.{key}")),
            _ => None,
        }
    }

    /// Whether it is the configuration that must change, or a secret that it names: starting again will not help.
    pub fn is_of_configuration(&self) -> bool {
        match self {
            // Its port may be free soon.
            Self::Broker(error) => !matches!(error, BrokerError::Listen(..)),
            _ => self.key().is_some() || matches!(self, Self::Allowlist(_)),
        }
    }

    /// The error, behind the place in `file` that it is about, if it is about one.
    pub fn placed(&self, file: &Path) -> String {
        let at = self.key().map_or_else(String::new, |key| locate_in(file, &key));
        format!("{at}{self}")
    }
}

/// Opens every account of the configuration.
///
/// # Errors
/// One of them cannot be opened.
pub fn open_accounts(config: &Config, store: &Store) -> Result<Accounts, HubError> {
    Ok(Opened::open(config, store)?.accounts().clone())
}

impl Hub {
    /// Where the HTTP interface listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The hub's public key.
    pub fn key(&self) -> PublicKey {
        self.key
    }

    /// The hub's public key for sealed sessions.
    pub fn seal_key(&self) -> SealKey {
        self.seal
    }

    /// The hub's database.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The companions.
    pub fn companions(&self) -> &Companions {
        self.link.companions()
    }

    /// What waits for a person.
    pub fn approvals(&self) -> Approvals {
        self.pipeline().approvals().clone()
    }

    /// The hub's pipeline, with the configuration that holds now.
    pub fn pipeline(&self) -> Pipeline {
        self.current.pipeline()
    }

    /// Reads the configuration anew.
    pub fn reload(&self) -> &Reload {
        &self.reload
    }

    /// Returns if a part of the hub ends that should not; the hub is of no use then.
    pub async fn broken(&mut self) {
        tokio::select! {
            _ = &mut self.dispatcher => tracing::error!("the dispatcher ended"),
            _ = &mut self.server => tracing::error!("the HTTP door ended"),
        }
    }

    /// Stops: takes no more calls, lets what is on its way come to its end, closes the database. What does not end in
    /// time is taken up at the next start.
    pub async fn stop(self) {
        // From the moment on at which the port is anybody's, no command is to tell it a token.
        if let Err(error) = self.store.listens_at(None) {
            tracing::warn!(%error, "cannot take the hub's address out of the lock");
        }
        self.wakers.leave().await;
        self.upkeep.abort();
        self.turns.abort();
        self.tasks.abort();
        self.heart.abort();
        self.notifying.abort();
        // Its broker says that the hub is away.
        self.home_assistant.abort();
        self.cards.abort();
        self.own_update.abort();
        self.events.close();
        self.telling.abort();
        // A receiver that is gone has stopped already.
        let _ = (self.stop.send(true), self.rest.send(()));
        self.current.stop();
        let (mut server, mut dispatcher) = (self.server, self.dispatcher);
        // At once: what comes in must not wait for what goes out, for not every platform tells it again.
        let served = async {
            if tokio::time::timeout(GRACE, &mut server).await.is_err() {
                tracing::warn!("some requests did not end in time");
                server.abort();
            }
        };
        let sent = async {
            if tokio::time::timeout(SENDING, &mut dispatcher).await.is_err() {
                tracing::warn!("some messages are still on their way; the next start takes them up");
                dispatcher.abort();
            }
        };
        tokio::join!(served, sent, self.reload.stop());
        self.current.pipeline().outbox().write_seen().await;
        self.link.companions().keep().await;
        upkeep::sign(&self.store, &self.signer).await;
        self.store.close();
    }
}

/// Takes up where the last process stopped. Runs before anything is dispatched.
pub(crate) async fn recover(pipeline: &Pipeline) -> Result<(), TransitionError> {
    pipeline.outbox().settle_restored().await?;
    pipeline.recover_accepted().await?;
    pipeline.recover_sending().await?;
    Ok(pipeline.wake_others().await?)
}

#[cfg(test)]
mod tests {
    use super::{SENDING, reload};
    use crate::{intake::wake, receiving::listening};

    #[test]
    fn a_stop_ends_before_systemd_kills_the_hub_with_time_to_write() {
        let unit = include_str!("../../packaging/systemd/gatepost.service");
        let most = unit.lines().find_map(|line| line.strip_prefix("TimeoutStopSec=")?.strip_suffix('s'));
        let most: u64 = most.unwrap().parse().unwrap();
        let together = super::GRACE.max(SENDING).max(reload::STOP + listening::GOODBYE_TIMEOUT);
        assert!((wake::LEAVE + together).as_secs() + 5 < most);
    }
}
