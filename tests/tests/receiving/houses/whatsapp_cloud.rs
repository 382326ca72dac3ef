//! WhatsApp by the Cloud API, before a double of Meta's, which notifies the hub. It knows no message again that comes twice; what became
//! of one it tells afterwards, by the part's key.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use anyhow::Result;
use gatepost_tests::{
    hub::secret,
    mocks::{
        MockServer,
        whatsapp::{self, Taken},
    },
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Arrived, House, Told, notified::Notified};

const ANN: &str = "4915112345679";
const USER: &str = "DE.13491208655302741918";
const APP: &str = "the app_secret";

pub(crate) struct WhatsAppCloud {
    server: MockServer,
    taken: Taken,
    hub: Notified,
    /// Of how many messages it has told what became of them.
    settled: Mutex<usize>,
    /// When her first line is written, in milliseconds.
    begins: i64,
    secrets: TempDir,
}

impl WhatsAppCloud {
    pub(crate) fn open() -> Result<Self> {
        let (server, taken) = whatsapp::start_with()?;
        let (begins, secrets) = (gatepost::clock::now_ms(), tempfile::tempdir()?);
        Ok(Self { server, taken, hub: Notified::default(), settled: Mutex::default(), begins, secrets })
    }

    fn notify(&self, notification: &Value) -> Result<()> {
        let body = notification.to_string().into_bytes();
        let signature = whatsapp::signed(APP, &body);
        self.hub.post("/v1/platform/whatsapp/home", &[("X-Hub-Signature-256", &signature)], &body)
    }

    /// Tells what became of the messages that it took since the last time.
    fn settle(&self) -> Result<()> {
        let mut settled = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
        let all = self.taken.all();
        if all.len() > *settled {
            self.notify(&whatsapp::sent(&all[*settled..]))?;
        }
        *settled = all.len();
        Ok(())
    }
}

impl House for WhatsAppCloud {
    fn name(&self) -> &'static str {
        "whatsapp_cloud"
    }

    fn channel(&self) -> &'static str {
        "whatsapp"
    }

    fn account(&self) -> String {
        let folder = self.secrets.path();
        let account = whatsapp::account(&self.server, folder).unwrap_or_default();
        let app = secret(folder, "app", APP).unwrap_or_default();
        let verify = secret(folder, "verify", "the verify_token").unwrap_or_default();
        format!(
            "[channels.whatsapp.home]\nreceive = true\n{account}app_secret = {app}\nverify_token = {verify}\n"
        )
    }

    fn hub_is_at(&self, port: u16) {
        self.hub.is_at(port);
    }

    fn notifies(&self) -> bool {
        true
    }

    fn id(&self) -> String {
        format!("whatsapp:+{ANN}")
    }

    fn tell(&self, told: Told<'_>) -> Result<bool> {
        let text = |text: &str| json!({"body": text});
        let (id, kind, object) = match told {
            Told::Line(line, words) => (format!("wamid.ann{line}"), "text", text(words)),
            Told::Edit(line, words) => {
                let message = json!({"type": "text", "text": text(words)});
                let edit = json!({"original_message_id": format!("wamid.ann{line}"), "message": message});
                (format!("wamid.edit{line}"), "edit", edit)
            }
            Told::Strange(number) => (format!("wamid.odd{number}"), "tomorrow", json!({})),
        };
        let number: String = id.chars().filter(char::is_ascii_digit).collect();
        let at = (self.begins + number.parse::<i64>()?) / 1000;
        let message = json!({
            "from": ANN, "from_user_id": USER, "id": id, "timestamp": at.to_string(), "type": kind, kind: object,
        });
        self.settle()?;
        self.notify(&whatsapp::notification((ANN, USER, "Ann"), &json!([message])))?;
        Ok(true)
    }

    /// "1 message every 6 seconds" to one person (<https://developers.facebook.com/docs/whatsapp/messaging-limits>, "Pair rate limits").
    fn pace(&self) -> Duration {
        Duration::from_secs(6)
    }

    fn pieces(&self) -> usize {
        4
    }

    fn usual_lines(&self) -> u64 {
        12
    }

    fn arrived(&self) -> Result<Vec<Arrived>> {
        let all = self.taken.all().into_iter().filter(|(_, message)| message["type"] == "text");
        let text = |message: &Value| message["text"]["body"].as_str().unwrap_or_default().to_owned();
        Ok(all.map(|(id, message)| Arrived { id, text: text(&message) }).collect())
    }
}
