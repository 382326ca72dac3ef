//! What a hub hears on Signal, before a signal-cli that has an account: a turn and its answer, files, and how it goes on after a restart.

use std::sync::{Arc, atomic::Ordering};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{
    hub::{Client, SpawnedHub, client::text, database, eventually},
    mocks::{
        Answer, MockServer,
        signal::{
            self, SignalMock,
            stream::{envelope, message},
        },
    },
};
use serde_json::{Value, json};

const ANN: &str = "bbbbbbbb-0000-4000-8000-00000000000b";
const GROUP: &str = "Pmpi+EfPWmsxiomLe9Nx2XF9HOE483p6iKiFj65iMwI=";

fn listening(server: &MockServer) -> Result<SpawnedHub> {
    SpawnedHub::start(&format!(
        "[agents.engineer]\nallow = [\"signal:*\"]\ncross_context = \"allow\"\n[people.ann]\nids = [\"signal:{ANN}\"]\nscope = \"owner\"\n\
         [routes.engineer]\nfrom = [\"signal:*\"]\nagent = \"engineer\"\n\
         [channels.signal.home]\nurl = \"{}\"\naccount = \"{}\"\nreceive = true\n",
        server.url(),
        signal::ACCOUNT
    ))
}

/// What was received, in its order: its kind, the message that it is or is about, and the text.
fn rows(hub: &SpawnedHub) -> Result<Vec<(String, String, String)>> {
    let db = database::open(&hub.data_dir())?;
    let mut rows = db
        .prepare("SELECT kind, coalesce(platform_id, facts ->> '$.about'), text FROM inbound ORDER BY seq")?;
    let rows = rows.query_map([], |row| {
        Ok((
            row.get(0)?,
            row.get::<_, Option<_>>(1)?.unwrap_or_default(),
            row.get::<_, Option<_>>(2)?.unwrap_or_default(),
        ))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn words(hub: &SpawnedHub, count: usize) -> Result<Vec<String>> {
    let all = eventually("they are received", || Ok(Some(rows(hub)?).filter(|rows| rows.len() >= count)))?;
    Ok(all.into_iter().map(|(_, _, text)| text).collect())
}

fn calls(server: &MockServer, method: &str) -> Vec<Value> {
    let all = server.heard().into_iter().map(|request| request.json());
    all.filter(|call| call["method"] == method).map(|call| call["params"].clone()).collect()
}

/// The agent's next turn.
fn next(agent: &Client) -> Result<Value> {
    eventually("the agent has a turn", || {
        let answer = agent.get("/v1/turns?wait=5")?.taken()?;
        Ok(Some(answer["turn"].clone()).filter(Value::is_object))
    })
}

fn says(mock: &Arc<SignalMock>, at: i64, data: &Value) {
    mock.stream.happens(&message(ANN, at, data));
}

#[test]
fn a_person_writes_the_agent_answers_and_they_see_that_it_has_read_and_writes() -> Result<()> {
    let (server, mock) = signal::start_with()?;
    let hub = listening(&server)?;
    let agent = hub.agent("engineer")?;
    let file = json!({"contentType": "text/plain", "filename": "list.txt", "id": "the list", "size": 8});
    says(&mock, 5, &json!({"message": "Is the build green?", "attachments": [file]}));
    let turn = next(&agent)?;
    let item = &turn["items"][0];
    ensure!(item["text"] == "Is the build green?" && item["message_id"] == format!("{ANN}/5"), "{turn}");
    ensure!(item["sender"]["id"] == format!("signal:{ANN}") && item["sender"]["name"] == "Ann", "{turn}");
    ensure!(item["files"][0]["name"] == "list.txt" && item["files"][0]["size"] == 8, "{turn}");
    eventually("she sees it", || {
        Ok((!calls(&server, "sendTyping").is_empty() && !calls(&server, "sendReceipt").is_empty())
            .then_some(()))
    })?;
    let read = &calls(&server, "sendReceipt")[0];
    ensure!(read["recipient"] == ANN && read["targetTimestamp"] == json!([5]), "{read}");
    let answer = json!({"turn": turn["turn"], "lease": turn["lease"], "context": turn["context"], "text": "All green."});
    let replied = agent.post("/v1/reply", &answer)?;
    ensure!(replied.status < 300, "{replied:?}");
    let sent = eventually("the answer arrives", || Ok(calls(&server, "send").pop()))?;
    ensure!(sent["recipient"] == json!([ANN]) && text(&sent, "message").contains("All green."), "{sent}");
    Ok(())
}

#[test]
fn each_kind_of_event_is_a_row_and_a_group_wakes_by_a_mention_alone() -> Result<()> {
    let (server, mock) = signal::start_with()?;
    let hub = listening(&server)?;
    let agent = hub.agent("engineer")?;
    let group = json!({"groupId": GROUP, "groupName": "House", "revision": 1, "type": "DELIVER"});
    says(&mock, 11, &json!({"message": "Nobody is meant", "groupInfo": group}));
    let mention = json!([{"uuid": signal::ACI, "number": signal::ACCOUNT, "start": 0, "length": 1}]);
    says(&mock, 12, &json!({"message": "\u{fffc} you are", "mentions": mention, "groupInfo": group}));
    let turn = next(&agent)?;
    let items = turn["items"].as_array().context("items")?;
    let engages: Vec<&str> =
        items.iter().filter(|item| item["engages"] == true).map(|item| text(item, "text")).collect();
    ensure!(engages == [format!("@{} you are", signal::ACCOUNT)], "{turn}");
    ensure!(turn["conversation"]["target"] == format!("signal:group:{GROUP}"), "{turn}");
    ensure!(turn["conversation"]["title"] == "House", "{turn}");

    let asked = agent.send_and_wait(&json!({"to": format!("signal:{ANN}"), "message": "Tea?"}))?;
    let own = text(&asked["parts"][0], "platform_id").to_owned();
    let own_at: u64 = own.parse().with_context(|| asked.to_string())?;
    says(&mock, 21, &json!({ "message": "One" }));
    let edit = json!({"targetSentTimestamp": 21, "dataMessage": {"timestamp": 22, "message": "Two"}});
    mock.stream.happens(&envelope(ANN, 22, &json!({ "editMessage": edit })));
    let reaction = |is_remove: bool| json!({"emoji": "👍", "targetAuthorUuid": signal::ACI, "targetSentTimestamp": own_at, "isRemove": is_remove});
    says(&mock, 23, &json!({ "reaction": reaction(false) }));
    says(&mock, 24, &json!({ "reaction": reaction(true) }));
    let vote = json!({"authorUuid": signal::ACI, "targetSentTimestamp": own_at, "optionIndexes": [1], "voteCount": 1});
    says(&mock, 25, &json!({ "pollVote": vote }));
    says(&mock, 26, &json!({"remoteDelete": {"timestamp": 21}}));
    // They come in their order.
    let all = eventually("all of it is received", || {
        let rows = rows(&hub)?;
        Ok(rows.last().is_some_and(|(is, _, _)| is == "delete").then_some(rows))
    })?;
    let of = |kind: &str| {
        all.iter().filter(|(is, _, _)| is == kind).map(|(_, id, _)| id.as_str()).collect::<Vec<_>>()
    };
    ensure!(of("edit") == [format!("{ANN}/21")] && of("delete") == [format!("{ANN}/21")], "{all:?}");
    ensure!(of("reaction") == [own.as_str(), &own] && of("vote") == [own.as_str()], "{all:?}");
    Ok(())
}

#[test]
fn a_restart_goes_on_behind_the_last_row_whatever_the_stream_repeats() -> Result<()> {
    let (server, mock) = signal::start_with()?;
    let mut hub = listening(&server)?;
    (1..=3).for_each(|at| says(&mock, at, &json!({ "message": format!("word{at}") })));
    words(&hub, 3)?;
    hub.kill()?;
    (4..=5).for_each(|at| says(&mock, at, &json!({ "message": format!("word{at}") })));
    server.next_for("/api/v1/events", Answer::Says(500, Value::Null));
    hub.run()?;
    let all = words(&hub, 5)?;
    ensure!(all == ["word1", "word2", "word3", "word4", "word5"], "{all:?}");
    ensure!(mock.stream.asked().last().is_some_and(|id| id.ends_with("-3")), "{:?}", mock.stream.asked());
    Ok(())
}

#[test]
fn a_daemon_that_receives_for_nobody_is_named_where_channels_are_listed() -> Result<()> {
    let (server, mock) = signal::start_with()?;
    mock.on_start.store(true, Ordering::Relaxed);
    let hub = listening(&server)?;
    let operator = hub.operator()?;
    eventually("it says so", || {
        let said = operator.get("/v1/channels?fresh=true")?.body;
        let said = text(&said["channels"][0], "said").to_owned();
        Ok(said.contains("--receive-mode=on-connection").then_some(()))
    })
}
