//! `gatepost companion install`: a board on a serial port becomes a companion, in one command.
//!
//! Everything that can be refused is refused before the board is written: the hub, where its broker is, the companion's name, the image, a
//! network's name and password.

use std::{
    io::{IsTerminal as _, Write as _},
    path::{Path, PathBuf},
};

use gatepost_desktop::prompt;
use reqwest::Method;
use tokio::signal::unix::SignalKind;

use super::pair;
use crate::{
    approval::registry::check_name,
    cli::{Failed, setup::asking::Asking, stop::Stop},
    client::{Client, Place, Request},
    config::Config,
    installer::{self, Flasher, Image, InstallError, Step, Wifi, target},
    printing::{print_note, visible_line},
    settings::secret::{Secret, SecretSource},
};

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Arguments {
    /// The serial port that the board is on, such as /dev/ttyACM0. Without it, the only one that there is in /dev/serial/by-id.
    #[arg(long, value_name = "PORT")]
    port: Option<PathBuf>,
    /// A file of a release: gatepost-BOARD-VERSION.bin, .ota.bin or .gpu. Without it, the newest release that the hub has for the board
    /// (gatepost ota add).
    #[arg(long, value_name = "FILE", conflicts_with = "keep_firmware")]
    image: Option<PathBuf>,
    /// Write no firmware: the board is a companion already, and gets another network or another hub.
    #[arg(long)]
    keep_firmware: bool,
    /// Do not pair it: it is paired already, and stays so.
    #[arg(long, conflicts_with = "name")]
    no_pairing: bool,
    /// The wireless network's name. Without it, the board lists those that it hears, and you are asked.
    #[arg(long, value_name = "NAME")]
    wifi: Option<String>,
    /// Where the network's password is: file:PATH, env:NAME or credential:NAME. Without it you are asked, and press Enter
    /// for an open network.
    #[arg(long, value_name = "SOURCE", requires = "wifi")]
    wifi_password: Option<String>,
    /// Where the board finds the hub's MQTT broker: HOST or HOST:PORT. Without it, what [broker] says, and this machine's address.
    #[arg(long, value_name = "ADDRESS")]
    broker: Option<String>,
    /// What to call the companion. A free name, if none is given.
    #[arg(long)]
    name: Option<String>,
}

/// How far it is, for the person who stops it or has to know what the board is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Before,
    Writing,
    SettingUp,
}

pub(super) async fn run(place: &Place, arguments: Arguments) -> Result<(), Failed> {
    // Once, for all of it.
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup(), SignalKind::quit()];
    let mut stop = Stop::on(&kinds)?;
    let client = Client::at(place)?;
    let mut stage = Stage::Before;
    let done = tokio::select! {
        biased;
        () = stop.asked() => None,
        done = install(place, &client, &arguments, &mut stage) => Some(done),
    };
    if let Err(error) = done.unwrap_or_else(|| {
        prompt::abandon();
        Err(stopped())
    }) {
        tell(stage);
        return Err(error);
    }
    if arguments.no_pairing {
        return Ok(());
    }
    let paired = pair(&client, arguments.name).await;
    if paired.is_err() {
        print_note!(
            "the board has its firmware, its network and its hub; to pair it: gatepost companion pair"
        );
    }
    paired
}

/// What the board is, where it does not go on.
fn tell(stage: Stage) {
    match stage {
        Stage::Before => {}
        Stage::Writing => print_note!(
            "the board's firmware is not whole: run the same command again, which writes what is missing. Its keys and its network, if it \
             had any, are still there"
        ),
        Stage::SettingUp => print_note!(
            "the board has its firmware; what it was not told yet it gets with the same command and --keep-firmware"
        ),
    }
}

/// Who leaves at a question has not read that nothing was written, which would be wrong here.
fn stopped() -> Failed {
    Failed::Refused("stopped".into())
}

async fn install(
    place: &Place,
    client: &Client,
    arguments: &Arguments,
    stage: &mut Stage,
) -> Result<(), Failed> {
    let hub = hub(place, arguments.broker.as_deref())?;
    let port = port(arguments.port.as_deref())?;
    let flasher = &Flasher::find(&port)?;
    // It is the operator who asks, and the hub is there.
    client.call(Method::GET, "/v1/boards", Request::default()).await?;
    if let Some(name) = &arguments.name {
        check_name(name).map_err(|error| Failed::Usage(error.to_string()))?;
    }
    let mut wifi = match &arguments.wifi {
        Some(name) => {
            let password = password(name, arguments.wifi_password.as_deref()).await?;
            Some(Wifi { name: name.clone(), password })
        }
        None => None,
    };
    installer::check(flasher, &hub, wifi.as_ref()).await.map_err(|error| Failed::Usage(error.to_string()))?;
    if !arguments.keep_firmware {
        write(client, flasher, arguments.image.as_deref(), stage).await?;
        *stage = Stage::SettingUp;
    }
    if wifi.is_none() {
        wifi = ask(flasher).await?;
    }
    let said = |step| match step {
        Step::Answers { version } => print_note!("companion firmware {version} answers"),
        Step::Joining => print_note!("it joins the network, which may take a minute ..."),
        Step::Joined => print_note!("it is in the network, and keeps it"),
        Step::HubKept => print_note!("it looks for the hub at {hub}"),
        _ => {}
    };
    Ok(installer::set_up(flasher, &hub, wifi.as_ref(), said).await?)
}

