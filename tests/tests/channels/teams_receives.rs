//! What people do at Teams, told by the Bot Connector and by whoever says that it is the Connector, and answered by an agent.
//!
//! Microsoft's Agents Playground tells a bot things too, but signs nothing, so the hub believes none of it (how it is read is in
//! `teams`): a double with a key of its own does it here, in the shapes of Microsoft's documentation.

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{
    hub::{Client, SpawnedHub, client::text, eventually, secret},
    mocks::{
        MockServer,
        teams::{connector, microsoft, token},
    },
};
use ring::signature::RsaKeyPair;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::turns;

const SERVICE: &str = "https://smba.test/teams/";
const ANN: &str = "0de69e5e-2da8-4cf2-821f-5e6585b2c65b";

/// A hub that hears, Microsoft, and the Connector.
struct Fixture {
    hub: SpawnedHub,
    server: MockServer,
    pair: RsaKeyPair,
    _secrets: TempDir,
}

impl Fixture {
    fn start() -> Result<Self> {
        let pair = connector()?;
        let (server, secrets) = (microsoft(&pair)?, tempfile::tempdir()?);
        let (url, secret) = (server.url(), secret(secrets.path(), "secret", "hush~secret")?);
        let hub = SpawnedHub::start(&format!(
            "[agents.engineer]\nallow = [\"teams:*\"]\ncross_context = \"allow\"\ndecorate = false\n\
             [people.ann]\nids = [\"teams:{ANN}\"]\nscope = \"owner\"\n\
             [routes.engineer]\nfrom = [\"teams:*\"]\nagent = \"engineer\"\n\
             [channels.teams.home]\napp_id = \"app-1\"\ntenant = \"my-tenant\"\nsecret = {secret}\nreceive = true\n\
             service_url = \"{url}/teams\"\nlogin_url = \"{url}\"\nopenid_url = \"{url}/openid\"\n"
        ))?;
        Ok(Self { hub, server, pair, _secrets: secrets })
    }

    /// The answer to an activity.
    fn tells(&self, activity: &Value) -> Result<u16> {
        let token = token(&self.pair, "app-1", SERVICE)?;
        Ok(self.hub.anybody(Some(&token)).post("/v1/platform/teams/home", activity)?.status)
    }
}

