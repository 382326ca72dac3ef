//! `gatepost companion run`: a companion in this terminal, for a hub that runs here or elsewhere.
//!
//! It is the companion's own application over MQTT, with this terminal for a screen and two keys for buttons; nothing here
//! decides anything. It is marked as software when it is paired, and a hub takes its decisions only if its owner says so.

use std::{io, net::IpAddr, path::PathBuf};

use gatepost_companion::{Keys, NotShown, Screen, Settings as Application, Storage as _};
use gatepost_desktop::{
    Companion, Display, Settings, Store,
    terminal::{self, Keyboard, Stage},
};
use gatepost_link::seal::SealSecret;
use rumqttc::{TlsConfiguration, Transport};
use tokio::signal::unix::{SignalKind, signal};

use super::{
    announce::{Teller, Word},
    passphrase::KeysArguments,
};
use crate::{
    cli::Failed,
    client::Place,
    companion::{
        broker::{MEETING, Url, parse_url},
        tls::{self, Trust},
    },
    config::Config,
    hub::install_tls_provider,
    printing::print_note,
};

/// The broker's port where an address has none.
const PORT: u16 = 1883;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Arguments {
    /// The hub's MQTT broker: HOST, HOST:PORT or mqtts://HOST:PORT. Without it, the one that the configuration file says, or
    /// port 1883 on this machine.
    #[arg(long, value_name = "ADDRESS")]
    broker: Option<String>,
    /// The authorities that may have signed an mqtts:// broker's certificate: a PEM file.
    #[arg(long, value_name = "FILE", requires = "broker")]
    ca: Option<PathBuf>,
    #[command(flatten)]
    keys: KeysArguments,
    /// Forget the hub that it is paired with, and who it was there: make new keys, and be paired anew.
    #[arg(long)]
    forget: bool,
}

/// Where the broker is.
struct Broker {
    host: String,
    port: u16,
    transport: Transport,
}

pub(super) async fn run(place: &Place, arguments: Arguments) -> Result<(), Failed> {
    let geometry = geometry()?;
    let broker = match &arguments.broker {
        Some(address) => Broker::at(address, arguments.ca.as_deref().map(PathBuf::from))?,
        None => Broker::of_the_hub_here(place)?,
    };
    let directory = arguments.keys.directory()?;
    let _lock = Store::lock(&directory).map_err(Failed::refused)?;
    let Some(mut store) = arguments.keys.open(&directory)? else { return Ok(()) };
    if arguments.forget {
        forget(&mut store)?;
    }
    let paired = store.load_bond().map_err(Failed::refused)?.is_some();

    let mut stage = Stage::open().map_err(Failed::refused)?;
    let protocol = stage.protocol();
    let app = Application { short_approve: protocol.short_approve(), ..Application::default() };
    let Broker { host, port, transport } = broker;
    let settings = Settings { host: host.clone(), port, store, geometry, app, display: Display::Reported };
    let companion = Companion::start_over(settings, transport).map_err(Failed::refused)?;
    let keyboard = Keyboard::listen(protocol, companion.buttons()).map_err(Failed::refused)?;
    let opening = format!(
        "A software companion of the hub at {host}:{port}, with its keys in {}. [a] turns the page and, held for 1.5 s, \
         approves; [d] denies; q or Ctrl-C leaves.",
        directory.display()
    );
    let served = match stage.say(&opening) {
        Ok(()) => serve(&mut stage, &companion, keyboard, Teller::new(paired)).await,
        Err(error) => Err(error),
    };
    drop(companion);
    let closed = stage.close();
    served.and(closed).map_err(|error| Failed::Refused(format!("the terminal is gone: {error}")))
}

/// Draws, and says what was shown, and tells what happens, until the person leaves or the terminal does.
async fn serve(
    stage: &mut Stage,
    companion: &Companion,
    mut keyboard: Keyboard,
    mut teller: Teller,
) -> io::Result<()> {
    let (mut screens, mut contacts) = (companion.screens(), companion.contacts());
    let drawings = companion.drawings();
    let (mut terminate, mut hang_up) = (signal(SignalKind::terminate())?, signal(SignalKind::hangup())?);
    screens.mark_changed();
    contacts.mark_changed();
    loop {
        tokio::select! {
            changed = screens.changed() => match changed {
                Ok(()) => {
                    let screen: Screen = screens.borrow_and_update().clone();
                    let time = jiff::Zoned::now().strftime("%H:%M:%S").to_string();
                    tell(stage, teller.view(&screen.view, &time))?;
                    let taken = stage.show(&screen).map_err(|_| NotShown);
                    drawings.send((screen, taken)).await.map_err(|_| stopped())?;
                }
                Err(_) => return Err(stopped()),
            },
            Ok(()) = contacts.changed() => {
                let contact = contacts.borrow_and_update().clone();
                tell(stage, teller.contact(&contact))?;
            }
            () = keyboard.interrupted() => return Ok(()),
            _ = terminate.recv() => return Ok(()),
            _ = hang_up.recv() => return Ok(()),
        }
    }
}

