//! iMessage by BlueBubbles, before a double of its server. The hub asks it each minute for its rows; a webhook, which is sent once and not
//! repeated, makes that sooner.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::Result;
use gatepost_tests::{
    hub::secret,
    mocks::{
        MockServer,
        bluebubbles::{self, mac::Mac},
    },
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Arrived, House, Told, notified::Notified};

const ANN: &str = "+4915112345679";
const CHAT: &str = "any;-;+4915112345679";
const WEBHOOK: &str = "the webhook_secret";
/// How often it is asked until it is known to be read: for its settings, and for the newest rows.
const ASKED: usize = 3;

pub(crate) struct IMessage {
    server: MockServer,
    mac: Arc<Mac>,
    hub: Notified,
    /// The GUIDs of her lines.
    lines: Mutex<HashMap<usize, String>>,
    secrets: TempDir,
}

impl IMessage {
    pub(crate) fn open() -> Result<Self> {
        let ((server, mac), secrets) = (bluebubbles::start_with()?, tempfile::tempdir()?);
        Ok(Self { server, mac, hub: Notified::default(), lines: Mutex::default(), secrets })
    }

    fn line(&self, number: usize) -> Option<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).get(&number).cloned()
    }
}

impl House for IMessage {
    fn name(&self) -> &'static str {
        "imessage"
    }

    fn account(&self) -> String {
        let account = bluebubbles::account(&self.server, self.secrets.path()).unwrap_or_default();
        let webhook = secret(self.secrets.path(), "webhook", WEBHOOK).unwrap_or_default();
        let account = account.replace("imessage.mac", "imessage.home");
        format!("{account}receive = true\nwebhook_secret = {webhook}\n")
    }

    fn hub_is_at(&self, port: u16) {
        self.hub.is_at(port);
    }

    fn listens(&self, _: &Value) -> bool {
        self.server.heard().iter().filter(|one| one.path.ends_with("/message/query")).count() >= ASKED
    }

    fn id(&self) -> String {
        format!("imessage:{ANN}")
    }

    /// A row that is told again has a new number, as after a restore.
    fn tell(&self, told: Told<'_>) -> Result<bool> {
        match told {
            Told::Line(number, text) => match self.line(number) {
                Some(guid) => self.mac.replays(&guid),
                None => {
                    let guid = self.mac.writes(CHAT, ANN, text);
                    self.lines.lock().unwrap_or_else(PoisonError::into_inner).insert(number, guid);
                }
            },
            Told::Edit(number, text) => {
                if let Some(guid) = self.line(number) {
                    self.mac.edits(&guid, text);
                }
            }
            Told::Strange(_) => drop(self.mac.gets(CHAT, ANN, json!({"itemType": 99}))),
        }
        let ((name, proof), body) = Mac::webhook(WEBHOOK, "new-message");
        // One that is lost is not repeated, and what it tells of is kept.
        let _ = self.hub.post("/v1/platform/imessage/home", &[(name, &proof)], &body);
        Ok(true)
    }

    fn edits_in_place(&self) -> bool {
        true
    }

    fn arrived(&self) -> Result<Vec<Arrived>> {
        // A tapback is a row without words here.
        let sent = self.mac.sent_to(CHAT).into_iter().filter(|sent| !sent.text.is_empty());
        Ok(sent.map(|sent| Arrived { id: sent.guid, text: sent.text }).collect())
    }
}