/// An activity of Ann's, now.
fn activity(id: &str, more: &Value) -> Value {
    let now = gatepost::clock::rfc3339(gatepost::clock::now_ms());
    let mut activity = json!({
        "type": "message", "id": id, "timestamp": now, "channelId": "msteams", "serviceUrl": SERVICE, "textFormat": "plain",
        "from": {"id": "29:1ann", "name": "Ann", "aadObjectId": ANN}, "recipient": {"id": "28:app-1", "name": "Gatepost"},
        "conversation": {"id": "a:1abcdef", "conversationType": "personal"},
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        activity[name] = value.clone();
    }
    activity
}

/// The next turn of the agent, which is answered so or just ends.
fn turn(agent: &Client, answer: Option<&str>) -> Result<Value> {
    let turn = turns::take(agent)?;
    match answer {
        Some(answer) => {
            let reply = json!({"turn": turn["turn"], "lease": turn["lease"], "context": turn["context"], "text": answer});
            agent.post("/v1/reply", &reply)?.taken()?;
        }
        None => turns::end(agent, &turn)?,
    }
    Ok(turn)
}

fn no_turn(agent: &Client) -> Result<()> {
    let answer = agent.get("/v1/turns?wait=0")?.taken()?;
    ensure!(answer["turn"].is_null(), "{answer}");
    Ok(())
}

/// The messages that arrived at Teams.
fn arrived(server: &MockServer) -> Vec<(String, Value)> {
    let all = server.heard().into_iter().filter(|request| request.path.contains("/activities"));
    let all = all.map(|request| (request.path.clone(), request.json()));
    all.filter(|(_, body)| body["type"] == "message").collect()
}

#[test]
fn what_teams_tells_becomes_a_turn_once_and_the_answer_goes_where_it_was_asked() -> Result<()> {
    let mut fixture = Fixture::start()?;
    let agent = fixture.hub.agent("engineer")?;
    let asked = activity(
        "1700000000001",
        &json!({
            "text": "<at>Gatepost</at> is the oven &lt;on&gt;?",
            "conversation": {"id": "19:abc@thread.tacv2;messageid=1700000000000", "conversationType": "channel"},
            "channelData": {"team": {"name": "House"}, "channel": {"name": "Kitchen"}},
            "entities": [{"type": "mention", "text": "<at>Gatepost</at>", "mentioned": {"id": "28:app-1", "name": "Gatepost"}}],
        }),
    );
    // Whoever is not the Connector is not heard.
    let port = "/v1/platform/teams/home";
    for forged in [None, Some("a.b.c".to_owned()), Some(token(&fixture.pair, "app-2", SERVICE)?)] {
        let refused = fixture.hub.anybody(forged.as_deref()).post(port, &asked)?;
        ensure!(refused.status == 401, "{refused:?}");
    }
    let elsewhere = fixture.hub.anybody(Some(&token(&fixture.pair, "app-1", "https://evil.test/")?));
    ensure!(elsewhere.post(port, &asked)?.status == 401, "another service's word");
    no_turn(&agent)?;

    for _ in 0..2 {
        ensure!(fixture.tells(&asked)? == 200);
    }
    let told = turn(&agent, Some("It is **off**."))?;
    let items = told["items"].as_array().context("items")?;
    ensure!(items.len() == 1 && text(&items[0], "text") == "is the oven <on>?", "{told}");
    ensure!(
        items[0]["sender"]["name"] == "Ann" && told["conversation"]["title"] == "House / Kitchen",
        "{told}"
    );
    ensure!(told["conversation"]["thread"] == "1700000000000", "{told}");
    let answers = eventually("the answer arrives", || Ok(arrived(&fixture.server).pop()))?;
    ensure!(answers.0.contains("19:abc@thread.tacv2;messageid=1700000000000"), "{answers:?}");
    ensure!(text(&answers.1, "text").contains("It is **off**."), "{answers:?}");
    no_turn(&agent)?;

    // Its new words are read with the next turn, which a file begins.
    let mut edited = asked.clone();
    (edited["type"], edited["channelData"]["eventType"]) = (json!("messageUpdate"), json!("editMessage"));
    edited["text"] = json!("<at>Gatepost</at> is the fridge on?");
    ensure!(fixture.tells(&edited)? == 200);
    let mut again = asked.clone();
    (again["id"], again["text"]) = (json!("1700000000002"), json!("<at>Gatepost</at> and now?"));
    ensure!(fixture.tells(&again)? == 200);
    let told = turn(&agent, None)?;
    ensure!(
        told.to_string().contains("is the fridge on?") && told.to_string().contains("and now?"),
        "{told}"
    );

    let channels = fixture.hub.operator()?.get("/v1/channels")?.body;
    let account =
        channels["channels"].as_array().and_then(|all| all.iter().find(|one| one["channel"] == "teams"));
    let account = account.with_context(|| channels.to_string())?;
    ensure!(account["receives"] == true && account["ready"] == true, "{account}");
    ensure!(account.to_string().contains("/v1/platform/teams/home, last at 20"), "{account}");
    fixture.hub.terminate()
}

#[test]
fn a_file_a_press_and_a_choice_in_a_conversation_with_one_person_are_told() -> Result<()> {
    let mut fixture = Fixture::start()?;
    let agent = fixture.hub.agent("engineer")?;
    let file = format!("{}/drive?tempauth=hush", fixture.server.url());
    let sends = activity(
        "1700000000003",
        &json!({"text": "Here is the plan", "attachments": [
            {"contentType": "text/html", "content": "<p>Here is the plan</p>"},
            {"contentType": "application/vnd.microsoft.teams.file.download.info", "name": "plan.json",
             "content": {"downloadUrl": file, "uniqueId": "u", "fileType": "json"}},
            {"contentType": "image/png", "contentUrl": "https://evil.test/pixel.png"},
        ]}),
    );
    ensure!(fixture.tells(&sends)? == 200);
    let told = turn(&agent, None)?;
    ensure!(
        told["conversation"]["kind"] == "dm" && told["conversation"]["target"] == "teams:a:1abcdef",
        "{told}"
    );
    let item = &told["items"][0];
    ensure!(
        item["files"][0]["name"] == "plan.json" && item["files"].as_array().is_some_and(|all| all.len() == 1),
        "{told}"
    );
    ensure!(item.to_string().contains("no address of Teams"), "{told}");
    ensure!(!fixture.hub.log()?.contains("hush"), "a file's address is in the log");
    // It is for the agent that was told of it, and for no other.
    let kept = format!("/v1/files/{}", text(&item["files"][0], "file"));
    ensure!(agent.get(&kept)?.status == 200 && fixture.hub.operator()?.get(&kept)?.status == 200);
    ensure!(fixture.hub.agent("another")?.get(&kept)?.status == 404);

    let buttons = json!([[{"text": "Again", "callback_data": "again"}]]);
    let sent =
        agent.send_and_wait(&json!({"to": "teams:a:1abcdef", "message": "Tea?", "buttons": buttons}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    let card = text(&sent["parts"][0], "platform_id").to_owned();
    let pressed = arrived(&fixture.server).pop().context("a card")?.1;
    let data = &pressed.pointer("/attachments/0/content/body/1/actions/0/data").context("a button")?;
    ensure!(fixture.tells(&activity("f:1", &json!({"replyToId": card, "value": data})))? == 200);
    let told = turn(&agent, None)?;
    ensure!(told["items"][0]["kind"] == "press" && told["items"][0].to_string().contains("again"), "{told}");

    let entered = json!({"replyToId": card, "value": {"why": "because"}});
    ensure!(fixture.tells(&activity("f:2", &entered))? == 200);
    let told = turn(&agent, None)?;
    ensure!(
        told["items"][0]["kind"] == "entry" && told["items"][0].to_string().contains("because"),
        "{told}"
    );
    fixture.hub.terminate()
}

#[test]
fn when_a_person_has_read_is_on_the_receipts_of_that_message_and_of_those_before_it() -> Result<()> {
    let mut fixture = Fixture::start()?;
    let agent = fixture.hub.agent("engineer")?;
    let send = |to: &str, words: &str| -> Result<(String, Value)> {
        let sent = agent.send_and_wait(&json!({"to": to, "message": words}))?;
        ensure!(sent["state"] == "sent", "{sent}");
        Ok((text(&sent, "id").to_owned(), sent["parts"][0]["platform_id"].clone()))
    };
    let elsewhere = send("teams:19:abc@thread.tacv2#1700000000000", "To all.")?;
    let sent: Vec<_> = ["One.", "Two.", "Three."]
        .into_iter()
        .map(|words| send("teams:a:1abcdef", words))
        .collect::<Result<_>>()?;
    let read = |id: &Value| {
        let name = "application/vnd.microsoft.readReceipt";
        activity("f:1", &json!({"type": "event", "name": name, "value": {"lastReadMessageId": id}}))
    };
    ensure!(fixture.tells(&read(&sent[1].1))? == 200);
    // In a conversation of several, Teams tells it of one of them: that says nothing.
    let mut several = read(&elsewhere.1);
    several["conversation"] = json!({"id": "19:abc@thread.tacv2", "conversationType": "channel"});
    ensure!(fixture.tells(&several)? == 200);
    // It is written down within a minute, and before the hub stops.
    fixture.hub.terminate()?;
    fixture.hub.run()?;
    let agent = fixture.hub.anybody(Some(agent.token()));
    let mut seen = Vec::new();
    for (id, _) in sent.iter().chain([&elsewhere]) {
        let receipt = agent.get(&format!("/v1/messages/{id}"))?.taken()?;
        seen.push(receipt["parts"][0]["read_at"].is_string());
    }
    ensure!(seen == [true, true, false, false], "{seen:?}");
    Ok(())
}
