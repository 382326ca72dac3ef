//! The demo's hub and companion.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::{Path, PathBuf},
};

use gatepost_companion::{Geometry, Keys, Storage as _};
use gatepost_desktop::{Companion, Display, Settings, Store};
use gatepost_link::seal::SealSecret;

use super::{
    DemoError,
    board::{Board, Ready},
    client,
};
use crate::{
    agents::{self, AgentError, Role},
    channels::local,
    client::Client,
    companion::introduced::Introduced,
    config::Config,
    hub::{Extras, Hub, operator_token_path},
    printing::print_note,
};

/// The demo's agent.
pub(super) const AGENT: &str = "engineer";

/// Small enough to show how a message is split.
const CONFIG: &str = r#"
# The same demo again in the same directory is meant.
[queue]
dedup = "0s"

[agents.engineer]
allow = ["local:*"]

[people.ann]
ids = ["local:ann"]
scope = "owner"

[routes.home]
from = ["local:*"]
agent = "engineer"

[approval]
allow_software_companion = true

[channels.local.home]
limit = 1200
"#;

/// Everything that the demo runs.
pub(super) struct DemoHub {
    pub(super) hub: Hub,
    pub(super) companion: Asked,
    pub(super) agent: Client,
    pub(super) operator: Client,
    /// Reports what people write, and vouches for nobody.
    pub(super) bridge: Client,
    /// What had arrived before; more than nothing in a directory that is used again.
    pub(super) before: i64,
    temporary: Option<PathBuf>,
}

/// The companion that there shall be.
pub(super) enum Wanted {
    /// In this process.
    Desktop(gatepost_companion::Settings, Display),
    /// In QEMU.
    Board(Ready),
}

/// The companion that asks.
pub(super) enum Asked {
    /// In this process, registered with the hub beforehand: both are new, and nobody stands between.
    Desktop(Companion),
    /// In QEMU, yet to be paired.
    Board(Board),
}

impl DemoHub {
    /// Starts it all, in `directory` or in a temporary one.
    pub(super) async fn open(directory: Option<&Path>, wanted: Wanted) -> Result<Self, DemoError> {
        let (directory, temporary) = match directory {
            Some(directory) => (directory.to_owned(), None),
            None => {
                let directory =
                    std::env::temp_dir().join(format!("gatepost-demo-{}", crate::random::hex::<8>()));
                (directory.clone(), Some(directory))
            }
        };
        let mut config = Config::parse(CONFIG, Path::new("demo")).map_err(DemoError::failed)?;
        config.hub.data_dir = directory.clone();
        config.hub.listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        config.broker.listen = free_port()?;

        let broker = config.broker.listen;
        let (hub, companion) = match wanted {
            Wanted::Desktop(app, display) => desktop(&config, app, display).await?,
            Wanted::Board(ready) => {
                let hub = Hub::start(&config, Extras::default()).await.map_err(DemoError::failed)?;
                let board = Board::start(ready, broker.port(), &directory.join("board")).await?;
                (hub, Asked::Board(board))
            }
        };

        let base = format!("http://{}", hub.address());
        let operator = fs::read_to_string(operator_token_path(&directory)).map_err(DemoError::failed)?;
        let agent = new_token(&hub, AGENT, Role::Agent).await?;
        let bridge = new_token(&hub, "porch", Role::Bridge).await?;
        let arrived = local::read(hub.store(), None, 0, u32::MAX).await.map_err(super::store)?;
        Ok(Self {
            agent: client(&base, &agent)?,
            operator: client(&base, operator.trim())?,
            bridge: client(&base, &bridge)?,
            before: arrived.last().map_or(0, |last| last.seq),
            hub,
            companion,
            temporary,
        })
    }

    /// Stops it all; a temporary directory goes.
    pub(super) async fn close(self) {
        drop(self.companion);
        self.hub.stop().await;
        if let Some(directory) = self.temporary
            && let Err(error) = fs::remove_dir_all(&directory)
        {
            print_note!("gatepost: cannot remove {}: {error}", directory.display());
        }
    }
}

/// A new token of this name, in the place of one from an earlier demo.
async fn new_token(hub: &Hub, name: &str, role: Role) -> Result<String, DemoError> {
    match agents::revoke(hub.store(), name, "operator").await {
        Ok(()) | Err(AgentError::Missing(_)) => {}
        Err(error) => return Err(DemoError::failed(error)),
    }
    agents::add(hub.store(), name, role, "operator").await.map_err(DemoError::failed)
}

/// A hub and a companion in this process.
async fn desktop(
    config: &Config,
    app: gatepost_companion::Settings,
    display: Display,
) -> Result<(Hub, Asked), DemoError> {
    let keys = Keys { sign: crate::random::bytes(), seal: SealSecret(crate::random::bytes()) };
    let introduced = Introduced::new(&keys, "demo");
    let extras = Extras { companion: Some(introduced.device.clone()), ..Extras::default() };
    let hub = Hub::start(config, extras).await.map_err(DemoError::failed)?;
    let bond = introduced.bond(hub.key(), hub.seal_key());
    let mut store = Store::memory();
    store.store_keys(&keys).and_then(|()| store.store_bond(&bond)).map_err(DemoError::failed)?;
    let companion = Companion::start(Settings {
        host: config.broker.listen.ip().to_string(),
        port: config.broker.listen.port(),
        store,
        geometry: Geometry::TEXT,
        app,
        display,
    })
    .map_err(DemoError::failed)?;
    Ok((hub, Asked::Desktop(companion)))
}

fn free_port() -> Result<SocketAddr, DemoError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(DemoError::failed)?;
    listener.local_addr().map_err(DemoError::failed)
}
