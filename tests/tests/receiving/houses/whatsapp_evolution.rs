//! WhatsApp by an Evolution API, before a double of it. The hub asks it each minute for what it keeps; a notification, which is sent once
//! and not repeated, makes that sooner.

use std::time::Duration;

use anyhow::Result;
use gatepost_tests::{
    hub::secret,
    mocks::{
        MockServer,
        evolution::{self, Phone},
    },
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Arrived, House, Told, notified::Notified};

const ANN: &str = "4915112345679";
const CHAT: &str = "4915112345679@s.whatsapp.net";
const WEBHOOK: &str = "the webhook_secret";

pub(crate) struct WhatsAppEvolution {
    server: MockServer,
    phone: Phone,
    hub: Notified,
    secrets: TempDir,
}

impl WhatsAppEvolution {
    pub(crate) fn open() -> Result<Self> {
        let (server, phone) = evolution::start_with()?;
        Ok(Self { server, phone, hub: Notified::default(), secrets: tempfile::tempdir()? })
    }
}

impl House for WhatsAppEvolution {
    fn name(&self) -> &'static str {
        "whatsapp_evolution"
    }

    fn channel(&self) -> &'static str {
        "whatsapp"
    }

    fn account(&self) -> String {
        let account = evolution::account(&self.server, self.secrets.path()).unwrap_or_default();
        let webhook = secret(self.secrets.path(), "webhook", WEBHOOK).unwrap_or_default();
        format!(
            "[channels.whatsapp.home]\nreceive = true\nkind = \"evolution\"\n{account}webhook_secret = {webhook}\n"
        )
    }

    fn hub_is_at(&self, port: u16) {
        self.hub.is_at(port);
    }

    /// It begins with what comes after its first question.
    fn listens(&self, _: &Value) -> bool {
        self.server.heard().iter().any(|request| request.path.ends_with("/findMessages/home"))
    }

    fn id(&self) -> String {
        format!("whatsapp:+{ANN}")
    }

    /// An edit takes the place of the record, and nobody vouches for who made it: the hub tells it of nobody whom it knows.
    fn tell(&self, told: Told<'_>) -> Result<bool> {
        match told {
            Told::Line(line, text) => {
                self.phone.gets(&format!("3EB0A{line:06}"), CHAT, &json!({ "conversation": text }));
            }
            Told::Edit(..) => return Ok(false),
            Told::Strange(number) => {
                self.phone.gets(&format!("3EB0C{number:06}"), CHAT, &json!({"tomorrowMessage": {}}));
            }
        }
        let body = json!({"event": "messages.upsert", "instance": "home", "data": {}}).to_string();
        let bearer = format!("Bearer {WEBHOOK}");
        // One that is lost is not repeated, and what it tells of is kept.
        let _ = self.hub.post("/v1/platform/whatsapp/home", &[("Authorization", &bearer)], body.as_bytes());
        Ok(true)
    }

    /// The hub keeps to the Cloud API's pace here too.
    fn pace(&self) -> Duration {
        Duration::from_secs(6)
    }

    fn usual_lines(&self) -> u64 {
        12
    }

    fn arrived(&self) -> Result<Vec<Arrived>> {
        Ok(self.phone.sent(CHAT).into_iter().map(|(id, text)| Arrived { id, text }).collect())
    }

    fn tells_edits(&self) -> bool {
        false
    }
}
