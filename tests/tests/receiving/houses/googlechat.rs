//! Google Chat, before doubles of its API and of the Pub/Sub subscription that the hub pulls. What is told again is published again: Pub/Sub
//! tells at least once.

use std::time::Duration;

use anyhow::Result;
use gatepost_tests::{
    hub::secret,
    mocks::{
        MockServer,
        googlechat::{self, Seen},
        pubsub::{self, Topic},
    },
};
use serde_json::json;
use tempfile::TempDir;

use super::{Arrived, House, Told};

pub(crate) struct GoogleChat {
    google: MockServer,
    seen: Seen,
    pubsub: MockServer,
    topic: Topic,
    /// When her first line is written, in milliseconds.
    begins: i64,
    secrets: TempDir,
}

impl GoogleChat {
    pub(crate) fn open() -> Result<Self> {
        let (google, seen) = googlechat::start_with(googlechat::ISSUER)?;
        let (topic, begins) = (Topic::default(), gatepost::clock::now_ms());
        Ok(Self { google, seen, pubsub: topic.serve(false)?, topic, begins, secrets: tempfile::tempdir()? })
    }
}

impl House for GoogleChat {
    fn name(&self) -> &'static str {
        "googlechat"
    }

    fn account(&self) -> String {
        let key = secret(self.secrets.path(), "key.json", googlechat::KEY).unwrap_or_default();
        let (google, pubsub, subscription) = (self.google.url(), self.pubsub.url(), pubsub::SUBSCRIPTION);
        format!(
            "[channels.googlechat.home]\nkey = {key}\nbase_url = \"{google}\"\ntoken_url = \"{google}/token\"\n\
             receive = true\nsubscription = \"{subscription}\"\npubsub_url = \"{pubsub}\"\n"
        )
    }

    fn id(&self) -> String {
        "googlechat:ann@hub.test".into()
    }

    fn tell(&self, told: Told<'_>) -> Result<bool> {
        let (number, kind, words) = match told {
            Told::Line(line, text) => (line, "MESSAGE", text),
            // An app is told of what people write to it, and of no change of that
            // (<https://developers.google.com/workspace/chat/api/reference/rest/v1/EventType>).
            Told::Edit(..) => return Ok(false),
            Told::Strange(number) => (number, "TOMORROW", ""),
        };
        let at = gatepost::clock::rfc3339(self.begins + i64::try_from(number)?);
        let ann = json!({"name": "users/1", "displayName": "Ann", "email": "ann@hub.test", "type": "HUMAN"});
        let message = json!({
            "name": format!("{}/messages/A{number}.A{number}", googlechat::SPACE), "sender": ann, "text": words,
            "argumentText": words, "createTime": at,
        });
        let space = json!({"name": googlechat::SPACE, "type": "DM"});
        self.topic
            .publish(json!({"type": kind, "eventTime": at, "space": space, "user": ann, "message": message}));
        Ok(true)
    }

    fn pace(&self) -> Duration {
        Duration::from_secs(2)
    }

    /// A pull may take 90 s (<https://cloud.google.com/pubsub/docs/pull#unary_pull>), and the hub gives it two minutes.
    fn silence(&self) -> Duration {
        Duration::from_secs(120)
    }

    fn pieces(&self) -> usize {
        4
    }

    fn arrived(&self) -> Result<Vec<Arrived>> {
        Ok(self.seen.texts().into_iter().map(|(id, text)| Arrived { id, text }).collect())
    }

    /// What is not acknowledged comes again later than what was published after it, unless a publisher sets ordering keys
    /// (<https://cloud.google.com/pubsub/docs/ordering>).
    fn keeps_order(&self) -> bool {
        false
    }

    fn tells_edits(&self) -> bool {
        false
    }
}
