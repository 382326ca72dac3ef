//! `gatepost companion`: the operator's side of companions, and a companion in this terminal ([`run`]).

mod announce;
pub(super) mod install;
pub(super) mod passphrase;
pub(super) mod run;

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{
    Failed,
    output::{self, text},
};
use crate::{
    approval::availability::Unable,
    client::{Client, Place, Request, escaped},
    printing::{print_note, print_result},
};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Pair a companion that shows "not paired": compare the number on both sides, and hold its Approve button.
    Pair {
        /// What to call it. A free name, if none is given.
        #[arg(long)]
        name: Option<String>,
    },
    /// Make a board a companion: its chip is recognised, the firmware is written and verified, it is told its wireless network and its hub,
    /// and it is paired. For an ESP32-C3 or ESP32-C6 with a display and two buttons, plugged in here; firmware/README.md has the wiring.
    Install(Box<install::Arguments>),
    /// Be a companion, in this terminal: show what waits, page by page, and decide on it with two keys. For a hub on this machine or
    /// elsewhere; it must allow software companions. Pair it with: gatepost companion pair, at the hub.
    Run(run::Arguments),
    /// List companions: which are here and whether their display works, when they were last seen, when they last decided, which firmware
    /// they run and how far a newer one is.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Give a companion another name.
    Rename {
        /// Its name, or its key as it is listed.
        companion: String,
        /// The new name.
        name: String,
    },
    /// Take the right to decide from a companion, at once and for good.
    Revoke {
        /// Its name, or its key as it is listed.
        companion: String,
    },
}

pub(super) async fn run(place: &Place, command: Command) -> Result<(), Failed> {
    let command = match command {
        // Of the hub it needs to know no more than where its broker is.
        Command::Run(arguments) => return run::run(place, arguments).await,
        Command::Install(arguments) => return install::run(place, *arguments).await,
        command => command,
    };
    let client = Client::at(place)?;
    match command {
        Command::Run(_) | Command::Install(_) => {}
        Command::Pair { name } => pair(&client, name).await?,
        Command::List { json } => {
            let answer = client.call(Method::GET, "/v1/companions", Request::default()).await?;
            let broker = answer.get("broker").cloned().unwrap_or_default();
            if broker.get("connected") == Some(&Value::Bool(false)) {
                print_note!("the MQTT broker is away, and everybody with it: {}", text(&broker, "reason"));
            }
            let companions = answer.get("companions").and_then(Value::as_array).cloned().unwrap_or_default();
            match json {
                true => print_result!("{}", Value::Array(companions))?,
                false => print_result!("{}", list(&companions))?,
            }
        }
        Command::Rename { companion, name } => {
            let path = format!("{}/rename", path(&companion)?);
            let request = Request { body: Some(json!({"name": name})), ..Request::default() };
            client.call(Method::POST, &path, request).await?;
            print_note!("{companion} is called {name} now");
        }
        Command::Revoke { companion } => {
            let answer = client.call(Method::DELETE, &path(&companion)?, Request::default()).await?;
            let number = |member: &str| answer.get(member).and_then(Value::as_u64).unwrap_or(0);
            print_note!("{companion} may not decide any more");
            if number("withdrawn") > 0 {
                print_note!(
                    "its approvals of messages that still wait are taken back: {}",
                    number("withdrawn")
                );
            }
            if number("left") < number("quorum") {
                let (left, quorum) = (number("left"), number("quorum"));
                print_note!("companions left: {left}; as {quorum} must approve, what is held now expires");
            }
        }
    }
    Ok(())
}

/// By so much later a Ctrl-C may be noticed than the end of the input that came with it.
const CLOSING: Duration = Duration::from_millis(200);
/// How long a call may wait for a device, or for the person before it.
const MINUTE: Duration = Duration::from_secs(60);

