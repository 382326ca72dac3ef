//! Matrix, before a double of a homeserver that tells the truth.

use anyhow::Result;
use gatepost_tests::{
    hub::secret,
    torture::homeserver::{LyingHomeserver, TOKEN, message, room, user},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Arrived, House, Told};

/// The number of Ann among the people there.
const ANN: usize = 0;

pub(crate) struct Matrix {
    double: LyingHomeserver,
    secrets: TempDir,
}

impl Matrix {
    pub(crate) fn open() -> Result<Self> {
        Ok(Self { double: LyingHomeserver::start(None)?, secrets: tempfile::tempdir()? })
    }
}

/// The event of a line.
fn id(line: usize) -> String {
    format!("$line{line:05}")
}

impl House for Matrix {
    fn name(&self) -> &'static str {
        "matrix"
    }

    fn account(&self) -> String {
        let token = secret(self.secrets.path(), "token", TOKEN).unwrap_or_default();
        let base = self.double.base_url();
        format!("[channels.matrix.home]\nhomeserver = \"{base}\"\ntoken = {token}\nreceive = true\n")
    }

    /// What is there before its first position engages nobody.
    fn listens(&self, _: &Value) -> bool {
        self.double.waiting() > 0
    }

    fn id(&self) -> String {
        format!("matrix:{}", user(ANN))
    }

    /// <https://spec.matrix.org/v1.18/client-server-api/#using-access-tokens>.
    fn refuses_token(&self) -> Option<(&'static str, &'static str)> {
        Some(("", "{\"errcode\":\"M_UNKNOWN_TOKEN\",\"error\":\"Unknown token\"}"))
    }

    fn tell(&self, told: Told<'_>) -> Result<bool> {
        let said = |id: &str, text: &str, more: Value| message(&user(ANN), id, text, &more);
        let event = match told {
            Told::Line(line, text) => said(&id(line), text, json!({})),
            Told::Edit(line, text) => {
                let content = json!({
                    "msgtype": "m.text", "body": format!("* {text}"), "m.new_content": {"msgtype": "m.text", "body": text},
                    "m.relates_to": {"rel_type": "m.replace", "event_id": id(line)},
                });
                said(&format!("$edit{line:05}"), "", json!({ "content": content }))
            }
            Told::Strange(number) => {
                said(&format!("$strange{number:05}"), "", json!({"type": "m.tomorrow", "content": {}}))
            }
        };
        self.double.happens(&room(ANN), event.to_string());
        Ok(true)
    }

    fn arrived(&self) -> Result<Vec<Arrived>> {
        let sent = self.double.replies_as(&room(ANN));
        Ok(sent.into_iter().map(|(id, text)| Arrived { id, text }).collect())
    }
}
