//! Topics of an ntfy that ends its streams, answers with errors, and tells the hub what the hub has published itself.

use std::sync::Mutex;

use anyhow::{Result, ensure};
use gatepost_tests::{
    hub::{SpawnedHub, eventually},
    torture::{Dice, topics::Topics},
};
use serde_json::{Value, json};

use super::{
    hostile::{Becomes, LEFT_OUT, became, dropped, good},
    killed::{House, PEOPLE, Passed, has_begun, in_the_midst_of_what_people_write},
};

/// Nobody there is known: whoever writes is a stranger, of whom a topic may have five messages in an hour.
const STRANGERS: &str = "senders = \"all\"\nunknown = \"public\"\n";
/// How far before its position the hub goes on, in seconds.
const OVERLAP: i64 = 60;

fn topic(number: usize) -> String {
    format!("topic-{number}")
}

fn message(topic: &str, more: &Value) -> Value {
    let mut message = json!({"event": "message", "topic": topic});
    for (name, value) in more.as_object().into_iter().flatten() {
        message[name] = value.clone();
    }
    message
}

struct Server {
    topics: Topics,
    told: Mutex<Vec<(i64, String)>>,
}

impl House for Server {
    const CHANNEL: &'static str = "ntfy";
    const HAS_NO_KEYS: bool = true;
    const COUNTS: [(&'static str, u64); 2] = [("TORTURE_TOPIC_KILLS", 8), ("TORTURE_TOPIC_MESSAGES", 24)];
    const ROUTE: &'static str = STRANGERS;

    fn account(&self) -> String {
        self.topics.account(&(0..PEOPLE).map(topic).collect::<Vec<_>>())
    }

    fn id(&self, person: usize) -> String {
        format!("ntfy:{}", topic(person))
    }

    fn address(&self, person: usize) -> String {
        topic(person)
    }

    fn write(&self, person: usize, _: &str, words: &str) -> Result<()> {
        let mut told = self.told.lock().map_err(|_| anyhow::anyhow!("a writer panicked"))?;
        let time = self.topics.tell(message(&topic(person), &json!({ "message": words })));
        told.push((time, words.to_owned()));
        Ok(())
    }

    fn reached(&self, person: usize) -> Result<Vec<String>> {
        Ok(self.topics.sent(&topic(person)))
    }

    fn passed(&self, position: &str, _: &[String]) -> Result<Passed> {
        let since = position.parse::<i64>()? - OVERLAP;
        let told = self.told.lock().map_err(|_| anyhow::anyhow!("a writer panicked"))?;
        let passed = told.iter().filter(|(time, _)| *time < since);
        Ok(Passed::Words(passed.map(|(_, words)| words.clone()).collect()))
    }

    /// What the hub published came back to it, and was known.
    fn holds_at_the_end(&self, hub: &SpawnedHub) -> Result<()> {
        println!("ntfy: {:?}", self.topics.did());
        eventually("its own messages are counted", || {
            let counted = dropped(hub, "ntfy")?;
            Ok(counted.get(&("own_words".into(), "message".into())).filter(|count| **count > 0).map(drop))
        })
    }
}

#[test]
fn kills_before_an_ntfy_that_ends_its_streams_leave_every_message_in_one_turn() -> Result<()> {
    let server = Server { topics: Topics::start(Some(Dice::throw("topics")?))?, told: Mutex::default() };
    in_the_midst_of_what_people_write(&server)
}

/// What an ntfy can send, and what becomes of it.
fn hostile() -> Vec<(Value, Becomes)> {
    use Becomes::{Drop, Message};
    let said = |number: usize, more: Value| message(&topic(number), &more);
    vec![
        (said(0, json!({"message": "many ".repeat(40_000)})), Message(LEFT_OUT)),
        (said(1, json!({"message": "x".repeat(1_000_000)})), Drop("unreadable", "long line")),
        (said(2, json!({"event": "message_clear", "sequence_id": "a"})), Drop("not_used", "message_clear")),
        (said(3, json!({"event": "poll_request", "poll_id": "a"})), Drop("not_used", "poll_request")),
        (said(4, json!({"event": "tomorrow"})), Drop("not_used", "tomorrow")),
        (said(5, json!({"event": 5})), Drop("unreadable", "line")),
        (json!([[]]), Drop("unreadable", "line")),
        (said(6, json!({"message": "x", "id": ""})), Drop("unreadable", "message")),
        (said(7, json!({"message": "x", "id": 7})), Drop("unreadable", "message")),
        (said(8, json!({"message": "x", "id": "i".repeat(5_000)})), Drop("unreadable", "message")),
        (said(9, json!({"message": "x", "topic": "elsewhere"})), Drop("unreadable", "message")),
        (said(10, json!({"message": "x", "encoding": "base64"})), Drop("not_used", "message in base64")),
        (said(11, json!({"message": null})), Drop("not_used", "message without words")),
        (said(12, json!({"message": "first", "id": "once"})), Message("first")),
        (said(12, json!({"message": "reused", "id": "once"})), Drop("repeated", "message")),
        (said(13, json!({"message": "zero", "time": 0})), Message("zero")),
        (said(14, json!({"message": "before", "time": -1})), Message("before")),
        (said(15, json!({"message": "latest", "time": i64::MAX})), Message("latest")),
        (said(16, json!({"message": "tuesday", "time": "tuesday"})), Message("tuesday")),
        (
            said(17, json!({"message": "odd", "tags": 5, "priority": "x", "attachment": [], "title": {}})),
            Message("odd"),
        ),
        // Nobody is asked there, for the hub asks its own server alone.
        (
            said(
                18,
                json!({"message": "points", "attachment": {"name": "x", "url": "http://127.0.0.1:9/file/secret"}}),
            ),
            Message("http://127.0.0.1:9/file/secret"),
        ),
        (said(19, json!({"event": "message_delete", "sequence_id": "never"})), Drop("not_engaged", "delete")),
    ]
}

#[test]
fn whatever_an_ntfy_sends_is_told_or_counted_and_the_next_message_comes() -> Result<()> {
    let server = Topics::start(None)?;
    let account = server.account(&(0..32).map(topic).collect::<Vec<_>>());
    let rules = "[agents.engineer]\nallow = []\n[people.ann]\nids = [\"ntfy:topic-31\"]\nscope = \"owner\"\n\
                 [routes.engineer]\nfrom = [\"ntfy:*\"]\nagent = \"engineer\"\nengage = \"pattern\"\npattern = \".\"\n";
    let hub = SpawnedHub::start(&format!("{rules}{STRANGERS}{account}"))?;
    has_begun(&hub, "ntfy")?;
    let (mut becomes, cases) = (Vec::new(), hostile());
    for (number, (line, becomes_this)) in cases.into_iter().enumerate() {
        server.tell(line);
        server.tell(message(&topic(number), &json!({"message": good(number)})));
        becomes.push(becomes_this);
    }
    became(&hub, "ntfy", &becomes)?;
    // Named among the people of the configuration, a topic is as little somebody as any other.
    server.tell(message(&topic(31), &json!({"message": "owner"})));
    let operator = hub.operator()?;
    let scope = eventually("the turn is there", || {
        let turns = operator.get("/v1/turns?limit=1000")?.taken()?;
        let of_it = turns["turns"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|turn| turn.to_string().contains("topic-31"));
        Ok(of_it.map(|turn| turn["scope"].clone()))
    })?;
    ensure!(scope == "unknown", "{scope}");
    Ok(())
}
