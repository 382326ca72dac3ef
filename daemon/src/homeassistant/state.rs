//! How it stands, and what happens, as it is said at the broker: numbers, agents, channels and ids.
//!
//! Everything here is written member by member from what the hub knows. Nothing is passed on as a whole, so that a text or an address
//! cannot come along.

use gatepost_link::update::Version;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::{
    clock::rfc3339,
    events::Event,
    message::state::State,
    outbox::queries,
    store::StoreError,
    updates::{
        hub::asking::HubView,
        overview::{CompanionView, ReleaseView},
    },
};

/// The longest summary that Home Assistant takes (homeassistant/components/update/const.py, `release_summary`), in characters.
const MAX_SUMMARY: usize = 255;
/// People are asked now: how many requests, and the first deadline. The same that notifications are about.
const ASKED: &str = "SELECT count(DISTINCT request), min(deadline) FROM approvals INDEXED BY approvals_open
    WHERE decided_at IS NULL AND card_at IS NOT NULL";

/// The hub's figures.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Figures {
    /// Held messages.
    waiting: i64,
    /// What people are asked now.
    asked: i64,
    /// The first deadline of that, in milliseconds since 1970.
    deadline: Option<i64>,
    /// Messages under way that wait for nobody.
    queued: i64,
    /// Messages that were sent since there is a database.
    sent: i64,
}

impl Figures {
    /// Those of this moment.
    pub(super) fn read(db: &Connection) -> Result<Self, StoreError> {
        let mut figures = Self::default();
        let mut depths = db.prepare_cached(queries::DEPTHS)?;
        let mut depths = depths.query([])?;
        while let Some(row) = depths.next()? {
            let (state, n): (State, i64) = (row.get(1)?, row.get(2)?);
            match state {
                State::Held => figures.waiting += n,
                _ => figures.queued += n,
            }
        }
        (figures.asked, figures.deadline) =
            db.prepare_cached(ASKED)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let sent = "SELECT coalesce(sum(n), 0) FROM totals WHERE state = ?";
        figures.sent = db.prepare_cached(sent)?.query_row([State::Sent], |row| row.get(0))?;
        Ok(figures)
    }

    /// As it is said, with the accounts that are not ready.
    pub(super) fn say(&self, not_ready: &[String]) -> Value {
        json!({
            "waiting": self.waiting, "asked": self.asked, "queued": self.queued, "sent": self.sent,
            "deadline": self.deadline.map(rfc3339), "not_ready": not_ready,
        })
    }
}

/// Whether a companion is here, and when it decided last.
pub(super) fn companion(here: bool, decided_at: Option<i64>) -> Value {
    json!({"here": here, "decided_at": decided_at.map(rfc3339)})
}

/// What happened, for the hub's event; and the name of the companion at which somebody decided, with the word for its own.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Told {
    /// The hub's event.
    pub(super) message: Option<Value>,
    /// The companion's.
    pub(super) decision: Option<(String, &'static str)>,
}

/// What is said of something that happened.
pub(super) fn told(event: &Event) -> Told {
    let text = |member: &str| event.data[member].as_str();
    let companion = text("actor").and_then(|actor| actor.strip_prefix("companion:"));
    let is_approver = companion.is_some() || text("actor").is_some_and(|actor| actor.starts_with("web:"));
    let word = match event.name.as_str() {
        "message.held" => Some("held"),
        // Ready by itself, it was never held.
        "message.ready" if is_approver => Some("approved"),
        "message.denied" => Some("denied"),
        "message.expired" => Some("expired"),
        "message.sent" => Some("sent"),
        "message.failed" => Some("failed"),
        "message.unknown" => Some("unknown"),
        _ => None,
    };
    let message = word.map(|word| {
        // An address stands behind the colon, and stays there.
        let channel = text("to").and_then(|to| to.split(':').next());
        json!({"event_type": word, "agent": text("agent"), "channel": channel, "id": text("id")})
    });
    let decided = match (word, event.name.as_str()) {
        (Some("approved"), _) | (None, "decision.counted") => Some("approved"),
        (Some("denied"), _) => Some("denied"),
        _ => None,
    };
    let decision = companion.map(str::to_owned).zip(decided);
    Told { message, decision }
}

/// The hub's own program.
pub(super) fn hub_update(view: &HubView) -> Value {
    let update = view.update.as_ref();
    let under_way =
        update.filter(|update| !["installed", "went_back", "refused", "failed"].contains(&update.state));
    let latest = under_way.and_then(|update| update.to.as_deref()).unwrap_or(view.version);
    json!({
        "installed_version": view.version,
        "latest_version": latest,
        "release_summary": update.map_or_else(String::new, |update| summary(&update.text)),
        "in_progress": under_way.is_some(),
        "update_percentage": under_way.and_then(|update| update.percent),
    })
}

/// A companion's firmware, and the newest release for its board.
pub(super) fn firmware(view: &CompanionView, newest: Option<&str>) -> Value {
    let update = view.update.as_ref();
    let under_way =
        update.filter(|update| ["offered", "taking", "asking", "installing"].contains(&update.state));
    let percent =
        under_way.and_then(|update| Some(u64::from(update.done?) * 100 / u64::from(update.of?).max(1)));
    let mut said = json!({
        "in_progress": under_way.is_some(), "update_percentage": percent,
        "release_summary": update.map_or_else(String::new, |update| summary(&update.text)),
    });
    // What is not known is left out.
    if let Some(firmware) = &view.firmware {
        said["installed_version"] = firmware.version.as_str().into();
        said["latest_version"] = newest.unwrap_or(&firmware.version).into();
    }
    said
}

