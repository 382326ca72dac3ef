//! Discord, before a double of its REST interface and its Gateway: Ann writes to the bot directly.

use anyhow::Result;
use gatepost_tests::peers::Mock;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Arrived, House, Told};

const ANN: &str = "99";
/// Her conversation with the bot.
const CONVERSATION: &str = "900";
/// Between two beats of the Gateway's clock, in milliseconds; Discord's own has 41,250. Two of them pass before a dead line is noticed.
const BEAT: u64 = 4_000;
/// What somebody with Nitro may write, in characters (<https://docs.discord.com/developers/resources/message#create-message> has
/// 2,000 for everybody else).
const LONGEST: usize = 4_000;
/// The id of her first line: a snowflake of the year 2024.
const FIRST: usize = 1_200_000_000_000_000_000;
/// When she changed her first line, in milliseconds.
const CHANGES: i64 = 1_790_000_000_000;

pub(crate) struct Discord {
    double: Mock,
    secrets: TempDir,
}

impl Discord {
    pub(crate) fn open() -> Result<Self> {
        let double = Mock::discord()?;
        double.happen(json!({"opened_by": ANN}))?;
        Ok(Self { double, secrets: tempfile::tempdir()? })
    }
}

/// A message of hers, with these members.
fn message(line: usize, text: &str, more: &Value) -> Value {
    let mut message = json!({
        "id": (FIRST + line).to_string(), "channel_id": CONVERSATION, "type": 0, "content": text,
        "timestamp": gatepost::clock::rfc3339(gatepost::clock::now_ms()), "edited_timestamp": null,
        "author": {"id": ANN, "username": "ann", "global_name": "Ann"}, "mentions": [],
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        message[name] = value.clone();
    }
    message
}

impl House for Discord {
    fn name(&self) -> &'static str {
        "discord"
    }

    fn account(&self) -> String {
        let account = self.double.account(self.secrets.path(), self.double.token()).unwrap_or_default();
        format!("{account}receive = true\nmessage_content = true\n")
    }

    fn is_reached_by(&self, port: u16) -> Result<()> {
        self.double.happen(json!({"through": port, "beat": BEAT})).map(drop)
    }

    /// Whether a session has begun: what is told before is told to nobody.
    fn listens(&self, _: &Value) -> bool {
        self.double.happen(json!("hearing")).is_ok_and(|count| count.as_u64() > Some(0))
    }

    fn client(&self) -> Option<(&'static str, Vec<String>)> {
        Some(("discord-bot.py", vec![self.double.base_url(), self.double.token().to_owned()]))
    }

    fn refuses_token(&self) -> Option<(&'static str, &'static str)> {
        Some(("", "{\"message\":\"401: Unauthorized\",\"code\":0}"))
    }

    fn id(&self) -> String {
        format!("discord:{ANN}")
    }

    fn tell(&self, told: Told<'_>) -> Result<bool> {
        let (name, data) = match told {
            Told::Line(_, text) if text.chars().count() > LONGEST => {
                anyhow::bail!("Discord takes no message of {} characters", text.chars().count())
            }
            Told::Line(line, text) => ("MESSAGE_CREATE", message(line, text, &json!({}))),
            Told::Edit(line, text) => {
                let at = gatepost::clock::rfc3339(CHANGES + i64::try_from(line)?);
                ("MESSAGE_UPDATE", message(line, text, &json!({ "edited_timestamp": at })))
            }
            Told::Strange(number) => ("TOMORROW_CREATE", json!({ "number": number })),
        };
        self.double.happen(json!({"tell": name, "data": data}))?;
        Ok(true)
    }

    fn arrived(&self) -> Result<Vec<Arrived>> {
        let sent: Vec<(String, String)> =
            serde_json::from_value(self.double.happen(json!({ "posted": CONVERSATION }))?)?;
        Ok(sent.into_iter().map(|(id, text)| Arrived { id, text }).collect())
    }
}
