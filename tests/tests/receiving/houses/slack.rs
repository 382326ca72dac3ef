//! Slack, before a double of its Web API and of Socket Mode: Ann writes to the bot directly.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use anyhow::{Context as _, Result};
use gatepost_tests::peers::Mock;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Arrived, House, Told};

const ANN: &str = "U00000001";
/// Her conversation with the bot.
const CONVERSATION: &str = "D00000001";
/// A minute of Slack's, in seconds. A hub that cannot connect tries once a minute of ours at least, and Slack tells the last time
/// after six of its own: so both are about the same.
const MINUTE: f64 = 10.0;

pub(crate) struct Slack {
    double: Mock,
    secrets: TempDir,
    /// When each line was written, in microseconds: its id.
    lines: Mutex<BTreeMap<usize, i64>>,
}

impl Slack {
    pub(crate) fn open() -> Result<Self> {
        Ok(Self { double: Mock::slack()?, secrets: tempfile::tempdir()?, lines: Mutex::default() })
    }

    /// The id of a line: when it was told first, but before every later line, whichever is told first.
    fn ts(&self, line: usize) -> String {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let later = lines.range(line + 1..).next().map(|(later, at)| (later - line, at));
        let at = match later {
            Some((lines, at)) => at - i64::try_from(lines).unwrap_or(0),
            None => (gatepost::clock::now_ms() * 1000).max(lines.values().last().map_or(0, |last| last + 1)),
        };
        let at = *lines.entry(line).or_insert(at);
        format!("{}.{:06}", at / 1_000_000, at % 1_000_000)
    }
}

impl House for Slack {
    fn name(&self) -> &'static str {
        "slack"
    }

    fn account(&self) -> String {
        self.double.hearing_account(self.secrets.path()).unwrap_or_default()
    }

    fn is_reached_by(&self, port: u16) -> Result<()> {
        self.double.happen(json!({"through": port, "minute": MINUTE})).map(drop)
    }

    /// Whether a connection is open: of what is told before, a conversation is not known that could be asked for it.
    fn listens(&self, _: &Value) -> bool {
        let state = self.double.happen(json!("state")).unwrap_or_default();
        state["connections"].as_u64() >= Some(1)
    }

    fn id(&self) -> String {
        format!("slack:{ANN}")
    }

    fn client(&self) -> Option<(&'static str, Vec<String>)> {
        Some(("slack-bot.mjs", vec![self.double.base_url(), Mock::SLACK_APP.to_owned()]))
    }

    /// It answers 200 to nearly everything; what it means stands in the body (<https://docs.slack.dev/apis/web-api/#errors>).
    fn refuses_token(&self) -> Option<(&'static str, &'static str)> {
        Some(("", "{\"ok\":false,\"error\":\"invalid_auth\"}"))
    }

    fn tell(&self, told: Told<'_>) -> Result<bool> {
        self.double.happen(match told {
            Told::Line(line, text) => {
                let said = json!({"channel": CONVERSATION, "channel_type": "im", "user": ANN, "text": text, "ts": self.ts(line)});
                json!({ "say": said })
            }
            Told::Edit(line, text) => {
                json!({"edit": text, "channel": CONVERSATION, "ts": self.ts(line)})
            }
            Told::Strange(number) => json!({"tell": {"type": "tomorrow", "number": number}}),
        })?;
        Ok(true)
    }

    fn arrived(&self) -> Result<Vec<Arrived>> {
        let sent: Vec<(String, String)> =
            serde_json::from_value(self.double.happen(json!({ "posted": CONVERSATION }))?)
                .context("ids and texts")?;
        Ok(sent.into_iter().map(|(id, text)| Arrived { id, text }).collect())
    }

    fn edits_in_place(&self) -> bool {
        true
    }
}
