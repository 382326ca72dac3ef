//! Telegram, before a double of the Bot API that is asked for updates.

use anyhow::Result;
use gatepost_tests::{
    hub::secret,
    torture::liar::{Liar, TOKEN},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Arrived, House, Told};

const ANN: i64 = 1_000;

pub(crate) struct Telegram {
    double: Liar,
    secrets: TempDir,
}

impl Telegram {
    pub(crate) fn open() -> Result<Self> {
        Ok(Self { double: Liar::start(None)?, secrets: tempfile::tempdir()? })
    }
}

/// A message of Ann's, with this id and these members.
fn message(id: usize, more: &Value) -> Value {
    let ann = json!({"id": ANN, "is_bot": false, "first_name": "Ann"});
    let mut message = json!({
        "message_id": id, "from": ann, "chat": {"id": ANN, "type": "private", "first_name": "Ann"},
        "date": gatepost::clock::now_ms() / 1000,
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        message[name] = value.clone();
    }
    message
}

impl House for Telegram {
    fn name(&self) -> &'static str {
        "telegram"
    }

    fn account(&self) -> String {
        let token = secret(self.secrets.path(), "token", TOKEN).unwrap_or_default();
        let base = self.double.base_url();
        format!("[channels.telegram.home]\ntoken = {token}\nbase_url = \"{base}\"\nreceive = true\n")
    }

    fn id(&self) -> String {
        format!("tg:{ANN}")
    }

    fn tell(&self, told: Told<'_>) -> Result<bool> {
        self.double.happens(match told {
            Told::Line(line, text) => json!({"message": message(10 + line, &json!({"text": text}))}),
            Told::Edit(line, text) => {
                json!({"edited_message": message(10 + line, &json!({"text": text, "edit_date": 1_700_000_000 + line}))})
            }
            Told::Strange(number) => json!({"tomorrow": {"number": number}}),
        });
        Ok(true)
    }

    fn client(&self) -> Option<(&'static str, Vec<String>)> {
        Some(("telegram-bot.py", vec![self.double.base_url(), TOKEN.to_owned()]))
    }

    fn refuses_token(&self) -> Option<(&'static str, &'static str)> {
        Some(("", "{\"ok\":false,\"error_code\":401,\"description\":\"Unauthorized\"}"))
    }

    fn arrived(&self) -> Result<Vec<Arrived>> {
        let sent = self.double.sent_as(ANN);
        Ok(sent.into_iter().map(|(id, text)| Arrived { id: id.to_string(), text }).collect())
    }
}