fn stopped() -> io::Error {
    io::Error::other("the companion ended by itself")
}

fn tell(stage: &mut Stage, word: Option<Word>) -> io::Result<()> {
    match word {
        Some(Word::Say(line)) => stage.say(&line),
        Some(Word::Ring) => stage.ring(),
        None => Ok(()),
    }
}

/// The screen that this terminal has room for.
fn geometry() -> Result<gatepost_companion::Geometry, Failed> {
    let usage =
        |error: io::Error| Failed::Usage(format!("{error} (over ssh: ssh -t HOST gatepost companion run)"));
    terminal::required().and_then(|()| terminal::geometry()).map_err(usage)
}

/// Makes the companion another one, which no hub knows.
fn forget(store: &mut Store) -> Result<(), Failed> {
    let keys = Keys { sign: crate::random::bytes(), seal: SealSecret(crate::random::bytes()) };
    // The keys first: without them the bond is worth nothing.
    store.store_keys(&keys).and_then(|()| store.wipe_bond()).map_err(Failed::refused)
}

impl Broker {
    /// The one of this address.
    fn at(address: &str, ca: Option<PathBuf>) -> Result<Self, Failed> {
        let bare = !address.contains("://");
        let url = if bare { format!("mqtt://{address}") } else { address.to_owned() };
        let Url { secure, host, port } = parse_url(&url).map_err(|_| {
            Failed::Usage(format!(
                "{address:?} is not a broker's address: write HOST, HOST:PORT or mqtts://HOST:PORT"
            ))
        })?;
        let transport = match secure {
            false => Transport::Tcp,
            true => {
                install_tls_provider();
                let tls = tls::client(Trust { named: MEETING, ca: ca.as_deref(), own: None })
                    .map_err(Failed::refused)?;
                Transport::tls_with_config(TlsConfiguration::Rustls(tls))
            }
        };
        Ok(Self { host, port, transport })
    }

    /// The one that the hub's configuration names.
    fn of_the_hub_here(place: &Place) -> Result<Self, Failed> {
        if !place.config.exists() {
            let host = std::net::Ipv4Addr::LOCALHOST.to_string();
            print_note!(
                "no {} here: looking for the hub at {host}:{PORT} (--broker ADDRESS says where it is)",
                place.config.display()
            );
            return Ok(Self { host, port: PORT, transport: Transport::Tcp });
        }
        let config = Config::load(&place.config).map_err(Failed::refused)?;
        if !config.approval.allow_software_companion {
            print_note!(
                "warning: {} does not say [approval] allow_software_companion = true: that hub neither pairs this companion nor takes its decisions",
                place.config.display()
            );
        }
        if let Some(url) = &config.broker.url {
            return Self::at(url, config.broker.ca);
        }
        let listen = config.broker.listen;
        let host = match listen.ip() {
            IpAddr::V4(any) if any.is_unspecified() => std::net::Ipv4Addr::LOCALHOST.to_string(),
            IpAddr::V6(any) if any.is_unspecified() => std::net::Ipv6Addr::LOCALHOST.to_string(),
            one => one.to_string(),
        };
        Ok(Self { host, port: listen.port(), transport: Transport::Tcp })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brokers_address_needs_no_scheme_and_no_port() {
        for (address, host, port) in [
            ("hub.home", "hub.home", 1883),
            ("hub.home:1884", "hub.home", 1884),
            ("192.168.1.7", "192.168.1.7", 1883),
        ] {
            let broker = Broker::at(address, None).unwrap();
            assert_eq!((broker.host.as_str(), broker.port), (host, port));
            assert!(matches!(broker.transport, Transport::Tcp));
        }
        for wrong in ["", "http://hub.home", "hub.home:port", "a/b"] {
            let error = Broker::at(wrong, None).err().unwrap().to_string();
            assert!(error.contains("is not a broker's address"), "{error}");
        }
    }
}
