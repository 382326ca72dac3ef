//! What people do at Slack, heard by Socket Mode and told to an agent; the double of it, judged by Slack's own client.
//!
//! Installed by `tests/run --setup-only`: Slack's library.

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{
    hub::{SpawnedHub, client::text, eventually},
    peers::{Mock, Reader},
};
use serde_json::{Value, json};

use super::turns;

const KITCHEN: &str = "C0KITCHEN";
const ANN: &str = "U00000001";
const ME: &str = "U0HUB0001";

const RULES: &str = "[agents.engineer]\nallow = [\"slack:*\"]\ncross_context = \"allow\"\ndecorate = false\n[people.ann]\nids = [\"slack:U00000001\"]\nscope = \"owner\"\n\
     [routes.engineer]\nfrom = [\"slack:*\"]\nagent = \"engineer\"\n";

fn state(mock: &Mock) -> Result<Value> {
    mock.happen(json!("state"))
}

/// A hub that hears.
fn hearing(mock: &Mock, folder: &std::path::Path) -> Result<SpawnedHub> {
    let hub = SpawnedHub::start(&format!("{RULES}{}", mock.hearing_account(folder)?))?;
    opened(mock, 1)?;
    Ok(hub)
}

fn opened(mock: &Mock, count: u64) -> Result<()> {
    eventually("a connection", || {
        let state = state(mock)?;
        let is_open = state["opened"].as_u64() >= Some(count) && state["connections"].as_u64() >= Some(1);
        Ok(is_open.then_some(()))
    })
}

fn says(mock: &Mock, message: Value) -> Result<String> {
    let mut said = json!({"channel": KITCHEN, "user": ANN});
    for (name, value) in message.as_object().into_iter().flatten() {
        said[name] = value.clone();
    }
    Ok(text(&mock.happen(json!({"say": said}))?, "ts").to_owned())
}

#[test]
fn slacks_own_client_connects_to_the_double_acknowledges_and_goes_over_to_a_new_connection() -> Result<()> {
    let mock = Mock::slack()?;
    let client = Reader::start("slack-bot.py", &[&format!("{}/api/", mock.base_url()), Mock::SLACK_APP])?;
    opened(&mock, 1)?;
    says(&mock, json!({"text": "one"}))?;
    let heard = client.says()?;
    ensure!(
        heard == json!({"type": "events_api", "text": "one", "attempt": null, "team": "T0HOUSE01"}),
        "{heard}"
    );
    mock.happen(json!({"disconnect": "refresh_requested"}))?;
    opened(&mock, 2)?;
    says(&mock, json!({"text": "two"}))?;
    ensure!(text(&client.says()?, "text") == "two");
    let state = eventually("both are acknowledged", || {
        Ok(Some(state(&mock)?)
            .filter(|state| state["acked"].as_array().is_some_and(|acked| acked.len() == 2)))
    })?;
    ensure!(state["acked"] == state["sent"] && state["faults"] == json!([]), "{state}");
    client.end()
}

