//! `gatepost companion install`: a board on a serial port becomes a companion, in one command.
//!
//! Everything that can be refused is refused before the board is written: where the hub's broker is, the image, the network's name and
//! password. The port is used by [`flasher`], a program of its own. Whatever ends it on the way, the same command goes on from there:
//! a board can be written again at any time, and what it keeps (keys, network, pairing) is not in what is written.

mod flasher;
mod target;

use std::{
    io::{IsTerminal as _, Write as _},
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use self::flasher::Flasher;
use super::pair;
use crate::{
    cli::{Failed, output::text, setup::asking::Asking},
    client::{Client, Place},
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
    let mut stop = signal(SignalKind::interrupt()).map_err(Failed::refused)?;
    let client = Client::at(place)?;
    let hub = target::hub(place, arguments.broker.as_deref())?;
    let given = arguments.wifi.as_deref().map(|name| password(name, arguments.wifi_password.as_deref()));
    let password = given.transpose()?;
    let port = target::port(arguments.port.as_deref())?;
    let flasher = Flasher::find(&port)?;
    let mut stage = Stage::Before;
    let work = install(&client, &flasher, &arguments, password, &hub, &mut stage);
    let done = tokio::select! {
        done = work => done,
        Some(()) = stop.recv() => Err(Failed::Refused("stopped".into())),
    };
    if let Err(error) = done {
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

async fn install(
    client: &Client,
    flasher: &Flasher,
    arguments: &Arguments,
    password: Option<Secret>,
    hub: &str,
    stage: &mut Stage,
) -> Result<(), Failed> {
    if !arguments.keep_firmware {
        write(client, flasher, arguments.image.as_deref(), stage).await?;
    }
    *stage = Stage::SettingUp;
    let wifi = match (&arguments.wifi, password) {
        (Some(name), Some(password)) => Some((name.clone(), password)),
        _ => ask(flasher).await?,
    };
    let mut order = json!({"hub": hub});
    if let Some((name, password)) = &wifi {
        order["ssid"] = json!(name);
        order["password"] = json!(password.expose());
    }
    let said = |event: &Value| match text(event, "event") {
        "answers" => print_note!("companion firmware {} answers", visible_line(text(event, "version"))),
        "joining" => print_note!("it joins the network, which may take a minute ..."),
        "joined" => print_note!("it is in the network, and keeps it"),
        "hub_kept" => print_note!("it looks for the hub at {hub}"),
        _ => {}
    };
    flasher.run(&["set-up"], order.to_string().as_bytes(), said).await
}

/// Writes the firmware of the board that is there.
async fn write(
    client: &Client,
    flasher: &Flasher,
    image: Option<&Path>,
    stage: &mut Stage,
) -> Result<(), Failed> {
    print_note!("looking for a board on {} ...", flasher.port().display());
    let mut board = String::new();
    flasher
        .run(&["detect"], b"", |event| {
            if text(event, "event") == "board" {
                text(event, "board").clone_into(&mut board);
            }
        })
        .await?;
    print_note!("it is an {board}");
    let (file, bytes) = match image {
        Some(image) => {
            let path = image.to_str().ok_or_else(|| Failed::Usage("the image's path is not UTF-8".into()))?;
            (path, vec![])
        }
        None => {
            let bytes = client.release_image(&board).await.map_err(|error| match Failed::from(error) {
                Failed::NotFound(why) => Failed::NotFound(format!("{why}, or give --image FILE")),
                other => other,
            })?;
            ("-", bytes)
        }
    };
    let mut bar = Bar::default();
    let done = flasher
        .run(&["write", file], &bytes, |event| match text(event, "event") {
            "begins" => {
                *stage = Stage::Writing;
                print_note!("writing firmware {}", visible_line(text(event, "version")));
            }
            "written" => bar.show(event.get("percent").and_then(Value::as_u64).unwrap_or(0)),
            "again" => bar.say("something was lost on the line; once more"),
            "verified" => bar.say("written, and verified by the chip"),
            _ => {}
        })
        .await;
    bar.end();
    done
}

/// Which network, of those that the board hears; nothing if it keeps the one that it has.
async fn ask(flasher: &Flasher) -> Result<Option<(String, Secret)>, Failed> {
    let asking = Asking::new(false);
    if !asking.is_possible() {
        return Ok(None);
    }
    print_note!("the board looks for networks ...");
    flasher
        .run(&["networks"], b"", |event| {
            if text(event, "event") == "network" {
                let open = if event.get("open") == Some(&Value::Bool(true)) { ", open" } else { "" };
                let (name, dbm) = (text(event, "ssid"), text(event, "dbm"));
                print_note!("  {} ({} dBm{open})", visible_line(name), visible_line(dbm));
            }
        })
        .await?;
    // Who leaves at a question has not read that nothing was written, which would be wrong here.
    let stopped = |_| Failed::Refused("stopped".into());
    let question = "network (Enter: the one that it has already)";
    let name = asking.line(question, "").await.map_err(stopped)?;
    if name.is_empty() {
        return Ok(None);
    }
    let question = format!("password of {}", visible_line(&name));
    let password = asking.secret(&question).await.map_err(stopped)?;
    Ok(Some((name, password.unwrap_or_else(|| Secret::from("")))))
}

/// The password of a network: where somebody says that it is, or typed.
fn password(name: &str, source: Option<&str>) -> Result<Secret, Failed> {
    let Some(source) = source else {
        let typed = gatepost_desktop::prompt::hidden(&format!("password of {}", visible_line(name)));
        let typed = typed.map_err(|_| {
            Failed::Usage("there is no terminal to type the network's password at: say where it is with --wifi-password file:PATH".into())
        })?;
        return typed.map(|typed| Secret::from(typed.as_str())).ok_or(Failed::Said);
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
