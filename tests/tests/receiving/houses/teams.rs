//! Teams, before doubles of Microsoft's services. It keeps nothing for a bot that does not answer; here Ann's client tells it again, as
//! the same activity.

use anyhow::Result;
use gatepost_tests::{
    hub::secret,
    mocks::{
        MockServer,
        teams::{self, Taken},
    },
};
use ring::signature::RsaKeyPair;
use serde_json::json;
use tempfile::TempDir;

use super::{Arrived, House, Told, notified::Notified};

const ANN: &str = "0de69e5e-2da8-4cf2-821f-5e6585b2c65b";
const SERVICE: &str = "https://smba.test/teams/";

pub(crate) struct Teams {
    pair: RsaKeyPair,
    server: MockServer,
    taken: Taken,
    hub: Notified,
    /// When her first line is written, in milliseconds; by that its activity is called, too.
    begins: i64,
    secrets: TempDir,
}

impl Teams {
    pub(crate) fn open() -> Result<Self> {
        let pair = teams::connector()?;
        let (server, taken) = teams::microsoft_with(&pair)?;
        let (begins, secrets) = (gatepost::clock::now_ms(), tempfile::tempdir()?);
        Ok(Self { pair, server, taken, hub: Notified::default(), begins, secrets })
    }
}

impl House for Teams {
    fn name(&self) -> &'static str {
        "teams"
    }

    fn account(&self) -> String {
        let secret = secret(self.secrets.path(), "secret", "hush~secret").unwrap_or_default();
        let url = self.server.url();
        format!(
            "[channels.teams.home]\napp_id = \"app-1\"\ntenant = \"my-tenant\"\nsecret = {secret}\nreceive = true\n\
             service_url = \"{url}/teams\"\nlogin_url = \"{url}\"\nopenid_url = \"{url}/openid\"\n"
        )
    }

    fn hub_is_at(&self, port: u16) {
        self.hub.is_at(port);
    }

    fn notifies(&self) -> bool {
        true
    }

    fn id(&self) -> String {
        format!("teams:{ANN}")
    }

    fn tell(&self, told: Told<'_>) -> Result<bool> {
        let (number, later, kind, event, words) = match told {
            Told::Line(line, text) => (line, 0, "message", None, text),
            Told::Edit(line, text) => (line, 1, "messageUpdate", Some("editMessage"), text),
            Told::Strange(number) => (number, 0, "tomorrow", None, ""),
        };
        let id = self.begins + 10 * i64::try_from(number)?;
        let activity = json!({
            "type": kind, "id": id.to_string(), "timestamp": gatepost::clock::rfc3339(id + later),
            "channelId": "msteams", "serviceUrl": SERVICE, "textFormat": "plain", "text": words,
            "from": {"id": "29:1ann", "name": "Ann", "aadObjectId": ANN},
            "recipient": {"id": "28:app-1", "name": "Gatepost"},
            "conversation": {"id": "a:1abcdef", "conversationType": "personal"},
            "channelData": {"eventType": event},
        });
        let bearer = format!("Bearer {}", teams::token(&self.pair, "app-1", SERVICE)?);
        let body = activity.to_string();
        self.hub.post("/v1/platform/teams/home", &[("Authorization", &bearer)], body.as_bytes())?;
        Ok(true)
    }

    fn pieces(&self) -> usize {
        4
    }

    fn arrived(&self) -> Result<Vec<Arrived>> {
        Ok(self.taken.texts().into_iter().map(|(id, text)| Arrived { id, text }).collect())
    }

    fn remembers(&self) -> bool {
        false
    }

    /// The hub holds a token for an hour, and has no question for which the Connector would refuse it.
    fn refuses_token(&self) -> Option<(&'static str, &'static str)> {
        None
    }
}
