//! What Home Assistant asks for: that a notification goes out, or an update.
//!
//! Whoever may publish at the broker can ask for the same, so nothing here is taken on trust. A notification is a message of the agent
//! [`AGENT`], with that agent's rights and rate. An update is what `gatepost ota roll-out` does, by releases whose signatures the hub has
//! verified, and never back to an older one. What is refused is said in the log.

use std::time::{Duration, Instant};

use gatepost_link::update::Version;
use tokio::sync::mpsc;

use super::{AGENT, Settings, discovery::INSTALL, runner::Hub, state, topics::Heard};
use crate::{
    admission::submit::Idempotency,
    channels::registry,
    message::call::{Call, MAX_TEXT},
    rate_limit::window::Window,
    store::now_ms,
    updates::operate::Order,
};

/// Commands that wait for the one before.
pub(super) const MAX_WAITING: usize = 16;
/// Lines of the log in a minute about what was refused: whoever is on the broker can ask as often as they like.
const MAX_LINES: u32 = 20;
const MINUTE: Duration = Duration::from_secs(60);

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    /// That this goes to where notifications go.
    Notify(String),
    /// An update: of the companion of this short name, or of the hub.
    Install(Option<String>),
}

impl Command {
    /// What a payload in a topic asks for.
    ///
    /// # Errors
    /// Why that is nothing.
    pub(super) fn read(heard: Heard<'_>, payload: &[u8], retained: bool) -> Result<Self, String> {
        // The broker would say it again at every connection.
        if retained {
            return Err("it is retained: publish commands without that".into());
        }
        match heard {
            Heard::Status => Err("it asks for nothing".into()),
            Heard::Install(_) if payload != INSTALL.as_bytes() => Err(format!("it is not {INSTALL:?}")),
            Heard::Install(companion) => Ok(Self::Install(companion.map(str::to_owned))),
            Heard::Notify if payload.len() > MAX_TEXT => {
                Err(format!("it has {} bytes, at most {MAX_TEXT} are taken", payload.len()))
            }
            Heard::Notify => match std::str::from_utf8(payload) {
                Ok(text) if text.trim().is_empty() => Err("it is empty".into()),
                Ok(text) => Ok(Self::Notify(text.to_owned())),
                Err(_) => Err("it is not UTF-8".into()),
            },
        }
    }
}

/// Says in the log what is refused, as often as one can read it.
pub(super) struct Refusals(Window);

impl Refusals {
    pub(super) fn new() -> Self {
        Self(Window::new(Instant::now()))
    }

    /// Says why something that came from Home Assistant's broker is not done.
    pub(super) fn say(&mut self, what: &str, why: &str) {
        match self.0.count(MAX_LINES, MINUTE, Instant::now()) {
            None => {}
            Some(0) => tracing::warn!(what, why, "refused what Home Assistant's broker brought"),
            Some(more) => {
                tracing::warn!(
                    what,
                    why,
                    more,
                    "refused what Home Assistant's broker brought, and more before"
                );
            }
        }
    }
}

impl Hub {
    /// Does what is asked for, one after the other, until nobody can ask any more.
    pub(super) async fn obey(&self, settings: &Settings, mut commands: mpsc::Receiver<Command>) {
        let mut refusals = Refusals::new();
        while let Some(command) = commands.recv().await {
            match command {
                Command::Notify(text) => self.notify(settings, &text, &mut refusals).await,
                Command::Install(which) => {
                    let done = match &which {
                        None => self.install_hub().await,
                        Some(companion) => self.install(companion).await,
                    };
                    match done {
                        Ok(said) => tracing::info!(said, "Home Assistant asked for an update"),
                        Err(why) => refusals.say("an update", &why),
                    }
                }
            }
        }
    }

    async fn notify(&self, settings: &Settings, text: &str, refusals: &mut Refusals) {
        let pipeline = self.current.pipeline();
        for target in &settings.plan.notify_to {
            let call = serde_json::json!({"to": target.to_string(), "message": text});
            let submitted = match Call::parse(&call, &registry::NAMES) {
                Ok(call) => pipeline.submit(AGENT, call, Idempotency::NONE).await,
                Err(refusal) => Err(refusal),
            };
            match submitted {
                Ok(receipt) => tracing::debug!(id = %receipt.id, "took a notification of Home Assistant's"),
                Err(refusal) => refusals.say("a notification", &refusal.to_string()),
            }
        }
    }

    async fn install_hub(&self) -> Result<String, String> {
        self.asking.ask(None, AGENT).await.map_err(|error| error.to_string())?;
        Ok("the newest version of the hub".into())
    }

    async fn install(&self, companion: &str) -> Result<String, String> {
        let broken = |error: crate::store::StoreError| error.to_string();
        let listed = self.companions.list().await.map_err(broken)?;
        let device = listed
            .iter()
            .map(|listed| &listed.device)
            .find(|device| device.revoked_at.is_none() && device.short() == companion)
            .ok_or("there is no such companion")?;
        let (views, overview) = (
            self.updates.companions().await.map_err(broken)?,
            self.updates.overview().await.map_err(broken)?,
        );
        let view = views.get(&device.key).ok_or("there is no such companion")?;
        let version = state::newer(view, &overview.releases, now_ms())
            .ok_or_else(|| format!("there is no newer release for {}", device.name))?;
        let board = view.firmware.as_ref().map(|firmware| firmware.board.clone());
        let said = format!("{version} for {}", device.name);
        let is_on = |to: &[String]| to.is_empty() || to.contains(&device.name);
        if overview.roll_outs.iter().any(|one| {
            Some(&one.board) == board.as_ref() && one.version == version && !one.paused && is_on(&one.to)
        }) {
            return Ok(format!("{said}, which is rolled out already"));
        }
        let version: Version = version.parse().map_err(|_| "the release has no version".to_owned())?;
        let order = Order { version, board, to: vec![device.short()], now: false, again: false };
        self.updates.roll_out(order, AGENT).await.map_err(|error| error.to_string())?;
        Ok(said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_notification_is_refused_in_words() {
        let read = |payload: &[u8]| Command::read(Heard::Notify, payload, false);
        assert_eq!(read("Dinner \"is\" ready".as_bytes()), Ok(Command::Notify("Dinner \"is\" ready".into())));
        assert!(read(b"").unwrap_err().contains("empty") && read(b" \n").is_err());
        assert!(read(&[0xff, 0xfe]).unwrap_err().contains("UTF-8"));
        assert!(
            read(&[b'a'; MAX_TEXT]).is_ok() && read(&[b'a'; MAX_TEXT + 1]).unwrap_err().contains("bytes")
        );
    }

    #[test]
    fn a_retained_command_is_none() {
        for heard in [Heard::Notify, Heard::Install(None), Heard::Install(Some("ab"))] {
            assert!(Command::read(heard, b"install", true).unwrap_err().contains("retained"));
        }
    }

    #[test]
    fn an_update_is_asked_for_by_one_word() {
        let read = |payload: &[u8]| Command::read(Heard::Install(Some("ab")), payload, false);
        assert_eq!(read(b"install"), Ok(Command::Install(Some("ab".into()))));
        for other in [&b""[..], b"INSTALL", b"install ", b"{\"version\":\"0.0.1\"}"] {
            assert!(read(other).is_err());
        }
    }
}
