//! `gatepost ota`.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
};

use reqwest::Method;
use serde_json::{Value, json};

use super::{
    Failed, companion,
    output::{moment, table, text},
};
use crate::{
    client::{Client, Place, Request},
    printing::{print_note, print_result, visible_line},
    settings::file::open_regular,
    updates::releases::MAX_FILE,
};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Add a signed release of companions' firmware: the hub verifies it by its root, and keeps it.
    Add {
        /// The release, a .gpu file.
        file: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List the releases that are kept.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Roll a release out: one companion first, the next one once it has proved it. It is installed where a person holds Approve. What
    /// was paused on its board is over.
    ///
    /// `roll-out hub` updates the hub itself, as the package or the image that it was installed as. A helper of root's verifies what is
    /// installed, and goes back by itself if the hub is not well afterwards. Messages that wait go on. `status` shows how far it is.
    RollOut {
        /// The release's version, such as 1.4.0; or `hub`.
        #[arg(value_name = "VERSION|hub")]
        what: String,
        /// With `hub`: the version that it is updated to, and not the newest.
        #[arg(long, value_name = "VERSION", conflicts_with_all = ["board", "to", "now", "again"])]
        version: Option<String>,
        /// For this board alone.
        #[arg(long)]
        board: Option<String>,
        /// To these companions alone, by name or key, in this order.
        #[arg(long, num_args = 1.., value_name = "NAME")]
        to: Vec<String>,
        /// Wait neither for [updates] hours nor for the first companion to prove it. It still goes to one after the other, and never to so
        /// many that too few could approve.
        #[arg(long)]
        now: bool,
        /// To companions on which it went back as well.
        #[arg(long)]
        again: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Let every roll-out rest. What a companion has fetched stays there.
    Pause {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Let every roll-out go on that was paused.
    Resume {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show what is rolled out, how far each companion is and what it waits for, and when the newest releases expire; and the hub's own
    /// version and update.
    Status {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// What is rolled out if it is the hub itself.
const HUB: &str = "hub";

pub(super) async fn run(place: &Place, command: Command) -> Result<(), Failed> {
    let client = Client::at(place)?;
    let get = || client.call(Method::GET, "/v1/updates", Request::default());
    match command {
        Command::Add { file, json } => {
            let answer = client.add_release(read(&file)?).await?;
            match json {
                true => print_result!("{answer}")?,
                false => print_result!("added {} for {}", text(&answer, "version"), text(&answer, "board"))?,
            }
        }
        Command::List { json } => {
            let answer = get().await?;
            warn(&answer);
            match json {
                true => print_result!("{}", Value::Array(members(&answer, "releases").to_vec()))?,
                false => print_result!("{}", releases(members(&answer, "releases")))?,
            }
        }
        Command::RollOut { what, version, board, to, now, again, json } if what == HUB => {
            if board.is_some() || !to.is_empty() || now || again {
                return Err(Failed::Usage("for the hub there is --version alone".into()));
            }
            let body = json!({"version": version});
            let request = Request { body: Some(body), ..Request::default() };
            let answer = client.call(Method::POST, "/v1/updates/hub", request).await?;
            match json {
                true => print_result!("{answer}")?,
                false => print_result!("asked for; gatepost ota status shows how far it is")?,
            }
        }
        Command::RollOut { version: Some(_), .. } => {
            return Err(Failed::Usage(
                "--version is for the hub: gatepost ota roll-out hub --version VERSION".into(),
            ));
        }
        Command::RollOut { what: version, version: None, board, to, now, again, json } => {
            let body = json!({"version": version, "board": board, "to": to, "now": now, "again": again});
            let request = Request { body: Some(body), ..Request::default() };
            let answer = client.call(Method::POST, "/v1/updates/roll-out", request).await?;
            let boards: Vec<&str> = members(&answer, "boards").iter().filter_map(Value::as_str).collect();
            match json {
                true => print_result!("{answer}")?,
                false => {
                    print_result!("{version} is rolled out to {}", boards.join(", "))?;
                    for board in members(&answer, "resumed").iter().filter_map(Value::as_str) {
                        print_note!("the roll-out for {board} was paused: that is over");
                    }
                }
            }
        }
        Command::Pause { json } => rest(&client, "pause", "rest", json).await?,
        Command::Resume { json } => rest(&client, "resume", "go on", json).await?,
        Command::Status { json } => {
            let answer = get().await?;
            match json {
                true => print_result!("{answer}")?,
                false => {
                    warn(&answer);
                    print_result!("{}", status(&answer))?;
                }
            }
        }
    }
    Ok(())
}

async fn rest(client: &Client, call: &str, word: &str, json: bool) -> Result<(), Failed> {
    let answer = client.call(Method::POST, &format!("/v1/updates/{call}"), Request::default()).await?;
    let count = answer.get("roll_outs").and_then(Value::as_u64).unwrap_or(0);
    match json {
        true => print_result!("{answer}")?,
        false => print_result!("roll-outs that {word} now: {count}")?,
    }
    Ok(())
}

/// A file that may be a release.
fn read(path: &Path) -> Result<Vec<u8>, Failed> {
    let failed = |error| Failed::Usage(format!("cannot read {}: {error}", path.display()));
    // A pipe that nobody writes to would be waited for without an end.
    let file = open_regular(path).map_err(|error| Failed::Usage(error.to_string()))?;
    let mut bytes = Vec::new();
    let most = MAX_FILE as u64 + 1;
    file.take(most).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > MAX_FILE {
        return Err(Failed::Usage(format!("{}: a release has at most {MAX_FILE} bytes", path.display())));
    }
    Ok(bytes)
}

fn members<'a>(answer: &'a Value, name: &str) -> &'a [Value] {
    answer.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn warn(answer: &Value) {
    for warning in members(answer, "warnings").iter().filter_map(Value::as_str) {
        print_note!("{warning}");
    }
}

fn is(value: &Value, name: &str) -> bool {
    value.get(name) == Some(&Value::Bool(true))
}

fn releases(releases: &[Value]) -> String {
    let row = |release: &Value| {
        let size = release.get("size").and_then(Value::as_u64).unwrap_or(0);
        let state = match (is(release, "rolled_out"), text(release, "problem")) {
            (true, "") => "rolled out",
            (false, "") => "",
            (_, problem) => problem,
        };
        vec![
            text(release, "board").into(),
            text(release, "version").into(),
            size.to_string(),
            moment(text(release, "added_at")),
            moment(text(release, "expires_at")),
            state.into(),
        ]
    };
    let rows: Vec<Vec<String>> = releases.iter().map(row).collect();
    table(&["BOARD", "VERSION", "BYTES", "ADDED", "EXPIRES", "STATE"], &rows)
}

fn status(answer: &Value) -> String {
    let mut lines: Vec<String> = answer.get("hub").map(hub).into_iter().collect();
    let before = lines.len();
    for roll_out in members(answer, "roll_outs") {
        let number = |name: &str| roll_out.get(name).and_then(Value::as_u64).unwrap_or(0);
        let (version, board) = (text(roll_out, "version"), text(roll_out, "board"));
        let (confirmed, companions) = (number("confirmed"), number("companions"));
        let paused = if is(roll_out, "paused") { ", paused" } else { "" };
        lines.push(format!(
            "{version} for {board}, rolled out {} by {}{paused}: {confirmed} of {companions} run it",
            moment(text(roll_out, "at")),
            text(roll_out, "by")
        ));
    }
    if lines.len() == before {
        lines.push("nothing is rolled out".into());
    }
    for release in members(answer, "releases").iter().filter(|release| is(release, "newest")) {
        let (board, version) = (text(release, "board"), text(release, "version"));
        let expires = moment(text(release, "expires_at"));
        lines.push(format!("the newest release for {board} is {version}; it expires {expires}"));
    }
    let row = |one: &Value| vec![text(one, "name").into(), companion::firmware(one), companion::update(one)];
    let rows: Vec<Vec<String>> = members(answer, "companions").iter().map(row).collect();
    lines.push(table(&["COMPANION", "FIRMWARE", "UPDATE"], &rows));
    lines.join("\n")
}

/// The hub's own program: what runs, and what became of the last update.
fn hub(hub: &Value) -> String {
    let version = text(hub, "version");
    let installed = match text(hub, "installed_as") {
        "package" => "a package",
        "image" => "an image",
        _ => "put there by hand",
    };
    let update = hub.get("update").filter(|update| !update.is_null());
    let update = update.map(|update| {
        visible_line(&format!("; update since {}: {}", moment(text(update, "since")), text(update, "text")))
            .into_owned()
    });
    format!("the hub is {version}, {installed}{}", update.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hubs_own_update_is_one_line_of_the_status() {
        let of = |hub: Value| status(&json!({"hub": hub})).lines().next().unwrap().to_owned();
        let by_hand = json!({"version": "0.1.0", "installed_as": null, "update": null});
        assert_eq!(of(by_hand), "the hub is 0.1.0, put there by hand");
        let update = json!({"state": "refused", "text": "nothing was changed: E:\nno", "since": "2026-11-26T09:00:00.123Z"});
        let said = of(json!({"version": "0.1.0", "installed_as": "package", "update": update}));
        assert!(
            said.starts_with(
                "the hub is 0.1.0, a package; update since 2026-11-26T09:00:00Z: nothing was changed: E:"
            ),
            "{said}"
        );
        assert!(said.ends_with("no"), "what a program wrote stays on the line: {said}");
        assert!(status(&json!({})).starts_with("nothing is rolled out"));
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("release.gpu");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let said = read(&pipe).unwrap_err().to_string();
        assert!(said.contains("release.gpu"), "{said}");
    }
}