async fn pair(client: &Client, name: Option<String>) -> Result<(), Failed> {
    // Once, for all of it: a Ctrl-C between two steps counts at the next.
    let mut stop = signal(SignalKind::interrupt()).map_err(Failed::refused)?;
    print_note!("waiting for a companion that shows \"not paired\" ...");
    let wait = Request { wait: MINUTE, ..Request::default() };
    let shown = unless_stopped(&mut stop, client.call(Method::POST, "/v1/pairing", wait))
        .await
        .ok_or(Failed::Said)??;
    let code = text(&shown, "code").to_owned();
    if text(&shown, "kind") == "software" {
        print_note!(
            "It is software, not a device: its key lies on the computer that runs it, and whoever has that key can approve. This hub \
             takes its decisions, because of [approval] allow_software_companion."
        );
    }
    print_result!("{} {}", code.get(..3).unwrap_or(&code), code.get(3..).unwrap_or_default())?;
    print_note!(
        "If the companion shows this number, hold its Approve button and type yes. Or type the number that it shows:"
    );
    let typed = match unless_stopped(&mut stop, tokio::task::spawn_blocking(typed)).await {
        Some(typed) => {
            let typed = typed.map_err(Failed::refused)?;
            // Whoever stops the program often closes its input too, and that may be noticed first.
            if typed.is_empty() {
                let _ = unless_stopped(&mut stop, tokio::time::sleep(CLOSING)).await;
            }
            typed
        }
        // No call is open now: the hub must be told, or it waits for an answer and nobody else can pair meanwhile.
        None => String::new(),
    };
    let same = typed.eq_ignore_ascii_case("yes") || typed.replace(' ', "") == code;
    let body = Some(json!({"same": same, "name": name}));
    let path = format!("/v1/pairing/{}", escaped(&code));
    let request = Request { body, wait: MINUTE, ..Request::default() };
    let answer = client.call(Method::POST, &path, request);
    let answer = unless_stopped(&mut stop, answer).await.ok_or(Failed::Said)??;
    let companion = answer.get("companion").cloned().unwrap_or_default();
    print_note!(
        "paired: {} ({} {})",
        text(&companion, "name"),
        text(&companion, "kind"),
        text(&companion, "key")
    );
    Ok(())
}

/// What the work results in, or nothing if Ctrl-C is pressed first. A call that is broken off so ends the attempt: the hub sees
/// that its connection closes.
async fn unless_stopped<T>(stop: &mut Signal, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        // First: a terminal that is closed ends what is typed as well.
        biased;
        Some(()) = stop.recv() => {
            print_note!("stopped");
            None
        }
        result = work => Some(result),
    }
}

/// A line, or nothing. Only the whole word or number counts: whoever presses Enter without looking has compared nothing.
fn typed() -> String {
    let mut line = String::new();
    match std::io::stdin().read_line(&mut line) {
        Ok(_) => line.trim().to_owned(),
        Err(_) => String::new(),
    }
}

fn path(companion: &str) -> Result<String, Failed> {
    match companion {
        // A path with nothing in this place, or with these, would be another call's.
        "" | "." | ".." => Err(Failed::Usage(format!("{companion:?} is not a companion's name"))),
        _ => Ok(format!("/v1/companions/{}", escaped(companion))),
    }
}

/// Whether this is why the hub says that a companion cannot be asked.
fn is_unable(companion: &Value, why: Unable) -> bool {
    text(companion, "unable_because") == why.to_string()
}

fn list(companions: &[Value]) -> String {
    let rows: Vec<Vec<String>> = companions
        .iter()
        .map(|companion| {
            let is = |member: &str| companion.get(member) == Some(&Value::Bool(true));
            let state = match (text(companion, "revoked_at"), is("online"), is("able")) {
                ("", ..) if is_unable(companion, Unable::Software) => "not allowed",
                ("", true, true) => "online",
                ("", true, false) if is_unable(companion, Unable::Firmware) => "too old",
                ("", true, false) if is_unable(companion, Unable::Silent) => "pending",
                ("", true, false) => "no display",
                ("", false, _) => "offline",
                _ => "revoked",
            };
            let counter = companion.get("counter").map(Value::to_string).unwrap_or_default();
            let moment = |member: &str| output::moment(text(companion, member));
            vec![
                text(companion, "name").into(),
                text(companion, "key").into(),
                text(companion, "kind").into(),
                state.into(),
                moment("added_at"),
                moment("seen_at"),
                moment("decided_at"),
                counter,
                moment("revoked_at"),
                firmware(companion),
                update(companion),
            ]
        })
        .collect();
    let header = [
        "NAME", "KEY", "KIND", "STATE", "ADDED", "SEEN", "DECIDED", "COUNTER", "REVOKED", "FIRMWARE",
        "UPDATE",
    ];
    output::table(&header, &rows)
}

/// What a companion runs: a dash where its firmware is too old to say so.
pub(super) fn firmware(companion: &Value) -> String {
    let Some(firmware) = companion.get("firmware").filter(|firmware| firmware.is_object()) else {
        return "-".into();
    };
    let trial = match text(firmware, "state") {
        "trial" => " (on trial)",
        "went_back" => " (went back)",
        _ => "",
    };
    format!("{} {}{trial}", text(firmware, "board"), text(firmware, "version"))
}

/// How far a companion is with what is rolled out to it: a dash where nothing is.
pub(super) fn update(companion: &Value) -> String {
    match companion.get("update").filter(|update| update.is_object()) {
        Some(update) => format!("{}: {}", text(update, "version"), text(update, "text")),
        None => "-".into(),
    }
}