/// Writes the firmware of the board that is there.
async fn write(
    client: &Client,
    flasher: &Flasher,
    image: Option<&Path>,
    stage: &mut Stage,
) -> Result<(), Failed> {
    print_note!("looking for a board on {} ...", visible_line(&flasher.port().to_string_lossy()));
    let board = installer::detect(flasher).await?;
    print_note!("it is an {board}");
    let bytes;
    let image = match image {
        Some(image) => {
            let path = image.to_str().filter(|path| *path != "-");
            let path = path.ok_or_else(|| Failed::Usage("--image is the path of a file, in UTF-8".into()))?;
            print_note!(
                "this file's signature is not looked at: whoever gave it to you is trusted. What the hub has is verified (gatepost ota add)"
            );
            Image::File(path)
        }
        None => {
            bytes = client.release_image(&board).await.map_err(|error| match Failed::from(error) {
                Failed::NotFound(why) => Failed::NotFound(format!("{why}, or give --image FILE")),
                other => other,
            })?;
            Image::Bytes(&bytes)
        }
    };
    let mut bar = Bar::default();
    let done = installer::write(flasher, image, |step| match step {
        Step::Begins { version } => {
            *stage = Stage::Writing;
            print_note!("writing firmware {version}");
        }
        Step::Written { percent } => bar.show(percent),
        Step::Again => bar.say("something was lost on the line; once more"),
        Step::Verified => bar.say("written, and verified by the chip"),
        _ => {}
    })
    .await;
    bar.end();
    Ok(done?)
}

/// Which network, of those that the board hears; nothing if it keeps the one that it has.
async fn ask(flasher: &Flasher) -> Result<Option<Wifi>, Failed> {
    let asking = Asking::new(false);
    if !asking.is_possible() {
        return Ok(None);
    }
    print_note!("the board looks for networks ...");
    installer::networks(flasher, |step| {
        if let Step::Network { name, dbm, open } = step {
            let open = if open { ", open" } else { "" };
            print_note!("  {} ({dbm} dBm{open})", visible_line(&name));
        }
    })
    .await?;
    let question = "network (Enter: the one that it has already)";
    let name = asking.line(question, "").await.map_err(|_| stopped())?;
    if name.is_empty() {
        return Ok(None);
    }
    let question = format!("password of {}", visible_line(&name));
    let password = asking.secret(&question).await.map_err(|_| stopped())?;
    Ok(Some(Wifi { name, password: password.unwrap_or_else(|| Secret::from("")) }))
}

/// The port that is given, or the only one that there is.
fn port(given: Option<&Path>) -> Result<PathBuf, Failed> {
    match given {
        Some(port) => Ok(port.into()),
        None => only(target::ports()),
    }
}

fn only(ports: Vec<PathBuf>) -> Result<PathBuf, Failed> {
    match &ports[..] {
        [one] => Ok(one.clone()),
        [] => Err(Failed::Usage(
            "no board is plugged in: use a cable that carries data, or say --port PORT. If there is a port and it is not seen, hold BOOT \
             while you plug it in"
                .into(),
        )),
        many => {
            let list: Vec<String> = many.iter().map(|port| format!("  --port {}", port.display())).collect();
            Err(Failed::Usage(format!("several serial ports are there; say which:\n{}", list.join("\n"))))
        }
    }
}

/// Where the board finds the hub's broker.
fn hub(place: &Place, given: Option<&str>) -> Result<String, Failed> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    let config = Config::load(&place.config).map_err(Failed::refused)?;
    target::broker(&config.broker).map_err(|error| {
        Failed::Usage(format!("{error}; or say where the board finds it: --broker HOST:PORT"))
    })
}

/// The password of a network: where somebody says that it is, or typed.
async fn password(name: &str, source: Option<&str>) -> Result<Secret, Failed> {
    let Some(source) = source else {
        let asking = Asking::new(false);
        if !asking.is_possible() {
            return Err(Failed::Usage(
                "there is no terminal to type the network's password at: say where it is with --wifi-password file:PATH".into(),
            ));
        }
        let question = format!("password of {}", visible_line(name));
        let typed = asking.secret(&question).await.map_err(|_| stopped())?;
        return Ok(typed.unwrap_or_else(|| Secret::from("")));
    };
    let source = SecretSource::try_from(source.to_owned()).map_err(|_| {
        Failed::Usage(
            "--wifi-password is file:PATH, env:NAME or credential:NAME, never the password itself".into(),
        )
    })?;
    source.refuse_everybodys().map_err(Failed::refused)?;
    source.read().map_err(Failed::refused)
}

/// Percents, on one line where somebody looks.
#[derive(Debug, Default)]
struct Bar {
    is_open: bool,
    last: u64,
}

impl Bar {
    fn show(&mut self, percent: u64) {
        if std::io::stderr().is_terminal() {
            self.is_open = true;
            let _ = write!(std::io::stderr(), "\r{percent:>3} %");
        } else if percent / 25 > self.last / 25 {
            print_note!("{percent} %");
        }
        self.last = percent;
    }

    fn say(&mut self, line: &str) {
        self.end();
        print_note!("{line}");
    }

    fn end(&mut self) {
        if std::mem::take(&mut self.is_open) {
            let _ = writeln!(std::io::stderr());
        }
    }
}

impl From<InstallError> for Failed {
    fn from(error: InstallError) -> Self {
        Self::refused(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_port_is_taken_and_of_several_none() {
        let none = only(vec![]).unwrap_err().to_string();
        assert!(none.contains("no board is plugged in"), "{none}");
        let ports =
            ["/dev/serial/by-id/usb-1a86-port0", "/dev/serial/by-id/usb-Espressif"].map(PathBuf::from);
        assert_eq!(only(vec![ports[0].clone()]).unwrap(), ports[0]);
        let several = only(ports.into()).unwrap_err().to_string();
        assert!(several.contains("--port") && several.contains("usb-1a86-port0"), "{several}");
    }
}
