//! A Slack whose connections end in every way that there is, that repeats what it told and tells it in any order; and kills before it.
//!
//! Installed by `tests/run --setup-only`: Python.

use anyhow::{Result, ensure};
use gatepost_tests::{
    hub::{SpawnedHub, eventually},
    peers::Mock,
    torture::{Dice, number},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    book,
    hostile::{Becomes, LEFT_OUT, became, dropped, good},
    killed::{House, Passed, in_the_midst_of_what_people_write},
};

const KITCHEN: &str = "C0KITCHEN";
const ANN: &str = "U00000001";

/// A message of somebody's, with these members instead.
fn message(number: u64, text: &str, more: &Value) -> Value {
    let seconds = gatepost::clock::now_ms() / 1000;
    let mut message = json!({
        "type": "message", "channel": KITCHEN, "user": ANN, "text": text, "ts": format!("{seconds}.{number:06}"),
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        message[name] = value.clone();
    }
    message
}

/// What a Slack can send, and what becomes of it.
fn hostile() -> Vec<(&'static str, Value, Becomes)> {
    use Becomes::{Drop, Message};
    let events = "events_api";
    let told = |number: u64, text: &str, more: Value| message(number, text, &more);
    let deep = (0..300).fold(json!(1), |inner, _| json!([inner]));
    vec![
        (events, told(1, &"many ".repeat(200_000), json!({})), Message(LEFT_OUT)),
        (events, told(2, "x", json!({"user": null})), Drop("unreadable", "message")),
        (events, told(3, "x", json!({"ts": null})), Drop("unreadable", "message")),
        (events, told(4, "x", json!({"ts": 1_790_000_000.5})), Drop("unreadable", "message")),
        (events, told(5, "x", json!({"channel": null})), Drop("unreadable", "message")),
        (events, told(6, "x", json!({"channel": "general"})), Drop("unreadable", "message")),
        (
            events,
            told(7, "x", json!({"subtype": "tomorrow"})),
            Drop("not_used", "message of subtype tomorrow"),
        ),
        (events, told(8, "x", json!({"text": 5})), Drop("not_used", "message without content")),
        (events, told(9, "x", json!({"bot_id": "B0OTHER01"})), Drop("program", "message")),
        (events, told(10, "x", json!({"user": "U0HUB0001"})), Drop("own_words", "message")),
        (events, told(11, "ancient", json!({"ts": "1.000000"})), Message("ancient")),
        (events, told(12, "later", json!({"ts": "253402300799.000000"})), Message("later")),
        (events, told(12, "x", json!({"ts": "253402300799.000000"})), Drop("repeated", "message")),
        (
            events,
            told(13, "types", json!({"files": 5, "attachments": {"a": []}, "edited": []})),
            Message("types"),
        ),
        (events, told(14, "nested", json!({"blocks": deep})), Drop("unreadable", "envelope")),
        (events, json!(5), Drop("unreadable", "event")),
        (events, json!({"type": "team_join"}), Drop("not_used", "team_join")),
        (events, json!({"type": "reaction_added", "item": 5}), Drop("unreadable", "reaction_added")),
        (
            events,
            told(15, "x", json!({"subtype": "message_changed", "message": {"text": "x"}})),
            Drop("not_used", "message_changed without an edit"),
        ),
        (events, told(16, "x", json!({"subtype": "message_deleted"})), Drop("unreadable", "message_deleted")),
        ("interactive", json!({"type": "view_submission"}), Drop("not_used", "view_submission")),
        ("interactive", json!({"type": "block_actions", "actions": 5}), Drop("unreadable", "block_actions")),
        ("slash_commands", json!({"command": "/tea"}), Drop("not_used", "slash_commands")),
    ]
}

const RULES: &str = "[agents.engineer]\nallow = []\n[people.ann]\nids = [\"slack:U00000001\"]\nscope = \"owner\"\n\
     [routes.engineer]\nfrom = [\"slack:*\"]\nagent = \"engineer\"\nengage = \"pattern\"\npattern = \".\"\n";

fn listening(mock: &Mock, folder: &std::path::Path) -> Result<SpawnedHub> {
    let hub = SpawnedHub::start(&format!("{RULES}{}", mock.hearing_account(folder)?))?;
    opened(mock, 1)?;
    Ok(hub)
}

/// Waits until so many connections were opened, and one is; how many were.
fn opened(mock: &Mock, wanted: u64) -> Result<u64> {
    eventually("a connection is open", || {
        let state = mock.happen(json!("state"))?;
        let opened = state["opened"].as_u64().unwrap_or(0);
        Ok((opened >= wanted && state["connections"].as_u64() >= Some(1)).then_some(opened))
    })
}

#[test]
fn whatever_slack_sends_is_told_or_counted_and_the_next_message_comes() -> Result<()> {
    let (mock, secrets) = (Mock::slack()?, tempfile::tempdir()?);
    let hub = listening(&mock, secrets.path())?;
    let mut cases = Vec::new();
    for (n, (kind, event, becomes)) in hostile().into_iter().enumerate() {
        mock.happen(json!({"tell": event, "type": kind}))?;
        mock.happen(json!({"say": {"channel": KITCHEN, "user": ANN, "text": good(n)}}))?;
        cases.push(becomes);
    }
    became(&hub, "slack", &cases)
}

#[test]
fn connections_that_end_in_every_way_lose_no_message_and_tell_none_twice() -> Result<()> {
    let rounds = number("TORTURE_SESSIONS", 4)?.max(4);
    let (mock, secrets) = (Mock::slack()?, tempfile::tempdir()?);
    let hub = listening(&mock, secrets.path())?;
    let mut dice = Dice::throw("slack")?;
    let (mut written, mut begun) = (0, 1);
    let mut writes = |most: u64, dice: &mut Dice| -> Result<()> {
        // Told in another order than it was said, and some of it twice.
        let mut some: Vec<Value> =
            (0..most).map(|n| message(written + n, &format!("word{:05}", written + n), &json!({}))).collect();
        written += most;
        while !some.is_empty() {
            let at = usize::try_from(dice.below(some.len() as u64))?;
            let times = 1 + u64::from(dice.below(4) == 0);
            mock.happen(json!({"say": some.remove(at), "times": times}))?;
        }
        Ok(())
    };
    for round in 0..rounds {
        writes(1 + dice.below(6), &mut dice)?;
        let ends = match round % 4 {
            0 => json!({"disconnect": "refresh_requested", "after": 1.0}),
            1 => json!({"close": 1001}),
            2 => {
                // The next connection is refused at first.
                let limited = json!({"ok": false, "error": "ratelimited"});
                mock.plan(json!([
                    {"match": "apps.connections.open", "status": 429, "headers": {"retry-after": "1"}, "body": limited},
                    {"match": "apps.connections.open", "status": 503},
                    {"match": "conversations.history", "status": 429, "headers": {"retry-after": "1"}, "body": limited},
                ]))?;
                json!({"close": 1011})
            }
            // Half open: what is told is lost on its way, until somebody notices.
            _ => json!("deaf"),
        };
        mock.happen(ends)?;
        // Somebody goes on writing meanwhile.
        writes(1 + dice.below(6), &mut dice)?;
        begun = opened(&mock, begun + 1)?;
    }
    writes(3, &mut dice)?;
    let data_dir = hub.data_dir();
    let rows = eventually("everything is received", || {
        let rows = book::rows(&data_dir)?;
        Ok((rows.len() >= usize::try_from(written)?).then_some(rows))
    })?;
    ensure!(rows.len() == usize::try_from(written)? && rows.values().all(|times| *times == 1), "{rows:?}");
    let repeated = dropped(&hub, "slack")?;
    let state = mock.happen(json!("state"))?;
    println!(
        "slack: {rounds} connections ended, {written} messages came once, {repeated:?}, {}",
        state["lost"]
    );
    ensure!(state["faults"] == json!([]), "{state}");
    ensure!(
        repeated.contains_key(&("repeated".into(), "message".into())),
        "nothing was repeated: {repeated:?}"
    );
    Ok(())
}

/// People who write to the bot, each in a direct conversation.
struct Workspace {
    mock: Mock,
    account: String,
    _secrets: TempDir,
}

impl House for Workspace {
    const CHANNEL: &'static str = "slack";
    const HAS_NO_KEYS: bool = false;
    const BEGINS_WITH_NOW: bool = false;
    const COUNTS: [(&'static str, u64); 2] = [("TORTURE_LIAR_KILLS", 20), ("TORTURE_LIAR_MESSAGES", 300)];

    fn account(&self) -> String {
        self.account.clone()
    }

    fn id(&self, person: usize) -> String {
        format!("slack:{}", self.address(person))
    }

    fn address(&self, person: usize) -> String {
        format!("U{person:08}")
    }

    fn write(&self, person: usize, _: &str, words: &str) -> Result<()> {
        let said = json!({"channel": format!("D{person:08}"), "channel_type": "im", "user": self.address(person), "text": words});
        self.mock.happen(json!({"say": said, "times": 1}))?;
        Ok(())
    }

    fn reached(&self, person: usize) -> Result<Vec<String>> {
        let posted = self.mock.happen(json!({"posted": format!("D{person:08}")}))?;
        let posted: Vec<(String, String)> = serde_json::from_value(posted)?;
        Ok(posted.into_iter().map(|(_, text)| text).collect())
    }

    /// What was said up to six minutes before the place is asked for again, so in a test nothing is past.
    fn passed(&self, _: &str, _: &[String]) -> Result<Passed> {
        Ok(Passed::Number(0))
    }

    fn holds_at_the_end(&self, _: &SpawnedHub) -> Result<()> {
        let state = self.mock.happen(json!("state"))?;
        let count = |name: &str| state[name].as_array().map_or(0, Vec::len);
        println!(
            "slack: {} envelopes, {} acknowledged, {} told in vain to the end",
            count("sent"),
            count("acked"),
            state["lost"]
        );
        ensure!(state["faults"] == json!([]), "{state}");
        Ok(())
    }
}

#[test]
fn kills_before_slack_leave_every_message_in_one_turn() -> Result<()> {
    let (mock, secrets) = (Mock::slack()?, tempfile::tempdir()?);
    let account = mock.hearing_account(secrets.path())?;
    in_the_midst_of_what_people_write(&Workspace { mock, account, _secrets: secrets })
}