/// The newest release that a companion could take and does not run: signed for its board, at hand, and not expired.
pub(super) fn newer<'r>(view: &CompanionView, releases: &'r [ReleaseView], now: i64) -> Option<&'r str> {
    let firmware = view.firmware.as_ref()?;
    let runs: Version = firmware.version.parse().ok()?;
    let usable = releases.iter().filter(|release| {
        release.board == firmware.board && release.problem.is_none() && release.expires_at.0 > now
    });
    let versions =
        usable.filter_map(|release| Some((release.version.parse::<Version>().ok()?, &*release.version)));
    versions.filter(|(version, _)| *version > runs).max_by_key(|(version, _)| *version).map(|(_, text)| text)
}

fn summary(text: &str) -> String {
    text.chars().take(MAX_SUMMARY).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        clock::Time,
        store::Store,
        updates::overview::{FirmwareView, UpdateView},
    };

    fn event(name: &str, data: Value) -> Event {
        Event { seq: 1, name: name.into(), data }
    }

    #[test]
    fn of_what_happens_the_agent_and_the_channel_are_said_and_nothing_else() {
        let data = json!({
            "id": "m1", "to": "telegram:-100:7", "agent": "engineer", "actor": "companion:hall",
            "error": "the door code is 4711", "detail": {"text": "4711"}, "hint": "4711",
        });
        let Told { message, decision } = told(&event("message.denied", data));
        let message = message.unwrap();
        assert_eq!(
            message,
            json!({"event_type": "denied", "agent": "engineer", "channel": "telegram", "id": "m1"})
        );
        assert_eq!(decision, Some(("hall".into(), "denied")));
    }

    #[test]
    fn ready_is_approved_only_where_somebody_approved() {
        let ready = |actor: &str| told(&event("message.ready", json!({"actor": actor, "to": "local:a"})));
        let word = |told: &Told| told.message.as_ref().map(|message| message["event_type"].clone());
        assert_eq!(ready("hub"), Told { message: None, decision: None });
        assert_eq!(ready("operator").message, None);
        assert_eq!(word(&ready("web:laptop")), Some("approved".into()));
        assert_eq!(
            (word(&ready("web:laptop")), ready("web:laptop").decision),
            (Some("approved".into()), None)
        );
        assert_eq!(ready("companion:hall").decision, Some(("hall".into(), "approved")));
        // One of several who must.
        let counted = told(&event("decision.counted", json!({"actor": "companion:attic"})));
        assert_eq!(counted, Told { message: None, decision: Some(("attic".into(), "approved")) });
        for other in
            ["message.accepted", "message.sending", "message.cancelled", "device.added", "call.refused"]
        {
            assert_eq!(
                told(&event(other, json!({"actor": "companion:hall"}))),
                Told { message: None, decision: None }
            );
        }
    }

    #[tokio::test]
    async fn the_figures_of_an_empty_hub_are_none() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let figures = store.read(Figures::read).await.unwrap();
        assert_eq!(figures, Figures::default());
        let said = json!({"waiting": 0, "asked": 0, "queued": 0, "sent": 0, "deadline": null, "not_ready": ["local.home"]});
        assert_eq!(figures.say(&["local.home".into()]), said);
        store.close();
    }

    fn view(version: Option<&str>, update: Option<UpdateView>) -> CompanionView {
        let firmware = version.map(|version| FirmwareView {
            board: "esp32c3".into(),
            version: version.into(),
            floor: "1.0.0".into(),
            root: 1,
            state: "settled",
        });
        CompanionView { name: "hall".into(), firmware, update }
    }

    fn release(board: &str, version: &str, expires_at: i64, problem: Option<&str>) -> ReleaseView {
        ReleaseView {
            board: board.into(),
            version: version.into(),
            floor: "1.0.0".into(),
            size: 1,
            image: String::new(),
            root: 1,
            added_at: Time(0),
            expires_at: Time(expires_at),
            rolled_out: false,
            newest: true,
            problem: problem.map(str::to_owned),
        }
    }

    #[test]
    fn only_a_newer_release_for_its_board_that_can_be_had_is_offered() {
        let releases = [
            release("esp32c3", "1.9.0", 9, None),
            release("esp32c3", "1.10.0", 9, None),
            release("esp32c3", "2.0.0", 5, None),
            release("esp32c3", "2.1.0", 9, Some("its file is gone")),
            release("qemu-virt", "3.0.0", 9, None),
        ];
        let newest = |runs: Option<&str>| newer(&view(runs, None), &releases, 6);
        assert_eq!(newest(Some("1.0.0")), Some("1.10.0"));
        assert_eq!((newest(Some("1.10.0")), newest(Some("1.11.0")), newest(None)), (None, None, None));
    }

    #[test]
    fn how_far_an_update_is_is_said_in_a_hundredth_and_what_is_not_known_is_left_out() {
        let taking = UpdateView {
            version: "1.1.0".into(),
            state: "taking",
            text: "x".repeat(300),
            since: None,
            done: Some(50),
            of: Some(200),
        };
        let said = firmware(&view(Some("1.0.0"), Some(taking)), Some("1.1.0"));
        assert_eq!((&said["update_percentage"], &said["in_progress"]), (&25.into(), &true.into()));
        assert_eq!((&said["installed_version"], &said["latest_version"]), (&"1.0.0".into(), &"1.1.0".into()));
        assert_eq!(said["release_summary"].as_str().unwrap().len(), MAX_SUMMARY);
        let unknown = firmware(&view(None, None), None);
        assert_eq!(unknown, json!({"in_progress": false, "update_percentage": null, "release_summary": ""}));
        assert_eq!(firmware(&view(Some("1.0.0"), None), None)["latest_version"], "1.0.0");
    }
}
