//! ntfy, before a double of its server. Nobody there is anybody: each topic is a conversation with a stranger.

use std::time::Duration;

use anyhow::Result;
use gatepost_tests::torture::topics::Topics;
use serde_json::json;

use super::{Arrived, House, Told};

/// So many messages of a stranger are heard in an hour.
const HEARD: usize = 5;
/// So many topics of each account, which may have 32.
const TOPICS: usize = 20;
const ACCOUNTS: usize = 2;

pub(crate) struct Ntfy(Topics);

impl Ntfy {
    pub(crate) fn open() -> Result<Self> {
        Ok(Self(Topics::start(None)?))
    }
}

fn topic(line: usize) -> String {
    format!("topic-{}", line / HEARD % (ACCOUNTS * TOPICS))
}

impl House for Ntfy {
    fn name(&self) -> &'static str {
        "ntfy"
    }

    fn account(&self) -> String {
        let topics =
            |first: usize| (first..first + TOPICS).map(|number| topic(number * HEARD)).collect::<Vec<_>>();
        let other = self.0.account(&topics(0)).replace("ntfy.home", "ntfy.other");
        format!("{other}{}", self.0.account(&topics(TOPICS)))
    }

    fn route(&self) -> &'static str {
        "senders = \"all\"\nunknown = \"public\"\n"
    }

    fn id(&self) -> String {
        "ntfy:nobody".into()
    }

    fn tell(&self, told: Told<'_>) -> Result<bool> {
        match told {
            Told::Line(line, text) => {
                let id = format!("line{line:08}");
                self.0.tell(json!({"event": "message", "id": id, "topic": topic(line), "message": text}));
            }
            Told::Edit(..) => return Ok(false),
            Told::Strange(number) => {
                self.0.tell(json!({"event": "tomorrow", "topic": topic(number)}));
            }
        }
        Ok(true)
    }

    fn pace(&self) -> Duration {
        Duration::from_secs(6)
    }

    fn usual_lines(&self) -> u64 {
        12
    }

    fn pieces(&self) -> usize {
        4
    }

    fn arrived(&self) -> Result<Vec<Arrived>> {
        let mut all = Vec::new();
        for number in 0..ACCOUNTS * TOPICS {
            let sent = self.0.sent(&topic(number * HEARD));
            all.extend(sent.into_iter().map(|text| Arrived { id: String::new(), text }));
        }
        Ok(all)
    }

    fn tells_edits(&self) -> bool {
        false
    }
}
