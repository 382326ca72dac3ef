//! What people do at Google Chat, pulled from a double of Cloud Pub/Sub and answered by an agent; the double's messages, judged by
//! Google's own library.
//!
//! Installed by `tests/run --setup-only`: Google's library.

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{
    hub::{SpawnedHub, client::text, database, eventually, secret},
    mocks::{
        MockServer, googlechat,
        pubsub::{self, Topic},
    },
    peers::judge,
};
use serde_json::{Value, json};

use super::turns;

fn ann() -> Value {
    json!({"name": "users/1", "displayName": "Ann", "email": "ann@hub.test", "type": "HUMAN"})
}

fn event(kind: &str, message: Value) -> Value {
    let now = gatepost::clock::rfc3339(gatepost::clock::now_ms());
    let place = json!({"name": googlechat::SPACE, "type": "ROOM", "displayName": "Kitchen"});
    json!({"type": kind, "eventTime": now, "space": place, "user": ann(), "message": message})
}

fn asked() -> Value {
    json!({
        "name": "spaces/AAAA/messages/Q.Q", "sender": ann(), "text": "@Gatepost is the oven on?", "argumentText": " is the oven on?",
        "thread": {"name": "spaces/AAAA/threads/Q"}, "createTime": "2026-03-01T12:00:00Z",
        "annotations": [{
            "type": "USER_MENTION", "startIndex": 0, "length": 9,
            "userMention": {"user": {"name": "users/9", "displayName": "Gatepost", "type": "BOT"}, "type": "MENTION"},
        }],
    })
}

fn hearing(google: &MockServer, pubsub: &MockServer, key: &str) -> Result<SpawnedHub> {
    SpawnedHub::start(&format!(
        "[agents.engineer]\nallow = [\"googlechat:*\"]\ncross_context = \"allow\"\ndecorate = false\n\
         [people.ann]\nids = [\"googlechat:ann@hub.test\"]\nscope = \"owner\"\n\
         [routes.engineer]\nfrom = [\"googlechat:*\"]\nagent = \"engineer\"\n\
         [channels.googlechat.home]\nkey = {key}\nbase_url = \"{}\"\ntoken_url = \"{}/token\"\n\
         receive = true\nsubscription = \"{}\"\npubsub_url = \"{}\"\n",
        google.url(),
        google.url(),
        pubsub::SUBSCRIPTION,
        pubsub.url()
    ))
}

#[test]
fn googles_own_library_reads_what_the_double_tells() -> Result<()> {
    let lines = |message: &Value| vec![json!({"index": 0, "message": message})];
    let verdict = judge("googlechat-messages", &lines(&asked()))?;
    ensure!(verdict.against.is_empty(), "{:#?}", verdict.against);
    let mut odd = asked();
    odd["argument_words"] = json!("x");
    ensure!(!judge("googlechat-messages", &lines(&odd))?.against.is_empty());
    Ok(())
}

#[test]
fn what_is_pulled_becomes_a_turn_once_and_is_acknowledged_after_its_row() -> Result<()> {
    let google = googlechat::start(googlechat::ISSUER)?;
    let topic = Topic::default();
    let pubsub = topic.serve(true)?;
    topic.publish(event("MESSAGE", asked()));
    let secrets = tempfile::tempdir()?;
    let mut hub = hearing(&google, &pubsub, &secret(secrets.path(), "key.json", googlechat::KEY)?)?;
    let agent = hub.agent("engineer")?;
    let told = turns::take(&agent)?;
    ensure!(
        told["items"][0]["text"] == "is the oven on?" && told["items"][0]["sender"]["name"] == "Ann",
        "{told}"
    );
    ensure!(told["conversation"]["thread"] == "spaces/AAAA/threads/Q", "{told}");
    ensure!(told["conversation"]["title"] == "Kitchen", "{told}");
    let answer = json!({"turn": told["turn"], "lease": told["lease"], "context": told["context"], "text": "It is off."});
    agent.post("/v1/reply", &answer)?.taken()?;
    let (query, made) = eventually("the answer arrives", || {
        let mut made = google.heard().into_iter().filter(|request| request.path.ends_with("/messages"));
        Ok(made.next().map(|request| (request.query.clone(), request.json())))
    })?;
    ensure!(
        text(&made, "text").contains("It is off.") && made["thread"]["name"] == "spaces/AAAA/threads/Q",
        "{made}"
    );

    // The first acknowledgement was lost, so it came again: it is known, and acknowledged then.
    eventually("it is acknowledged", || Ok((topic.told() == [(2, true)]).then_some(())))?;
    let rows: i64 = database::open(&hub.data_dir())?.query_row(
        "SELECT count(*) FROM inbound WHERE platform_id = 'spaces/AAAA/messages/Q.Q'",
        [],
        |row| row.get(0),
    )?;
    ensure!(rows == 1, "{rows} rows");

    // A press on a message of the app's.
    let id = query.split('&').find_map(|field| field.strip_prefix("messageId=")).context("its name")?;
    let mut press = event("CARD_CLICKED", json!({"name": format!("{}/messages/{id}", googlechat::SPACE)}));
    press["action"] =
        json!({"actionMethodName": "gatepost_button", "parameters": [{"key": "data", "value": "again"}]});
    topic.publish(press);
    let told = turns::take(&agent)?;
    ensure!(told["items"][0]["kind"] == "press" && told["items"][0].to_string().contains("again"), "{told}");
    let channels = hub.operator()?.get("/v1/channels")?.body;
    ensure!(channels.to_string().contains("what Pub/Sub has kept (7 days"), "{channels}");
    hub.terminate()
}
