//! A program of Ann's that posts hooks to the hub, as Standard Webhooks has it, and a receiver of the answers that knows a `webhook-id`
//! again. What it says is a program's words, in a kind of row of its own.

use anyhow::Result;
use gatepost_tests::{
    hub::secret,
    mocks::{
        MockServer,
        webhook::{self, Taken},
    },
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Arrived, House, Told, notified::Notified};

const TO_HUB: &str = "whsec_bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3";
const FROM_HUB: &str = "whsec_b2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xk";

pub(crate) struct Webhook {
    server: MockServer,
    taken: Taken,
    hub: Notified,
    secrets: TempDir,
}

impl Webhook {
    pub(crate) fn open() -> Result<Self> {
        let (server, taken) = webhook::receiver(FROM_HUB)?;
        Ok(Self { server, taken, hub: Notified::default(), secrets: tempfile::tempdir()? })
    }
}

impl House for Webhook {
    fn name(&self) -> &'static str {
        "webhook"
    }

    fn account(&self) -> String {
        let file = |name: &str, holds: &str| secret(self.secrets.path(), name, holds).unwrap_or_default();
        let (proof, signs) = (file("proof", TO_HUB), file("signs", FROM_HUB));
        format!(
            "[channels.webhook.home]\nurl = \"{}/hook\"\nsecret = {signs}\nreceive = true\nproof_secrets = [{proof}]\n\
             text_at = \"/data/text\"\n",
            self.server.url()
        )
    }

    fn hub_is_at(&self, port: u16) {
        self.hub.is_at(port);
    }

    fn notifies(&self) -> bool {
        true
    }

    fn kind(&self) -> &'static str {
        "webhook"
    }

    fn id(&self) -> String {
        "webhook:home".into()
    }

    fn tell(&self, told: Told<'_>) -> Result<bool> {
        let Told::Line(line, text) = told else { return Ok(false) };
        let (id, at) = (format!("msg_{line}"), gatepost::clock::now_ms() / 1000);
        let body = json!({"type": "line.written", "data": {"text": text}}).to_string();
        let signature = webhook::signed(TO_HUB, &id, at, body.as_bytes())?;
        let at = at.to_string();
        let headers = [("webhook-id", &*id), ("webhook-timestamp", &*at), ("webhook-signature", &*signature)];
        self.hub.post("/v1/hooks/home", &headers, body.as_bytes())?;
        Ok(true)
    }

    fn pieces(&self) -> usize {
        2
    }

    fn arrived(&self) -> Result<Vec<Arrived>> {
        let text = |body: &Value| body["data"]["text"].as_str().unwrap_or_default().to_owned();
        Ok(self.taken.all().into_iter().map(|(id, body)| Arrived { id, text: text(&body) }).collect())
    }

    /// A signature is no token: whether it is believed, only what is posted shows.
    fn refuses_token(&self) -> Option<(&'static str, &'static str)> {
        None
    }

    fn tells_edits(&self) -> bool {
        false
    }
}
