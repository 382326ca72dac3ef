//! A board on a serial port of this machine becomes a companion: its firmware, its network and where its hub is. For the command line
//! and for the page, which differ in whom they ask and where they show how far it is.
//!
//! - [`flasher`]: the program that uses the port; [`target`]: the port, and the address at which a board finds the hub.
//!
//! Whatever ends it on the way, it can begin again: a board can be written at any time, and what it keeps (keys, network, pairing) is not
//! in what is written.

mod flasher;
pub mod target;

use serde::Serialize;
use serde_json::{Value, json};

pub use self::flasher::{Flasher, InstallError};
use crate::{printing::visible_line, settings::secret::Secret};

/// Something that happened. What a board said in it is for the eye.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// There is a board of this kind.
    Board { board: String },
    /// Its firmware of this version is being written: from here on it has none until the end.
    Begins { version: String },
    /// So much of it is written.
    Written { percent: u64 },
    /// Something was lost on the line, and is written once more.
    Again,
    /// It is written, and the chip has verified it.
    Verified,
    /// The firmware of this version answers.
    Answers { version: String },
    /// A wireless network that it hears.
    Network { name: String, dbm: String, open: bool },
    /// It joins the network.
    Joining,
    /// It is in the network, and keeps it.
    Joined,
    /// It keeps where the hub is.
    HubKept,
}

impl Step {
    /// What a line of the program says; nothing if this version does not know it.
    fn of(event: &Value) -> Option<Self> {
        let text = |name: &str| Some(visible_line(event.get(name)?.as_str()?).into_owned());
        let number = |name: &str| event.get(name).and_then(Value::as_u64);
        Some(match event.get("event")?.as_str()? {
            "board" => Self::Board { board: text("board")? },
            "begins" => Self::Begins { version: text("version").unwrap_or_default() },
            "written" => Self::Written { percent: number("percent")?.min(100) },
            "again" => Self::Again,
            "verified" => Self::Verified,
            "answers" => Self::Answers { version: text("version").unwrap_or_default() },
            "network" => Self::Network {
                // The name is typed again by whoever chooses it, as it is.
                name: event.get("ssid")?.as_str()?.to_owned(),
                dbm: event.get("dbm").map(Value::to_string).unwrap_or_default(),
                open: event.get("open") == Some(&Value::Bool(true)),
            },
            "joining" => Self::Joining,
            "joined" => Self::Joined,
            "hub_kept" => Self::HubKept,
            _ => return None,
        })
    }
}

/// Which board is there.
///
/// # Errors
/// None that this program knows, or the port cannot be used.
pub async fn detect(flasher: &Flasher) -> Result<String, InstallError> {
    let mut found = None;
    flasher
        .run("detect", None, b"", |step| {
            if let Step::Board { board } = step {
                found = Some(board);
            }
        })
        .await?;
    found.ok_or_else(|| InstallError::Failed("no board has answered".into()))
}

/// Writes an image: of a file, or these bytes.
///
/// # Errors
/// It is no image for the board, or it could not be written whole.
pub async fn write(flasher: &Flasher, image: Image<'_>, tell: impl FnMut(Step)) -> Result<(), InstallError> {
    let (file, bytes): (_, &[u8]) = match image {
        Image::File(path) => (path, b""),
        Image::Bytes(bytes) => ("-", bytes),
    };
    flasher.run("write", Some(file), bytes, tell).await
}

/// A wireless network.
#[derive(Debug, Clone)]
pub struct Wifi {
    /// Its name.
    pub name: String,
    /// Its password; empty if it is open.
    pub password: Secret,
}

/// What is written.
#[derive(Debug, Clone, Copy)]
pub enum Image<'a> {
    /// A file of a release, by its path.
    File(&'a str),
    /// Such a file's bytes.
    Bytes(&'a [u8]),
}

/// The wireless networks that the board hears.
///
/// # Errors
/// It runs no firmware of a companion, or the port cannot be used.
pub async fn networks(flasher: &Flasher, tell: impl FnMut(Step)) -> Result<(), InstallError> {
    flasher.run("networks", None, b"", tell).await
}

/// Checks what a board is to be told, without one.
///
/// # Errors
/// It would be refused, and why.
pub async fn check(flasher: &Flasher, hub: &str, wifi: Option<&Wifi>) -> Result<(), InstallError> {
    flasher.run("check", None, order(hub, wifi).as_bytes(), |_| {}).await
}

/// Tells the board where the hub is, and its network; without one, it keeps the one that it has.
///
/// # Errors
/// It runs no firmware of a companion, it could not join, or the port cannot be used.
pub async fn set_up(
    flasher: &Flasher,
    hub: &str,
    wifi: Option<&Wifi>,
    tell: impl FnMut(Step),
) -> Result<(), InstallError> {
    flasher.run("set-up", None, order(hub, wifi).as_bytes(), tell).await
}

fn order(hub: &str, wifi: Option<&Wifi>) -> String {
    let mut order = json!({"hub": hub});
    if let Some(Wifi { name, password }) = wifi {
        order["ssid"] = json!(name);
        order["password"] = json!(password.expose());
    }
    order.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_told_as_what_it_is_and_what_a_board_says_for_the_eye() {
        let of = |event: Value| Step::of(&event);
        let version = "1.2\u{1b}[2J".to_owned();
        let told = of(json!({"event": "answers", "version": version})).unwrap();
        assert_eq!(told, Step::Answers { version: visible_line(&version).into_owned() });
        assert!(!serde_json::to_string(&told).unwrap().contains("u001b"));
        assert_eq!(of(json!({"event": "written", "percent": 700})), Some(Step::Written { percent: 100 }));
        assert_eq!(of(json!({"event": "hub_kept"})), Some(Step::HubKept));
        for odd in [json!({"event": "soon"}), json!({"event": "written"}), json!([]), json!({"event": 3})] {
            assert_eq!(of(odd.clone()), None, "{odd}");
        }
    }
}
