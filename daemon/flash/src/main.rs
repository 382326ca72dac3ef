//! The program: what a hub starts to put a companion's firmware into a board. Each thing that happens is a line of JSON.
#![forbid(unsafe_code)]

use std::{
    fs::File,
    io::{Read as _, Write as _},
    os::unix::process::parent_id,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use clap::Parser;
use gatepost_flash::{
    image::{Image, MAX_FILE},
    install::{self, Progress},
    set_up::{self, Order},
};
use serde_json::{Value, json};

/// Bytes of the longest order.
const MAX_ORDER: u64 = 4096;

/// Writes a companion's firmware into an ESP32-C3 or ESP32-C6, and tells it its network. `gatepost companion install` does all of it.
///
/// What happens is printed as lines of JSON, each with an `event`; the last one of a failure is `error`, with what to do as `text`.
#[derive(Debug, Parser)]
#[command(name = "gatepost-flash", version, max_term_width = 110)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// The serial port, such as one in /dev/serial/by-id.
    #[arg(long, global = true, value_name = "PORT", default_value = "/dev/ttyACM0")]
    port: PathBuf,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Say which board is there.
    Detect {
        /// For how many seconds to look: a board that answers a byte now and then would be listened to for ever.
        #[arg(long, value_name = "SECONDS", default_value_t = 30)]
        patience: u64,
    },
    /// Write firmware into it, verify it, and start it.
    Write {
        /// A file of a release: gatepost-BOARD-VERSION.bin, .ota.bin or .gpu; or - for standard input.
        image: PathBuf,
        /// For how many seconds writing may come no further. Erasing and verifying a piece takes a few; a board that talks on and on, as
        /// one does that restarts again and again, would be listened to for ever.
        #[arg(long, value_name = "SECONDS", default_value_t = 40)]
        patience: u64,
    },
    /// Check what is to be told to a companion, without a board. Read from standard input, as set-up does.
    Check,
    /// List the wireless networks that a companion hears.
    Networks,
    /// Tell a companion its network and its hub. Read from standard input, a line of JSON with any of the members ssid, password and
    /// hub (HOST or HOST:PORT).
    SetUp,
}

fn main() -> ExitCode {
    let Arguments { command, port } = Arguments::parse();
    if !matches!(command, Command::Write { .. }) {
        end_with_parent();
    }
    let done = match command {
        Command::Detect { patience } => detect(&port, Duration::from_secs(patience)),
        Command::Write { image, patience } => write(&port, &image, Duration::from_secs(patience)),
        Command::Check => order().map(drop),
        Command::Networks => networks(&port),
        Command::SetUp => set_up(&port),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            tell(&json!({"event": "error", "text": text}));
            ExitCode::FAILURE
        }
    }
}

/// Who reads may have ended, as a board that is being written must not.
fn tell(event: &Value) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{event}").and_then(|()| out.flush());
}

/// Who started this and was killed has told nobody to let the port go. A board that is being written is written to its end.
fn end_with_parent() {
    let parent = parent_id();
    thread::spawn(move || {
        while parent_id() == parent {
            thread::sleep(Duration::from_millis(500));
        }
        std::process::exit(1);
    });
}

fn detect(port: &Path, patience: Duration) -> Result<(), String> {
    watched(patience);
    let board = install::detect(port).map_err(|error| error.to_string())?;
    tell(&json!({"event": "board", "board": board.name()}));
    Ok(())
}

fn write(port: &Path, path: &Path, patience: Duration) -> Result<(), String> {
    let cannot = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    let mut file = Vec::new();
    let most = MAX_FILE as u64 + 1;
    let read = match path == Path::new("-") {
        true => std::io::stdin().take(most).read_to_end(&mut file),
        false => File::open(path).and_then(|open| open.take(most).read_to_end(&mut file)),
    };
    read.map_err(cannot)?;
    if file.len() > MAX_FILE {
        return Err(format!("{} is longer than a board's whole flash", path.display()));
    }
    let last = watched(patience);
    let board = install::detect_to_write(port).map_err(|error| error.to_string())?;
    let image = Image::of(&file, board).map_err(|error| error.to_string())?;
    let (bytes, version) = (image.bytes.len(), image.version.as_deref());
    tell(&json!({"event": "begins", "board": board.name(), "version": version, "bytes": bytes}));
    let mut percent = None;
    let mut progress = |step| {
        *last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        match step {
            Progress::Board(_) => {}
            Progress::Written(done, all) => {
                let now = done * 100 / all.max(1);
                if percent.replace(now) != Some(now) {
                    tell(&json!({"event": "written", "percent": now}));
                }
            }
            Progress::Again => tell(&json!({"event": "again"})),
        }
    };
    install::write(port, &image, &mut progress).map_err(|error| error.to_string())?;
    tell(&json!({"event": "verified", "bytes": bytes}));
    Ok(())
}

/// Ends the program if it comes no further; when it last did.
fn watched(patience: Duration) -> Arc<Mutex<Instant>> {
    let last = Arc::new(Mutex::new(Instant::now()));
    let seen = Arc::clone(&last);
    thread::spawn(move || {
        while seen.lock().unwrap_or_else(PoisonError::into_inner).elapsed() < patience {
            thread::sleep(patience / 40);
        }
        tell(
            &json!({"event": "error", "text": "the board answers no more: try another cable, another port and a supply that is strong \
                     enough, hold BOOT while you plug it in, and run this again"}),
        );
        std::process::exit(1);
    });
    last
}

fn networks(port: &Path) -> Result<(), String> {
    let found = set_up::open(port).and_then(|mut line| set_up::networks(&mut line));
    for network in found.map_err(|error| error.to_string())? {
        let set_up::Network { name, dbm, is_open } = network;
        tell(&json!({"event": "network", "ssid": name, "dbm": dbm, "open": is_open}));
    }
    Ok(())
}

/// What is to be told to a companion, if it can be.
fn order() -> Result<Order, String> {
    let mut text = String::new();
    let read = std::io::stdin().take(MAX_ORDER).read_to_string(&mut text);
    let order: Value = read.ok().and_then(|_| serde_json::from_str(&text).ok()).ok_or(
        "standard input has no order: a line of JSON with ssid, password and hub, of 4096 bytes at most",
    )?;
    let member = |name: &str| order.get(name).and_then(Value::as_str).map(str::to_owned);
    let wifi = member("ssid").map(|ssid| (ssid, member("password").unwrap_or_default()));
    let order = Order { wifi, hub: member("hub") };
    order.check().map_err(|error| error.to_string())?;
    Ok(order)
}

fn set_up(port: &Path) -> Result<(), String> {
    let order = order()?;
    let mut progress = |step| match step {
        set_up::Progress::Answers(version) => tell(&json!({"event": "answers", "version": version})),
        set_up::Progress::Joining => tell(&json!({"event": "joining"})),
        set_up::Progress::Joined => tell(&json!({"event": "joined"})),
        set_up::Progress::HubKept => tell(&json!({"event": "hub_kept"})),
    };
    let done = set_up::open(port).and_then(|mut line| set_up::set_up(&mut line, &order, &mut progress));
    done.map_err(|error| error.to_string())
}