#[test]
fn an_agent_is_told_what_people_do_and_answers_where_it_was_asked() -> Result<()> {
    let (mock, secrets) = (Mock::slack()?, tempfile::tempdir()?);
    let mut hub = hearing(&mock, secrets.path())?;
    let agent = hub.agent("engineer")?;
    // A mention is told twice, as two kinds of event, and is one message.
    let mention = format!("<@{ME}> is the oven &lt;on&gt;? <https://a.test/|See>");
    let ts = says(
        &mock,
        json!({"text": mention, "files": [
        {"id": "F1", "name": "a.txt", "mimetype": "text/plain", "size": 14, "url_private": format!("{}/files/a.txt", mock.base_url())},
        {"id": "F2", "name": "b.png", "mimetype": "image/png", "size": 9, "url_private": format!("{}/files/secret", mock.base_url())},
    ], "subtype": "file_share"}),
    )?;
    mock.happen(json!({"tell": {"type": "app_mention", "channel": KITCHEN, "user": ANN, "text": mention, "ts": ts, "event_ts": ts}}))?;
    let told = turns::take_and_end(&agent)?;
    let items = told["items"].as_array().context("items")?;
    ensure!(items.len() == 1, "{told}");
    ensure!(text(&items[0], "text") == "@Ann 1 is the oven <on>? See (https://a.test/)", "{told}");
    ensure!(items[0]["message_id"] == ts.as_str() && items[0]["engages"] == true, "{told}");
    ensure!(items[0]["sender"]["name"] == "Ann 1" && told["conversation"]["title"] == "kitchen", "{told}");
    ensure!(
        items[0]["files"].as_array().is_some_and(|files| files.len() == 1 && files[0]["name"] == "a.txt"),
        "{told}"
    );
    ensure!(items[0].to_string().contains("files:read"), "a page to sign in at is no file: {told}");

    // In a direct conversation each word is meant for the bot, and the answer goes to the person.
    says(&mock, json!({"channel": "D00000001", "channel_type": "im", "text": "And now?"}))?;
    let told = turns::take_and_end(&agent)?;
    ensure!(
        told["conversation"]["target"] == "slack:U00000001" && told["conversation"]["kind"] == "dm",
        "{told}"
    );

    // What the bot says it hears itself, which wakes nobody; an answer in a thread of its own does.
    let sent = agent.send_and_wait(&json!({"to": "slack:C0KITCHEN", "message": "It is off."}))?;
    let root = text(&sent["parts"][0], "platform_id").to_owned();
    says(&mock, json!({"text": "Thanks.", "thread_ts": root, "parent_user_id": ME}))?;
    let told = turns::take_and_end(&agent)?;
    ensure!(told["conversation"]["thread"] == root.as_str(), "{told}");
    ensure!(told["items"][0]["text"] == "Thanks.", "{told}");

    // A press on a button of the bot's.
    let press = json!({
        "type": "block_actions", "team": {"id": "T0HOUSE01"}, "user": {"id": ANN, "username": "ann"}, "trigger_id": "1.2",
        "container": {"type": "message", "message_ts": root, "channel_id": KITCHEN}, "channel": {"id": KITCHEN},
        "actions": [{"type": "button", "action_id": "button_0_0", "value": "again", "action_ts": root}],
    });
    mock.happen(json!({"tell": press, "type": "interactive"}))?;
    let told = turns::take_and_end(&agent)?;
    ensure!(told["items"][0]["kind"] == "press" && told["items"][0].to_string().contains("again"), "{told}");

    // Each was acknowledged, and nothing that is none.
    let state = eventually("all is acknowledged", || {
        Ok(Some(state(&mock)?).filter(|state| state["deliveries"] == 0))
    })?;
    ensure!(state["lost"] == 0 && state["faults"] == json!([]), "{state}");
    ensure!(state["sent"] == state["acked"], "one took longer than three seconds: {state}");
    let channels = hub.operator()?.get("/v1/channels")?.body;
    let account =
        channels["channels"].as_array().and_then(|all| all.iter().find(|one| one["channel"] == "slack"));
    let account = account.with_context(|| channels.to_string())?;
    ensure!(account["receives"] == true && account["ready"] == true, "{account}");
    let log = hub.log()?;
    for secret in [mock.token(), Mock::SLACK_APP, "ticket-"] {
        ensure!(!log.contains(secret), "{secret} is in the log");
    }
    hub.terminate()
}

#[test]
fn an_account_without_an_app_level_token_only_sends() -> Result<()> {
    let (mock, secrets) = (Mock::slack()?, tempfile::tempdir()?);
    let account = mock.account(secrets.path(), mock.token())?;
    let mut hub = SpawnedHub::start(&format!("{RULES}{account}"))?;
    let agent = hub.agent("engineer")?;
    ensure!(agent.send_and_wait(&json!({"to": "slack:C0KITCHEN", "message": "Hello"}))?["state"] == "sent");
    let channels = hub.operator()?.get("/v1/channels")?.body;
    let all = channels["channels"].as_array().context("channels")?;
    let account = all.iter().find(|one| one["channel"] == "slack").context("the account")?;
    ensure!(account["receives"] == false && account["ready"] == true, "{account}");
    ensure!(state(&mock)?["opened"] == 0);
    hub.terminate()?;

    let account = mock.account(secrets.path(), mock.token())?;
    let without = SpawnedHub::at_rest(tempfile::tempdir()?.into(), &format!("{account}receive = true\n"))?;
    let checked = without.cli(&["check"])?;
    ensure!(checked.status != 0 && format!("{checked:?}").contains("set app_token"), "{checked:?}");
    Ok(())
}
